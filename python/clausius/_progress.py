"""Progress: tqdm where it is installed, a line on the terminal where it is not, nothing without a terminal."""
import logging
import sys
import time

log = logging.getLogger("clausius")


def somebody_looks():
    """A terminal, or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """A bar that appears when the work takes longer than half a second."""

    def __init__(self, label, unit):
        self.label, self.unit, self.begin, self.bar, self.drawn, self.total = label, unit, time.monotonic(), None, False, None

    def open(self, total):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self.bar = tqdm(total=total, desc=self.label, unit=" " + self.unit, leave=False)

    def update(self, done, total, extra=""):
        if time.monotonic() - self.begin < 0.5:
            return
        if not self.drawn:
            self.drawn = True
            self.open(total)
        if self.bar is not None:
            self.bar.total, self.bar.n = total, done
            self.bar.set_postfix_str(extra, refresh=True)
        else:
            share = f"{100 * done / total:3.0f} %" if total else f"{done}"
            sys.stderr.write(f"\r{self.label} {share} {extra}\x1b[K")
            sys.stderr.flush()

    def close(self):
        if self.bar is not None:
            self.bar.close()
        elif self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Learning:
    """Reports of learning, as a bar for each phase, and for the caller's own function."""

    def __init__(self, wanted):
        self.function = wanted if callable(wanted) else None
        self.shown = wanted is True or (wanted is None and somebody_looks())
        self.phase, self.bar = None, None

    def __call__(self, phase, done, total, loss, seconds, validation, restart):
        if self.shown:
            if phase != self.phase:
                self.close()
                self.phase, self.bar = phase, Bar("learn: " + phase, "steps")
            self.bar.update(done, total, f"loss {loss:.3g}" if loss == loss else "")
        log.debug("%s %d of %d, loss %.3g, %.1f s", phase, done, total, loss, seconds)
        if self.function:
            return self.function(dict(phase=phase, done=done, total=total, loss=loss, seconds=seconds, validation=validation, restart=restart))
        return False

    def close(self):
        if self.bar:
            self.bar.close()


class Walking:
    """The same for motions."""

    def __init__(self, wanted, unit="steps"):
        self.function = wanted if callable(wanted) else None
        self.bar = Bar("simulate", unit) if wanted is True or (wanted is None and somebody_looks()) else None

    def __call__(self, done, total):
        if self.bar:
            self.bar.update(done, total)
        return self.function(done, total) if self.function else False

    def close(self):
        if self.bar:
            self.bar.close()
