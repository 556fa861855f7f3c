#!/usr/bin/env bash
# Arrays in what a person reads and types: what is alike is said once, u[*] is all of u, and a message knows how far an index goes.
. "$(dirname "$0")/../cli/lib.sh"

write_ring() {
    cat >ring.clausius <<'END'
parameter   N = 30, k = 1.5, c = 0.05, kappa = 0.3
for i in 1..N: parameter g[i] = 1 + i/10
coordinate  phi[1..N ring]
temperature T[1..N ring]
thermal lagrangian sum(i in 1..N: v.phi[i]^2/2 - k*(phi[i+1] - phi[i])^2/2 - g[i]*(1 - cos(phi[i])) + 2*(T[i]*log(T[i]) - T[i]))
for i in 1..N:
  friction on T[i]: phi[i] <- -c*v.phi[i]
  heat exchange T[i] <-> T[i+1]: kappa
  start phi[i] = 2*exp(-((i - N/2)/3)^2), v.phi[i] = 0, T[i] = 1
step 0.05
until 1
END
}

write_grid() {
    cat >grid.clausius <<'END'
parameter N = 4, M = 5
temperature T[1..N, 1..M]
thermal lagrangian sum(i in 1..N, j in 1..M: T[i,j]*log(T[i,j]) - T[i,j])
for i in 1..N-1, j in 1..M: heat exchange T[i,j] <-> T[i+1,j]: 0.3
for i in 1..N, j in 1..M: start T[i,j] = 1 + i/10 + j/7
step 0.1
END
}

# a thousand cells are not a thousand lines, whichever way they are shown
test_show_says_once_what_is_alike() {
    write_ring
    for how in '' --equations; do
        run "$CLAUSIUS" show ring.clausius --set N=1000 $how
        expect_ok
        expect test "$(wc -l <"$out")" -lt 60
        expect test "$(wc -L <"$out")" -lt 1300
    done
    run "$CLAUSIUS" show ring.clausius
    expect_stdout '^    phi\[1\] <- -c\*v.phi\[1\]   \(heats S\[1\]\)$'
    expect_stdout '^    \.\.\.         \(28 more like these two\)$'
    expect_stdout '^    phi\[30\] <- -c\*v.phi\[30\]   \(heats S\[30\]\)$'
    expect_stdout '^  state       phi\[1\], \.\.\., phi\[30\], v.phi\[1\], \.\.\., v.phi\[30\], T\[1\], \.\.\., T\[30\]$'
    run "$CLAUSIUS" show ring.clausius --set N=8
    expect_stdout '^    phi\[4\] <- -c\*v.phi\[4\]'
    run "$CLAUSIUS" show ring.clausius --json # for programs nothing is left out
    expect_json 'd["state"][44] == "v.phi[15]" and len(d["state"]) == 90'
}

test_indices_in_messages() {
    write_ring
    write_grid
    run "$CLAUSIUS" simulate ring.clausius --start "phi[31]=1"
    expect_exit 2
    expect_stderr 'no variable `phi\[31\]` \(`phi` goes from 1 to 30\); it has phi\[1\], \.\.\., phi\[30\], v.phi'
    run "$CLAUSIUS" simulate ring.clausius --start "phi=1"
    expect_exit 2
    expect_stderr '`phi` is an array: `phi\[1\]` to `phi\[30\]`'
    run "$CLAUSIUS" simulate ring.clausius --set "g[31]=1"
    expect_exit 2
    expect_stderr 'no parameter `g\[31\]` \(`g` goes from 1 to 30\)'
    run "$CLAUSIUS" simulate grid.clausius --start "T[5,2]=1"
    expect_exit 2
    expect_stderr '`T` goes from `T\[1\]\[1\]` to `T\[4\]\[5\]`'
    run "$CLAUSIUS" simulate grid.clausius --start "T[3]=1"
    expect_exit 2
    expect_stderr '`T` has 2 indices'
    run "$CLAUSIUS" simulate ring.clausius --quiet -o ring.csv
    for command in "compare ring.csv ring.csv" "plot ring.csv -o ring.svg"; do
        run "$CLAUSIUS" $command --columns "phi[31]"
        expect_exit 2
        expect_stderr 'no column "phi\[31\]"; `phi` goes from 1 to 30; it has: time, phi\[1\], \.\.\., phi\[30\], '
    done
    expect_no_file ring.svg
    run "$CLAUSIUS" simulate ring.clausius --set N=40 --from ring.csv -o more.csv
    expect_exit 3
    expect_stderr 'no column `phi\[31\]`; it has time, phi\[1\], \.\.\., phi\[30\], '
    expect_no_file more.csv
}

