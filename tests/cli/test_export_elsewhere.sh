#!/usr/bin/env bash
# Exported models where they land: other machines (cross compilers and qemu), FMPy, node, checkers.
# What is not installed is skipped, by name.
. "$(dirname "$0")/../cli/lib.sh"
. "$SOURCE/tests/export/models.sh"

need() {
    local c
    for c; do command -v "$c" >/dev/null || skip "no $c"; done
}

fmpy() {
    python=$CLAUSIUS_BUILD/fmpy/bin/python
    "$python" -c 'import fmpy' 2>/dev/null || skip "no FMPy in build/fmpy (tools/fmpy-env build/fmpy, or make check-long)"
}

# Rows that agree: the same bits, or off by the last bits of another libm.
near() { # FILE FILE LIMIT
    run "$CLAUSIUS" compare "$1" "$2" --tolerance "$3"
    expect_ok
}

# A piston and one with networks, compiled for MACHINE and run by qemu.
elsewhere() { # COMPILER QEMU
    local m
    need "$1" "$2"
    "$CLAUSIUS" export c adiabatic-piston -o known.c --prefix model_known --quiet
    "$CLAUSIUS" simulate adiabatic-piston --steps 300 --h 0.01 --quiet -o known.csv
    make_model tanh
    "$CLAUSIUS" export c tanh.safetensors -o tanh.c --prefix model_tanh --quiet
    "$CLAUSIUS" simulate tanh.safetensors --steps 300 --h 0.01 --quiet -o tanh.csv
    for m in known tanh; do
        "$1" -std=c99 -O2 -static -ffp-contract=off -fno-math-errno $m.c/*.c -lm -o $m.$1 || fail "$1 does not compile $m"
        "$2" ./$m.$1 300 0.01 >$m.there.csv || fail "$m does not run by $2"
        near $m.there.csv $m.csv 1e-13
        run "$CLAUSIUS" audit $m.there.csv
        expect_ok
        expect_stdout 'laws hold'
    done
}

test_aarch64() { elsewhere aarch64-linux-gnu-gcc qemu-aarch64; }

test_riscv64() { elsewhere riscv64-linux-gnu-gcc qemu-riscv64; }

arm() {
    arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=gnu99 -Os -ffp-contract=off \
        -fno-math-errno -ffunction-sections -fdata-sections "$@"
}

# Text and data of what a firmware calls (defaults, start, step, row), without libm.
arm_size() { # NAME
    arm -Wall -Wextra -Werror -c "$1.c/model_$1.c" -o "$1.o" || fail "arm-none-eabi-gcc has something to say"
    arm-none-eabi-ld -r --gc-sections -e "model_$1_step" -u "model_$1_defaults" -u "model_$1_start" -u "model_$1_row" "$1.o" -o "$1.gc.o"
    arm-none-eabi-size "$1.gc.o" | awk 'NR == 2 { print $1 + $2 }'
}

test_three_networks_fit_a_cortex_m4() {
    need arm-none-eabi-gcc
    "$CLAUSIUS" simulate adiabatic-piston --steps 60 --quiet -o data.csv
    "$CLAUSIUS" learn adiabatic-piston data.csv --unknown "G, F1, F2" --field "network(32, 32)" --optimizer adam --epochs 3 --threads 1 --quiet -o three.safetensors
    "$CLAUSIUS" export c three.safetensors -o three.c --prefix model_three --quiet
    local size stack
    size=$(arm_size three)
    CCACHE_DISABLE=1 arm -fcallgraph-info=su -c three.c/model_three.c -o three.o
    stack=$(/usr/bin/python3 "$SOURCE/tests/export/stack.py" three.ci model_three_step)
    echo "# three networks (32, 32) on a Cortex-M4: text and data $size bytes, stack of a step at most $stack bytes, C source $(wc -c <three.c/model_three.c) bytes"
    expect test "$size" -lt 65536
    expect test "$stack" -lt 8192
    expect test "$(wc -c <three.c/model_three.c)" -lt 150000 # 72 kB of them weights
    "$CLAUSIUS" export c three.safetensors --float -o single.c --prefix model_single --quiet
    size=$(arm_size single)
    echo "# with weights in single precision: text and data $size bytes, C source $(wc -c <single.c/model_single.c) bytes"
    expect test "$size" -lt 51200
}

# Steps without equations need no Newton's method and no Jacobian.
test_explicit_steps_fit_a_cortex_m4() {
    need arm-none-eabi-gcc
    local k size stack
    for k in rk4 rk6 rk8; do
        "$CLAUSIUS" export c thermal-oscillator --scheme lawful-$k --parameters none -o $k.c --prefix model_$k --quiet
        size=$(arm_size $k)
        CCACHE_DISABLE=1 arm -fcallgraph-info=su -c $k.c/model_$k.c -o $k.o
        stack=$(/usr/bin/python3 "$SOURCE/tests/export/stack.py" $k.ci model_${k}_step)
        echo "# thermal-oscillator by lawful-$k on a Cortex-M4: text and data $size bytes, stack of a step at most $stack bytes"
        expect test "$size" -lt 9000
        expect test "$stack" -lt 4096
    done
}

# Weights in single precision: another motion, near the model's, and the same laws.
test_float() {
    make_model tanh
    run "$CLAUSIUS" export c tanh.safetensors --float -o single.c --prefix model_single
    expect_ok
    expect_stderr 'within [0-9.e-]+ of the model'
    expect_in_file 'Weights of networks are in single precision' single.c/model_single.h
    gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -O1 -fno-math-errno single.c/*.c -lm -o single.c/main || fail "it does not compile without a word"
    single.c/main 300 0.01 >single.csv || fail "it does not run"
    "$CLAUSIUS" simulate tanh.safetensors --steps 300 --h 0.01 --quiet -o double.csv
    near single.csv double.csv 1e-5
    expect test "$("$CLAUSIUS" compare single.csv double.csv --tolerance 0 >/dev/null 2>&1; echo $?)" -ne 0
    run "$CLAUSIUS" audit single.csv
    expect_ok
    expect_stdout 'laws hold'
    run "$CLAUSIUS" export c pendulum --float -o none
    expect_exit 2
    expect_stderr 'for the weights of networks'
    expect test ! -e none
}

# Without Debian's cross compilers: zig from PyPI, where it is installed.
test_platforms_by_zig() {
    local python=${CLAUSIUS_ZIG:-$CLAUSIUS_BUILD/zig/bin/python}
    "$python" -m ziglang version >/dev/null 2>&1 || skip "no ziglang in build/zig (python3 -m venv build/zig && build/zig/bin/pip install ziglang)"
    need cc unzip
    mkdir bare
    for c in cc as ld sh timeout; do ln -s "$(command -v $c)" bare/$c; done
    printf '#!/bin/sh\nexec %s "$@"\n' "$python" >bare/python3
    chmod +x bare/python3
    RUN_LIMIT=600 PATH=$PWD/bare run "$CLAUSIUS" export fmu pendulum --fmi 3 --platforms "x86_64-windows, aarch64-darwin, aarch64-linux" -o p.fmu
    expect_ok
    unzip -l p.fmu >list
    expect_in_file 'binaries/x86_64-windows/pendulum.dll' list
    expect_in_file 'binaries/aarch64-darwin/pendulum.dylib' list
    expect_in_file 'binaries/aarch64-linux/pendulum.so' list
}

test_cortex_m4_by_qemu() {
    need arm-none-eabi-gcc qemu-system-arm
    local fw=$SOURCE/tests/export/cortex-m
    make_model tanh
    "$CLAUSIUS" export c tanh.safetensors -o tanh.c --prefix model_tanh --quiet
    "$CLAUSIUS" simulate tanh.safetensors --steps 40 --h 0.01 --quiet -o tanh.csv
    arm --specs=rdimon.specs -Wl,--gc-sections,--no-warn-rwx-segments -T "$fw/link.ld" "$fw/start.c" tanh.c/*.c -lm -o tanh.elf || fail "arm-none-eabi-gcc does not link it"
    timeout 100 qemu-system-arm -M mps2-an386 -cpu cortex-m4 -nographic -kernel tanh.elf \
        -semihosting-config enable=on,target=native,arg=main,arg=40,arg=0.01 </dev/null >there.csv || fail "it does not run by qemu-system-arm"
    near there.csv tanh.csv 1e-13
    run "$CLAUSIUS" audit there.csv
    expect_ok
    expect_stdout 'laws hold'
}

test_cxx_says_nothing() {
    make_model tanh
    "$CLAUSIUS" export c tanh.safetensors -o tanh.c --prefix model_tanh --quiet
    expect g++ -std=c++17 -pedantic -Wall -Wextra -Wconversion -Werror -x c++ -c tanh.c/model_tanh.c -o cxx.o
}

test_learned_models_have_the_bits_of_the_library() {
    local m
    for m in chebyshev sin convex ports; do export_model $m 300 1 -O0; done
}

test_parameters_in_javascript() {
    need node
    "$CLAUSIUS" export js adiabatic-piston -o piston.mjs --quiet
    "$CLAUSIUS" simulate adiabatic-piston --set "m=1.5, nu1=0.05" --steps 200 --quiet -o rows.csv
    run node "$SOURCE/tests/export/check.mjs" piston.mjs rows.csv m=1.5 nu1=0.05
    expect_ok
    expect_stdout ': 201 rows'
}

test_main_takes_parameters_and_starts() {
    "$CLAUSIUS" export c adiabatic-piston -o piston --prefix gas --quiet
    gcc -std=c99 -O0 -ffp-contract=off -fno-math-errno piston/*.c -lm -o main || fail "it does not compile"
    ./main 200 0.01 1 m=1.5 x=0.3 p.x=1 >exported.csv || fail "it does not run"
    "$CLAUSIUS" simulate adiabatic-piston --set m=1.5 --start "x=0.3, p.x=1" --steps 200 --quiet -o simulated.csv
    near exported.csv simulated.csv 1e-12
    run "$CLAUSIUS" audit exported.csv
    expect_ok
    expect_stdout 'laws hold'
    run ./main 200 0.01 1 L=3
    expect_exit 2
    { # the program of the README
        printf '#include "gas.h"\n#include <stdio.h>\nint main(void) {\n'
        sed -n '/^In a program of your own/,/^## /p' piston/README.md | sed -n 's/^    //p'
        printf 'printf("%%.17g\\n", row[GAS_COLUMN_x]);\nreturn 0;\n}\n'
    } >own.c
    gcc -std=c99 -pedantic -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Ipiston own.c piston/gas.c -lm -o own || fail "the program of the README does not compile"
    run ./own
    expect_ok
    expect_stdout "^$("$CLAUSIUS" simulate adiabatic-piston --steps 1000 --quiet | awk -F, 'END { print $2 }')"
    run "$CLAUSIUS" export c adiabatic-piston -o none --prefix gas --parameters none --quiet
    expect_ok
    expect_in_file 'GAS_PARAMETERS = 0' none/gas.h
    expect_in_file 'All 9 laws hold' none/README.md
}

# What the README of a system with inputs tells: the names, a program that compiles, and why inputs at 0 may not do.
test_readme_of_a_system_with_inputs() {
    cat >oven.clausius <<'S'
system "a heated body in a room; a name that C has"
input Q [W], Tair [K]
temperature T1 [K]
parameter double = 50, ka = 0.5
reservoir Troom [K] = Tair
thermal lagrangian double*T1*(log(T1/300) - 1)
heat exchange T1 <-> Troom: ka
heat source heater on T1: Q
start T1 = 293
step 0.1
until 10
S
    "$CLAUSIUS" export c oven.clausius -o oven --quiet
    expect_in_file '^\| Tair \| `OVEN_INPUT_Tair` \| K \|' oven/README.md
    expect_in_file '`OVEN_PARAMETER_double_`' oven/README.md
    expect_in_file '^Then a step was refused: step 1 at time 0: .*Inputs are 0 until they are set' oven/README.md
    { # the program of the README, in a room that is not at 0 K
        printf '#include "oven.h"\n#include <stdio.h>\nint main(void) {\n'
        sed -n '/^In a program of your own/,/^## /p' oven/README.md | sed -n 's/^    //p' |
            sed 's/^oven_set_input.*/&\noven_set_input(\&m, OVEN_INPUT_Tair, 293);/'
        printf 'printf("%%.17g\\n", row[OVEN_COLUMN_T1]);\nreturn 0;\n}\n'
    } >own.c
    gcc -std=c99 -pedantic -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Ioven own.c oven/oven.c -lm -o own || fail "the program of the README does not compile"
    run ./own
    expect_ok
    expect_stdout "^$("$CLAUSIUS" simulate oven.clausius --set "Q=1, Tair=293" --steps 1000 --quiet | awk -F, 'END { print $2 }')"
}

