#!/usr/bin/env bash
# Data files from outside: what instruments write, names and units, inspect and convert.
. "$(dirname "$0")/lib.sh"

expect_refused() { # EXIT-CODE RE
    expect_exit "$1"
    expect_stderr "$2"
}

test_inspect_says_what_is_odd() {
    printf '%% x v\r\n 0 0.0 1 2\r\n 0 0.1 2 2\r\n 0 0.1 3 2\r\n 0 0.5 4 2\r\n' >log.txt
    run "$CLAUSIUS" data inspect log.txt
    expect_exit 0
    expect_stdout '2 names for 4 columns'
    run "$CLAUSIUS" data inspect log.txt --columns "trial, time, x, v"
    expect_stdout '1 gap .*the widest 0.4 after time 0.1'
    expect_stdout '1 duplicate time'
    expect_stdout 'v .*constant'
    run "$CLAUSIUS" data inspect log.txt --columns "trial, time, x, v" --json
    expect_stdout '"duplicates": 1'
}

test_convert_names_and_units() {
    printf 'Logger 7\nt;pos\nms;mm\n0;1,5\n250;-35\n' >log.csv
    run "$CLAUSIUS" data convert log.csv -o out.csv --map "x [m]=pos, time [s]=t"
    expect_exit 0
    printf '0,0.0015\n0.25,-0.035\n' >expected
    grep -v '[a-z]' out.csv >rows
    expect_same rows expected
    run "$CLAUSIUS" data convert log.csv -o out.csv --map "x [kg]=pos"
    expect_refused 3 'cannot become \[kg\]'
    run "$CLAUSIUS" data convert log.csv
    expect_refused 2 'where to'
}

# One line in the system file says it for every command.
test_data_lines_of_the_system() {
    cat >block.clausius <<'END'
coordinate x [m]
entropy S
hamiltonian H = p.x^2/2 + x^2/2 + exp(S)
friction F on T: x <- -0.1*v.x
data x = "position [mm]", v.x = "speed [mm/s]", time = "clock [ms]"
start x = 1, v.x = 0, S = 0
END
    printf 'clock,position,speed,S\n0,1000,0,0\n100,995,-99,0.0001\n' >lab.csv
    run "$CLAUSIUS" simulate block.clausius --from lab.csv --row last --steps 1 --quiet
    expect_stdout '^0\.1,0\.995,-0\.099,0\.0001'
    printf 'zeit,position,speed,S\n0,1000,0,0\n100,995,-99,0.0001\n' >lab2.csv
    run "$CLAUSIUS" simulate block.clausius --from lab2.csv --row last --steps 1 --quiet --map "time=zeit [ms]"
    expect_stdout '^0\.1,0\.995,-0\.099,0\.0001'
}

# Without quotes, or with the unit behind them.
test_data_lines_in_other_words() {
    cat >block.clausius <<'END'
coordinate x [m]
hamiltonian p.x^2/2 + x^2/2
data x = "position" [mm], v.x = speed [mm/s]
data time = clock [ms]
start x = 1, v.x = 0
END
    printf 'clock,position,speed\n0,1000,0\n100,995,-99\n' >lab.csv
    run "$CLAUSIUS" simulate block.clausius --from lab.csv --row last --steps 1 --quiet
    expect_stdout '^0\.1,0\.995,-0\.099'
    sed -i 's/\[mm\], v.x.*/[mm/' block.clausius
    run "$CLAUSIUS" show block.clausius
    expect_exit 4
    expect_stderr 'block.clausius:3:.*closing'
}

# Rows without a partner are counted; systems, several trajectories and irregular times are followed.
test_compare_says_what_it_drops() {
    run "$CLAUSIUS" simulate pendulum --h 0.1 --until 2 --quiet -o a.csv
    run "$CLAUSIUS" simulate pendulum --h 0.2 --until 2 --quiet -o b.csv
    run "$CLAUSIUS" compare a.csv b.csv
    expect_stdout '^11 rows with equal times'
    expect_stdout '10 of 21 rows of a.csv dropped'
    run "$CLAUSIUS" compare a.csv b.csv --json
    expect_stdout '"dropped": 10'
}

test_systems_follow_data() {
    run "$CLAUSIUS" simulate adiabatic-piston --samples 3 --sample "x~U(-1,1)" --seed 1 --steps 40 --h 0.005 --quiet -o runs.csv
    # rows left out at random places: irregular times, several trajectories
    awk -F, '/^#/ || /^t/ || (++n % 7 != 3 && n % 11 != 5)' runs.csv >gaps.csv
    run "$CLAUSIUS" compare adiabatic-piston gaps.csv --columns x,T1 --tolerance 1e-4
    expect_exit 0
    expect_no_stdout 'dropped'
    run "$CLAUSIUS" compare pendulum pendulum --tolerance 1e-9
    expect_exit 0
}

