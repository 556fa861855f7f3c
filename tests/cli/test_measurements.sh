#!/usr/bin/env bash
# Learning from measurements: unknown parameters by multiple shooting, their errors, scores on rows
# kept back. Recordings of others are read where CLAUSIUS_DATA says, and skipped where it does not.
. "$(dirname "$0")/lib.sh"

RUN_LIMIT=300
CLAUSIUS_DATA=${CLAUSIUS_DATA:-/nonexistent}

pendulum() {
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
}

# rows of a recording of the supplement, its first columns under the names given
recording() {
    [ -n "${CLAUSIUS_DATA:-}" ] && [ -r "$CLAUSIUS_DATA/$1" ] || skip "CLAUSIUS_DATA/$1 is not there"
    awk -v names="$2" 'BEGIN { n = split(names, a, ","); print names }
        /^%/ || NF < 2 { next }
        { line = $2; for (i = 3; i <= n + 1; i++) line = line "," $i; print line }' \
        "$CLAUSIUS_DATA/$1" >"$3"
}

noisy_oscillator() {
    cat >oscillator.clausius <<'END'
system "an oscillator"
coordinate  x [m]
temperature T [K]
parameter   k = unknown near 1 in (0, 100), c = unknown near 1 in (0, 10), gain = unknown near 1
thermal lagrangian v.x^2/2 - k*x^2/2 + 100*T*(log(T) - 1)
friction F on T: x <- -c*v.x
output seen = gain*x
start x = 1, v.x = 0, T = 300
END
    "$CLAUSIUS" simulate oscillator.clausius --set "k=4, c=0.2, gain=1" --h 0.05 --until 15 --scheme bdf --quiet -o clean.csv
    awk -F, 'BEGIN { srand(3) } /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; print "time,x"; n = 1; next }
        { u = 0; for (i = 0; i < 12; i++) u += rand(); printf "%s,%.9g\n", $at["time"], $at["x"] + 0.02*(u - 6) }' clean.csv >noisy.csv
}

test_parameters_are_found_within_their_errors() {
    noisy_oscillator
    run "$CLAUSIUS" learn oscillator.clausius noisy.csv --json -o m.safetensors
    expect_ok
    expect_json 'all(abs(p["value"] - t) < 4*p["error"] < 0.2 for p, t in zip(d["report"]["parameters"][:2], (4, 0.2)))'
    # the column x does not depend on gain: infinite error, named, with the column that would tell
    expect_json 'd["report"]["parameters"][2]["error"] is None and "gain; a column seen would tell" in d["report"]["notes"]'
    # nothing depends on the temperature but itself
    expect_json '"not observable from these columns: T; a column T would tell" in d["report"]["notes"]'
    expect_json 'd["report"]["better"] and d["report"]["channels"][0]["run"] < 0.03'
    run "$CLAUSIUS" simulate m.safetensors --until 1 --quiet -o s.csv
    expect_ok
    run "$CLAUSIUS" audit s.csv
    expect_ok
    # beside the recording it begins where the rows about the first one say, not where two noisy rows do
    run "$CLAUSIUS" compare m.safetensors noisy.csv --columns x --json
    expect_ok
    expect_json 'd["rmse"]["x"] < 0.03'
    run "$CLAUSIUS" show m.safetensors
    expect_ok
    expect_stdout 'k .*= 4\.0.* \+- '
}

test_bands_contain_the_truth() {
    noisy_oscillator
    run "$CLAUSIUS" learn oscillator.clausius noisy.csv --set "gain=1" --ensemble 12 --json -o m.safetensors
    expect_ok
    # the scatter of the ensemble is of the size of the error
    expect_json 'all(0.3 < p["scatter"]/p["error"] < 3 for p in d["report"]["parameters"][:2])'
    run "$CLAUSIUS" simulate m.safetensors --bands --h 0.05 --until 5 --quiet -o bands.csv
    expect_ok
    awk -F, '/^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
        { low = $at["x.low"]; high = $at["x.high"]; x = $at["x"]; rows++; if (low <= high) good++; if (high - low > 0.0005) wide++ }
        END { exit !(rows == 101 && good == rows && wide > 50) }' bands.csv || fail "the bands are not bands"
    # samples are dots (arcs), the model a line; beside a model at the file's times there is a panel of residuals
    run "$CLAUSIUS" plot noisy.csv bands.csv --columns x -o bands.svg
    expect_ok
    run "$CLAUSIUS" plot clean.csv bands.csv --columns x -o lines.svg
    expect_ok
    [ "$(grep -o ' C ' bands.svg | wc -l)" -gt $(($(grep -o ' C ' lines.svg | wc -l) + 400)) ] || fail "measured samples are no dots"
    run "$CLAUSIUS" plot noisy.csv m.safetensors -o one.svg
    expect_ok
    run "$CLAUSIUS" plot noisy.csv m.safetensors --columns x -o other.svg
    expect_ok
    [ "$(stat -c %s one.svg)" -gt $((3*$(stat -c %s other.svg)/2)) ] || fail "there is no panel of residuals"
    run "$CLAUSIUS" simulate oscillator.clausius --set "k=4, c=0.2, gain=1" --bands --quiet
    expect_exit 2
    expect_stderr 'needs a model whose parameters or functions were learned with errors'
}

