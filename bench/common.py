"""What the benchmarks share: programs that answer requests, their compilation, peers in virtual environments, rounds in
turns, the table, the machine. How it measures: docs/benchmarks.md."""
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("CLAUSIUS_BUILD") or HERE.parent / "build").resolve()
CLAUSIUS = os.environ.get("CLAUSIUS") or str(BUILD / "clausius")
OUT = BUILD / "bench"
QUICK = "--quick" in sys.argv[1:]
ROUNDS = int(os.environ.get("BENCH_ROUNDS") or (2 if QUICK else 5))
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ONE_PROCESSOR = {min(os.sched_getaffinity(0))}


def arguments(usage, *known):
    """The options given; ends the program on --help and on what it does not know."""
    given = sys.argv[1:]
    if {"-h", "--help"} & set(given):
        print(usage)
        sys.exit(0)
    for word in given:
        if word not in known:
            print(f"bench: unknown option {word}; known: {' '.join(known)}", file=sys.stderr)
            sys.exit(2)
    return given


# ---- servers: one request a line, one line of numbers back, seconds first ----

class Server:
    def __init__(self, *command, env=None, processors=None):
        pin = (lambda: os.sched_setaffinity(0, processors)) if processors else None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
                                        preexec_fn=pin)

    def ask(self, request):
        """The numbers of the answer, or None when the server refuses."""
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if not words:
            sys.exit(f"bench: '{request}' ended the program that should answer it")
        if words[0] == "error":
            return None
        return [float(w) if re.match(r"[-+\d.]|nan|inf", w) else w for w in words]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Absent:
    def ask(self, request):
        return None

    def close(self):
        pass


# ---- what has to be there: our programs, the peers ----

def compile_c(name, *extra, flags=("-O3",), library=True, after=()):
    """bench/NAME.c with the library, to BUILD/bench/NAME."""
    needs = re.search(r"Requires.private: (.*)", (BUILD / "clausius.pc").read_text())[1].replace(",", " ").split() if library else []
    packages = subprocess.run(["pkg-config", "--libs", *needs], capture_output=True, text=True).stdout.split() if library else []
    sundials = ["-lsundials_cvode", "-lsundials_nvecserial"]
    ours = [BUILD / "libclausius.a", *sundials, "-llapacke", *packages, "-lmd", "-fopenmp"] if library else sundials
    OUT.mkdir(parents=True, exist_ok=True)
    run_compiler(*flags, HERE / f"{name}.c", *extra, *ours, *after, "-lm", "-o", OUT / name)
    return OUT / name


def run_compiler(*what):
    command = [*shlex.split(os.environ.get("CC") or "cc"), "-std=c17", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra",
               f"-I{HERE.parent / 'include'}", f"-I{HERE.parent / 'src'}", *what]
    if subprocess.run([*map(str, command)]).returncode:
        sys.exit(f"bench: cannot compile; is {BUILD / 'libclausius.a'} built (make)?")


TORCH = "https://download.pytorch.org/whl/cpu"  # the small build for processors; PyPI's comes with 3 GB of CUDA
PEERS = {"torch": "PyTorch", "jax": "JAX", "scipy": "SciPy", "scipy.integrate": "SciPy"}
absent = {}  # name of a peer -> why it is not there


def environment(name, *modules):
    """The python of BUILD/NAME, or of CLAUSIUS_VENV, that has what can be had of these modules; `absent` says why others are not there."""
    venv = pathlib.Path(os.environ.get("CLAUSIUS_VENV") or BUILD / name)
    python = venv / "bin" / "python"
    for module in modules:
        if imports(python, module):
            continue
        if module == "torch":
            install(venv, "numpy", "numpy")
            small = answers(TORCH) and install(venv, "PyTorch", "--index-url", TORCH, "torch")
            if not (small and imports(python, "torch")):  # with its libraries (libcufile): without them it does not import
                install(venv, "PyTorch", *(["--force-reinstall"] if small else []), "torch")
        else:
            install(venv, module, module)
        if not imports(python, module):
            progress(f"{PEERS.get(module, module)} is absent: {absent[PEERS.get(module, module)]}")
    return python


def answers(address):
    """Is the server there? Asked once, so that nobody waits for pip to try and try again."""
    try:
        urllib.request.urlopen(urllib.request.Request(address + "/", method="HEAD"), timeout=5).close()
    except OSError:
        return False
    return True