# A data file may name a built-in system or a file beside it, and nothing else is opened.
test_notes_name_no_other_files() {
    local name
    mkdir sub && mkfifo sub/pipe.clausius
    for name in /etc/passwd ../secret.clausius pipe.clausius nothing; do
        printf '# system: %s\ntime,x\n0,1\n' "$name" >sub/run.csv
        run "$CLAUSIUS" audit sub/run.csv
        expect_refused 4 'neither built in nor a .clausius file|opens no file that is not beside its own'
    done
    printf 'include "pipe.clausius"\n' >sub/a.clausius
    run "$CLAUSIUS" show sub/a.clausius
    expect_refused 4 'not an ordinary file'
}

test_control_characters_are_shown() {
    printf 'time,x\n0,a\033[31m\n' >a.csv
    run "$CLAUSIUS" data inspect a.csv
    expect_refused 3 'x1b\[31m'
    expect_no_stderr $'\033'
    printf 'time,x\xe2\x80\xae,T (K) [K]\n0,1,2\n1,2,3\n' >a.csv # turns the order of what follows it
    run "$CLAUSIUS" data convert a.csv -o b.csv
    expect_ok
    expect grep -qx 'time,x\\u202e,T' b.csv # not T (K): that would be read as T the next time
}

test_names_take_no_longer_than_numbers() {
    awk 'BEGIN { printf "time"; for (i = 1; i <= 200000; i++) printf ",x%d [m]", i; print ""
                 for (r = 0; r < 2; r++) { printf "%d", r; for (i = 1; i <= 200000; i++) printf ",1"; print "" } }' >wide.csv
    run bash -c 'ulimit -t 10; "$0" data inspect wide.csv' "$CLAUSIUS" # more than 12 s when names were compared with each other
    expect_ok
    expect_stdout '200001 columns'
}

test_links_stay_links() {
    mkdir real
    ln -s real/run.csv link.csv
    run "$CLAUSIUS" simulate pendulum --steps 2 --quiet -o link.csv
    expect_exit 0
    [[ -L link.csv && -f real/run.csv ]] || fail "the link was replaced"
}

