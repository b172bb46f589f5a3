# SPDX-License-Identifier: Apache-2.0
# Fish completion for ward: what there is to say ward says itself (ward complete).

function __ward_complete
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    for line in (ward complete -- $words 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :directories
                __fish_complete_directories (commandline -ct)
            case ':command *'
                set -l start (string replace ':command ' '' -- $line)
                complete -C (string join ' ' -- (string escape -- $words[(math $start + 1)..-2]) $words[-1])
            case '*'
                echo $line
        end
    end
end

complete -c ward -f -a '(__ward_complete)'
