#!/usr/bin/env bash
# Defects of recordings put into a real one: the pendulum's first 70 % get jitter, holes, missing and
# repeated rows, coarse steps and outliers; the rest stays as it was and is predicted by a free run.
# The recording is read where CLAUSIUS_DATA says, and skipped where it is not.
. "$(dirname "$0")/../cli/lib.sh"

RUN_LIMIT=600
FILE=${CLAUSIUS_DATA:-/nonexistent}/schmidt-lipson/real_pend_h_1.txt

pendulum() {
    [ -r "$FILE" ] || skip "CLAUSIUS_DATA/schmidt-lipson/real_pend_h_1.txt is not there"
    cat >pendulum.clausius <<'END'
system "a pendulum"
coordinate  phi [rad]
temperature T [K]
parameter   k = unknown in (0, 1000) [1/s^2], offset = unknown near 0 [rad]
parameter   c = unknown near 0.01 in (0, inf), d = unknown near 0.01 in (0, inf)
parameter   mu = unknown near 0.01 in (0, inf)
thermal lagrangian v.phi^2/2 + k*cos(phi - offset) + 1000*T*(log(T) - 1)
friction F on T: phi <- -c*v.phi - d*softabs(v.phi, 0.02)*v.phi - mu*tanh(v.phi/0.02)
start phi = 1, v.phi = 0, T = 300
END
    awk '/^%/ || NF < 2 { next } { print $2 "," $3 }' "$FILE" >clean.csv
}

# predict LIMIT AWK-PROGRAM: the program sees t, x of rows to learn from and prints rows of them
predict() {
    pendulum
    local rows keep
    rows=$(wc -l <clean.csv)
    keep=$((rows * 7 / 10))
    { echo time,phi; head -n $keep clean.csv | awk -F, "BEGIN { srand(2) } function out(t, x) { printf \"%.9f,%.9f\\n\", t, x }
        function gauss(  u, i) { u = 0; for (i = 0; i < 12; i++) u += rand(); return u - 6 } { t = \$1; x = \$2 } $2" | sort -t, -g -k1,1; } >learn.csv
    { echo time,phi; tail -n +$((keep + 1)) clean.csv; } >rest.csv
    # the tail of one file: a free run goes on from the end of what was learned from
    { cat learn.csv; tail -n +2 rest.csv; } >all.csv
    local all share
    all=$(($(wc -l <all.csv) - 1))
    share=$(awk -v a=$all -v r=$((rows - keep)) 'BEGIN { printf "%.9f", r/a }')
    run "$CLAUSIUS" learn pendulum.clausius all.csv --average --test "$share" --json -o m.safetensors
    expect_ok
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print("# free run", d["report"]["channels"][0]["run"], "rad, limit", sys.argv[2])' "$out" "$1"
    expect_json "d['report']['channels'][0]['run'] <= $1"
}

test_as_it_was() { predict 0.0206 '{ out(t, x) }'; }
test_jitter_of_20_ms() { predict 0.0405 '{ out(t + 0.02*gauss(), x) }'; }
test_rows_missing() { predict 0.0255 'rand() > 0.4 { out(t, x) }'; }
test_a_hole_of_15_seconds() { predict 0.0206 't < 20 || t > 35 { out(t, x) }'; }
test_rows_repeated() { predict 0.024 '{ out(t, x) } rand() < 0.15 { out(t, x + 0.005*gauss()) }'; }
test_steps_of_0_02() { predict 0.024 '{ out(t, 0.02*int(x/0.02 + (x > 0 ? 0.5 : -0.5))) }'; }
test_steps_of_0_1() { predict 0.0555 '{ out(t, 0.1*int(x/0.1 + (x > 0 ? 0.5 : -0.5))) }'; }
test_outliers_3() { predict 0.0225 '{ out(t, rand() < 0.03 ? x + 2*gauss() : x) }'; }
test_outliers_10() { predict 0.0285 '{ out(t, rand() < 0.1 ? x + 2*gauss() : x) }'; }
test_outliers_20() { predict 0.0405 '{ out(t, rand() < 0.2 ? x + 2*gauss() : x) }'; }

run_tests
