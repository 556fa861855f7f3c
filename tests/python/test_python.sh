#!/usr/bin/env bash
# The Python package: the wheel is built and judged, installed into a fresh environment, and pytest and the doctests run there. Prints TAP.
set -uo pipefail
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} # as tools/run-tests does: the machine is shared
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
code=$?
"$fresh/bin/python" - "$work/junit.xml" "$needed" "$code" <<'PY'
import sys
import xml.etree.ElementTree as tree

path, needed, code = sys.argv[1:]
try:
    cases = list(tree.parse(path).iter("testcase"))
except Exception as error:
    cases = []
    print(f"# {error}")
results = [(not needed, "the module needs only the C library" + (f": {needed}" if needed else ""))]
for case in cases:
    bad, skipped = case.find("failure") is not None or case.find("error") is not None, case.find("skipped")
    name = f"{case.get('classname').split('.')[-1]} {case.get('name')}".replace("#", "").replace("\n", " ")
    results.append((not bad, name + (f" # skip {skipped.get('message')}" if skipped is not None else "")))
# A run that ends early (a crash, no test found) has no failed case to show for it.
results.append((code == "0" and len(cases) > 0, f"pytest ends with 0 after {len(cases)} tests"))
print(f"1..{len(results)}")
for number, (good, name) in enumerate(results, 1):
    print(("ok" if good else "not ok") + f" {number} - {name}")
sys.exit(not all(good for good, _ in results))
PY
failed=$?
((failed == 0)) || sed 's/^/# /' "$work/out" | tail -n 120
exit "$failed"
