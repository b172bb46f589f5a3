/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the options of programs that rules are often written for. */
#include "pattern.h"

#include <string.h>

/* Options before the verb whose value is the next word. Of a program in this table all of them are
 * known; of another any option may have a value or not. */
static const struct {
	const char *names, *with_value;
} programs[] = {
	{"git", "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env "
		"--attr-source"},
	{"docker podman", "-H --host --config -c --context -l --log-level --tlscacert --tlscert "
			  "--tlskey --root --runroot --url --connection"},
	{"kubectl", "-n --namespace --context --kubeconfig --cluster --user -s --server --token "
		    "--as --as-group --cache-dir --certificate-authority --client-certificate "
		    "--client-key --request-timeout -v --v"},
	{"helm", "-n --namespace --kube-context --kubeconfig --registry-config"},
	{"npm", "--prefix -C -w --workspace --registry --userconfig --cache --loglevel"},
	{"pnpm yarn", "-C --dir --cwd --filter -F --registry"},
	{"pip pip3",
	 "--proxy --timeout --retries --cache-dir --log --cert --python --exists-action "
	 "--trusted-host --client-cert --use-feature --use-deprecated"},
	{"cargo", "--color -Z -C --config --manifest-path --target-dir"},
	{"systemctl", "-H --host -M --machine -t --type -p --property -n --lines -o --output -s "
		      "--signal --root --state --kill-who --job-mode"},
	{"apt apt-get", "-o --option -c --config-file -t --target-release -a --host-architecture"},
	{"gh", "-R --repo --hostname"},
	{"go", "-C"},
	{"aws", "--profile --region --output --endpoint-url --query --ca-bundle --color "
		"--cli-read-timeout --cli-connect-timeout"},
	{"gcloud", "--project --account --configuration --format --verbosity "
		   "--impersonate-service-account"},
	{"make", "-C --directory -f --file -I -o -W -E --eval"},
	/* none of their options has a value */
	{"rm rmdir cat echo chmod", NULL},
};

bool pattern_knows_options(const char *name, const char **ret_with_value)
{
	for (size_t i = 0; i < ELEMENTS(programs); i++) {
		if (!parse_word_in(programs[i].names, name, strlen(name)))
			continue;
		*ret_with_value = programs[i].with_value;
		return true;
	}
	return false;
}
