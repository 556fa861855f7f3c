#!/usr/bin/env bash
# The disk fails: the N-th write (ENOSPC, EIO, half of it), sync or rename of every command that writes
# a file. Either it ends with 5 and leaves nothing behind, or it ends well with the same bytes.
. "$(dirname "$0")/lib.sh"

while read -r name arguments; do
    [[ $arguments == *" -o "* && $name != export-c ]] || continue
    for kind in write short sync rename; do
        eval "test_${kind}_${name//-/_}() { inputs; every $kind $arguments; }"
    done
done < <(commands)

# What is under a name is whole, whenever the power fails: the bytes are synced before they get the
# name, the folder after.
test_order_of_sync_and_rename() {
    command -v strace >/dev/null || skip "strace is not here"
    run strace -f -o calls "$CLAUSIUS" simulate pendulum --steps 3 -o out.csv --quiet
    [[ $code == 0 ]] || skip "strace may not trace here"
    local order
    order=$(grep -oE '\b(fsync|linkat|rename)\(' calls | tr -d '(' | paste -sd' ')
    [[ $order =~ ^fsync\ (linkat\ )?rename\ fsync$ ]] || fail "calls in the order: $order"
}

# Killed at any time, a training leaves the last whole checkpoint, and goes on to the same model.
test_killed_training_goes_on() {
    inputs
    local common=(learn adiabatic-piston "$INPUTS/data.csv" --unknown F1 --field "network(4)" --optimizer lbfgs --epochs 40 --quiet)
    run "$CLAUSIUS" "${common[@]}" -o whole.safetensors
    expect_ok
    local k kills=0 went_on=0 times=6
    [[ -z ${CLAUSIUS_LONG-} ]] || times=1000
    for ((k = 0; k < ${KILLS:-$times}; k++)); do
        "$CLAUSIUS" "${common[@]}" --resume -o killed.safetensors 2>/dev/null &
        sleep "0.$((k * 7 % 10))5"
        kill -9 $! 2>/dev/null && kills=$((kills + 1))
        wait $! 2>/dev/null || true
        ls ./*.tmp-* >/dev/null 2>&1 && fail "a temporary file was left behind"
        [[ ! -e killed.safetensors.checkpoint ]] || went_on=$((went_on + 1))
        [[ ! -e killed.safetensors ]] && continue # whole: with its name it is the model, at any time
        expect_same whole.safetensors killed.safetensors
        rm killed.safetensors
    done
    run "$CLAUSIUS" "${common[@]}" --resume -o killed.safetensors
    expect_ok
    expect_same whole.safetensors killed.safetensors
    echo "# $kills kills, $went_on of them left a checkpoint to go on from" >&3
}

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