# where a run fails, of an array the least and the most: that is where to look
test_a_failure_tells_where_an_array_is_at_its_ends() {
    write_ring
    run "$CLAUSIUS" simulate ring.clausius --set kappa=-300 --quiet -o ring.csv
    expect_exit 6
    expect_stderr 'the last good state is phi\[[0-9]+\] = [-+.e0-9]+ \(the least\) to phi\[15\] = [.0-9]+ \(the most\), v.phi'
    expect_no_file ring.csv
}

test_a_star_is_every_element() {
    write_ring
    write_grid
    run "$CLAUSIUS" simulate ring.clausius --start "phi[*]=0.25, phi[3]=2, T[*]=1.5" --set "g[*]=2, g[7]=3" --steps 0 --quiet -o start.npz
    expect_ok
    run "$CLAUSIUS" simulate ring.clausius --start "phi[*]=0.25, phi[3]=2, T[*]=1.5" --set "g[*]=2, g[7]=3" --steps 1 --quiet --json
    expect_ok
    run "$CLAUSIUS" simulate ring.clausius --start "phi[3]=2, phi[*]=0.25, T[*]=1.5" --steps 0 --quiet -o start.csv
    expect_ok
    run awk -F, '/^time/ { for (i = 1; i <= NF; i++) name[i] = $i } /^0,/ { for (i = 1; i <= NF; i++) printf "%s=%s ", name[i], $i }' start.csv
    expect_stdout 'phi\[1\]=0.25 phi\[2\]=0.25 phi\[3\]=2 phi\[4\]=0.25 .* T\[1\]=1.5 .* T\[30\]=1.5 '
    run "$CLAUSIUS" show ring.clausius --set "g[*]=2, g[1]=3"
    expect_stdout '^    g\[1\] +  = 3$'
    expect_stdout '^    g\[30\] +  = 2$'
    run "$CLAUSIUS" simulate ring.clausius --start "T[*]=1, S[*]=0"
    expect_exit 2
    expect_stderr 'are both given'
    run "$CLAUSIUS" simulate ring.clausius --start "psi[*]=1"
    expect_exit 2
    expect_stderr 'no variable `psi\[\*\]`'
    run "$CLAUSIUS" simulate grid.clausius --start "T[*,*]=1, T[2,3]=4" --steps 0 --quiet -o grid.csv
    expect_ok
    run awk -F, '/^0,/ { print $2, $9, $10 }' grid.csv
    expect_stdout '^1 4 1$'
}

