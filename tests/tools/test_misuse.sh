#!/usr/bin/env bash
# Every public function, called wrongly: a status, not a crash (misuse.py says how).
. "$(dirname "$0")/../cli/lib.sh"

test_public_functions_survive_misuse() {
    local library=${CLAUSIUS_BUILD:-$SOURCE/build}/libclausius.so
    [[ -f $library ]] || skip "there is no $library"
    run python3 "$SOURCE/tests/tools/misuse.py" "$library" "$SOURCE/include"
    expect_ok
    expect_stdout '^[0-9]{3} calls, 0 findings$'
}

run_tests
