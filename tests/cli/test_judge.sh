#!/usr/bin/env bash
# audit, compare, data inspect, plot: what is done with trajectories.
. "$(dirname "$0")/../cli/lib.sh"

simulate() { "$CLAUSIUS" simulate "$@" --quiet || fail "simulate $*"; }

test_round_trip_simulate_audit_compare() {
    simulate adiabatic-piston --set "m=2" --h 0.02 --steps 500 -o run.csv
    run "$CLAUSIUS" audit run.csv
    expect_ok
    expect_stdout '^ok +energy'
    expect_stdout '^ok +entropy'
    expect_stdout 'all [0-9]+ laws hold'
    expect_no_stdout FAIL
    simulate adiabatic-piston --set "m=2" --h 0.02 --steps 500 --scheme bdf -o reference.csv
    run "$CLAUSIUS" compare run.csv reference.csv --columns x,v.x --tolerance 1e-2
    expect_ok
    expect_stdout '^x '
    expect_no_stdout '^energy'
    run "$CLAUSIUS" compare run.csv reference.csv --tolerance 1e-12
    expect_exit 1
    expect_no_stderr
}

test_explicit_steps_are_judged_lawful() {
    for scheme in lawful-rk4 lawful-rk6 lawful-rk8; do
        for s in van-der-waals-forced thermal-oscillator heat-reservoirs motor adiabatic-reactor elastic-string building; do
            simulate "$s" --scheme "$scheme" --steps 400 -o run.csv
            run "$CLAUSIUS" audit run.csv
            expect_ok
            expect_stdout '^ok +energy'
        done
    done
    run "$CLAUSIUS" simulate adiabatic-piston --scheme lawful-rk4
    expect_exit 2
    expect_stderr 'velocities and temperatures; take discrete-gradient-4'
    run "$CLAUSIUS" export c pendulum --scheme lawful-rk8 -o source
    expect_ok
    run "$CLAUSIUS" simulate pendulum --scheme lawful-rk8 --samples 20 --sample 'q~U(0.1,1)' --steps 300 -o many.csv
    expect_ok
    run "$CLAUSIUS" audit many.csv
    expect_ok
    simulate mass-spring --steps 30 -o spring.csv
    run "$CLAUSIUS" learn mass-spring spring.csv --unknown V --scheme lawful-rk4 -o never.safetensors
    expect_exit 2
    expect_stderr 'finds its weights from where a step ends'
}

test_the_notes_carry_the_parameters() {
    simulate adiabatic-piston --set "m=2" --h 0.02 --steps 100 -o run.csv
    run "$CLAUSIUS" audit run.csv --set "m=3"
    expect_exit 1
    expect_stdout '^FAIL'
    expect_stderr 'run.csv was made with m=2 \(its note `# set:`\); --set counts'
    # beside a system, too: said, and --set counts where it says something else
    run bash -c '"$1" audit adiabatic-piston --against - <run.csv' - "$CLAUSIUS"
    expect_ok
    expect_stderr '- was made with m=2 .*which is taken'
    run "$CLAUSIUS" audit adiabatic-piston --against run.csv
    expect_ok
    expect_stderr 'run.csv was made with m=2 \(its note `# set:`\), which is taken'
    run "$CLAUSIUS" audit adiabatic-piston --against run.csv --set m=2
    expect_ok
    expect_no_stderr
    run "$CLAUSIUS" audit adiabatic-piston --against run.csv --set m=1
    expect_exit 1
    expect_stderr 'run.csv was made with m=2 \(its note `# set:`\); --set counts'
    run "$CLAUSIUS" audit adiabatic-piston --against run.csv --set nu1=0.02
    expect_exit 1
    expect_stderr '--set counts, and what it does not give is the system.s'
    run "$CLAUSIUS" audit adiabatic-piston --against run.csv --json
    expect_ok
    expect_json 'd["set"] == "m=2"'
    sed 's/^# system: .*/# system: pendulum/' run.csv >other.csv # a note of another system says nothing
    run "$CLAUSIUS" audit adiabatic-piston --against other.csv
    expect_exit 1
    expect_no_stderr
}

write_chain() {
    cat >"$1" <<'END'
parameter N = 4, k = 1
coordinate u[1..N]
hamiltonian sum(i in 1..N: p.u[i]^2/2) + sum(i in 1..N-1: k*(u[i+1] - u[i])^2/2)
for i in 1..N: start u[i] = sin(i), p.u[i] = 0
step 0.1
END
}

