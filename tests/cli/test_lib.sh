#!/usr/bin/env bash
# The shell tests' own test: every expectation must be able to fail.
. "$(dirname "$0")/lib.sh"

# Writes a test file with the given body, runs it and keeps its TAP.
tap() {
    printf '. "%s/tests/cli/lib.sh"\ntest_it() {\n%s\n}\nrun_tests\n' "$SOURCE" "$1" >t.sh
    run bash t.sh
}
passes() {
    tap "$1"
    expect_ok
    expect_stdout '^ok test_it$'
}
fails() {
    tap "$1"
    expect_exit 1
    expect_stdout '^not ok test_it$'
    expect_stdout "$2"
}

test_exit_code() {
    passes 'run sh -c "exit 4"; expect_exit 4'
    fails 'run sh -c "exit 3"; expect_exit 4' 'expected exit code 4, got 3'
    fails 'run false; expect_ok' 'expected exit code 0, got 1'
}

test_output() {
    passes 'run echo "a -b"; expect_stdout "^a -b$"; expect_stdout "-b"; expect_no_stderr; expect_no_stdout c'
    fails 'run echo a; expect_stdout b' "stdout: a"
    fails 'run sh -c "echo a >&2"; expect_stderr b' "stderr: a"
    fails 'run echo a; expect_no_stdout' 'expected nothing on stdout'
    fails 'run echo a; expect_no_stdout a' "matching 'a'"
    fails 'run sh -c "echo a >&2"; expect_no_stderr' 'expected nothing on stderr'
}

test_files() {
    passes 'expect_no_file *; echo 1 >a; cp a b; expect_file a; expect_same a b; expect_lines 1 a; expect_in_file 1 a'
    fails 'expect_file a' 'expected a file a'
    fails 'touch a; expect_no_file a' 'expected no file a'
    fails 'touch x1; expect_no_file x*' 'expected no file x1'
    fails 'echo 1 >a; echo 2 >b; expect_same a b' 'differ'
    fails 'echo 1 >a; expect_lines 2 a' 'expected 2 lines in a, got 1'
    fails 'expect_in_file x absent' 'expected a file absent'
}

test_json() {
    passes "run echo '{\"a\": [1, 2]}'; expect_json 'd[\"a\"][1] == 2'"
    fails "run echo '{\"a\": 1}'; expect_json 'd[\"a\"] == 2'" 'not true'
    fails "run echo '{\"a\": 1} rest'; expect_json 'd[\"a\"] == 1'" 'Extra data'
    fails "run echo nothing; expect_json 'True'" 'JSON'
}

test_stdin_and_variables() {
    passes 'run cat; expect_no_stdout; run cat <<<word; expect_stdout word; WORD=x run env; expect_stdout ^WORD=x'
}

test_time_limit() {
    fails 'RUN_LIMIT=0.2 run sleep 5; expect_ok' 'got 124'
}

test_skip() {
    tap 'skip "no such thing here"; fail "not reached"'
    expect_ok
    expect_stdout '^ok test_it # skip no such thing here$'
}

test_shell_error_fails() {
    fails 'return 3' 'ended with status 3'
    fails 'expect false' 'expected success of: false'
}

test_every_test_has_its_own_directory() {
    cat >t.sh <<END
. "$SOURCE/tests/cli/lib.sh"
test_b() { touch left; }
test_a() { expect_no_file left; expect test "\$TMPDIR" = "\$PWD"; }
run_tests
END
    run bash t.sh
    expect_ok
    expect test "$(tr '\n' ' ' <"$out")" = "1..2 ok test_b ok test_a " # order of the file
    run bash t.sh test_a
    expect_stdout '^1\.\.1$'
    expect_no_stdout test_b
    expect_no_file clausius-test.*
}

run_tests
