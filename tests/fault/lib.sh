# shellcheck shell=bash
# Small inputs and the commands that the fault tests run, each with one call of its failing in turn
# (tests/fault/interpose.c says how). $STEP_LIMIT is how many failures of one command are tried in the
# short run; all of them with CLAUSIUS_LONG=1.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

exec 3>&1 # what is told whatever a test does with its output
CLAUSIUS_BUILD=${CLAUSIUS_BUILD:-$SOURCE/build}
FAULT=$CLAUSIUS_BUILD/tests/fault/interpose.so

# What the commands read, made once.
inputs() {
    INPUTS=$workspace/inputs
    [[ -d $INPUTS ]] && return
    mkdir "$INPUTS"
    (cd "$INPUTS" && make_inputs) || fail "the inputs could not be made"
}

make_inputs() {
    set -e
    "$CLAUSIUS" simulate adiabatic-piston --steps 30 -o piston.csv --quiet
    printf 'Date;Time;note;x (mm)\n31/01/2026;23:59:30;"a, b";1,5\n01/02/2026;00:00:30;ok;2,5\n' >dates.csv
    "$CLAUSIUS" simulate adiabatic-piston --steps 60 --h 0.005 -o other.csv --quiet
    "$CLAUSIUS" simulate adiabatic-piston --samples 3 --sample "x~U(-0.1,0.1), v.x~U(-1,1)" --steps 12 -o data.csv --quiet
    "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1, F2" --field "chebyshev(1)" -o model.safetensors --quiet
    "$CLAUSIUS" new own >/dev/null
    local i
    for i in 0 1; do
        "$CLAUSIUS" simulate pendulum --samples 4 --sample "q~U(-1,1)" --steps 3 --shard $i/2 -o $i.csv --quiet
        "$CLAUSIUS" learn adiabatic-piston "$PWD/data.csv" --unknown F1 --field "chebyshev(1)" --shard $i/2 -o $i.part --quiet
    done
    CC=false "$CLAUSIUS" export fmu pendulum -o pendulum.fmu --quiet
    "$CLAUSIUS" simulate rlc-circuit --steps 60 -o rlc.csv --quiet
    "$CLAUSIUS" learn rlc-circuit rlc.csv --unknown resistor --field "chebyshev(1)" -o rlc.safetensors --quiet
    printf 'parameter k = unknown near 3\ncoordinate q\nlagrangian v.q^2/2 - k*(1 - cos(q))\nstart q = 1, v.q = 0\nstep 0.1\n' >unknown.clausius
    "$CLAUSIUS" simulate unknown.clausius --set k=2 --steps 12 -o motion.csv --quiet
    printf '%s\n' 'storage spring(q): q^2/2' 'storage rotor(l): l^2/2' 'storage wheel(k): k^2' 'connect spring.q, drive.a' \
        'dirac drive(a, b, c): F = [1, 0, 0; 0, 1, 3; 0, 0, 0], E = [0, -1, 0; 1, 0, 0; 0, 3, -1]' \
        'connect rotor.l, drive.b' 'connect wheel.k, drive.c' 'start q = 1, l = 0' >dirac.clausius
    printf '%s\n' 'time [s],u [V],angle [deg],temperature [degC]' '0,0,1,20' '0.1,1,2,21' '0.2,0,3,22' '0.3,0,5,22' >record.csv
    printf 'time,u\n0,0\n0.1,1\n0.2,0\n' >u.csv
    printf '%s\n' 'coordinate q' 'input u' 'lagrangian v.q^2/2 - q^2/2' 'external force: q <- u' 'start q = 1, v.q = 0' 'step 0.05' >forced.clausius
    "$CLAUSIUS" simulate pendulum --set k=2 --steps 12 -o noted.csv --quiet # says so, and is followed
    # no state is measured, and the charge is elsewhere than the file says
    printf '%s\n' 'parameter R = 0.5, C = 2' 'input I' 'storage charge(q): q^2/(2*C)' 'storage casing(entropy s): 300*exp(s)' \
        'resistive leak(q, entropy s): 1/R' 'external load(q): I' 'connect charge.q, leak.q, load.q' 'connect casing.s, leak.s' \
        'output U = q/C + 0.1*I' 'start q = 0, s = 0' 'step 0.1' >hidden.clausius
    awk 'BEGIN { q = 3; print "time,I,U"; for (k = 0; k < 24; k++) { I = k % 8 < 4 ? 1 : 0; printf "%.1f,%g,%.9f\n", k/10, I, q/2 + 0.1*I; q += 0.1*(I - q) } }' >bench.csv
    printf '%s\n' 't,gx_dps,gy_dps,gz_dps,ax' '0,1,200,2,0' '0.1,2,201,3,1' '0.2,3,200,4,0' '0.3,4,199,5,1' >gyro.csv
    # the charge of a cell is the integral of its current
    printf '%s\n' 'parameter a = unknown near 3, b = unknown near 0.1, R = unknown near 0.1' 'input I' 'momentum q with velocity U' 'entropy S' \
        'hamiltonian a*q + b*q^2/2 + exp(S)' 'external force: q <- -I' 'output V = U - R*I' 'start q = 0, S = 0' 'step 0.1' >cell.clausius
    awk 'BEGIN { print "time,I [A],V [V]"; for (k = 0; k < 24; k++) { I = k % 8 < 4; printf "%.1f,%g,%.9f\n", k/10, I, 3.7 + 0.2*q - 0.05*I; q -= 0.1*I } }' >cell.csv
    [[ -z ${CLAUSIUS_LONG-} ]] || more_inputs
}