# a pendulum that turns over, seen by a sensor that knows no turns
test_bands_of_functions() {
    noisy_oscillator
    awk -F, 'BEGIN { srand(4) } /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; print "time,x,v.x,T"; n = 1; next }
        { for (k = 0; k < 3; k++) { u[k] = -6; for (i = 0; i < 12; i++) u[k] += rand() }
          printf "%s,%.9g,%.9g,%.9g\n", $at["time"], $at["x"] + 0.01*u[0], $at["v.x"] + 0.02*u[1], $at["T"] + 0.002*u[2] }' clean.csv >noisy.csv
    run "$CLAUSIUS" learn oscillator.clausius noisy.csv --unknown F --set "k=4, c=0.2, gain=1" -o m.safetensors
    expect_ok
    expect_stderr 'multiple shooting'
    run "$CLAUSIUS" show m.safetensors
    expect_no_stdout '^ *spread '
    run "$CLAUSIUS" simulate m.safetensors --bands --h 0.005 --every 10 --until 15 -o bands.csv
    expect_ok
    expect_stderr '90 % bands of 50 motions, drawn from the covariance of functions'
    # the true motion lies between three times the bands' halves, which are narrower than the noise
    python3 - <<'END' || fail "bands"
import csv
def read(f): return list(csv.DictReader(x for x in open(f) if not x.startswith("#")))
model, truth = read("bands.csv"), read("clean.csv")
widest = 0
for m, t in zip(model, truth):
    low, high, x = float(m["x.low"]), float(m["x.high"]), float(t["x"])
    middle, half = (low + high) / 2, (high - low) / 2
    widest = max(widest, half)
    assert abs(x - middle) <= 3 * half + 1e-4, (m["time"], low, x, high)
assert 1e-5 < widest < 0.02, widest
END
    # a solve of exact data has no such covariance, and says so
    grep -v '^#' clean.csv >exact.csv
    run "$CLAUSIUS" learn oscillator.clausius exact.csv --unknown F --set "k=4, c=0.2, gain=1" --loss residual -o r.safetensors
    expect_ok
    run "$CLAUSIUS" simulate r.safetensors --bands --until 1 -o x.csv
    expect_exit 2
    expect_stderr 'multiple-shooting'
}

test_angles_are_angles() {
    cat >turns.clausius <<'END'
system "a pendulum that turns over"
coordinate  phi [rad] angle
temperature T [K]
parameter   k = unknown near 2 in (0, 100), c = unknown near 0.2 in (0, 10)
thermal lagrangian v.phi^2/2 + k*cos(phi) + 100*T*(log(T) - 1)
friction F on T: phi <- -c*v.phi
start phi = 0, v.phi = 6, T = 300
END
    "$CLAUSIUS" simulate turns.clausius --set "k=4, c=0.1" --h 0.05 --until 15 --scheme bdf --quiet -o clean.csv
    awk -F, '/^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; print "time,phi"; n = 1; next }
        { x = $at["phi"]; if (x > most) most = x; while (x > 3.141592653589793) x -= 6.283185307179586; print $at["time"] "," x }
        END { exit !(most > 12) }' clean.csv >wrapped.csv || fail "it does not turn over twice"
    run "$CLAUSIUS" learn turns.clausius wrapped.csv --json -o m.safetensors
    expect_ok
    expect_json 'all(abs(p["value"] - t) < 1e-3*t for p, t in zip(d["report"]["parameters"], (4, 0.1)))'
    expect_json 'd["report"]["channels"][0]["run"] < 5e-3'
}

