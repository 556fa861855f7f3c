#!/usr/bin/env bash
# One spring and one friction, unknown, at the places of a thousand cells: what learning costs grows like
# the number of rows. Less than 4 GB (a table of all derivatives by all places would have tens of them).
. "$(dirname "$0")/../cli/lib.sh"
RUN_LIMIT=1200

cells() { # SPRING FRICTION
    cat <<S
parameter   N = 1000, kappa = 0.2
coordinate  u[1..N]
entropy     s[1..N]
function    V(d) = $1
coefficient f(w) = $2
let u[0] = 0
let u[N+1] = 0
hamiltonian H = sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: V(u[i+1] - u[i]))
for i in 1..N: friction on s[i]: u[i] <- -f(v.u[i])*v.u[i]
for i in 1..N-1: heat exchange theta[i] <-> theta[i+1]: kappa
for i in 1..N: start u[i] = sin(pi*i/(N + 1)), v.u[i] = 0, s[i] = 0
step  0.05
until 10
S
}

test_thousand_cells() {
    cells "d^2/2 + d^3/6 + d^4/4" "0.1 + 0.2*w^2/(1 + w^2)" >truth.clausius
    cells unknown unknown >open.clausius
    local draws
    draws=$(seq 1000 | sed 's/.*/u[&]~U(-1,1), p.u[&]~U(-1,1), s[&]~U(-0.5,0.5)/' | paste -sd,)
    run "$CLAUSIUS" simulate truth.clausius --samples 2 --sample "$draws" --seed 3 --h 0.05 --steps 40 --scheme bdf --quiet -o cells.csv
    expect_ok
    ulimit -v 4000000
    run "$CLAUSIUS" learn open.clausius cells.csv --loss residual -o cells.safetensors
    expect_ok
    expect_stderr 'rollout +off by [0-9.]+e-0[6-9] of the data'
}

run_tests
