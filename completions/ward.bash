# SPDX-License-Identifier: Apache-2.0
# Bash completion for ward.

# Completes the words from position $1 on as a command line of their own.
_ward_command()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
	fi
}

# Completes a name of a set of hosts, or a word of $1. The names hold colons, at which bash begins a new word.
_ward_sets()
{
	local whole=${COMP_LINE:0:COMP_POINT} prefix= words=$1
	whole=${whole##*[[:space:]]}
	[[ $whole == -* ]] || words=$(ward policy sets --json 2>/dev/null | grep -o '"name":"[^"]*"' | cut -d '"' -f 4)
	[[ $COMP_WORDBREAKS == *:* && $whole == *:* ]] && prefix=${whole%:*}:
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$whole")
	COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
}

_ward()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} at words
	local with_value=' -c --shell --workspace --cwd --level --read --write --read-only --make --deny --net --allow-socket --allow-host --deny-host --publish
		--allow-syscall --deny-syscall --require --memory --processes --cpu --cpu-time --disk --files --wait --timeout --idle --output --env
		--keep-env --caches --approval --sandbox --profile --policy --agent --session --tool --call-id --turn --reason '
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run check doctor log show audit policy pending watch approve deny grants session caches serve hook mcp init --help --version' -- "$word")
		return
	fi

	if [[ $verb == run || $verb == check ]]; then
		for ((at = 2; at < COMP_CWORD; at++)); do
			if [[ ${COMP_WORDS[at]} == -- ]]; then
				_ward_command $((at + 1)) "$word"
				return
			fi
			[[ $with_value == *[[:space:]]"${COMP_WORDS[at]}"[[:space:]]* ]] && ((at++))
		done
		if [[ ${COMP_LINE:0:COMP_POINT} =~ --(allow|deny)-host[[:space:]]+[^[:space:]]*$ ]]; then
			_ward_sets
			return
		fi
		case $previous in
		--workspace | --cwd)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -d -- "$word")
			return
			;;
		--read | --write | --read-only | --make | --deny | --shell)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			return
			;;
		--level) words='none restricted' ;;
		--approval) words='never on-failure on-request unless-trusted' ;;
		--caches) words='private off' ;;
		--sandbox) words='auto require forbid' ;;
		--profile) words='agent code code-net claude codex gemini opencode' ;;
		--policy)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			return
			;;
		--net) words='none restricted full' ;;
		--allow-socket) words='docker podman containerd lxd libvirt systemd dbus session-bus x11 wayland ssh-agent gpg-agent keyring audio' ;;
		--memory) words='512M 1G 4G' ;;
		--processes) words='20 100 1000' ;;
		--cpu) words='25% 50% 1 1.5' ;;
		--disk) words='100M 1G 5G' ;;
		--files) words='64 256 1024' ;;
		--cpu-time | --idle) words='10s 60s 5m' ;;
		--wait) words='5m 30m 1h' ;;
		--timeout) words='30s 5m 1h' ;;
		--output) words='1M 10M 100M' ;;
		--keep-env) words=$(compgen -e) ;;
		--env)
			compopt -o nospace
			mapfile -t COMPREPLY < <(compgen -e -S = -- "$word")
			return
			;;
		-c | --agent | --session | --tool | --call-id | --turn | --reason) return ;;
		*)
			words="${with_value} --login --json --quiet --no-pty --trace-reads --"
			[[ $verb == check ]] && words='--json --batch --'
			;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
		return
	fi

	if [[ $verb == policy ]] && ((COMP_CWORD > 2)); then
		case ${COMP_WORDS[2]} in
		check) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
		sets) _ward_sets '--json --policy --workspace' ;;
		trust | untrust) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
		show)
			if [[ $previous == --policy ]]; then
				compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$word")
			elif [[ $previous == --workspace ]]; then
				compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "$word")
			else
				mapfile -t COMPREPLY < <(compgen -W '--json --flags --profile --policy --workspace' -- "$word")
			fi
			;;
		esac
		return
	fi

	case $verb in
	doctor | log) words='--json --help' ;;
	show) words='last --json' ;;
	audit) words='verify export' ;;
	policy) words='check show sets trust untrust --help' ;;
	pending) words='--json' ;;
	approve) words="--scope --extent --unsandboxed --reason $(ward pending --json 2>/dev/null | sed -n 's/^{"id": *"\([0-9a-z]*\)".*/\1/p')" ;;
	deny) words="--scope --abort --reason $(ward pending --json 2>/dev/null | sed -n 's/^{"id": *"\([0-9a-z]*\)".*/\1/p')" ;;
	grants) words='--json --session revoke' ;;
	session) words='--json end' ;;
	caches) words='--json clear --all' ;;
	serve) words='--stdio --events --help' ;;
	init)
		words='--agent --project --user --remove --no-policy --write --dry-run --help'
		[[ $previous == --agent ]] && words='claude codex gemini cursor windsurf opencode'
		;;
	mcp)
		case $previous in
		--workspace)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -d -- "$word")
			return
			;;
		--profile) words='agent code' ;;
		--agent | --session) return ;;
		*) words='--workspace --profile --agent --session --help' ;;
		esac
		;;
	*) return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _ward ward
