#!/usr/bin/env bash
# Arrays of the language from outside: files, sizes, many elements.
. "$(dirname "$0")/../cli/lib.sh"

write_chain() {
    cat >chain.clausius <<'END'
parameter  N = 4, k = 1, c = 0.1, kappa = 0.2
coordinate u[1..N]
entropy    s[1..N]
let d[i] = u[i+1] - u[i]
let u[0] = 0
let u[N+1] = 0
hamiltonian H = sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: k*d[i]^2/2 + d[i]^4/4)
for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]
for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa
for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0
step 0.05
END
}

test_one_array_in_a_file_for_an_array_of_the_language() {
    write_chain
    cat >grid.clausius <<'END'
parameter N = 3, M = 4
entropy   S[0..N, 2..M]
hamiltonian sum(i in 0..N, j in 2..M: exp(S[i][j]))
for i in 0..N-1, j in 2..M: heat exchange S[i][j] <-> S[i+1][j]: 0.3
for i in 0..N, j in 2..M: start S[i][j] = i/10 + j/7
step 0.1
END
    for name in chain grid; do
        run "$CLAUSIUS" simulate $name.clausius --steps 5 --quiet -o $name.csv
        expect_ok
        for ending in npz h5; do
            run "$CLAUSIUS" simulate $name.clausius --steps 5 --quiet -o $name.$ending
            [[ $ending != npz && $code == 2 ]] && skip "built without libhdf5"
            expect_ok
            run "$CLAUSIUS" data convert $name.$ending -o again.csv
            expect_ok
            expect_same again.csv $name.csv
            run "$CLAUSIUS" audit $name.$ending
            expect_ok
        done
    done
    run python3 - <<'END'
import ast, struct, zipfile

def look(path, name):
    data = zipfile.ZipFile(path).read(name + ".npy")
    n = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + n].decode())
    assert (10 + n) % 64 == 0 and not head["fortran_order"]
    count = (len(data) - 10 - n) // 8
    return head["shape"], struct.unpack(f"<{count}d", data[10 + n:])

rows = [line.split(",") for line in open("chain.csv") if not line.startswith("#")]
shape, x = look("chain.npz", "u")
assert shape == (6, 4), shape
first = rows[0].index("u[1]")
assert list(x) == [float(v) for r in rows[1:] for v in r[first:first + 4]]
assert look("chain.npz", "p.u")[0] == (6, 4)
rows = [line.split(",") for line in open("grid.csv") if not line.startswith("#")]
shape, x = look("grid.npz", "S")
assert shape == (6, 4, 3), shape
first = rows[0].index("S[0][2]")
assert list(x) == [float(v) for r in rows[1:] for v in r[first:first + 12]]
assert "arrays: S[0..3][2..4]" in zipfile.ZipFile("grid.npz").read("notes.txt").decode()
END
    expect_ok
}

# what repeated components hold is one array, too: cell[1]_q, cell[2]_q, ... are cell_q
test_one_array_for_the_states_of_repeated_components() {
    cat >wired.clausius <<'END'
parameter N = 4
component pendulum(p, entropy s) {
  storage bob(q): 1 - cos(q)
  storage mass(p): p^2/2
  storage bearing(entropy h with temperature th): exp(h)
  resistive rub(p, entropy s): 0.1
  gyrator turn(q, p): 1
  connect bob.q, turn.q
  connect mass.p, turn.p, rub.p, p
  connect bearing.h, rub.s, s
}
for i in 1..N: use pendulum as cell[i]
for i in 1..N-1:
  resistive leak[i](entropy a, entropy b): 0.3
free cell[1].p, cell[2].p, cell[3].p, cell[4].p
connect cell[1].s, leak[1].a
for i in 2..N-1: connect cell[i].s, leak[i].a, leak[i-1].b
connect cell[N].s, leak[N-1].b
for i in 1..N: start cell[i]_q = i/N, p.cell[i]_q = 0, cell[i]_h = 0
step 0.1
END
    run "$CLAUSIUS" simulate wired.clausius --steps 5 --quiet -o wired.csv
    expect_ok
    for ending in npz h5; do
        run "$CLAUSIUS" simulate wired.clausius --steps 5 --quiet -o wired.$ending
        [[ $ending != npz && $code == 2 ]] && skip "built without libhdf5"
        expect_ok
        run "$CLAUSIUS" data convert wired.$ending -o again.csv
        expect_ok
        expect_same again.csv wired.csv
    done
    expect unzip -l wired.npz cell_q.npy p.cell_q.npy cell_h.npy cell_th.npy v.cell_q.npy
    expect test "$(unzip -l wired.npz | grep -c '\[')" == 0
}

