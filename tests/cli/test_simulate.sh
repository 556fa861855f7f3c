#!/usr/bin/env bash
# clausius simulate: rows, notes, JSON, where it starts and ends, ensembles, signals.
. "$(dirname "$0")/../cli/lib.sh"

rows() { grep -vc '^[#a-z]' "$1"; }

test_rows_go_to_stdout_and_the_summary_to_stderr() {
    run "$CLAUSIUS" simulate adiabatic-piston --steps 10
    expect_ok
    expect_stdout '^# system: adiabatic-piston$'
    expect_stdout '^# scheme: discrete-gradient$'
    expect_stdout '^# h: '
    expect_stdout '^# version: 0\.1\.0$'
    expect_stdout '^time,x,.*energy,entropy'
    expect test "$(rows "$out")" = 11
    expect_stderr 'energy'
    expect_stderr 'entropy .* 0 falls'
    expect_no_stderr $'\033'
}

test_quiet_says_nothing() {
    run "$CLAUSIUS" simulate adiabatic-piston --steps 10 --quiet -o run.csv
    expect_ok
    expect_no_stdout
    expect_no_stderr
    expect_file run.csv
}

test_file_equals_stdout() {
    run "$CLAUSIUS" simulate pendulum --steps 20 -o run.csv
    expect_ok
    expect_no_stdout
    run "$CLAUSIUS" simulate pendulum --steps 20
    expect_same run.csv "$out"
}

test_json_has_the_keys_of_the_contract() {
    run "$CLAUSIUS" simulate two-pistons --h 0.1 --steps 100 --json
    expect_ok
    expect_no_stderr
    expect_json 'set(d) >= {"scheme","h","steps","final","energy","entropy","invariants","newton","seconds","retried_steps"}'
    expect_json 'set(d["energy"]) == {"initial","max_error","relative"}'
    expect_json 'set(d["entropy"]) == {"initial","final","falls","min_step"}'
    expect_json 'set(d["newton"]) == {"mean_iterations","max_iterations"}'
    expect_json 'set(d["invariants"]["g"]) == {"initial","max_error"}'
    expect_json 'd["scheme"] == "discrete-gradient" and d["h"] == 0.1 and d["steps"] == 100'
    expect_json 'abs(d["final"]["time"] - 10) < 1e-12 and {"x","y","energy","entropy"} <= set(d["final"])'
    expect_json 'd["entropy"]["falls"] == 0 and d["entropy"]["final"] > d["entropy"]["initial"]'
    expect_json 'd["energy"]["relative"] < 1e-13 and d["invariants"]["g"]["max_error"] < 1e-12'
    expect_json '1 <= d["newton"]["mean_iterations"] <= d["newton"]["max_iterations"]'
}

# A step of order 4 is five solves: its mean is of the step, the maximum of one solve.
test_iterations_are_of_steps_and_of_solves() {
    run "$CLAUSIUS" simulate pendulum --scheme discrete-gradient-4 --steps 20 -o run.csv
    expect_ok
    expect_stderr '^  newton     [0-9.]+ iterations per step, at most [0-9]+ in a solve$'
    run "$CLAUSIUS" simulate pendulum --scheme discrete-gradient-4 --steps 20 --json
    expect_json 'd["newton"]["max_iterations"] < d["newton"]["mean_iterations"] <= 5 * d["newton"]["max_iterations"]'
}

test_json_with_output_writes_both() {
    run "$CLAUSIUS" simulate pendulum --steps 5 --json -o run.csv
    expect_ok
    expect_json 'd["steps"] == 5'
    expect test "$(rows run.csv)" = 6
    run "$CLAUSIUS" simulate pendulum --steps 5 --json -o -
    expect_exit 2
}

test_no_steps_gives_the_start() {
    run "$CLAUSIUS" simulate pendulum --start "q=1, v.q=0" --steps 0
    expect_ok
    expect test "$(rows "$out")" = 1
    expect_stdout '^0,1,'
    run "$CLAUSIUS" simulate pendulum --steps 0 --json
    expect_json 'd["steps"] == 0 and d["energy"]["max_error"] == 0'
}

test_every_thins_the_rows_and_keeps_the_last() {
    run "$CLAUSIUS" simulate pendulum --h 0.125 --steps 10 --every 4
    expect_ok
    grep -v '^[#a-z]' "$out" | cut -d, -f1 >"times"
    printf '%s\n' 0 0.5 1 1.25 >expected
    expect_same times expected
}

