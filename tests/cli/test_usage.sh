#!/usr/bin/env bash
# Help, version, unknown words, options: everything before a system is touched.
. "$(dirname "$0")/../cli/lib.sh"

commands() { echo systems schemes show simulate learn audit compare plot new data reproduce merge; }

test_no_command_prints_usage_on_stderr() {
    run "$CLAUSIUS"
    expect_exit 2
    expect_no_stdout
    expect_stderr 'Usage: clausius'
}

test_help_lists_every_command() {
    local c
    run "$CLAUSIUS" --help
    expect_ok
    expect_no_stderr
    for c in $(commands); do expect_stdout "^  $c "; done
}

test_version() {
    run "$CLAUSIUS" --version
    expect_ok
    expect_stdout '^clausius [0-9]+\.[0-9]+\.[0-9]+$'
}

test_every_command_has_help_with_examples_first() {
    local c
    for c in $(commands); do
        run "$CLAUSIUS" "$c" --help
        expect_ok
        expect_no_stderr
        [[ $(head -n 1 "$out") == Examples:* ]] || fail "help of $c does not begin with examples"
        expect_stdout "Usage: clausius $c"
        cp "$out" "first"
        run "$CLAUSIUS" help "$c"
        expect_ok
        expect_same "$out" first
    done
}

test_help_wins_over_a_wrong_line() {
    run "$CLAUSIUS" simulate --nonsense --help
    expect_ok
    expect_stdout '^Examples:'
}

test_help_fits_a_terminal() {
    local c
    for c in $(commands); do
        "$CLAUSIUS" "$c" --help | sed -n '/^Options:/,/^$/p' | awk 'length > 100 { bad = 1 } END { exit bad }' || fail "options of $c are wider than 100 columns"
    done
}

test_what_other_programs_call_an_option() {
    run "$CLAUSIUS" learn pendulum x.csv --iterations 3
    expect_exit 2
    expect_stderr 'unknown option --iterations; did you mean --epochs\?'
    run "$CLAUSIUS" simulate pendulum --method rk4
    expect_exit 2
    expect_stderr 'did you mean --scheme\?'
}

test_equations_have_the_numbers_of_a_person() {
    cat >oil.clausius <<'END'
system "friction that grows with the temperature"
coordinate x123456789012345678901234
temperature T
thermal lagrangian v.x123456789012345678901234^2/2 + T*(log(T/300) - 1)
friction on T: x123456789012345678901234 <- -(0.15 + 0.002*(T - 300))*v.x123456789012345678901234
END
    run "$CLAUSIUS" show oil.clausius --equations
    expect_ok
    expect_stdout '0\.002\*T - 0\.45\)'
    expect_stdout 'p\.x123456789012345678901234 = v\.x123456789012345678901234'
    expect_stdout '0\.0033333333333333335' # no short decimal: all digits
}

test_unknown_command_gets_a_suggestion() {
    run "$CLAUSIUS" simulat pendulum
    expect_exit 2
    expect_stderr 'did you mean simulate\?'
    run "$CLAUSIUS" help audt
    expect_exit 2
    expect_stderr 'did you mean audit\?'
}

test_far_word_gets_the_list() {
    run "$CLAUSIUS" xyzzy
    expect_exit 2
    expect_stderr 'systems, schemes, show'
}

test_unknown_option_gets_a_suggestion() {
    run "$CLAUSIUS" simulate pendulum --step 3
    expect_exit 2
    expect_stderr 'did you mean --steps\?'
    run "$CLAUSIUS" systems --jsn
    expect_exit 2
    expect_stderr 'did you mean --json\?'
}

test_option_needs_its_value() {
    run "$CLAUSIUS" simulate pendulum --h
    expect_exit 2
    expect_stderr '--h needs a value'
    run "$CLAUSIUS" simulate pendulum --start --json
    expect_exit 2
    expect_stderr '--start needs a value'
}

test_flag_takes_no_value() {
    run "$CLAUSIUS" systems --json=yes
    expect_exit 2
    expect_stderr 'takes no value'
}

test_option_twice_is_refused() {
    run "$CLAUSIUS" simulate pendulum --h 0.1 --h 0.2
    expect_exit 2
    expect_stderr 'given twice$'
    run "$CLAUSIUS" simulate heat-plate --set N=4 --set c=2
    expect_exit 2
    expect_stderr '--set is given twice; its values go into one list: --set "A, B"'
}

test_missing_and_extra_words() {
    run "$CLAUSIUS" compare one.csv
    expect_exit 2
    expect_stderr 'usage: clausius compare'
    run "$CLAUSIUS" show pendulum two-body
    expect_exit 2
    expect_stderr "unexpected 'two-body'"
}

test_equals_form_and_separate_form_agree() {
    run "$CLAUSIUS" simulate pendulum --steps=3 --h=1/64
    expect_ok
    cp "$out" first
    run "$CLAUSIUS" simulate pendulum --steps 3 --h 0.015625
    expect_ok
    expect_same "$out" first
}