# one row: an axis of length one would be lost; a second run of the same array, and a column that has its name
test_columns_that_are_no_whole_array_stay_columns() {
    printf 'time,u[1],u[2],u,v[1],v[2],w[7],w[8],x,w[1],w[2]\n0,1,2,3,4,5,6,7,8,9,10\n1,1,2,3,4,5,6,7,8,9,11\n' >a.csv
    head -2 a.csv >one.csv
    for name in a one; do
        run "$CLAUSIUS" data convert $name.csv -o $name.npz
        expect_ok
        run "$CLAUSIUS" data convert $name.npz -o again.csv
        expect_ok
        expect_same again.csv $name.csv
    done
    expect unzip -l a.npz u.npy 'u\[1\].npy' v.npy w.npy 'w\[1\].npy'
}

# in one program for each quantity this takes minutes; a chunk of 16,384 rows would take 2 GB
test_the_judge_of_many_elements_costs_as_many() {
    [[ $CLAUSIUS == *sanitize* ]] && skip "limits of memory do not go with sanitizers"
    write_chain
    run "$CLAUSIUS" simulate chain.clausius --set N=4000 --steps 1 --quiet -o many.csv
    expect_ok
    run bash -c 'ulimit -t 20 -v 1500000 && "$CLAUSIUS" audit many.csv'
    expect_ok
    expect_stdout 'for 4000 elements'
}

# below the size from which laws are judged by kinds: a line for a kind, and one for each that is broken
test_equal_laws_of_few_elements_are_one_line() {
    cat >rod.clausius <<'END'
parameter N = 12, k = 0.3, bad = 0.3
temperature T[1..N]
thermal lagrangian sum(i in 1..N: T[i]*(log(T[i]) - 1))
for i in 1..N-2: heat exchange T[i] <-> T[i+1]: k*i
heat exchange T[N-1] <-> T[N]: bad
for i in 1..N: start T[i] = 1 + i/N
step 0.01
END
    run "$CLAUSIUS" simulate rod.clausius --steps 5 --quiet -o rod.csv
    expect_ok
    run "$CLAUSIUS" audit rod.csv
    expect_ok
    expect_stdout '^ok  heat exchange +0.3 +\(0\)  for 11 elements, the worst S\[1\] S\[2\]: the conductance is at least 0.3 '
    expect_no_stdout '^ok  heat exchange S'
    run "$CLAUSIUS" audit rod.clausius --set "bad=-0.3" --steps 5
    expect_exit 1
    expect_stdout '^ok +heat exchange .* for 10 elements, the worst S\[1\] S\[2\]'
    expect_stdout 'heat exchange S\[11\] S\[12\]'
}

