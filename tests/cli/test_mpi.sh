#!/usr/bin/env bash
# clausius-mpi: the bytes of clausius for any number of ranks, with either MPI; ranks that fail or die.
# Ranks that wait do so busily, and here there are more of them than cores: a few counts each;
# tests/long/test_mpi_long.sh runs 1, 2, 3, 4 and 8 of everything.
. "$(dirname "$0")/../cli/lib.sh"
BUILD=${CLAUSIUS_BUILD:-$(dirname "$CLAUSIUS")}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
# Open MPI keeps its sockets in TMPDIR, whose path must be short.
export OMPI_MCA_orte_tmpdir_base=/tmp OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_prte_tmpdir_base=/tmp

# A program of one MPI is started by the launcher of the same.
launcher_of() { # PROGRAM
    local list
    list=$(ldd "$1" 2>/dev/null)
    case $list in
        *libasan*) ;; # the libraries of MPI leak
        *libmpich.so*) command -v mpirun.mpich || command -v mpirun ;;
        *libmpi.so.40*) command -v mpirun.openmpi || command -v mpirun ;;
    esac
}

programs() { # those that can be started here
    local p
    for p in "$BUILD"/clausius-mpi "$BUILD"/clausius-mpi.mpich; do
        [[ -x $p && -n $(launcher_of "$p") ]] && echo "$p"
    done
}

ranks() { # PROGRAM N ARGS...
    local program=$1 n=$2 launcher more=()
    shift 2
    launcher=$(launcher_of "$program")
    [[ $(ldd "$program") == *libmpi.so.40* ]] && more=(--oversubscribe)
    timeout -k 5 100 "$launcher" "${more[@]}" -n "$n" "$program" "$@"
}

need_mpi() { [[ -n $(programs) ]] || skip "no clausius-mpi, or no launcher"; }

ensemble=(simulate ideal-gas-piston --samples 23 --sample "x~U(2,4), v.x~N(0,0.5)" --seed 7 --steps 40 --every 10 --quiet)

test_the_ordinary_program_does_not_link_mpi() {
    expect test -z "$(ldd "$CLAUSIUS" | grep -i mpi)"
}

test_ensembles_have_the_same_bytes_for_any_number_of_ranks() {
    local p n
    need_mpi
    "$CLAUSIUS" "${ensemble[@]}" -o one.csv || fail "one process"
    for p in $(programs); do
        for n in ${MPI_COUNTS:-1 3}; do
            run ranks "$p" "$n" "${ensemble[@]}" -o ranks.csv
            expect_ok
            expect_same one.csv ranks.csv
        done
    done
}

data() {
    "$CLAUSIUS" simulate adiabatic-piston --samples 60 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" \
        --seed 7 --steps 20 --scheme bdf --quiet -o train.csv
}

same_learning() { # N-RANKS ARGS...
    local p n counts=$1
    shift
    "$CLAUSIUS" learn adiabatic-piston train.csv --quiet -o one.safetensors "$@" || fail "one process: $*"
    for p in $(programs); do
        for n in ${MPI_COUNTS:-$counts}; do
            run ranks "$p" "$n" learn adiabatic-piston train.csv --quiet -o ranks.safetensors "$@"
            expect_ok
            expect_same one.safetensors ranks.safetensors
            rm ranks.safetensors
        done
    done
}

test_learnings_have_the_same_bytes_for_any_number_of_ranks() {
    need_mpi
    data
    same_learning 3 --unknown "F1, F2" --field "chebyshev(3)"
    same_learning 2 --unknown "F1, F2" --field "network(8)" --optimizer adam --epochs 20
    same_learning 2 --unknown "F1, F2" --field "network(8)" --optimizer lm --epochs 3
    [[ -n ${MPI_COUNTS-} ]] || return 0
    same_learning 2 --unknown "G" # smaller bases are tried after the first
    same_learning 2 --unknown "F1, F2" --field "network(8)" --optimizer lbfgs --epochs 15
    same_learning 2 --unknown "F1, F2" --field "network(8)" --optimizer spring --epochs 10
}

# Several blocks of rows, in two files that ranks read in shares; a wrong row is told with its line.
test_files_are_read_in_shares() {
    local p n learn=(learn adiabatic-piston a.csv b.csv --unknown "F1, F2" --field "chebyshev(3)" --quiet)
    need_mpi
    for n in a b; do
        "$CLAUSIUS" simulate adiabatic-piston --samples 60 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" --seed 7 --steps 699 --scheme rk4 --quiet -o $n.csv
    done
    "$CLAUSIUS" "${learn[@]}" -o one.safetensors || fail "one process"
    for p in $(programs); do
        for n in ${MPI_COUNTS:-2 3}; do
            run ranks "$p" "$n" "${learn[@]}" -o ranks.safetensors
            expect_ok
            expect_same one.safetensors ranks.safetensors
        done
    done
    sed -i '30000s/,/,x/' b.csv
    for p in $(programs); do
        run ranks "$p" 2 "${learn[@]}" -o bad.safetensors
        expect_exit 3
        expect_stderr 'b.csv:30000: column'
    done
}

