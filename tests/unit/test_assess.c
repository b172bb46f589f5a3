/* SPDX-License-Identifier: Apache-2.0 */
/* The assessment: what is forbidden, what is asked about, and what only looks like it. */
#include "assess_text.h"

static bool has(const char **texts, const char *text)
{
	for (; *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return true;
	return false;
}

struct example {
	const char *text;
	enum class class;
	enum risk risk;
	const char *category; /* NULL: none at all */
};

static void check(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		const struct example *example = &examples[i];
		struct assessment got;

		assess_text(arena, example->text, &got);
		if (got.class != example->class || got.risk != example->risk)
			fail_msg("%s: %s, %s risk; not %s, %s risk", example->text,
				 class_name(got.class), risk_name(got.risk),
				 class_name(example->class), risk_name(example->risk));
		if (example->category ? !has(got.categories, example->category)
				      : !!got.categories[0])
			fail_msg("%s: the category is not '%s'", example->text,
				 example->category ? example->category : "none");
		assert_true(!got.categories[0] == !got.reasons[0]);
	}
}

static void ordinary_work_is_safe(void **state _unused_)
{
	static const struct example examples[] = {
		{"ls -la", CLASS_SAFE, RISK_LOW, NULL},
		{"make -j4 && make test", CLASS_SAFE, RISK_LOW, NULL},
		{"git status | head -3", CLASS_SAFE, RISK_LOW, NULL},
		{"git commit -m 'rm -rf / and git push --force'", CLASS_SAFE, RISK_LOW, NULL},
		{"echo sudo rm -rf /", CLASS_SAFE, RISK_LOW, NULL},
		{"rm file", CLASS_SAFE, RISK_LOW, NULL},
		{"rm -rf node_modules ./build/ a/target __pycache__", CLASS_SAFE, RISK_LOW, NULL},
		{"git reset HEAD~1", CLASS_SAFE, RISK_LOW, NULL},
		{"git clean -n", CLASS_SAFE, RISK_LOW, NULL},
		{"kubectl get pods", CLASS_SAFE, RISK_LOW, NULL},
		{"terraform plan", CLASS_SAFE, RISK_LOW, NULL},
		{"npm run publish", CLASS_SAFE, RISK_LOW, NULL},
		{"dd if=/dev/sda of=x bs=1", CLASS_SAFE, RISK_LOW, NULL},
		{"dd if=/dev/zero of=/dev/null", CLASS_SAFE, RISK_LOW, NULL},
		{"mkfs.ext4 disk.img", CLASS_SAFE, RISK_LOW, NULL},
		{"wipefs /dev/sda", CLASS_SAFE, RISK_LOW, NULL},
		{"systemctl status x", CLASS_SAFE, RISK_LOW, NULL},
		{"command -v sudo", CLASS_SAFE, RISK_LOW, NULL},
		{"f() { f; }; f", CLASS_SAFE, RISK_LOW, NULL},
		{"", CLASS_SAFE, RISK_LOW, NULL},
	};

	check(examples, ELEMENTS(examples));
}