# a statement for each cell would be twice as many for twice the cells
test_exported_arrays_are_loops() {
    local n
    for n in 60 120; do
        mkdir $n
        (cd $n && write_chain && sed -i "s/N = 4/N = $n/" chain.clausius)
        run "$CLAUSIUS" export c $n/chain.clausius -o $n/c --quiet
        expect_ok
        sed -nE '/^static void (given_)?residual_/,/^}/p' $n/c/chain_model.c | wc -l >$n/lines
    done
    expect test "$(cat 120/lines)" -lt $((5 * $(cat 60/lines) / 4))
    expect_in_file '^[[:space:]]+for \(int i = 0; i < 60; i\+\+\) room\[' 60/c/chain_model.c
    expect gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -O1 60/c/*.c -lm -o main
    "$CLAUSIUS" simulate 60/chain.clausius --steps 100 --quiet -o rows.csv
    ./main 100 >exported.csv
    run python3 - <<'END'
def rows(path):
    return [[float(x) for x in line.split(",")] for line in open(path) if line[0].isdigit()]
assert len(rows("rows.csv")) == 101 and rows("rows.csv") == rows("exported.csv")
END
    expect_ok
    command -v node >/dev/null || return 0
    run "$CLAUSIUS" export js 60/chain.clausius -o m.mjs --quiet
    expect_ok
    run node "$SOURCE/tests/export/check.mjs" m.mjs rows.csv
    expect_ok
}

# Numbers that are the same at every point are tried once; they are tried.
test_wrong_numbers_of_many_elements_are_found() {
    write_ring() { # conductance, mass, file
        cat >"$3" <<END
parameter N = 60
coordinate a[1..N ring]
entropy s[1..N ring]
hamiltonian sum(i in 1..N: p.a[i]^2/(2*$2) + exp(s[i]) + (a[i+1] - a[i])^2/2)
for i in 1..N: heat exchange s[i] <-> s[i+1]: $1
for i in 1..N: start a[i] = sin(2*pi*i/N), v.a[i] = 0, s[i] = 0
step 0.05
END
    }
    write_ring 0.3 1.5 good.clausius
    write_ring -0.3 1.5 cold.clausius
    write_ring 0.3 -1.5 light.clausius
    run "$CLAUSIUS" simulate good.clausius --steps 3 --quiet -o rows.csv
    expect_ok
    run "$CLAUSIUS" audit good.clausius --against rows.csv
    expect_ok
    run "$CLAUSIUS" audit cold.clausius --against rows.csv
    expect_exit 1
    expect_stdout 'FAIL +heat exchange +-0.3 .* for 60 elements, over 4 states and 4096 points'
    run "$CLAUSIUS" audit light.clausius --against rows.csv
    expect_exit 1
    expect_stdout 'FAIL +mass matrix +-1.5 .* for 60 rows'
}

test_lines_of_several_megabytes_are_read() {
    python3 - <<'END'
n = 300000
with open("wide.csv", "w") as f:
    print("time", *(f"u[{i}]" for i in range(1, n + 1)), sep=",", file=f)
    for row in range(3):
        print(row, *(f"{row + i / 7:.9f}" for i in range(n)), sep=",", file=f)
END
    run "$CLAUSIUS" data convert wide.csv -o wide.npz
    expect_ok
    expect unzip -l wide.npz u.npy
    head -c 3000000 wide.csv >cut.csv # in the middle of the header
    run "$CLAUSIUS" data inspect cut.csv
    expect_exit 3
    # names that are compared with all before them take more than a minute; 4 kB for a name are 1.2 GB
    run bash -c 'ulimit -t 20 && "$CLAUSIUS" compare wide.csv wide.csv --columns "u[*]" --tolerance 0'
    expect_ok
    expect_stdout '^u\[\*\] +0 '
    run "$CLAUSIUS" data inspect wide.csv
    sed '1,2d' "$out" >inspected.csv
    for ending in npz h5; do
        [[ $ending == npz ]] || run "$CLAUSIUS" data convert wide.csv -o wide.$ending
        [[ $ending == npz || $code != 2 ]] || continue # built without libhdf5
        local limit='ulimit -v 700000'
        [[ $CLAUSIUS == *sanitize* ]] && limit=true
        run bash -c "$limit"' && "$CLAUSIUS" data inspect "$0"' wide.$ending
        expect_ok
        sed '1,2d' "$out" >inspected.$ending
        expect_same inspected.csv inspected.$ending
    done
}

# 20 s when every equation was looked for in all behind it
test_a_page_about_many_elements() {
    write_chain
    run "$CLAUSIUS" simulate chain.clausius --set N=20000 --steps 2 --quiet -o many.csv
    expect_ok
    run bash -c 'ulimit -t 10 && "$CLAUSIUS" report many.csv -o many.html'
    [[ $CLAUSIUS == *sanitize* ]] || expect_ok
}

# a size that --set gives is the mistake of who typed it, and the sentence says so
test_a_size_that_cannot_be() {
    write_chain
    for n in 0 -3 2.5; do
        run "$CLAUSIUS" simulate chain.clausius --set "N=$n" -o no.csv
        expect_exit 2
        expect_stderr "^clausius simulate: --set N=$n: chain.clausius:2:"
        expect_no_file no.csv
    done
    sed -i 's/N = 4/N = 0/' chain.clausius
    run "$CLAUSIUS" simulate chain.clausius --set k=2
    expect_exit 4
    expect_stderr '^clausius simulate: chain.clausius:2:14: the range is empty'
}

# every built-in field is a system at every size that it takes
test_built_in_fields_that_are_small() {
    for size in N=1,M=1 N=3 N=3,M=7 N=8,M=2; do
        run "$CLAUSIUS" simulate building --set "$size" --steps 3 --quiet -o rooms.csv
        expect_ok
        run "$CLAUSIUS" audit rooms.csv
        expect_ok
    done
    for name in burgers kdv; do
        run "$CLAUSIUS" simulate $name --set N=2 --steps 3
        expect_exit 2
        expect_stderr "^clausius simulate: --set N=2: $name:[0-9]+:[0-9]+: the bracket of .u\\[2\\]. and .u\\[1\\]. is given already"
        run "$CLAUSIUS" simulate $name --set N=3 --steps 3 --quiet -o three.csv
        expect_ok
        run "$CLAUSIUS" audit three.csv
        expect_stdout '^ok +invariant (momentum|mass) '
    done
}

# cell[1..N] is cell[i] in a loop
test_components_with_a_range() {
    cat >wall.clausius <<'END'
parameter N = 6
component kind(entropy a, entropy b): resistive 0.2
storage layer[1..N](entropy s): exp(s)
use kind as film[1..N-1]
for i in 1..N-1:
  connect layer[i].s, film[i].a
  connect layer[i+1].s, film[i].b
for i in 1..N: start layer[i]_s = i/10
END
    sed 's/^storage layer\[1..N\]/for i in 1..N: storage layer[i]/; s/^use kind as film\[1..N-1\]/for i in 1..N-1: use kind as film[i]/' wall.clausius >loops.clausius
    for name in wall loops; do
        run "$CLAUSIUS" simulate $name.clausius --steps 5 --quiet -o $name.csv
        expect_ok
    done
    run "$CLAUSIUS" compare wall.csv loops.csv --tolerance 0
    expect_ok
}

run_tests
