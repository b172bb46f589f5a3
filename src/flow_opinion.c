/* SPDX-License-Identifier: Apache-2.0 */
/* A model's opinion on what a person is asked about, where the policy wants one: it is there before
 * the question is, or the question does without. */
#include "flow_state.h"

#include <stdio.h>
#include <string.h>

void flow_keep_key(struct flow *flow)
{
	struct error *error = NULL;

	/* Whoever ward becomes may not read it; a key that cannot be had is missed later. */
	if (flow->policy->assessor.url && flow->identity.changes &&
	    assessor_key(flow->policy, &flow->assessor_key, &error) < 0)
		error_free(error);
}

static int find_key(struct flow *flow, char **ret_key, struct error **ret_error)
{
	if (!flow->assessor_key)
		return assessor_key(flow->policy, ret_key, ret_error);
	*ret_key = strdup(flow->assessor_key);
	return 0;
}

static void wait_on(void *data)
{
	const struct approver *approver = data;

	approver->tell(approver->data, "waiting for a model's opinion, 5 seconds at most");
}

static int exchange(struct flow *flow, const struct ask *question, const struct approver *approver,
		    struct opinion *opinion, struct error **ret_error)
{
	const struct assessor *assessor = &flow->policy->assessor;
	_cleanup_free_ char *body = opinion_request(
		assessor->model, question, !assessor->without_directory, !assessor->without_denial);
	_cleanup_free_ char *key = NULL, *bearer = NULL;
	_cleanup_free_ char *ca_file = assessor_ca_file(flow->policy);
	struct post_header headers[] = {{"Content-Type", "application/json"},
					{"Authorization", NULL}};
	struct post_request request = {.url = assessor->url,
				       .headers = headers,
				       .header_count = 1,
				       .body = body,
				       .timeout_ms = (unsigned)(assessor->timeout_ns / 1000000),
				       .max_bytes = OPINION_BODY_MOST,
				       .ca_file = ca_file};
	_cleanup_post_answer_ struct post_answer answer = {0};
	_cleanup_post_ struct post *post = NULL;
	int r = find_key(flow, &key, ret_error);

	if (r == 0 && key) {
		if (asprintf(&bearer, "Bearer %s", key) < 0)
			abort();
		headers[request.header_count++].value = bearer;
	}
	if (r == 0)
		r = post_start(&request, &post, ret_error);
	if (key)
		explicit_bzero(key, strlen(key));
	if (bearer)
		explicit_bzero(bearer, strlen(bearer));
	if (r == 0)
		r = opinion_wait(post, assessor->timeout_ns, question->meanwhile, wait_on,
				 (void *)approver, &answer, ret_error);
	if (r == 0 && answer.status != 200)
		r = fail(ret_error, E_ENGINE, "the server answers %d", answer.status);
	if (r == 0 && answer.truncated)
		r = fail(ret_error, E_INPUT, "its answer is too long");
	return r < 0 ? r : opinion_read(answer.body, opinion, ret_error);
}

void flow_ask_opinion(struct flow *flow, struct ask *question, const struct approver *approver,
		      struct second *second)
{
	_cleanup_error_ struct error *error = NULL;
	struct opinion *opinion = &second->opinion;

	if (!flow->policy || !flow->policy->assessor.url || question->opinion)
		return;
	question->opinion = opinion;
	opinion->model = strdup(flow->policy->assessor.model);
	opinion->own = question->assessment->risk;
	if (flow->assessor_failed) {
		opinion->fault = strdup("it gave none before in this run");
		return;
	}
	if (exchange(flow, question, approver, opinion, &error) < 0) {
		opinion->fault = strdup(error && error->message ? error->message : "unknown");
		flow->assessor_failed = true;
		return;
	}
	if (!opinion_raises(opinion))
		return;
	second->raised = *question->assessment;
	second->raised.risk = opinion->level;
	question->assessment = &second->raised;
}
