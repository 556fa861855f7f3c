#!/usr/bin/env bash
# A conductivity from thermocouples of a heated rod: cells exchange heat faster than rows follow each other.
. "$(dirname "$0")/../cli/lib.sh"

rod() { # K: the system, with this conductivity
    cat <<EOF
system "a rod, heated at its left end in pulses"
parameter   N = 5, dx = 0.1, c = 3, h = 3
input       q
temperature T[1..N]
reservoir   air = 1
coefficient k(w) = $1
thermal lagrangian sum(i in 1..N: c*dx*(T[i]*log(T[i]) - T[i]))
for i in 1..N-1: heat exchange T[i] <-> T[i+1]: k((T[i] + T[i+1])/2)/dx
heat exchange T[N] <-> air: h
heat source lamp on T[1]: q
for i in 1..N: start T[i] = 1
step  0.06
until 12
EOF
}

measure() { # rod.csv: exact rows of k = 0.3 (1 + (w - 1)/2 + 0.3 (w - 1)^2)
    rod "0.3*(1 + 0.5*(w - 1) + 0.3*(w - 1)^2)" >true.clausius
    rod unknown >open.clausius
    awk 'BEGIN { print "time,q"; for (i = 0; i <= 200; i++) print i*0.06 "," (i % 50 < 20 ? 3 : 0.2) }' >q.csv
    "$CLAUSIUS" simulate true.clausius --inputs q.csv --hold zero --scheme bdf --quiet -o all.csv ||
        fail "no data"
    paste -d, <(grep -v '^#' all.csv | cut -d, -f1-6) <(cut -d, -f2 q.csv) >rod.csv
}

curve_is_right() { # TOLERANCE: every value that the report prints, where the data are
    sed -n 's/^ *k over w: //p' "$err" | tr ',' '\n' | awk -v tolerance="$1" '
        { w = $NF - 1; k = 0.3*(1 + 0.5*w + 0.3*w*w); n++
          if (($1 - k)^2 > (tolerance*k)^2) { print "k(" $NF ") = " $1 ", not " k; bad = 1 } }
        END { exit bad || n < 3 }' || fail "the conductivity"
}

# By default, with all states measured and an input, rows of exact data give k; explicit steps from row to row are unstable.
test_exact_rows_tell_the_conductivity() {
    measure
    head -n 122 rod.csv >short.csv # too few to keep some back
    run "$CLAUSIUS" learn open.clausius short.csv -o m.safetensors
    expect_ok
    expect_stderr '^  loss +multiple shooting, because the system has inputs'
    curve_is_right 0.01
}

test_noisy_rows_tell_it_too() {
    measure
    awk -F, 'BEGIN { OFS = ","; srand(1) } /^time/ { print; next }
        { for (i = 2; i <= 6; i++) { s = 0; for (j = 0; j < 12; j++) s += rand(); $i += 0.003*(s - 6) } print }' \
        rod.csv >noisy.csv
    run "$CLAUSIUS" learn open.clausius noisy.csv -o m.safetensors
    expect_ok
    expect_stderr '^  verdict +better than the trivial models'
    curve_is_right 0.05
}

run_tests
