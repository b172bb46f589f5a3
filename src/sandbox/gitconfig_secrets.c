/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials in a git configuration: taken out for a reader who must not have them, and put back
 * into what the reader wrote. */
#include "gitconfig.h"
#include "gitconfig_read.h"
#include "../base/buffer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Addresses in one text; a comparison of all with all is bounded by it. */
enum { ADDRESSES = 4096 };

/* `scheme://user:password@host/path` anywhere in a text, in a comment too. */
struct address {
	struct git_span whole, secret;	   /* an empty secret: there is none */
	const struct git_setting *setting; /* it stands in its value, or where the setting is a
					      header in that; NULL: in a comment */
	bool taken;
};

struct addresses {
	struct address *items;
	size_t count;
};

/* What was removed, in order. */
struct cut {
	struct git_span from; /* in the original */
	size_t at;	      /* in the redacted text */
	bool is_value;	      /* the whole value of a setting */
};

struct cuts {
	struct cut *items;
	size_t count;
};

static void addresses_done(struct addresses *addresses)
{
	free(addresses->items);
}

static void cuts_done(struct cuts *cuts)
{
	free(cuts->items);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Where the scheme before the "://" at this offset begins; the offset itself where there is none.
 */
static size_t scheme_start(const char *text, size_t from, size_t at)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";

	while (at > from && memchr(letters, text[at - 1], sizeof(letters) - 1))
		at--;
	return at;
}

/* In web addresses the name alone may be a token; elsewhere it is a name. */
static bool is_web(const char *scheme, size_t length)
{
	static const char *const web[] = {"http", "https", "ftp", "ftps"};

	for (size_t i = 0; i < ELEMENTS(web); i++)
		if (strlen(web[i]) == length && strncasecmp(scheme, web[i], length) == 0)
			return true;
	return false;
}

/* The secret between `://` (authority) and the host, whose @ is at the offset given. */
static struct git_span secret_of(const char *text, size_t scheme, size_t authority, size_t at)
{
	const char *colon = memchr(text + authority, ':', at - authority);

	if (is_web(text + scheme, authority - 3 - scheme))
		return (struct git_span){authority, at + 1};
	if (colon)
		return (struct git_span){(size_t)(colon - text), at};
	return (struct git_span){at, at};
}

/* Where the quote at this offset is the end of a value or subsection, and not part of it. */
static bool is_closing(const char *text, size_t length, size_t at)
{
	return at + 1 >= length || is_blank(text[at + 1]) || strchr("];#", text[at + 1]);
}

/* The address whose "://" is at this offset. */
static struct address read_address(const char *text, size_t length, size_t at)
{
	size_t scheme = scheme_start(text, 0, at), authority = at + 3, last = 0, i;
	struct address address = {.whole = {scheme, authority}};

	for (i = authority; i < length && !is_blank(text[i]) && !strchr("/?#", text[i]); i++) {
		if (text[i] == '"' && is_closing(text, length, i))
			break;
		if (text[i] == '@')
			last = i;
		if (text[i] != '\\' || i + 1 >= length)
			continue;
		i += i + 2 < length && text[i + 1] == '\r' && text[i + 2] == '\n' ? 2 : 1;
	}
	address.secret = last ? secret_of(text, scheme, authority, last)
			      : (struct git_span){authority, authority};
	i = MIN(i, length);
	while (i < length && !is_blank(text[i]) && text[i] != '"')
		i++;
	address.whole.end = i;
	return address;
}

/* The setting or header in which this place of the text lies; *next is the first that was not
 * passed yet. */
static const struct git_setting *setting_at(const struct git_settings *settings, size_t *next,
					    size_t at)
{
	for (; *next < settings->count; (*next)++) {
		const struct git_setting *setting = &settings->items[*next];
		const struct git_span *span = setting->key ? &setting->raw : &setting->header;

		if (at < span->start)
			return NULL;
		if (at < span->end)
			return setting;
	}
	return NULL;
}

