#!/usr/bin/env bash
# clausius export: what is written, what it prints, what is refused.
. "$(dirname "$0")/../cli/lib.sh"
. "$SOURCE/tests/export/models.sh"

compile() { gcc -std=c99 -O1 -ffp-contract=off -fno-math-errno "$1"/*.c -lm -o "$1/main"; }


test_c_prints_what_simulate_prints() {
    run "$CLAUSIUS" export c adiabatic-piston -o piston --start "x=0.5, v.x=1"
    expect_ok
    expect_no_stdout
    expect_stderr 'adiabatic-piston by discrete-gradient as c: piston, 5 files'
    for f in adiabatic_piston.h adiabatic_piston.c main.c CMakeLists.txt README.md; do expect_file piston/$f; done
    expect compile piston
    piston/main 300 0.02 >exported.csv
    "$CLAUSIUS" simulate adiabatic-piston --start "x=0.5, v.x=1" --steps 300 --h 0.02 --quiet -o simulated.csv
    same_numbers exported.csv simulated.csv
    run "$CLAUSIUS" audit exported.csv
    expect_ok
    expect_stdout 'laws hold'
}

# What --set gave is noted in the rows, so that the judge takes it; what is set where it runs replaces it.
test_rows_say_what_was_set() {
    "$CLAUSIUS" export c adiabatic-piston --set "L=3, m=2" -o piston --prefix gas --quiet
    expect_in_file 'with `--set "L=3, m=2"`' piston/README.md
    expect compile piston
    piston/main 200 >rows.csv
    expect_in_file '^# set: L=3, m=2$' rows.csv
    run "$CLAUSIUS" audit rows.csv
    expect_ok
    expect_stdout 'laws hold'
    piston/main 200 0.01 1 m=1.5 >other.csv
    expect_in_file '^# set: L=3, m=1.5$' other.csv
    run "$CLAUSIUS" audit other.csv
    expect_ok
}

test_js_follows_the_library() {
    command -v node >/dev/null || skip "no node"
    local s n=0
    for s in $("$CLAUSIUS" systems | cut -d' ' -f1); do
        n=$((n + 1))
        run "$CLAUSIUS" export js "$s" -o m.mjs --quiet
        grep -q 'has thermal noise' "$err" && continue
        expect_ok
        "$CLAUSIUS" simulate "$s" --steps 200 --quiet -o rows.csv || fail "simulate $s"
        run node "$SOURCE/tests/export/check.mjs" m.mjs rows.csv
        expect_ok
        expect_stdout ': 201 rows'
    done
    expect test $n -ge 14
}

# Steps without equations: friction and heat, accounts of work, a field in space.
test_explicit_steps_in_every_target() {
    local s k
    for s in two-pistons:lawful-rk4 two-pistons:lawful-rk6 fuel-cell:lawful-rk8 heat-rod:lawful-rk8; do
        k=${s#*:} s=${s%:*}
        "$CLAUSIUS" simulate "$s" --scheme "$k" --steps 200 --quiet -o rows.csv || fail "simulate $s"
        run "$CLAUSIUS" export c "$s" --scheme "$k" -o c --prefix ex --quiet
        expect_ok
        expect_in_file 'A step solves no equations: (4|7|11) stages' c/ex.h
        expect_in_file 'at most 2047 attempts' c/ex.h
        expect_in_file "Scheme .$k.*explicit.*Keeps exactly: energy, entropy" c/README.md
        expect_nothing c/README.md README.md Newton
        expect gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -O1 c/*.c -lm -o c/main
        c/main 200 >there.csv || fail "$s by $k does not run"
        run "$CLAUSIUS" compare there.csv rows.csv --tolerance 0
        expect_ok
        run "$CLAUSIUS" audit there.csv
        expect_ok
        run "$CLAUSIUS" export fmu "$s" --scheme "$k" -o s.fmu --quiet
        expect_ok
        command -v node >/dev/null || continue
        run "$CLAUSIUS" export js "$s" --scheme "$k" -o m.mjs --quiet
        expect_ok
        run node "$SOURCE/tests/export/check.mjs" m.mjs rows.csv
        expect_ok
        expect_stdout ': 201 rows'
    done
}

test_halvings_are_bounded() {
    local n
    for n in 0 3; do
        run "$CLAUSIUS" export c ideal-gas-piston --scheme lawful-rk8 --max-halvings $n -o c$n --prefix ex --quiet
        expect_ok
        gcc -std=c99 -Wall -Wextra -Werror -O1 c$n/*.c -lm -o c$n/main || fail "it does not compile"
        run c$n/main 20 0.01
        expect_ok
    done
    expect_in_file 'A step that is too long is refused' c0/ex.h
    expect_in_file 'at most 15 attempts' c3/ex.h
    run "$CLAUSIUS" export c pendulum --max-halvings 61 -o p
    expect_exit 2
    expect_stderr 'max_halvings must be from 0 to 60'
    expect_no_file p
    run "$CLAUSIUS" export c pendulum --max-halvings -1 -o p
    expect_exit 2
    expect_no_file p
}

# What the card says of the trial is measured, also of schemes that lose energy.
test_cards_tell_what_was_measured() {
    run "$CLAUSIUS" export c adiabatic-piston --scheme vnots -o p --quiet
    expect_ok
    expect_in_file 'over 10000 steps of 0.01 from the default start: relative energy error 0\.0009' p/README.md
}

test_networks_are_arrays_and_loops() {
    "$CLAUSIUS" simulate adiabatic-piston --steps 60 --quiet -o data.csv
    "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "F1, F2" --field "network(24, 20)" --optimizer adam \
        --epochs 3 --threads 1 --quiet -o m.safetensors
    "$CLAUSIUS" simulate m.safetensors --steps 200 --h 0.01 --quiet -o simulated.csv
    run "$CLAUSIUS" export c m.safetensors -o c --quiet
    expect_ok
    expect_in_file 'static const N_NUMBER field0\[' c/adiabatic_piston.c
    expect test "$(wc -c <c/adiabatic_piston.c)" -lt 300000
    expect compile c
    c/main 200 0.01 >exported.csv
    same_numbers exported.csv simulated.csv
    command -v node >/dev/null || return 0
    "$CLAUSIUS" export js m.safetensors -o m.mjs --quiet
    run node "$SOURCE/tests/export/check.mjs" m.mjs simulated.csv
    expect_ok
    expect_stdout ': 201 rows'
}

# The texts are cut to what a model calls: whatever it is, compilers have nothing to say.
test_every_function_alone() {
    local f
    for f in exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh softplus sigmoid erf; do
        cat >f.clausius <<S
system "one function"
coordinate q in (1.1, 5)
lagrangian v.q^2/2 - $f($([[ $f == acosh ]] || echo "0.1*")q)
start q = 2, v.q = 0.1
S
        "$CLAUSIUS" export c f.clausius -o f --prefix fun --quiet || fail "export $f"
        gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only f/*.c 2>said || fail "$f: $(head -3 said)"
    done
}

test_fmu_by_fmpy() {
    local python=$CLAUSIUS_BUILD/fmpy/bin/python v
    "$python" -c 'import fmpy' 2>/dev/null || skip "no FMPy in build/fmpy (tools/fmpy-env build/fmpy, or make check-long)"
    "$CLAUSIUS" simulate adiabatic-piston --steps 30 --quiet -o rows.csv
    for v in 2 3; do
        run "$CLAUSIUS" export fmu adiabatic-piston --fmi $v -o piston.fmu
        expect_ok
        run "$python" "$SOURCE/tests/export/check_fmu.py" piston.fmu rows.csv
        expect_ok
        expect_stdout 'same bits, 0 messages'
    done
    "$CLAUSIUS" simulate two-pistons --scheme lawful-rk8 --steps 30 --quiet -o rows.csv
    "$CLAUSIUS" export fmu two-pistons --scheme lawful-rk8 -o two.fmu --quiet
    run "$python" "$SOURCE/tests/export/check_fmu.py" two.fmu rows.csv
    expect_ok
    expect_stdout 'same bits, 0 messages'
}

test_fmu_has_sources_and_needs_an_old_c_library_only() {
    command -v unzip >/dev/null || skip "no unzip"
    run "$CLAUSIUS" export fmu pendulum -o p.fmu
    expect_ok
    unzip -q p.fmu
    expect gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror -O1 -shared -fPIC sources/*.c -lm -o own.so
    expect test ! -e p.fmu.tmp
    [[ $(uname -m) == x86_64 ]] || skip "the names of versions are those of x86-64"
    objdump -T binaries/linux64/pendulum.so | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 >newest
    expect_in_file '^GLIBC_2\.([0-9]|1[0-9])(\.|$)' newest
    run "$CLAUSIUS" export fmu pendulum -o no/such/place.fmu
    expect_exit 5
    run "$CLAUSIUS" export fmu pendulum --fmi 4 -o q.fmu
    expect_exit 2
    expect test ! -e q.fmu
}

test_show_reads_back() {
    "$CLAUSIUS" export c pendulum -o p --quiet
    "$CLAUSIUS" export fmu pendulum -o p.fmu --fmi 3 --quiet
    for f in p p.fmu; do
        run "$CLAUSIUS" show $f
        expect_ok
        expect_stdout 'from `pendulum`'
        expect_stdout 'Scheme `discrete-gradient`'
    done
    expect_stdout 'sources/buildDescription.xml'
    mkdir pendulum # a folder of one's own does not hide the system
    run "$CLAUSIUS" show pendulum
    expect_ok
    expect_stdout '^pendulum: plane pendulum'
    mkdir empty
    run "$CLAUSIUS" show empty
    expect_exit 4
    expect_stderr 'no model card'
    mkdir -p hostile/documentation # its text and the names of its files are shown, not obeyed
    printf 'Written by clausius\n\033[31mred\302\233' >hostile/documentation/README.md
    touch "hostile/$(printf 'a\033[31m')"
    (cd hostile && python3 -m zipfile -c ../hostile.fmu documentation a*)
    run "$CLAUSIUS" show hostile.fmu
    expect_ok
    expect_stdout '^\\x1b\[31mred'
    expect_no_stdout $'\033'
    expect_no_stdout $'\302\233'
    echo no >bad.fmu
    run "$CLAUSIUS" show bad.fmu
    expect_exit 4
}

test_names_are_mapped() {
    run "$CLAUSIUS" export c pendulum -o p --prefix swing --quiet
    expect_ok
    expect_no_stderr
    expect_in_file 'SWING_COLUMN_v_q.*/\* v\.q \*/' p/swing.h
}

