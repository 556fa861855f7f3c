#!/usr/bin/env bash
# Bad input: each kind has a clear message, the documented exit code, and leaves nothing behind.
. "$(dirname "$0")/../cli/lib.sh"

good_system() {
    cat <<'END'
system "test piston"
coordinate x in (0, 5)
entropy S
parameter m = 1, c = 1, gamma = 0.1
lagrangian m*v.x^2/2 - exp(S)*x^(-2/3)/c
friction on S: x <- -gamma*v.x
start x = 1, v.x = 0, S = 0.5
END
}

# expect_refused CODE REGEX: the last run failed so, said so, and wrote nothing.
expect_refused() {
    expect_exit "$1"
    expect_stderr "^clausius simulate: "
    expect_stderr "$2"
    expect_no_stdout
    expect_no_file out.csv*
}

test_the_good_system_works() {
    good_system >good.clausius
    run "$CLAUSIUS" simulate good.clausius --steps 10 -o out.csv
    expect_ok
    expect_file out.csv
}

test_misspelt_symbol() {
    good_system | sed 's/-gamma\*/-gamm*/' >bad.clausius
    run "$CLAUSIUS" simulate bad.clausius -o out.csv
    expect_refused 4 'bad\.clausius:6:.*gamm'
    expect_stderr 'gamma'
}

test_missing_friction_temperature() {
    good_system | sed 's/friction on S:/friction:/' >bad.clausius
    run "$CLAUSIUS" simulate bad.clausius -o out.csv
    expect_refused 4 'bad\.clausius:6:'
    expect_stderr 'friction on S'
    good_system | sed 's/friction on S:/friction on S2:/' >bad.clausius
    run "$CLAUSIUS" simulate bad.clausius -o out.csv
    expect_refused 4 'bad\.clausius:6:.*S2'
    good_system | sed '/^entropy/d; s/exp(S)/1/; s/, S = 0.5//' >bad.clausius
    run "$CLAUSIUS" simulate bad.clausius -o out.csv
    expect_refused 4 'bad\.clausius:5:'
}

test_unfinished_and_empty_system_files() {
    good_system | sed 's/exp(S)/exp(S/' >bad.clausius
    run "$CLAUSIUS" simulate bad.clausius -o out.csv
    expect_refused 4 'bad\.clausius:5:'
    : >empty.clausius
    run "$CLAUSIUS" simulate empty.clausius -o out.csv
    expect_refused 4 'empty\.clausius'
    head -c 3000 /dev/urandom >noise.clausius
    run "$CLAUSIUS" simulate noise.clausius -o out.csv
    expect_refused 4 'noise\.clausius'
    run "$CLAUSIUS" simulate absent.clausius -o out.csv
    expect_refused 4 'absent\.clausius.*No such file'
}

test_ends_of_lines_and_marks_of_editors() {
    good_system | sed $'s/$/\r/; 1s/^/\xef\xbb\xbf/' >windows.clausius
    run "$CLAUSIUS" simulate windows.clausius --steps 10 -o out.csv
    expect_ok
    rm out.csv
    good_system | tr '\n' '\r' >cr.clausius # a comment would swallow the lines below it
    run "$CLAUSIUS" simulate cr.clausius -o out.csv
    expect_refused 4 'cr\.clausius:1:21: a carriage return inside the line'
}

# What steers a terminal, or turns the order in which letters are shown, is refused and quoted as marks.
test_letters_that_may_not_be_shown() {
    local bad
    for bad in $'\x1b[31m' $'\xc2\x9b31m' $'\xe2\x80\xae' $'\xe2\x81\xa6' $'\xff'; do
        good_system | LC_ALL=C sed "1s/test/$bad/" >bad.clausius
        run "$CLAUSIUS" simulate bad.clausius -o out.csv
        expect_refused 4 'bad\.clausius:1:9: (control character|byte) 0x'
        LC_ALL=C grep -qF "$bad" "$err" && fail "$(printf %q "$bad") reached the terminal"
    done
    good_system | LC_ALL=C sed $'2s/$/ # \xe2\x80\xae/' >bad.clausius
    run "$CLAUSIUS" simulate bad.clausius -o out.csv
    expect_refused 4 'bad\.clausius:2:26: byte 0xe2'
    good_system | LC_ALL=C sed $'1s/test/\xe6\xb8\xa9/; 2s/$/ # \xf6/' >fine.clausius
    run "$CLAUSIUS" simulate fine.clausius --steps 10 -o out.csv
    expect_ok
}