# So large that they are streamed; of arrays the shares are rows.
test_streamed_files_are_read_in_shares() {
    local p n learn=(learn adiabatic-piston a.npz b.npz --unknown "F1, F2" --field "chebyshev(2)" --quiet)
    need_mpi
    for n in a b; do
        "$CLAUSIUS" simulate adiabatic-piston --samples 220 --sample "x~U(-1,1), v.x~U(-1,1), T1~U(0.5,1.5), T2~U(0.5,1.5)" --seed 7 --steps 699 --scheme rk4 --quiet -o $n.npz ||
            fail "no data"
    done
    "$CLAUSIUS" "${learn[@]}" -o one.safetensors || fail "one process"
    for p in $(programs); do
        for n in ${MPI_COUNTS:-2}; do
            run ranks "$p" "$n" "${learn[@]}" -o ranks.safetensors
            expect_ok
            expect_same one.safetensors ranks.safetensors
        done
    done
}

test_resumed_with_another_number_of_ranks() {
    local p many=(learn adiabatic-piston train.csv --unknown "F1, F2" --field "network(8)" --optimizer adam --epochs 800)
    need_mpi
    data
    "$CLAUSIUS" "${many[@]}" --quiet -o one.safetensors || fail "one process"
    for p in $(programs); do
        run ranks "$p" 2 "${many[@]}" --time-limit 0.02 --quiet -o ranks.safetensors
        expect_ok
        [[ -e ranks.safetensors.checkpoint ]] || skip "it was over before the time limit"
        run ranks "$p" 3 "${many[@]}" --resume --quiet -o ranks.safetensors
        expect_ok
        expect_same one.safetensors ranks.safetensors
    done
}

test_a_failure_is_told_once_and_ends_all() {
    local p
    need_mpi
    for p in $(programs); do
        run ranks "$p" 3 learn adiabatic-piston absent.csv --unknown F1 --quiet
        expect_exit 5
        expect test "$(grep -c 'absent.csv: cannot open' "$err")" = 1
        run ranks "$p" 3 simulate adiabatic-piston --samples 9 --sample "x~U(-1,1)" --steps 1e6 --h 1e6 --quiet -o x.csv
        expect test "$code" != 0
        expect_stderr 'trajectory 0: '
        expect_no_file x.csv
    done
}

test_what_is_not_shared_is_done_once() {
    local p
    need_mpi
    for p in $(programs); do
        run ranks "$p" 3 simulate pendulum --steps 2 --quiet
        expect_ok
        expect_lines 8 "$out"
        run ranks "$p" 2 --version
        expect_lines 1 "$out"
    done
}

# The process of rank 1 once it computes: by then MPI has begun for all, however slow the machine is. By its
# environment: neither the order of processes nor their names tell ranks (a herald begins under the name of its rank).
second_rank() { # PROGRAM FILE
    local k id
    for ((k = 0; k < 600; k++)); do
        for id in $(pgrep -x "$(basename "$1" | cut -c1-15)"); do
            tr '\0' '\n' <"/proc/$id/cmdline" | grep -qxF "$2" || continue
            tr '\0' '\n' <"/proc/$id/environ" | grep -qxE '(OMPI_COMM_WORLD_RANK|PMI_RANK)=1' || continue
            [[ $(ps -o cputimes= -p "$id" | tr -d ' ') -ge 2 ]] && echo "$id" && return
        done 2>/dev/null
        sleep 0.1
    done
}

test_a_rank_that_dies_is_named() {
    local p child started
    need_mpi
    for p in $(programs); do
        ranks "$p" 3 simulate adiabatic-piston --samples 300 --sample "x~U(-1,1)" --steps 1e7 --every 1e7 --quiet -o "$PWD/dead.csv" >said 2>&1 &
        started=$!
        child=$(second_rank "$p" "$PWD/dead.csv")
        [[ -n $child ]] || fail "no second rank"
        SECONDS=0
        kill -9 "$child"
        wait "$started" && fail "a dead rank is no success"
        expect test "$SECONDS" -lt 20
        expect_in_file "clausius-mpi: rank 1 \(process $child on .*\) died; the job ends" said # under --quiet, too
        expect test -z "$(pgrep -x clausius-herald -a | grep -F "$PWD/dead.csv")"
        expect_no_file dead.csv
    done
}

run_tests
