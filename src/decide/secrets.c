/* SPDX-License-Identifier: Apache-2.0 */
/* The tables. */
#include "secrets.h"

#include <stddef.h>

const char *const secrets_in_home[] = {
	/* keys */
	".gnupg/private-keys-v1.d", ".gnupg/secring.gpg", ".gnupg/openpgp-revocs.d", ".password-store",
	".local/share/keyrings", ".local/share/kwalletd", ".pki/nssdb", ".putty/sshkeys", ".age", ".config/sops/age",
	/* credentials of tools */
	".netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".config/hub",
	".config/glab-cli/config.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
	".local/share/gem/credentials", ".composer/auth.json", ".config/composer/auth.json",
	".m2/settings-security.xml", ".docker/config.json", ".config/containers/auth.json", ".kube/config",
	".kube/cache", ".helm/repository/repositories.yaml", ".terraform.d/credentials.tfrc.json", ".vault-token",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".config/rclone/rclone.conf", ".config/op", ".op",
	".smbcredentials", ".fetchmailrc", ".msmtprc", ".mbsyncrc", ".config/ngrok", ".ngrok2",
	/* clouds */
	".aws/credentials", ".aws/sso", ".aws/cli/cache", ".azure", ".config/gcloud", ".config/doctl", ".oci",
	".bluemix", ".aliyun", ".config/scw", ".config/hcloud", ".config/linode-cli", ".fly", ".config/netlify",
	".config/vercel", ".local/share/com.vercel.cli", ".heroku", ".config/heroku", ".config/stripe", ".config/railway",
	/* logins of agents */
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/github-copilot",
	".local/share/opencode/auth.json", ".config/anthropic", ".config/openai",
	/* browsers and mail */
	".mozilla", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
	".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".thunderbird",
	".cache/mozilla", ".cache/google-chrome", ".cache/chromium", "snap/firefox", "snap/chromium",
	".var/app/org.mozilla.firefox", ".var/app/com.google.Chrome", ".config/Signal", ".config/Slack",
	".config/discord", ".local/share/TelegramDesktop",
	/* histories */
	".bash_history", ".zsh_history", ".histfile", ".sh_history", ".local/share/fish/fish_history",
	".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history",
	".rediscli_history", ".dbshell", ".irb_history", ".viminfo", ".lesshst",
	NULL,
};

const char *const ssh_not_secret[] = {"config", "config.d", "known_hosts", "known_hosts.old", "authorized_keys", NULL};

const char *const secrets_in_system[] = {
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssh/ssh_host_*_key", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn",
	"/etc/NetworkManager/system-connections", "/etc/rancher", "/etc/kubernetes", "/etc/docker/key.json",
	"/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd", "/var/spool/cron", "/var/mail", "/var/spool/mail",
	NULL,
};

const char *const secret_names[] = {".env", ".env.*", NULL};
const char *const not_secret_names[] = {".env.example", ".env.sample", ".env.template", ".env.*.example",
					".env.*.sample", ".env.*.template", NULL};

const char *const secret_variables[] = {
	"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*CREDENTIAL*", "*API_KEY*", "*APIKEY*",
	"*PRIVATE_KEY*", "*ACCESS_KEY*", "*_KEY", "*_KEY_ID", "*_PASS", "*_PAT", "*_AUTH", "*AUTH_CONFIG*",
	"*CONNECTION_STRING*", "*_DSN", "DATABASE_URL", "REDIS_URL", "MONGO*_UR[IL]", "AMQP_URL", "PGPASSFILE",
	"NETRC", "KUBECONFIG", NULL,
};

const char *const host_variables[] = {
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GPG_AGENT_INFO",
	"GPG_TTY", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DOCKER_HOST",
	"CONTAINER_HOST", "GNOME_KEYRING_CONTROL", "SESSION_MANAGER", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID",
	"TMUX", "TMUX_PANE", "STY", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "WARD_WALLS_OFF", NULL,
};