test_start_outside_the_domain() {
    good_system >good.clausius
    run "$CLAUSIUS" simulate good.clausius --start "x=6" -o out.csv
    expect_refused 2 'x = .*outside its domain'
    run "$CLAUSIUS" simulate adiabatic-piston --start "x=2.5" -o out.csv
    expect_refused 2 'x = .*outside its domain'
    run "$CLAUSIUS" simulate adiabatic-piston --start "T1=-1" -o out.csv
    expect_refused 2 'T1 = -1 .*outside its domain'
}

test_unknown_start_name() {
    run "$CLAUSIUS" simulate adiabatic-piston --start "vx=1" -o out.csv
    expect_refused 2 'vx.*did you mean .v\.x'
}

test_step_zero_negative_and_not_a_number() {
    local h
    for h in 0 -0.1 nan NaN inf; do
        run "$CLAUSIUS" simulate pendulum --h "$h" -o out.csv
        expect_refused 2 '--h'
        run "$CLAUSIUS" audit pendulum --h "$h"
        expect_exit 2
    done
}

test_not_a_number_in_start_and_set() {
    run "$CLAUSIUS" simulate pendulum --start "q=nan" -o out.csv
    expect_refused 2 'q'
    run "$CLAUSIUS" simulate pendulum --set "k=inf" -o out.csv
    expect_refused 2 'k'
    run "$CLAUSIUS" simulate pendulum --start "q=0/0" -o out.csv
    expect_refused 2 'q'
}

test_not_a_number_in_data() {
    printf 'time,q,v.q,p.q\n0,1,0,0\n1,nan,0,0\n' >bad.csv
    run "$CLAUSIUS" audit pendulum --against bad.csv
    expect_exit 3
    expect_stderr 'bad\.csv.*3'
    printf 'time,q,v.q\n0,1,0\n1,one,0\n' >bad.csv
    run "$CLAUSIUS" simulate pendulum --from bad.csv
    expect_exit 3
    expect_stderr 'bad\.csv.*3'
    printf 'time,q,v.q\n0,1,0\n1,1\n' >bad.csv
    run "$CLAUSIUS" data inspect bad.csv
    expect_exit 3
}

test_missing_state_lists_the_columns() {
    printf 'time,angle\n0,1\n1,1\n' >other.csv
    run "$CLAUSIUS" audit pendulum --against other.csv
    expect_exit 3
    expect_stderr 'angle'
}

test_unwritable_output() {
    run "$CLAUSIUS" simulate pendulum --steps 5 -o no/such/place/out.csv
    expect_refused 5 'no/such/place/out\.csv'
    mkdir out.d
    run "$CLAUSIUS" simulate pendulum --steps 5 -o out.d/
    expect_exit 5
    mkdir closed.csv
    run "$CLAUSIUS" simulate pendulum --steps 5 -o closed.csv
    expect_exit 5
}

test_full_disk() {
    run "$CLAUSIUS" simulate pendulum --steps 5 -o /dev/full
    expect_exit 5
    expect_stderr 'No space left'
    "$CLAUSIUS" simulate pendulum --steps 1e5 --quiet >/dev/full 2>message
    [[ $? == 5 ]] || fail "expected exit code 5 from rows on a full stdout"
    expect_in_file 'No space left' message
}

