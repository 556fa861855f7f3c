#!/usr/bin/env bash
# Steps per second of exported C (cc -O3) against the library and, for the ideal gas, against the same
# step written by hand (bench/limit.c) and CVODE in C (bench/cvode.c: BDF with its exact Jacobian, steps of
# its own choice at rtol 1e-6; it keeps no law). Processor time, best of three, one run.
# Usage: CLAUSIUS=build/clausius bench/export/run.sh [STEPS]
set -euo pipefail
clausius=${CLAUSIUS:-build/clausius}
here=$(cd "$(dirname "$0")/.." && pwd)
n=${1:-1000000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
best() { # processor seconds of a command, best of three
    local k
    for k in 1 2 3; do
        TIMEFORMAT=%U
        { time "$@" >/dev/null 2>&1; } 2>&1
    done | sort -g | head -1
}
cat >"$dir/hand.c" <<'C'
#include "limit.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    gas g = gas_start();
    gas_discrete_gradient(&g, 0.01, argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
    printf("%g\n", g.x);
    return 0;
}
C
flags=(-std=c17 -O3 -ffp-contract=off -fno-math-errno "-I$here")
hand=absent cvode=absent
gcc "${flags[@]}" -D_DEFAULT_SOURCE "$dir/hand.c" "$here/limit.c" -lm -o "$dir/hand" 2>/dev/null && hand=$(best "$dir/hand" "$n")
gcc "${flags[@]}" -D_DEFAULT_SOURCE "$here/cvode.c" -lsundials_cvode -lsundials_nvecserial -lsundials_sunmatrixdense -lsundials_sunlinsoldense -lm \
    -o "$dir/cvode" 2>/dev/null && cvode=$(echo "bdf 1e-6" | "$dir/cvode" | awk '{ print $3 / $1 }')
printf '%-20s %12s %12s %8s %12s %12s\n' 'steps per second' library exported ratio 'by hand' CVODE
for s in ideal-gas-piston adiabatic-piston thermal-oscillator; do
    "$clausius" export c "$s" -o "$dir/$s" --prefix ex --quiet
    cc -std=c99 -O3 -ffp-contract=off -fno-math-errno "$dir/$s/ex.c" "$dir/$s/main.c" -lm -o "$dir/$s/main"
    h=$("$clausius" show "$s" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["step"])')
    library=$(best "$clausius" simulate "$s" --steps "$n" --every "$n" --quiet -o "$dir/x.csv")
    exported=$(best "$dir/$s/main" "$n" "$h" "$n")
    python3 - "$n" "$library" "$exported" "$s" "$hand" "$cvode" <<'P'
import sys
n, a, b, name, hand, cvode = sys.argv[1:]
n, a, b = float(n), float(a), float(b)
gas = name == "ideal-gas-piston"
by_hand = f"{n / float(hand):12.3g}" if gas and hand != "absent" else f"{hand if gas else '':>12}"
peer = f"{float(cvode):12.3g}" if gas and cvode != "absent" else f"{cvode if gas else '':>12}"
print(f"{name:20} {n / a:12.3g} {n / b:12.3g} {a / b:8.2f} {by_hand} {peer}")
P
done
