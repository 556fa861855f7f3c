#!/usr/bin/env python3
"""What a call from Python costs (processor time): one array into the library, against a ctypes call that gets the same pointer, in one run; rates and energies of a
million states; the memory of clausius.data for 1e7 rows, from a dict, a DataFrame and a DataFrame whose columns are not neighbours; the time of import beside
numpy's. Usage: bench/python_calls.py (in an environment that has the wheel: tools/python-wheel, or tools/python-peers)."""
import ctypes
import subprocess
import sys
import time
import timeit

import numpy as np

import clausius as cl


def best(statement, names, number=50_000):
    return min(timeit.repeat(statement, globals=names, number=number, repeat=7, timer=time.process_time)) / number * 1e9


piston, oscillator = cl.system("adiabatic-piston"), cl.system("oscillator")
labs = ctypes.CDLL("libc.so.6").labs  # any function that takes a pointer and does nothing with it
labs.argtypes, labs.restype = [ctypes.c_void_p], ctypes.c_long
z, o = piston.start(), oscillator.start()
names = dict(e=oscillator.energy, p=piston.energy, f=oscillator.rates, z=z, o=o, c=labs)
oscillator.energy(o), piston.energy(z), oscillator.rates(o)
print(f"energy of one state, oscillator      {best('e(o)', names):8.0f} ns")
print(f"energy of one state, piston          {best('p(z)', names):8.0f} ns")
print(f"rates of one state (a new array)     {best('f(o)', names):8.0f} ns")
print(f"ctypes, one array as a pointer       {best('c(o.ctypes.data)', names):8.0f} ns")
states = np.tile(z, (1_000_000, 1)) * (1 + 0.01 * np.random.default_rng(1).normal(size=(1_000_000, 1)))
for name in ("rates", "energy", "jacobian"):
    begin = time.process_time()
    getattr(piston, name)(states)
    print(f"{name + ' of 1e6 states':<36} {time.process_time() - begin:8.2f} s of processor time")


def more(make):
    """Megabytes that the process is larger by, at most, after clausius.data of what `make` gives."""
    code = f"""
import gc, numpy as np, clausius as cl
def memory(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what)) / 1024
cl.data({{"time": np.arange(3.0), "x": np.arange(3.0)}})
given = {make}
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = memory("VmRSS")
data = cl.data(given)
assert data.tables[0].rows == 10_000_000
print(memory("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return f"{float(done.stdout):8.1f} MB of 240 MB" if done.returncode == 0 else done.stderr.splitlines()[-1]


NAMES = "'time', 'x', 'v.x'"
COLUMNS = f"dict(zip(({NAMES}), np.arange(3e7).reshape(3, -1)))"
FRAME = f"__import__('pandas').DataFrame({COLUMNS})"
STRIDED = f"__import__('pandas').DataFrame(np.arange(3e7).reshape(-1, 3), columns=[{NAMES}])"
print(f"cl.data of 1e7 rows, a dict          {more(COLUMNS)}")
print(f"cl.data of 1e7 rows, a DataFrame     {more(FRAME)}")
print(f"the same, columns that are strided   {more(STRIDED)}")


def imported(module):
    """Least time of `import module` in a new process, in milliseconds of processor time."""
    code = f"import time; a = time.process_time(); import {module}; print(time.process_time() - a)"
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(9)) * 1e3


numpy = imported("numpy")
print(f"import clausius                      {imported('clausius') - numpy:8.0f} ms beside {numpy:.0f} ms of numpy")
