#!/usr/bin/env bash
# Positions alone: what is drawn, what is learned from them, how a run starts from them.
. "$(dirname "$0")/../cli/lib.sh"

angles() { # FILE: swings of the pendulum, seen through their angle
    "$CLAUSIUS" simulate pendulum --samples 10 --seed 1 --steps 60 --h 0.2 --scheme bdf --quiet \
        --sample "let r~U(1.3,2.3), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)" -o all.csv ||
        fail "no data"
    grep -v '^#' all.csv | cut -d, -f1-3 >"$1"
}

test_formulas_and_signs_are_drawn() {
    run "$CLAUSIUS" simulate pendulum --samples 200 --steps 0 --quiet --seed 5 -o s.csv \
        --sample "let r~U(1.3,2.3), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)"
    expect_ok
    expect test "$(grep -v '^[#t]' s.csv | awk -F, '{r = sqrt($3^2 + $4^2)} r < 1.3 || r > 2.3' | wc -l)" -eq 0
    run "$CLAUSIUS" simulate pendulum --samples 200 --steps 0 --quiet --seed 5 -o s.csv \
        --sample "q~S(0.2,1), p.q = -2*q"
    expect_ok
    expect test "$(grep -v '^[#t]' s.csv | awk -F, '$3*$3 < 0.04 || $3*$3 > 1 || $4 != -2*$3' | wc -l)" -eq 0
    expect test "$(grep -v '^[#t]' s.csv | awk -F, '$3 < 0' | wc -l)" -gt 70
    expect test "$(grep -v '^[#t]' s.csv | awk -F, '$3 > 0' | wc -l)" -gt 70
}

test_bad_draws_are_refused() {
    local text
    for text in 'q = p.q' 'q = ' '= 1' 'q~V(0,1)' 'let ~U(0,1)' 'q~U(0,1), q = 1' 'let r~U(0,1), r = 2'; do
        run "$CLAUSIUS" simulate pendulum --samples 2 --sample "$text" --steps 1 -o x.csv
        expect_exit 2
        expect_stderr 'clausius simulate: --sample'
        expect_no_file x.csv
    done
    run "$CLAUSIUS" simulate pendulum --samples 2 --sample "r~U(0,1)" --steps 1
    expect_exit 2 # not a variable, and no let
}

test_positions_are_learned_from() {
    angles q.csv
    local scheme
    for scheme in weak discrete-gradient leapfrog euler; do
        run "$CLAUSIUS" learn pendulum q.csv --unknown V --scheme $scheme -o m.safetensors
        expect_ok
        expect_stderr 'by linear'
        run "$CLAUSIUS" simulate m.safetensors --steps 50 -o run.csv
        expect_ok
        run "$CLAUSIUS" audit run.csv
        expect_ok
    done
    run "$CLAUSIUS" learn pendulum q.csv --unknown V -o default.safetensors --quiet
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --scheme weak --threads 1 -o weak.safetensors --quiet
    expect_same default.safetensors weak.safetensors
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --scheme vnots -o m.safetensors
    expect_exit 2 # which needs p
}

test_adam_as_papers_have_it() {
    angles q.csv
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --scheme discrete-gradient --field "network(8, 8)" \
        --optimizer adam --rate 1e-3 --constant-rate --decay 1e-4 --batch 50 --epochs 200 -o m.safetensors --json
    expect_ok
    expect_json 'd["iterations"] == 200 and d["loss"]["final"] < d["loss"]["initial"]'
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --scheme leapfrog --field "network(8, unscaled)" --optimizer adam \
        --last --batch 50 --epochs 60 -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_ok
    expect_stdout 'network\(8, unscaled\)'
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --anchor-weight -1 -o m.safetensors
    expect_exit 2
    expect_stderr "--anchor-weight"
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --anchor-weight 1 -o m.safetensors
    expect_exit 2
    expect_stderr "pendulum has none"
    run "$CLAUSIUS" learn pendulum q.csv --unknown V --rate 0 -o m.safetensors
    expect_exit 2
}

test_run_starts_from_two_positions() {
    "$CLAUSIUS" simulate pendulum --steps 20 --quiet -o p.csv || fail "no motion"
    grep -v '^#' p.csv | cut -d, -f1,2 | head -n 12 >q.csv
    run "$CLAUSIUS" simulate pendulum --from q.csv --steps 10 --quiet -o more.csv
    expect_ok
    run "$CLAUSIUS" compare more.csv p.csv --columns q,p.q --tolerance 1e-12
    expect_ok
    head -n 2 q.csv >one.csv
    run "$CLAUSIUS" simulate pendulum --from one.csv --steps 10
    expect_exit 3
    expect_stderr 'p\.q'
}

run_tests
