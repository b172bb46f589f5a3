/* SPDX-License-Identifier: Apache-2.0 */
/* What a yes covers: commands that mean the same share it, and nothing else does. */
#include "../../src/decide/canonical.h"
#include "../../src/decide/key.h"

#include "../../src/base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the above first */
#include <cmocka.h>
#undef fail

static void make(const struct request *request, struct approval_key *ret_key)
{
	struct arena *arena = arena_new();
	struct plan plan;

	parse_request(arena, request, &plan);
	approval_key_make(request, &plan, ret_key);
	arena_free(arena);
}

static void begin(struct request *request)
{
	request_init(request);
	request->cwd = strdup("/w");
	request->workspace = strdup("/w");
}

static void key_of_script(const char *script, struct approval_key *ret_key)
{
	_cleanup_request_ struct request request;

	begin(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(script);
	make(&request, ret_key);
}

static void key_of_words(const char *const *words, size_t count, struct approval_key *ret_key)
{
	_cleanup_request_ struct request request;

	begin(&request);
	for (size_t i = 0; i < count; i++)
		list_add(&request.argv, words[i]);
	make(&request, ret_key);
}

/* Both the key for the kind of thing and the one for exactly this. */
static bool share(const char *a, const char *b)
{
	struct approval_key first, second;
	bool same;

	key_of_script(a, &first);
	key_of_script(b, &second);
	same = strcmp(first.exact, second.exact) == 0;
	if (same)
		assert_string_equal(first.text, second.text);
	approval_key_done(&first);
	approval_key_done(&second);
	return same;
}

static bool share_kind(const char *a, const char *b)
{
	struct approval_key first, second;
	bool same;

	key_of_script(a, &first);
	key_of_script(b, &second);
	same = strcmp(first.text, second.text) == 0;
	approval_key_done(&first);
	approval_key_done(&second);
	return same;
}

static void differs(const char *how, const char *a, const char *b)
{
	print_error("%s: %s, and %s\n", how, a, b);
	assert_true(false);
}

static void what_means_the_same_shares_a_yes(void **state)
{
	static const char *const pairs[][2] = {
		{"rm -rf a b", "rm  -rf\ta   b"},
		{"rm -rf 'a' \"b\"", "rm -rf a b"},
		{"rm -rf a", "'rm' -rf a"},
		{"rm -rf a\n", "rm -rf a"},
		{"rm -rf a", "bash -c 'rm -rf a'"},
		{"rm -rf a", "bash -lc 'rm -rf a'"},
		{"rm -rf a", "sh -ec \"rm -rf 'a'\""},
		{"rm -rf a", "bash -l -c 'rm -rf a'"},
		{"rm -rf a", "/bin/sh -c 'bash -c \"rm -rf a\"'"},
		{"rm -rf a", "env rm -rf a"},
		{"rm -rf a", "rm -r -f a"},
		{"rm -rf a", "rm -fr a"},
		{"rm -rf a", "rm a -rf"},
		{"rm -r -v a b", "rm a -v b -r"},
		{"rm -rf -- a", "rm -rf a"},
		{"git push --force origin main", "git push origin main --force"},
		{"git push --repo=x -u", "git push -u --repo x"},
		{"git push -o a -o b", "git push -oa -o b"},
		{"git clean -fdx", "git clean -x -d -f"},
		{"tar -xzf a.tgz -C out", "tar -x -z -f a.tgz -C out"},
		{"tar --file=a.tar -x", "tar --file a.tar -x"},
		{"chmod -R -v 700 a", "chmod -vR 700 a"},
		{"shred -u -n 3 a", "shred a -n3 -u"},
		{"install -D -m 755 a /usr/local/bin/b", "install -m755 -D a /usr/local/bin/b"},
		{"ln -s -r a /usr/bin/b", "ln -rs a /usr/bin/b"},
		{"truncate -s 0 -c a", "truncate -c -s0 a"},
		{"rsync -avz --delete a/ h:b", "rsync --delete -z -va a/ h:b"},
		{"curl -X POST -H a:b https://x.example", "curl https://x.example -H a:b -X POST"},
		{"curl -sSL -d a=1 https://x.example", "curl -d a=1 -L -S -s https://x.example"},
		{"wget --post-data=a -q https://x.example",
		 "wget -q --post-data a https://x.example"},
		{"git rm -r -f a", "git rm -fr a"},
		{"git restore -S -W a", "git restore a -WS"},
		{"git branch -q -D a", "git branch a -qD"},
		{"git stash drop -q", "git stash drop -q"},
		{"gh pr merge 12 -s -d", "gh pr merge -d 12 -s"},
		{"gh release create v1 -p --title x", "gh release create --title=x v1 -p"},
		{"npm publish --access public --provenance",
		 "npm publish --provenance --access=public"},
		{"cargo publish -p a --allow-dirty", "cargo publish --allow-dirty -p a"},
		{"twine upload --skip-existing -r x a", "twine upload -r x a --skip-existing"},
		{"docker push -q a/b", "docker push a/b -q"},
		{"kubectl delete pod a -n x --force", "kubectl delete pod --force -n x a"},
		{"kubectl apply -f a -f b -R", "kubectl apply -R -f a -f b"},
		{"helm upgrade -i a b --wait", "helm upgrade --wait a b -i"},
		{"systemctl restart -q a", "systemctl restart a -q"},
		{"useradd -m -s /bin/sh a", "useradd a -s /bin/sh -m"},
		{"usermod -a -G b c", "usermod -aG b c"},
		{"umount -f -l /x", "umount -lf /x"},
		{"mount -t ext4 -v /dev/a /x", "mount -v -t ext4 /dev/a /x"},
		{"dropdb -h x -i a", "dropdb -i -h x a"},
		{"apt-get install -y --no-install-recommends x",
		 "apt-get --no-install-recommends install x -y"},
	};

	(void)state;
	for (size_t i = 0; i + 1 < ELEMENTS(pairs); i++)
		if (!share(pairs[i][0], pairs[i][1]))
			differs("do not share a yes", pairs[i][0], pairs[i][1]);
	/* an option before the verb is no option behind it */
	assert_false(share(pairs[ELEMENTS(pairs) - 1][0], pairs[ELEMENTS(pairs) - 1][1]));
}

static void what_does_not_mean_the_same_shares_none(void **state)
{
	static const char *const pairs[][2] = {
		{"rm a", "rm -r a"},
		{"rm -i -f a", "rm -f -i a"}, /* the last one counts */
		{"rm -rf a b", "rm -rf b a"},
		{"rm -rf a", "rm -rf ./a"},
		{"rm -rf a", "rm -rf /a"},
		{"rm -rf a", "rm -rf ~/a"},
		{"rm -rf '~/a'", "rm -rf ~/a"},
		{"rm -rf '*'", "rm -rf *"},
		{"rm -rf '{a,b}'", "rm -rf {a,b}"},
		{"rm -rf '$x'", "rm -rf $x"},
		{"rm -rf \"$x\"", "rm -rf '$x'"},
		{"rm -rf a", "rm -rf a &"},
		{"rm -rf a", "! rm -rf a"},
		{"rm -rf a", "(rm -rf a)"},
		{"rm -rf a", "for i in 1 2; do rm -rf a; done"},
		{"rm -rf a", "while :; do rm -rf a; done"},
		{"rm -rf a", "rm -rf a > log"},
		{"rm -rf a", "X=1 rm -rf a"},
		{"rm -rf a", "env X=1 rm -rf a"},
		{"rm -rf a", "env -i rm -rf a"},
		{"rm -rf a", "sudo rm -rf a"},
		{"rm -rf a", "nohup rm -rf a"},
		{"rm -rf a", "bash -ic 'rm -rf a'"},
		{"rm -rf a", "bash -c 'rm -rf a' x"},
		{"rm -rf a", "bash -c 'rm -rf a'; true"},
		{"rm -rf a", "bash --rcfile x -c 'rm -rf a'"},
		{"rm -rf a", "./bash -c 'rm -rf a'"},
		{"rm -rf a", "/tmp/rm -rf a"},
		{"rm -rf a", "rm -rf a # b"},
		{"rm -rf a\nrm b", "rm -rf a"},
		{"git push", "git push --force"},
		{"git push", "git push --dry-run"},
		{"git push --dry-run", "git push --force"},
		{"git -C x push", "git push -C x"},
		{"git push --unknown a b", "git push a --unknown b"},
		{"git reset --soft --hard", "git reset --hard --soft"},
		{"git reset --hard a", "git reset --hard b"},
		{"tar -x -C a -f x.tar b", "tar -x -f x.tar b -C a"},
		{"python3 a.py -x -y", "python3 a.py -y -x"},
		{"frob -a -b", "frob -b -a"},
		{"find . -name x -delete", "find . -delete -name x"},
		{"shred -n 3 -u a", "shred -u a"},
		{"install -m 755 a b", "install -m 4755 a b"},
		{"ln -s a b", "ln -s b a"},
		{"ln -f -i a b", "ln -i -f a b"},
		{"rsync --exclude a --include b x h:y", "rsync --include b --exclude a x h:y"},
		{"rsync -a x h:y", "rsync -a --delete x h:y"},
		{"rsync -a x h:y", "rsync -a h:y x"},
		{"curl -X POST https://x.example", "curl -X DELETE https://x.example"},
		{"curl -X POST -X PUT https://x.example", "curl -X PUT -X POST https://x.example"},
		{"curl -d a --data-binary b https://x.example",
		 "curl --data-binary b -d a https://x.example"},
		{"curl -d a https://x.example", "curl -d a https://y.example"},
		{"curl -d a https://x.example --next https://y.example",
		 "curl https://x.example --next -d a https://y.example"},
		{"wget --post-data a https://x.example", "wget --post-data b https://x.example"},
		{"git rm -f a", "git rm -f --cached a"},
		{"git restore --staged a", "git restore a"},
		{"git restore -s x a", "git restore -s y a"},
		{"git branch -D a", "git branch -D b"},
		{"git branch -d -D a", "git branch -D -d a"},
		{"git checkout -- a", "git checkout a"},
		{"gh pr merge 12 -s", "gh pr merge 12 -r"},
		{"gh pr merge 12", "gh pr close 12"},
		{"gh pr merge -R a/b 12", "gh pr merge -R a/c 12"},
		{"npm publish --tag next", "npm publish --tag latest"},
		{"cargo publish --registry a", "cargo publish --registry b"},
		{"docker rm a", "docker rm -v a"},
		{"docker push a/b", "docker push a/c"},
		{"docker run a -f b", "docker run -f a b"},
		{"kubectl delete pod a", "kubectl delete pod --all"},
		{"kubectl delete pod a -n x", "kubectl delete pod a -n y"},
		{"kubectl delete pod a", "kubectl delete deployment a"},
		{"helm upgrade a b --set x=1 --set x=2", "helm upgrade a b --set x=2 --set x=1"},
		{"helm upgrade a b -f c --set x=1", "helm upgrade a b --set x=1 -f c"},
		{"terraform apply -var a=1 -var-file b", "terraform apply -var-file b -var a=1"},
		{"terraform apply", "terraform destroy"},
		{"systemctl restart a", "systemctl stop a"},
		{"systemctl restart a", "systemctl --user restart a"},
		{"useradd -m -M a", "useradd -M -m a"},
		{"usermod -G b c", "usermod -aG b c"},
		{"umount /x", "umount -R /x"},
		{"mount -o ro -o rw /dev/a /x", "mount -o rw -o ro /dev/a /x"},
		{"dropdb -h x a", "dropdb -h y a"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(pairs); i++)
		if (share(pairs[i][0], pairs[i][1]))
			differs("share a yes", pairs[i][0], pairs[i][1]);
}

static void a_yes_to_a_kind_of_thing_stays_with_it(void **state)
{
	static const char *const shared[][2] = {
		{"pip install numpy", "pip install --user pandas"},
		{"pip install numpy", "bash -lc 'pip install pandas'"},
		{"git push", "git push -u origin main"},
		{"npm install left", "npm install -D right"},
		{"apt-get install x", "apt-get install -y z"},
		{"docker volume rm a", "docker volume rm b"},
		{"gh pr merge 1", "gh pr merge 2"},
		{"kubectl delete pod a", "kubectl delete pod b"},
	};
	static const char *const apart[][2] = {
		{"pip install numpy", "pip uninstall numpy"},
		{"pip install numpy", "pip install -i https://example.org numpy"},
		{"pip install numpy", "pip install --index-url=https://example.org numpy"},
		{"pip install numpy", "pip install git+https://example.org/x"},
		{"pip install numpy", "pip install /opt/x"},
		{"pip install numpy", "pip install ../x"},
		{"pip install numpy", "pip install ~/x"},
		{"pip install numpy", "pip install --break-system-packages numpy"},
		{"pip install --dry-run numpy", "pip install numpy"},
		{"pip install numpy", "pip install --target /x numpy"},
		{"git push", "git push upstream"},
		{"git push", "git push https://example.org/x"},
		{"git push", "git push host:x"},
		{"git push", "git push origin :x"},
		{"git push", "git push origin +main"},
		{"git push", "git push --force"},
		{"git push", "git push --mirror"},
		{"git push --dry-run", "git push"},
		{"docker volume rm a", "docker volume prune"},
		{"docker volume rm a", "docker image rm a"},
		{"docker push a", "docker push example.org/a"},
		{"kubectl delete pod a", "kubectl delete ns a"},
		{"kubectl delete pod a", "kubectl delete pod a --context prod"},
		{"npm run build", "npm run deploy"},
		{"npm install x", "npm install -g x"},
		{"cargo run a", "cargo run b"},
		{"docker run a", "docker run b"},
		{"kubectl exec a", "kubectl exec b"},
		{"gh pr merge 1", "gh pr close 1"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(shared); i++)
		if (!share_kind(shared[i][0], shared[i][1]))
			differs("do not share a yes", shared[i][0], shared[i][1]);
	for (size_t i = 0; i < ELEMENTS(apart); i++)
		if (share_kind(apart[i][0], apart[i][1]))
			differs("share a yes", apart[i][0], apart[i][1]);
}

static void words_and_text_share_a_yes(void **state)
{
	static const char *const words[] = {"rm", "-r", "-f", "a b"};
	static const char *const shell[] = {"bash", "-lc", "rm -rf 'a b'"};
	static const char *const star[] = {"rm", "-r", "-f", "*"};
	struct approval_key first, second, third, other;

	(void)state;
	key_of_words(words, ELEMENTS(words), &first);
	key_of_words(shell, ELEMENTS(shell), &second);
	key_of_script("rm -fr \"a b\"", &third);
	assert_string_equal(first.exact, second.exact);
	assert_string_equal(first.exact, third.exact);
	key_of_words(star, ELEMENTS(star), &other);
	approval_key_done(&third);
	key_of_script("rm -rf *", &third);
	assert_string_not_equal(other.exact, third.exact);
	approval_key_done(&first);
	approval_key_done(&second);
	approval_key_done(&third);
	approval_key_done(&other);
}

static void the_program_is_the_one_that_its_name_leads_to(void **state)
{
	static const char *const by_path[] = {"/usr/bin/env-of-nobody", "x"};
	_cleanup_list_ struct list words = {0}, form = {0}, own = {0};

	(void)state;
	assert_int_equal(setenv("PATH", "/usr/bin:/bin", 1), 0);
	for (size_t i = 0; i < ELEMENTS(by_path); i++)
		list_add(&words, by_path[i]);
	canonical_form(&words, /* own_path= */ false, &form);
	assert_string_equal(form.items[1], "env-of-nobody");
	canonical_form(&words, /* own_path= */ true, &own);
	assert_string_equal(own.items[1], "/usr/bin/env-of-nobody");
	assert_int_equal(setenv("PATH", "/bin:/usr/bin", 1), 0);
	assert_false(share("/opt/x/rm a", "rm a"));
}

/* -- Chance ------------------------------------------------------------------------------------ */

static unsigned seed = 7;

static unsigned dice(unsigned sides)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % sides;
}

static const char *const tools[] = {"rm",
				    "cp",
				    "mv",
				    "chmod",
				    "tar",
				    "git push",
				    "git",
				    "git clean",
				    "git reset",
				    "pip install",
				    "apt-get",
				    "curl",
				    "wget",
				    "ln",
				    "install",
				    "shred",
				    "truncate",
				    "rsync",
				    "mkdir",
				    "touch",
				    "git rm",
				    "git restore",
				    "git switch",
				    "git branch",
				    "git stash drop",
				    "gh pr merge",
				    "gh pr create",
				    "gh release create",
				    "npm publish",
				    "cargo publish",
				    "twine upload",
				    "docker rm",
				    "docker push",
				    "kubectl delete",
				    "kubectl apply",
				    "helm upgrade",
				    "terraform apply",
				    "systemctl restart",
				    "useradd",
				    "usermod",
				    "userdel",
				    "mount",
				    "umount",
				    "dropdb"};
static const char *const parts[] = {"-r",	"-f",	       "-i",
				    "-v",	"-rf",	       "-xzf",
				    "-x",	"-z",	       "--force",
				    "-o",	"--dry-run",   "-n",
				    "-C",	"--hard",      "--soft",
				    "--repo=h", "--repo",      "h",
				    "a",	"./b",	       "/c",
				    "~/d",	"../e",	       "/tmp/f",
				    "--",	"push",	       "clean",
				    "install",	"host:x",      "+m",
				    "--user",	"--index-url", "https://example.org",
				    "-y",	"-d"};

static void roll(struct list *words)
{
	char *copy = strdup(tools[dice(ELEMENTS(tools))]), *rest = copy, *word;
	unsigned count = dice(6);

	while ((word = strsep(&rest, " ")))
		list_add(words, word);
	for (unsigned i = 0; i < count; i++)
		list_add(words, parts[dice(ELEMENTS(parts))]);
	free(copy);
}

/* What stays of a command when its options change their order and their spelling: its tool, every
 * letter, and the paths and hosts. */
struct gist {
	char tool[32];
	unsigned long places;
	unsigned letters[256];
};

static void gist_of(const struct list *words, struct gist *ret_gist)
{
	*ret_gist = (struct gist){0};
	strcpy(ret_gist->tool, words->items[0]);
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];

		if (word[0] != '-' && strpbrk(word, "/~:")) {
			unsigned long sum = 5381;

			for (const char *c = word; *c; c++)
				sum = sum * 33 + (unsigned char)*c;
			ret_gist->places += sum;
		}
		for (; *word; word++)
			if (!strchr("-=", *word))
				ret_gist->letters[(unsigned char)*word]++;
	}
}

