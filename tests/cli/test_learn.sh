#!/usr/bin/env bash
# clausius learn, and models where systems are wanted.
. "$(dirname "$0")/../cli/lib.sh"

observe() { # FILE N: N short motions of the piston, observables only
    "$CLAUSIUS" simulate adiabatic-piston --samples "$2" --seed 7 --steps 20 --scheme bdf --quiet \
        --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" -o all.csv || fail "no data"
    grep -v '^#' all.csv | cut -d, -f1-6 >"$1"
    rm all.csv
}

expect_refused() { # CODE RE: a failure that says RE and leaves no file behind
    expect_exit "$1"
    expect_stderr "clausius learn: .*$2"
    expect_no_stdout
    expect_no_file ./*.safetensors* ./*.log.csv*
}

# Rows far apart: what a step of that length is off by is not the model's fault, and said.
test_the_error_of_the_step_is_told() {
    run "$CLAUSIUS" simulate mass-spring --samples 12 --seed 1 --steps 100 --scheme bdf --quiet \
        --sample "q~U(-1,1), p.q~U(-1,1)" -o data.csv
    run "$CLAUSIUS" learn mass-spring data.csv --unknown V -o m.safetensors
    expect_ok
    expect_stderr '^  rollout +off by 0\.000[0-9]+ .* in 16 steps from row to row'
    expect_stderr 'in one step 0\.0[0-9]+, which is the error of so long a step'
}

test_learn_show_simulate_audit() {
    observe data.csv 200
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1, F2" -o m.safetensors
    expect_ok
    expect_no_stdout
    expect_stderr '^F1, F2 learned of adiabatic-piston$'
    expect_stderr '^  windows +3420 to learn from, 380 to validate'
    expect_stderr '^  clausius simulate m\.safetensors'
    expect_file m.safetensors m.log.csv
    expect_in_file '^phase,done,total,loss,time$' m.log.csv
    run "$CLAUSIUS" show m.safetensors
    expect_ok
    expect_stdout '^model of adiabatic-piston: 2 learned parts'
    expect_stdout 'data\.csv'
    run "$CLAUSIUS" simulate m.safetensors --until 20 -o m.csv
    expect_ok
    expect_in_file '^# system: m\.safetensors$' m.csv
    run "$CLAUSIUS" audit m.csv
    expect_ok
    expect_stdout 'all [0-9]+ laws hold'
    run "$CLAUSIUS" audit m.safetensors --against m.csv
    expect_ok
    run "$CLAUSIUS" simulate adiabatic-piston --scheme bdf --until 20 -o truth.csv
    run "$CLAUSIUS" compare m.csv truth.csv --columns x,v.x,T1,T2 --tolerance 1e-3
    expect_ok
    run "$CLAUSIUS" compare m.safetensors truth.csv --columns x,v.x,T1,T2 --json
    expect_ok
    expect_json 'd["rows"] == 2001'
    cp "$out" followed.json
    run "$CLAUSIUS" compare m.csv truth.csv --columns x,v.x,T1,T2 --json
    expect_same "$out" followed.json # the same start and steps
    run "$CLAUSIUS" plot truth.csv m.safetensors -o m.svg
    expect_ok
    expect_file m.svg
    run "$CLAUSIUS" plot m.log.csv --columns loss -o loss.svg
    expect_ok
}

test_model_is_audited_like_a_system() {
    observe data.csv 50
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "chebyshev(3, constant)" -o m.safetensors
    expect_ok
    run "$CLAUSIUS" audit m.safetensors --steps 100 --json
    expect_ok
    expect_json 'd["passed"] and d["system"] == "m.safetensors" and any(l["name"] == "order" for l in d["laws"])'
    run "$CLAUSIUS" show m.safetensors --json
    expect_json '"x" in d["state"] and d["name"] == "adiabatic-piston"'
    run "$CLAUSIUS" show m.safetensors --equations
    expect_stdout 'd/dt x = v\.x'
    run "$CLAUSIUS" simulate m.safetensors --samples 3 --sample "x~U(-0.5,0.5)" --steps 10 -o many.csv
    expect_ok
    run "$CLAUSIUS" audit many.csv
    expect_ok
}

test_json() {
    observe data.csv 50
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "chebyshev(3, constant)" --json
    expect_ok
    expect_no_stderr
    expect_json 'set(d) == {"parameters", "samples", "windows", "loss", "iterations", "seconds", "optimizer", "model", "rank", "condition", "nullity", "null_space", "normalised", "isothermal", "rollout", "rollout_still", "verdict", "free_runs", "report", "loss_chosen", "reason", "noise", "test", "found"}'
    expect_json 'd["windows"]["used"] == d["samples"] <= d["windows"]["of"] and d["loss_chosen"] == "residual" and len(d["null_space"]) == d["nullity"]'
    expect_json 'set(d["loss"]) == {"initial", "final", "validation"}'
    expect_json 'd["parameters"] == 35 and d["samples"] == 45 * 19 and d["rank"] + d["nullity"] == 35'
    expect_json '0 < d["loss"]["final"] < d["loss"]["initial"] and d["normalised"] is False'
    expect_json 'd["model"] == "adiabatic-piston.safetensors" and d["optimizer"] == "linear"'
    expect_json '"all states are measured" in d["report"]["choice"] and {f["part"] for f in d["report"]["functions"]} == {"F1"}'
    expect_file adiabatic-piston.safetensors adiabatic-piston.log.csv
}

# The file's start is in entropies; a learned G has entropies with an origin of its own.
test_start_of_a_model_is_that_of_the_file() {
    observe data.csv 100
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown G --field "chebyshev(4)" -o G.safetensors
    expect_ok
    run "$CLAUSIUS" simulate G.safetensors --steps 0 --json
    expect_json 'abs(d["final"]["T1"] - 0.654295469878) < 1e-11 and d["final"]["v.x"] == -0.5'
    run "$CLAUSIUS" simulate G.safetensors --start "T1=0.8, x=0.1" --steps 0 --json
    expect_json 'd["final"]["T1"] == 0.8 and d["final"]["x"] == 0.1 and abs(d["final"]["T2"] - 1.038629317182) < 1e-11'
    run "$CLAUSIUS" simulate G.safetensors --start "v.x=0" --steps 0 --json
    expect_json 'd["final"]["p.x"] == 0'
}

test_threads_do_not_change_a_bit() {
    observe data.csv 100
    local n
    for n in 1 2 4; do
        run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1, F2" --threads $n --quiet -o $n.safetensors
        expect_ok
        expect_no_stderr
    done
    expect_same 1.safetensors 2.safetensors
    expect_same 1.safetensors 4.safetensors
}

test_convex_energies() { # the same bits for any number of threads and after --resume; the form is told
    observe data.csv 60
    local n common=(--unknown "G, F1" --field "network(8, 8, convex)" --quiet)
    for n in 1 2 4; do
        run "$CLAUSIUS" learn adiabatic-piston data.csv "${common[@]}" --epochs 60 --threads $n -o $n.safetensors
        expect_ok
    done
    expect_same 1.safetensors 2.safetensors
    expect_same 1.safetensors 4.safetensors
    run "$CLAUSIUS" learn adiabatic-piston data.csv "${common[@]}" --epochs 60 --time-limit 0.01 -o r.safetensors
    expect_ok
    expect_file r.safetensors.checkpoint
    run "$CLAUSIUS" learn adiabatic-piston data.csv "${common[@]}" --epochs 60 --resume -o r.safetensors
    expect_ok
    expect_same 1.safetensors r.safetensors
    run "$CLAUSIUS" show 1.safetensors
    expect_ok
    expect_stdout 'G = convex\(8, 8; 1 1 2 varying\), [0-9]+ parameters, convex in v\.x, T1, T2, even in v\.x$'
    expect_stdout 'F1 = network\(8, 8\), [0-9]+ parameters, positive by form$'
    run "$CLAUSIUS" simulate 1.safetensors --until 2 -o m.csv
    expect_ok
    run "$CLAUSIUS" audit m.csv --json
    expect_ok
    expect_json 'next(l for l in d["laws"] if l["name"] == "convexity")["value"] > 0'
}

test_convex_hamiltonians() { # of a gas whose temperature is not in the data; the same bits for any number of threads
    "$CLAUSIUS" simulate ideal-gas-piston --samples 40 --seed 1 --steps 20 --h 0.001 --scheme bdf --quiet \
        --sample "x~U(0.6,3), p.x~U(-100,300), S~U(9.5,10.2)" -o all.csv
    grep -v '^#' all.csv | cut -d, -f1-5 >data.csv
    cat >gas.clausius <<'EOF2'
system "a gas"
coordinate x in (0, inf)
entropy    S
hamiltonian H = unknown network(8, 8, convex)
friction F on S: unknown network(6)
start x = 1, p.x = 0, S = 10
step  0.001
until 0.03
EOF2
    local n
    for n in 1 2; do
        run "$CLAUSIUS" learn gas.clausius data.csv --epochs 60 --threads $n --quiet -o $n.safetensors
        expect_ok
    done
    expect_same 1.safetensors 2.safetensors
    run "$CLAUSIUS" show 1.safetensors
    expect_stdout 'H = convex\(8, 8; 1 1 0 1 varying\), [0-9]+ parameters, convex in p\.x, S, even in p\.x, increasing in S$'
    run "$CLAUSIUS" simulate 1.safetensors -o m.csv
    expect_ok
    run "$CLAUSIUS" audit m.csv --json
    expect_ok
    expect_json 'next(l for l in d["laws"] if l["name"] == "convexity")["value"] > 0'
    expect_json 'next(l for l in d["laws"] if l["name"] == "momentum at rest")["value"] == 0'
}

test_convex_lagrangians() { # from angles alone; the model begins with the velocity of the file
    cat >true.clausius <<'EOF2'
system "a pendulum of mass two"
coordinate q
lagrangian L = v.q^2 + 12*cos(q)
start q = 1, v.q = 0.5
step  0.05
until 2
EOF2
    "$CLAUSIUS" simulate true.clausius --samples 10 --seed 1 --steps 40 --scheme bdf --quiet --sample "q~U(-1,1), v.q~U(-1,1)" -o all.csv
    grep -v '^#' all.csv | cut -d, -f1-3 >angles.csv
    run "$CLAUSIUS" learn true.clausius angles.csv --unknown L --field "network(8, convex)" --epochs 60 --quiet -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_stdout 'L = convex\(8; 1 1 0 varying\), [0-9]+ parameters, convex in v\.q, even in v\.q$'
    run "$CLAUSIUS" simulate m.safetensors -o m.csv
    expect_ok
    run grep -m 1 '^0,' m.csv
    expect_stdout '^0,1,0\.5,'
    run "$CLAUSIUS" audit m.csv --json
    expect_ok
    expect_json 'next(l for l in d["laws"] if l["name"] == "mass matrix")["value"] > 0'
    grep -v "^#" all.csv >with-velocities.csv
    rm m.safetensors m.log.csv
    run "$CLAUSIUS" learn true.clausius with-velocities.csv --unknown L --field "network(8, convex)" --epochs 60 --quiet -o velocities.safetensors
    expect_ok
    rm velocities.safetensors velocities.log.csv
    run "$CLAUSIUS" learn true.clausius with-velocities.csv --unknown L --field "network(8, convex)" --loss shooting
    expect_refused 2 'thermal lagrangian'
}

test_convex_is_refused_where_it_cannot_hold() {
    observe data.csv 10
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "network(8, convex)"
    expect_refused 2 'convex.*unknown energy'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown G --field "network(8, convex, plain)"
    expect_refused 2 'G.*cannot be convex.*plain'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown G --field "convex(8)"
    expect_refused 2 'network\(WIDTH, \.\.\., convex\)'
    "$CLAUSIUS" show adiabatic-piston --source | sed 's/^friction F1 on T1:.*/friction F1 on T1: unknown network(8, convex)/' >p.clausius
    run "$CLAUSIUS" learn p.clausius data.csv
    expect_refused 2 'F1.*that is for energies'
}