test_until_counts_steps_and_says_when_it_does_not_divide() {
    run "$CLAUSIUS" simulate pendulum --h 0.1 --until 1
    expect_ok
    expect test "$(rows "$out")" = 11
    expect_no_stderr 'whole number'
    run "$CLAUSIUS" simulate pendulum --h 0.3 --until 1
    expect_ok
    expect test "$(rows "$out")" = 4
    expect_stderr 'not a whole number of steps'
    run "$CLAUSIUS" simulate pendulum --until 1 --steps 3
    expect_exit 2
    run "$CLAUSIUS" simulate pendulum --until -1
    expect_exit 2
}

test_the_default_length_is_the_systems() {
    run "$CLAUSIUS" show pendulum --json
    cp "$out" show.json
    run "$CLAUSIUS" simulate pendulum --json
    cp "$out" run.json
    expect /usr/bin/python3 -c '
import json
a, b = json.load(open("show.json")), json.load(open("run.json"))
assert b["h"] == a["step"] and abs(b["final"]["time"] - a["until"]) <= a["step"] / 2'
}

test_set_changes_the_system_and_is_noted() {
    run "$CLAUSIUS" simulate adiabatic-piston --set "m = 4/2, L=3" --steps 3
    expect_ok
    expect_stdout '^# set: m=2, L=3$'
    run "$CLAUSIUS" simulate adiabatic-piston --set "mm=2" --steps 3
    expect_exit 2
    expect_no_stdout
    expect_stderr 'mm'
    run "$CLAUSIUS" simulate adiabatic-piston --set "m=2, m=3" --steps 3
    expect_exit 2
    run "$CLAUSIUS" simulate adiabatic-piston --set "m" --steps 3
    expect_exit 2
    expect_stderr 'NAME=NUMBER'
}

test_start_takes_momentum_or_velocity() {
    run "$CLAUSIUS" simulate adiabatic-piston --set m=2 --start "x=0, v.x=0.5" --steps 0 --json
    expect_json 'd["final"]["p.x"] == 1 and d["final"]["v.x"] == 0.5'
    run "$CLAUSIUS" simulate adiabatic-piston --set m=2 --start "x=0, p.x=1" --steps 0 --json
    expect_json 'd["final"]["p.x"] == 1 and d["final"]["v.x"] == 0.5'
    run "$CLAUSIUS" simulate adiabatic-piston --start "x=0, p.x=1, v.x=1" --steps 0
    expect_exit 2
}

test_from_continues_a_run() {
    run "$CLAUSIUS" simulate adiabatic-piston --h 0.01 --steps 200 --quiet -o whole.csv
    expect_ok
    run "$CLAUSIUS" simulate adiabatic-piston --h 0.01 --steps 100 --quiet -o first.csv
    run "$CLAUSIUS" simulate adiabatic-piston --h 0.01 --steps 100 --quiet --from first.csv -o second.csv
    expect_ok
    expect test "$(grep -v '^#' second.csv | sed -n 2p)" = "$(tail -n 1 first.csv)"
    run "$CLAUSIUS" compare whole.csv second.csv --tolerance 1e-12 --json
    expect_ok
    expect_json 'd["rows"] == 101'
}

test_from_completes_what_is_not_the_native_state() {
    run "$CLAUSIUS" simulate adiabatic-piston --steps 0 --json
    cp "$out" start.json
    /usr/bin/python3 - <<'PY' || fail "cannot write the file"
import json
f = json.load(open("start.json"))["final"]
names = ["time", "x", "p.x", "S1", "S2"]
open("rows.csv", "w").write(",".join(names) + "\n" + ",".join(repr(f[n]) for n in names) + "\n")
PY
    run "$CLAUSIUS" simulate adiabatic-piston --from rows.csv --steps 0 --json
    expect_ok
    cp "$out" from.json
    expect /usr/bin/python3 -c '
import json
a, b = (json.load(open(n))["final"] for n in ("start.json", "from.json"))
assert all(abs(a[k] - b[k]) <= 1e-12 * (1 + abs(a[k])) for k in a), (a, b)'
}

test_from_refuses_what_is_no_start() {
    run "$CLAUSIUS" simulate pendulum --from nothing.csv
    expect_exit 5
    expect_stderr 'nothing\.csv'
    echo 'q,v.q' >empty.csv
    run "$CLAUSIUS" simulate pendulum --from empty.csv
    expect_exit 3
    printf 'q,v.q,p.q\n1,0,0\n' >timeless.csv
    run "$CLAUSIUS" simulate pendulum --from timeless.csv
    expect_exit 3
    expect_stderr 'time'
    printf 'trajectory,time,q,v.q,p.q\n0,0,1,0,0\n1,0,1,0,0\n' >two.csv
    run "$CLAUSIUS" simulate pendulum --from two.csv
    expect_exit 3
    expect_stderr 'several trajectories'
    printf 'time,q\n0,1\n' >half.csv
    run "$CLAUSIUS" simulate pendulum --from half.csv
    expect_exit 3
    expect_stderr 'half\.csv has no column .*it has time, q'
    run "$CLAUSIUS" simulate pendulum --from timeless.csv --start q=1
    expect_exit 2
}

