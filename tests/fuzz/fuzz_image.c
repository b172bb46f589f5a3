/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an image's manifest, as its configuration, and as an archive that is read to its
 * end. */
#include "base/macro.h"
#include "sandbox/container/archive.h"
#include "sandbox/container/image.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_manifest(const uint8_t *data, size_t size)
{
	struct image_manifest manifest = {0};
	struct error *error = NULL;

	if (image_read_manifest((const char *)data, size, &manifest, &error) == 0) {
		require(!*manifest.manifest == (manifest.layers.count > 0));
		/* They become part of a path. */
		for (size_t i = 0; i < manifest.layers.count; i++)
			require(strspn(manifest.layers.items[i], "0123456789abcdef") == 64 &&
				strlen(manifest.layers.items[i]) == 64);
		list_done(&manifest.layers);
	} else {
		require(error);
	}
	error_free(error);
}

static void read_config(const uint8_t *data, size_t size)
{
	struct list environment = {0};
	struct error *error = NULL;
	size_t bytes = 0;

	if (image_read_config((const char *)data, size, &environment, &error) < 0)
		require(error && environment.count == 0);
	for (size_t i = 0; i < environment.count; i++) {
		require(strchr(environment.items[i], '=') > environment.items[i]);
		bytes += strlen(environment.items[i]);
	}
	require(environment.count <= 512 && bytes <= 64 << 10);
	list_done(&environment);
	error_free(error);
}

static void read_archive(const uint8_t *data, size_t size)
{
	static struct archive_entry entry;
	struct error *error = NULL;
	int fd = memfd_create("archive", MFD_CLOEXEC), r;
	struct archive *archive;
	char text[4096], digest[65];
	ssize_t length;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	archive = archive_open(fd);
	while ((r = archive_next(archive, &entry, &error)) == 1) {
		uint64_t got = 0;

		require(memchr(entry.path, '\0', sizeof(entry.path)) &&
			memchr(entry.link, '\0', sizeof(entry.link)));
		while ((length = archive_read(archive, text, sizeof(text), &error)) > 0)
			got += (uint64_t)length;
		require(length < 0 || got == entry.size);
		if (length < 0)
			break;
	}
	require(r >= 0 || error);
	if (r == 0)
		require(archive_end(archive, digest, &error) == 0 && strlen(digest) == 64);
	archive_free(archive);
	error_free(error);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_manifest(data, size);
	read_config(data, size);
	read_archive(data, size);
	return 0;
}
