#!/usr/bin/env bash
# Reports of every built-in system and of learned models: valid, below 500 kB, and in Chromium, light and
# dark, on a phone and a desktop, without a finding (tests/page/check_page.py says what is looked at).
. "$(dirname "$0")/../cli/lib.sh"

check() {
    local python
    python=$("$SOURCE/tools/page-env" "${CLAUSIUS_BUILD:-/tmp}/page-env") || skip "html5lib and axe-core cannot be installed"
    RUN_LIMIT=600 run "$python" "$SOURCE/tests/page/check_page.py" "$@"
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

run_tests
