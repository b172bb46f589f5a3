/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking images into ward's state: STORE/DIGEST is a finished one, STORE/config-DIGEST its
 * configuration, STORE/.new-XXXXXX one that is being made, whose maker holds a lock on it. */
#include "archive.h"
#include "image.h"
#include "../../base/io.h"
#include "../../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { INDEXES_MOST = 4, ROOM_TRIES = 100, SETTLED_SECONDS = 2 };

#define NO_CONFIG "{}"

/* 1: it is there and ours; 0: a sweep took it before there was a lock on it. */
static int try_room(struct image_room *making)
{
	unsigned char random[6];
	char text[13];
	struct stat st;

	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(text, sizeof(text), random, sizeof(random));
	snprintf(making->name, sizeof(making->name), ".new-%s", text);
	if (mkdirat(making->store, making->name, 0700) < 0)
		return -1;
	making->directory = openat(making->store, making->name,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (making->directory < 0)
		return errno == ENOENT ? 0 : -1;
	if (flock(making->directory, LOCK_EX) < 0 || fstat(making->directory, &st) < 0)
		return -1;
	if (st.st_nlink == 0)
		close_fd(&making->directory);
	return st.st_nlink > 0;
}

int image_room_make(const char *store, struct image_room *making, struct error **ret_error)
{
	int r = 0;

	*making = (struct image_room){.store = -1, .directory = -1};
	making->store = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	for (int i = 0; i < ROOM_TRIES && r == 0 && making->store >= 0; i++)
		r = try_room(making);
	return r > 0 ? 0
		     : fail_errno(ret_error, E_ENGINE, errno, "making room for images in %s",
				  store);
}

/* An image of many layers has more names than are removed at once: a layer as many as it may name,
 * and as many directories above them. */
static void remove_room(int store, const char *name)
{
	for (int i = 0; i < 2 * IMAGE_LAYERS_MOST && remove_tree(store, name) == -EFBIG; i++)
		;
}

void image_room_done(struct image_room *making)
{
	if (*making->name && making->store >= 0)
		remove_room(making->store, making->name);
	close_fd(&making->directory);
	close_fd(&making->store);
}

/* A blob of a layout, whose name is its digest. */
static int open_blob(int layout, const char *digest)
{
	char path[96];

	snprintf(path, sizeof(path), "blobs/sha256/%s", digest);
	return image_open_part(layout, path);
}

static int read_blob(int layout, const char *digest, char **ret_text, size_t *ret_length,
		     struct error **ret_error)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char path[96], found[65];
	int r;

	snprintf(path, sizeof(path), "blobs/sha256/%s", digest);
	r = image_read_part(layout, path, ret_text, ret_length);
	if (r < 0)
		return fail_errno(ret_error, E_INPUT, -r, "the image has no %s", path);
	crypto_hash_sha256(hash, (unsigned char *)*ret_text, *ret_length);
	sodium_bin2hex(found, sizeof(found), hash, sizeof(hash));
	if (strcmp(found, digest) == 0)
		return 0;
	free(*ret_text);
	*ret_text = NULL;
	fail(ret_error, E_INPUT, "a part of the image is not what its name says: %s", path);
	return error_hint(ret_error, "get the image again");
}

/* From the index to the manifest for this machine; *ret_digest: its own. */
static int find_manifest(int layout, char ret_digest[static 65],
			 struct image_manifest *ret_manifest, struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r = image_read_part(layout, "index.json", &text, &length);

	if (r < 0)
		return fail_errno(ret_error, E_INPUT, -r, "the image has no index.json");
	for (int i = 0; i < INDEXES_MOST; i++) {
		if ((r = image_read_manifest(text, length, ret_manifest, ret_error)) < 0)
			return r;
		if (!*ret_manifest->manifest)
			return 0;
		strcpy(ret_digest, ret_manifest->manifest);
		free(text);
		text = NULL;
		if ((r = read_blob(layout, ret_digest, &text, &length, ret_error)) < 0)
			return r;
	}
	return fail(ret_error, E_INPUT, "the image's indexes lead nowhere");
}

static char *config_path(const char *store, const char *digest)
{
	char *path;

	if (asprintf(&path, "%s/config-%s", store, digest) < 0)
		abort();
	return path;
}

/* One that is there already, whole. What has no configuration beside it is as good as not there:
 * nobody knows its variables. */
