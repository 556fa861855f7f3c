#!/usr/bin/env bash
# Steps per second of exported C (cc -O3) against the library, processor time, best of three.
# Usage: CLAUSIUS=build/clausius bench/export/run.sh
set -euo pipefail
clausius=${CLAUSIUS:-build/clausius}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
best() { # processor seconds of a command, best of three
    local k
    for k in 1 2 3; do
        TIMEFORMAT=%U
        { time "$@" >/dev/null 2>&1; } 2>&1
    done | sort -g | head -1
}
printf '%-20s %14s %14s %8s\n' system 'library /s' 'exported /s' ratio
for s in ideal-gas-piston adiabatic-piston thermal-oscillator; do
    n=1000000
    "$clausius" export c "$s" -o "$dir/$s" --prefix ex --quiet
    cc -std=c99 -O3 -ffp-contract=off -fno-math-errno "$dir/$s/ex.c" "$dir/$s/main.c" -lm -o "$dir/$s/main"
    h=$("$clausius" show "$s" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["step"])')
    library=$(best "$clausius" simulate "$s" --steps $n --every $n --quiet -o "$dir/x.csv")
    exported=$(best "$dir/$s/main" $n "$h" $n)
    python3 -c "n=$n; a=$library; b=$exported; print(f'{\"$s\":20s} {n/a:14.3g} {n/b:14.3g} {a/b:8.2f}')"
done