test_fmus_with_networks() {
    fmpy
    local v
    make_model tanh
    "$CLAUSIUS" simulate tanh.safetensors --steps 30 --h 0.01 --quiet -o rows.csv
    for v in 2 3; do
        run "$CLAUSIUS" export fmu tanh.safetensors --h 0.01 --fmi $v -o tanh.fmu
        expect_ok
        run "$python" "$SOURCE/tests/export/check_fmu.py" tanh.fmu rows.csv
        expect_ok
        expect_stdout 'same bits, 0 messages'
    done
}

# A start is brought to length one: what depends on a component of a direction depends on all of them there.
test_fmu_of_a_body_with_directions() {
    fmpy
    local v
    cat >spin.clausius <<'S'
system "a heavy body with its attitude; friction heats it"
rigid body mu1, mu2, mu3 with velocity w1, w2, w3
vertical g1, g2, g3 of mu1, mu2, mu3
attitude e0, e1, e2, e3 of mu1, mu2, mu3
entropy S
hamiltonian mu1^2/2 + mu2^2/4 + mu3^2/5 + 0.7*(g3 + 0.2*g1) + 2*exp(S/2)
friction on S: mu1 <- -0.02*w1, mu2 <- -0.03*w2*(1 + T), mu3 <- -0.01*w3
start mu1 = 0.5, mu2 = 1, mu3 = 2, g1 = 0.6, g2 = 0, g3 = 0.8, S = 0.3
step 0.02
until 20
S
    "$CLAUSIUS" simulate spin.clausius --steps 60 --quiet -o rows.csv
    for v in 2 3; do
        "$CLAUSIUS" export fmu spin.clausius --fmi $v -o spin.fmu --quiet
        run "$python" "$SOURCE/tests/export/check_fmu.py" spin.fmu rows.csv
        expect_ok
        expect_stdout 'same bits, 0 messages'
    done
}

