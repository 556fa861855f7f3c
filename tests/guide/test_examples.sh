#!/usr/bin/env bash
# Everything in examples/ works: the systems keep the laws, the demo ends with its table, the C
# program compiles and runs.
. "$(dirname "$0")/../cli/lib.sh"
BUILD=${CLAUSIUS_BUILD:-$(dirname "$CLAUSIUS")}

test_systems_keep_the_laws() {
    local f
    for f in "$SOURCE"/examples/systems/*.clausius; do
        run "$CLAUSIUS" simulate "$f" -o run.csv
        expect_ok
        run "$CLAUSIUS" audit run.csv
        expect_ok
        expect_stdout 'all [0-9]+ laws hold'
    done
}

test_systems_have_the_order() {
    local f
    for f in "$SOURCE"/examples/systems/*.clausius; do
        run "$CLAUSIUS" audit "$f" --steps 400
        expect_ok
        expect_stdout '^ok +order'
    done
}

# From fewer motions than `make demo` takes, to be quick.
test_demo() {
    DEMO_SAMPLES=200 DEMO_DIR=$PWD/demo RUN_LIMIT=300 run "$SOURCE/examples/demo.sh"
    expect_ok
    expect_stdout '^FAIL +energy'       # the paper's scheme
    expect_stdout '^ok +energy .*e-1[0-9]'
    expect_stdout '^vnots +known +[0-9.]+e-04'
    expect_stdout '^discrete-gradient +known +[0-9.]+e-06 .* none$'
    expect_stdout '^discrete-gradient +learned +[0-9.]+e-0[456] .*e-1[0-9] +none$'
    expect_in_file '^trajectory,time,x,v.x,T1,T2$' demo/observed.csv
    expect_file demo/piston.svg demo/piston.png demo/learned.safetensors
}

test_demo_fails_when_the_program_does() {
    printf '#!/bin/sh\necho broken >&2\nexit 5\n' >broken
    chmod +x broken
    CLAUSIUS=$PWD/broken DEMO_DIR=$PWD/demo run "$SOURCE/examples/demo.sh"
    expect_exit 5
}

test_c_program() {
    [[ -e $BUILD/libclausius.so ]] || skip "no library in $BUILD"
    run cmake --install "$BUILD" --prefix "$PWD/prefix"
    expect_ok
    run cmake -S "$SOURCE/examples/c" -B b -DCMAKE_PREFIX_PATH="$PWD/prefix"
    expect_ok
    run cmake --build b
    expect_ok
    run b/steps adiabatic-piston
    expect_ok
    expect_stdout '^discrete-gradient +0\.4 +[0-9.]+e-1[0-9] '
    run b/steps no-such-system
    expect_exit 4
    expect_stderr 'no-such-system'
}

run_tests
