#!/usr/bin/env bash
# Many processes: shards and their merge, equal to one run byte for byte.
. "$(dirname "$0")/../cli/lib.sh"

ensemble() { # ARGS...
    "$CLAUSIUS" simulate ideal-gas-piston --samples 9 --sample "x~U(2,4), v.x~N(0,0.5)" --seed 7 --steps 40 --every 10 --quiet "$@"
}

test_shards_of_an_ensemble_merge_to_the_bytes_of_one_run() {
    local n i
    ensemble -o one.csv || fail "one run"
    for n in 1 3 11; do # 11: some are empty
        for ((i = 0; i < n; i++)); do ensemble --shard $i/$n -o part-$n-$i.csv || fail "shard $i/$n"; done
        run "$CLAUSIUS" merge part-$n-*.csv -o all-$n.csv
        expect_ok
        expect_same one.csv all-$n.csv
    done
    run "$CLAUSIUS" merge part-3-2.csv part-3-0.csv part-3-1.csv # any order, onto stdout
    expect_ok
    expect_same "$out" one.csv
}

# Parameters are no starts, and the message says what to do about it.
test_a_sample_of_a_parameter_is_refused_with_advice() {
    run "$CLAUSIUS" simulate ideal-gas-piston --samples 9 --sample "x~U(2,4), gamma~U(0,1)" --steps 4 --quiet
    expect_exit 2
    expect_stderr 'start: `gamma` is a parameter of ideal-gas-piston, .*--set "gamma=\.\.\."'
    run "$CLAUSIUS" simulate ideal-gas-piston --samples 9 --sample "gama~U(0,1)" --steps 4 --quiet
    expect_exit 2
    expect_stderr 'has no variable `gama`'
}

# As every other output: a link stays a link, a device a device.
test_merge_keeps_links_and_devices() {
    ensemble --shard 0/1 -o p0.csv || fail "shard"
    ln -s target.csv link.csv
    run "$CLAUSIUS" merge p0.csv -o link.csv # to nowhere yet
    expect_ok
    [[ -L link.csv ]] || fail "the link was replaced"
    expect_file target.csv
    cp target.csv first.csv
    run "$CLAUSIUS" merge p0.csv -o link.csv # to a file
    expect_ok
    [[ -L link.csv && ! -L target.csv ]] || fail "the link was replaced"
    expect_same first.csv target.csv
    mkfifo pipe
    cat pipe >through.csv &
    run "$CLAUSIUS" merge p0.csv -o pipe
    expect_ok
    wait
    [[ -p pipe ]] || fail "the pipe was replaced"
    expect_same first.csv through.csv
}

test_a_shard_has_its_own_trajectories_only() {
    run ensemble --shard 1/2 -o b.csv
    expect_ok
    expect_in_file '^# shard: 1/2 of 9$' b.csv
    expect_in_file '^# end: 25 rows, sum [0-9a-f]{16}$' b.csv
    run "$CLAUSIUS" data inspect b.csv # a table like others
    expect_ok
    expect_stdout '25 rows'
    expect test "$(grep -v '^#' b.csv | sed 1d | cut -d, -f1 | sort -nu | head -n 1)" = 4
}

test_wrong_shards_are_refused() {
    local s
    for s in 2/2 -1/2 1 1/2x ''; do
        run ensemble "--shard=$s" -o x.csv
        expect_exit 2
        expect_stderr 'i/n with i from 0'
        expect_no_file x.csv
    done
    run "$CLAUSIUS" simulate pendulum --shard 0/2 --steps 5
    expect_exit 2
    expect_stderr '\-\-shard needs --samples'
}

test_parts_that_do_not_belong_together_are_named() {
    local i
    for i in 0 1 2; do ensemble --shard $i/3 -o p$i.csv; done
    run "$CLAUSIUS" merge p0.csv p2.csv -o all.csv
    expect_exit 3
    expect_stderr 'shard 1/3 is missing'
    run "$CLAUSIUS" merge p0.csv p1.csv p1.csv p2.csv -o all.csv
    expect_exit 3
    expect_stderr 'both shard 1'
    "$CLAUSIUS" simulate ideal-gas-piston --samples 23 --sample "x~U(2,4)" --seed 8 --steps 4 --quiet --shard 1/3 -o other.csv
    run "$CLAUSIUS" merge p0.csv other.csv p2.csv -o all.csv
    expect_exit 3
    expect_stderr 'different runs'
    ensemble -o one.csv
    run "$CLAUSIUS" merge one.csv -o all.csv
    expect_exit 3
    expect_stderr 'not a part'
    expect_no_file all.csv
}

learning() { # ARGS...
    "$CLAUSIUS" learn adiabatic-piston train.csv --unknown "F1, F2" --quiet "$@"
}

data() {
    "$CLAUSIUS" simulate adiabatic-piston --samples 60 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" \
        --seed 7 --steps 20 --scheme bdf --quiet -o train.csv
}