test_full_disk_leaves_the_old_file() {
    echo precious >run.csv
    run bash -c 'trap "" XFSZ; ulimit -f 8; exec "$0" simulate pendulum --steps 1e5 --quiet -o run.csv' "$CLAUSIUS"
    expect_exit 5
    expect_stderr 'run\.csv'
    expect test "$(cat run.csv)" = precious
    expect test "$(ls | wc -l)" = 1
}

# The file would get the number of the closed stream, and what is printed there would stand in it.
test_closed_streams_are_no_files() {
    local how
    "$CLAUSIUS" simulate pendulum --steps 5 --quiet -o ref.csv
    for how in '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
        run bash -c "'$CLAUSIUS' simulate pendulum --steps 5 -o closed.csv $how"
        expect_ok
        expect_same ref.csv closed.csv
    done
    run bash -c "'$CLAUSIUS' show pendulum >&-"
    expect_exit 5
    expect_stderr 'cannot write to standard output: Bad file descriptor'
    run bash -c "'$CLAUSIUS' audit - <&-"
    expect_exit 5
    expect_stderr 'standard input: cannot read: Bad file descriptor'
}

test_a_limit_on_the_size_of_files_is_an_error() {
    run bash -c "ulimit -f 1; '$CLAUSIUS' simulate pendulum --steps 2000 --quiet -o big.csv"
    expect_exit 5
    expect_stderr 'big.csv: cannot write: File too large'
    expect_no_file big.csv*
}

# A file without an end is read no further than to its first zero; 256 MB were looked through for an end of the line.
test_devices_without_an_end() {
    local began=$SECONDS
    run "$CLAUSIUS" audit /dev/zero
    expect_exit 3
    expect_stderr '^clausius audit: /dev/zero:1: a zero byte: this is not a text file'
    run "$CLAUSIUS" show /dev/zero
    expect_exit 4
    expect test $((SECONDS - began)) -lt 10
}

# There are never more threads than motions: a simulator was made for each.
# OpenBLAS, with a thread for each processor, asks for ever for memory that it does not get.
test_compressed_files_are_named() {
    "$CLAUSIUS" simulate pendulum --steps 300 --quiet -o a.csv
    gzip -k a.csv
    run "$CLAUSIUS" audit a.csv.gz
    expect_exit 3
    expect_stderr '^clausius audit: a.csv.gz: compressed by gzip: unpack it, or give what `zcat` writes by a pipe, with - in the place of the file'
    run bash -c 'zcat a.csv.gz | "$CLAUSIUS" audit -'
    expect_ok
    printf 'BZh91AY&SY' >b.csv
    run "$CLAUSIUS" compare a.csv b.csv
    expect_exit 3
    expect_stderr 'b.csv: compressed by bzip2'
}

test_a_limit_on_the_address_space() {
    local kB
    [[ $CLAUSIUS == *sanitize* ]] && skip "limits of memory do not go with sanitizers"
    for kB in 120000 200000 400000; do
        RUN_LIMIT=20 run bash -c 'unset OPENBLAS_NUM_THREADS; ulimit -v $1; exec "$0" simulate pendulum --steps 3 --quiet' "$CLAUSIUS" $kB
        expect_ok
        expect test "$(wc -l <"$out")" -gt 4
    done
}

test_threads_that_nobody_has() {
    RUN_LIMIT=20 OMP_NUM_THREADS=1000000000 run "$CLAUSIUS" simulate pendulum --samples 3 --sample "q~U(-1,1)" --steps 3 --quiet
    expect_ok
    expect_lines 19 "$out" # six notes, names, 3 times 4 rows
}

test_formats_that_are_not_written() {
    local ending
    for ending in mat npy; do
        run "$CLAUSIUS" simulate pendulum --steps 5 -o out.$ending
        expect_refused 2 "out.$ending: such files are read, not written"
        expect_no_file out.*
    done
}