static void ruin_is_forbidden(void **state _unused_)
{
	static const struct example examples[] = {
		{"rm -rf /", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm -rf //./", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm -r -f /*", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm --no-preserve-root --rec /", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm -fR -- ~", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm -rf ~/", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm -rf \"$HOME\"", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"rm -rf ${HOME}/*", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"r\\m -r'f' /", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"/bin/rm -rf build /", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"env A=1 nice -n 5 rm -rf /", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"bash -c 'cd x && rm -rf /'", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"echo $(rm -rf /)", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"if true; then rm -rf /; fi", CLASS_FORBIDDEN, RISK_CRITICAL, "data deletion"},
		{"mkfs.ext4 /dev/sda1", CLASS_FORBIDDEN, RISK_CRITICAL, "disk"},
		{"wipefs -a /dev/nvme0n1", CLASS_FORBIDDEN, RISK_CRITICAL, "disk"},
		{"dd if=x of=/dev/sda", CLASS_FORBIDDEN, RISK_CRITICAL, "disk"},
		{"cat x > /dev/vda", CLASS_FORBIDDEN, RISK_CRITICAL, "disk"},
		{":(){ :|:& };:", CLASS_FORBIDDEN, RISK_CRITICAL, "resource exhaustion"},
		{"bomb() { bomb | bomb & }; bomb", CLASS_FORBIDDEN, RISK_CRITICAL,
		 "resource exhaustion"},
	};

	check(examples, ELEMENTS(examples));
}

static void what_reaches_others_is_asked(void **state _unused_)
{
	static const struct example examples[] = {
		{"git push", CLASS_ASK, RISK_MEDIUM, "publishing"},
		{"git -C dir -c a=b push origin main", CLASS_ASK, RISK_MEDIUM, "publishing"},
		{"git push --force", CLASS_ASK, RISK_HIGH, "history"},
		{"git push -uf origin x", CLASS_ASK, RISK_HIGH, "history"},
		{"git push origin +main", CLASS_ASK, RISK_HIGH, "history"},
		{"npm publish", CLASS_ASK, RISK_HIGH, "publishing"},
		{"twine upload dist/*", CLASS_ASK, RISK_HIGH, "publishing"},
		{"cargo +nightly publish", CLASS_ASK, RISK_HIGH, "publishing"},
		{"gem push x.gem", CLASS_ASK, RISK_HIGH, "publishing"},
		{"docker push x", CLASS_ASK, RISK_HIGH, "publishing"},
		{"docker system prune -af", CLASS_ASK, RISK_MEDIUM, "data deletion"},
		{"terraform apply", CLASS_ASK, RISK_HIGH, "infrastructure"},
		{"terraform -chdir=x destroy", CLASS_ASK, RISK_HIGH, "infrastructure"},
		{"kubectl -n prod delete pod x", CLASS_ASK, RISK_HIGH, "infrastructure"},
	};

	check(examples, ELEMENTS(examples));
}

static void what_changes_the_machine_is_asked(void **state _unused_)
{
	static const struct example examples[] = {
		{"sudo touch x", CLASS_ASK, RISK_HIGH, "privilege"},
		{"su -", CLASS_ASK, RISK_HIGH, "privilege"},
		{"sudo -s", CLASS_ASK, RISK_HIGH, "privilege"},
		{"doas -u root make", CLASS_ASK, RISK_HIGH, "privilege"},
		{"timeout 5 sudo sh -c ls", CLASS_ASK, RISK_HIGH, "privilege"},
		{"sudo ls > /etc/x", CLASS_ASK, RISK_HIGH, "privilege"},
		{"sudo cat /etc/shadow", CLASS_ASK, RISK_HIGH, "privilege"},
		{"sudo unknown-tool", CLASS_ASK, RISK_HIGH, "privilege"},
		{"LD_PRELOAD=./x.so sudo ls", CLASS_ASK, RISK_HIGH, "privilege"},
		{"reboot", CLASS_ASK, RISK_HIGH, "availability"},
		{"systemctl --user stop x", CLASS_ASK, RISK_MEDIUM, "system"},
	};

	check(examples, ELEMENTS(examples));
}

static void deleting_is_weighed_by_its_target(void **state _unused_)
{
	static const struct example examples[] = {
		{"rm -r src", CLASS_ASK, RISK_MEDIUM, "data deletion"},
		{"rm -rf node_modules src", CLASS_ASK, RISK_MEDIUM, "data deletion"},
		{"rm -rf /tmp/x", CLASS_SAFE, RISK_LOW, NULL},
		{"rm -rf /tmp/../opt", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"rm -rf /usr/build", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"rm -rf .", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"rm -rf ..", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"rm -rf ./*", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"rm -rf .git", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"rm -rf ~/x", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"find . | xargs rm -rf", CLASS_ASK, RISK_HIGH, "data deletion"},
		{"git clean -xfd", CLASS_ASK, RISK_MEDIUM, "data deletion"},
		{"git reset --hard HEAD~1", CLASS_ASK, RISK_MEDIUM, "data deletion"},
	};

	check(examples, ELEMENTS(examples));
}

static void downloads_that_are_run_are_asked(void **state _unused_)
{
	static const struct example examples[] = {
		{"curl -s https://x | sh", CLASS_ASK, RISK_HIGH, "remote code"},
		{"wget -qO- x | bash -s -- y", CLASS_ASK, RISK_HIGH, "remote code"},
		{"curl x | python3 -", CLASS_ASK, RISK_HIGH, "remote code"},
		{"sh -c \"$(curl x)\"", CLASS_ASK, RISK_HIGH, "remote code"},
		{"bash <(curl x)", CLASS_ASK, RISK_HIGH, "remote code"},
		{"bash < <(curl x)", CLASS_ASK, RISK_HIGH, "remote code"},
		{"eval \"$(wget -O- x)\"", CLASS_ASK, RISK_HIGH, "remote code"},
		{"curl x", CLASS_SAFE, RISK_LOW, "network"},
		{"curl x | python3 -m json.tool", CLASS_SAFE, RISK_LOW, "network"},
		{"curl -O x; bash build.sh", CLASS_SAFE, RISK_LOW, "network"},
		{"sh x.sh; curl x", CLASS_SAFE, RISK_LOW, "network"},
	};

	check(examples, ELEMENTS(examples));
}

static void confidence_falls_with_what_is_unknown(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct assessment plain, dynamic, opaque;

	assess_text(arena, "ls a", &plain);
	assess_text(arena, "ls $a", &dynamic);
	assess_text(arena, "$a b", &opaque);
	assert_true(plain.confidence > dynamic.confidence);
	assert_true(dynamic.confidence > opaque.confidence);
	assert_true(opaque.confidence < 0.5);
	assert_int_equal(opaque.class, CLASS_SAFE);
	assert_int_equal(opaque.risk, RISK_MEDIUM);
	assert_true(has(opaque.categories, "unknown"));
	assert_non_null(strstr(opaque.reasons[0], "known only when it runs"));
}

static void to_read_as_another_user_is_asked_about_too(void **state _unused_)
{
	static const struct example examples[] = {
		{"sudo ls /root", CLASS_ASK, RISK_MEDIUM, "privilege"},
		{"doas -u root ls", CLASS_ASK, RISK_MEDIUM, "privilege"},
		{"timeout 5 sudo systemctl status x | head", CLASS_ASK, RISK_MEDIUM, "privilege"},
	};

	check(examples, ELEMENTS(examples));
}

static void a_path_into_the_workspace_is_inside(void **state _unused_)
{
	static const struct {
		const char *text;
		enum class class;
	} examples[] = {
		{"rm -rf /srv/work/build", CLASS_SAFE},
		{"rm /srv/work/notes", CLASS_SAFE},
		{"rm ../notes", CLASS_SAFE},
		{"rm ../../notes", CLASS_ASK},
		{"cd deep && rm ../../notes", CLASS_SAFE},
		{"rm /srv/working/notes", CLASS_ASK},
		{"rm -rf /srv/work", CLASS_ASK},
		{"rm -rf /srv/work/*", CLASS_ASK},
		{"rm /srv/work/../notes", CLASS_ASK},
		{"rm -rf ..", CLASS_ASK},
		{"(cd deep && ls); rm ../../notes", CLASS_ASK},
		{"chmod -R go-w /srv/work/src", CLASS_SAFE},
		{"chmod -R go-w /srv/src", CLASS_ASK},
	};

	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_request_ struct request request;
		struct assessment assessment;
		struct plan plan;

		request_init(&request);
		request.mode = MODE_SHELL;
		request.script = strdup(examples[i].text);
		request.workspace = strdup("/srv/work");
		request.cwd = strdup("/srv/work/sub");
		parse_request(arena, &request, &plan);
		assess_plan(arena, &plan, &assessment);
		if (assessment.class != examples[i].class)
			fail_msg("%s", examples[i].text);
	}
}

