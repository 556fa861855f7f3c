#!/usr/bin/env bash
# A rule that is checked by a script is only as good as the script: each test plants a violation in a
# small tree and sees it caught, with its place, and sees a clean tree pass.
. "$(dirname "$0")/../cli/lib.sh"
TOOLS=$SOURCE/tools

# A small tree of the project's shape.
small_tree() {
    mkdir -p include/clausius src/{base,expr,system,data,scheme,simulate,audit,report} cli docs examples tests/{base,audit}
    echo 'set(ROOMS base expr system data scheme simulate audit report)' >CMakeLists.txt
    cp "$SOURCE/.clang-format" .
    local h
    for h in status graph system table scheme simulate audit plot clausius; do
        echo '#include <stddef.h>' >include/clausius/$h.h
    done
    for h in base expr system scheme simulate audit; do echo '#include <clausius/status.h>' >src/$h/$h.h; done
    printf '#include "cli/cli.h"\n#include <clausius/clausius.h>\n#include <jansson.h>\n' >cli/main.c
    echo '#include <clausius/clausius.h>' | tee cli/cli.h >examples/one.c
    printf '#include "audit/audit.h"\n#include <clausius/system.h>\n#include <lapacke.h>\n' >src/audit/a.c
    printf '#include "simulate/simulate.h"\n#include "audit/audit.h"\n' >tests/audit/test_a.c
}

includes_caught() { # FILE LINE-TO-PLANT REGEX
    small_tree
    mkdir -p "$(dirname "$1")"
    printf '/* first line */\n%s\n' "$2" >"$1"
    run "$TOOLS/check-includes" .
    expect_exit 1
    expect_lines 1 "$out"
    expect_stdout "^$1:2: .*$3"
    rm "$1"
}

test_includes_clean() {
    small_tree
    run "$TOOLS/check-includes" .
    expect_ok
    expect_no_stdout
}
test_includes_later_room() { includes_caught src/base/x.c '#include "expr/expr.h"' 'base comes before expr'; }
test_includes_later_public_header() {
    includes_caught src/system/x.c '#  include <clausius/simulate.h>' 'system comes before simulate'
}
test_includes_judge_sees_no_scheme() {
    includes_caught src/audit/x.c '#include "scheme/scheme.h"' 'audit must never include scheme'
    includes_caught src/audit/x.h '#include <clausius/simulate.h>' 'audit must never include simulate'
    includes_caught include/clausius/audit.h '#include <clausius/simulate.h>' 'audit must never'
}
test_includes_report_sees_only_tables() {
    includes_caught src/report/x.c '#include <clausius/audit.h>' 'report must never include audit'
}
test_includes_cli_sees_only_public() {
    includes_caught cli/x.c '#include "base/base.h"' 'cli/ sees only'
    includes_caught cli/x.c '#include "../src/base/base.h"' 'cli/ sees only'
    includes_caught cli/x.c '#include <cairo.h>' 'report only'
    includes_caught examples/x.c '#include "base/base.h"' 'examples/ sees only'
}
test_includes_public_headers() {
    includes_caught include/clausius/x.h '#include "base/base.h"' 'as <clausius/'
    includes_caught include/clausius/graph.h '#include <jansson.h>' 'includes only'
}
test_includes_unknown() {
    includes_caught src/expr/x.c '#include "y.h"' 'write "expr/y.h"'
    includes_caught src/expr/x.c '#include "base/absent.h"' 'there is no src/base/absent.h'
    includes_caught src/expr/x.c '#include NAME' 'computed'
    includes_caught src/cellar/x.c '#include <math.h>' 'not in ROOMS'
    includes_caught tests/base/test_x.c '#include "audit/audit.h"' 'base comes before audit'
}

# Compiles C text as src/base/x.c of a build, object and shared library, as CMake would lay it out.
small_build() {
    mkdir -p b/CMakeFiles/room_base.dir/src/base
    printf '%s\n' "$1" >x.c
    expect gcc -w -O2 -fPIC -fvisibility="${2:-hidden}" -c x.c -o b/CMakeFiles/room_base.dir/src/base/x.c.o
    expect gcc -shared b/CMakeFiles/room_base.dir/src/base/x.c.o -o b/libclausius.so
    run "$TOOLS/check-symbols" b
}
symbols_caught() { # C-TEXT REGEX
    small_build "$1"
    expect_exit 1
    expect_lines 1 "$out"
    expect_stdout "^src/base/x.c.*: .*$2"
}