# What only the long run reads.
more_inputs() {
    "$CLAUSIUS" data convert data.csv -o data.npz
    "$CLAUSIUS" data convert data.csv -o data.h5
    "$CLAUSIUS" data convert record.csv -o record.npz
    python3 -c 'import struct; e = lambda k, d: struct.pack("<II", k, len(d)) + d + b"\0" * (-len(d) % 8)
m = lambda n, v: e(14, e(6, struct.pack("<II", 6, 0)) + e(5, struct.pack("<ii", len(v), 1)) + e(1, n) + e(9, struct.pack("<%dd" % len(v), *v)))
open("data.mat", "wb").write(b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + m(b"time", [0, 0.1, 0.2]) + m(b"x", [1, 2, 3]))'
    "$CLAUSIUS" learn unknown.clausius motion.csv -o parameter.safetensors --quiet
    sed 's/R = 0.5/R = unknown near 0.4/' hidden.clausius >unknown_hidden.clausius
    "$CLAUSIUS" learn unknown_hidden.clausius bench.csv -o hidden.safetensors --quiet
    CC=false "$CLAUSIUS" export c pendulum -o exported --quiet
    # four thermocouples in six cells
    "$CLAUSIUS" show heat-rod --source | sed 's/N = 50/N = 6/; s/k = 0.1/k = unknown near 0.2/' >rod.clausius
    "$CLAUSIUS" simulate heat-rod --set N=6 --steps 12 -o rod.csv --quiet
    grep -v '^#' rod.csv | cut -d, -f1,8,10,11,13 >couples.csv
    # beyond 64 MB, so that it is learned from in blocks and pieces; most of it are notes, which take no time
    { head -n 2 data.csv; python3 -c 'print(("# " + "-" * 100000 + "\n") * 650, end="")'; tail -n +3 data.csv; } >large.csv
    "$CLAUSIUS" simulate adiabatic-piston --samples 2 --sample "x~U(-0.1,0.1), v.x~U(-1,1)" --steps 60 -o noisy.csv --quiet
    "$CLAUSIUS" simulate thermoelastic-double-pendulum --scheme bdf --h pi/10 --steps 159 --quiet -o double.csv
    python3 - <<'PY'
import random
random.seed(1)
with open("noisy.csv") as f: lines = f.read().splitlines()
with open("noisy.csv", "w") as f:
    for line in lines:
        cells = line.split(",")
        if line[0].isdigit(): cells = [f"{float(c) + random.gauss(0, 1e-3):.9g}" if i > 1 else c for i, c in enumerate(cells)]
        f.write(",".join(cells) + "\n")
PY
}

# every KIND ARGUMENTS...: exit 0 when every failure ended as it should.
every() {
    local kind=$1 calls step=1
    shift
    [[ -f $FAULT ]] || skip "the interposer was not built (build/tests/fault)"
    # fontconfig, cairo and SUNDIALS do not survive every failed allocation of their own; HDF5 crashes or does not say why it failed
    local may= font=
    [[ $kind == libs && "$*" == *.h5* ]] && may=3,5,139
    [[ $kind == libs && ( $1 == plot || $1 == report || "$*" == *bdf* || "$*" == reproduce\ * ) ]] && may=139,134
    [[ $kind == libs && ( $1 == plot || $1 == report ) || "$*" == *--report* ]] && font=FAULT_FONT=1
    [[ "$*" != reproduce\ * ]] || font=FAULT_SECONDS=1 # seconds that it took are told
    local setting=(CC=false FAULT_MAY="$may" $font OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 FAULT_KIND="$kind" FAULT_DIR="$PWD" LD_PRELOAD="$FAULT")
    calls=$(env FAULT_FROM=1 FAULT_TO=0 "${setting[@]}" "$CLAUSIUS" "$@" | sed -nE 's/.* of ([0-9]+) calls.*/\1/p')
    [[ -n $calls ]] || fail "clausius $* fails without a failure"
    [[ -n ${CLAUSIUS_LONG-} && -z ${STEP_LIMIT-} ]] || step=$((calls / ${STEP_LIMIT:-60} + 1))
    RUN_LIMIT=7200 run env FAULT_STEP=$step "${setting[@]}" "$CLAUSIUS" "$@"
    [[ $step == 1 && -z ${CLAUSIUS_LONG-} ]] || echo "# $kind: $(tail -n 1 "$out"): clausius $*" >&3
    [[ $code == 0 ]] || fail "clausius $*: $(tail -n 25 "$out")"
}

