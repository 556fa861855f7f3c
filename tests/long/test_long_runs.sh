#!/usr/bin/env bash
# 1e8 steps (CLAUSIUS_STEPS: another number): energy to 1e-13 of its terms, entropy never below any
# earlier value but by what one rounding of its terms allows, as the audit judges them.
. "$(dirname "$0")/../cli/lib.sh"
steps=${CLAUSIUS_STEPS:-100000000}
RUN_LIMIT=7000

holds() { # SYSTEM-OR-MODEL
    run "$CLAUSIUS" simulate "$1" --steps "$steps" --every $((steps / 1000)) --quiet -o run.csv
    expect_ok
    run "$CLAUSIUS" audit run.csv --limit-energy 1e-13
    expect_ok
    grep -E '^ok +(energy|entropy|invariant)' "$out" | sed "s/^/# $1 /"
}

test_adiabatic_piston() { holds adiabatic-piston; }
test_thermal_oscillator() { holds thermal-oscillator; }
test_rigid_body() { holds rigid-body; }
test_matter() { # a hundredth of the steps: five systems
    local name steps=$((steps / 100))
    for name in membrane adiabatic-reactor isothermal-reactor viscoelastic-bar fuel-cell; do holds "$name"; done
}
test_learned_frictions() {
    run "$CLAUSIUS" simulate adiabatic-piston --samples 200 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" \
        --seed 7 --steps 20 --scheme bdf --quiet -o train.csv
    run "$CLAUSIUS" learn adiabatic-piston train.csv --unknown "F1, F2" --field "chebyshev(2)" --quiet -o learned.safetensors
    expect_ok
    holds learned.safetensors
}

run_tests
