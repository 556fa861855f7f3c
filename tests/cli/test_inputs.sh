#!/usr/bin/env bash
# Inputs from files and formulas, rows at given times, starts in rows of measurements.
. "$(dirname "$0")/../cli/lib.sh"

rows() { grep -vc '^[#a-z]' "$1"; }

write_rooms() {
    cat >rooms.clausius <<'END'
system "two heated bodies in a room"
input Q1 [%], Q2 [%]
temperature T1, T2 [K]
parameter C = 5, k = 0.3, ka = 0.1, a = 0.04
reservoir Troom [K] = 293
thermal lagrangian C*T1*(log(T1) - 1) + C*T2*(log(T2) - 1)
heat exchange T1 <-> T2: k
heat exchange T1 <-> Troom: ka
heat exchange T2 <-> Troom: ka
heat source heater1 on T1: a*Q1
heat source heater2 on T2: a*Q2
output warmer = T1 - T2
start T1 = 293, T2 = 293
step 0.5
END
    printf 'time,Q1,Q2\n0,0,0\n10,50,0\n40,50,80\n70,0,80\n100,0,0\n' >u.csv
}

test_a_thermal_system_follows_its_inputs() {
    write_rooms
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv -o run.csv
    expect_ok
    expect_stderr 'inputs .*5 samples of u.csv, each held until the next'
    expect_stderr '200 steps of 0.5 to time 100'
    expect_stderr ' 0 falls'
    run "$CLAUSIUS" audit run.csv
    expect_ok
    expect_stdout 'ok .*energy .*after the heat from outside'
    expect_stdout 'ok .*heat .*the heat flows'
    expect_stdout 'ok .*entropy.outside'
    expect_stdout 'ok .*reservoir positive Troom'
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv --hold linear --json
    expect_json 'd["energy"]["relative"] < 1e-14 and d["entropy"]["falls"] == 0'
    expect_json '{"heat", "entropy.outside", "Q1", "Q2", "warmer"} <= set(d["final"])'
}

test_each_input_has_its_hold() {
    write_rooms
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv --hold "Q1=linear, Q2=zero" -o run.csv
    expect_ok
    expect_stderr 'inputs .*Q1=linear, Q2=zero'
    awk -F, '/^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
        $at["time"] == 5 || $at["time"] == 25 || $at["time"] == 55 { seen = seen " " $at["Q1"] "/" $at["Q2"] }
        END { if (seen != " 25/0 50/0 25/80") { print seen; exit 1 } }' run.csv || fail "not the values of both holds"
    run "$CLAUSIUS" audit run.csv
    expect_ok
}

test_a_false_account_is_found() {
    write_rooms
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv -o run.csv
    python3 - <<'END'
lines = open("run.csv").read().split("\n")
head = next(i for i, x in enumerate(lines) if x.startswith("time"))
column = lines[head].split(",").index("entropy.outside")
for i in range(head + 1, len(lines)):
    cells = lines[i].split(",")
    if len(cells) > column:
        cells[column] = repr(float(cells[column]) * 0.5)
        lines[i] = ",".join(cells)
open("run.csv", "w").write("\n".join(lines))
END
    run "$CLAUSIUS" audit run.csv
    expect_exit 1
    expect_stdout 'FAILED .*entropy.outside|entropy.outside .*FAILED|broken'
}

test_inputs_may_be_numbers_and_formulas() {
    write_rooms
    run "$CLAUSIUS" simulate rooms.clausius --set "Q1=20*(1 + sin(0.1*t)), Q2=0, k=0.2" --steps 20 -o run.csv
    expect_ok
    expect grep -q '^# set: Q1=20\*(1 + sin(0.1\*t)), Q2=0, k=0.2' run.csv
    run "$CLAUSIUS" audit run.csv
    expect_ok
    run "$CLAUSIUS" simulate rooms.clausius --set "k=sin(t)"
    expect_exit 2
    expect_stderr 'parameter k cannot be set to .sin\(t\).'
    run "$CLAUSIUS" simulate rooms.clausius --steps 1
    expect_exit 2
    expect_stderr 'the input Q1 of rooms has no values'
}