# of a grid and of composites, in whichever way it is written; every command has one matcher
test_stars_of_grids_and_composites() {
    write_grid
    cat >cells.clausius <<'END'
parameter N = 9
component cell(entropy t) {
  storage mass(p): p^2/2
  storage spring(q): q^2/2
  storage body(entropy s): exp(s)
  gyrator g(q, p): 1
  resistive d(p, entropy s): 0.1
  connect mass.p, g.p, d.p
  connect spring.q, g.q
  connect body.s, d.s, t
}
use cell as c[1..N]
for i in 1..N: free c[i].t
step 0.1
END
    for star in "T[*]" "T[*,*]" "T[*][*]"; do
        run "$CLAUSIUS" simulate grid.clausius --start "$star=1, T[2,3]=4" --steps 0 --quiet -o grid.csv
        expect_ok
        run awk -F, '/^0,/ { print $2, $9, $10 }' grid.csv
        expect_stdout '^1 4 1$'
        run "$CLAUSIUS" simulate grid.clausius --samples 2 --sample "$star~U(1,2)" --steps 1 --quiet -o all.csv
        expect_ok
        [[ -e first.csv ]] || cp all.csv first.csv
        run "$CLAUSIUS" compare all.csv first.csv --columns "$star" --tolerance 0
        expect_ok
        expect_in_file '^T\[\*.* 0  T\[' "$out"
        expect_lines 3 "$out"
        run "$CLAUSIUS" plot first.csv --columns "$star" -o grid.svg
        expect_ok
        expect test "$(grep -c '<image' grid.svg)" == 4 # three times, and the bar
    done
    run awk -F, '/^0,0,/ { for (i = 3; i <= 22; i++) n += $i != $3; print n }' first.csv
    expect_stdout '^19$' # each has a number of its own
    for star in "T[2,*]" "T[2][*]"; do
        run "$CLAUSIUS" simulate grid.clausius --start "$star=3" --steps 0 --quiet -o row.csv
        expect_ok
        run awk -F, '/^0,/ { print $7, $11, $12 == 3 }' row.csv
        expect_stdout '^3 3 0$'
        run "$CLAUSIUS" simulate grid.clausius --samples 2 --sample "T[1,*]~U(1,2), $star = 2*T[1,*]" --steps 1 --quiet -o rows.csv
        expect_ok
        run awk -F, '/^0,0,/ { print $8 == 2*$3, $12 == 2*$7, $13 == 2*$3 }' rows.csv
        expect_stdout '^1 1 0$'
        run "$CLAUSIUS" compare row.csv row.csv --columns "$star"
        expect_ok
        expect_lines 7 "$out"
        run "$CLAUSIUS" plot rows.csv --columns "$star" -o row.svg
        expect_ok
    done
    run "$CLAUSIUS" plot rows.csv --columns "T[*,9]" -o no.svg
    expect_exit 2
    expect_stderr 'no column "T\[\*,9\]"'
    for star in "c[*]_q" "c_q[*]"; do
        run "$CLAUSIUS" simulate cells.clausius --start "$star=0.5, c[2]_q=4, v.$star=0, c[*]_s=0" --steps 2 --quiet -o cells.npz
        expect_ok
        run "$CLAUSIUS" compare cells.npz cells.npz --columns "$star, c_s, v.c_q"
        expect_ok
        expect_stdout '^c_s  .* c\[1\]_s$'
        expect_lines 5 "$out"
        run "$CLAUSIUS" plot cells.npz --columns "$star" -o cells.svg
        expect_ok
        expect test "$(grep -c '<image' cells.svg)" == 2
        run "$CLAUSIUS" simulate cells.clausius --samples 2 --sample "$star~U(-1,1)" --start "c_s[*]=0, p.c[*]_q=0" --steps 1 --quiet -o many.csv
        expect_ok
    done
    run "$CLAUSIUS" simulate cells.clausius --start "c_x[*]=1"
    expect_exit 2
    expect_stderr 'no variable `c_x\[\*\]`'
}

# the same random numbers as element by element
test_random_starts_of_all_elements() {
    write_ring
    run "$CLAUSIUS" simulate ring.clausius --samples 3 --sample "phi[*]~U(-1,1), v.phi[*] = -2*phi[*]" --seed 4 --steps 2 --quiet -o stars.csv
    expect_ok
    local list
    list=$(for i in {1..30}; do echo "phi[$i]~U(-1,1)"; done | paste -sd,),$(for i in {1..30}; do echo "v.phi[$i] = -2*phi[$i]"; done | paste -sd,)
    run "$CLAUSIUS" simulate ring.clausius --samples 3 --sample "$list" --seed 4 --steps 2 --quiet -o each.csv
    expect_ok
    run "$CLAUSIUS" compare stars.csv each.csv --tolerance 0
    expect_ok
    run "$CLAUSIUS" simulate ring.clausius --samples 3 --sample "psi[*]~U(-1,1)" -o no.csv
    expect_exit 2
    expect_stderr 'has no array `psi\[\*\]`'
}

# an array is one line, with the worst of its elements
test_compare_and_inspect_arrays() {
    write_ring
    run "$CLAUSIUS" simulate ring.clausius --quiet -o a.csv
    awk -F, -v OFS=, '/^[0-9]/ && $1 == 0.5 { $8 += 0.125 } 1' a.csv >b.csv
    run "$CLAUSIUS" compare a.csv b.csv
    expect_ok
    expect_stdout '^column .* time of max  worst$'
    expect_stdout '^phi\[\*\] .* 0\.125 .* 0\.5  phi\[7\]$'
    expect_lines 9 "$out"
    run "$CLAUSIUS" compare a.csv b.csv --columns "phi[*], energy" --tolerance 0.1
    expect_exit 1
    expect_lines 4 "$out"
    run "$CLAUSIUS" compare a.csv b.csv --columns "phi[7], phi[8]"
    expect_stdout '^phi\[7\] .* 0.125 '
    expect_stdout '^phi\[8\] +0 +0 +0 '
    run "$CLAUSIUS" compare a.csv b.csv --json
    expect_json 'abs(d["max"]["phi[7]"] - 0.125) < 1e-5 and len(d["max"]) == 152'
    run "$CLAUSIUS" data inspect b.csv
    expect_ok
    expect_stdout '^phi\[\*\] .* 30 columns, .*1 with outliers \(phi\[7\]: 1\)'
}