damped() {
    cat >damped.clausius <<'END'
system "a damped spring"
coordinate q
temperature T
thermal lagrangian v.q^2/2 - q^2/2 + T*(log(T) - 1)
friction F on T: q <- -0.1*v.q
start q = 1, v.q = 0, T = 1
step 0.02
until 10
END
    "$CLAUSIUS" simulate damped.clausius --scheme bdf --quiet -o all.csv
    awk -F, -v names="time,$1" 'BEGIN { n = split(names, a, ",") } /^#/ { next }
        !m { for (i = 1; i <= NF; i++) at[$i] = i; m = 1 }
        { line = $at[a[1]]; for (i = 2; i <= n; i++) line = line "," $at[a[i]]; print line }' all.csv >some.csv
}

# a function, with a state that no column says: simulated, found on the way
test_functions_beside_hidden_states() {
    local columns hidden
    for columns in q,v.q q,T; do
        damped "$columns"
        hidden=$([ $columns = q,T ] && echo v.q || echo T)
        run "$CLAUSIUS" learn damped.clausius some.csv --unknown F --json -o m.safetensors
        expect_ok
        expect_json '"no column says '"$hidden"'" in d["report"]["choice"] and all(c["run"] < 1e-6 for c in d["report"]["channels"])'
        expect_json 'd["report"]["better"]'
        run "$CLAUSIUS" compare m.safetensors all.csv --columns q --tolerance 1e-3
        expect_ok
    done
}

# a motor drives a pendulum whose friction nobody knows; angle and torque are measured
driven() {
    cat >driven.clausius <<END
system "a pendulum with a motor and an unknown friction"
coordinate  phi [rad]
input       tau [N m]
$1
temperature T [K]
thermal lagrangian I*v.phi^2/2 + mgl*cos(phi) + 50*T*(log(T) - 1)
external force motor: phi <- tau
friction F on T: phi <- unknown of v.phi^2
start phi = 0.2, v.phi = 0, T = 293
END
    sed 's|phi <- unknown of v.phi^2|phi <- -(0.02 + 0.03*v.phi^2/(1 + v.phi^2/9))*v.phi|; s|^parameter.*|parameter I = 0.08, mgl = 1.4|' driven.clausius >truth.clausius
    awk 'BEGIN { print "time,tau"; for (k = 0; k <= 400; k++) { t = k/25; printf "%.2f,%.9f\n", t, 0.9*sin(1.7*t) + 0.6*sin(4.3*t + 1) + 0.4*sin(0.6*t) } }' >tau.csv
    # rows and corners of the input at the same times, but for round-off: bdf goes on
    "$CLAUSIUS" simulate truth.clausius --inputs tau.csv --hold linear --at tau.csv --scheme bdf --quiet -o all.csv || fail "no data"
    awk -F, 'BEGIN { srand(7) } /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; print "time,phi,tau"; n = 1; next }
        { u = 0; for (i = 0; i < 12; i++) u += rand(); printf "%s,%.9f,%s\n", $at["time"], $at["phi"] + 0.002*(u - 6), $at["tau"] }' all.csv >some.csv
}

# lambda = 0.02 + 0.03 v^2/(1 + v^2/9) where the data were, within what the errors say
expect_friction() {
    expect_json '[f["input"] for f in d["report"]["functions"]] == ["v.phi^2"]'
    expect_json 'all(abs(y - 0.02 - 0.03*x/(1 + x/9)) < 6*e + 2e-3 and 0 < e < 0.01 for x, y, e in zip(*(d["report"]["functions"][0][k][2:-1] for k in ("at", "value", "error"))))'
    expect_json 'd["report"]["better"] and d["report"]["channels"][0]["run"] < 0.01'
    # without the unknown part the system is another one
    expect_json 'd["report"]["channels"][0]["run_before"] > 0.3'
}