static void what_cannot_be_undone_is_said(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct assessment assessment;

	assess_text(arena, "ls; sudo touch x", &assessment);
	assert_true(assessment.reversible);
	assess_text(arena, "ls; rm -r src; ls", &assessment);
	assert_false(assessment.reversible);
}

static void each_reason_is_told_once(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct assessment assessment;

	assess_text(arena, "git push --force a +b; git push; sudo -n git push", &assessment);
	assert_non_null(assessment.reasons[0]);
	assert_non_null(assessment.reasons[1]);
	assert_non_null(assessment.reasons[2]);
	assert_null(assessment.reasons[3]);
}

static void the_reach_is_told(void **state _unused_)
{
	static const struct {
		const char *text;
		enum reach files;
		bool network, remote, only_reads;
	} examples[] = {
		{"ls -la; git status | head", REACH_NONE, false, false, true},
		{"grep x y 2>/dev/null >&2", REACH_NONE, false, false, true},
		{"make", REACH_WORKSPACE, false, false, false},
		{"echo x > y", REACH_WORKSPACE, false, false, false},
		{"echo x > ~/y", REACH_HOME, false, false, false},
		{"cp x /usr/local/bin", REACH_SYSTEM, false, false, false},
		{"apt install x", REACH_SYSTEM, true, false, false},
		{"npm ci", REACH_WORKSPACE, true, false, false},
		{"git push", REACH_WORKSPACE, true, true, false},
		{"sed -i s/a/b/ x", REACH_WORKSPACE, false, false, false},
		{"$x", REACH_WORKSPACE, false, false, false},
	};

	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct assessment got;

		assess_text(arena, examples[i].text, &got);
		if (got.files != examples[i].files || got.network != examples[i].network ||
		    got.remote != examples[i].remote || got.only_reads != examples[i].only_reads)
			fail_msg("%s: %s, network %d, remote %d, only reads %d", examples[i].text,
				 reach_name(got.files), got.network, got.remote, got.only_reads);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_work_is_safe),
		cmocka_unit_test(ruin_is_forbidden),
		cmocka_unit_test(what_reaches_others_is_asked),
		cmocka_unit_test(what_changes_the_machine_is_asked),
		cmocka_unit_test(deleting_is_weighed_by_its_target),
		cmocka_unit_test(downloads_that_are_run_are_asked),
		cmocka_unit_test(confidence_falls_with_what_is_unknown),
		cmocka_unit_test(to_read_as_another_user_is_asked_about_too),
		cmocka_unit_test(a_path_into_the_workspace_is_inside),
		cmocka_unit_test(what_cannot_be_undone_is_said),
		cmocka_unit_test(each_reason_is_told_once),
		cmocka_unit_test(the_reach_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
