#!/usr/bin/env bash
# Other ways to build: by clang, and without functions of which the loader picks the version for the machine. All unit tests
# pass there, and what is simulated, learned and exported has the bytes of the program under test.
. "$(dirname "$0")/../cli/lib.sh"

made() { # FOLDER CMAKE-OPTION...: builds everything there
    local folder=$1
    shift
    RUN_LIMIT=6000 run cmake -S "$SOURCE" -B "$folder" "$@"
    expect_ok
    RUN_LIMIT=6000 run cmake --build "$folder" -j "${JOBS:-$(nproc)}"
    expect_ok
    CLAUSIUS=$folder/clausius CLAUSIUS_BUILD=$folder RUN_LIMIT=6000 run "$SOURCE/tools/run-tests" -j "${JOBS:-$(nproc)}" --limit 3000 unit="$folder/tests"
    expect_ok
    expect_stdout '^[0-9]{3,} passed, 0 failed'
    sed -n 's/^/# /;$p' "$out"
}

same_bytes() { # PROGRAM
    local s p
    for p in "$CLAUSIUS" "$1"; do
        rm -rf now && mkdir now
        for s in $("$CLAUSIUS" systems | cut -d' ' -f1); do
            "$p" simulate "$s" --steps 20 --quiet -o "now/$s.csv" || fail "$p: simulate $s"
        done
        "$p" simulate adiabatic-piston --samples 60 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" \
            --seed 7 --steps 20 --quiet -o now/train.csv || fail "$p: an ensemble"
        "$p" learn adiabatic-piston now/train.csv --unknown "F1, F2" --field "chebyshev(3)" --quiet -o now/model.safetensors || fail "$p: learn"
        "$p" export c adiabatic-piston -o now/c --quiet || fail "$p: export"
        rm -f now/*.log.csv # has the time that it took
        [[ -e first ]] || mv now first
    done
    diff -r first now >said || fail "other bytes: $(head -5 said)"
    expect test "$(ls now | wc -l)" -gt 30
}

test_by_clang() {
    command -v clang >/dev/null || skip "no clang"
    CC=clang made "${CLAUSIUS_BUILD:-$PWD}/clang"
    same_bytes "${CLAUSIUS_BUILD:-$PWD}/clang/clausius"
}

test_without_clones() {
    made "${CLAUSIUS_BUILD:-$PWD}/plain" -DCLAUSIUS_CLONES=OFF
    same_bytes "${CLAUSIUS_BUILD:-$PWD}/plain/clausius"
}

run_tests