test_names_are_looked_at_before_the_data() {
    run "$CLAUSIUS" learn adiabatic-piston none.csv --unknown F9
    expect_refused 2 "adiabatic-piston has no part 'F9'; did you mean 'F1'"
    run "$CLAUSIUS" learn adiabatic-piston none.csv --unknown x
    expect_refused 2 "adiabatic-piston has no part 'x'; .clausius show"
    run "$CLAUSIUS" learn adiabatic-piston none.csv --unknown "F1, kappa1"
    expect_refused 5 'none\.csv: cannot open'
}

test_several_files_and_set() {
    observe data.csv 60
    awk -F, 'NR == 1 || $1 < 30' data.csv >a.csv
    awk -F, 'NR == 1 || $1 >= 30' data.csv >b.csv
    run "$CLAUSIUS" learn adiabatic-piston a.csv b.csv --unknown F1 --set "kappa2=1" --quiet -o two.safetensors
    expect_ok
    run "$CLAUSIUS" show two.safetensors
    expect_stdout 'a\.csv.*b\.csv'
    run "$CLAUSIUS" simulate two.safetensors --set m=2 --steps 1 --json
    expect_ok
    expect_json 'd["energy"]["relative"] < 1e-15' # the friction that was learned does not depend on m
}

test_map() {
    observe data.csv 30
    sed '1s/.*/trajectory,seconds,position,speed,T1,T2/' data.csv >lab.csv
    run "$CLAUSIUS" learn adiabatic-piston lab.csv --unknown F1 -o x.safetensors
    expect_refused 3 'time'
    run "$CLAUSIUS" learn adiabatic-piston lab.csv --unknown F1 --map "time=seconds, x=positon" -o x.safetensors
    expect_refused 3 'lab\.csv.*did you mean "position"'
    run "$CLAUSIUS" learn adiabatic-piston lab.csv --unknown F1 --map "x=position [mm" -o x.safetensors
    expect_refused 2 '--map'
    run "$CLAUSIUS" learn adiabatic-piston lab.csv --unknown F1 --map "x=position, x=speed" -o x.safetensors
    expect_refused 2 'contradict'
    run "$CLAUSIUS" learn adiabatic-piston lab.csv --unknown F1 \
        --map "t=seconds, x=position [m], v.x=speed [m/s]" -o mapped.safetensors
    expect_ok
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o plain.safetensors
    expect_ok
    run "$CLAUSIUS" simulate mapped.safetensors --steps 50
    grep -v '^#' "$out" >mapped.csv
    run "$CLAUSIUS" simulate plain.safetensors --steps 50
    grep -v '^#' "$out" >plain.csv
    expect_same mapped.csv plain.csv
}

