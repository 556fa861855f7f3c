#!/usr/bin/env bash
# The demo: a piston between two gas chambers, 20,000 steps by the scheme of the paper (vnots) and by
# ours (discrete-gradient), judged by the audit and measured against a reference solution (bdf).
# `make demo` runs it. Everything lands in build/demo, or where DEMO_DIR says.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
clausius=$(realpath "${CLAUSIUS:-$root/build/clausius}")
out=${DEMO_DIR:-$root/build/demo}
system=adiabatic-piston
schemes=(vnots discrete-gradient)

mkdir -p "$out"
cd "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[[ -t 1 && -z ${NO_COLOR-} && ${TERM-dumb} != dumb ]] || say() { printf '\n%s\n' "$*"; }
run() { # shows the command as a user would type it, then runs it
    local word
    printf '$ clausius'
    for word; do [[ $word == *' '* ]] && printf ' "%s"' "$word" || printf ' %s' "$word"; done
    echo
    "$clausius" "$@"
}

say "1. Simulate: two gas chambers, a piston between them, friction that heats both gases"
for scheme in "${schemes[@]}" bdf; do
    run simulate $system --scheme "$scheme" --h 0.01 --steps 20000 -o "$scheme.csv" 2>&1 | grep -v '^  written'
done

say "2. Judge: the laws, recomputed from the formulas; energy may drift by 1e-12"
for scheme in "${schemes[@]}"; do
    # A broken law is exit code 1 and what this demo shows; anything else is an error.
    run audit "$scheme.csv" >"$scheme.audit" || [[ $? == 1 ]]
    sed '/^ok/s/).*/)/' "$scheme.audit" # of the laws that hold only value and (limit)
done

say "3. Compare with the reference"
for scheme in "${schemes[@]}"; do
    run compare "$scheme.csv" bdf.csv --columns x,v.x,T1,T2 | tee "$scheme.compare"
done

say "4. Draw"
for ending in svg png; do
    run plot bdf.csv "${schemes[@]/%/.csv}" --title "Two gas chambers and a piston" -o "piston.$ending"
done

say "The result: 20,000 steps of h = 0.01"
row() { # the mean errors, then energy drift and entropy falls as the audit saw them
    awk -v scheme="$1" '
        FNR == 1 { file++ }
        file == 1 { mae[$1] = $2 }
        file == 2 && $2 == "energy" { drift = $3 }
        file == 2 && $2 == "entropy" { match($0, /falls in [a-z0-9]+/); falls = substr($0, RSTART + 9, RLENGTH - 9) }
        END { printf "%-18s %9.1e %9.1e %9.1e %9.1e %13.1e %14s\n", scheme,
                     mae["x"], mae["v.x"], mae["T1"], mae["T2"], drift, falls }' "$1.compare" "$1.audit"
}
printf '%-18s %9s %9s %9s %9s %13s %14s\n' scheme "MAE x" "MAE v.x" "MAE T1" "MAE T2" "energy drift" "entropy falls"
for scheme in "${schemes[@]}"; do row "$scheme"; done
echo
echo "Pictures: $PWD/piston.svg and piston.png"