test_inputs_that_do_not_fit_are_refused() {
    write_rooms
    cut -d, -f1,2 u.csv >less.csv
    run "$CLAUSIUS" simulate rooms.clausius --inputs less.csv
    expect_exit 3
    expect_stderr 'less.csv has no column .Q2., an input of rooms; it has time, Q1'
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv --until 500
    expect_exit 2
    expect_stderr 'known from time 0 to 100'
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv --hold cubic
    expect_exit 2
    expect_stderr 'hold is zero, linear or auto'
    run "$CLAUSIUS" simulate rooms.clausius --inputs u.csv --hold "Q7=zero"
    expect_exit 2
    expect_stderr "hold: there is no input 'Q7'; there are Q1, Q2"
    run "$CLAUSIUS" simulate pendulum --inputs u.csv
    expect_exit 2
    expect_stderr 'has no inputs'
}

test_rows_at_the_times_of_a_file() {
    write_rooms
    printf 'time,T1,T2,Q1,Q2\n3,293,294,0,0\n3.125,293,294,5,0\n4.5,293,294,0,7\n4.75,293,294,0,0\n9,293,294,0,1\n' >data.csv
    run "$CLAUSIUS" simulate rooms.clausius --inputs data.csv --at data.csv --from data.csv -o run.csv
    expect_ok
    expect_stderr 'start .*row 1 of data.csv, time 3'
    expect test "$(grep -v '^#' run.csv | cut -d, -f1 | tr '\n' ' ')" = "time 3 3.125 4.5 4.75 9 "
    run "$CLAUSIUS" simulate rooms.clausius --inputs data.csv --at data.csv --from data.csv --steps 4
    expect_exit 2
}

test_rows_to_start_from() {
    printf 'time,q,v.q\n0,0.5,0.1\n0.125,0.51,0.09\n0.25,0.52,0.08\n' >data.csv
    run "$CLAUSIUS" simulate pendulum --from data.csv --steps 1
    expect_stdout '^0,0.5,0.1'
    run "$CLAUSIUS" simulate pendulum --from data.csv --row 2 --steps 1
    expect_stdout '^0.125,0.51'
    run "$CLAUSIUS" simulate pendulum --from data.csv --row last --steps 1
    expect_stdout '^0.25,0.52'
    run "$CLAUSIUS" simulate pendulum --from data.csv --row 4
    expect_exit 2
    expect_stderr 'rows 1 to 3'
    run "$CLAUSIUS" simulate pendulum --row 4
    expect_exit 2
    expect_stderr '--row needs --from'
    run "$CLAUSIUS" simulate pendulum --steps 3 -o run.csv
    run "$CLAUSIUS" simulate pendulum --from run.csv --steps 1
    expect_stderr 'row 4 of run.csv'
}

# More data must never give less: positions alone, positions with velocities, both without heat.
test_measurements_without_heat_start_a_motion() {
    printf 'time,x\n0,0.5\n0.01,0.501\n0.02,0.502\n' >positions.csv
    printf 'time,x,v.x\n0,0.5,0.1\n0.01,0.501,0.1\n0.02,0.502,0.1\n' >both.csv
    run "$CLAUSIUS" simulate ideal-gas-piston --from positions.csv --row first --steps 1
    expect_ok
    run "$CLAUSIUS" simulate ideal-gas-piston --from both.csv --row first --steps 1
    expect_ok
    expect_stdout '^0,0.5,'
}

test_a_model_of_a_driven_system_can_be_read() {
    cat >driven.clausius <<'END'
system "a driven oscillator"
coordinate q
entropy S
hamiltonian p.q^2/2 + q^2/2 + exp(S)
friction F on S: q <- -0.2*p.q
external force motor: q <- 0.3*sin(t)
start q = 1, p.q = 0, S = 0
END
    run "$CLAUSIUS" simulate driven.clausius --until 10 --quiet -o train.csv
    run "$CLAUSIUS" learn driven.clausius train.csv --unknown F --quiet -o model.safetensors
    expect_ok
    run "$CLAUSIUS" simulate model.safetensors --until 5 -o run.csv
    expect_ok
    run "$CLAUSIUS" audit run.csv
    expect_ok
    run "$CLAUSIUS" learn driven.clausius train.csv --unknown motor
    expect_exit 2
    expect_stderr "'motor' of driven is an external force"
    run "$CLAUSIUS" show driven.clausius --parts
    expect test "$(cat "$out")" = F
}