static int find_addresses(const char *text, size_t length, const struct git_settings *settings,
			  struct addresses *ret_addresses)
{
	const char *found = text;
	size_t setting = 0;

	while ((found = memmem(found, length - (size_t)(found - text), "://", 3))) {
		size_t at = (size_t)(found - text);
		struct address address = read_address(text, length, at);

		found += 3;
		if (address.whole.start == at)
			continue;
		if (ret_addresses->count == ADDRESSES)
			return -EINVAL;
		if (!ret_addresses->items)
			ret_addresses->items = calloc(ADDRESSES, sizeof(struct address));
		if (!ret_addresses->items)
			abort();
		address.setting = setting_at(settings, &setting, at);
		ret_addresses->items[ret_addresses->count++] = address;
		found = text + address.whole.end;
	}
	return 0;
}

/* Settings whose whole value is a secret, whatever section they stand in. */
static bool is_secret(const struct git_setting *setting)
{
	static const char *const names[] = {"extraheader", "pass",	 "smtppass", "password",
					    "token",	   "oauthtoken", "apikey"};

	for (size_t i = 0; setting->value && i < ELEMENTS(names); i++)
		if (strcmp(setting->key + setting->name, names[i]) == 0)
			return true;
	return false;
}

/* The same question as read_address answers, put to what git has read: quotes and escapes may hide
 * a secret from a look at the text. */
static bool has_credentials(const char *value)
{
	size_t length = strlen(value);

	for (const char *found = value; (found = strstr(found, "://")); found += 3) {
		size_t at = (size_t)(found - value), scheme = scheme_start(value, 0, at), last = 0;
		struct git_span secret;

		for (size_t i = at + 3; i < length && !strchr("/?#", value[i]); i++) {
			if (is_blank(value[i]) && scheme > 0)
				break;
			if (value[i] == '@')
				last = i;
		}
		if (scheme == at || !last)
			continue;
		secret = secret_of(value, scheme, at + 3, last);
		if (secret.end > secret.start)
			return true;
	}
	return false;
}

static void add_cut(struct cuts *cuts, struct git_span from, bool is_value)
{
	if (from.start == from.end)
		return;
	cuts->items = reallocarray(cuts->items, cuts->count + 1, sizeof(*cuts->items));
	if (!cuts->items)
		abort();
	cuts->items[cuts->count++] = (struct cut){.from = from, .is_value = is_value};
}

static int by_place(const void *a, const void *b)
{
	const struct cut *one = a, *other = b;

	return one->from.start < other->from.start ? -1 : one->from.start > other->from.start;
}

/* hidden[i]: the value of setting i is removed as a whole. */
static void apply_cuts(const char *text, size_t length, const struct git_settings *settings,
		       const bool *hidden, const struct addresses *addresses, struct cuts *cuts,
		       struct buffer *redacted)
{
	size_t done = 0;

	cuts->count = redacted->length = 0;
	for (size_t i = 0; i < settings->count; i++)
		if (hidden[i])
			add_cut(cuts, settings->items[i].raw, true);
	for (size_t i = 0; i < addresses->count; i++) {
		const struct git_setting *setting = addresses->items[i].setting;

		if (!setting || !hidden[setting - settings->items])
			add_cut(cuts, addresses->items[i].secret, false);
	}
	if (cuts->count > 0)
		qsort(cuts->items, cuts->count, sizeof(*cuts->items), by_place);
	for (size_t i = 0; i < cuts->count; i++) {
		buffer_add(redacted, text + done, cuts->items[i].from.start - done);
		cuts->items[i].at = redacted->length;
		done = cuts->items[i].from.end;
	}
	buffer_add(redacted, text + done, length - done);
}

/* Marks the values that still show a credential; how many they are, or -EINVAL where a removal
 * changed what the text means, or a secret stays where it cannot be removed. */
