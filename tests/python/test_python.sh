#!/usr/bin/env bash
# The Python package: the wheel is built and judged, installed into a fresh environment, and pytest and the doctests run there. Prints TAP.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${CLAUSIUS_BUILD:-build}
fresh=$build/python/fresh

skip_all() { echo "1..1"; echo "ok 1 - python # skip $1"; exit 0; }

said=$(tools/python-wheel "$build" 2>&1)
code=$?
((code != 77)) || skip_all "PyPI is out of reach: $said"
if ((code)); then echo "1..1"; echo "not ok 1 - the wheel"; sed 's/^/# /' <<<"$said"; exit 1; fi
echo "# $said"

rm -rf "$fresh"
python3 -m venv --without-pip "$fresh"
"$build/python/tools/bin/pip" --python "$fresh/bin/python" install -q --disable-pip-version-check "$build"/wheel/*.whl numpy pytest pandas xarray \
    >"$build/python/log" 2>&1 || skip_all "PyPI is out of reach: $(tail -n 1 "$build/python/log")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=$PWD/tests/python
cp -r "$tests" "$work/tests"
mkdir "$work/tests/examples" "$work/tests/docs"
cp docs/python/*.md "$work/tests/docs/"
cp examples/*.ipynb "$work/tests/examples/" 2>/dev/null
# No library of the machine is to be found but the C library's own.
needed=$(ldd "$fresh"/lib/python3*/site-packages/clausius/_core.abi3.so | awk '{print $1}' | grep -vE '^(linux-vdso|libm\.|libc\.|/lib64/ld-|libgomp)' | tr '\n' ' ')
"$fresh/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$work" --junitxml "$work/junit.xml" "$work/tests" --doctest-modules --pyargs clausius \
    --ignore-glob='*/clausius/torch.py' --ignore-glob='*/clausius/jax.py' >"$work/out" 2>&1 </dev/null
"$fresh/bin/python" - "$work/junit.xml" "$needed" <<'PY'
import sys
import xml.etree.ElementTree as tree

lines, number = [], 0
try:
    cases = list(tree.parse(sys.argv[1]).iter("testcase"))
except Exception as error:
    cases = []
    print(f"# {error}")
print(f"1..{len(cases) + 1}")
print(("ok" if not sys.argv[2] else "not ok") + " 1 - the module needs only the C library" + (f": {sys.argv[2]}" if sys.argv[2] else ""))
for number, case in enumerate(cases, 2):
    bad, skipped = case.find("failure") is not None or case.find("error") is not None, case.find("skipped")
    name = f"{case.get('classname').split('.')[-1]} {case.get('name')}".replace("#", "")
    print(("not ok" if bad else "ok") + f" {number} - {name}" + (f" # skip {skipped.get('message')}" if skipped is not None else ""))
PY
[[ -s $work/junit.xml ]] || { echo "not ok 2 - pytest"; }
grep -qE '^(FAILED|ERROR)|error' "$work/out" && sed 's/^/# /' "$work/out" | tail -n 120
exit 0
