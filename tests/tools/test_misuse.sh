#!/usr/bin/env bash
# Every public function, called wrongly: a status, not a crash (misuse.py says how).
. "$(dirname "$0")/../cli/lib.sh"

test_public_functions_survive_misuse() {
    local library=${CLAUSIUS_BUILD:-$SOURCE/build}/libclausius.so
    [[ -f $library ]] || skip "there is no $library"
    "$CLAUSIUS" simulate adiabatic-piston --samples 3 --sample "x~U(-0.1,0.1), v.x~U(-1,1)" --steps 12 -o data.csv --quiet || fail "no data"
    "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "chebyshev(1)" -o model.safetensors --quiet || fail "no model"
    run env TMPDIR="$PWD" python3 "$SOURCE/tests/tools/misuse.py" "$library" "$SOURCE/include" "$PWD/model.safetensors" "$PWD/data.csv"
    expect_ok
    expect_stdout '^[12][0-9]{3} calls, 0 findings$'
}

run_tests