test_the_size_is_a_parameter_of_the_note() {
    write_chain chain.clausius
    simulate chain.clausius --set N=10 --steps 5 -o long.csv
    run "$CLAUSIUS" audit chain.clausius --against long.csv
    expect_ok
    expect_stdout '10 elements|mass matrix'
    run "$CLAUSIUS" audit chain.clausius --against long.csv --set k=1
    expect_exit 1
    expect_stderr 'made with N=10 .*--set counts'
    # the first elements of a longer chain are no start of a shorter one
    run "$CLAUSIUS" simulate chain.clausius --from long.csv --steps 1
    expect_ok
    run "$CLAUSIUS" simulate chain.clausius --set N=4 --from long.csv --steps 1
    expect_exit 3
    expect_stderr 'long.csv has a column u\[5\], which the system does not have .* more elements; it was made with N=10'
    expect_no_stdout
    grep -v '^#' long.csv >measured.csv # what others measured may reach beyond, and that is said
    run "$CLAUSIUS" simulate chain.clausius --set N=4 --from measured.csv --steps 1
    expect_ok
    expect_stderr 'measured.csv has a column u\[5\]'
}

# A note opens no file elsewhere: docs/format.md.
test_a_note_of_a_system_elsewhere() {
    mkdir systems
    write_chain systems/chain.clausius
    for kind in csv npz; do
        simulate systems/chain.clausius --steps 5 -o o.$kind
        run "$CLAUSIUS" audit o.$kind
        expect_exit 4
        expect_stderr "system \"systems/chain.clausius\": there is no ordinary file chain.clausius, and a note opens no file that is not beside its own; .*clausius audit SYSTEM --against o.$kind"
        run "$CLAUSIUS" audit systems/chain.clausius --against o.$kind
        expect_ok
        echo damaged >>o.$kind # refused before a row is read
        run "$CLAUSIUS" audit o.$kind
        [[ $kind == npz ]] || expect_exit 4
    done
    simulate pendulum --steps 2 -o p.csv
    sed 's/^# system: .*/# system: pendulun/' p.csv >q.csv
    run "$CLAUSIUS" audit q.csv
    expect_exit 4
    expect_stderr 'neither built in nor a .clausius file'
}

# Rows far apart see what rounding adds up to. The demo's own motion, as it is and thinned.
test_laws_hold_however_thin_the_rows() {
    local every
    for every in 1 10 1000; do
        simulate adiabatic-piston --h 0.01 --steps 20000 --every $every -o thin.csv
        run "$CLAUSIUS" audit thin.csv
        expect_ok
    done
    simulate adiabatic-piston --steps 100000 --every 1000 -o a.csv
    run "$CLAUSIUS" audit a.csv
    expect_ok
}

# Capacities of 1e12 and 1 are no singular matrix.
test_a_very_cold_body_has_a_heat_capacity() {
    simulate adiabatic-piston --start "x=0,v.x=0,T1=1e-12,T2=1" --h 1e-9 --steps 10 -o cold.csv
    run "$CLAUSIUS" audit cold.csv
    expect_stdout '^ok +heat capacity'
}

# The size of the start sets the tolerances of the reference, unless it is nothing.
test_the_reference_begins_at_nothing() {
    local start
    for start in "q=0,p.q=0" "q=1e-300,p.q=0" "q=1e-12,p.q=1e-13" "q=0,p.q=1e-20"; do
        run timeout 60 "$CLAUSIUS" simulate mass-spring --scheme bdf --steps 200 --start "$start" -o zero.csv
        expect_ok
    done
}

test_audit_of_a_system_judges_the_order() {
    local order='[l["value"] for l in d["laws"] if l["name"] == "order"][0]'
    run "$CLAUSIUS" audit adiabatic-piston --steps 100 --json
    expect_ok
    expect_json "abs($order - 2) < 0.02 and d['order_step'] == d['h']"
    run "$CLAUSIUS" audit adiabatic-piston --steps 100 --scheme vnots --limit-energy 1 --json
    expect_ok
    expect_json "abs($order - 1) < 0.1"
}

test_audit_refines_steps_that_do_not_show_the_order() {
    run "$CLAUSIUS" audit ideal-gas-piston --steps 100 --h 0.01 --json
    expect_ok
    expect_json 'd["h"] == 0.01 and d["order_step"] < d["h"]'
    run "$CLAUSIUS" audit ideal-gas-piston --steps 100 --h 0.01
    expect_stdout 'order was judged at h = '
}

test_audit_json() {
    run "$CLAUSIUS" audit adiabatic-piston --steps 100 --json
    expect_ok
    expect_no_stderr
    expect_json 'set(d) >= {"passed","system","scheme","laws"} and d["passed"] is True'
    expect_json 'all({"name","passed","value","limit","text"} <= set(l) for l in d["laws"])'
    expect_json '{"energy","entropy","order"} <= {l["name"] for l in d["laws"]}'
    expect_json 'd["system"] == "adiabatic-piston" and d["scheme"] == "discrete-gradient"'
}