test_swapped_columns_are_swapped() {
    observe data.csv 30
    sed '1s/T1,T2/T2,T1/' data.csv >swapped.csv
    run "$CLAUSIUS" learn adiabatic-piston swapped.csv --unknown F1 --map "T1=T2, T2=T1" --json
    expect_ok
    cp "$out" first.json
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --json
    expect_json 'd["loss"]["final"] == json.load(open("first.json"))["loss"]["final"]'
}

test_foreign_columns_get_a_notice() {
    observe data.csv 30
    sed -e '1s/$/,humidity/' -e '2,$s/$/,40/' data.csv >damp.csv
    run "$CLAUSIUS" learn adiabatic-piston damp.csv --unknown F1
    expect_ok
    expect_stderr 'damp\.csv.*ignored: humidity'
}

test_unknown_part() {
    observe data.csv 5
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "G, F3"
    expect_refused 2 "F3.*did you mean"
    run "$CLAUSIUS" learn adiabatic-piston data.csv
    expect_refused 2 'nothing is unknown'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1, F1"
    expect_refused 2 'F1 is named twice'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1,"
    expect_refused 2 'empty item'
}

test_bad_data() {
    run "$CLAUSIUS" learn adiabatic-piston none.csv --unknown F1
    expect_refused 5 'none\.csv'
    : >empty.csv
    run "$CLAUSIUS" learn adiabatic-piston empty.csv --unknown F1
    expect_refused 3 'empty\.csv'
    echo 'time,x,v.x,T1,T2' >head.csv
    run "$CLAUSIUS" learn adiabatic-piston head.csv --unknown F1
    expect_refused 3 'nothing to learn from'
    printf 'time,x,v.x,T1\n0,0,0,1\n1,0,0,1\n2,0,0,1\n' >short.csv
    run "$CLAUSIUS" learn adiabatic-piston short.csv --unknown F1 --loss residual
    expect_refused 3 'short\.csv has no column "T2".*it has: time, x, v\.x, T1'
    run "$CLAUSIUS" learn adiabatic-piston short.csv --unknown F1 # states may be hidden: simulated
    expect_refused 3 'short\.csv: 3 rows are too few'
    printf 'time,x,v.x,T1,T2\n0,0,0,1,1\n1,0,0,1,-1\n2,0,0,1,1\n' >cold.csv
    run "$CLAUSIUS" learn adiabatic-piston cold.csv --unknown F1
    expect_refused 3 'cold\.csv: row 2: T2 is -1'
    printf 'time,x,v.x,T1,T2\n0,0,0,1,1\n1,0,0,1,1\n2,20,0,1,1\n' >far.csv
    run "$CLAUSIUS" learn adiabatic-piston far.csv --unknown F1
    expect_refused 3 'far\.csv: row 3: x is 20, outside of its domain \(-2, 2\)'
    printf 'trajectory,time,x,v.x,T1,T2\n1,2,0,0,1,1\n1,1,0,0,1,1\n1,0,0,0,1,1\n' >back.csv
    run "$CLAUSIUS" learn adiabatic-piston back.csv --unknown F1
    expect_refused 3 'back\.csv: time goes back from 2 to 1 in trajectory 1'
}