test_shards_of_a_learning_merge_to_the_bytes_of_one_run() {
    local n i
    data
    run learning --field "chebyshev(3)" -o one.safetensors
    expect_ok
    for n in 1 3; do
        for ((i = 0; i < n; i++)); do
            learning --field "chebyshev(3)" --shard $i/$n --threads $((1 + i % 2)) -o $n-$i.part || fail "shard $i/$n"
        done
        run "$CLAUSIUS" merge $n-*.part -o all-$n.safetensors --quiet
        expect_ok
        expect_same one.safetensors all-$n.safetensors
        expect_in_file '^phase,' all-$n.log.csv
    done
    run "$CLAUSIUS" merge 3-0.part 3-2.part -o x.safetensors
    expect_exit 3
    expect_stderr 'shard 1/3 is missing'
    run "$CLAUSIUS" merge 3-0.part 3-1.part 1-0.part -o x.safetensors
    expect_exit 3
}

# Steps of a scheme: which one is found by trials, which are no part of what the shards leave.
test_shards_of_steps_of_a_scheme() {
    local i
    "$CLAUSIUS" simulate adiabatic-piston --samples 20 --sample "x~U(-1,1), v.x~U(-1,1)" --h 0.05 --steps 12 --quiet -o train.csv
    run learning -o one.safetensors
    expect_ok
    for i in 0 1; do learning --shard $i/2 -o $i.part || fail "shard $i/2"; done
    run "$CLAUSIUS" merge 0.part 1.part -o all.safetensors --quiet
    expect_ok
    expect_same one.safetensors all.safetensors
    learning --field "chebyshev(2)" --shard 1/2 -o 1.part
    run "$CLAUSIUS" merge 0.part 1.part -o x.safetensors --quiet
    expect_exit 3
}

test_a_part_of_other_data_is_refused() {
    local i
    data
    for i in 0 1; do learning --field "chebyshev(3)" --shard $i/2 -o $i.part; done
    sed -i '$d' train.csv
    run "$CLAUSIUS" merge 0.part 1.part -o x.safetensors --quiet
    expect_exit 3
    expect_stderr 'other data'
    expect_no_file x.safetensors
}

# flip FILE BYTE: one bit of it.
flip() { python3 -c 'import sys; b = bytearray(open(sys.argv[1], "rb").read()); b[int(sys.argv[2])] ^= 4; open(sys.argv[1], "wb").write(b)' "$1" "$2"; }

# A part that a copy cut or a disk changed, or that somebody made up, is named; nothing is written.
test_damaged_parts_are_refused() {
    local i size
    data
    for i in 0 1; do
        ensemble --shard $i/2 -o p$i.csv
        learning --field "chebyshev(3)" --shard $i/2 -o $i.part
    done
    head -c -100 p1.csv >cut.csv               # within a row
    sed '$d' p1.csv >rows.csv                  # all rows, but it does not say how many
    sed '$d' p1.csv | sed '$d' >last.csv       # at the end of a row
    { sed '$d' last.csv; tail -n1 p1.csv; } >inside.csv # a row of the last trajectory is not there
    grep -v '^8,' p1.csv >short.csv            # the last trajectory is not there
    sed 's/^5,/7,/' p1.csv >other.csv          # another order
    sed '/^5,/s/1,/2,/' p1.csv >digit.csv      # other numbers
    sed 's/$/\r/' p1.csv >text.csv             # carried over as text
    cat p1.csv p1.csv >twice.csv
    for i in cut rows last inside short other digit text twice; do
        run "$CLAUSIUS" merge p0.csv $i.csv -o all.csv
        expect_exit 3
        expect_stderr "^clausius merge: $i.csv: damaged: .*; run shard 1/2 again"
    done
    sed 's/^# h: .*/# h: 7/' p0.csv >h0.csv # the heads belong to the sum
    sed 's/^# h: .*/# h: 7/' p1.csv >h1.csv
    run "$CLAUSIUS" merge h0.csv h1.csv -o all.csv
    expect_exit 3
    expect_stderr "h0.csv: damaged"
    size=$(stat -c %s 1.part)
    for i in 20 $((size / 2)) $((size - 3)); do
        cp 1.part flipped.part
        flip flipped.part "$i"
        run "$CLAUSIUS" merge 0.part flipped.part -o x.safetensors
        expect_exit 3
        expect_stderr "flipped.part"
    done
    printf 'clausius part 2\n{"arguments":[1,null],"shard":0,"shards":1}\n' >numbers.part
    printf 'clausius part 2\n{"arguments":["pendulum","a.csv","--output=evil"],"shard":0,"shards":1}\n' >output.part
    for i in numbers output; do
        run "$CLAUSIUS" merge $i.part -o x.safetensors
        expect_exit 3
        expect_stderr "$i.part: not a part"
    done
    mkfifo fifo
    RUN_LIMIT=5 run "$CLAUSIUS" merge fifo p1.csv -o all.csv
    expect_exit 5
    expect_no_file all.csv x.safetensors evil
}