test_a_function_beside_inputs() {
    driven "parameter I = 0.08, mgl = 1.4"
    run "$CLAUSIUS" learn driven.clausius some.csv --test 0.3 --hold linear --json -o m.safetensors
    expect_ok
    expect_json '"the system has inputs" in d["report"]["choice"]'
    expect_friction
    run "$CLAUSIUS" show m.safetensors
    expect_stdout 'F over v.phi\^2, with standard errors'
    expect_stdout '^    at [0-9.]+ +0\.[0-9]+ \+- 0\.00'
    run "$CLAUSIUS" simulate m.safetensors --inputs tau.csv --until 10 --quiet -o run.csv
    expect_ok
    run "$CLAUSIUS" audit run.csv
    expect_ok
    # rows that it was not learned from are marked where it is drawn beside them
    run "$CLAUSIUS" plot some.csv m.safetensors --columns phi -o marked.svg
    expect_ok
    run "$CLAUSIUS" learn driven.clausius some.csv --loss residual -o m.safetensors
    expect_refused 2 'the loss residual is not for this: the system has inputs'
    run "$CLAUSIUS" learn driven.clausius some.csv --field "network(4)" -o m.safetensors
    expect_exit 2
}

test_a_function_beside_parameters() {
    driven "parameter I = unknown in (0, 10), mgl = unknown near 1 in (0, 100)"
    run "$CLAUSIUS" learn driven.clausius some.csv --test 0.3 --hold linear --json -o m.safetensors
    expect_ok
    expect_friction
    expect_json 'all(abs(p["value"] - t) < 5*p["error"] < 0.05*t for p, t in zip(d["report"]["parameters"], (0.08, 1.4)))'
    run "$CLAUSIUS" show m.safetensors
    expect_stdout '  mgl +=  *1\.[34]'
    run "$CLAUSIUS" simulate m.safetensors --inputs tau.csv --until 10 --quiet -o run.csv
    expect_ok
}

# clean states are learned by the residual, which has errors and, where rows are kept back, scores as well
test_the_residual_is_scored() {
    damped q,v.q,T
    run "$CLAUSIUS" learn damped.clausius some.csv --unknown F --test 0.2 --require-better --json -o m.safetensors
    expect_ok
    expect_json '"residual" in d["report"]["choice"] and d["report"]["better"]'
    expect_json '[c["test_rows"] for c in d["report"]["channels"]] == [100, 100, 100]'
    expect_json 'all(c["run"] < 1e-3*c["run_persistence"] for c in d["report"]["channels"])'
    expect_json 'all(abs(y - 0.1) < 1e-3 and e < 1e-2 for f in d["report"]["functions"] for y, e in zip(f["value"], f["error"]))'
}

# in a hamiltonian a potential does not take the entropy that nobody measured
test_a_potential_without_entropies() {
    cat >potential.clausius <<'END'
system "a spring that nobody knows"
coordinate q
entropy S
part V = unknown
hamiltonian p.q^2/2 + V + exp(S)
friction F on S: q <- -0.1*v.q
start q = 1, p.q = 0, S = 0
step 0.02
until 10
END
    sed 's|part V = unknown|part V = q^2/2 + q^4/8|' potential.clausius >truth.clausius
    "$CLAUSIUS" simulate truth.clausius --scheme bdf --quiet -o all.csv
    awk -F, '/^#/ { next } { print $1 "," $2 "," $3 }' all.csv >some.csv
    run "$CLAUSIUS" learn potential.clausius some.csv --json -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_stdout 'of q '
    expect_no_stdout 'of S '
    run "$CLAUSIUS" compare m.safetensors all.csv --columns q --tolerance 1e-2
    expect_ok
}

# from positions alone, by terms: a potential has no momenta
test_terms_of_a_hamiltonian_from_positions() {
    cat >spring.clausius <<'END'
system "a spring"
coordinate q
part V = unknown terms(q^2; q^4)
hamiltonian p.q^2/2 + V
start q = 1, p.q = 0
step 0.05
until 20
END
    sed 's|unknown terms(q^2; q^4)|q^2/2 + q^4/8|' spring.clausius >truth.clausius
    "$CLAUSIUS" simulate truth.clausius --scheme bdf --quiet -o all.csv
    awk -F, '/^#/ { next } { print $1 "," $2 }' all.csv >some.csv
    run "$CLAUSIUS" learn spring.clausius some.csv -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_stdout '^    0\.(5|49999)[0-9]* +times q\^2$'
    run "$CLAUSIUS" show m.safetensors --equations
    expect_stdout '0\.(5|49999)'
}