test_rows_in_the_order_of_time() { # every trajectory at each time: the same model
    observe data.csv 20
    (head -n 1 data.csv && tail -n +2 data.csv | sort -t, -k2,2g -k1,1n) >times.csv
    run "$CLAUSIUS" data inspect times.csv
    expect_stdout '20 trajectories'
    expect_stdout 'spacing 0\.01 everywhere'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --json -o a.safetensors
    expect_ok
    expect_json 'd["parameters"] < 100' # few data, few terms
    cp "$out" a.json
    run "$CLAUSIUS" learn adiabatic-piston times.csv --unknown F1 --json -o b.safetensors
    expect_ok
    expect_json 'd["loss"] == __import__("json").load(open("a.json"))["loss"]'
}

test_terms_are_told() {
    observe data.csv 20
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "terms(1; v.x^2; v.x^2*T1^2)" -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_stdout '^model of adiabatic-piston: 1 learned part, 3 parameters'
    expect_stdout '^    0\.0(2|200[0-9]*|199[0-9]*) +times 1(,|$)'
    expect_stdout '^    (2|2\.0000[0-9]*|1\.9999[0-9]*) +times v\.x\^2(,|$)'
    expect_stdout '^    (0\.2|0\.2000[0-9]*|0\.1999[0-9]*) +times v\.x\^2\*T1\^2(,|$)'
    expect_stdout '^  options +\{"loss":"residual","scheme":"quadrature","weights":"balanced","validate":0\.1\}$'
}

test_names_that_are_not_utf8() {
    local name=$'data\xff.csv'
    observe "$name" 12
    run "$CLAUSIUS" learn adiabatic-piston "$name" --unknown F1 -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_stdout 'its name is not UTF-8.*"sha256":"[0-9a-f]{64}"'
}

test_resume_without_a_checkpoint_is_told() {
    observe data.csv 12
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "network(3)" --epochs 5 --resume -o m.safetensors
    expect_ok
    expect_stderr 'there is no m\.safetensors\.checkpoint: learning begins anew'
}

test_bad_flags() {
    observe data.csv 5
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "chebishev(3)"
    expect_refused 2 "did you mean 'chebyshev'"
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --field "chebyshev"
    expect_refused 2 'chebyshev\('
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --optimizer adm
    expect_refused 2 'did you mean adam\?'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --scheme vnot
    expect_refused 2 'vnots'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --validate 1
    expect_refused 2 '--validate'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --time-limit 0
    expect_refused 2 '--time-limit'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --threads 0
    expect_refused 2 '--threads'
    run "$CLAUSIUS" learn adiabatic-pistn data.csv --unknown F1
    expect_refused 4 'adiabatic-piston'
    run "$CLAUSIUS" learn m.safetensors data.csv --unknown F1
    expect_refused 2 'is a model'
}

