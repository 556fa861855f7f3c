#!/usr/bin/env bash
# The disk fails: the N-th write (ENOSPC, EIO, half of it), sync or rename of every command that writes
# a file. Either it ends with 5 and leaves nothing behind, or it ends well with the same bytes.
. "$(dirname "$0")/lib.sh"

# ordered ARGUMENTS...: no loss of power, whenever it comes, leaves half a file under a name. The interposer
# watches that bytes are synced before they get their name, and folders after.
ordered() {
    inputs
    [[ -f $FAULT ]] || skip "the interposer was not built (build/tests/fault)"
    run env OMP_NUM_THREADS=1 FAULT_KIND=order FAULT_DIR="$PWD" LD_PRELOAD="$FAULT" "$CLAUSIUS" "$@"
    expect_ok
    expect_stdout '^0 failed of [1-9][0-9]* calls, 0 findings$'
}

while read -r name arguments; do
    [[ $arguments == *" -o "* || $name == new ]] || continue
    eval "test_order_${name//-/_}() { inputs; ordered $arguments; }"
    [[ $arguments == *" -o "* && $name != export-c ]] || continue
    for kind in write short sync rename; do
        eval "test_${kind}_${name//-/_}() { inputs; every $kind $arguments; }"
    done
done < <(commands)

test_order_of_shards() {
    inputs
    local many=(simulate pendulum --samples 4 --sample "q~U(-1,1)" --steps 3 --quiet) i
    ordered "${many[@]}" --shard 0/2 -o 0.csv
    for i in 0 1; do "$CLAUSIUS" "${many[@]}" --shard $i/2 -o $i.csv; done
    ordered merge "$PWD/0.csv" "$PWD/1.csv" -o whole.csv
    local learn=(learn adiabatic-piston "$INPUTS/data.csv" --unknown F1 --field "chebyshev(1)" --quiet)
    ordered "${learn[@]}" --shard 0/2 -o 0.part
}

test_order_of_exports() {
    inputs
    ordered export c adiabatic-piston -o piston --quiet
    ordered report "$INPUTS/model.safetensors" --data "$INPUTS/piston.csv" -o out.html
}

# A kill between the naming of a complete file and its renaming leaves it under a temporary name, where a file is replaced (a
# new one gets its own name in one step). A later run, even one with the number of the killed process, neither takes nor removes it.
test_what_a_kill_leaves_does_no_harm() {
    local before left
    run "$CLAUSIUS" simulate pendulum --steps 3 --quiet -o whole.csv
    expect_ok
    for before in new replaced; do
        rm -f out.csv*
        [[ $before == new ]] || echo old >out.csv
        run bash -c 'for k in 0 1 2; do echo left >"out.csv.tmp-$$-$k"; done; exec "$@"' - "$CLAUSIUS" simulate pendulum --steps 3 --quiet -o out.csv
        expect_ok
        expect_same out.csv whole.csv
        for left in out.csv.tmp-*; do [[ $(<"$left") == left ]] || fail "$left was changed"; done
        [[ $(ls out.csv* | wc -l) == 4 ]] || fail "$before: $(ls)"
    done
}

# A link stays a link, with little memory too: the file behind it is the one that is replaced.
test_links_stay_links_without_memory() {
    inputs
    printf 'old\n' >behind.csv
    ln -s behind.csv link.csv
    STEP_LIMIT=1000 every own simulate pendulum --steps 1 --quiet -o "$PWD/link.csv" # all of them
    [[ -L link.csv ]] || fail "the link was replaced by a file"
    [[ $(head -c 3 behind.csv) != old ]] || fail "the file behind the link was not replaced"
}

# Until the training of this process has written a checkpoint, or has ended.
await_checkpoint() {
    while kill -0 "$1" 2>/dev/null && [[ ! killed.safetensors.checkpoint -nt begun ]]; do sleep 0.01; done
}

