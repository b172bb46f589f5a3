# SPDX-License-Identifier: Apache-2.0
# Bash completion for ward: what there is to say ward says itself (ward complete).

_ward()
{
	local words=("${COMP_WORDS[@]}") cword=$COMP_CWORD line word names=()
	COMPREPLY=()

	# Names of sets hold colons, at which bash begins a new word.
	declare -F _get_comp_words_by_ref >/dev/null && _get_comp_words_by_ref -n := words cword
	while IFS= read -r line; do
		case $line in
		:files) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "${words[cword]}") ;;
		:directories) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "${words[cword]}") ;;
		:command\ *)
			if declare -F _command_offset >/dev/null; then
				_command_offset $((${line#:command } + 1))
			elif ((cword == ${line#:command } + 1)); then
				mapfile -t COMPREPLY < <(compgen -c -- "${words[cword]}")
			else
				compopt -o default
			fi
			return
			;;
		*) names+=("${line%%$'\t'*}") ;;
		esac
	done < <(ward complete -- "${words[@]:1:cword}" 2>/dev/null)
	((${#names[@]} == 0)) && return
	for word in "${names[@]}"; do
		# Only what follows the last break is this word to bash.
		if [[ ${words[cword]} != "${COMP_WORDS[COMP_CWORD]}" ]]; then
			word=${word#"${words[cword]%"${words[cword]##*[:=]}"}"}
		fi
		COMPREPLY+=("$word")
	done
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	return 0
}

complete -F _ward ward
