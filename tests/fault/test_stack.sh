#!/usr/bin/env bash
# Stacks of 64 kB, as small systems and many threads have them: every command runs there, its threads too
# (theirs have the size of the limit). fontconfig's own reading of fonts needs more: pictures get 128 kB, also the bond graph
# in the report of a system of components (hidden.safetensors).
. "$(dirname "$0")/lib.sh"

# small ARGUMENTS...: on a small stack, with the same bytes on standard output.
small() {
    local size=64
    [[ $1 != plot && $* != *--graph* && $* != reproduce*-o* && $* != report*hidden* ]] || size=128
    run "$CLAUSIUS" "$@"
    expect_ok
    cp "$out" plenty
    rm -rf ./*.clausius piston # new and export do not replace
    run bash -c 'ulimit -s "$1" && shift && exec env -i PATH="$PATH" "$@"' - $size "$CLAUSIUS" "$@"
    expect_ok
    [[ $* == learn* || $* == reproduce* ]] || expect_same plenty "$out" # these tell seconds
}

while read -r name arguments; do
    eval "test_stack_${name//-/_}() { CLAUSIUS_LONG=1 inputs; small $arguments; }"
done < <(CLAUSIUS_LONG=1 commands)

test_stack_of_fields() {
    inputs
    local field
    for field in "terms(1; v.x^2)" "network(32, 32)"; do # wide: the frames of its kernels
        small learn adiabatic-piston "$INPUTS/data.csv" --unknown F1 --field "$field" --epochs 30 -o out.safetensors --quiet
    done
    small learn adiabatic-piston "$INPUTS/data.csv" --unknown F1 --scheme discrete-gradient --field "terms(1; v.x^2)" -o out.safetensors --quiet
    small show "$INPUTS/model.safetensors" --formulas
    small show adiabatic-piston --invariants
}

run_tests
