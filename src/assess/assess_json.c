/* SPDX-License-Identifier: Apache-2.0 */
#include "assess_json.h"
#include "../request/text_json.h"

static json_t *texts(json_t *object, const char *const *items)
{
	json_t *array = json_array();

	for (size_t i = 0; items[i]; i++)
		json_array_append_new(array, json_from_bytes(object, items[i], strlen(items[i])));
	return array;
}

json_t *assessment_to_json(const struct assessment *assessment)
{
	json_t *object = json_object(), *radius = json_object();

	json_put_text(radius, "files", reach_name(assessment->files));
	json_put(radius, "network", json_boolean(assessment->network));
	json_put(radius, "remote", json_boolean(assessment->remote));
	if (assessment->damage.measured) {
		const struct damage *damage = &assessment->damage;

		json_put_count(radius, "deleted", damage->files);
		json_put_count(radius, "bytes", damage->bytes);
		json_put_count(radius, "restorable", damage->restorable);
		json_put(radius, "more", json_boolean(damage->more));
	}
	json_put_text(object, "level", risk_name(assessment->risk));
	json_put(object, "categories", texts(object, assessment->categories));
	json_put(object, "reasons", texts(object, assessment->reasons));
	json_put(object, "blast_radius", radius);
	json_put(object, "reversible", json_boolean(assessment->reversible));
	json_put_text(object, "way_back", assessment->reversible ? assessment->way_back : NULL);
	json_put_text(object, "unknown", assessment->unknown);
	json_put(object, "confidence", json_real(assessment->confidence));
	return object;
}