test_schemes_of_a_system() {
    run "$CLAUSIUS" simulate pendulum --scheme leapfog --steps 1
    expect_exit 2
    expect_stderr 'did you mean leapfrog\?'
    run "$CLAUSIUS" simulate mass-spring --scheme bdf --until 1 --json --tolerance 1e-10
    expect_ok
    expect_json 'd["scheme"] == "bdf" and abs(d["final"]["time"] - 1) < 1e-12'
    run "$CLAUSIUS" simulate ideal-gas-piston --scheme dtel --first-step paper --steps 10 --json
    cp "$out" paper.json
    expect_ok
    run "$CLAUSIUS" simulate ideal-gas-piston --scheme dtel --steps 10 --json
    expect_ok
    expect_json 'd["final"]["x"] != json.load(open("paper.json"))["final"]["x"]'
    run "$CLAUSIUS" simulate ideal-gas-piston --scheme dtel --first-step second --steps 10
    expect_exit 2
    expect_stderr 'momentum, paper'
}

# The stage backwards of discrete-gradient-4 makes what decays at 3.04/h grow (docs/schemes.md): a smaller h is no advice.
test_a_decay_that_a_stage_backwards_lets_grow() {
    printf 'parameter N = 40\nentropy S[1..N]\nhamiltonian sum(i in 1..N: exp(S[i]))\nfor i in 1..N-1: heat exchange S[i] <-> S[i+1]: 200\nfor i in 1..N: start S[i] = sin(i)/2\nstep 0.1\nuntil 5\n' >rod.clausius
    run "$CLAUSIUS" simulate rod.clausius --scheme discrete-gradient-4 -o rod.csv
    expect_ok
    expect_stderr 'goes to and fro, .* the energy holds, .* what decays at about 30 per unit of time grows in it: take discrete-gradient'
    run "$CLAUSIUS" simulate rod.clausius --scheme discrete-gradient-4 --h 0.11 -o rod.csv
    expect_ok
    expect_no_stderr 'to and fro'
    run "$CLAUSIUS" simulate rod.clausius -o rod.csv
    expect_ok
    expect_no_stderr 'to and fro'
}

# Friction a million times faster than the step: lawful, up and down, and said.
test_a_path_that_alternates_is_told() {
    printf 'coordinate x\nentropy S\nparameter k = 1e6\nhamiltonian p.x^2/2 + x^2/2 + exp(S)\nfriction on S: x <- -k*v.x\nstart x = 1, p.x = 0.5, S = 0.2\nstep 0.1\nuntil 10\n' >stiff.clausius
    run "$CLAUSIUS" simulate stiff.clausius -o stiff.csv
    expect_ok
    expect_stderr 'p.x goes to and fro, by 0.996 over 99 steps on end: .* take h <= 2e-06'
    run "$CLAUSIUS" simulate stiff.clausius --json
    expect_json 'd["alternates"]["variable"] == "p.x" and d["alternates"]["steps"] == 99 and 1e-6 < d["alternates"]["h"] < 3e-6'
    run "$CLAUSIUS" simulate stiff.clausius --h 2e-6 --steps 100 --json
    expect_json '"alternates" not in d and abs(d["final"]["p.x"]) < 1e-3'
    run "$CLAUSIUS" simulate stiff.clausius --set k=1 -o mild.csv
    expect_no_stderr 'to and fro'
    run "$CLAUSIUS" simulate adiabatic-piston --steps 20000 --every 1000 -o rest.csv # ends at rest
    expect_no_stderr 'to and fro'
}

test_ensemble_is_the_same_for_any_number_of_threads() {
    local n
    for n in 1 2 3; do
        run "$CLAUSIUS" simulate pendulum --samples 12 --sample "q~U(-1,1), v.q~N(0,0.1)" \
            --seed 7 --threads $n --h 0.1 --steps 20 --every 10 --quiet -o "$n.csv"
        expect_ok
    done
    expect_same 1.csv 2.csv
    expect_same 1.csv 3.csv
    expect_in_file '^trajectory,time,q,' 1.csv
    expect test "$(rows 1.csv)" = 36
    run "$CLAUSIUS" simulate pendulum --samples 12 --sample "q~U(-1,1), v.q~N(0,0.1)" \
        --seed 8 --h 0.1 --steps 20 --every 10 --quiet -o other.csv
    expect_ok
    cmp -s 1.csv other.csv && fail "the seed changes nothing"
    return 0
}