test_a_model_takes_other_parameters() {
    cat >spring.clausius <<'END'
coordinate q
entropy S
parameter m = 2, g = 0.2, k = 1
hamiltonian p.q^2/(2*m) + k*q^2/2 + exp(S)
friction F on S: q <- -g*v.q
start q = 1, p.q = 0, S = 0
END
    run "$CLAUSIUS" simulate spring.clausius --until 10 --quiet -o train.csv
    run "$CLAUSIUS" learn spring.clausius train.csv --unknown F --field "terms(1)" --quiet -o model.safetensors
    expect_ok
    run "$CLAUSIUS" simulate model.safetensors --set m=4 --until 5 --quiet -o heavy.csv
    expect_ok
    expect grep -q '^# set: m=4' heavy.csv
    run "$CLAUSIUS" simulate spring.clausius --set m=4 --until 5 --quiet -o truth.csv
    run "$CLAUSIUS" compare heavy.csv truth.csv --columns q --tolerance 1e-3
    expect_ok
    run "$CLAUSIUS" audit heavy.csv
    expect_ok
    run "$CLAUSIUS" simulate model.safetensors --set g=1
    expect_exit 2
    expect_stderr 'what was learned \(F\) depends on g, .*these can: m, k'
}

test_ready_frictions_are_found() {
    cat >truth.clausius <<'END'
coordinate phi [rad] angle
temperature T
thermal lagrangian v.phi^2/2 + cos(phi) + T*(log(T) - 1)
friction F on T: phi <- -(0.05 + 0.1/sqrt(v.phi^2 + 1e-4) + 0.02*sqrt(v.phi^2 + 1e-12))*v.phi
start phi = 2, v.phi = 0, T = 1
until 20
END
    sed 's/phi <- .*/phi <- unknown dry + viscous + quadratic/' truth.clausius >unknown.clausius
    run "$CLAUSIUS" show unknown.clausius
    expect_stdout 'phi .*angle'
    expect_stdout 'F .*= unknown terms'
    run "$CLAUSIUS" simulate truth.clausius --quiet -o train.csv
    run "$CLAUSIUS" learn unknown.clausius train.csv --quiet -o model.safetensors
    expect_ok
    run "$CLAUSIUS" show model.safetensors
    expect_stdout '0\.100.* times 1/sqrt'
    expect_stdout '0\.0(49|50).* times 1(,|$)'
    expect_stdout '0\.0(19|20).* times sqrt'
    run "$CLAUSIUS" simulate model.safetensors --quiet -o run.csv
    run "$CLAUSIUS" audit run.csv
    expect_ok
}

test_forms_that_do_not_exist_are_refused_where_they_stand() {
    printf 'coordinate x\ntemperature T\nthermal lagrangian v.x^2/2 + T*log(T)\nfriction F on T: unknown banana\n' >a.clausius
    run "$CLAUSIUS" show a.clausius
    expect_exit 4
    expect_stderr 'a.clausius:4:26: .banana. is no form of what is learned'
    sed -i 's/unknown banana/x <- unknown dry + wet/' a.clausius
    run "$CLAUSIUS" show a.clausius
    expect_exit 4
    expect_stderr 'a.clausius:4:37: expected .dry.'
}

test_an_environment_that_changes_is_a_reservoir() {
    cat >wall.clausius <<'END'
system "a wall between a room and the weather"
input Tout
parameter c = 2, k = 0.5
let weather = Tout
storage layer1(entropy s1 with temperature T1): c*exp(s1/c)
storage layer2(entropy s2 with temperature T2): c*exp(s2/c)
environment room(entropy sr with temperature Tr): 293
environment out(entropy So with temperature To): weather
resistive a(entropy x, entropy y): k
resistive b(entropy x, entropy y): k
resistive d(entropy x, entropy y): k
connect layer1.s1, a.x, b.x
connect layer2.s2, b.y, d.x
connect room.sr, a.y
connect out.So, d.y
heat source lamp on T1: 3
output flux = k*(T1 - Tr)
start T1 = 290, T2 = 280, sr = 0
END
    printf 'time,Tout\n0,270\n5,280\n10,260\n' >weather.csv
    run "$CLAUSIUS" simulate wall.clausius --inputs weather.csv --hold linear -o run.csv
    expect_ok
    expect_stderr ' 0 falls'
    run "$CLAUSIUS" audit run.csv
    expect_ok
    expect_stdout 'reservoir positive To'
    sed -i 's/environment out(.*/environment out(entropy So with temperature To): 280 + t/' wall.clausius
    run "$CLAUSIUS" simulate wall.clausius --set Tout=1 --steps 10 -o run.csv
    expect_ok
}

