#!/usr/bin/env bash
# Large systems: both laws at round-off for a plate whose factors serve many updates, and for 100,000 masses with
# temperatures.
. "$(dirname "$0")/../cli/lib.sh"
RUN_LIMIT=1200

# What simulate says of its run.
expect_laws() {
    expect_ok
    expect_stderr ' 0 falls'
    expect python3 - "$err" <<'PY'
import re, sys
relative = float(re.search(r"relative ([0-9.e+-]+)", open(sys.argv[1]).read())[1])
sys.exit(not relative <= 1e-13)
PY
}

test_a_plate_of_200_by_200_cells() {
    run "$CLAUSIUS" simulate heat-plate --set N=200 --steps 60 --every 60 -o plate.csv
    expect_laws
}

test_a_chain_of_100000_masses() {
    cat >chain.clausius <<'END'
parameter N = 100000, c = 0.1, kappa = 0.2
coordinate u[1..N]
entropy s[1..N]
let d[i] = u[i+1] - u[i]
let u[0] = 0
let u[N+1] = 0
hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: d[i]^2/2 + d[i]^4/4)
for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]
for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa
for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0
step 0.05
END
    run bash -c 'ulimit -v 4194304; exec "$0" "$@"' "$CLAUSIUS" simulate chain.clausius --steps 1000 --every 1000 -o chain.csv
    expect_laws
}

run_tests