test_ensemble_draws_are_the_documented_generator() {
    run "$CLAUSIUS" simulate pendulum --samples 5 --sample "q~U(-1,1), v.q~N(0,0.1)" --seed 42 \
        --steps 0 --quiet -o many.csv
    expect_ok
    expect /usr/bin/python3 - <<'PY'
import csv, math
M = 2**64 - 1
def generator(seed):
    s = []
    for _ in range(4):
        seed = (seed + 0x9e3779b97f4a7c15) & M
        z = ((seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9) & M
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & M
        s.append(z ^ (z >> 31))
    rotl = lambda x, k: ((x << k) | (x >> (64 - k))) & M
    while True:
        r = (rotl((s[1] * 5) & M, 7) * 9) & M
        t = (s[1] << 17) & M
        s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45)
        yield (r >> 11) * 2.0**-53
g = generator(42)
rows = csv.DictReader(l for l in open("many.csv") if not l.startswith("#"))
n = 0
for row in rows:
    q = -1 + 2 * next(g)
    u, w = next(g), next(g)
    v = 0.1 * math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * w)
    assert abs(float(row["q"]) - q) < 1e-15 and abs(float(row["v.q"]) - v) < 1e-15, row
    n += 1
assert n == 5
PY
}

test_ensemble_members_equal_single_runs() {
    run "$CLAUSIUS" simulate adiabatic-piston --samples 2 --sample "x~U(0.25,0.25)" --h 0.1 \
        --steps 10 --quiet -o many.csv
    expect_ok
    run "$CLAUSIUS" simulate adiabatic-piston --start x=0.25 --h 0.1 --steps 10 --quiet -o one.csv
    expect_ok
    grep '^1,' many.csv | cut -d, -f2- >second
    grep -v '^[#a-z]' one.csv >single
    expect_same second single
}

test_ensemble_json_and_mistakes() {
    run "$CLAUSIUS" simulate pendulum --samples 4 --sample "q~U(-1,1)" --steps 10 --json
    expect_ok
    expect_json 'd["samples"] == 4 and d["final"]["q"]["min"] <= d["final"]["q"]["mean"] <= d["final"]["q"]["max"]'
    run "$CLAUSIUS" simulate pendulum --samples 4
    expect_exit 2
    expect_stderr '--sample'
    run "$CLAUSIUS" simulate pendulum --seed 4
    expect_exit 2
    local text
    for text in 'q' 'q~X(0,1)' 'q~U(0)' 'q~U(1,0)' 'q~N(0,-1)' 'q~U(0,1' 'q~U(a,b)' \
        'q~U(0,1), q~U(0,1)'; do
        run "$CLAUSIUS" simulate pendulum --samples 4 --sample "$text" --steps 1 -o x.csv
        expect_exit 2
        expect_stderr 'clausius simulate: --sample'
        expect_no_file x.csv*
    done
    run "$CLAUSIUS" simulate pendulum --samples 4 --sample "qq~U(0,1)" --steps 1
    expect_exit 2
    expect_no_stdout
    expect_stderr 'qq'
    run "$CLAUSIUS" simulate pendulum --samples 4 --sample "q~U(0,1)" --start "q=1" --steps 1
    expect_exit 2
}

test_streaming_memory_is_flat() {
    /usr/bin/python3 - "$CLAUSIUS" <<'PY' || fail "memory grows with the number of steps"
import resource, subprocess, sys
def peak(steps, ending):
    code = ("import resource, subprocess, sys;"
            "subprocess.run(sys.argv[1:], check=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", code, sys.argv[1], "simulate", "mass-spring",
                          "--steps", str(steps), "--quiet", "-o", "run." + ending],
                         capture_output=True, text=True)
    if out.returncode and ending == "h5" and "libhdf5" in out.stderr:
        return 0 # built without
    return int(out.stdout)
for ending in "csv", "npz", "h5":
    small, large = peak(1000, ending), peak(200000, ending)
    print(ending, small, large)
    if large >= small + 4096:
        sys.exit(1)
PY
}

