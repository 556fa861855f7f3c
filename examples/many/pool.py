#!/usr/bin/env python3
"""An ensemble by concurrent.futures: systems and models pickle, so any pool of processes will do (Dask, mpi4py.futures, joblib).

Usage: pool.py [MEMBERS] [WORKERS]
"""
import sys
from concurrent.futures import ProcessPoolExecutor

import clausius as cl
import numpy as np


def run(job):
    system, starts = job
    runs = system.simulate(starts={"x": starts}, steps=200, every=200, threads=1, progress=False)
    return runs["x"][:, -1]


def main(members=64, workers=2):
    system = cl.system("ideal-gas-piston")
    starts = np.random.default_rng(7).uniform(2, 4, members)
    shares = np.array_split(starts, 4 * workers)
    with ProcessPoolExecutor(workers) as pool:
        ends = np.concatenate(list(pool.map(run, [(system, s) for s in shares])))
    alone = run((system, starts))
    print(f"{members} members in {len(shares)} shares, mean end {ends.mean():.6f}, equal to one process: {bool((ends == alone).all())}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