test_scheme_that_makes_no_sense_says_why() {
    run "$CLAUSIUS" simulate pendulum --scheme vnots-symmetric --steps 5 -o out.csv
    expect_refused 2 'vnots-symmetric .*pendulum'
    run "$CLAUSIUS" audit pendulum --scheme vnots-symmetric
    expect_exit 2
}

test_diverging_run_says_where() {
    printf 'system "runaway"\ncoordinate q\nhamiltonian p.q^2/2 - q^4\nstart q = 1, p.q = 1\n' >away.clausius
    local scheme
    for scheme in euler rk4 leapfrog; do
        run "$CLAUSIUS" simulate away.clausius --scheme $scheme --h 0.1 --steps 1000 -o out.csv
        expect_refused 6 'step [0-9]+'
        expect_stderr 'time'
    done
}

test_run_that_leaves_the_domain_says_where() {
    printf 'system "out"\ncoordinate q in (-1, 1)\nhamiltonian p.q^2/2\nstart q = 0, p.q = 1\n' >out.clausius
    local scheme
    for scheme in euler rk4 discrete-gradient; do
        run "$CLAUSIUS" simulate out.clausius --scheme $scheme --h 0.1 --steps 1000 -o out.csv
        expect_refused 6 'step [0-9]+'
        expect_stderr 'q'
    done
}

test_hostile_lists() {
    local text
    for text in '=' ',' 'q=1,,v.q=2' 'q==1' 'q=' '=1' 'q=1 v.q=2' "q=$(printf '(%.0s' {1..5000})1"; do
        run "$CLAUSIUS" simulate pendulum --start "$text" --steps 1 -o out.csv
        expect_refused 2 '--start'
    done
}

# soon CMD...: within two seconds of processor time and 4 GB, whatever the file asks for.
soon() { run bash -c 'ulimit -t 2 -v 4000000 && exec "$@"' - "$@"; }

# Short files whose formulas grow without bound: written out, differentiated, printed, compiled, exported.
test_short_files_are_not_expanded_for_ever() {
    local i form
    {
        echo 'function f0(d) = sin(d)*cos(d)'
        for ((i = 1; i < 40; i++)); do echo "function f$i(d) = f$((i - 1))(f$((i - 1))(d))"; done
        printf 'coordinate x\nlagrangian v.x^2/2 - f39(x)\n'
    } >functions.clausius
    printf 'coordinate x[1..3000000, 1..3000000, 1..3000000]\nlagrangian v.x[1,1,1]^2/2\n' >elements.clausius
    printf 'parameter N = 1000000\ncoordinate x[1..N]\nlagrangian v.x[1]^2/2\n' >million.clausius
    printf 'parameter N = 200000\ncoordinate x[1..N], y[1..N], z[1..N]\nlagrangian v.x[1]^2/2\n' >three.clausius
    printf 'momentum q[1..3000000, 1..3000000, 1..3000000] with velocity v\n' >pairs.clausius
    printf 'coordinate x\nlagrangian v.x^2/2 - sum(i in 1..900000000: x^i)\n' >sum.clausius
    printf 'coordinate x\nlagrangian v.x^2/2\nfor i in 1..900000000: let a[i] = x\n' >loop.clausius
    # turns that are few enough, and too much in each: letters, indices, ranges, nested sums, lets
    printf 'coordinate x\nlagrangian v.x^2/2\nfor i in 1..70000: for j in 1..70000: let a[i,j] = sin(x)*cos(x*i) + exp(-x^2)*j + x/(1 + x^2) + sqrt(1 + x^2)\n' >turns.clausius
    printf 'coordinate x\nlagrangian v.x^2/2\nfor i in 1..200000: let a[i] = 1%s\n' "$(printf '*i%.0s' {1..2000})" >indices.clausius
    printf 'coordinate x\nlagrangian v.x^2/2\nfor i in 1..2000000: for j in 1..0*(1%s): let a[j] = 1\n' "$(printf '+1%.0s' {1..20000})" >ranges.clausius
    printf 'coordinate x\nlagrangian v.x^2/2 - %sx%s\n' "$(printf 'sum(i in 1..1:%.0s' {1..60000})" "$(printf ')%.0s' {1..60000})" >nested.clausius
    printf 'coordinate x\nlagrangian v.x^2/2\n%s let a = x\n' "$(printf 'for i in 1..1:%.0s' {1..60000})" >blocks.clausius
    printf 'coordinate x\nlagrangian v.x^2/2\nfor i in 1..1100: for j in 1..1000: let a[i,j] = x\n' >lets.clausius
    printf 'coordinate %s[1..2000]\nlagrangian 1\n' "$(printf 'u%.0s' {1..300000})" >name.clausius
    for form in functions elements million three pairs sum loop turns indices ranges nested blocks lets name; do
        soon "$CLAUSIUS" show $form.clausius
        expect_exit 4
        expect_stderr "^clausius show: $form.clausius:[0-9]+:[0-9]+: .*(too often|elements of arrays up to here, at most|more than [0-9]+ times|too much for a system of 0 elements|nested too deep|longer than 60 letters)"
    done
}

