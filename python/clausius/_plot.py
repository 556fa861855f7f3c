"""Pictures of runs, with matplotlib."""
import numpy as np


def plot(run, columns, figure):
    """A panel for each column; without a choice the state, the energy error and the entropy."""
    import matplotlib.pyplot as plt

    if columns is None:
        columns = [n for n in run.dynamics.states if n != "work"] if run.dynamics else [n for n in run.names if n != "time"]
        columns = [*columns, *(n for n in ("energy", "entropy") if n in run)]
    figure = figure or plt.figure(figsize=(4 * min(3, len(columns)), 2.4 * -(-len(columns) // 3)), layout="constrained")
    axes = figure.subplots(-(-len(columns) // 3), min(3, len(columns)), squeeze=False, sharex=True).flat
    for axis, name in zip(axes, columns):
        values = run[name]
        if name == "energy":
            work = run["work"] - run["work"][0] if "work" in run else 0
            values, name = values - values[0] - work, "energy error"
        axis.plot(run["time"], np.asarray(values), lw=1)
        axis.set_title(name, fontsize=9)
    for axis in list(axes):
        axis.set_visible(False)
    return figure