test_audit_fails_a_scheme_that_loses_energy() {
    run "$CLAUSIUS" audit pendulum --scheme euler --h 0.1 --steps 200
    expect_exit 1
    expect_stdout '^FAIL +energy'
    expect_stdout 'of [0-9]+ laws are broken'
    expect_no_stderr
    run "$CLAUSIUS" audit pendulum --scheme euler --h 0.1 --steps 200 --json
    expect_exit 1
    expect_json 'not d["passed"]'
    run "$CLAUSIUS" audit pendulum --scheme leapfrog --h 0.01 --steps 200 --limit-energy 1e-3
    expect_ok
}

test_audit_catches_a_forged_row() {
    simulate ideal-gas-piston --h 0.02 --steps 100 -o run.csv
    awk -F, -v OFS=, '/^[0-9]/ && ++n == 50 { $2 += 0.001 } 1' run.csv >forged.csv
    run "$CLAUSIUS" audit forged.csv
    expect_exit 1
    expect_stdout '^FAIL +energy'
}

test_audit_of_a_file_without_notes() {
    simulate pendulum --steps 10 -o run.csv
    grep -v '^#' run.csv >bare.csv
    run "$CLAUSIUS" audit bare.csv
    expect_exit 4
    expect_stderr 'clausius audit SYSTEM --against bare\.csv'
    run "$CLAUSIUS" audit pendulum --against bare.csv
    expect_ok
    run "$CLAUSIUS" audit run.csv --steps 3
    expect_exit 2
    run "$CLAUSIUS" audit missing.csv
    expect_exit 5
    run "$CLAUSIUS" audit pendulumm
    expect_exit 4
    expect_stderr 'pendulum'
}

test_audit_of_an_ensemble() {
    simulate pendulum --samples 5 --sample "q~U(-1,1)" --steps 50 -o many.csv
    run "$CLAUSIUS" audit many.csv
    expect_ok
}

test_no_colour_where_it_is_not_welcome() {
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no pseudo-terminal"
    script -qec "env -u NO_COLOR TERM=xterm $CLAUSIUS audit pendulum --steps 10" /dev/null >colour </dev/null
    grep -q $'\033\[32m' colour || fail "no colour on a terminal"
    script -qec "env NO_COLOR=1 TERM=xterm $CLAUSIUS audit pendulum --steps 10" /dev/null >plain </dev/null
    grep -q $'\033' plain && fail "colour in spite of NO_COLOR"
    script -qec "env TERM=dumb $CLAUSIUS audit pendulum --steps 10" /dev/null >dumb </dev/null
    grep -q $'\033' dumb && fail "colour on a dumb terminal"
    run "$CLAUSIUS" audit pendulum --steps 10
    expect_no_stdout $'\033'
}

test_compare_matches_times_not_rows() {
    simulate pendulum --h 0.01 --steps 100 -o fine.csv
    simulate pendulum --h 0.01 --steps 100 --every 10 -o coarse.csv
    run "$CLAUSIUS" compare coarse.csv fine.csv --json --tolerance 0
    expect_ok
    expect_json 'set(d) == {"mae","max","rmse","rows","dropped","unmatched"} and d["rows"] == 11'
    expect_json 'd["max"]["q"] == 0 and d["mae"]["q"] == 0 and d["rmse"]["energy"] == 0'
}

test_compare_numbers() {
    printf 'time,a,b\n0,1,1\n1,2,1\n2,3,1\n' >one.csv
    printf 'time,a,b\n0,1,1\n1,2,4\n2,6,5\n' >two.csv
    run "$CLAUSIUS" compare one.csv two.csv --json
    expect_ok
    expect_json 'd["mae"]["a"] == 1 and d["max"]["b"] == 4 and abs(d["rmse"]["a"]-3**.5) < 1e-15'
    run "$CLAUSIUS" compare one.csv two.csv --tolerance 4
    expect_ok
    run "$CLAUSIUS" compare one.csv two.csv --tolerance 3.9
    expect_exit 1
    run "$CLAUSIUS" compare one.csv two.csv --columns c
    expect_exit 2
    expect_stderr 'no column "c"; it has: time, a, b'
    run "$CLAUSIUS" compare one.csv two.csv --tolerance -1
    expect_exit 2
    run "$CLAUSIUS" compare one.csv absent.csv
    expect_exit 5
}