# One line each: a short name, then the arguments. Inputs are in $INPUTS.
commands() {
    cat <<'LIST'
systems systems
schemes schemes --json
show show adiabatic-piston
equations show thermal-oscillator --equations
latex show adiabatic-piston --latex
source show rigid-body --source
ports show rlc-circuit --equations
own show $INPUTS/own.clausius
model show $INPUTS/model.safetensors
dirac show $INPUTS/dirac.clausius
noether show two-pistons --invariants --scheme dtel --h 0.1
new new heat
simulate simulate adiabatic-piston --steps 3 -o out.csv --quiet
dtel simulate van-der-waals-piston --scheme dtel --steps 3 --quiet
legendre simulate two-pistons --scheme dtel --steps 3 --outputs legendre --quiet -o out.csv
cayley simulate rigid-body --scheme cayley --steps 3 --quiet
leapfrog simulate pendulum --scheme leapfrog --steps 3 --quiet
rk4 simulate pendulum --scheme rk4 --steps 3 --quiet
lawful simulate two-pistons --scheme lawful-rk8 --steps 3 --quiet
bdf simulate adiabatic-piston --scheme bdf --steps 3 --quiet
double simulate thermoelastic-double-pendulum --steps 2 --quiet
metriplectic simulate motor --steps 2 --quiet
adaptive simulate two-body --scheme discrete-gradient-adaptive --steps 2 --quiet
from simulate adiabatic-piston --from $INPUTS/piston.csv --steps 3 --quiet
ensemble simulate pendulum --samples 3 --sample "q~U(-1,1)" --steps 3 -o many.csv --quiet
learned simulate $INPUTS/model.safetensors --steps 3 --quiet
audit audit $INPUTS/piston.csv
audit-json audit $INPUTS/piston.csv --json
compare compare $INPUTS/piston.csv $INPUTS/other.csv
inspect data inspect $INPUTS/piston.csv
dates data inspect $INPUTS/dates.csv
dates-convert data convert $INPUTS/dates.csv -o out.csv
convert data convert $INPUTS/piston.csv -o out.csv --map "x=x [mm]"
learn learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "chebyshev(1)" -o out.safetensors --quiet
svg plot $INPUTS/piston.csv -o out.svg
png plot $INPUTS/piston.csv -o out.png
export-js export js pendulum -o out.mjs --quiet
LIST
    cat <<'LIST'
langevin simulate brownian-particle --seed 1 --steps 3 --quiet
matter simulate membrane --steps 2 --quiet
array simulate heat-rod --set N=3 --steps 2 --quiet
driven simulate van-der-waals-forced --steps 2 --quiet
invariants show pendulum --invariants
formulas show $INPUTS/model.safetensors --formulas --terms 1
fmu show $INPUTS/pendulum.fmu
extract extract $INPUTS/rlc.safetensors --component resistor -o out.safetensors
merge merge $INPUTS/0.csv $INPUTS/1.csv -o out.csv --quiet
npz data convert $INPUTS/piston.csv -o out.npz
h5 data convert $INPUTS/piston.csv -o out.h5
export-fmu export fmu pendulum -o out.fmu --quiet
items reproduce
draft new heat --from $INPUTS/record.csv
draft-cell new heat --from $INPUTS/cell.csv
draft-gyro new heat --from $INPUTS/gyro.csv
integrals learn $INPUTS/cell.clausius $INPUTS/cell.csv -o out.safetensors --quiet
hidden simulate $INPUTS/hidden.clausius --inputs $INPUTS/bench.csv --from $INPUTS/bench.csv --row first --steps 3 --quiet
noted compare pendulum $INPUTS/noted.csv
driven-from-file simulate $INPUTS/forced.clausius --inputs $INPUTS/u.csv --steps 3 --quiet
LIST
    [[ -z ${CLAUSIUS_LONG-} ]] || cat <<'LIST'
parameter learn $INPUTS/unknown.clausius $INPUTS/motion.csv -o out.safetensors --quiet
shard learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "chebyshev(1)" --shard 1/2 -o out.part --quiet
merge-parts merge $INPUTS/0.part $INPUTS/1.part -o out.safetensors --quiet
reactor simulate adiabatic-reactor --steps 2 --quiet
graph show rlc-circuit --graph -o out.svg
network learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "network(3)" --epochs 3 -o out.safetensors --quiet
lbfgs learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "network(3)" --optimizer lbfgs --epochs 3 -o out.safetensors --quiet
shooting learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "chebyshev(1)" --loss shooting --epochs 2 -o out.safetensors --quiet
report report $INPUTS/model.safetensors --data $INPUTS/piston.csv -o out.html
export-c export c adiabatic-piston -o piston --quiet
hidden-compare compare $INPUTS/hidden.clausius $INPUTS/bench.csv
hidden-model compare $INPUTS/hidden.safetensors $INPUTS/bench.csv
hidden-report report $INPUTS/hidden.safetensors --data $INPUTS/bench.csv -o out.html
noted-learn learn pendulum $INPUTS/noted.csv --unknown V --field "chebyshev(1)" -o out.safetensors --quiet
noted-report report $INPUTS/noted.csv -o out.html
noted-audit audit $INPUTS/noted.csv
model-inputs simulate $INPUTS/hidden.safetensors --inputs $INPUTS/bench.csv --steps 3 --quiet
couples learn $INPUTS/rod.clausius $INPUTS/couples.csv -o out.safetensors --quiet
noisy-energy learn adiabatic-piston $INPUTS/noisy.csv --unknown "G, F1" -o out.safetensors --quiet
draft-npz new heat --from $INPUTS/record.npz
read-npz data inspect $INPUTS/data.npz
read-h5 data inspect $INPUTS/data.h5
read-mat data inspect $INPUTS/data.mat
show-json show adiabatic-piston --json
show-folder show $INPUTS/exported
formulas-file show $INPUTS/model.safetensors --formulas --data $INPUTS/piston.csv -o out.clausius
audit-system audit adiabatic-piston --steps 20
audit-model audit $INPUTS/model.safetensors --against $INPUTS/piston.csv
compare-model compare $INPUTS/piston.csv $INPUTS/model.safetensors
plot-model plot $INPUTS/piston.csv $INPUTS/model.safetensors -o out.svg
at simulate adiabatic-piston --at $INPUTS/piston.csv -o out.npz --quiet
bands simulate $INPUTS/parameter.safetensors --bands --steps 3 -o out.h5 --quiet
simulate-shard simulate pendulum --samples 4 --sample "q~U(-1,1)" --steps 3 --shard 1/2 -o out.csv --quiet
stream learn adiabatic-piston $INPUTS/large.csv --unknown "F1" --field "chebyshev(1)" -o out.safetensors --quiet
stream-shard learn adiabatic-piston $INPUTS/large.csv --unknown "F1" --field "chebyshev(1)" --shard 1/2 -o out.part --quiet
pieces learn adiabatic-piston $INPUTS/large.csv --unknown "F1" --field "network(3)" --optimizer adam --epochs 100 -o out.safetensors --quiet
pieces-spring learn adiabatic-piston $INPUTS/large.csv --unknown "F1" --field "network(3)" --optimizer spring --epochs 3 -o out.safetensors --quiet
pieces-lbfgs learn adiabatic-piston $INPUTS/large.csv --unknown "F1" --field "network(3)" --optimizer lbfgs --epochs 3 -o out.safetensors --quiet
adam learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "network(3)" --optimizer adam --epochs 100 -o out.safetensors --quiet
spring learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "network(3)" --optimizer spring --epochs 3 -o out.safetensors --quiet
derivative learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "chebyshev(1)" --loss derivative -o out.safetensors --quiet
adjoint learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "network(2)" --loss shooting --optimizer lbfgs --adjoint continuous --epochs 2 -o out.safetensors --quiet
noisy learn adiabatic-piston $INPUTS/noisy.csv --unknown "F1" -o out.safetensors --quiet
bootstrap learn $INPUTS/unknown.clausius $INPUTS/motion.csv --ensemble 2 -o out.safetensors --quiet
learn-report learn adiabatic-piston $INPUTS/data.csv --unknown "F1" --field "chebyshev(1)" --report out.html -o out.safetensors --quiet
qp learn thermoelastic-double-pendulum $INPUTS/double.csv --unknown "E, M" --optimizer qp -o out.safetensors --quiet
report-data report $INPUTS/piston.csv $INPUTS/other.csv -o out.html
report-json report adiabatic-piston -o out.html --json
export-c-model export c $INPUTS/model.safetensors -o piston --quiet
export-js-model export js $INPUTS/model.safetensors -o out.mjs --quiet
export-fmu3-model export fmu $INPUTS/model.safetensors --fmi 3 -o out.fmu --quiet
item reproduce dtel-table-3
item-folder reproduce ephs-graphs -o folder
LIST
}