# killed OPTIMIZER EPOCHS: a training with a checkpoint every second (in the short run: every millisecond) is
# killed again and again and goes on. It comes to the model of the uninterrupted one, byte for byte.
killed() {
    inputs
    local k child left status kills=0 went_on=0 models=0 times=4 epochs=$(($2 / 50)) every=0.001 longest=100
    [[ -z ${CLAUSIUS_LONG-} ]] || times=250 epochs=$2 every=1 longest=2500
    local common=(learn adiabatic-piston "$INPUTS/data.csv" --unknown F1 --field "network(8)" --optimizer "$1" --epochs "$epochs"
        --patience 1000000000 --quiet)
    run "$CLAUSIUS" "${common[@]}" -o whole.safetensors
    expect_ok
    common+=(--resume --checkpoint-every "$every" -o killed.safetensors)
    for ((k = 1; kills < ${KILLS:-$times}; k++)); do
        ((k < 100 * ${KILLS:-$times})) || fail "it ends before it is killed"
        [[ ! -e killed.safetensors.checkpoint ]] || went_on=$((went_on + 1))
        touch begun
        "$CLAUSIUS" "${common[@]}" 2>said &
        child=$!
        ((k % 2)) && await_checkpoint "$child"
        sleep "$((k * 7919 % longest))e-3"
        kill -9 "$child" 2>/dev/null || true
        status=0
        wait "$child" 2>/dev/null || status=$?
        case $status in
        137) kills=$((kills + 1)) ;;
        0) ;;
        *) fail "it did not go on: $(cat said)" ;;
        esac
        # between its naming and its renaming a file is whole: the next run goes on from it, or it is the model
        for left in ./killed.safetensors.tmp-*; do [[ ! -e $left ]] || mv "$left" killed.safetensors; done
        for left in ./killed.safetensors.checkpoint.tmp-*; do [[ ! -e $left ]] || mv "$left" killed.safetensors.checkpoint; done
        ls ./*.tmp-* >/dev/null 2>&1 && fail "a temporary file was left behind"
        [[ -e killed.safetensors ]] || continue # with its name it is the model, at any time
        expect_same whole.safetensors killed.safetensors
        models=$((models + 1))
        rm killed.safetensors
    done
    run "$CLAUSIUS" "${common[@]}"
    expect_ok
    expect_same whole.safetensors killed.safetensors
    echo "# $1: $kills kills, $went_on times it went on from a checkpoint, $((models + 1)) models, all with the same bytes" >&3
    expect test "$went_on" -gt 0
}

test_killed_lbfgs_goes_on() { killed lbfgs 200000; }
test_killed_adam_goes_on() { killed adam 200000; }
test_killed_spring_goes_on() { killed spring 60000; }
test_killed_lm_goes_on() { killed lm 40000; }

# One bit of a model, of a checkpoint: told, or without any effect.
test_flipped_bits_are_told() {
    inputs
    run "$CLAUSIUS" show "$INPUTS/model.safetensors"
    expect_ok
    cp "$out" shown
    local size bit flips=0 told=0
    size=$(stat -c %s "$INPUTS/model.safetensors")
    for ((bit = 3; bit < 8 * size; bit += 8 * size / ${FLIPS:-24} + 1)); do
        python3 - "$INPUTS/model.safetensors" flipped.safetensors "$bit" <<'PY'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[int(sys.argv[3]) // 8] ^= 1 << int(sys.argv[3]) % 8
open(sys.argv[2], "wb").write(b)
PY
        run "$CLAUSIUS" show flipped.safetensors
        flips=$((flips + 1))
        case $code in
        3 | 4) told=$((told + 1)) ;;
        0) expect_same shown "$out" ;;
        *) fail "bit $bit: exit $code" ;;
        esac
    done
    echo "# $flips bits flipped, $told told" >&3
    expect test "$told" -gt $((flips * 9 / 10))
}

run_tests
