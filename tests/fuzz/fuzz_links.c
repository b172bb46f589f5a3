/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a link and as a session of the inbox. A link lets in once, whoever a file says it is
 * for; a cookie opens its own session and no other, and none that has expired. */
#include "../../src/web/sessions.h"
#include "files.h"

#include <time.h>

#define ID     "01m7aaaaaaaaaaaaaaaaaaaaaa"
#define SECRET "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(void *data, const struct web_session *session)
{
	if (!session->name || session->since + SESSION_SECONDS <= time(NULL))
		abort();
	++*(int *)data;
}

static void check_links(void)
{
	char code[SECRET_TEXT];
	_cleanup_free_ char *name = NULL, *again = NULL, *made = NULL;

	if (web_link_use(place, SECRET, &name) && (!name || web_link_use(place, SECRET, &again)))
		abort();
	if (web_link_make(place, "anna", code, NULL) < 0 || !web_link_use(place, code, &made) ||
	    strcmp(made, "anna") != 0 || web_links_end(place, NULL) < 0)
		abort();
}

static void check_sessions(void)
{
	_cleanup_web_session_ struct web_session found = {0}, made = {0};
	char cookie[SESSION_COOKIE_TEXT];
	int before = 0, after = 0;
	bool there = web_session_find(place, ID "." SECRET, &found);

	if (web_session_list(place, look, &before, NULL) < 0 || (there && before != 1))
		abort();
	if (web_session_make(place, "anna", NULL, 0, cookie, NULL) < 0 ||
	    !web_session_find(place, cookie, &made) || strcmp(made.name, "anna") != 0 ||
	    web_session_list(place, look, &after, NULL) < 0 || after != before + 1 ||
	    !web_session_end(place, made.id))
		abort();
	(void)web_session_end(place, ID);
	if (web_session_is_there(place, ID))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char hash[SECRET_HASH_TEXT], name[128];

	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("web/links");
	make_directory("web/sessions");
	secret_hash("ward web link", SECRET, hash);
	snprintf(name, sizeof(name), "web/links/%s", hash);
	put_part(name, &data, &size);
	put_part("web/sessions/" ID, &data, &size);
	check_links();
	check_sessions();
	return 0;
}
