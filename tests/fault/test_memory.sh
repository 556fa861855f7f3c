#!/usr/bin/env bash
# Memory runs out: the N-th allocation of every command fails. Either the command ends with 7, leaves
# nothing behind and gives back what it had, or it ends well with the same bytes.
. "$(dirname "$0")/lib.sh"

# One test per command and kind: own_NAME (allocations of the program), libs_NAME (of the libraries).
while read -r name arguments; do
    for kind in own libs; do
        [[ -z ${CLAUSIUS_LONG-} && $kind == libs && $name =~ ^(png|svg)$ ]] && continue # slow: fonts
        eval "test_${kind}_${name//-/_}() { inputs; every $kind $arguments; }"
    done
done < <(commands)

# A new command is failed too.
test_every_command_is_in_the_list() {
    local command list
    list=$(CLAUSIUS_LONG=1 commands)
    run "$CLAUSIUS" --help
    for command in $(sed -nE '/^Commands:/,/^$/s/^  ([a-z]+)  .*/\1/p' "$out"); do
        grep -qE "^[a-z0-9-]+ $command\b" <<<"$list" || fail "tests/fault/lib.sh has no line for clausius $command"
    done
    for command in c js fmu; do grep -q " export $command " <<<"$list" || fail "no line for export $command"; done
}

run_tests
