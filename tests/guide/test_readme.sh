#!/usr/bin/env bash
# What the README shows outside of commands is what the program says.
. "$(dirname "$0")/../cli/lib.sh"

test_table_of_schemes() {
    "$CLAUSIUS" schemes --json |
        /usr/bin/python3 -c '
import json, sys
for s in json.load(sys.stdin)["schemes"]:
    kind = "implicit" if s["implicit"] else "explicit"
    name, order, keeps, doc = s["name"], s["order"], s["keeps"] or "-", s["doc"]
    print(f"| `{name}` | {order} | {kind} | {keeps} | {doc} |")' >rows || fail "no schemes"
    grep '^| `' "$SOURCE/README.md" >shown
    expect_same rows shown
}

test_system_file() {
    awk '/^```clausius/ { inside = 1; next } /^```/ { inside = 0 } inside' "$SOURCE/README.md" >shown
    run "$CLAUSIUS" show adiabatic-piston --source
    expect_ok
    expect_same "$out" shown
}

# What depends on the number of motions is the last line alone: the README has it from 5,000, here
# there are fewer, and it must be better than the scheme of the paper with the true formulas in both.
# The last digit of round-off may differ from machine to machine.
test_table_of_the_demo() {
    DEMO_SAMPLES=200 DEMO_DIR=$PWD/demo RUN_LIMIT=300 run "$SOURCE/examples/demo.sh"
    expect_ok
    local line
    for line in '^scheme +formulas +MAE x' '^vnots +known' '^discrete-gradient +known'; do
        grep -E "$line" "$out" | sed -E 's/[0-9.]+e-1[0-9]/TINY/' >printed
        grep -E "$line" "$SOURCE/README.md" | sed -E 's/[0-9.]+e-1[0-9]/TINY/' >shown
        expect_file printed
        expect_same printed shown
    done
    grep -hE '^discrete-gradient +learned|^vnots +known' "$out" "$SOURCE/README.md" >rows
    expect_lines 4 rows
    expect awk '/^vnots/ { x = $3; T = $5 } /learned/ && !($3 < x && $5 < T) { bad = 1 } END { exit bad }' rows
}

test_pictures_are_what_the_script_makes() {
    mkdir -p docs examples
    cp -r "$SOURCE/docs/pictures" docs/pictures
    cp -r "$SOURCE/examples/systems" examples/systems
    rm -f docs/pictures/*.svg
    run docs/pictures/make "$CLAUSIUS"
    expect_ok
    local f
    for f in "$SOURCE"/docs/pictures/*.svg; do expect_file "docs/pictures/${f##*/}"; done
    grep -rhoE 'pictures/[a-z-]+\.svg' "$SOURCE/README.md" "$SOURCE/docs" --include=*.md | sort -u >used
    while read -r f; do expect_file "$SOURCE/docs/$f"; done <used
}

run_tests
