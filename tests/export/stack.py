"""python stack.py FILE.ci FUNCTION: the deepest stack below a function, in bytes, from what
gcc -fcallgraph-info=su writes; a function that calls itself is counted as often as the header says
that it may: steps are halved at most 10 times (step_halved, lawful_halved), other kernels once more."""
import re
import sys

text = open(sys.argv[1]).read()
size = {m[1]: int(m[2]) for m in re.finditer(r'node: \{ title: "([^"]*)" label: "[^"]*?(\d+) bytes', text)}
calls = {}
for m in re.finditer(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"', text):
    calls.setdefault(m[1], set()).add(m[2])


def depth(f, above=()):
    own = size.get(f, 0) * (11 if "_halved" in f else 2 if f in calls.get(f, ()) else 1)
    return own + max((depth(g, above + (f,)) for g in calls.get(f, ()) if g != f and g not in above), default=0)


wanted = [f for f in size if f.split(":")[-1].split(".")[0] == sys.argv[2]]
assert wanted, sys.argv[2]
sys.setrecursionlimit(10000)
print(max(depth(f) for f in wanted))
