/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files of a ticket: its state and its request. What is read is whole, and what
 * such a request is written as reads back. */
#include "../../src/serve/ticket_parts.h"
#include "files.h"

#define ID "01m7aaaaaaaaaaaaaaaaaaaaaa"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(json_t *object)
{
	_cleanup_list_ struct list missing = {0}, refused = {0}, environment = {0};
	_cleanup_request_ struct request request;
	struct ticket_options options = {.missing = &missing, .refused = &refused};
	json_t *again = NULL;
	ino_t inode;
	uid_t owner;

	request_init(&request);
	ticket_environment(object, &environment);
	ticket_workspace(object, &inode, &owner);
	if (ticket_unpack(object, &request, &missing, &refused, NULL) == 0 &&
	    ticket_pack(&request, &options, &again, NULL) == 0) {
		_cleanup_list_ struct list one = {0}, other = {0};
		_cleanup_request_ struct request second;

		request_init(&second);
		if (ticket_unpack(again, &second, &one, &other, NULL) < 0 ||
		    one.count != missing.count || other.count != refused.count)
			abort();
		json_decref(again);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	json_t *object;

	umask(022); /* an input has set it */
	make_place();
	make_directory("tickets/" ID);
	put_file("tickets/" ID "/lock", "", 0);
	put_part("tickets/" ID "/state.json", &data, &size);
	put_part("tickets/" ID "/request.json", &data, &size);
	if (ticket_open(place, ID, &ticket, NULL) < 0)
		return 0;
	(void)ticket_word_name(ticket_word(&ticket));
	(void)ticket_is_locked(&ticket);
	object = ticket_load(ticket.directory, "request.json");
	if (object)
		check_request(object);
	json_decref(object);
	return 0;
}
