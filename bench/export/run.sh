#!/usr/bin/env bash
# Steps per second of exported C (cc -O3) against the library (bench/steps.c, default options) and, for the ideal
# gas, against the same step written by hand (bench/limit.c) and CVODE in C (bench/cvode.c: BDF with its exact
# Jacobian, steps of its own choice at rtol 1e-6; it keeps no law). Motions of the system's own length, each from
# the start: one that has died down works in subnormal numbers (thermal-oscillator from step 60,000 on) and says
# nothing; beside them, as `in one`, one motion of STEPS steps by the library. The library runs machine code of its own
# where it may; as `interpreted` it stands where nothing may be executed that was written (a kernel's or a container's
# rule: here mprotect refuses), which is what it does on other processors, too. Processor time, best of five rounds in
# which library and exported C take turns.
# Then, of exported C alone, the schemes that keep energy beside rk4.
# Usage: CLAUSIUS=build/clausius bench/export/run.sh [STEPS]
set -euo pipefail
clausius=$(realpath "${CLAUSIUS:-build/clausius}")
here=$(cd "$(dirname "$0")/.." && pwd)
n=${1:-1000000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/hand.c" <<'C'
#include "limit.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    gas g = gas_start();
    clock_t begun = clock();
    unsigned long n = strtoul(argv[argc - 1], NULL, 10);
    gas_discrete_gradient(&g, 0.01, n);
    printf("%.9g %g\n", (double)(clock() - begun) / CLOCKS_PER_SEC, g.x);
    return 0;
}
C
cat >"$dir/motions.c" <<'C'
#include "ex.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    static ex m;
    clock_t begun = clock();
    long n = strtol(argv[argc - 1], NULL, 10);
    for (long k = 0; k < n; k++) {
        if (k % EX_DEFAULT_STEPS == 0) ex_defaults(&m);
        if (ex_step(&m, m.h) != EX_OK) return 1;
    }
    printf("%.9g\n", (double)(clock() - begun) / CLOCKS_PER_SEC);
    return 0;
}
C
flags=(-std=c17 -O3 -ffp-contract=off -fno-math-errno -D_DEFAULT_SOURCE "-I$here")
hand=absent cvode=absent
gcc "${flags[@]}" "$dir/hand.c" "$here/limit.c" -lm -o "$dir/hand" 2>/dev/null && hand=$(for _ in 1 2 3; do "$dir/hand" "$n"; done | sort -g | head -1)
gcc "${flags[@]}" "$here/cvode.c" -lsundials_cvode -lsundials_nvecserial -lsundials_sunmatrixdense -lsundials_sunlinsoldense -lm \
    -o "$dir/cvode" 2>/dev/null && cvode=$(echo "bdf 1e-6" | "$dir/cvode" | awk '{ print $3 / $1 }')
build=$(dirname "$clausius")
cc "${flags[@]}" "-I$here/../include" "$here/steps.c" "$here/limit.c" "-L$build" "-Wl,-rpath,$build" -lclausius -lm -lpthread -o "$dir/steps"
cat >"$dir/refuse.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int mprotect(void *at, size_t n, int rights) {
    if (!(rights & PROT_EXEC)) return (int)syscall(SYS_mprotect, at, n, rights);
    errno = EACCES;
    return -1;
}
C
cc -O2 -shared -fPIC "$dir/refuse.c" -o "$dir/refuse.so"
printf '%-20s %12s %12s %12s %8s %8s %12s %12s %12s\n' 'steps per second' library interpreted exported ratio 'to int.' 'in one' 'by hand' CVODE
for s in ideal-gas-piston adiabatic-piston thermal-oscillator; do
    "$clausius" export c "$s" -o "$dir/$s" --prefix ex --quiet
    cc -std=c99 -O3 -ffp-contract=off -fno-math-errno "-I$dir/$s" "$dir/$s/ex.c" "$dir/motions.c" -lm -o "$dir/motions"
    for _ in 1 2 3 4 5; do
        echo "library $(echo "step $s discrete-gradient 1 $n" | "$dir/steps")"
        echo "interpreted $(echo "step $s discrete-gradient 1 $n" | LD_PRELOAD="$dir/refuse.so" "$dir/steps")"
        echo "exported $("$dir/motions" "$n")"
        echo "one $(echo "motion $s discrete-gradient 1 $n" | "$dir/steps")"
    done | python3 -c '
import sys
n, name, hand, cvode = float(sys.argv[1]), *sys.argv[2:]
best = {}
for who, seconds, *_ in map(str.split, sys.stdin):
    best[who] = min(best.get(who, 1e9), float(seconds))
a, b, one, slow = (best[who] for who in ("library", "exported", "one", "interpreted"))
gas = name == "ideal-gas-piston"
hand = hand.split()[0] if hand != "absent" else hand
by_hand = f"{n / float(hand):12.3g}" if gas and hand != "absent" else f"{hand if gas else str():>12}"
peer = f"{float(cvode):12.3g}" if gas and cvode != "absent" else f"{cvode if gas else str():>12}"
print(f"{name:20} {n / a:12.3g} {n / slow:12.3g} {n / b:12.3g} {a / b:8.2f} {slow / b:8.2f} {n / one:12.3g} {by_hand} {peer}")' "$n" "$s" "$hand" "$cvode"
done
# Exported steps without equations beside those that solve them, at the same step; best of five, processor time.
printf '\n%-20s' 'exported, per second'
schemes=(discrete-gradient discrete-gradient-4 rk4 lawful-rk4 lawful-rk6 lawful-rk8)
printf ' %20s' "${schemes[@]}"
for s in ideal-gas-piston thermal-oscillator two-body; do
    printf '\n%-20s' "$s"
    for k in "${schemes[@]}"; do
        "$clausius" export c "$s" --scheme "$k" -o "$dir/$s.$k" --prefix ex --quiet
        cc -std=c99 -O3 -ffp-contract=off -fno-math-errno "-I$dir/$s.$k" "$dir/$s.$k/ex.c" "$dir/motions.c" -lm -o "$dir/motions"
        for _ in 1 2 3 4 5; do "$dir/motions" "$n"; done | sort -g | head -1 | awk -v n="$n" '{ printf " %20.3g", n / $1 }'
    done
done
echo