test_numbers_of_show_are_those_of_the_model() {
    damped q,v.q,T
    sed 's|v.q^2/2 -|m*v.q^2/2 -|; s|^temperature T|temperature T\npart m = unknown positive terms(1)|' damped.clausius >mass.clausius
    run "$CLAUSIUS" learn mass.clausius some.csv --loss residual -o m.safetensors
    expect_ok
    run "$CLAUSIUS" show m.safetensors
    expect_stdout '^    1 +times 1$'
}

# where the network begins the friction is the true one, by chance; three iterations leave it
test_a_worse_fit_is_a_failure() {
    damped q,v.q,T
    run "$CLAUSIUS" learn damped.clausius some.csv --unknown F --field "network(8)" --optimizer spring --epochs 3 --quiet -o m.safetensors
    expect_exit 1
    expect_stderr 'fits worse .* than what the search began with'
}

test_what_was_learned_can_be_required_to_be_better() {
    noisy_oscillator
    # a column of noise: nobody predicts it
    awk -F, 'BEGIN { srand(5) } NR == 1 { print; next } { print $1 "," rand() }' noisy.csv >noise.csv
    run "$CLAUSIUS" learn oscillator.clausius noise.csv --require-better -o m.safetensors
    expect_exit 1
    expect_stderr 'verdict +none' # the mean is as near as the noise allows, and so is the model
    expect_stderr 'is not better than the trivial models'
}

test_equal_times_are_refused_or_averaged() {
    noisy_oscillator
    awk 'NR == 50 { print } { print }' noisy.csv >twice.csv
    run "$CLAUSIUS" learn oscillator.clausius twice.csv -o m.safetensors
    expect_exit 3
    expect_stderr 'rows 49 and 50 have the same time.*--average'
    run "$CLAUSIUS" learn oscillator.clausius twice.csv --average -o m.safetensors
    expect_ok
    expect_stderr '1 rows .* averaged'
    # the same for functions, whatever the loss is
    grep -v '^#' clean.csv | awk 'NR == 50 { print } { print }' >twice.csv
    run "$CLAUSIUS" learn oscillator.clausius twice.csv --unknown F --set "k=4, c=0.2, gain=1" -o m.safetensors
    expect_exit 3
    expect_stderr 'rows 49 and 50 have the same time.*--average'
    run "$CLAUSIUS" learn oscillator.clausius twice.csv --unknown F --set "k=4, c=0.2, gain=1" --average -o m.safetensors
    expect_ok
    expect_stderr '1 rows .* averaged'
}

# three gases, of which some quantities are measured and others are not
gases() {
    cat >gases.clausius <<'END'
system "three gas chambers, two pistons that conduct heat"
coordinate  x, y in (0, 3)
temperature T1, T2, T3
parameter   d = unknown in (0, 10), k12 = unknown in (0, 10), k23 = unknown in (0, 10)
thermal lagrangian (v.x^2 + v.y^2)/2
    + T1*(log(x^(2/3)*T1) - 1) + T2*(log((3 - x - y)^(2/3)*T2) - 1) + T3*(log(y^(2/3)*T3) - 1)
friction on T1: x <- -d/2*v.x
friction on T2: x <- -d/2*v.x, y <- -d/2*v.y
friction on T3: y <- -d/2*v.y
heat exchange T1 <-> T2: k12
heat exchange T2 <-> T3: k23
start x = 1, v.x = 0, y = 1, v.y = 0, T1 = 1, T2 = 1, T3 = 1
END
    "$CLAUSIUS" simulate gases.clausius --set "d=0.4, k12=0.05, k23=0.1" --samples 3 --seed 7 --h 0.1 --steps 60 --scheme bdf \
        --sample "x~U(0.7,1.3), y~U(0.7,1.3), v.x~U(-0.3,0.3), v.y~U(-0.3,0.3), T1~U(0.5,2), T2~U(0.5,2), T3~U(0.5,2)" --quiet -o all.csv
    awk -F, -v names="trajectory,time,$1" 'BEGIN { n = split(names, a, ",") } /^#/ { next }
        !m { for (i = 1; i <= NF; i++) at[$i] = i; m = 1 }
        { line = $at[a[1]]; for (i = 2; i <= n; i++) line = line "," $at[a[i]]; print line }' all.csv >some.csv
}

# the hidden states are found on the way: what is measured implies them
learn_gases() {
    gases "$1"
    run "$CLAUSIUS" learn gases.clausius some.csv --test 0 --json -o m.safetensors
    expect_ok
    expect_json 'all(abs(p["value"] - t) < 1e-3*t for p, t in zip(d["report"]["parameters"], (0.4, 0.05, 0.1)))'
}