# Names of components are found at once: 5,000 cells took 2.5 processor seconds, 10,000 four times as much.
test_many_components_are_read_soon() {
    printf '%s\n' 'parameter N = 10000' 'for i in 1..N: storage cell[i](entropy s): 300*exp(s)' \
        'for i in 1..N-1: resistive wall[i](entropy a, entropy b): 0.1' 'for i in 1..N-1: connect cell[i].s, wall[i].a' \
        'for i in 1..N-1: connect cell[i+1].s, wall[i].b' >cells.clausius
    soon "$CLAUSIUS" show cells.clausius
    expect_ok
    # storages with ports of 20,000 names took 3.5
    awk 'BEGIN { for (i = 1; i <= 20000; i++) printf "storage a%d(q%d): q%d^2/2\nfree a%d.q%d\n", i, i, i, i, i }' >names.clausius
    soon "$CLAUSIUS" show names.clausius
    expect_ok
    # composites: 4,000 took 8 processor seconds
    printf '%s\n' 'parameter N = 4000' 'component cell(p, out) {' '    parameter m = 1, c = 4' '    storage mass(p): p^2/(2*m)' '    storage spring(q): c*q^2/2' \
        '    junction between(q, p, out): {q, p} = -1, {q, out} = 1' '    connect mass.p, between.p, p' '    connect spring.q, between.q' '    connect between.out, out' '}' \
        'for i in 1..N: use cell as link[i]: m = 2' 'for i in 1..N-1: connect link[i].out, link[i+1].p' 'storage last(p): p^2/2' 'free link[1].p' 'connect link[N].out, last.p' >links.clausius
    soon "$CLAUSIUS" show links.clausius
    expect_ok
    sed 's/link\[i\]: m = 2/link[3]: m = 2/' links.clausius >twice.clausius
    run "$CLAUSIUS" show twice.clausius
    expect_exit 4
    expect_stderr 'a second component `link\[3\]`'
}

test_doubling_formulas_end_soon() {
    local form i
    for form in 'exp(%s)/%s' 'sqrt(%s^2 + %s)' '(%s + 1)/(%s^2 + 2)' 'sin(%s)*cos(%s)'; do
        {
            printf 'coordinate x\ntemperature T\nlet a0 = x\n'
            for ((i = 1; i <= 30; i++)); do printf "let a$i = $form\n" a$((i - 1)) a$((i - 1)); done
            printf 'thermal lagrangian G = v.x^2/2 - a30 + T*(log(T) - 1)\nfriction F on T: x <- -(1 + a30^2)*v.x\n'
            printf 'start x = 0.1, v.x = 0, T = 1\nstep 0.01\n'
        } >doubling.clausius
        for command in "show" "show --equations" "show --latex" "simulate --steps 2" "simulate --steps 2 --scheme bdf" "export js -o out.mjs"; do
            read -ra words <<<"$command"
            soon "$CLAUSIUS" "${words[@]}" doubling.clausius
            [[ $code == [0-9] ]] || fail "$form: $command"
        done
    done
}