test_a_learning_that_iterates_has_no_shards() {
    data
    run learning --shard 0/2 --optimizer adam -o 0.part
    expect_exit 2
    expect_stderr 'one solve'
    run learning --shard 0/2 --field "network(8)" -o 0.part
    expect_exit 2
    expect_stderr 'one solve'
    run learning --shard 0/2 -o 0.safetensors
    expect_exit 2
    expect_stderr 'a part, not a model'
}

# Ended by SIGTERM when it has computed for half a second: told, with nothing left behind, long before the work would be over.
ends_when_told() { # ARGS...
    local job began stat
    "$CLAUSIUS" "$@" >said 2>&1 &
    job=$!
    for _ in $(seq 300); do
        read -ra stat <"/proc/$job/stat" || break
        ((stat[13] >= 50)) && break # hundredths of a second
        sleep 0.1
    done
    began=$SECONDS
    kill -TERM "$job" || fail "it was over: $(cat said)"
    code=0
    wait "$job" || code=$?
    expect_exit 130
    expect test $((SECONDS - began)) -lt 10 # a loaded machine; alone it is a tenth of a second
    expect_in_file 'interrupted' said
}

test_ensembles_hear_a_signal() {
    ends_when_told simulate adiabatic-piston --samples 100000 --sample "x~U(-1,1)" --steps 1e7 --every 1e7 -o "$PWD/x.csv"
    ends_when_told simulate adiabatic-piston --scheme discrete-gradient-4 --samples 3 --sample "x~U(-1,1)" --steps 1e9 --every 1e9 -o "$PWD/x.csv"
    expect_no_file x.csv*
}

test_how_many_windows_there_were_is_said() {
    data
    run "$CLAUSIUS" learn adiabatic-piston train.csv --unknown "F1, F2" --field "chebyshev(2)" --max-windows 100 -o m.safetensors
    expect_ok
    expect_stderr '^  windows +100 to learn from of 1026 that there are \(--max-windows\), 114 to validate$'
    run "$CLAUSIUS" learn adiabatic-piston train.csv --unknown "F1, F2" --field "chebyshev(2)" -o m.safetensors
    expect_stderr '^  windows +1026 to learn from, 114 to validate$'
}

# More columns than a block of 32,768 rows has room for: 70 MB of text, of which a tenth is the system's.
test_wide_files_are_read_in_blocks() {
    run "$CLAUSIUS" simulate adiabatic-piston --samples 170 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" --seed 1 --steps 199 --scheme rk4 --quiet -o narrow.csv
    expect_ok
    awk 'BEGIN { for (k = 0; k < 640; k++) { names = names ",c" k; tail = tail "," k % 90 + 10 } } /^#/ { print; next } { print $0 (/^t/ ? names : tail) }' narrow.csv >wide.csv
    expect test "$(stat -c %s wide.csv)" -gt 67108864
    run "$CLAUSIUS" learn adiabatic-piston wide.csv --unknown "F1, F2" --field "chebyshev(2)" -o wide.safetensors
    expect_ok
    expect_stderr '^  windows +[0-9]+ to learn from, 2000 to validate$'
    expect_stderr '^  rank +30 of 30'
    rm -f wide.csv
}

# One solve uses every row, whatever the format and however few bytes there are, in one process or in shards; the points by which the
# rest is chosen are 20,000. Iterations take fewer, and say so.
test_one_solve_uses_every_window() {
    run "$CLAUSIUS" simulate adiabatic-piston --samples 150 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" --seed 1 --steps 199 --scheme rk4 --quiet -o long.csv
    run "$CLAUSIUS" data convert long.csv -o long.npz
    for format in csv npz; do
        run "$CLAUSIUS" learn adiabatic-piston long.$format --unknown "F1, F2" --field "chebyshev(2)" -o $format.safetensors
        expect_ok
        expect_stderr '^  windows +26730 to learn from, 2000 to validate$'
        run "$CLAUSIUS" show $format.safetensors --formulas
        cp "$out" said.$format
    done
    expect cmp said.csv said.npz
    for i in 0 1 2; do
        run "$CLAUSIUS" learn adiabatic-piston long.csv --unknown "F1, F2" --field "chebyshev(2)" --quiet --shard $i/3 -o long-$i.part
        expect_ok
    done
    run "$CLAUSIUS" merge long-0.part long-1.part long-2.part -o merged.safetensors
    expect_ok
    expect cmp csv.safetensors merged.safetensors
    run "$CLAUSIUS" learn adiabatic-piston long.csv --unknown "F1, F2" --field "chebyshev(2)" --max-windows 20000 -o some.safetensors
    expect_stderr '^  windows +20000 to learn from of 26730 that there are \(--max-windows\), 2000 to validate$'
    run cmp -s csv.safetensors some.safetensors # other rows, another solution
    expect_exit 1
}

run_tests