test_a_temperature_that_nobody_measured() { learn_gases x,y,v.x,v.y,T1,T2; }
test_motion_without_heat() { learn_gases x,y,v.x,v.y; }
test_temperatures_without_velocities() { learn_gases x,y,T1,T2,T3; }

# ---- recordings; the goals are those of the guide's table ----

test_real_pendulum() {
    pendulum
    recording schmidt-lipson/real_pend_h_1.txt time,phi r.csv
    run "$CLAUSIUS" learn pendulum.clausius r.csv --test 0.3 --json -o m.safetensors
    expect_ok
    expect_json 'd["report"]["channels"][0]["run"] <= 0.014'
}

# The protocol of the published figures (HNN, DGNet): four fifths to learn from, then a run from the first row
# of the rest, energies 2.4 (1 - cos q) + p^2 of run and data compared, p the column v. Theirs: 4.92e-4 at
# best, with the gaps in the times ignored; here the times are the true ones.
test_energy_of_the_real_pendulum() {
    pendulum
    recording schmidt-lipson/real_pend_h_1.txt time,phi,seen r.csv
    sed -i 's|^start|parameter gain = unknown near 1 in (0.1, 10)\noutput seen = gain*v.phi\nstart|' pendulum.clausius
    run "$CLAUSIUS" learn pendulum.clausius r.csv --test 0.2 --quiet -o m.safetensors
    expect_ok
    awk 'NR == 1 || NR > 445' r.csv >test.csv
    run "$CLAUSIUS" simulate m.safetensors --from test.csv --row first --at test.csv --quiet -o run.csv
    expect_ok
    awk -F, 'function e(q, p) { return 2.4*(1 - cos(q)) + p*p }
        FNR == NR { if (FNR > 1) data[FNR - 1] = e($2, $3); next }
        /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
        { d = e($at["phi"], $at["seen"]) - data[n++]; sum += d*d }
        END { printf "# energy MSE %.3g over %d rows\n", sum/(n - 1), n - 1; exit !(n == 113 && sum/(n - 1) < 4.9e-4) }' test.csv run.csv || fail "the energy is further off than the published one"
}

test_one_glider() {
    recording schmidt-lipson/real_linear_h_1.txt time,x r.csv
    cat >glider.clausius <<'END'
system "a glider between springs"
coordinate  x [px]
temperature T [K]
parameter   k = unknown in (0, 1000) [1/s^2], x0 = unknown near 0 [px]
parameter   c = unknown near 0.01 in (0, inf), d = unknown near 1e-4 in (0, inf), mu = unknown near 1 in (0, inf)
thermal lagrangian v.x^2/2 - k*(x - x0)^2/2 + 1e6*T*(log(T) - 1)
friction F on T: x <- -c*v.x - d*softabs(v.x, 5)*v.x - mu*tanh(v.x/5)
start x = 1, v.x = 0, T = 300
END
    run "$CLAUSIUS" learn glider.clausius r.csv --test 0.3 --json -o m.safetensors
    expect_ok
    expect_json 'd["report"]["channels"][0]["run"] <= 0.55'
}

test_two_gliders() {
    recording schmidt-lipson/real_double_linear_h_1.txt time,x1,x2 r.csv
    cat >gliders.clausius <<'END'
system "two gliders between springs"
coordinate  x1, x2 [px]
temperature T [K]
parameter   k1 = unknown in (0, 1000), k2 = unknown in (0, 1000), k3 = unknown in (0, 1000)
parameter   a = unknown near 0 [px], b = unknown near 0 [px], ratio = unknown near 1 in (0.01, 100)
parameter   c1 = unknown near 0.01 in (0, inf), d1 = unknown near 1e-4 in (0, inf), mu1 = unknown near 1 in (0, inf)
parameter   c2 = unknown near 0.01 in (0, inf), d2 = unknown near 1e-4 in (0, inf), mu2 = unknown near 1 in (0, inf)
thermal lagrangian v.x1^2/2 + ratio*v.x2^2/2 - k1*(x1 - a)^2/2 - k2*(x2 - x1)^2/2 - k3*(x2 - b)^2/2 + 1e6*T*(log(T) - 1)
friction F1 on T: x1 <- -c1*v.x1 - d1*softabs(v.x1, 5)*v.x1 - mu1*tanh(v.x1/5)
friction F2 on T: x2 <- -c2*v.x2 - d2*softabs(v.x2, 5)*v.x2 - mu2*tanh(v.x2/5)
start x1 = 1, v.x1 = 0, x2 = 1, v.x2 = 0, T = 300
END
    run "$CLAUSIUS" learn gliders.clausius r.csv --test 0.3 --json -o m.safetensors
    expect_ok
    expect_json 'all(c["run"] <= 1.1 for c in d["report"]["channels"])'
    expect_json 'abs(d["report"]["parameters"][5]["value"] - 2.47) < 2*d["report"]["parameters"][5]["error"] < 0.2'
}

