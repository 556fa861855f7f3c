#!/usr/bin/env bash
# Reports of every built-in system and of learned models: valid, below 500 kB, and in Chromium, light and
# dark, on a phone and a desktop, without a finding (tests/page/check_page.py says what is looked at).
. "$(dirname "$0")/../cli/lib.sh"

check() {
    local python
    python=$("$SOURCE/tools/page-env" "${CLAUSIUS_BUILD:-/tmp}/page-env") || skip "html5lib and axe-core cannot be installed"
    RUN_LIMIT=1800 run "$python" "$SOURCE/tests/page/check_page.py" "$@"
    expect_ok
}

test_built_in_systems() {
    local s n=0
    for s in $("$CLAUSIUS" systems | cut -d' ' -f1); do
        "$CLAUSIUS" report "$s" -o "$s.html" 2>/dev/null || fail "report $s"
        n=$((n + 1))
    done
    expect test $n -ge 10
    check ./*.html
}

# Five trajectories, functions of one and of two inputs, a comparison.
test_learned_models() {
    "$CLAUSIUS" simulate mass-spring --samples 5 --sample "q~U(-1,1), v.q~U(-1,1)" --seed 1 --h 0.02 --steps 200 --quiet -o spring.csv || fail simulate
    "$CLAUSIUS" learn mass-spring spring.csv --unknown V -o spring.safetensors --report 1.html || fail learn
    "$CLAUSIUS" report spring.safetensors mass-spring --data spring.csv -o 2.html || fail report
    cat >bowl.clausius <<'EOF'
system "a ball in a bowl"
coordinate x, y
part V = x^2 + y^4/4 + x*y/2
lagrangian (v.x^2 + v.y^2)/2 - V
start x = 0.5, y = 0.3, v.x = 0, v.y = 0
EOF
    "$CLAUSIUS" simulate bowl.clausius --samples 30 --sample "x~U(-1,1), y~U(-1,1)" --seed 2 --h 0.05 --steps 100 --quiet -o bowl.csv || fail simulate
    "$CLAUSIUS" learn bowl.clausius bowl.csv --unknown V -o bowl.safetensors || fail learn
    "$CLAUSIUS" report bowl.safetensors --data bowl.csv -o 3.html || fail report
    expect_in_file 'a map of levels' 3.html
    expect_in_file '3 of 30 trajectories' 3.html
    check ./*.html
}

test_in_chromium_with_axe() {
    command -v chromium >/dev/null || skip 'no Chromium here'
    "$CLAUSIUS" report adiabatic-piston -o piston.html 2>/dev/null || fail report
    "$CLAUSIUS" simulate pendulum --samples 4 --sample "q~U(-1,1), v.q~U(-1,1)" --seed 1 --h 0.05 --steps 100 --quiet -o swing.csv || fail simulate
    "$CLAUSIUS" learn pendulum swing.csv --unknown V -o swing.safetensors || fail learn
    "$CLAUSIUS" report swing.safetensors --data swing.csv -o swing.html 2>/dev/null || fail report
    check --axe piston.html swing.html
}

# A recording of others, its columns under the names given; 1: it is not there.
recording() { # FILE NAMES OUT
    [[ -r ${CLAUSIUS_DATA:-/nowhere}/$1 ]] || return 1
    awk -v names="$2" 'BEGIN { n = split(names, a, ","); print names } /^%/ || NF < 2 { next }
        { line = $2; for (i = 3; i <= n + 1; i++) line = line "," $i; print line }' "$CLAUSIUS_DATA/$1" >"$3"
}

real_model() { # NAME COORDINATE POTENTIAL FRICTION RECORDING
    recording "$5" "time,$2" "$1.csv" || return 1
    cat >"$1.clausius" <<S
system "a recording: $1"
coordinate  $2
temperature T [K]
parameter   k = unknown in (0, 1000), offset = unknown near 0
parameter   c = unknown near 0.01 in (0, inf), mu = unknown near 0.01 in (0, inf)
thermal lagrangian v.$2^2/2 $3 + 1e6*T*(log(T) - 1)
friction F on T: $2 <- -c*v.$2 - mu*tanh(v.$2/$4)
start $2 = 1, v.$2 = 0, T = 300
S
    "$CLAUSIUS" learn "$1.clausius" "$1.csv" --test 0.3 --quiet -o "$1.safetensors"
    "$CLAUSIUS" report "$1.safetensors" --data "$1.csv" -o "$1.html" 2>/dev/null
}

# Every kind of field, formulas, ports; two recordings of others where they are; a known system.
test_ten_models_with_axe() {
    . "$SOURCE/tests/export/models.sh"
    local m n=0
    for m in $export_models; do
        make_model "$m" 2>/dev/null
        "$CLAUSIUS" report "$m.safetensors" $([[ $m == tanh ]] && echo --data piston.csv) -o "$m.html" 2>/dev/null || fail "report $m"
    done
    expect_in_file 'Training curve' tanh.html
    "$CLAUSIUS" report thermal-oscillator -o oscillator.html 2>/dev/null || fail report
    "$CLAUSIUS" report adiabatic-piston tanh.safetensors --data piston.csv -o both.html 2>/dev/null || fail report
    real_model pendulum phi "+ k*cos(phi - offset)" 0.02 schmidt-lipson/real_pend_h_1.txt || echo "# no recordings: CLAUSIUS_DATA is not set"
    real_model glider x "- k*(x - offset)^2/2" 5 schmidt-lipson/real_linear_h_1.txt || true
    for m in *.html; do n=$((n + 1)); done
    expect test $n -ge 10
    check --axe ./*.html
}

run_tests
