#!/usr/bin/env bash
# Learned models of every kind of field, exported: the bits of the library over 100,000 steps (gcc
# -O3), and as FMUs by FMPy in both versions; a million communication steps of varying H.
. "$(dirname "$0")/../cli/lib.sh"
. "$SOURCE/tests/export/models.sh"

test_eight_models_over_100000_steps() {
    local m n=0
    for m in $export_models; do
        export_model "$m" 100000 50 -O3
        n=$((n + 1))
    done
    expect test $n -eq 8
}

test_cppcheck_says_nothing() {
    command -v cppcheck >/dev/null || skip "no cppcheck"
    local s
    make_model tanh 2>/dev/null
    for s in tanh.safetensors $("$CLAUSIUS" systems | cut -d' ' -f1); do
        rm -rf model.c
        run "$CLAUSIUS" export c "$s" -o model.c --prefix checked --quiet
        grep -q 'has thermal noise' "$err" && continue
        timeout 300 cppcheck --quiet --error-exitcode=1 --enable=warning,portability,performance --suppress=missingIncludeSystem \
            model.c/*.c 2>said || fail "$s: cppcheck: $(head -5 said)"
    done
}

test_models_as_fmus() {
    local python m v h
    python=$("$SOURCE/tools/fmpy-env" "${CLAUSIUS_BUILD:-/tmp}/fmpy") || skip "FMPy cannot be installed"
    for m in $export_models; do
        make_model "$m"
        h=$(default_step "$m.safetensors")
        "$CLAUSIUS" simulate "$m.safetensors" --h "$h" --steps 60 --quiet -o rows.csv || fail "simulate $m"
        for v in 2 3; do
            run "$CLAUSIUS" export fmu "$m.safetensors" --h "$h" --fmi $v -o m.fmu
            expect_ok
            run "$python" "$SOURCE/tests/export/check_fmu.py" m.fmu rows.csv
            expect_ok
            expect_stdout 'same bits, 0 messages'
        done
    done
}

test_a_million_communication_steps() {
    local python
    python=$("$SOURCE/tools/fmpy-env" "${CLAUSIUS_BUILD:-/tmp}/fmpy") || skip "FMPy cannot be installed"
    for s in adiabatic-piston ideal-gas-piston; do
        "$CLAUSIUS" export fmu $s -o m.fmu --quiet
        RUN_LIMIT=3000 run "$python" "$SOURCE/tests/export/check_drift.py" m.fmu 1000000
        expect_ok
        expect_stdout '1000000 communication steps'
        sed "s/^/# /" "$out"
    done
}

run_tests
