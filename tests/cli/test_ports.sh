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

run_tests