# A temperature says its entropy and a velocity its momentum: all columns are compared, none is left out.
test_conjugate_columns_are_used() {
    cat >bead.clausius <<'END'
system "bead in a double well, in a bath it heats"
coordinate x
entropy S with temperature T
parameter m = 0.7
hamiltonian H = p.x^2/(2*m) + V + 2*exp(S/2)
part V = x^4/4 - 0.6*x^2
friction F on T: x <- -0.15*v.x
start x = 1.3, v.x = 0.2, T = 1
step 0.02
END
    "$CLAUSIUS" simulate bead.clausius --samples 12 --sample "x~U(-1.5,1.5), v.x~U(-0.7,0.7), T~U(0.8,1.2)" \
        --h 0.05 --steps 200 --scheme bdf --quiet -o clean.csv || fail "no data"
    /usr/bin/python3 - <<'END'
import csv, random
random.seed(3)
rows = list(csv.reader(line for line in open("clean.csv") if line[0] != "#"))
names = ["trajectory", "time", "x", "v.x", "T"]
with open("noisy.csv", "w") as out:
    print(*names, sep=",", file=out)
    for row in rows[1:]:
        values = [row[rows[0].index(n)] for n in names]
        print(*values[:2], *(float(v) + random.gauss(0, 0.01) for v in values[2:]), sep=",", file=out)
END
    run "$CLAUSIUS" learn bead.clausius noisy.csv --unknown "V, F" --json -o m.safetensors
    expect_ok
    expect_json '[c["name"] for c in d["report"]["channels"]] == ["x", "v.x", "T"]'
    expect_json 'all(c["run"] <= 0.013 for c in d["report"]["channels"])' # the noise is 0.01
}

test_two_heaters() {
    local file=$CLAUSIUS_DATA/tclab/two-heaters.csv
    [ -r "$file" ] || skip "CLAUSIUS_DATA/tclab/two-heaters.csv is not there"
    awk -F, 'NR == 1 { print "time,u1,u2,T1,seen2"; next } { printf "%s,%s,%s,%.6f,%.6f\n", $1, $2, $3, $4 + 273.15, $5 + 273.15 }' "$file" >r.csv
    # room and offset of the second sensor: the first rows, before anything is heated
    cat >heaters.clausius <<'END'
system "two heaters side by side, sensors that lag behind"
temperature H1 with entropy SH1, H2 with entropy SH2
temperature T1, T2 [K]
input       u1, u2
parameter   Ta = 293.98 [K], offset = -0.9 [K], cs = 0.05
parameter   g1 = unknown near 0.01 in (0, 1), g2 = unknown near 0.01 in (0, 1), droop = unknown near 0.1 in (0, 5)
parameter   k = unknown near 0.01 in (0, 1), k12 = unknown near 0.01 in (0, 1), lag = unknown near 10 in (0.5, 100)
reservoir   room = Ta
thermal lagrangian H1*(log(H1) - 1) + H2*(log(H2) - 1) + cs*T1*(log(T1) - 1) + cs*T2*(log(T2) - 1)
heat source p1 on H1: g1*u1/(1 + droop*u2/100)
heat source p2 on H2: g2*u2/(1 + droop*u1/100)
heat exchange H1 <-> H2: k12
heat exchange H1 <-> room: k
heat exchange H2 <-> room: k
heat exchange H1 <-> T1: cs/lag
heat exchange H2 <-> T2: cs/lag
output seen2 = T2 + offset
start H1 = 293, H2 = 293, T1 = 293, T2 = 293
END
    run "$CLAUSIUS" learn heaters.clausius r.csv --test 0.3322 --json -o m.safetensors
    expect_ok
    expect_json 'd["report"]["channels"][0]["run"] <= 0.6 and d["report"]["channels"][1]["run"] <= 1.2'
    expect_json 'all(c["rows"] == 400 for c in d["report"]["channels"])'
}