static char *find_image(const char *store, const char *digest)
{
	_cleanup_free_ char *config = config_path(store, digest);
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/%s", store, digest) < 0)
		abort();
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    lstat(config, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return path;
	free(path);
	return NULL;
}

char *image_known(const char *store, const char *name)
{
	_cleanup_free_ char *link = NULL;
	char digest[65];
	ssize_t length;

	if (asprintf(&link, "%s/%s", store, name) < 0)
		abort();
	length = readlink(link, digest, sizeof(digest));
	if (length != 64)
		return NULL;
	digest[64] = '\0';
	return strspn(digest, "0123456789abcdef") == 64 ? find_image(store, digest) : NULL;
}

void image_remember(const char *store, const char *name, const char *root)
{
	_cleanup_free_ char *link = NULL;

	if (asprintf(&link, "%s/%s", store, name) < 0)
		abort();
	(void)unlink(link); /* to what is no longer there */
	(void)!symlink(path_last(root), link);
}

/* Kept as it is, when it was seen to be fit. */
static int keep_config(const char *store, const char *digest, const char *text, size_t length,
		       struct error **ret_error)
{
	struct image_room room = {.store = -1, .directory = -1};
	char name[7 + 65];
	int fd = -1, r = image_room_make(store, &room, ret_error);

	snprintf(name, sizeof(name), "config-%s", digest);
	if (r == 0) {
		fd = openat(room.directory, "config", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
		r = fd < 0 ? -errno : write_all(fd, text, length);
		if (r == 0 && renameat(room.directory, "config", room.store, name) < 0)
			r = -errno;
		if (r < 0)
			r = fail_errno(ret_error, E_ENGINE, -r, "keeping %s/%s", store, name);
	}
	close_fd(&fd);
	image_room_done(&room);
	return r;
}

static int check_config(const char *text, size_t length, struct error **ret_error)
{
	_cleanup_list_ struct list environment = {0};

	return image_read_config(text, length, &environment, ret_error);
}

int image_environment(const char *root, struct list *ret_environment, struct error **ret_error)
{
	const char *digest = path_last(root);
	_cleanup_free_ char *store = strndup(root, (size_t)(digest - root)), *text = NULL,
			    *path = config_path(store, digest);
	size_t length;
	int r = read_file(AT_FDCWD, path, IMAGE_TEXT_MOST, &text, &length);

	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "reading %s", path)
		     : image_read_config(text, length, ret_environment, ret_error);
}

/* Under its name; another may have been faster, with the same. */
static int finish(struct image_room *making, const char *store, const char *digest,
		  const char *config, size_t length, char **ret_root, struct error **ret_error)
{
	int r = keep_config(store, digest, config, length, ret_error);

	if (r < 0)
		return r;
	if (renameat(making->store, making->name, making->store, digest) == 0)
		making->name[0] = '\0';
	else if (errno != ENOTEMPTY && errno != EEXIST)
		return fail_errno(ret_error, E_ENGINE, errno, "keeping the image %s", digest);
	*ret_root = find_image(store, digest);
	return *ret_root ? 0 : fail(ret_error, E_ENGINE, "the image %s is not there", digest);
}

static int unpack_layout(int layout, const char *store, char **ret_root, struct error **ret_error)
{
	struct image_room making = {.store = -1, .directory = -1};
	struct image_manifest manifest = {0};
	_cleanup_free_ char *config = NULL;
	size_t length = 0;
	char digest[65] = "";
	int r = find_manifest(layout, digest, &manifest, ret_error);

	if (r == 0 && !*digest)
		r = fail(ret_error, E_INPUT, "the image's index.json is no index");
	if (r == 0 && (*ret_root = find_image(store, digest))) {
		list_done(&manifest.layers);
		return 0;
	}
	if (r == 0 && *manifest.config)
		r = read_blob(layout, manifest.config, &config, &length, ret_error);
	if (r == 0 && config)
		r = check_config(config, length, ret_error);
	if (r == 0)
		r = image_room_make(store, &making, ret_error);
	for (size_t i = 0; r == 0 && i < manifest.layers.count; i++) {
		_cleanup_close_ int blob = open_blob(layout, manifest.layers.items[i]);

		r = blob < 0 ? fail_errno(ret_error, E_INPUT, errno, "the image has no layer %s",
					  manifest.layers.items[i])
			     : layer_unpack(blob, making.directory, /* whiteouts= */ true,
					    manifest.layers.items[i], ret_error);
	}
	if (r == 0)
		r = finish(&making, store, digest, config ? config : NO_CONFIG,
			   config ? length : strlen(NO_CONFIG), ret_root, ret_error);
	list_done(&manifest.layers);
	image_room_done(&making);
	return r;
}

/* As docker saved images before it knew of layouts, and as podman does where nothing is said. */
static int unpack_saved(int saved, const char *store, const char *digest, char **ret_root,
			struct error **ret_error)
{
	struct image_room making = {.store = -1, .directory = -1};
	struct image_manifest manifest = {0};
	_cleanup_free_ char *config = NULL;
	struct list files = {0};
	int r = image_read_saved(saved, &files, &manifest, &config, ret_error);

	if (r == 0)
		r = check_config(config, strlen(config), ret_error);
	if (r == 0)
		r = image_room_make(store, &making, ret_error);
	for (size_t i = 0; r == 0 && i < files.count; i++) {
		_cleanup_close_ int layer = image_open_part(saved, files.items[i]);

		r = layer < 0 ? fail_errno(ret_error, E_INPUT, errno, "the image has no layer %s",
					   files.items[i])
			      : layer_unpack(layer, making.directory, /* whiteouts= */ true,
					     manifest.layers.items[i], ret_error);
	}
	if (r == 0)
		r = finish(&making, store, digest, config, strlen(config), ret_root, ret_error);
	list_done(&files);
	list_done(&manifest.layers);
	image_room_done(&making);
	return r;
}

/* Of the file as it lies there. */
static int hash_file(int fd, char ret_digest[static 65], struct error **ret_error)
{
	struct archive *archive = archive_open(fd);
	int r = archive_end(archive, ret_digest, ret_error);

	archive_free(archive);
	return r;
}

/* As long as nobody writes to it, which sets its ctime, an archive is what it was. */
static void name_file(const struct stat *st, char ret_name[static NAME_MAX])
{
	snprintf(ret_name, NAME_MAX, "file-%jx-%jx-%jx-%jx.%lx-%jx.%lx", (uintmax_t)st->st_dev,
		 (uintmax_t)st->st_ino, (uintmax_t)st->st_size, (uintmax_t)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec, (uintmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

/* Not of one that was written to just now: within a tick of the clock nobody could tell. */
static bool is_settled(int fd, const struct stat *before)
{
	struct timespec now;
	struct stat st;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 && fstat(fd, &st) == 0 &&
	       st.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       st.st_ctim.tv_nsec == before->st_ctim.tv_nsec &&
	       st.st_ctim.tv_sec + SETTLED_SECONDS < now.tv_sec;
}

/* An archive holds a layout, or the tree itself. */
static int unpack_archive(int fd, const char *store, char **ret_root, struct error **ret_error)
{
	struct image_room making = {.store = -1, .directory = -1};
	char digest[65];
	int r;

	if ((r = hash_file(fd, digest, ret_error)) < 0)
		return r;
	if ((*ret_root = find_image(store, digest)))
		return 0;
	r = image_room_make(store, &making, ret_error);
	if (r == 0)
		r = layer_unpack(fd, making.directory, /* whiteouts= */ false, digest, ret_error);
	if (r == 0 && faccessat(making.directory, "oci-layout", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		r = unpack_layout(making.directory, store, ret_root, ret_error);
	else if (r == 0 && image_is_saved(making.directory))
		r = unpack_saved(making.directory, store, digest, ret_root, ret_error);
	else if (r == 0)
		r = finish(&making, store, digest, NO_CONFIG, strlen(NO_CONFIG), ret_root,
			   ret_error);
	image_room_done(&making);
	return r;
}

/* To read it each time takes longer than anything else of a start. */
static int find_archive(int fd, const struct stat *st, const char *store, char **ret_root,
			struct error **ret_error)
{
	char name[NAME_MAX];
	int r = 0;

	name_file(st, name);
	*ret_root = image_known(store, name);
	if (!*ret_root && (r = unpack_archive(fd, store, ret_root, ret_error)) == 0 &&
	    is_settled(fd, st))
		image_remember(store, name, *ret_root);
	return r;
}

int image_open(const char *path, const char *store, char **ret_root, struct error **ret_error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_INPUT, errno, "the image %s", path);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return fail(ret_error, E_INPUT, "the image %s is neither a layout nor an archive",
			    path);
	if ((r = make_directories(store, 0700)) < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "making %s", store);
	image_sweep(store);
	r = S_ISDIR(st.st_mode) ? unpack_layout(fd, store, ret_root, ret_error)
				: find_archive(fd, &st, store, ret_root, ret_error);
	if (r < 0)
		error_wrap(ret_error, "the image %s", path);
	return r;
}

void image_sweep(const char *store)
{
	int top = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *list = top >= 0 ? fdopendir(top) : NULL;
	struct dirent *entry;

	while (list && (entry = readdir(list))) {
		int fd;

		if (strncmp(entry->d_name, ".new-", 5) != 0)
			continue;
		fd = openat(top, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_room(top, entry->d_name);
		close_fd(&fd);
	}
	if (list)
		closedir(list);
	else
		close_fd(&top);
}
