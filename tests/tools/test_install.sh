#!/usr/bin/env bash
# What `make install` gives must be enough for a stranger's program: by pkg-config, by CMake, from C
# and from C++, shared and static, also after the tree has moved.
. "$(dirname "$0")/../cli/lib.sh"
BUILD=${CLAUSIUS_BUILD:-$SOURCE/build}

# Installs to a place that is moved afterwards, so that nothing may remember it.
install_here() {
    [[ -e $BUILD/libclausius.so ]] || skip "nothing built in $BUILD"
    run cmake --install "$BUILD" --prefix "$PWD/first"
    expect_ok
    mv first prefix
    local pc
    pc=$(find "$PWD/prefix" -name clausius.pc)
    expect test -n "$pc"
    export PKG_CONFIG_PATH=${pc%/*}
    libdir=${pc%/pkgconfig/*}
    export LD_LIBRARY_PATH=$libdir
    printf '#include <clausius/clausius.h>\n#include <stdio.h>\nint main(void) { return puts(cls_version()) < 0; }\n' >main.c
}
prints_the_version() {
    run "$1"
    expect_ok
    expect_stdout "^$(pkg-config --modversion clausius)$"
}

test_files_are_in_place() {
    install_here
    expect_file "$libdir/libclausius.so.0" "$libdir/libclausius.so" "$libdir/libclausius.a"
    expect_file prefix/bin/clausius prefix/include/clausius/clausius.h
    run readelf -d "$libdir/libclausius.so"
    expect_stdout 'SONAME.*\[libclausius\.so\.0\]'
    local f
    for f in "$SOURCE"/src/system/builtin/*.clausius; do
        expect_file "prefix/share/clausius/systems/${f##*/}"
    done
    [[ ! -e $SOURCE/docs/clausius.1 ]] || expect_file prefix/share/man/man1/clausius.1
    [[ ! -e $SOURCE/cli/completion.bash ]] ||
        expect_file prefix/share/bash-completion/completions/clausius
}

test_installed_program_runs() {
    install_here
    run prefix/bin/clausius --version
    expect_ok
    expect_stdout "$(pkg-config --modversion clausius)"
}

test_pkg_config_shared() {
    install_here
    # shellcheck disable=SC2046
    run gcc -std=c17 -Wall -Wextra -Werror -pedantic main.c $(pkg-config --cflags --libs clausius) -o main
    expect_ok
    prints_the_version ./main
}

test_pkg_config_static() {
    install_here
    # shellcheck disable=SC2046
    run gcc main.c $(pkg-config --cflags clausius) "$libdir/libclausius.a" \
        $(pkg-config --static --libs clausius | sed 's/-lclausius//') -o main
    expect_ok
    prints_the_version ./main
    # what reads files of every format, learns and draws, too
    cat >whole.c <<'END'
#include <clausius/clausius.h>
typedef void (*function)(void);
static volatile function all[] = {(function)cls_table_read, (function)cls_learn, (function)cls_report_write};
int main(void) {
    return all[0] == all[1];
}
END
    # shellcheck disable=SC2046
    run gcc whole.c $(pkg-config --cflags clausius) "$libdir/libclausius.a" \
        $(pkg-config --static --libs clausius | sed 's/-lclausius//') -o whole
    expect_ok
}

test_cmake_package() {
    install_here
    cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(stranger C)
find_package(clausius 0.1 REQUIRED)
add_executable(main main.c)
target_link_libraries(main clausius::clausius)
END
    run cmake -S . -B b -DCMAKE_PREFIX_PATH="$PWD/prefix"
    expect_ok
    run cmake --build b
    expect_ok
    prints_the_version b/main
}

test_every_header_stands_alone_in_c_and_cxx() {
    install_here
    local f
    for f in prefix/include/clausius/*.h; do
        printf '#include <clausius/%s>\n' "${f##*/}" >one.c
        run gcc -std=c17 -Wall -Wextra -Werror -pedantic -Iprefix/include -fsyntax-only one.c
        expect_ok
    done
    ls prefix/include/clausius |
        sed 's|.*|#include <clausius/&>|' >main.cpp
    printf '#include <cstdio>\nint main() { return std::puts(cls_version()) < 0; }\n' >>main.cpp
    # shellcheck disable=SC2046
    run g++ -std=c++17 -Wall -Wextra -Werror -pedantic main.cpp $(pkg-config --cflags --libs clausius) -o main
    expect_ok
    prints_the_version ./main
}

run_tests
