#!/usr/bin/env bash
# Everything in examples/ works: the systems keep the laws, the demo ends with its table, the C
# program compiles and runs.
. "$(dirname "$0")/../cli/lib.sh"
BUILD=${CLAUSIUS_BUILD:-$(dirname "$CLAUSIUS")}

test_systems_keep_the_laws() {
    local f
    cp -r "$SOURCE"/examples/systems/. . # a trajectory names its system, which must lie beside it
    for f in *.clausius; do
        run "$CLAUSIUS" simulate "$f" -o run.csv
        expect_ok
        run "$CLAUSIUS" audit run.csv
        expect_ok
        expect_stdout 'all [0-9]+ laws hold'
    done
}

test_chain_is_what_its_program_prints() {
    "$SOURCE/examples/thermoelastic-chain" 8 >chain.clausius || fail "no chain"
    expect_same chain.clausius "$SOURCE/examples/systems/thermoelastic-chain.clausius"
    "$SOURCE/examples/thermoelastic-chain" 2 >two.clausius
    run "$CLAUSIUS" simulate two.clausius --scheme eem --steps 100 --json
    expect_ok
    expect_json 'd["energy"]["relative"] < 1e-14 and d["entropy"]["falls"] == 0'
}

test_systems_have_the_order() {
    local f
    for f in "$SOURCE"/examples/systems/*.clausius; do
        run "$CLAUSIUS" audit "$f" --steps 400
        expect_ok
        expect_stdout '^ok +order'
    done
}

same_row() { # RE: the row of the demo's table is that of the README; round-off may differ
    grep -E "$1" "$out" | sed -E 's/[0-9.]+e-1[0-9]/TINY/' >printed
    grep -E "$1" "$SOURCE/README.md" | sed -E 's/[0-9.]+e-1[0-9]/TINY/' >shown
    expect_file printed
    expect_same printed shown
}

# From fewer motions than `make demo` takes, to be quick. What depends on their number is the last row
# of the table alone: here and in the README what was learned beats the paper's scheme with the truth.
test_demo_and_its_table_in_the_readme() {
    DEMO_SAMPLES=200 DEMO_DIR=$PWD/demo RUN_LIMIT=300 run "$SOURCE/examples/demo.sh"
    expect_ok
    expect_stdout '^FAIL +energy'       # the paper's scheme
    expect_stdout '^ok +energy .*e-1[0-9]'
    expect_stdout '^discrete-gradient +learned .*e-1[0-9] +none$'
    expect_in_file '^trajectory,time,x,v.x,T1,T2$' demo/observed.csv
    expect_file demo/piston.svg demo/piston.png demo/learned.safetensors
    same_row '^scheme +formulas +MAE x'
    same_row '^vnots +known'
    same_row '^discrete-gradient +known'
    grep -hE '^discrete-gradient +learned|^vnots +known' "$out" "$SOURCE/README.md" >rows
    expect_lines 4 rows
    expect awk '/^vnots/ { x = $3; T = $5 } /learned/ && !($3 < x && $5 < T) { bad = 1 } END { exit bad }' rows
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