test_fmus_in_use() {
    fmpy
    local v
    "$CLAUSIUS" simulate adiabatic-piston --set "m=1.5, nu1=0.05" --steps 60 --quiet -o set.csv
    "$CLAUSIUS" simulate "$SOURCE/tests/export/masses.clausius" --steps 10000 --quiet -o whole.csv
    for v in 2 3; do
        "$CLAUSIUS" export fmu adiabatic-piston --fmi $v -o piston.fmu --quiet
        run "$python" "$SOURCE/tests/export/check_set_fmu.py" piston.fmu set.csv m=1.5 nu1=0.05
        expect_ok
        run "$python" "$SOURCE/tests/export/check_drift.py" piston.fmu 3000
        expect_ok
        "$CLAUSIUS" export fmu "$SOURCE/tests/export/mass.clausius" --fmi $v -o mass.fmu --quiet
        run "$python" "$SOURCE/tests/export/check_coupled.py" mass.fmu whole.csv
        expect_ok
        expect_stdout 'two coupled'
    done
}

test_other_platforms() {
    need aarch64-linux-gnu-gcc unzip
    run "$CLAUSIUS" export fmu pendulum --fmi 3 --platforms "aarch64-linux" -o p.fmu
    expect_ok
    unzip -l p.fmu >list
    expect_in_file 'binaries/aarch64-linux/pendulum.so' list
    unzip -q p.fmu
    aarch64-linux-gnu-objdump -T binaries/aarch64-linux/pendulum.so | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 >newest
    expect_in_file '^GLIBC_2\.17$' newest
    run "$CLAUSIUS" export fmu pendulum --platforms "amiga" -o q.fmu
    expect_exit 2
    expect_stderr "'amiga' is no platform; there are x86_64-linux"
    expect test ! -e q.fmu
    run "$CLAUSIUS" export c pendulum --platforms all -o q
    expect_exit 2
}

run_tests