static int hide_the_rest(const struct buffer *redacted, const struct git_settings *settings,
			 bool *hidden)
{
	_cleanup_settings_ struct git_settings rest = {0};
	int found = 0;

	if (git_settings_read(redacted->data, redacted->length, &rest) ||
	    rest.count != settings->count)
		return -EINVAL;
	for (size_t i = 0; i < rest.count; i++) {
		const struct git_setting *setting = &rest.items[i];

		if (!setting->key)
			continue;
		if (has_credentials(setting->key + setting->section + 1))
			return -EINVAL;
		if (!setting->value || !has_credentials(setting->value))
			continue;
		if (hidden[i])
			return -EINVAL;
		hidden[i] = true;
		found++;
	}
	return found;
}

static int redact(const char *text, size_t length, struct cuts *ret_cuts,
		  struct buffer *ret_redacted)
{
	_cleanup_settings_ struct git_settings settings = {0};
	_cleanup_(addresses_done) struct addresses addresses = {0};
	_cleanup_free_ bool *hidden = NULL;
	int r;

	if (git_settings_read(text, length, &settings) ||
	    find_addresses(text, length, &settings, &addresses) < 0)
		return -EINVAL;
	hidden = calloc(settings.count + 1, sizeof(*hidden));
	if (!hidden)
		abort();
	for (size_t i = 0; i < settings.count; i++)
		hidden[i] = settings.items[i].key && is_secret(&settings.items[i]);
	do {
		apply_cuts(text, length, &settings, hidden, &addresses, ret_cuts, ret_redacted);
		r = hide_the_rest(ret_redacted, &settings, hidden);
	} while (r > 0);
	return r;
}

int git_config_redact(const char *text, size_t length, char **ret_text, size_t *ret_length)
{
	_cleanup_(cuts_done) struct cuts cuts = {0};
	_cleanup_buffer_ struct buffer redacted = {0};

	if (redact(text ? text : "", length, &cuts, &redacted) < 0)
		return -EINVAL;
	*ret_length = redacted.length;
	*ret_text = buffer_steal(&redacted);
	return cuts.count > 0;
}

/* The redacted and the edited text, side by side. */
struct side {
	const char *text;
	size_t length;
	struct git_settings settings;
	struct addresses addresses;
};

static void side_done(struct side *side)
{
	git_settings_done(&side->settings);
	addresses_done(&side->addresses);
}

static int read_side(struct side *side, const char *text, size_t length)
{
	side->text = text;
	side->length = length;
	if (git_settings_read(text, length, &side->settings))
		return -EINVAL;
	return find_addresses(text, length, &side->settings, &side->addresses);
}

static bool same_span(const struct side *a, struct git_span in_a, const struct side *b,
		      struct git_span in_b)
{
	return in_a.end - in_a.start == in_b.end - in_b.start &&
	       memcmp(a->text + in_a.start, b->text + in_b.start, in_a.end - in_a.start) == 0;
}

/* The same kind of setting: of one name, in sections of one name, or where exact is asked for in
 * the same section. A header has no name. */
static bool same_setting(const struct side *a, const struct git_setting *in_a, const struct side *b,
			 const struct git_setting *in_b, bool exact)
{
	if (!in_a || !in_b)
		return in_a == in_b;
	if (!in_a->key != !in_b->key || in_a->section != in_b->section)
		return false;
	if (in_a->key && (strncmp(in_a->key, in_b->key, in_a->section) != 0 ||
			  strcmp(in_a->key + in_a->name, in_b->key + in_b->name) != 0))
		return false;
	if (!in_a->key && strncasecmp(a->text + in_a->header.start, b->text + in_b->header.start,
				      in_a->section + 1) != 0)
		return false;
	return !exact || same_span(a, in_a->header, b, in_b->header);
}

struct insertion {
	size_t at;
	const struct cut *cut;
};

struct insertions {
	struct insertion *items; /* room for one per cut */
	size_t count;
};

static void insertions_done(struct insertions *insertions)
{
	free(insertions->items);
}

