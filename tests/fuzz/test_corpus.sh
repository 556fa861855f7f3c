#!/usr/bin/env bash
# Every fuzz target over its corpus, once: what was found before is not there any more.
. "$(dirname "$0")/../cli/lib.sh"

test_fuzz_targets_over_their_corpus() {
    RUN_LIMIT=3000 run "$SOURCE/tools/fuzz" "${CLAUSIUS_BUILD:-$SOURCE/build}" 0
    [[ $code == 77 ]] && skip "clang with libFuzzer is not here"
    expect_ok
    expect_no_stdout 'exit [1-9]'
}

run_tests