test_symbols_clean() {
    small_build '#include <stdio.h>
        static const char *const names[] = {"a", "b"};
        static const double table[] = {1, 2};
        const char *const clsi_words[] = {"c", "d"};
        static double twice(double x) { return 2 * x; }
        __attribute__((visibility("default"))) const char *cls_name(int i) { return names[i & 1]; }
        double clsi_at(int i) { char s[9]; snprintf(s, 9, "%d", i); return twice(table[i & 1]) + s[0]; }'
    expect_ok
    expect_no_stdout
}
test_symbols_prefix() { symbols_caught 'int helper(void) { return 1; }' 'external name helper: make it static'; }
test_symbols_export() {
    small_build 'int clsi_helper(void) { return 1; }' default
    expect_exit 1
    expect_stdout 'exports clsi_helper'
}
test_symbols_global_state() {
    symbols_caught 'static int count; int clsi_next(void) { return ++count; }' 'count is writable global state'
    symbols_caught 'int clsi_next(void) { static int count = 3; return ++count; }' 'count.* writable global state'
    symbols_caught 'static _Thread_local int count; int clsi_next(void) { return ++count; }' 'count is writable'
    symbols_caught 'const char *clsi_words[] = {"a"};' 'clsi_words is writable'
}
test_symbols_forbidden() {
    symbols_caught '#include <stdio.h>
        void clsi_f(int i) { printf("%d", i); }' 'uses printf: the library never prints'
    symbols_caught '#include <stdlib.h>
        void clsi_f(void) { exit(1); }' 'uses exit: the library never ends the process'
    symbols_caught '#include <stdlib.h>
        int clsi_f(void) { return rand(); }' 'uses rand: hidden state'
    symbols_caught '#include <stdio.h>
        void clsi_f(void) { fputs("x", stderr); }' 'uses stderr'
    symbols_caught '#include <assert.h>
        void clsi_f(int i) { assert(i); }' 'uses __assert_fail'
}
test_symbols_need_a_build() {
    run "$TOOLS/check-symbols" nowhere
    expect_exit 1
    expect_stdout 'run make first'
}

test_format() {
    small_tree
    run "$TOOLS/check-format" .
    expect_ok
    printf 'int f(void);\nint  g( void );\n' >src/base/x.c
    run "$TOOLS/check-format" .
    expect_exit 1
    expect_stdout '^src/base/x.c:2: not formatted: run make format$'
    run "$TOOLS/check-format" --fix .
    run "$TOOLS/check-format" .
    expect_ok
    expect_in_file '^int g\(void\);$' src/base/x.c
}

docs_caught() { # FILE TEXT REGEX
    printf 'first line\n%s\n' "$2" >"$1"
    run "$TOOLS/check-docs" .
    expect_exit 1
    expect_lines 1 "$out"
    expect_stdout "^$1:$3"
    rm "$1"
}
test_docs() {
    small_tree
    echo 'static const cli_command *const commands[] = {&cli_simulate, &cli_audit};' >>cli/main.c
    printf 'static void energy_kept(void **s) {}\nstatic void unused(void **s) {}\nx = cmocka_unit_test(energy_kept);\n' >tests/base/test_e.c
    printf '# Title one\n[a](docs/laws.md#1-energy) [b](https://x.org/y) [c](#title-one) `clausius simulate x`\n' >README.md
    printf '## 1. Energy\n\ntest: tests/base/test_e.c:energy_kept\n' >docs/laws.md
    run "$TOOLS/check-docs" .
    expect_ok
    docs_caught a.md '[x](docs/absent.md)' '2: link to docs/absent.md'
    docs_caught a.md '[x](README.md#nothing)' '2: link to #nothing'
    docs_caught a.md 'use `clausius simulte x`' '2: .*clausius simulte'
    docs_caught a.md "$(printf '```\n$ build/clausius smulate x | head\n```')" '3: .*clausius smulate'
    docs_caught docs/laws.md "$(printf '## 1. Energy\n\n## 2. Entropy\ntest: tests/base/test_e.c:energy_kept\n')" \
        '2: law 1 names no test'
    docs_caught docs/laws.md "$(printf '## 1. Energy\ntest: tests/base/test_e.c:unused\n')" '3: law 1 names unused'
    docs_caught docs/laws.md "$(printf '## 1. Energy\ntest: tests/base/test_z.c:f\n')" '3: .*does not exist'
}

test_docs_cites_only_the_repository() {
    small_tree
    docs_caught docs/x.md "see ${away:=shared}/physics/dtel.md" '2: cites .share[d].physics'
    docs_caught src/base/x.c "/* ${word:=paper} 002, (22) */" '2: cites .[p]aper 002'
}

test_nan() {
    mkdir -p tests/x
    echo '    if (!(error <= 1e-9)) fail(); if (count > 3) fail(); if (a > 0 && !(b <= 1.5)) fail();' >tests/x/a.c
    run "$TOOLS/check-nan" .
    expect_ok
    printf 'int x;\n    if (energy_error > 1e-9)\n        fail_msg("%%g", energy_error);\n' >tests/x/b.c
    run "$TOOLS/check-nan" .
    expect_exit 1
    expect_stdout '^tests/x/b.c:2: NaN passes .energy_error > 1e-9.: write .!.energy_error <= 1e-9.'
    run "$TOOLS/check-nan" --fix .
    expect_ok
    run "$TOOLS/check-nan" .
    expect_ok
}