test_ordinary_differential_equations_promise_nothing() {
    printf "ode x' = -x\nstart x = 1\n" >decay.clausius
    run "$CLAUSIUS" simulate decay.clausius --quiet -o run.csv
    run "$CLAUSIUS" audit run.csv
    expect_ok
    expect_stdout 'the system promises no law'
    expect test "$(grep -c 'laws hold' "$out")" = 0
}

# Inputs called as the unknowns of a step are: `u` must mean the input.
test_an_input_called_u() {
    printf 'coordinate q\ninput u\nlagrangian v.q^2/2\nexternal force: q <- u\nstart q = 0, v.q = 0\nstep 1\nuntil 2\n' >driven.clausius
    printf 'time,u\n0,10\n1,20\n2,40\n' >u.csv
    local s
    for s in discrete-gradient rk4 implicit-midpoint; do
        run "$CLAUSIUS" simulate driven.clausius --inputs u.csv --hold linear --scheme $s --json
        expect_ok
        expect_json 'abs(d["final"]["v.q"] - 45) < 1e-12'
        run "$CLAUSIUS" simulate driven.clausius --inputs u.csv --scheme $s --json
        expect_json 'abs(d["final"]["v.q"] - 30) < 1e-12'
    done
}

# A model follows inputs as it was learned: sines that were sampled are joined by lines.
test_models_take_inputs_as_they_look() {
    printf '%s\n' 'system "a driven spring"' 'coordinate x' 'input u' 'temperature T with entropy S' 'parameter k = unknown near 1 in (0, inf)' \
        'thermal lagrangian v.x^2/2 - k*x^2/2 + 100*T*(log(T) - 1)' 'friction on T: x <- -0.2*v.x' 'external force: x <- u' 'start x = 0, v.x = 0, T = 1' 'step 0.05' >spring.clausius
    sed 's/unknown near 1 in (0, inf)/4/' spring.clausius >truth.clausius
    run "$CLAUSIUS" simulate truth.clausius --set "u=sin(1.3*t) + sin(3.1*t)" --scheme bdf --until 30 --quiet -o run.csv
    expect_ok
    run "$CLAUSIUS" learn spring.clausius run.csv -o spring.safetensors --quiet
    expect_ok
    for hold in "" auto zero; do
        run "$CLAUSIUS" simulate spring.safetensors --from run.csv --row first --inputs run.csv --at run.csv ${hold:+--hold $hold} -o "m$hold.csv"
        expect_ok
    done
    expect_same m.csv mauto.csv
    run "$CLAUSIUS" compare m.csv run.csv --columns x --tolerance 0.01
    expect_ok
    run "$CLAUSIUS" compare mzero.csv run.csv --columns x --tolerance 0.01
    expect_exit 1
}

# It would stand still in every row.
test_a_time_that_a_step_does_not_move_is_refused() {
    printf '%s\n' 'input u' 'coordinate q' 'lagrangian v.q^2/2' 'external force: q <- u' 'start q = 0, v.q = 0' 'step 1e-8' >cart.clausius
    printf 'time,u\n1.7e9,1\n1700000001,1\n' >u.csv
    run "$CLAUSIUS" simulate cart.clausius --inputs u.csv --steps 5 -o out.csv
    expect_exit 2
    expect_stderr 'a step of 1e-08 does not move the time 1700000000; count time from another zero'
    expect_no_file out.csv
    run "$CLAUSIUS" simulate cart.clausius --inputs u.csv --h 1e-3 --steps 5 -o out.csv
    expect_ok
}

run_tests
