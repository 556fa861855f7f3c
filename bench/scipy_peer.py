"""The peer SciPy, given its best: scalar right-hand side on Python floats, no dense output, no t_eval.

A server like steps.c, on stdin and stdout:

    METHOD RTOL      METHOD BDF, Radau, LSODA, DOP853; BDF+J and so on: with the Jacobian in closed form;
                     seconds, error of x(10), steps, right-hand sides
    savetxt ROWS     numpy.savetxt of ROWS x 8 numbers as %.17g: seconds, bytes
    version          0 and the versions
"""
import math
import os
import sys
import time

import numpy
import scipy
from scipy.integrate import solve_ivp

GAMMA, K, T_END, X_END = 0.1, 2 / 3, 10.0, float(sys.argv[1])


def rhs(t, y):
    x, p, S = y.tolist()
    U = math.exp(S) * x ** -K
    return [p, K * U / x - GAMMA * p, GAMMA * p * p / U]


def jacobian(t, y):
    x, p, S = y.tolist()
    U = math.exp(S) * x ** -K
    rise = GAMMA * p * p / U
    return [[0, 1, 0], [-K * (K + 1) * U / (x * x), -GAMMA, K * U / x], [K * rise / x, 2 * GAMMA * p / U, -rise]]


def solve(method, rtol):
    name, _, closed = method.partition("+")
    options = {"jac": jacobian} if closed else {}
    seconds, spent, runs = math.inf, 0, 0
    while spent < 0.03 and runs < 30:  # as problem.h repeats short runs
        begin = time.process_time()
        answer = solve_ivp(rhs, (0, T_END), [1.0, 0.0, 10.0], method=name, rtol=rtol, atol=rtol, **options)
        once = time.process_time() - begin
        seconds, spent, runs = min(seconds, once), spent + once, runs + 1
    if not answer.success:
        return f"error {answer.message}"
    return f"{seconds:.9g} {abs(float(answer.y[0, -1]) - X_END):.6e} {answer.t.size - 1} {answer.nfev}"


def savetxt(rows):
    table = numpy.sqrt(numpy.arange(rows * 8) + 2.0).reshape(rows, 8)
    begin = time.process_time()
    with open(os.devnull, "w") as out:
        numpy.savetxt(out, table, fmt="%.17g", delimiter=",")
    seconds = time.process_time() - begin
    return f"{seconds:.9g} {sum(len('%.17g,' % x) for x in table.flat)}"


for line in sys.stdin:
    words = line.split()
    if words[0] == "version":
        print(f"0 SciPy-{scipy.__version__} NumPy-{numpy.__version__}", flush=True)
    elif words[0] == "savetxt":
        print(savetxt(int(words[1])), flush=True)
    else:
        print(solve(words[0], float(words[1])), flush=True)