# A machine on which cmake is missing: dpkg-query, apt-get, id and sudo are ours.
small_machine() {
    mkdir bin
    printf '#!/bin/sh\nshift 3\nfor p; do [ $p = %s ] || echo "installed $p"; done\n' "$1" >bin/dpkg-query
    printf '#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >>%s/apt.log\n[ ! -e stale ] || { rm stale; exit 100; }\n' "$PWD" >bin/apt-get
    printf '#!/bin/sh\necho %s\n' "$2" >bin/id
    chmod +x bin/*
    local t
    for t in bash env grep rm; do ln -s "$(command -v $t)" bin/$t; done
}
# A statement or a component that no file of the corpus has is not fuzzed in make check.
test_fuzz_knows_every_statement() {
    run "$TOOLS/fuzz" --words
    expect_ok
    expect test "$(wc -l <"$out")" -gt 90
    local word
    while read -r word; do
        [[ $word == include ]] || # opens a file
            grep -qE "^ *(for [^:]*: *)?${word/ / +}\\b" "$SOURCE"/tests/fuzz/corpus/system/* || fail "no file of tests/fuzz/corpus/system has a statement \`$word\`"
    done < <(sed '/($/,$d' "$out")
}

test_install_deps_quiet() {
    small_machine none 1000
    run env PATH="$PWD/bin" "$TOOLS/install-deps"
    expect_ok
    expect_no_stdout
    expect_no_stderr
    expect_no_file apt.log
}
test_install_deps_installs_only_what_is_missing() {
    small_machine cmake 0
    run env PATH="$PWD/bin" "$TOOLS/install-deps"
    expect_ok
    expect_lines 1 apt.log
    expect_in_file '^noninteractive .*install .* cmake$' apt.log
    touch stale # the package lists are out of date: update once, then install
    rm apt.log
    run env PATH="$PWD/bin" "$TOOLS/install-deps"
    expect_ok
    expect_lines 3 apt.log
    expect_in_file ' update$' apt.log
}
test_install_deps_without_root() {
    small_machine cmake 1000
    run env PATH="$PWD/bin" "$TOOLS/install-deps"
    expect_exit 1
    expect_stderr 'apt-get install cmake'
    expect_no_file apt.log
    printf '#!/bin/sh\necho asked >>%s/sudo.log\nexec "$@"\n' "$PWD" >bin/sudo
    chmod +x bin/sudo
    run env PATH="$PWD/bin" "$TOOLS/install-deps"
    expect_ok
    expect_file sudo.log apt.log
}

program() { # NAME LINES...: a test program that prints these
    mkdir -p t
    { echo '#!/bin/sh'; printf '%s\n' "${@:2}"; } >"t/$1"
    chmod +x "t/$1"
}
test_run_tests_counts() {
    program test_a.sh 'echo 1..3' 'echo "ok a"' 'echo "ok b # skip no"' 'echo "ok c"'
    program x_test_y 'echo 1..2' 'echo "ok 1 - d"' 'echo "not ok 2 # SKIP e"'
    run "$TOOLS/run-tests" all=t one=/bin/true
    expect_ok
    expect test "$(tail -n 1 "$out")" = '4 passed, 0 failed, 2 skipped'
}
test_run_tests_failures() {
    program test_a.sh 'echo 1..2' 'echo "ok good"' 'echo "not ok bad"' 'echo "# because"' 'exit 1'
    program test_crash.sh 'echo 1..3' 'echo "ok first"' 'kill -SEGV $$'
    program test_silent.sh 'exit 0'
    program test_late.sh 'echo 1..1' 'echo "ok x"' 'exit 23'
    program test_slow.sh 'echo 1..1' 'sleep 20'
    run "$TOOLS/run-tests" --limit 1 all=t one=/bin/false
    expect_exit 1
    expect test "$(tail -n 1 "$out")" = '3 passed, 6 failed, 0 skipped'
    expect_stdout '# because'
    expect_stdout '2 of 3 tests never reported .ended by signal SIGSEGV'
    expect_stdout 'reported no tests'
    expect_stdout 'exit code 23 after its last test'
    expect_stdout 'time limit of 1 s'
}
test_run_tests_wants_tests_that_run() {
    mkdir t
    printf '#!/bin/sh\necho ok\n' >t/test_dead.sh
    run "$TOOLS/run-tests" all=t
    expect_exit 1
    expect_stderr 'test_dead.sh would never be run: chmod'
}

test_run_tests_nothing_is_a_failure() {
    mkdir t
    run "$TOOLS/run-tests" all=t
    expect_exit 1
    expect test "$(tail -n 1 "$out")" = '0 passed, 1 failed, 0 skipped'
    run "$TOOLS/run-tests" all=absent
    expect_exit 1
    expect_stderr 'there is no absent'
}

# They are compiled when they are run, which is rare: a name that changed must not wait for that.
test_benches_compile() {
    local file
    for file in "$SOURCE"/bench/*.c; do
        grep -q klu.h "$file" && continue # wants a library that the project does not need
        run cc -std=c17 -D_GNU_SOURCE -fopenmp -fsyntax-only -Werror -I"$SOURCE/include" -I"$SOURCE/src" -I"$SOURCE" -I"${CLAUSIUS_BUILD:-$SOURCE/build}/generated" "$file"
        expect_ok
    done
}

run_tests
