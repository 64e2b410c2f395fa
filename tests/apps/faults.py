"""What the fault scripts in this folder share: a tiny run whose workers can be found and disturbed."""
import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, free_port, records

STEPS = 24
# Updates, evaluations and saves in turn; dropout is on, so that a repeated or lost random number would show.
FLAGS = ["--max_steps", STEPS, "--save_strategy", "steps", "--save_steps", 5, "--do_eval", "--eval_strategy", "steps",
         "--eval_steps", 4, "--validation_split_percentage", 5, "--per_device_train_batch_size", 4]
# The same for a run that does not end by itself: what is to end it cannot come too late. Its losses at a step are those of any
# other such run, however many steps are wanted.
ENDLESS = [*FLAGS, "--max_steps", 1_000_000, "--lr_scheduler_type", "constant", "--save_total_limit", 2]


def losses(output):
    """By step. Later lines win: those of a resumed attempt follow the ones they replace."""
    return {(record["step"], key): record[key] for record in records(output) for key in ("loss", "eval_loss") if key in record}


def last_step(output):
    """Of the losses that were logged; 0 without any."""
    path = os.path.join(output, "hftrain", "log.jsonl")
    return max((step for step, _ in losses(output)), default=0) if os.path.exists(path) else 0


def some_steps_after(step):
    """A number of steps that ends with an evaluation, as FLAGS make them."""
    return (step // 4 + 2) * 4


def check_same_losses(fixture, found, **ranks):
    """`found`: {a name: {(step, key): value}} of runs that ENDLESS began and that ended after some_steps_after."""
    straight = os.path.join(fixture.folder, "straight")
    steps = max(step for values in found.values() for step, _ in values)
    code, err = Run(fixture, straight, *ENDLESS, "--max_steps", steps, **ranks).finish()
    if code != 0:
        raise SystemExit(err)
    expected = losses(straight)
    for name, values in found.items():
        end = max(step for step, _ in values)
        if values != {key: value for key, value in expected.items() if key[0] <= end}:
            raise SystemExit(f"{name}: other losses than those of an undisturbed run")


def processes_of(output):
    """{pid: rank} of the workers that run for this output folder."""
    plan, found = os.path.join(output, "hftrain", "plan.json").encode(), {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if plan not in words:
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
            found[int(pid)] = int(variables[b"RANK"])
        except (OSError, KeyError):
            continue  # it has just ended, or is not yet the worker
    return found


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return len(file.read().split())
    except OSError:
        return 0


class Run:
    """A started run, and what it says on stderr. With several nodes a front program each, on this machine; the first leads."""

    def __init__(self, fixture, output, *more, ranks=2, nodes=1):
        self.fixture, self.output = fixture, output
        flags = fixture.flags(output, *FLAGS, *more, ranks=ranks // nodes)
        port = free_port()
        node_flags = [[] if nodes == 1 else ["--nnodes", str(nodes), "--node_rank", str(node), "--master_addr", "127.0.0.1",
                                             "--master_port", str(port)] for node in range(nodes)]
        self.process = self._start([HFTRAIN, *flags, *node_flags[0]], subprocess.PIPE)
        self.followers = [self._start([HFTRAIN, *flags, *more], subprocess.DEVNULL) for more in node_flags[1:]]
        self.workers = {}
        self.ranks = ranks
        self.lines, self.news = [], threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        atexit.register(self.end_all)  # a test that fails leaves no run behind

    def _start(self, argv, stderr):
        return subprocess.Popen(argv, env=self.fixture.environment, text=True, stdout=subprocess.DEVNULL, stderr=stderr,
                                start_new_session=True)

    def _read(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()

    def wait_for_line(self, text, times=1):
        """Waits until the run has said it so often; False when it ended before."""
        deadline = time.monotonic() + PATIENCE
        with self.news:
            while sum(text in line for line in self.lines) < times:
                if self.process.poll() is not None and not self.reader.is_alive():
                    return False
                if time.monotonic() > deadline:
                    raise SystemExit(f"it never said {text!r}, {times} times:\n{''.join(self.lines)}")
                self.news.wait(0.05)
        return True

    def wait_for_workers(self):
        """False when the run ended before."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"there are no {self.ranks} workers:\n{''.join(self.lines)}")
            if sum(children_of(front.pid) for front in [self.process, *self.followers]) >= self.ranks:
                self.workers = processes_of(self.output)
                if len(self.workers) >= self.ranks:
                    return True
            time.sleep(0.001)
        return False

    def pid_of(self, rank):
        return next((pid for pid, r in self.workers.items() if r == rank), None)

    def finish(self, seconds=PATIENCE):
        """(exit code, stderr). A run that does not end is a failure, and so are nodes that end with different codes."""
        fronts = [self.process, *self.followers]
        try:
            codes = [front.wait(seconds) for front in fronts]
            self.ended = time.monotonic()
        except subprocess.TimeoutExpired:
            self.end_all()
            raise SystemExit(f"the run did not end within {seconds} s:\n{''.join(self.lines)}")
        left = self.end_all()
        err = "".join(self.lines)
        if left:
            raise SystemExit(f"processes were left behind: {left}\n{err}")
        if len(set(codes)) > 1:
            raise SystemExit(f"the nodes ended with {codes}:\n{err}")
        return codes[0], err

    def end_all(self):
        """Kills what is left of the run; returns its workers."""
        for front in [self.process, *self.followers]:
            front.kill()
            front.wait()
        left = processes_of(self.output)
        for pid in left:
            send(pid, signal.SIGKILL)
        self.reader.join()
        return left


def newest_error(output):
    """error.json of the newest attempt that has one."""
    ranks = os.path.join(output, "hftrain", "ranks")
    for attempt in sorted(os.listdir(ranks), key=int, reverse=True):
        for rank in os.listdir(os.path.join(ranks, attempt)):
            path = os.path.join(ranks, attempt, rank, "error.json")
            if os.path.exists(path):
                with open(path) as file:
                    return json.load(file)
    return None


def send(pid, number):
    """False when there was nobody to take it: the process had ended, whether or not its parent knows that."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                return False
        os.kill(pid, number)
        return True
    except (ProcessLookupError, FileNotFoundError):
        return False
