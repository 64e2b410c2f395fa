"""What the fault scripts in this folder share: a tiny run whose workers can be found and disturbed."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, free_port

STEPS = 24
# Updates, evaluations and saves in turn; dropout is on, so that a repeated or lost random number would show.
FLAGS = ["--max_steps", STEPS, "--save_strategy", "steps", "--save_steps", 5, "--do_eval", "--eval_strategy", "steps",
         "--eval_steps", 4, "--validation_split_percentage", 5, "--per_device_train_batch_size", 4]


def losses(output):
    """By step. Later lines win: those of a resumed attempt follow the ones they replace."""
    found = {}
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        for line in file:
            record = json.loads(line)
            for key in ("loss", "eval_loss"):
                if key in record:
                    found[record["step"], key] = record[key]
    return found


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

    def __init__(self, place, output, *more, ranks=2, nodes=1):
        self.place, self.output = place, output
        flags = place.flags(output, *FLAGS, *more, ranks=ranks // nodes)
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

    def _start(self, argv, stderr):
        return subprocess.Popen(argv, env=self.place.environment, text=True, stdout=subprocess.DEVNULL, stderr=stderr,
                                start_new_session=True)

    def _read(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()

    def wait_for_line(self, text, times=1):
        """Waits until the run has said it so often; False when it ended before."""
        with self.news:
            while sum(text in line for line in self.lines) < times:
                if self.process.poll() is not None and not self.reader.is_alive():
                    return False
                self.news.wait(0.05)
        return True

    def wait_for_workers(self):
        """False when the run ended before."""
        while self.process.poll() is None:
            if sum(children_of(front.pid) for front in [self.process, *self.followers]) >= self.ranks:
                self.workers = processes_of(self.output)
                if len(self.workers) >= self.ranks:
                    return True
            time.sleep(0.001)
        return False

    def pid_of(self, rank):
        return next((pid for pid, r in self.workers.items() if r == rank), None)

    def finish(self, seconds=120):
        """(exit code, stderr). A run that does not end is a failure, and so are nodes that end with different codes."""
        fronts = [self.process, *self.followers]
        try:
            codes = [front.wait(seconds) for front in fronts]
            self.ended = time.monotonic()
        except subprocess.TimeoutExpired:
            for front in fronts:
                front.send_signal(signal.SIGKILL)
            self.reader.join()
            raise SystemExit(f"the run did not end within {seconds} s:\n{''.join(self.lines)}")
        self.reader.join()
        err = "".join(self.lines)
        left = processes_of(self.output)
        if left:
            raise SystemExit(f"processes were left behind: {left}\n{err}")
        if len(set(codes)) > 1:
            raise SystemExit(f"the nodes ended with {codes}:\n{err}")
        return codes[0], err


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
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False
