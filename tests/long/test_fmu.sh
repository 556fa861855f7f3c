#!/usr/bin/env bash
# FMUs by FMPy: every built-in system, FMI 2.0 and 3.0: validated without a message, co-simulation
# with the bits of simulate, model exchange by CVODE, states kept, derivatives, wrong calls.
. "$(dirname "$0")/../cli/lib.sh"

test_every_system_in_both_versions() {
    local python s v n=0
    python=$("$SOURCE/tools/fmpy-env" "${CLAUSIUS_BUILD:-/tmp}/fmpy") || skip "FMPy cannot be installed"
    for s in $("$CLAUSIUS" systems | cut -d' ' -f1); do
        run "$CLAUSIUS" export js "$s" -o m.mjs --quiet
        grep -q 'has thermal noise' "$err" && continue
        "$CLAUSIUS" simulate "$s" --steps 100 --quiet -o rows.csv || fail "simulate $s"
        "$CLAUSIUS" simulate "$s" --steps 100 --scheme bdf --quiet -o bdf.csv || fail "bdf $s"
        for v in 2 3; do
            "$CLAUSIUS" export fmu "$s" --fmi $v -o m.fmu --quiet || fail "export fmu $s"
            RUN_LIMIT=600 run "$python" "$SOURCE/tests/export/check_fmu.py" m.fmu rows.csv bdf.csv
            expect_ok
            expect_stdout 'same bits, 0 messages'
            n=$((n + 1))
            echo "# $s, FMI $v"
        done
    done
    expect test $n -ge 28
}

run_tests