test_places_that_cannot_be_written() {
    observe data.csv 30
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o model.bin
    expect_refused 2 'safetensors'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o no/such/place/m.safetensors
    expect_refused 5 'no/such/place'
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o /dev/full
    expect_exit 5
    expect_stderr 'No space left'
    expect_no_file /dev/full.log.csv
    "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 --json >/dev/full 2>message
    [[ $? == 5 ]] || fail "expected exit code 5 from --json on a full stdout"
}

test_interrupt_leaves_nothing() {
    observe data.csv 1000
    timeout --foreground -s INT 1 "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "G, F1, F2" -o m.safetensors 2>message
    [[ $? == 124 ]] || fail "the learning ended by itself: $(cat message)"
    expect_in_file 'interrupted; m\.safetensors was not written' message
    expect test "$(ls)" = "$(printf 'data.csv\nmessage')"
}

test_interrupt_keeps_what_was_found() {
    observe data.csv 100
    timeout --foreground -s INT 2 "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1, F2" \
        --field "network(24, 24)" --optimizer adam --epochs 1e6 --patience 1000000 -o m.safetensors 2>message
    [[ $? == 124 ]] || fail "the learning ended by itself: $(cat message)"
    expect_in_file 'interrupted; m\.safetensors holds the best so far' message
    run "$CLAUSIUS" simulate m.safetensors --steps 20 -o m.csv
    expect_ok
    run "$CLAUSIUS" audit m.csv
    expect_ok
    expect_file m.log.csv
}

test_auto_explains_itself() { # basis, network and both; why it chose, why it ended
    observe data.csv 40
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o basis.safetensors
    expect_ok
    expect_stderr 'by linear \(one solve'
    "$CLAUSIUS" show adiabatic-piston --source |
        sed 's/^friction F1.*/friction F1 on T1: unknown network(6)/; s/^friction F2.*/friction F2 on T2: unknown/' >mixed.clausius
    run "$CLAUSIUS" learn mixed.clausius data.csv --epochs 60 -o mixed.safetensors
    expect_ok
    expect_stderr 'by spring, 60 iterations \(networks'
    expect_stderr 'ended +after the most iterations'
    run "$CLAUSIUS" learn mixed.clausius data.csv --time-limit 0.01 -o mixed.safetensors
    expect_ok
    expect_stderr 'ended +by the time limit; --resume goes on'
    run "$CLAUSIUS" learn mixed.clausius data.csv --epochs 60 --json -o again.safetensors
    expect_ok
    expect_stdout '"ended": ?"iterations"'
}

test_interrupted_trainings_go_on() { # SIGINT while spring or lm work: a usable model, and no step is lost
    observe data.csv 40
    local name wide=(--unknown "F1, F2" --field "network(16, 16)" --epochs 1e6 --patience 1000000)
    local narrow=(--unknown F1 --field "network(4)" --epochs 40 --quiet)
    for name in spring lm; do
        timeout --foreground -s INT 0.7 "$CLAUSIUS" learn adiabatic-piston data.csv "${wide[@]}" --optimizer $name -o m.safetensors 2>message
        [[ $? == 124 ]] || fail "$name ended by itself: $(cat message)"
        expect_in_file 'holds the best so far, --resume goes on' message
        run "$CLAUSIUS" simulate m.safetensors --steps 20 -o m.csv
        expect_ok
        run "$CLAUSIUS" learn adiabatic-piston data.csv "${wide[@]}" --optimizer $name --resume --time-limit 0.01 -o m.safetensors
        expect_ok
        rm m.safetensors*
        run "$CLAUSIUS" learn adiabatic-piston data.csv "${narrow[@]}" --optimizer $name -o whole.safetensors
        expect_ok
        run "$CLAUSIUS" learn adiabatic-piston data.csv "${narrow[@]}" --optimizer $name --time-limit 0.01 -o m.safetensors
        expect_ok
        run "$CLAUSIUS" learn adiabatic-piston data.csv "${narrow[@]}" --optimizer $name --resume -o m.safetensors
        expect_ok
        expect cmp whole.safetensors m.safetensors
    done
}

# The connection is lost, or the processor time that is allowed is over: what was learned is kept.
test_other_signals_keep_the_model() {
    observe data.csv 40
    local signal wide=(--unknown "F1, F2" --field "network(16, 16)" --epochs 1e6 --patience 1000000)
    for signal in HUP XCPU; do
        timeout --foreground -s $signal 0.7 "$CLAUSIUS" learn adiabatic-piston data.csv "${wide[@]}" -o m.safetensors 2>message
        [[ $? == 124 ]] || fail "$signal: ended by itself: $(cat message)"
        expect_in_file 'holds the best so far, --resume goes on' message
        run "$CLAUSIUS" simulate m.safetensors --steps 20 -o m.csv
        expect_ok
        rm m.safetensors* m.csv
    done
    timeout --foreground -s HUP 0.5 nohup "$CLAUSIUS" learn adiabatic-piston data.csv "${wide[@]}" --time-limit 2 -o m.safetensors >message 2>&1
    expect_in_file 'ended +by (the time limit|itself)' message # nohup is believed
}