test_data_inspect() {
    printf 'time,x,c\n0,1,7\n1,2,7\n2,3,7\n5,4,7\n' >rows.csv
    run "$CLAUSIUS" data inspect rows.csv
    expect_ok
    expect_stdout '4 rows, 3 columns'
    expect_stdout '1 gap .*widest 3 after time 2'
    expect_stdout '^c .*constant$'
    run "$CLAUSIUS" data inspect rows.csv --json
    expect_json 'd["rows"] == 4 and d["columns"]["c"]["constant"] and not d["columns"]["x"]["constant"]'
    expect_json 'd["time"]["gaps"] == 1 and d["time"]["spacing"]["median"] == 1'
    "$CLAUSIUS" simulate pendulum --steps 10 --quiet | "$CLAUSIUS" data inspect - >said || fail "pipe"
    expect_in_file '^11 rows' said
    run "$CLAUSIUS" data inspct rows.csv
    expect_exit 2
    expect_stderr 'did you mean inspect\?'
    run "$CLAUSIUS" data inspect
    expect_exit 2
}

test_plot() {
    simulate adiabatic-piston --steps 100 -o run.csv
    run "$CLAUSIUS" plot run.csv -o run.svg
    expect_ok
    expect_in_file '<svg' run.svg
    run "$CLAUSIUS" plot run.csv run.csv -o run.png --columns "x, x:v.x" --title "Two runs" \
        --width 640 --height 480
    expect_ok
    expect test "$(head -c 4 run.png | tail -c 3)" = PNG
    run "$CLAUSIUS" plot run.csv
    expect_exit 2
    expect_stderr 'OUT\.svg'
    run "$CLAUSIUS" plot run.csv -o run.gif
    expect_exit 2
    expect_no_file run.gif
    run "$CLAUSIUS" plot run.csv -o bad.svg --columns "xx"
    expect_exit 2
    expect_stderr 'xx'
    expect_no_file bad.svg*
    run "$CLAUSIUS" plot run.csv -o no/such/run.svg
    expect_exit 5
}

# A stiff wall to a reservoir that swings faster than the rows: both laws hold, and nobody can say from the
# rows what came in.
test_stiff_accounts_are_not_called_false() {
    printf 'entropy S1, S2\nreservoir R = 2 + 0.44*sin(5.9*t)\nhamiltonian 1.1*exp(S1/1.1) + 4.3*exp(S2/4.3)\nheat exchange T1 <-> T2: 6e4\nheat exchange T2 <-> R: 4e4\nstart T1 = 4.3, T2 = 2.5\nstep 0.83\n' >wall.clausius
    run "$CLAUSIUS" simulate wall.clausius --steps 200 --quiet -o wall.csv
    expect_ok
    run "$CLAUSIUS" audit wall.csv
    expect_ok
}

# The first law is kept to round-off and judged; the second is told; noise of the wrong size is found.
test_noise_is_judged() {
    run "$CLAUSIUS" simulate brownian-particle --seed 3 --quiet -o noise.csv
    expect_ok
    run "$CLAUSIUS" audit noise.csv
    expect_ok
    expect_stdout '^ok +energy +[0-9.]+e-1[4-6] '
    expect_stdout '^ok +fluctuation '
    expect_stdout '^-- +entropy in the mean .*rises in the mean only'
    sed 's/^# system: brownian-particle/&\n# set: kB=1.3/' noise.csv >wrong.csv
    run "$CLAUSIUS" audit wrong.csv
    expect_exit 1
    expect_stdout '^FAIL +fluctuation .*what friction and temperature demand'
    run "$CLAUSIUS" simulate brownian-particle --scheme rk4
    expect_exit 2
    expect_stderr 'thermal noise, which only the scheme langevin makes'
    run "$CLAUSIUS" simulate pendulum --seed 3
    expect_exit 2
    expect_stderr 'nothing here is random'
}

# Velocities to and fro from row to row, and heat flows that hide it: the trapezoidal rule is off by all of it, which is
# no broken law. Nor is a motion that ends in vain said to break one where only its heat could not be compared.
test_heat_between_rows_far_apart_is_not_judged() {
    printf '%s\n' 'coordinate x' 'reservoir T0 = 300' 'hamiltonian 91*p.x^2/2 + x^2/2' 'friction on T0: x <- -42*v.x' \
        'start x = 1, p.x = 1.5' 'step 0.003' >stiff.clausius
    "$CLAUSIUS" simulate stiff.clausius --steps 100 --quiet -o far.csv || fail simulate
    run "$CLAUSIUS" audit far.csv
    expect_ok
    expect_stdout '^-- +heat .*; not judged: the rates change too much from row to row'
    "$CLAUSIUS" simulate stiff.clausius --steps 100 --h 3e-6 --quiet -o near.csv || fail simulate
    run "$CLAUSIUS" audit near.csv
    expect_ok
    expect_stdout '^ok +heat '
    sed -i 's/x^2\/2$/x^2\/2 + exp(x^2)/; s/^start .*/start x = 20, p.x = 1.5/' stiff.clausius
    run "$CLAUSIUS" simulate stiff.clausius --h 1e6 --steps 100 --quiet -o never.csv
    expect_exit 6
    ! grep -q 'law .heat. is broken' "$err" || fail "heat over no time at all"
}

run_tests
