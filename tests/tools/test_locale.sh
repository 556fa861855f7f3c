#!/usr/bin/env bash
# The library in a program that has set its user's locale, where the decimal mark is a comma: the same bytes in every file
# that it writes and in every text about systems. (The program itself leaves the locale alone; here it is made to set it.)
. "$(dirname "$0")/../fault/lib.sh"

# both NAME ARGUMENTS...: in a folder NAME, and with a comma in NAME.de.
both() {
    local name=$1 setting=(env) folder
    shift
    for folder in "$HERE/$name" "$HERE/$name.de"; do
        mkdir "$folder"
        cd "$folder" || fail "$folder"
        run "${setting[@]}" "$CLAUSIUS" "$@"
        expect_ok
        [[ $1 != show ]] || cp "$out" stdout
        setting=("${german[@]}")
    done
    cd "$HERE" || fail "$HERE"
}

test_numbers_have_a_point_in_any_locale() {
    local name arguments file words
    HERE=$PWD
    localedef -i de_DE -f UTF-8 "$HERE/de_DE.UTF-8" >/dev/null 2>&1 || skip "needs the sources of locales (Debian: locales)"
    cat >german.c <<'C'
#include <locale.h>
#include <stdlib.h>
__attribute__((constructor)) static void set(void) {
    if (!setlocale(LC_ALL, "") || localeconv()->decimal_point[0] != ',') abort();
}
C
    ${CC:-cc} -shared -fPIC german.c -o german.so || skip "no C compiler"
    german=(env LC_ALL=de_DE.UTF-8 LOCPATH="$HERE" LD_PRELOAD="$HERE/german.so")
    "${german[@]}" true || skip "the locale cannot be set"
    CLAUSIUS_LONG=1 inputs
    export CC=false OMP_NUM_THREADS=1
    while read -r name arguments; do
        [[ $arguments == *" -o "* || $arguments == show* || $name == new ]] || continue
        eval "words=($arguments)"
        both "$name" "${words[@]}"
        for file in "$name"/*; do
            [[ $file == *.log.csv || -d $file ]] && continue # logs have seconds in them
            if [[ $file == *.npz || $file == *.h5 ]]; then # notes are inside of these
                "$CLAUSIUS" data convert "$file" -o "$file.csv" && "$CLAUSIUS" data convert "$name.de/${file##*/}" -o "$name.de/${file##*/}.csv"
                file=$file.csv
            fi
            [[ $file != *.csv ]] || sed -i '/^# /d' "$file" "$name.de/${file##*/}" # notes are the program's own
            [[ $file != *.html ]] || sed -i '/learning took/d' "$file" "$name.de/${file##*/}"
            expect_same "$file" "$name.de/${file##*/}"
        done
    done < <(CLAUSIUS_LONG=1 commands)
}

run_tests