def install(venv, what, *arguments):
    """pip install into venv, made when it is not there; False when that cannot be done."""
    python = venv / "bin" / "python"
    commands = [] if python.exists() else [[sys.executable, "-m", "venv", str(venv)]]
    commands.append([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])
    print(f"bench: installing {what} into {venv}", file=sys.stderr)
    for command in commands:
        try:
            subprocess.run(command, check=True, stdout=sys.stderr, timeout=1800)
        except (OSError, subprocess.SubprocessError) as why:
            print(f"bench: {why}", file=sys.stderr)
            return False
    return True


def imports(python, module):
    """Whether it does; if not, `absent` keeps the last thing that Python said."""
    name = PEERS.get(module, module)
    if not python.exists():
        absent[name] = f"there is no {python}"
        return False
    tried = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, text=True)
    absent.pop(name, None)
    if tried.returncode:
        absent[name] = (tried.stderr.strip() or f"import ends with {tried.returncode}").splitlines()[-1][:100]
    return tried.returncode == 0


def missing(peer):
    """What stands in the place of its number."""
    return next((f"absent: {why}" for name, why in absent.items() if peer.startswith(name)), "absent")


# ---- measuring: every request once a round, best of the rounds ----

class Bench:
    def __init__(self):
        self.requests, self.best = {}, {}

    def add(self, server, request):
        self.requests[request] = server
        return request

    def run(self):
        for turn in range(ROUNDS):
            progress(f"round {turn + 1} of {ROUNDS}")
            for request, server in self.requests.items():
                before = self.best.get(request)
                if turn > 1 and before and before[0] > 1:
                    continue  # long enough to be past the noise
                answer = server.ask(request)
                if answer and (before is None or answer[0] < before[0]):
                    self.best[request] = answer

    def rate(self, request):
        """Units per second: the second number of an answer counts them."""
        answer = self.best.get(request)
        return answer[1] / answer[0] if answer else None

    def seconds(self, request):
        answer = self.best.get(request)
        return answer[0] if answer else None


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


# ---- numbers for people ----

def scaled(x, unit):
    if x is None:
        return "absent"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")):
        if abs(x) >= factor:
            return f"{x / factor:.3g} {prefix}{unit}"
    return f"{x:.3g} {unit}"


def power(x):
    return re.sub("e-0", "e-", f"{x:.0e}")


def ratio(a, b):
    return "-" if not a or not b else f"{a / b:.3g}x"


def share(a, b):
    return "-" if not a or not b else f"{100 * a / b:.0f} %"


class Table:
    """what | ours | peer | peer's | ratio (above 1: we are faster) | of the limit | the limit"""
    head = ("what", "ours", "peer", "peer's", "ratio", "of limit", "the limit is")

    def __init__(self):
        self.rows = []

    def rates(self, what, ours, peer, theirs, limit=None, limit_name="-", unit="steps/s"):
        self.rows.append((what, scaled(ours, unit), peer, self.of_peer(peer, theirs, unit),
                          ratio(ours, theirs), share(ours, limit), limit_name))

    def times(self, what, ours, peer, theirs, limit=None, limit_name="-"):
        self.rows.append((what, scaled(ours, "s"), peer, self.of_peer(peer, theirs, "s"),
                          ratio(theirs, ours), share(limit, ours), limit_name))

    @staticmethod
    def of_peer(peer, theirs, unit):
        return "-" if peer == "-" else missing(peer) if theirs is None else scaled(theirs, unit)

    def text(self, *row):
        self.rows.append(row)

    def show(self):
        widths = [max(len(row[i]) for row in [self.head, *self.rows]) for i in range(len(self.head))]
        line = lambda row: "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |"
        print(line(self.head))
        print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
        for row in self.rows:
            print(line(row))


# ---- the machine ----

def cpu_model():
    found = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else platform.processor()


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0]
    except OSError:
        return "absent"


def print_machine(peers, load):
    print(f"machine   {cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}")
    print(f"load      {load[0]:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end (above 1: others take part)")
    print(f"compiler  {first_line(*shlex.split(os.environ.get('CC', 'cc')), '--version')}")
    print(f"peers     {peers}, Python {platform.python_version()}")
    print(f"date      {time.strftime('%Y-%m-%d')}, {pathlib.Path(sys.argv[0]).name}{' --quick' if QUICK else ''}, best of {ROUNDS} rounds")
