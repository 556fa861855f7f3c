#!/usr/bin/env bash
# No function takes more than 32 kB of the stack, of which threads may have 64 kB: also those that no command of tests/fault/test_stack.sh comes to.
. "$(dirname "$0")/../cli/lib.sh"

# frames OBJECT: bytes and name of every function, the largest first, from its machine code; in pages that are touched one by one all are counted.
frames() {
    objdump -d --no-show-raw-insn "$1" | perl -ne '
        if (/^[0-9a-f]+ <(.*)>:/) { $f = $1 }
        elsif (/sub +\$0x([0-9a-f]{1,7}),%rsp|lea +-0x([0-9a-f]+)\(%rsp\),%r1[01]/) { $m{$f} += hex($1 || $2) }
        END { printf "%d %s\n", $m{$_}, $_ for sort { $m{$b} <=> $m{$a} } keys %m }'
}

test_frames_are_small() {
    local library=${CLAUSIUS_BUILD:-$SOURCE/build}/libclausius.so
    [[ $(uname -m) == x86_64 ]] || skip "reads the machine code of x86-64"
    command -v objdump >/dev/null || skip "no objdump"
    [[ -f $library ]] || skip "there is no $library"
    printf 'void g(char *);\nvoid f(void) { char a[40000]; g(a); }\n' >large.c
    cc -O2 -fstack-clash-protection -c large.c -o large.o
    frames large.o >found
    expect awk '$2 == "f" && $1 >= 40000 { ok = 1 } END { exit !ok }' found
    frames "$library" >found
    expect test "$(wc -l <found)" -gt 1000
    awk '$1 > 32768' found >large
    [[ ! -s large ]] || fail "large frames: $(head -5 large)"
}

run_tests