# NPY and NPZ, written by hand: C and Fortran order, other types, and a pickle that is refused.
write_npz() {
    python3 - <<'END'
import struct, zipfile
def npy(descr, fortran, shape, data):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
with zipfile.ZipFile("a.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("time.npy", npy("<f8", False, "(3,)", struct.pack("<3d", 0, 0.1, 0.2)))
    z.writestr("n.npy", npy(">i2", False, "(3,)", struct.pack(">3h", -1, 2, 300)))
    z.writestr("m.npy", npy("<f4", True, "(3, 2)", struct.pack("<6f", 1, 2, 3, 4, 5, 6)))
open("b.npy", "wb").write(npy("<f8", False, "(2, 2)", struct.pack("<4d", 1, 2, 3, 4)))
open("pickle.npy", "wb").write(npy("|O", False, "(2,)", b"junk"))
open("short.npy", "wb").write(npy("<f8", False, "(9000000000,)", b"junk"))
END
}

test_arrays_are_read() {
    write_npz
    run "$CLAUSIUS" data convert a.npz -o a.csv
    [[ $code != 2 ]] || skip "built without libzip"
    expect_exit 0
    printf 'time,n,m1,m2\n0,-1,1,4\n0.1,2,2,5\n0.2,300,3,6\n' >expected
    expect_same a.csv expected
    run "$CLAUSIUS" data convert b.npy -o b.csv --columns "x, y" --dt 2
    printf 'time,x,y\n0,1,2\n2,3,4\n' >expected
    expect_same b.csv expected
    run "$CLAUSIUS" data inspect pickle.npy
    expect_refused 3 'a pickle. is refused'
    run "$CLAUSIUS" data inspect short.npy
    expect_refused 3 'fewer bytes than its shape says'
    head -c 200 a.npz >cut.npz
    run "$CLAUSIUS" data inspect cut.npz
    expect_exit 3
    printf '\211HDF\r\n\032\ngarbage' >bad.h5
    run "$CLAUSIUS" data inspect bad.h5
    [[ $code == 2 ]] || expect_refused 3 'bad.h5'
    printf 'MATLAB 5.0 MAT-file, and then nothing that is one' >bad.mat
    run "$CLAUSIUS" data inspect bad.mat
    [[ $code == 2 ]] || expect_refused 3 'bad.mat'
}

# MAT files of versions 4 and 5, little and big endian, by the book; one has a sparse matrix, which is no column.
write_mats() {
    python3 - <<'END'
import struct, zlib
def element(e, kind, data): return struct.pack(e + "II", kind, len(data)) + data + b"\0" * (-len(data) % 8)
def matrix(e, name, values, kind=6, more=b""):
    body = element(e, 6, struct.pack(e + "II", kind, len(values))) + element(e, 5, struct.pack(e + "ii", len(values), 1))
    return element(e, 14, body + element(e, 1, name.encode()) + more + element(e, 9, struct.pack(e + "%dd" % len(values), *values)))
columns = [("time", [0, 0.1, 0.2]), ("x", [1, 2, 3]), ("y", [4, 5, 6])]
for e, mark in ("<", b"IM"), (">", b"MI"):
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(e + "H", 0x100) + mark
    letter = "le" if e == "<" else "be"
    rows = element(e, 5, struct.pack(e + "iii", 0, 1, 2)) + element(e, 5, struct.pack(e + "ii", 0, 3))
    five = [matrix(e, *c) for c in columns]
    packed = [struct.pack(e + "II", 15, len(z)) + z for z in map(zlib.compress, five)]
    four = [struct.pack(e + "5i", 0 if e == "<" else 1000, len(v), 1, 0, len(n) + 1) + n.encode() + b"\0"
            + struct.pack(e + "%dd" % len(v), *v) for n, v in columns]
    for name, parts in ("5", [head] + five), ("5z", [head] + packed), ("4", four), ("sparse-", [head] + five + [matrix(e, "s", [1, 2, 3], 5, rows)]):
        open(f"{name}{letter}.mat", "wb").write(b"".join(parts))
        open(f"{name}{letter}.ends", "w").write(" ".join(str(sum(map(len, parts[:k]))) for k in range(1, len(parts))) + " ")
END
}

# A file that was cut ends libmatio's reading as its end would: columns were missing with exit 0.
test_mat_files_are_whole_or_refused() {
    local file size k
    write_mats
    printf 'time,x,y\n0,1,4\n0.1,2,5\n0.2,3,6\n' >expected
    for file in 5le 5be 5zle 5zbe 4le 4be sparse-le sparse-be; do
        run "$CLAUSIUS" data convert $file.mat -o $file.csv
        [[ $code != 2 ]] || skip "built without libmatio"
        expect_exit 0
        expect_same $file.csv expected
        size=$(stat -c %s $file.mat)
        for ((k = size - 1; k > 40; k -= size / 12)); do # fewer letters may be a table
            [[ " $(<$file.ends)" != *" $k "* ]] || continue # where a variable ends
            head -c "$k" $file.mat >cut.mat
            run "$CLAUSIUS" data inspect cut.mat
            [[ $code == 3 ]] || fail "$file.mat cut at $k of $size: exit $code"
        done
    done
}

# The real recordings, where they are.
test_recordings_are_read() {
    [[ -d ${CLAUSIUS_DATA:-/nowhere}/schmidt-lipson ]] || skip "no recordings: CLAUSIUS_DATA is not set"
    run "$CLAUSIUS" data inspect "$CLAUSIUS_DATA/schmidt-lipson/real_pend_h_1.txt" --columns "trajectory, time, phi, v.phi"
    expect_stdout '556 rows, 4 columns'
    expect_stdout 'gaps'
    run "$CLAUSIUS" data inspect "$CLAUSIUS_DATA/tclab/two-heaters.csv" --map "time=Time, T1=Temperature 1 [degC]"
    expect_stdout '^T1 +K +29[0-9]'
    run "$CLAUSIUS" data inspect "$CLAUSIUS_DATA/daisy/thermic-wall.dat" --columns "To, Ti, q" --dt 1
    expect_stdout '1680 rows, 4 columns'
    expect_stdout 'spacing 1 everywhere'
    run "$CLAUSIUS" data inspect "$CLAUSIUS_DATA/dfki-pendulum/energy-shaping.csv"
    expect_stdout 'jitter'
    run "$CLAUSIUS" data inspect "$CLAUSIUS_DATA/spnn/database_double_pendulum.mat" --array "Z(trajectory, column, time)" --dt 0.3
    [[ $code == 2 ]] || expect_stdout 'time from 0 to 59.7, 50 trajectories'
}

# what is written as arrays is read back: the same bits, the order of the columns, the notes
test_arrays_are_written() {
    local ending
    run "$CLAUSIUS" simulate adiabatic-piston --steps 20 --quiet -o a.csv
    expect_ok
    for ending in npz h5 hdf5; do
        run "$CLAUSIUS" simulate adiabatic-piston --steps 20 --quiet -o a.$ending
        [[ $ending != npz && $code == 2 ]] && skip "built without libhdf5"
        expect_ok
        run "$CLAUSIUS" data convert a.$ending -o back.csv
        expect_ok
        expect cmp a.csv back.csv
        run "$CLAUSIUS" audit a.$ending
        expect_ok
    done
    /usr/bin/python3 - <<'END' || fail "zipfile does not read it"
import struct, zipfile
with zipfile.ZipFile("a.npz") as z:
    assert z.testzip() is None
    x = z.read("x.npy")
    assert x[:8] == b"\x93NUMPY\x01\x00" and len(x) == 128 + 21*8 and b"(21,)" in x[:128]
    assert struct.unpack("<d", x[128:136])[0] == 0
END
    run "$CLAUSIUS" simulate pendulum --samples 3 --sample "q~U(-1,1), v.q~U(-1,1)" --steps 4 --quiet -o many.npz
    expect_ok
    run "$CLAUSIUS" data inspect many.npz
    expect_stdout '15 rows'
    expect_stdout '3 trajectories'
    run "$CLAUSIUS" simulate pendulum --steps 5 --quiet -o nowhere/a.npz
    expect_exit 5
}

# Links that lead back to where they begin are followed once, those to other files not at all; thousands of groups in groups, which
# libhdf5 needs minutes for, are refused.
test_hdf5_in_circles_and_too_deep() {
    local flags
    flags=$(pkg-config --cflags --libs hdf5-serial 2>/dev/null || pkg-config --cflags --libs hdf5 2>/dev/null) || skip "no libhdf5"
    cat >make.c <<'C'
#include <hdf5.h>
static void put(hid_t at, const char *name) {
    double d[] = {0, 1, 2, 3};
    hsize_t n = 4;
    hid_t space = H5Screate_simple(1, &n, 0), set = H5Dcreate2(at, name, H5T_NATIVE_DOUBLE, space, 0, 0, 0);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, 0, d);
    H5Dclose(set);
}
int main(void) {
    hid_t f = H5Fcreate("circle.h5", H5F_ACC_TRUNC, 0, 0), g = H5Gcreate2(f, "g", 0, 0, 0);
    put(f, "time");
    put(g, "x");
    H5Lcreate_hard(f, "/", g, "up", 0, 0);
    H5Lcreate_soft("loop", f, "loop", 0, 0);
    H5Lcreate_external("/etc/passwd", "/", f, "other", 0, 0);
    H5Gclose(g);
    H5Fclose(f);
    hid_t at = f = H5Fcreate("deep.h5", H5F_ACC_TRUNC, 0, 0);
    for (int i = 0; i < 1000; i++) at = H5Gcreate2(at, "g", 0, 0, 0);
    put(at, "x");
    return H5close() < 0;
}
C
    # shellcheck disable=SC2086
    { gcc make.c -o make $flags && ./make; } 2>said || fail "$(head -5 said)"
    run "$CLAUSIUS" data inspect circle.h5
    [[ $code == 2 ]] && skip "built without libhdf5"
    expect_ok
    expect_stdout 'g/x'
    RUN_LIMIT=20 run "$CLAUSIUS" data inspect deep.h5
    expect_exit 3
    expect_stderr 'deep.h5: groups in groups, deeper than 64'
}

# A file that comes slowly: the command has opened it, so it hears signals, and reads.
ends_while_it_reads() { # ARGS... with the file named slow
    local job
    rm -f slow
    mkfifo slow
    "$CLAUSIUS" "$@" >said 2>&1 &
    job=$!
    exec 7>slow
    printf 'time,x\n0,1\n' >&7
    kill -TERM "$job" || fail "it was over: $(cat said)"
    (trap '' PIPE; printf '1,1\n' >&7) 2>/dev/null || true # it may have been about to wait
    code=0
    wait "$job" || code=$?
    exec 7>&-
    expect_exit 130
    expect_in_file 'interrupted while reading slow' said
}

test_a_signal_while_a_file_is_read() {
    printf 'time,x\n0,1\n1,2\n' >whole.csv
    ends_while_it_reads compare whole.csv slow
    ends_while_it_reads data inspect slow
    ends_while_it_reads data convert slow -o out.csv
    expect_no_file out.csv*
}

run_tests
