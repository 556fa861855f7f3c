#!/usr/bin/env python3
"""What a call from Python costs: one array into the library, against a ctypes call that gets the same pointer, in one run; rates and energies of a
million states; the memory of clausius.data. Usage: bench/python_calls.py (in an environment that has the wheel: tools/python-wheel)."""
import ctypes
import resource
import time
import timeit

import numpy as np

import clausius as cl


def best(statement, names, number=100_000):
    return min(timeit.repeat(statement, globals=names, number=number, repeat=7)) / number * 1e9


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
columns = {"time": np.arange(1e7), "x": np.arange(1e7), "v.x": np.arange(1e7)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = cl.data(columns)
print(f"cl.data of 1e7 rows, more memory     {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:8.1f} MB of {3 * 80} MB")