static const struct cut *cut_in(const struct cuts *cuts, struct git_span span, bool is_value)
{
	for (size_t i = 0; i < cuts->count; i++)
		if (cuts->items[i].is_value == is_value && cuts->items[i].at >= span.start &&
		    cuts->items[i].at <= span.end)
			return &cuts->items[i];
	return NULL;
}

/* First those in the same section find each other, then those whose section was renamed. */
static void match_addresses(struct side *shown, struct side *edited, const struct cuts *cuts,
			    bool exact, struct insertions *insertions)
{
	for (size_t i = 0; i < edited->addresses.count; i++) {
		struct address *address = &edited->addresses.items[i];

		for (size_t j = 0; j < shown->addresses.count && !address->taken; j++) {
			struct address *before = &shown->addresses.items[j];
			const struct cut *cut;

			if (before->taken ||
			    !same_span(edited, address->whole, shown, before->whole) ||
			    !same_setting(edited, address->setting, shown, before->setting, exact))
				continue;
			address->taken = before->taken = true;
			cut = cut_in(cuts, before->whole, false);
			if (cut)
				insertions->items[insertions->count++] = (struct insertion){
					address->whole.start + (cut->at - before->whole.start),
					cut};
		}
	}
}

/* A header or password goes back only into the section it stood in: elsewhere it would be sent to
 * somebody else. */
static void match_values(const struct side *shown, const struct side *edited,
			 const struct cuts *cuts, struct insertions *insertions)
{
	size_t next = 0;

	for (size_t i = 0; i < shown->settings.count; i++) {
		const struct git_setting *before = &shown->settings.items[i];
		const struct cut *cut;

		if (!before->key || !before->value || before->raw.start != before->raw.end ||
		    !(cut = cut_in(cuts, before->raw, true)))
			continue;
		for (size_t j = next; j < edited->settings.count; j++) {
			const struct git_setting *setting = &edited->settings.items[j];

			if (!setting->key || !setting->value ||
			    setting->raw.start != setting->raw.end ||
			    !same_setting(edited, setting, shown, before, true))
				continue;
			insertions->items[insertions->count++] =
				(struct insertion){setting->raw.start, cut};
			next = j + 1;
			break;
		}
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct insertion *one = a, *other = b;

	return one->at < other->at ? -1 : one->at > other->at;
}

int git_config_restore(const char *original, size_t original_length, const char *edited,
		       size_t edited_length, char **ret_text, size_t *ret_length)
{
	_cleanup_(cuts_done) struct cuts cuts = {0};
	_cleanup_buffer_ struct buffer redacted = {0}, restored = {0};
	_cleanup_(side_done) struct side before = {0}, after = {0};
	_cleanup_(insertions_done) struct insertions insertions = {0};
	size_t done = 0;

	if (!edited)
		edited = "";
	if (redact(original ? original : "", original_length, &cuts, &redacted) < 0 ||
	    read_side(&before, buffer_text(&redacted), redacted.length) < 0 ||
	    read_side(&after, edited, edited_length) < 0)
		return -EINVAL;
	insertions.items = calloc(cuts.count + 1, sizeof(*insertions.items));
	if (!insertions.items)
		abort();
	match_addresses(&before, &after, &cuts, /* exact= */ true, &insertions);
	match_addresses(&before, &after, &cuts, /* exact= */ false, &insertions);
	match_values(&before, &after, &cuts, &insertions);
	qsort(insertions.items, insertions.count, sizeof(*insertions.items), by_offset);
	for (size_t i = 0; i < insertions.count; i++) {
		const struct git_span *from = &insertions.items[i].cut->from;

		buffer_add(&restored, edited + done, insertions.items[i].at - done);
		buffer_add(&restored, original + from->start, from->end - from->start);
		done = insertions.items[i].at;
	}
	buffer_add(&restored, edited + done, edited_length - done);
	*ret_length = restored.length;
	*ret_text = buffer_steal(&restored);
	return 0;
}