# S[1][2] is no structured name of FMI: grids say so.
test_names_of_grids_are_flat() {
    run "$CLAUSIUS" export fmu heat-plate --set "N=2" -o g.fmu --quiet
    expect_ok
    unzip -p g.fmu modelDescription.xml >g.xml
    expect_in_file 'variableNamingConvention="flat"' g.xml
    run "$CLAUSIUS" export fmu pendulum -o p.fmu --quiet
    unzip -p p.fmu modelDescription.xml >p.xml
    expect_in_file 'variableNamingConvention="structured"' p.xml
}

# A system may be called like a name inside: its struct would hide there.
test_names_inside_stay_free() {
    local n
    for n in chain above lambda received x3 motion step; do
        "$CLAUSIUS" show ideal-gas-piston --source >"$n.clausius"
        "$CLAUSIUS" export c "$n.clausius" -o p --quiet || fail "export $n"
        gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only p/*.c 2>said || fail "$n: $(head -3 said)"
        rm -r p
    done
}

test_what_cannot_be_exported_is_refused() {
    run "$CLAUSIUS" export c pendulum -o p --scheme bdf
    expect_exit 2
    expect_stderr 'bdf cannot be exported: .*take discrete-gradient'
    expect test ! -e p
    run "$CLAUSIUS" export cc pendulum -o p
    expect_exit 2
    expect_stderr "'cc' is no kind of export; there are c, js, fmu"
    run "$CLAUSIUS" export c pendulum
    expect_exit 2
    expect_stderr 'say where it goes: -o DIR'
    run "$CLAUSIUS" export c pendulum -o p --prefix 'a b'
    expect_exit 2
    expect_stderr 'prefix'
    expect test ! -e p
}

test_places_that_cannot_be_written_stay_clean() {
    run "$CLAUSIUS" export c pendulum -o no/such/place
    expect_exit 5
    expect_stderr 'no/such/place: cannot write'
    run "$CLAUSIUS" export js pendulum -o /dev/full
    expect_exit 5
    expect_stderr '/dev/full: cannot write: No space left on device; nothing was left behind'
    : >file
    run "$CLAUSIUS" export c pendulum -o file
    expect_exit 5
    expect test ! -s file
}

write_chain() {
    cat >chain.clausius <<'END'
system "a chain with heat"
parameter N = 8, k = 1, c = 0.1, kappa = 0.2
coordinate u[1..N]
entropy s[1..N]
let d[i] = u[i+1] - u[i]
let u[0] = 0
let u[N+1] = 0
hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: k*d[i]^2/2 + d[i]^4/4)
for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]
for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa
for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0
step 0.05
END
}

# programs of matrices took N^2 of memory: 4 GB here
test_many_cells_cost_as_many() {
    [[ $CLAUSIUS == *sanitize* ]] && skip "limits of memory do not go with sanitizers"
    write_chain
    run bash -c 'ulimit -v 700000 && "$CLAUSIUS" export c chain.clausius --set N=2000 -o many'
    expect_ok
    expect_file many/chain_model.c
    run bash -c 'ulimit -v 1500000 && "$CLAUSIUS" export fmu chain.clausius --set N=5000 -o many.fmu'
    expect_ok
    unzip -p many.fmu modelDescription.xml >many.xml
    expect_in_file 'name="der\(s\[5000\])"' many.xml
    expect_in_file '<Unknown index="20002" dependencies="2 3 5002"/>' many.xml
    ! command -v xmllint >/dev/null || expect xmllint --noout many.xml
}

# an inverse of masses that are coupled has no zeros
test_too_many_pairs_for_an_fmu() {
    [[ $CLAUSIUS == *sanitize* ]] && skip "limits of memory do not go with sanitizers"
    cat >beads.clausius <<'END'
system "beads"
parameter N = 8, mu = 0.3
coordinate x[1..N]
temperature T[1..N]
thermal lagrangian sum(i in 1..N: v.x[i]^2/2 - x[i]^4/4 + 2*T[i]*(log(T[i]) - 1)) + sum(i in 1..N-1: mu*v.x[i]*v.x[i+1])
for i in 1..N: friction F[i] on T[i]: x[i] <- -0.1*v.x[i]
for i in 1..N: start x[i] = sin(i)/2, v.x[i] = cos(i)/3, T[i] = 1
step 0.02
END
    run bash -c 'ulimit -v 1000000 && "$CLAUSIUS" export fmu beads.clausius --set N=4000 -o beads.fmu'
    expect_exit 2
    expect_stderr 'on which states it depends: here that are more than 20000000 pairs'
    expect_no_file beads.fmu
}

test_fmu_of_many_states_by_fmpy() {
    local python=$CLAUSIUS_BUILD/fmpy/bin/python v
    "$python" -c 'import fmpy' 2>/dev/null || skip "no FMPy in build/fmpy (tools/fmpy-env build/fmpy, or make check-long)"
    write_chain
    "$CLAUSIUS" simulate chain.clausius --set N=600 --steps 10 --quiet -o rows.csv
    for v in 2 3; do
        "$CLAUSIUS" export fmu chain.clausius --set N=600 --fmi $v -o many.fmu --quiet
        run "$python" "$SOURCE/tests/export/check_large_fmu.py" many.fmu rows.csv
        expect_ok
        expect_stdout '1800 states, 10 steps, same bits'
    done
}

# sums are trees: their text grows like the logarithm
test_text_does_not_grow_with_cells() {
    local f bytes
    write_chain
    sed -i 's|sin(pi\*i/8)|0.5|' chain.clausius
    for n in 1000 2000; do
        "$CLAUSIUS" export c chain.clausius --set N=$n -o c$n --quiet || fail "export of $n cells"
    done
    for f in chain_model.c chain_model.h README.md; do
        bytes=($(wc -c <c1000/$f) $(wc -c <c2000/$f))
        ((bytes[1] * 100 < bytes[0] * 108)) || fail "$f grows: ${bytes[*]}"
    done
    expect_in_file '#define CHAIN_MODEL_COLUMN_p_u\(i\) \(\(i\) \+ 1000\)' c1000/chain_model.h
    expect_in_file '^\| theta\[1\] .. theta\[1000\] \| `CHAIN_MODEL_COLUMN_theta\(i\)`' c1000/README.md
    expect compile c1000
    c1000/main 10 >there.csv
    "$CLAUSIUS" simulate chain.clausius --set N=1000 --steps 10 --quiet -o here.csv
    same_numbers there.csv here.csv
    [[ $(grep -v '^#' there.csv | head -1) == "$(grep -v '^#' here.csv | head -1)" ]] || fail "other names"
}

# numbers that differ from cell to cell, a plate whose neighbours are a row away
test_bits_of_many_cells() {
    write_chain
    sed -i 's|p.u\[i\]^2/2|p.u[i]^2/(2*m[i])|; s|^let d|let m[i] = 1 + 0.01*i\n&|' chain.clausius
    "$CLAUSIUS" export c chain.clausius --set N=180 -o masses --quiet
    expect compile masses
    masses/main 20 >there.csv
    "$CLAUSIUS" simulate chain.clausius --set N=180 --steps 20 --quiet -o here.csv
    same_numbers there.csv here.csv
    "$CLAUSIUS" export c heat-plate --set N=21 -o plate --prefix plate --quiet
    expect_in_file '#define PLATE_COLUMN_S\(i, j\) \(21 \* \(i\) \+ \(j\) - 21\) /\* S\[1\]\[1\] .. S\[21\]\[21\]' plate/plate.h
    expect compile plate
    plate/main 20 >there.csv
    "$CLAUSIUS" simulate heat-plate --set N=21 --steps 20 --quiet -o here.csv
    same_numbers there.csv here.csv
}

# as C and as script above the size from which slopes are lists
test_text_of_many_cells() {
    local n
    write_chain
    "$CLAUSIUS" export c chain.clausius --set N=200 -o c200 --quiet
    expect compile c200
    c200/main 50 >there.csv
    "$CLAUSIUS" simulate chain.clausius --set N=200 --steps 50 --quiet -o here.csv
    same_numbers there.csv here.csv
    c200/main 5 0.05 1 'theta[2]=2' 'v.u[1]=0.3' >there.csv || fail "a start by other sides"
    "$CLAUSIUS" simulate chain.clausius --set N=200 --steps 5 --start 'theta[2]=2, v.u[1]=0.3' --quiet -o here.csv
    run "$CLAUSIUS" compare there.csv here.csv --tolerance 1e-11
    expect_ok
    command -v node >/dev/null || return 0
    run "$CLAUSIUS" export js chain.clausius --set N=200 -o chain.mjs
    expect_ok
    cat >start.mjs <<'END'
import { Model } from './chain.mjs';
const m = new Model(), why = m.start({ 'theta[2]': 2, 'v.u[1]': 0.3 });
if (why) throw why;
const row = m.row();
console.log(row.every(Number.isFinite) ? 'finite' : 'not finite', m.step(0.05) || 'stepped');
END
    run node start.mjs
    expect_ok
    expect_stdout 'finite stepped'
}

run_tests