# What a part is a function of: a name that it cannot depend on is said (it failed without a word).
test_a_part_of_what_is_not_there() {
    local of
    printf 'time,x,u\n0,1,0\n0.1,0.9,1\n0.2,0.7,0\n0.3,0.4,1\n0.4,0.1,1\n0.5,-0.2,0\n' >rows.csv
    for of in u y 'x + u'; do
        printf '%s\n' 'coordinate x' 'input u' "part V of $of = unknown" 'lagrangian v.x^2/2 - V*x' 'external force: x <- u' \
            'start x = 1, v.x = 0' >of.clausius
        run "$CLAUSIUS" learn of.clausius rows.csv
        expect_exit 2
        expect_stderr "what 'V' is a function of: .*unknown name '[uy]'"
    done
}

# A rod of which one end is measured: more states than rows can tell are not fitted; they begin where the file says.
test_a_start_of_many_states_ends_soon() {
    run "$CLAUSIUS" simulate heat-rod --set N=200 --steps 40 --quiet -o rod.csv
    grep -v '^#' rod.csv | python3 -c '
import csv, sys
rows = list(csv.reader(sys.stdin))
keep = [rows[0].index(n) for n in ("time", "T[1]")]
for r in rows: print(",".join(r[k] for k in keep))' >end.csv
    RUN_LIMIT=20 run "$CLAUSIUS" simulate heat-rod --set N=200 --from end.csv --row first --steps 3 -o more.csv
    expect_ok
    ! grep -q 'were fitted' "$err" || fail "200 states were fitted to 41 values"
}

test_what_the_file_calls_unknown() {
    cat >lab.clausius <<'END'
coordinate x
temperature T
thermal lagrangian G = v.x^2/2 - 2*x^2 + 2*T*(log(T) - 1)
friction F on T: x <- -(0.3 + 0.5*v.x^2)*v.x
start x = 1, v.x = 0, T = 1
step 0.02
END
    sed 's/x <- .*/unknown chebyshev(3, constant)/' lab.clausius >block.clausius
    run "$CLAUSIUS" simulate block.clausius
    expect_exit 4
    expect_stderr 'clausius learn'
    run "$CLAUSIUS" simulate lab.clausius --samples 50 --sample "x~U(-1,1), v.x~U(-2,2), T~U(1,2)" \
        --steps 20 --scheme bdf -o lab.csv
    run "$CLAUSIUS" learn block.clausius lab.csv
    expect_ok
    expect_file block.safetensors block.log.csv
    run "$CLAUSIUS" simulate lab.clausius --quiet -o truth.csv
    run "$CLAUSIUS" compare block.safetensors truth.csv --columns x,v.x,T --tolerance 1e-4
    expect_ok
}

test_a_model_follows_trajectories() {
    observe data.csv 30
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o m.safetensors
    expect_ok
    run "$CLAUSIUS" compare m.safetensors m.safetensors --columns x --tolerance 1e-9
    expect_ok
    run "$CLAUSIUS" compare m.safetensors data.csv --columns x # several trajectories, from each first row
    expect_ok
    expect_no_stdout 'dropped'
    printf 'time,x,v.x,T1,T2\n0,0,0,1,1\n1,0,0,1,1\n3,0,0,1,1\n' >uneven.csv
    run "$CLAUSIUS" compare m.safetensors uneven.csv
    expect_ok
    expect_stdout '^3 rows with equal times'
}

oscillate() { # FILE: motions of a system of components
    "$CLAUSIUS" simulate thermal-oscillator --samples 12 --seed 1 --steps 24 --h 0.1 --quiet \
        --sample "q~U(-1,1), p.q~U(-1,1), s_d~U(5.7,5.9)" -o "$1" || fail "no data"
}

test_losses_of_components() {
    oscillate data.csv
    local loss
    for loss in residual derivative shooting; do
        run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown "damper, conduction" \
            --field "chebyshev(1)" --loss $loss -o $loss.safetensors
        expect_ok
        expect_no_file $loss.safetensors.checkpoint
        run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown "damper, conduction" \
            --field "chebyshev(1)" --loss $loss --threads 1 --resume --quiet -o again.safetensors
        expect_ok
        cmp $loss.safetensors again.safetensors || fail "$loss: one thread gives another model"
    done
    run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown damper --field "chebyshev(1)" \
        --loss shooting --adjoint continuous -o c.safetensors
    expect_ok
    expect_stderr 'by lbfgs'
    expect_stderr '^  simulation +[0-9.e-]+'
    run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown damper --loss derivative -o d.safetensors
    expect_stderr '^  points +[0-9]+ to learn from'
    expect_stderr '^  rates +[0-9.e-]+'
    run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown damper --loss shooting \
        --adjoint continous -o no.safetensors
    expect_exit 2
    expect_stderr "'continous' is no adjoint; did you mean continuous"
    run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown damper --adjoint continuous -o no.safetensors
    expect_exit 2
    expect_stderr 'for the loss shooting'
    run "$CLAUSIUS" learn thermal-oscillator data.csv --unknown damper --loss shooting \
        --adjoint continuous --optimizer lm -o no.safetensors
    expect_exit 2
    expect_stderr 'take lbfgs or adam'
    expect_no_file no.safetensors
}

