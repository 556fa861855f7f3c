"""What the peers of bench/train.c share: the problem in a file, the server loop, the timing.

The loss is (1/2) mean r^2 over the three rows of every pair (p, S1, S2) of scheme (25):

    r_p  = w_p  (p(1) - p(0) - h (G_x - (lambda1 + lambda2) v)(1))      p = G_v, S_i = G_Ti
    r_Si = w_Si (S_i(1) - S_i(0) - h (lambda_i v^2 / T_i)(0))

with lambda = (u + sqrt(u^2 + floor^2))/2 of a friction network's output u. Networks read scaled inputs, which are given,
as are the factors that turn slopes in them into slopes in (x, v, T1, T2): the peers have nothing to do but networks, the
few lines above, and Adam. A point that two pairs share is evaluated once, as by the library. Values that do not depend on
gradients are not differentiated: the frictions cost three matrix units a point, not six.
"""
import sys
import time
import numpy

WIDTHS = {"wide": ([128] * 4, [128] * 3, [128] * 3), "narrow": ([32] * 2, [32], [32]), "narrow2": ([32] * 2,) * 3}
INPUTS = 4


class Problem:
    def __init__(self, size, path):
        data = numpy.fromfile(path)
        pairs, points, parameters, self.floor = int(data[0]), int(data[1]), int(data[2]), data[3]
        sizes = [pairs, INPUTS * points, 7 * points, 4 * pairs, parameters, 1, parameters]
        first, x, point, pair, self.theta, loss, self.gradient = numpy.split(data[4:], numpy.cumsum(sizes)[:-1])
        self.loss, self.size = loss[0], size
        self.first = first.astype(numpy.int64)
        used = numpy.unique(numpy.concatenate([self.first, self.first + 1]))
        self.first = numpy.searchsorted(used, self.first)
        self.x = x.reshape(points, INPUTS)[used]
        point = point.reshape(points, 7)[used]
        self.factor, (self.v, self.T1, self.T2) = numpy.ascontiguousarray(point[:, :4]), point[:, 4:].T.copy()
        pair = pair.reshape(pairs, 4)
        self.h, self.weight = pair[:, 0].copy(), pair[:, 1:].T.copy()
        # every pair a trajectory of its own: slices instead of indices
        self.apart = bool((self.first == 2 * numpy.arange(pairs)).all())

    def networks(self, make):
        """For each network a list W, b, W, b, ..., w of make(array)."""
        at, all_parts = 0, []
        for widths in WIDTHS[self.size]:
            sizes, parts = [INPUTS, *widths], []
            shapes = [s for a, b in zip(sizes, sizes[1:]) for s in ((b, a), (b,))] + [(1, sizes[-1])]
            for shape in shapes:
                n = int(numpy.prod(shape))
                parts.append(make(self.theta[at:at + n].reshape(shape)))
                at += n
            all_parts.append(parts)
        return all_parts

    def differences(self, loss, parts):
        """(loss, gradient) against ours, relative."""
        theirs = numpy.concatenate([numpy.asarray(p).ravel() for p in parts])
        return (abs(loss - self.loss) / self.loss,
                numpy.linalg.norm(theirs - self.gradient) / numpy.linalg.norm(self.gradient))


def best(call, threads, seconds=0.6):
    """The best time of a call; processor time for one thread, wall time for more."""
    clock = time.process_time if threads == 1 else time.perf_counter
    least, stop = 1e9, time.perf_counter() + seconds
    while True:
        begin = clock()
        call()
        least = min(least, clock() - begin)
        if time.perf_counter() > stop:
            return least


def serve(version, threads, make_step):
    """Requests: `version`, `SIZE FILE`. make_step(problem) gives a step and (loss, gradient parts) to compare."""
    steps = {}
    for line in sys.stdin:
        words = line.split()[:2]  # what follows tells bench/run its requests apart
        if words == ["version"]:
            print(0, version, flush=True)
            continue
        if line not in steps:
            problem = Problem(*words)
            step, loss, parts = make_step(problem)
            for _ in range(3):
                step()  # compiles, warms up
            steps[line] = step, problem.differences(loss, parts)
        step, differences = steps[line]
        print(best(step, threads), *differences, flush=True)
