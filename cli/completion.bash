# bash completion for clausius. Commands and options come from the program's own help, systems and
# schemes from the program itself, so that nothing here has to be kept in step.
# shellcheck shell=bash

_clausius_options() {
    "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
    "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(-[a-z]\), .*/\1/p'
}

_clausius_first_words() { "$@" 2>/dev/null | awk '{ print $1 }'; }

_clausius_commands() {
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# Words of a list, plus files with one of the given endings ("" for any).
_clausius_words_or_files() { # WORDS ENDING...
    local word=$cur ending
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word")
    shift
    for ending; do
        local -a found
        mapfile -t found < <(compgen -f -X "!*$ending" -- "$word")
        COMPREPLY+=("${found[@]}")
    done
    local -a folders
    mapfile -t folders < <(compgen -d -S / -- "$word")
    COMPREPLY+=("${folders[@]}")
    compopt -o filenames 2>/dev/null
}

_clausius() {
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ $COMP_CWORD == 2 && $command == help ]]; then
        local words
        words=$(_clausius_commands "$program")
        ((COMP_CWORD == 1)) && words+=" --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    case $previous in
    --scheme)
        mapfile -t COMPREPLY < <(compgen -W \
            "$(_clausius_first_words "$program" schemes | tail -n +2)" -- "$cur")
        return
        ;;
    --unknown)
        mapfile -t COMPREPLY < <(compgen -W \
            "$("$program" show "${COMP_WORDS[2]}" --parts 2>/dev/null)" -- "$cur")
        return
        ;;
    --from | --against) _clausius_words_or_files "" .csv .safetensors && return ;;
    -o | --output)
        if [[ $command == plot ]]; then
            _clausius_words_or_files "" .svg .png
        elif [[ $command == learn ]]; then
            _clausius_words_or_files "" .safetensors
        else
            _clausius_words_or_files "" .csv
        fi
        return
        ;;
    esac
    if [[ $previous == --* && $cur != -* ]]; then # its value: words to choose from, or none
        local value
        value=$("$program" "$command" --help 2>/dev/null | sed -n "s/^  \(-[a-z], \)\{0,1\}$previous \([^ ]*\).*/\2/p")
        case $value in
        *\|*)
            mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" -- "$cur")
            return
            ;;
        FILE) ;; # files, below
        [A-Z]*) return ;;
        esac
    fi
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_clausius_options "$program" "$command")" -- "$cur")
        return
    fi
    case $command in
    export)
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W "c js fmu" -- "$cur")
        else
            _clausius_words_or_files "$(_clausius_first_words "$program" systems)" .clausius .safetensors
        fi
        ;;
    show | simulate)
        _clausius_words_or_files "$(_clausius_first_words "$program" systems)" .clausius .safetensors
        ;;
    learn)
        if ((COMP_CWORD == 2)); then
            _clausius_words_or_files "$(_clausius_first_words "$program" systems)" .clausius
        else
            _clausius_words_or_files "" .csv
        fi
        ;;
    audit)
        _clausius_words_or_files "$(_clausius_first_words "$program" systems)" .clausius .safetensors .csv
        ;;
    compare | plot) _clausius_words_or_files "" .csv .safetensors ;;
    data)
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W "inspect" -- "$cur")
        else
            _clausius_words_or_files "" .csv
        fi
        ;;
    reproduce)
        mapfile -t COMPREPLY < <(compgen -W "$(_clausius_first_words "$program" reproduce)" -- "$cur")
        ;;
    esac
}

complete -F _clausius clausius
