# shellcheck shell=bash disable=SC2030,SC2031
# The shell tests' small language. A test file is an executable tests/cli/test_*.sh:
#
#     #!/usr/bin/env bash
#     . "$(dirname "$0")/../cli/lib.sh"
#
#     test_unknown_system_is_named() {
#         run "$CLAUSIUS" show adiabatic-pistn
#         expect_exit 4
#         expect_stderr 'adiabatic-piston'
#     }
#
#     run_tests
#
# Every function test_* is one test, run in the order of the file, in its own empty temporary
# directory (also $TMPDIR) with standard input from /dev/null, and printed as one TAP line
# (`ok NAME`, `not ok NAME`, `ok NAME # skip WHY`). The first expectation that fails ends its test
# and shows command, exit code and both outputs. `bash test_x.sh test_a test_b` runs only those.
#
#   $CLAUSIUS            the program under test (default: build/clausius of this tree)
#   $SOURCE              the root of the source tree
#   run CMD ARGS...      runs CMD for at most $RUN_LIMIT seconds (default 60); keeps stdout in the file
#                        $out, stderr in $err, the exit code in $code. Redirections and variables work:
#                        `run CMD <file`, `NO_COLOR=1 run CMD`. Ended by a signal: 128 + its number;
#                        by the time limit: 124.
#   expect_exit N        the exit code is N
#   expect_ok            the exit code is 0
#   expect_stdout RE     a line of stdout matches the extended regular expression RE
#   expect_stderr RE     the same for stderr
#   expect_no_stdout [RE]   nothing on stdout (no line that matches RE); the same: expect_no_stderr
#   expect_file F...     F exists and is not empty
#   expect_no_file F...  F does not exist (a shell pattern is fine: expect_no_file *)
#   expect_in_file RE F  a line of F matches RE
#   expect_same F G      two files are equal byte for byte
#   expect_lines N F     F has N lines
#   expect_json PY [F]   stdout (or file F) is one JSON value d, nothing else, and the Python expression
#                        PY is true: expect_json 'd["passed"] and len(d["laws"]) > 3' (math is imported)
#   expect CMD ARGS...   CMD succeeds (anything else: `expect test -s x.svg`)
#   fail WHY             fails the test
#   skip WHY             ends the test as skipped

SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CLAUSIUS=${CLAUSIUS:-$SOURCE/build/clausius}
case $CLAUSIUS in /*) ;; *) CLAUSIUS=$PWD/$CLAUSIUS ;; esac
export CLAUSIUS SOURCE
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

run() {
    local limit=(timeout -k 5 "${RUN_LIMIT:-60}")
    [[ $(type -t "$1") == file ]] || limit=()
    last_command="$*"
    code=0
    "${limit[@]}" "$@" >"$out" 2>"$err" || code=$?
}

fail() {
    {
        echo "$1"
        if [[ -n ${last_command-} ]]; then
            echo "  command: $last_command"
            echo "  exit code: $code"
            head -c 4000 "$out" | sed 's/^/  stdout: /'
            head -c 4000 "$err" | sed 's/^/  stderr: /'
        fi
    } >"$why"
    exit 1
}

skip() {
    echo "$1" >"$why"
    exit 77
}

expect_exit() { [[ $code == "$1" ]] || fail "expected exit code $1, got $code"; }
expect_ok() { expect_exit 0; }
expect_in_file() {
    [[ -e $2 ]] || fail "expected a file $2"
    grep -Eq -e "$1" "$2" || fail "expected a line matching '$1' in ${3:-$2}, not: $(head -c 1000 "$2")"
}
expect_stdout() { expect_in_file "$1" "$out" stdout; }
expect_stderr() { expect_in_file "$1" "$err" stderr; }
expect_nothing() { # FILE NAME [RE]
    if [[ -z ${3-} ]]; then
        [[ ! -s $1 ]] || fail "expected nothing on $2"
    else
        ! grep -Eq -e "$3" "$1" || fail "expected no line matching '$3' on $2"
    fi
}
expect_no_stdout() { expect_nothing "$out" stdout "$@"; }
expect_no_stderr() { expect_nothing "$err" stderr "$@"; }
expect_file() {
    local f
    for f; do [[ -s $f ]] || fail "expected a file $f that is not empty"; done
}
expect_no_file() {
    local f
    for f; do [[ ! -e $f && ! -L $f ]] || fail "expected no file $f"; done
}
expect_same() { cmp -s "$1" "$2" || fail "expected equal files: $(cmp "$1" "$2" 2>&1)"; }
expect_lines() {
    local n
    n=$(wc -l <"$2") || fail "expected a file $2"
    ((n == $1)) || fail "expected $1 lines in $2, got $n"
}
expect_json() {
    local said
    said=$(/usr/bin/python3 -c '
import json, math, sys
d = json.load(open(sys.argv[2]))
sys.exit(0 if eval(sys.argv[1]) else "not true: " + sys.argv[1])' "$1" "${2:-$out}" 2>&1) ||
        fail "expected JSON with $1: $(tail -n 1 <<<"$said")"
}
expect() { "$@" || fail "expected success of: $*"; }

# One test in a subshell; sets the outcome of the whole file to 1 when it fails.
run_one() {
    local name=$1 status=0
    mkdir "$workspace/$name" "$workspace/$name.out"
    (
        cd "$workspace/$name" || exit 1
        export TMPDIR=$PWD
        meta=$workspace/$name.out
        out=$meta/stdout err=$meta/stderr why=$meta/why code=0 last_command=
        : >"$out" && : >"$err"
        "$name"
    ) </dev/null >"$workspace/$name.out/said" 2>&1 || status=$?
    local why=$workspace/$name.out/why
    case $status in
    0)
        echo "ok $name"
        grep '^# ' "$workspace/$name.out/said" # figures that a test tells
        ;;
    77) echo "ok $name # skip $(cat "$why" 2>/dev/null)" ;;
    *)
        echo "not ok $name"
        [[ -s $why ]] || echo "ended with status $status without a failed expectation" >"$why"
        cat "$why" "$workspace/$name.out/said" | sed 's/^/#   /'
        outcome=1
        ;;
    esac
    chmod -R u+rwX "$workspace/$name"
    rm -rf "${workspace:?}/$name" "${workspace:?}/$name.out"
}

# Ends the file: exits with 1 when a test failed.
run_tests() {
    local name wanted=("${only[@]}")
    workspace=$(mktemp -d "${TMPDIR:-/tmp}/clausius-test.XXXXXX") || exit 2
    trap 'rm -rf "$workspace"' EXIT
    outcome=0
    if ((${#wanted[@]} == 0)); then
        shopt -s extdebug
        mapfile -t wanted < <(compgen -A function test_ | while read -r name; do
            declare -F "$name"
        done | sort -k2,2n | cut -d' ' -f1)
        shopt -u extdebug
    fi
    echo "1..${#wanted[@]}"
    for name in "${wanted[@]}"; do run_one "$name"; done
    exit $outcome
}

only=("$@")