/* Whatever else two commands with one key are: no letter of an option, no verb, no host and no path
 * is in one of them alone. */
static void one_key_means_one_thing(void **state)
{
	enum { ROUNDS = 300, EACH = 40 };
	size_t shared = 0;

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		struct approval_key keys[EACH];
		struct gist gists[EACH];
		struct list words[EACH] = {0};

		for (size_t i = 0; i < EACH; i++) {
			/* a shuffled one of those before, or a new one */
			if (i > 0 && dice(2)) {
				const struct list *from = &words[dice((unsigned)i)];

				for (size_t j = 0; j < from->count; j++)
					list_add(&words[i], from->items[j]);
				if (from->count > 3) {
					size_t a = 1 + dice((unsigned)from->count - 1),
					       b = 1 + dice((unsigned)from->count - 1);
					char *item = words[i].items[a];

					words[i].items[a] = words[i].items[b];
					words[i].items[b] = item;
				}
			} else {
				roll(&words[i]);
			}
			key_of_words((const char *const *)words[i].items, words[i].count, &keys[i]);
			gist_of(&words[i], &gists[i]);
		}
		for (size_t i = 0; i < EACH; i++)
			for (size_t j = 0; j < i; j++) {
				if (strcmp(keys[i].exact, keys[j].exact) != 0)
					continue;
				shared++;
				assert_string_equal(gists[i].tool, gists[j].tool);
				assert_int_equal(gists[i].places, gists[j].places);
				assert_memory_equal(gists[i].letters, gists[j].letters,
						    sizeof(gists[i].letters));
			}
		for (size_t i = 0; i < EACH; i++) {
			approval_key_done(&keys[i]);
			list_done(&words[i]);
		}
	}
	assert_true(shared > ROUNDS);
}