# an interrupt and a full disk leave nothing, whatever is written
test_arrays_that_are_not_complete_leave_nothing() {
    local ending job
    for ending in npz h5; do
        "$CLAUSIUS" simulate adiabatic-piston --steps 1e9 --quiet -o run.$ending 2>said &
        job=$!
        sleep 0.7
        kill -INT "$job" 2>/dev/null || { grep -q libhdf5 said && continue; }
        code=0
        wait "$job" || code=$?
        expect_exit 130
        expect_no_file run.*
        run bash -c 'trap "" XFSZ; ulimit -f 800; exec "$0" simulate pendulum --steps 1e5 --quiet -o run.'$ending "$CLAUSIUS"
        expect_exit 5
        expect_stderr 'write'
        expect_no_file run.*
    done
}

# Discrete Legendre maps: momenta from positions alone agree with each other and with p.
test_legendre_outputs() {
    for scheme in dtel discrete-gradient; do
        run "$CLAUSIUS" simulate two-pistons --scheme $scheme --h 0.05 --steps 40 --every 4 --outputs legendre --quiet -o l.csv
        expect_ok
        python3 - l.csv <<'END' || fail "$scheme: the maps do not agree"
import csv, sys
rows = list(csv.DictReader(l for l in open(sys.argv[1]) if l[0] != "#"))
assert len(rows) == 11, len(rows)
for r in rows:
    for x in "xy":
        p = float(r["p." + x])
        assert abs(float(r["p-." + x]) - p) < 1e-12 and abs(float(r["p+." + x]) - p) < 1e-12, (x, r)
END
        run "$CLAUSIUS" compare l.csv l.csv --columns 'p-.x'
        expect_ok
    done
    run "$CLAUSIUS" simulate ideal-gas-piston --scheme dtel --first-step paper --steps 20 --outputs legendre --json
    expect_ok
    expect_json 'd["apart"] > 1e-3' # x1 = x0: the momentum at the start is not the one of the first step
    run "$CLAUSIUS" simulate ideal-gas-piston --scheme dtel --steps 20 --outputs legendre --json
    expect_json 'd["apart"] < 1e-12 * d["momentum"]'
    run "$CLAUSIUS" simulate pendulum --outputs momenta
    expect_exit 2
    expect_stderr 'legendre'
    run "$CLAUSIUS" simulate pendulum --outputs legendre --samples 3 --sample 'q~U(0,1)'
    expect_exit 2
    expect_stderr 'leave out --samples'
    run "$CLAUSIUS" simulate rigid-body --outputs legendre
    expect_exit 2
    expect_no_stdout
}

# The sign of the heat in a thermal lagrangian is easily wrong; Newton's method alone would not tell.
test_a_failed_step_names_the_law_that_the_system_breaks() {
    cat >cold.clausius <<'END'
system "heat with the wrong sign"
coordinate x
temperature T
thermal lagrangian v.x^2/2 - 500*x^2 - T*(log(T) - 1)
friction on T: x <- -500*v.x
start x = 1, v.x = 0, T = 1
END
    local command
    for command in "simulate cold.clausius -o run.csv" "audit cold.clausius"; do
        run "$CLAUSIUS" $command --h 0.02
        expect_exit 6
        expect_stderr 'the law `heat capacity` is broken there: the smallest eigenvalue of dS/dT is -'
    done
    expect_no_file run.csv*
}

test_signal_leaves_nothing() {
    local s
    for s in INT TERM; do
        # The child of a script ignores SIGINT unless job control is on.
        bash -m -c '"$0" simulate adiabatic-piston --steps 1e9 -o run.csv & sleep 0.5
                    kill -"$1" $!; wait $!' "$CLAUSIUS" $s >said 2>&1
        [[ $? == 130 ]] || fail "expected exit code 130 after SIG$s: $(cat said)"
        expect_in_file 'interrupted at step' said
        expect_no_file run.csv*
    done
}

test_progress_is_a_bar_on_a_terminal_only() {
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no pseudo-terminal"
    # The clock decides what is drawn, so the run is ended by a signal, not by its length.
    script -qec "env TERM=xterm timeout --foreground -s INT 2 $CLAUSIUS simulate pendulum --steps 1e9 --every 1e8 -o run.csv" \
        /dev/null >screen </dev/null
    grep -Eq $'\r.*\\[[#.]+\\] +[0-9]+%.*steps/s.*left' screen || fail "no bar: $(cat -v screen)"
    RUN_LIMIT=10 run timeout --foreground -s INT 4 "$CLAUSIUS" simulate pendulum --steps 1e9 --every 1e8 -o run.csv
    expect_stderr '^simulate +[0-9]+%  .*steps/s  .*left$'
    expect_no_stderr $'\r'
    expect_no_file run.csv*
}

test_closed_pipe_ends_quietly() {
    "$CLAUSIUS" simulate pendulum --steps 1e6 --quiet 2>message | head -n 3 >few
    expect_lines 3 few
    expect test ! -s message
}

run_tests