# A long sum is a chain: every pass over it is linear, the search for its dominators too.
test_long_sums_end_soon() {
    { printf 'coordinate q\nlagrangian v.q^2/2 - q'; printf '+q%.0s' {1..60000}; printf '+q%.0s' {1..60000}; printf '\nstart q = 1, v.q = 0\nstep 0.1\n'; } >sum.clausius
    soon "$CLAUSIUS" simulate sum.clausius --steps 1 -o out.csv
    [[ $code == [0-9] ]] || fail "12 s, once"
}

test_a_draft_has_an_end() {
    python3 -c 'n = 3000; print("time," + ",".join(f"c{i}" for i in range(n))); [print(",".join(str((7*r + i) % 11) for i in range(n + 1))) for r in range(3)]' >wide.csv
    soon "$CLAUSIUS" new wide --from wide.csv
    expect_exit 3
    expect_stderr 'wide.csv has 3001 columns; a draft is made of at most 500'
    expect_no_file wide.clausius
}

# While a system is being built nobody asks for signals, and nothing is there to be kept.
test_a_signal_while_a_system_is_built() {
    local job began
    { printf 'coordinate q\nlagrangian v.q^2/2 - q'; for _ in {1..8}; do printf '*q%.0s' {1..60000}; done; printf '\nstart q = 1, v.q = 0\nstep 0.1\n'; } >product.clausius
    "$CLAUSIUS" simulate product.clausius --steps 1 -o out.csv 2>said &
    job=$!
    sleep 0.2 # it takes less than a second now; then a step would not be heard of for ten
    began=$SECONDS
    kill -TERM "$job" || fail "it was over: $(cat said)"
    code=0
    wait "$job" || code=$?
    expect_exit 143
    expect test $((SECONDS - began)) -lt 5 # ten, once
    expect_no_file out.csv*
}

# What a file says of its parameters, nobody typed: a sentence with its name, exit 3, and no crash of those that go on without it.
test_notes_of_parameters_that_make_no_sense() {
    local set
    "$CLAUSIUS" simulate pendulum --steps 20 -o fine.csv --quiet
    for set in 'k=$' 'k=2, k=3' 'k=nan' 'k=1e999' 'k=1/0' 'k=' '=3' 'k=2,' 'k=%n%s' 'k=sin(t)' $'k=\e[31m2' $'k=2\u202e'; do
        { echo '# system: pendulum' && echo "# set: $set" && grep -v '^#' fine.csv; } >bad.csv
        for words in 'compare pendulum bad.csv' 'learn pendulum bad.csv --unknown V -o m.safetensors' 'audit bad.csv'; do
            run "$CLAUSIUS" $words
            expect_exit 3
            expect_stderr 'bad.csv: its note `# set:`'
            expect_no_stderr $'\e|\u202e'
        done
        run "$CLAUSIUS" report bad.csv -o page.html # shown, not judged
        expect_ok
    done
    { echo '# system: pendulum' && echo '# set: g=9.81' && grep -v '^#' fine.csv; } >bad.csv
    run "$CLAUSIUS" audit bad.csv # what the system has not
    expect_exit 3
    expect_stderr 'bad.csv: its note `# set:`: pendulum has no parameter `g`'
}

# Not by comparing all with all: 200,000 took more than 15 processor seconds.
test_a_note_of_many_parameters_is_read_at_once() {
    "$CLAUSIUS" simulate pendulum --steps 20 -o fine.csv --quiet
    { echo '# system: pendulum' && seq -f 'a%.0f=1' -s ', ' 400000 | sed 's/^/# set: k=2, /' && grep -v '^#' fine.csv; } >many.csv
    RUN_LIMIT=30 run "$CLAUSIUS" compare pendulum many.csv
    expect_ok
    expect_stderr 'many.csv was made with k=2 '
}

run_tests
