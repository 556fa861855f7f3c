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
    grep '^| `' "$SOURCE/docs/schemes.md" >shown
    expect_same rows shown
}

test_system_file() {
    awk '/^```clausius/ { inside = 1; next } /^```/ { inside = 0 } inside' "$SOURCE/README.md" >shown
    run "$CLAUSIUS" show adiabatic-piston --source
    expect_ok
    expect_same "$out" shown
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
