#!/usr/bin/env bash
# The README and the guide are true: their commands run, in order, and print what the text says.
#
#   ```sh         every line is a command (a backslash joins lines) and must succeed; a line that ends
#                 in `# exits N` must exit with N
#   ```text       right after it: each line must stand in what the commands printed. `...` stands for
#                 anything, runs of blanks for one, and numbers of round-off size (e-10 and smaller)
#                 are all equal
#   ```clausius   is written to disk when its first line is `# file: NAME.clausius`
#   ```c          the same with `/* file: NAME.c */`
# Other blocks are for reading only.
. "$(dirname "$0")/../cli/lib.sh"
BUILD=${CLAUSIUS_BUILD:-$(dirname "$CLAUSIUS")}

# The blocks of a Markdown file as blocks/NNN.KIND, in order.
split_blocks() {
    mkdir blocks
    awk '
        /^```/ && !inside { inside = 1; kind = substr($0, 4); file = sprintf("blocks/%03d.%s", ++n, kind ? kind : "plain")
                            printf "" > file; next }
        /^```/            { inside = 0; close(file); next }
        inside            { print > file }' "$1"
}

write_file() { # BLOCK: writes it under the name that its first line gives, if there is one
    local name
    name=$(sed -nE '1s/^(#|\/\*) file: ([A-Za-z0-9_.-]+)( \*\/)?$/\2/p' "$1")
    [[ -z $name ]] || cp "$1" "work/$name"
}

normal() { # numbers of round-off size, blanks
    sed -E 's/[0-9]+(\.[0-9]+)?e-[1-9][0-9]+/TINY/g; s/[[:blank:]]+/ /g; s/^ | $//g' "$@"
}

run_commands() { # BLOCK: in work/, in this shell, so that cd and export last
    local block=$PWD/$1 line want here=$PWD
    : >"$here/said"
    cd work || fail "no work directory"
    while read -r line; do
        [[ -n $line && $line != '#'* ]] || continue
        want=$(sed -nE 's/.*# exits ([0-9]+)$/\1/p' <<<"$line")
        last_command=$line code=0
        eval "$line" </dev/null >"$out" 2>"$err" || code=$?
        # an item whose recordings are not here is said, and the rest have run
        [[ $line == *"reproduce --all"* && $code == 5 && ! -d ${CLAUSIUS_DATA:-/nonexistent}/schmidt-lipson ]] && code=0
        cat "$out" "$err" >>"$here/said"
        expect_exit "${want:-0}"
    done < <(sed -e ':join' -e '/\\$/{N;s/\\\n */ /;b join' -e '}' "$block")
    cd "$here" || fail "cannot go back"
}

expect_lines_said() { # BLOCK
    local line
    normal said >said.normal
    while IFS= read -r line; do
        [[ -n $line && $line != ... ]] || continue
        grep -Eq -- "$(sed -e 's/[][\.*^$(){}+?|]/\\&/g' -e 's/\\\.\\\.\\\./.*/g' <<<"$line")" said.normal ||
            fail "the text promises a line that was not printed: $line
$(head -n 60 said)"
    done < <(normal "$1")
}

# What a reader of the C chapter has done before: make install, and the paths that go with it.
install_library() {
    [[ -e $BUILD/libclausius.so ]] || skip "no library in $BUILD"
    cmake --install "$BUILD" --prefix "$PWD/prefix" >/dev/null || fail "cannot install from $BUILD"
    PKG_CONFIG_PATH=$(dirname "$(find "$PWD/prefix" -name clausius.pc)")
    LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/pkgconfig}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
}

run_guide() {
    local block commands=0
    PATH=$(dirname "$CLAUSIUS"):$PATH
    ! grep -q pkg-config "$1" || install_library
    mkdir work
    split_blocks "$1"
    for block in blocks/*; do
        case $block in
        *.clausius | *.c) write_file "$block" ;;
        *.sh) run_commands "$block" && commands=$((commands + 1)) ;;
        *.text) [[ $previous != *.sh ]] || expect_lines_said "$block" ;;
        esac
        previous=$block
    done
    ((commands > 0)) || fail "no commands in $1"
}

for guide in "$SOURCE"/README.md "$SOURCE"/docs/format.md "$SOURCE"/docs/guide/*.md; do
    [[ $guide != */20-recordings.md ]] || continue # run by tests/cli/test_measurements.sh, where its data are
    name=$(basename "$guide" .md)
    eval "test_${name//[^A-Za-z0-9]/_}() { run_guide '$guide'; }"
done

run_tests
