#!/usr/bin/env bash
# Memory runs out: the N-th allocation of every command fails. Either the command ends with 7, leaves
# nothing behind and gives back what it had, or it ends well with the same bytes.
. "$(dirname "$0")/lib.sh"

# One test per command and kind: own_NAME (allocations of the program), libs_NAME (of the libraries).
while read -r name arguments; do
    for kind in own libs; do
        # open (docs/reliability.md): LAPACKE's workspace in the audit, the exit code of `new`
        [[ -z ${CLAUSIUS_LONG-} && $kind == libs && $name =~ ^(audit.*|new|png|svg)$ ]] && continue
        eval "test_${kind}_${name//-/_}() { inputs; every $kind $arguments; }"
    done
done < <(commands)

run_tests