test_losses_interrupted() { # wherever the signal comes
    oscillate data.csv
    local loss learn
    for loss in derivative shooting; do
        learn=("$CLAUSIUS" learn thermal-oscillator data.csv --unknown "damper, conduction"
            --field "network(3)" --optimizer lm --epochs 30 --loss $loss --window 8)
        "${learn[@]}" --quiet -o whole.safetensors || fail "$loss does not learn"
        timeout --foreground -s INT 0.3 "${learn[@]}" --quiet -o part.safetensors 2>/dev/null
        "${learn[@]}" --quiet --resume -o part.safetensors || fail "$loss is not resumed"
        cmp whole.safetensors part.safetensors || fail "$loss: resumed it is another model"
        rm -f ./*.safetensors*
    done
}

# More than half a turn from row to row: an angle that is wrapped tells nothing then, and a fit that follows
# nothing is no better than a trivial model, wherever it was lucky. Turns that are counted tell all, declared as
# an angle or not.
test_an_angle_that_turns_too_fast() {
    local kind turn
    for turn in 0 6.283185307179586; do for kind in angle ''; do
        [[ $turn == 0 || $kind ]] || continue
        cat >wheel.clausius <<EOF
coordinate phi [rad] $kind
temperature T [K]
reservoir Tr [K] = 290
input M
parameter J = 0.02, C = 40, b = unknown near 0.01 in (0, 1), k = unknown near 0.1 in (0, 10)
thermal lagrangian J*v.phi^2/2 + C*T*(log(T) - 1)
friction on T: phi <- -b*v.phi
heat exchange T <-> Tr: k
external force: phi <- M
start phi = 0, v.phi = 0, T = 290
step 0.05
until 60
EOF
        run "$CLAUSIUS" simulate wheel.clausius --set "b=0.004, k=0.6, M=0.3*sin(0.7*t)+0.2" --every 1 --quiet -o all.csv
        expect_ok
        grep -v '^#' all.csv | awk -F, -v x=7 -v turn=$turn 'function noise() { x = (16807*x) % 2147483647; return x/2147483647 - 0.5 }
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "time,phi,T,M"; next }
            noise() < -0.4 { next } # a tenth of the rows is missing
            { phi = $at["phi"] + 0.1*noise(); if (turn) phi -= turn*int(phi/turn)
              printf "%s,%.5f,%.5f,%s\n", $1, phi, $at["T"] + 0.06*noise(), $at["M"] }' >log.csv
        run "$CLAUSIUS" learn wheel.clausius log.csv -o wheel.safetensors
        expect_ok
        if [[ $turn != 0 ]]; then expect_stderr 'verdict +BAD'; else expect_stderr 'b +0\.00(400|3999)'; fi
        if [[ $turn == 0 && $kind ]]; then expect_stderr 'phi counts turns: it is used as it is'; fi
    done; done
}

test_bad_models() {
    echo 'not a model' >m.safetensors
    local c
    for c in show simulate audit; do
        run "$CLAUSIUS" $c m.safetensors
        expect_exit 4
        expect_stderr 'm\.safetensors'
        expect_no_stdout
    done
    observe data.csv 30
    run "$CLAUSIUS" learn adiabatic-piston data.csv --unknown F1 -o whole.safetensors
    expect_ok
    sed 's/friction F1 on T1/friction F7 on T1/' whole.safetensors >damaged.safetensors
    run "$CLAUSIUS" simulate damaged.safetensors --steps 1
    expect_exit 3
    expect_stderr 'its checksum is not that of what is in it'
    # the format before had no checksum: there only sense protects
    sed 's/clausius-model 2/clausius-model 1/; s/,"sha256":"\([0-9a-f]*\)"}/,"sha_no":"\1"}/' whole.safetensors >good.safetensors
    run "$CLAUSIUS" show good.safetensors
    expect_ok
    head -c 700 good.safetensors >short.safetensors
    run "$CLAUSIUS" show short.safetensors
    expect_exit 4
    sed 's/friction F1 on T1/friction F7 on T1/' good.safetensors >other.safetensors
    run "$CLAUSIUS" simulate other.safetensors --steps 1
    expect_exit 4
    # what the notes say must fit, and the file is named
    sed 's/"part\(.\{1,2\}\):\(.\{1,2\}\)F1/"part\1:\2F9/' good.safetensors >part.safetensors
    cmp -s good.safetensors part.safetensors && fail "nothing was changed"
    run "$CLAUSIUS" show part.safetensors
    expect_exit 4
    expect_stderr "part\.safetensors: the system has no part 'F9'"
    head -c -8 good.safetensors >start.safetensors
    printf '\000\000\000\000\000\000\370\177' >>start.safetensors
    run "$CLAUSIUS" simulate start.safetensors --steps 1
    expect_exit 4
    expect_stderr 'start\.safetensors: its start is not finite'
    # its name does not steer the terminal
    sed 's/"system_name":"adiabatic-piston"/"system_name":"\\u001b[31mpiston"/' good.safetensors >red.safetensors
    run "$CLAUSIUS" show red.safetensors
    expect_ok
    expect_stdout 'model of \\x1b\[31mpiston'
}

# One unknown function in two places has one formula, over its own argument, and goes back into the file; columns of
# the energy, whose origin is another one, do not decide its constants.
test_formulas_of_a_function_in_two_places() {
    printf '%s\n' 'system "two springs of one kind"' 'coordinate x, y' 'function V(e) = unknown' 'lagrangian (v.x^2 + v.y^2)/2 - V(y - x) - V(x)' \
        'start x = 1, y = 0.5, v.x = 0, v.y = 0' 'step 0.05' 'until 20' >springs.clausius
    sed 's|= unknown|= e^2/2 + 0.1*e^4|' springs.clausius >truth.clausius
    run "$CLAUSIUS" simulate truth.clausius --quiet -o motion.csv
    expect_ok
    run "$CLAUSIUS" learn springs.clausius motion.csv --quiet -o springs.safetensors
    expect_ok
    for data in "" motion.csv; do
        run "$CLAUSIUS" show springs.safetensors --formulas ${data:+--data $data} -o short.clausius
        expect_ok
        expect_in_file '^function V.e. = V_1.e.2 . V_2.e.4' short.clausius
        run "$CLAUSIUS" simulate short.clausius --quiet -o short.csv
        expect_ok
        run "$CLAUSIUS" compare short.csv motion.csv --columns x,y --tolerance 0.03
        expect_ok
    done
}

# Rows that clausius wrote say the parameters they were made with: known ones are taken from there, and told; --set wins; files that
# disagree are refused. What is to be learned is not looked up.
test_parameters_of_the_data_are_taken() {
    local sample="x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)"
    for m in 1 2; do
        run "$CLAUSIUS" simulate adiabatic-piston --set "m=$m, nu1=0.5" --samples 30 --sample "$sample" --seed 3 --steps 20 --scheme bdf --quiet -o "m$m.csv"
        expect_ok
    done
    run "$CLAUSIUS" learn adiabatic-piston m2.csv --unknown F2 -o taken.safetensors
    expect_ok
    expect_stderr 'm2.csv was made with m=2, nu1=0.5'
    cp "$err" told
    run "$CLAUSIUS" learn adiabatic-piston m2.csv --unknown F2 --set "m=2, nu1=0.5" -o said.safetensors
    expect_ok
    expect_no_stderr 'was made with'
    expect_same taken.safetensors said.safetensors
    run "$CLAUSIUS" learn adiabatic-piston m2.csv --unknown F2 --set m=1 -o other.safetensors --quiet
    expect_ok
    cmp -s taken.safetensors other.safetensors && fail "--set was not heard"
    run "$CLAUSIUS" learn adiabatic-piston m1.csv m2.csv --unknown F2 -o both.safetensors
    expect_exit 2
    expect_stderr 'm1.csv was made with "m=1, nu1=0.5", m2.csv with "m=2, nu1=0.5"'
    expect_no_file both.safetensors
    run "$CLAUSIUS" learn adiabatic-piston m2.csv --unknown "F2, m" -o mass.safetensors
    expect_ok
    expect_stderr 'm2.csv was made with nu1=0.5 '
    # a motion goes on as it began, and is followed and reported as what it is
    run "$CLAUSIUS" simulate adiabatic-piston --set m=2 --steps 20 --quiet -o whole.csv
    run "$CLAUSIUS" simulate adiabatic-piston --set m=2 --steps 10 --quiet -o half.csv
    run "$CLAUSIUS" simulate adiabatic-piston --from half.csv --steps 10 -o rest.csv
    expect_ok
    expect_stderr 'half.csv was made with m=2'
    expect_in_file '^# set: m=2' rest.csv
    expect test "$(tail -n 1 rest.csv | cut -c1-22)" == "$(tail -n 1 whole.csv | cut -c1-22)"
    run "$CLAUSIUS" compare adiabatic-piston whole.csv --tolerance 1e-12
    expect_ok
    run "$CLAUSIUS" report adiabatic-piston --data whole.csv --json
    expect_ok
}

# A model that is no better than a motion that stays where it begins is called bad.
test_a_model_that_a_still_motion_beats_is_bad() {
    printf '%s\n' 'system "a spring of the wrong stiffness"' 'coordinate x' 'entropy S' 'parameter k = 1' 'lagrangian v.x^2/2 - k*x^2/2 - exp(S)' \
        'friction F on S: x <- -0.1*v.x' 'start x = 1, v.x = 0, S = 0' 'step 0.1' 'until 10' >spring.clausius
    run "$CLAUSIUS" simulate spring.clausius --set k=-1 --samples 20 --sample "x~U(-1,1), v.x~U(-1,1)" --steps 40 --quiet -o data.csv
    expect_ok
    run "$CLAUSIUS" learn spring.clausius data.csv --unknown F --set k=4 -o bad.safetensors
    expect_exit 1
    expect_stderr 'verdict +BAD: a motion that stays where it begins is off by'
    run "$CLAUSIUS" learn spring.clausius data.csv --unknown F -o good.safetensors
    expect_ok
    expect_no_stderr 'verdict +BAD'
}

run_tests
