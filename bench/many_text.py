#!/usr/bin/env python3
"""pandas and NumPy beside bench/many: a CSV file into memory and back, a library call on a file in the system's cache, one thread.
Usage: bench/many_text.py MODULE FILE ROUNDS; prints for each way of reading its name, processor seconds (the best) and how many numbers are not the bits
that Python's float reads, then the same for writing, with the bytes written in their place."""
import os
import sys
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
MODULE, PATH, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])

import numpy  # noqa: E402


def best(call):
    least = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        result = call()
        least = min(least, time.process_time() - begin)
    return least, result


def exact():
    with open(PATH) as file:
        lines = [line for line in file if line[0] in "-0123456789"]
    return numpy.array([[float(word) for word in line.split(",")] for line in lines])


def head():
    with open(PATH) as file:
        for n, line in enumerate(file):
            if line[0] != "#":
                return n + 1


def main():
    if MODULE == "pandas":
        import pandas
        readers = {"read_csv": lambda: pandas.read_csv(PATH, comment="#"),
                   "read_csv_round_trip": lambda: pandas.read_csv(PATH, comment="#", float_precision="round_trip")}
        writers = {"to_csv": lambda t: t.to_csv("peer.csv", index=False)}
    else:
        readers = {"loadtxt": lambda: numpy.loadtxt(PATH, delimiter=",", skiprows=head())}
        writers = {"savetxt": lambda t: numpy.savetxt("peer.csv", t, delimiter=",", fmt="%.17g")}
    right = exact()
    for name, read in readers.items():
        seconds, table = best(read)
        print(name, seconds, int((numpy.asarray(table) != right).sum()))
    for name, write in writers.items():
        seconds, _ = best(lambda: write(table))
        print(name, seconds, os.path.getsize("peer.csv"))


main()
