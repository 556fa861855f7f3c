#!/usr/bin/env bash
# Systems of components on the command line.
. "$(dirname "$0")/../cli/lib.sh"

test_bond_graph() {
    run "$CLAUSIUS" show thermal-oscillator --graph -o graph.svg
    expect_ok
    expect_in_file '<svg' graph.svg
    run "$CLAUSIUS" show motor --graph -o graph.png
    expect_ok
    expect test "$(head -c 4 graph.png | tail -c 3)" = PNG
    run "$CLAUSIUS" show motor --graph
    expect_ok
    expect_stdout '<svg'
    run "$CLAUSIUS" show pendulum --graph
    expect_exit 2
    expect_stderr 'not made of components'
    run "$CLAUSIUS" show motor --graph -o graph.pdf
    expect_exit 2
    run "$CLAUSIUS" show motor -o graph.svg
    expect_exit 2
}

test_wrong_wiring() {
    cat >bad.clausius <<'END'
storage spring(q): q^2/2
storage mass(p): p^2/2
gyrator link(q, p): 1
connect spring.q, link.q
END
    run "$CLAUSIUS" simulate bad.clausius
    expect_exit 4
    expect_stderr 'bad.clausius:2:14: the port `mass.p` is open'
}

test_exergy_column() {
    run "$CLAUSIUS" simulate thermal-oscillator --steps 10 --json
    expect_ok
    expect_json 'd["final"]["exergy"] < 0 and d["entropy"]["falls"] == 0'
}

test_extract_and_use() {
    run "$CLAUSIUS" simulate isothermal-oscillator --scheme implicit-midpoint --until 19.9 -o data.csv
    expect_ok
    run "$CLAUSIUS" learn isothermal-oscillator data.csv --unknown damper --field 'chebyshev(2)' \
        --scheme implicit-midpoint -o model.safetensors
    expect_ok
    run "$CLAUSIUS" extract model.safetensors --component damper -o damper.safetensors
    expect_ok
    sed -e 's/^resistive .*/use "damper.safetensors" as damper/' -e 's/ d = 0.5,//' \
        -e 's/p = 1,/p = 2,/' <("$CLAUSIUS" show isothermal-oscillator --source) >heavy.clausius
    run "$CLAUSIUS" simulate heavy.clausius --set m=4 --scheme implicit-midpoint --until 100 --json -o got.csv
    expect_ok
    expect_json 'd["entropy"]["falls"] == 0 and d["outside"]["rows"] == 0'
    run "$CLAUSIUS" simulate isothermal-oscillator --set m=4 --start 'p.q=2' \
        --scheme implicit-midpoint --until 100 -o want.csv
    run "$CLAUSIUS" compare got.csv want.csv --json
    expect_json 'max(d["max"].values()) < 1e-9'
    run "$CLAUSIUS" simulate heavy.clausius --start 'p.q=9' --until 1 -o far.csv
    expect_ok
    expect_stderr "from time 0 on the motion leaves the range that 'damper' was learned in: v.q"
    run "$CLAUSIUS" extract model.safetensors --component dampr -o x.safetensors
    expect_exit 2
    expect_stderr "did you mean 'damper'"
}

# the end of a chain: nothing is connected, and that is said
test_a_free_end() {
    cat >chain.clausius <<'END'
component cell(p, out) {
    storage  mass(p): p^2/2
    storage  spring(q): 2*q^2
    junction between(q, p, out): {q, p} = -1, {q, out} = 1
    connect mass.p, between.p, p
    connect spring.q, between.q
    connect between.out, out
}
use cell as left
storage end(pe): pe^2/2
connect left.out, end.pe
free left.p
start left_p = 1, left_q = 0, pe = 0
step 0.01
until 5
END
    run "$CLAUSIUS" simulate chain.clausius --quiet -o run.csv
    expect_ok
    run "$CLAUSIUS" audit run.csv
    expect_ok
    sed '/^free/d' chain.clausius >open.clausius
    run "$CLAUSIUS" show open.clausius
    expect_refused 4 'the port `left.p` is open.*free left.p'
    sed 's/^free left.p/free left.nothing/' chain.clausius >wrong.clausius
    run "$CLAUSIUS" show wrong.clausius
    expect_exit 4
}

run_tests