test_numbers_that_are_none() {
    local text
    for text in nan inf -inf 0.1abc '' abc 1/0 '1 2' 0 -0.1 -0; do
        run "$CLAUSIUS" simulate pendulum --steps 3 --h "$text" -o x.csv
        expect_exit 2
        expect_stderr 'clausius simulate: --h'
        expect_no_stdout
        expect_no_file x.csv*
    done
    for text in -1 1.5 nan 1e300 ten; do
        run "$CLAUSIUS" simulate pendulum --steps "$text"
        expect_exit 2
        expect_stderr 'clausius simulate: --steps'
        expect_no_stdout
    done
}

test_integers_in_floating_notation() {
    run "$CLAUSIUS" simulate mass-spring --steps 1e3 --json
    expect_ok
    expect_json 'd["steps"] == 1000'
}

test_systems_and_schemes() {
    run "$CLAUSIUS" systems
    expect_ok
    local s
    for s in damped-oscillator ideal-gas-piston van-der-waals-piston van-der-waals-forced \
        two-pistons adiabatic-piston rigid-body mass-spring pendulum two-body oscillator \
        isothermal-oscillator thermal-oscillator rlc-circuit heat-reservoirs motor \
        thermoelastic-double-pendulum; do
        expect_stdout "^$s  +[^ ]"
    done
    run "$CLAUSIUS" systems --json
    expect_json 'len(d["systems"]) >= 10 and all(s["name"] and s["title"] for s in d["systems"])'
    run "$CLAUSIUS" schemes
    expect_ok
    for s in dtel discrete-gradient vnots vnots-symmetric cayley cayley-symmetric leapfrog symplectic-euler euler \
        implicit-euler implicit-midpoint rk2 rk3 rk4 lawful-rk4 lawful-rk6 lawful-rk8 generic-euler eem bdf; do
        expect_stdout "^$s "
    done
    run "$CLAUSIUS" schemes --json
    expect_json 'all({"name","order","implicit","keeps","doc"} <= set(s) for s in d["schemes"])'
    expect_json '[s["order"] for s in d["schemes"] if s["name"] == "rk4"] == [4]'
}

test_show() {
    run "$CLAUSIUS" show adiabatic-piston
    expect_ok
    expect_stdout 'T1'
    run "$CLAUSIUS" show adiabatic-piston --equations
    expect_ok
    expect_stdout 'd/dt x = v\.x'
    run "$CLAUSIUS" show adiabatic-piston --latex
    expect_ok
    expect_stdout '\\'
    run "$CLAUSIUS" show adiabatic-piston --parts
    expect_ok
    expect_stdout 'G'
    expect_stdout 'F1'
    run "$CLAUSIUS" show adiabatic-piston --json --set m=3
    expect_json 'd["parameters"]["m"] == 3 and d["columns"][0] == "time" and "x" in d["state"]'
}

test_source_of_a_built_in_is_the_same_system() {
    "$CLAUSIUS" show ideal-gas-piston --source >mine.clausius || fail "no source"
    run "$CLAUSIUS" simulate ideal-gas-piston --steps 50
    expect_ok
    grep -v '^#' "$out" >first
    run "$CLAUSIUS" simulate mine.clausius --steps 50
    expect_ok
    grep -v '^#' "$out" >second
    expect_same first second
}

test_unknown_system_gets_a_suggestion() {
    run "$CLAUSIUS" show adiabatic-pistn
    expect_exit 4
    expect_stderr 'adiabatic-piston'
}

test_stdout_that_cannot_be_written_is_an_error() {
    local c
    for c in systems schemes --help --version 'show pendulum' 'systems --json' \
        'simulate pendulum --steps 5'; do
        # shellcheck disable=SC2086
        "$CLAUSIUS" $c >/dev/full 2>message
        [[ $? == 5 ]] || fail "clausius $c >/dev/full: expected exit code 5"
        expect_in_file 'No space left' message
    done
}

test_new_writes_a_system_that_works() {
    run "$CLAUSIUS" new my-piston
    expect_ok
    expect_file my-piston.clausius
    expect_in_file '^system "my piston"' my-piston.clausius
    run "$CLAUSIUS" simulate my-piston.clausius --steps 10
    expect_ok
    run "$CLAUSIUS" new my-piston
    expect_exit 5
    expect_stderr 'exists'
    echo changed >my-piston.clausius
    run "$CLAUSIUS" new my-piston --force
    expect_ok
    expect_in_file '^system' my-piston.clausius
    expect test "$(ls -A | wc -l)" = 1
}

test_new_refuses_bad_names_and_places() {
    local name
    for name in '' a/b ../x 9lives 'two words' '.hidden' "$(printf 'n%.0s' {1..200})"; do
        run "$CLAUSIUS" new -- "$name"
        expect_exit 2
    done
    mkdir closed
    chmod a-w closed
    cd closed || fail "cd"
    [[ -w . ]] && skip "running as root"
    run "$CLAUSIUS" new thing
    expect_exit 5
}

# options that say how data are read, where none are
test_reading_without_a_file() {
    for words in '--columns q' '--map a=b' '--dt 3' '--array u' '--missing drop'; do
        run "$CLAUSIUS" simulate pendulum --steps 1 $words -o no.csv
        expect_exit 2
        expect_stderr "${words%% *} says how a file is read, and needs --from, --inputs or --at FILE"
        expect_no_file no.csv
    done
}

run_tests
