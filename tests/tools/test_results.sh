#!/usr/bin/env bash
# Kept results are finished trainings at the paper's length, each once. Prints TAP.
set -uo pipefail
cd "$(dirname "$0")/../.."
echo "1..1"
if said=$(python3 - docs/results/dtlm-trials.jsonl 2>&1 <<'PY'
import json
import sys

rows = {"euler": {"Euler"}, "leapfrog": {"symplectic Euler", "leapfrog", "leapfrog+proposed"}, "discrete-gradient": {"proposed"}, "ours": {"ours"}}
seen = set()
for number, line in enumerate(open(sys.argv[1]), 1):
    x = json.loads(line)
    key = x["system"], x["trial"], x["rule"]
    assert key not in seen, f"line {number}: {key} is there twice"
    seen.add(key)
    assert x["system"] == "2-body" and 1 <= x["trial"] <= 15 and x["trajectories"] == 800, f"line {number}: not of the paper's length"
    assert x["iterations"] == (0 if x["rule"] == "ours" else 100000), f"line {number}: {x['iterations']} iterations"
    assert set(x["scores"]) == rows[x["rule"]] and all(len(s) == 3 for s in x["scores"].values()), f"line {number}: scores of {', '.join(x['scores'])}"
assert seen
PY
); then echo "ok 1 - kept trials of two bodies"; else echo "not ok 1 - kept trials of two bodies"; sed 's/^/# /' <<<"$said"; exit 1; fi