# a draft knows what T[3] is, and T[1][11] from T[11][1]
test_drafts_of_array_columns() {
    awk 'BEGIN { print "time,T[1][11],T[11][1],T[2]"; for (i = 0; i < 60; i++) print i*0.1 "," 300 + exp(-i/20) "," 301 - exp(-i/30) "," 299 + i/99 }' >warm.csv
    run "$CLAUSIUS" new warm --from warm.csv
    expect_ok
    expect_in_file '^temperature T1_11 .*# column T\[1\]\[11\]' warm.clausius
    expect_in_file '^temperature T11_1 .*# column T\[11\]\[1\]' warm.clausius
    expect_in_file '^temperature T2 .*# column T\[2\]' warm.clausius
    run "$CLAUSIUS" show warm.clausius
    expect_ok
}

# the judge of many elements names the one that is worst, at a reservoir as well
test_the_worst_element_beside_a_reservoir() {
    cat >fins.clausius <<'END'
parameter N = 70
temperature T[1..N]
reservoir Ta = 1
thermal lagrangian sum(i in 1..N: T[i]*log(T[i]) - T[i])
for i in 1..N-1: heat exchange T[i] <-> T[i+1]: 3
for i in 1..N: heat exchange T[i] <-> Ta: 2 - max(0, 1 - (i - 37)^2)
for i in 1..N: start T[i] = 1 + i/N
step 0.01
END
    run "$CLAUSIUS" simulate fins.clausius --steps 2 --quiet -o fins.csv
    expect_ok
    run "$CLAUSIUS" audit fins.csv
    expect_ok
    expect_stdout 'the conductance is at least 1, for 139 elements.* worst for S\[37\] and the reservoir Ta at '
    expect_stdout 'for 1 element, over'
}

# nor is a model useless because a cell stays where it is to 1e-200
test_the_verdict_of_waves_that_have_not_arrived() {
    write_ring
    sed -i 's/N = 30/N = 100/' ring.clausius
    run "$CLAUSIUS" simulate ring.clausius --scheme bdf --quiet -o bdf.csv
    expect_ok
    run "$CLAUSIUS" report ring.clausius --data bdf.csv -o ring.html
    expect_ok
    expect_in_file 'Usable:' ring.html
    expect test "$(grep -c 'not useful' ring.html)" == 0
    run "$CLAUSIUS" report ring.clausius --set k=40 --data bdf.csv -o wrong.html
    expect_ok
    expect_in_file 'not useful' wrong.html
}

# where a wave has not arrived there is no order: elements are measured by their array (order 8.6 of a scheme of order 2 was called ok)
test_the_order_of_waves_that_have_not_arrived() {
    write_ring
    run "$CLAUSIUS" audit ring.clausius --set N=100 --steps 20 --json
    expect_ok
    expect_json 'all(abs(l["value"] - 2) < 0.1 for l in d["laws"] if l["name"] == "order")'
    expect_json 'any(l["name"] == "order" for l in d["laws"])'
}

# others write the indices of a grid with a comma
test_indices_with_a_comma() {
    write_grid
    run "$CLAUSIUS" simulate grid.clausius --steps 5 --quiet -o grid.csv
    sed 's/T\[\([0-9]\)\]\[\([0-9]\)\]/"T[\1, \2]"/g' grid.csv >comma.csv
    run "$CLAUSIUS" compare grid.csv comma.csv --columns "T[2,3], T[*][*]" --tolerance 0
    expect_ok
    run "$CLAUSIUS" simulate grid.clausius --from comma.csv --row first --steps 5 --quiet -o again.csv
    expect_ok
    run "$CLAUSIUS" compare grid.csv again.csv --tolerance 0
    expect_ok
}