/* However the words are quoted, the key stays the same. */
static void quotes_make_no_difference(void **state)
{
	enum { ROUNDS = 2000 };

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		_cleanup_list_ struct list words = {0};
		_cleanup_buffer_ struct buffer script = {0};
		struct approval_key plain, quoted;

		roll(&words);
		for (size_t i = 0; i < words.count; i++) {
			static const char *const quotes[] = {"'", "\"", ""};
			bool needs = strpbrk(words.items[i], "~*") != NULL;
			const char *quote = quotes[dice(needs ? 2 : 3)];

			buffer_printf(&script, "%s%s%s%s", quote, words.items[i], quote,
				      dice(2) ? " " : "  \t");
		}
		key_of_words((const char *const *)words.items, words.count, &plain);
		key_of_script(buffer_text(&script), &quoted);
		assert_string_equal(plain.exact, quoted.exact);
		assert_string_equal(plain.text, quoted.text);
		approval_key_done(&plain);
		approval_key_done(&quoted);
	}
}

static void variables_make_it_another_command(void **state)
{
	_cleanup_request_ struct request request;
	struct approval_key plain, with;

	(void)state;
	begin(&request);
	list_add(&request.argv, "git");
	list_add(&request.argv, "push");
	make(&request, &plain);
	list_add(&request.environment, "GIT_SSH_COMMAND=./x");
	make(&request, &with);
	assert_string_not_equal(plain.text, with.text);
	assert_null(with.covers);
	approval_key_done(&plain);
	approval_key_done(&with);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_make_it_another_command),
		cmocka_unit_test(what_means_the_same_shares_a_yes),
		cmocka_unit_test(what_does_not_mean_the_same_shares_none),
		cmocka_unit_test(a_yes_to_a_kind_of_thing_stays_with_it),
		cmocka_unit_test(words_and_text_share_a_yes),
		cmocka_unit_test(the_program_is_the_one_that_its_name_leads_to),
		cmocka_unit_test(one_key_means_one_thing),
		cmocka_unit_test(quotes_make_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
