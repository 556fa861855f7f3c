#!/usr/bin/env bash
# The manual page and the completion say what the program says.
. "$(dirname "$0")/../cli/lib.sh"

commands() { "$CLAUSIUS" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v '^help$'; }

options() { "$CLAUSIUS" "$1" --help | sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p' | grep -v '^help$'; }

test_manual_has_every_command_and_option() {
    local c o
    for c in $(commands); do
        # One command's part of the page, with roff's escaped dashes made plain.
        sed -n "/^\.SS \"clausius ${c}[ \"]/,/^\.S[SH] /p" "$SOURCE/docs/clausius.1" |
            sed 's/\\-/-/g' >part
        expect_file part
        for o in $(options "$c"); do expect_in_file "\-\-$o( |$|\\\\|\])" part; done
    done
}

test_manual_formats_without_a_warning() {
    command -v groff >/dev/null || skip "no groff"
    groff -man -Tutf8 -ww "$SOURCE/docs/clausius.1" >page 2>warnings || fail "groff failed"
    expect test ! -s warnings
    expect_in_file 'Interrupted by SIGINT' page
}

complete_line() { # the completions of the words given, the last one unfinished
    PATH=$(dirname "$CLAUSIUS"):$PATH bash -c '
        . "$SOURCE/cli/completion.bash"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _clausius
        printf "%s\n" "${COMPREPLY[@]}"' complete "$@" >completions
}

test_completion() {
    complete_line clausius sim
    expect_in_file '^simulate$' completions
    complete_line clausius simulate adia
    expect_in_file '^adiabatic-piston$' completions
    complete_line clausius simulate pendulum --scheme leap
    expect_in_file '^leapfrog$' completions
    complete_line clausius simulate pendulum --unt
    expect_in_file '^--until$' completions
    complete_line clausius help aud
    expect_in_file '^audit$' completions
    complete_line clausius learn adiabatic-piston data.csv --unknown F
    expect_in_file '^F1$' completions
    complete_line clausius learn adiabatic-piston data.csv --optimizer li
    expect_in_file '^linear$' completions
    complete_line clausius reproduce dtel-t
    expect_in_file '^dtel-table-2$' completions
    : >mine.clausius
    complete_line clausius show mi
    expect_in_file '^mine\.clausius$' completions
    : >run.csv
    complete_line clausius compare ru
    expect_in_file '^run\.csv$' completions
}

run_tests