# pipe[1]_s, room[1]_s, pipe[2]_s, ...: each kind is one array of a file and one picture
test_components_side_by_side_are_arrays() {
    cat >street.clausius <<'END'
parameter N = 12
for i in 1..N:
  storage pipe[i](entropy s with temperature Tp): 1500*exp(s/5)
  storage room[i](entropy s with temperature Tr): 6000*exp(s/20)
  resistive radiator[i](entropy a, entropy b): 0.5
  connect pipe[i].s, radiator[i].a
  connect room[i].s, radiator[i].b
for i in 1..N-1:
  resistive along[i](entropy a, entropy b): 0.4
  connect pipe[i].s, along[i].a
  connect pipe[i+1].s, along[i].b
for i in 1..N: start pipe[i]_Tp = 350 - 30*i/N, room[i]_Tr = 285 + i
step 0.5
END
    for ending in csv npz h5; do
        run "$CLAUSIUS" simulate street.clausius --steps 9 --quiet -o street.$ending
        [[ $ending == h5 && $code == 2 ]] && break
        expect_ok
        run "$CLAUSIUS" audit street.$ending
        expect_ok
        run "$CLAUSIUS" compare street.csv street.$ending --tolerance 0
        expect_ok
    done
    expect unzip -l street.npz pipe_s.npy room_s.npy pipe_Tp.npy room_Tr.npy
    expect test "$(unzip -l street.npz | grep -c '\[')" == 0
    run "$CLAUSIUS" data convert street.csv -o again.npz
    expect_ok
    expect_same again.npz street.npz
    run "$CLAUSIUS" plot street.npz -o street.svg
    expect_ok
    expect test "$(grep -c '<image' street.svg)" == 8 # four pictures, each with its bar
}

# the last cell of a line has a coordinate, the others have charges: the states of all of them are one array; columns in any order are
test_elements_need_not_stand_together() {
    printf 'time,u[2],S[2][1],u[1],x,u[3],S[1][1],S[1][2],S[2][2]\n0,2,21,1,7,3,11,12,22\n1,2,21,1,8,3,11,12,22.5\n' >mixed.csv
    for ending in npz h5; do
        run "$CLAUSIUS" data convert mixed.csv -o mixed.$ending
        [[ $ending != npz && $code == 2 ]] && break
        expect_ok
        run "$CLAUSIUS" data convert mixed.$ending -o again.csv
        expect_ok
        expect_in_file '^time,u\[1\],u\[2\],u\[3\],S\[1\]\[1\],S\[1\]\[2\],S\[2\]\[1\],S\[2\]\[2\],x$' again.csv
        expect_in_file '^1,1,2,3,11,12,21,22.5,8$' again.csv
        run "$CLAUSIUS" compare mixed.csv again.csv --tolerance 0
        expect_ok
    done
}

# a number that all elements share, beside a function that all share, is a term: one solve, no simulation
test_an_unknown_constant_of_many_elements() {
    cat >rod.clausius <<'END'
parameter N = 70
temperature T[1..N]
coefficient k(w) = 0.3 + 0.2*w
coefficient h = 0.05
reservoir Ta = 1
thermal lagrangian sum(i in 1..N: T[i]*log(T[i]) - T[i])
for i in 1..N-1: heat exchange T[i] <-> T[i+1]: k((T[i] + T[i+1])/2)
for i in 1..N: heat exchange T[i] <-> Ta: h
for i in 1..N: start T[i] = 1.5 + sin(pi*i/9)
step 0.05
until 2
END
    sed 's|k(w) = .*|k(w) = unknown|; s|h = 0.05|h = unknown terms(1)|' rod.clausius >open.clausius
    run "$CLAUSIUS" simulate rod.clausius --scheme bdf --quiet -o rod.csv
    expect_ok
    run "$CLAUSIUS" learn open.clausius rod.csv -o rod.safetensors
    expect_ok
    expect_stderr 'parameters +[0-9]+, by linear'
    run "$CLAUSIUS" simulate rod.safetensors --scheme bdf --quiet -o again.csv
    expect_ok
    run "$CLAUSIUS" compare again.csv rod.csv --columns "T[*]" --tolerance 1e-5
    expect_ok
    run "$CLAUSIUS" report rod.safetensors --data rod.csv -o rod.html
    expect_ok
    expect_in_file '70 elements like <[^>]*>?T\[1\]|70 elements like T\[1\]' rod.html
    expect_in_file '<summary>The scores of all [0-9]+ channels</summary>' rod.html
}

run_tests