test_wall() {
    local file=$CLAUSIUS_DATA/daisy/thermic-wall.dat
    [ -r "$file" ] || skip "CLAUSIUS_DATA/daisy/thermic-wall.dat is not there"
    awk 'BEGIN { print "time,To,Ti,q" } NF >= 3 { printf "%d,%.6f,%.6f,%s\n", n++, $1 + 273.15, $2 + 273.15, $3 }' "$file" >r.csv
    cat >wall.clausius <<'END'
system "a wall between two temperatures"
temperature W1 with entropy S1, W2 with entropy S2, W3 with entropy S3
input       To, Ti
parameter   c1 = unknown near 1 in (0.001, 1e4), c2 = unknown near 1 in (0.001, 1e4), c3 = unknown near 1 in (0.001, 1e4)
parameter   k1 = unknown near 1 in (0, 1e3), k2 = unknown near 1 in (0, 1e3)
parameter   k3 = unknown near 1 in (0, 1e3), k4 = unknown near 1 in (0, 1e3), q0 = unknown near 0
reservoir   outside = To
reservoir   inside = Ti
thermal lagrangian c1*W1*(log(W1) - 1) + c2*W2*(log(W2) - 1) + c3*W3*(log(W3) - 1)
heat exchange W1 <-> outside: k1
heat exchange W1 <-> W2: k2
heat exchange W2 <-> W3: k3
heat exchange W3 <-> inside: k4
output q = k4*(Ti - W3) + q0
start W1 = 288, W2 = 290, W3 = 292
END
    run "$CLAUSIUS" learn wall.clausius r.csv --test 0.5 --json -o m.safetensors
    expect_ok
    expect_json 'd["report"]["channels"][0]["run"] <= 0.145'
}

test_torque_pendulum() {
    local file=$CLAUSIUS_DATA/dfki-pendulum/energy-shaping.csv
    [ -r "$file" ] || skip "CLAUSIUS_DATA/dfki-pendulum/energy-shaping.csv is not there"
    awk -F, 'NR == 1 { print "time,phi,tau"; next } { print $1 "," $2 "," $4 }' "$file" >r.csv
    cat >torque.clausius <<'END'
system "a pendulum with a motor"
coordinate phi [rad]
input      tau [N m]
parameter  I = unknown near 0.05 in (1e-4, 10) [kg m^2], mgl = unknown near 1 in (0, 100) [N m]
parameter  offset = unknown near 0 in (-1, 1) [rad]
parameter  c = unknown near 0.01 in (0, 10), d = unknown near 0.001 in (0, 10), mu = unknown near 0.05 in (0, 10) [N m]
reservoir  room = 293
thermal lagrangian I*v.phi^2/2 + mgl*cos(phi - offset)
external force motor: phi <- tau
friction F on room: phi <- -c*v.phi - d*softabs(v.phi, 0.05)*v.phi - mu*tanh(v.phi/0.05)
start phi = 0, v.phi = 0
END
    run "$CLAUSIUS" learn torque.clausius r.csv --test 0.3 --horizon "0.5, 1" --json -o m.safetensors
    expect_ok
    expect_json 'd["report"]["channels"][0]["ahead"][0] <= 0.03 and d["report"]["channels"][0]["ahead"][1] <= 0.07'
    # dry friction with its error; the pushes by hand, in what was learned from and behind it
    expect_json '0.1 < d["report"]["parameters"][5]["value"] < 0.25 and d["report"]["parameters"][5]["error"] < 0.05'
    expect_json '"cut: 6.5" in d["report"]["notes"] and "15.9" in d["report"]["notes"]'
    # learned from one file, predicted in another, with another controller
    awk -F, 'NR == 1 { print "time,phi,tau"; next } { print $1 "," $2 "," $4 }' "$CLAUSIUS_DATA/dfki-pendulum/pd-system-identification.csv" >other.csv
    run "$CLAUSIUS" learn torque.clausius r.csv --test other.csv --horizon 2 --json -o m.safetensors
    expect_ok
    expect_json 'd["report"]["channels"][0]["ahead"][0] <= 0.16'
}

run_tests
