#!/usr/bin/env python3
"""How a run under mpirun ends, with the mpi back end: signals, deaths, and what is left behind.

  mpirun_ends.py [signal | rank | front | mpirun]…     all of them without a word

A signal to mpirun saves and ends the job with 143 (mpirun itself ends with 1 on SIGTERM); a rank killed with -9 ends the job with code 9; so does a front program, and
when mpirun itself is killed the job saves and ends. Nothing may be left: no process, no file in shared memory, no folder.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import last_step
from runs import HFTRAIN, PATIENCE, Fixture, skip

# On SIGTERM mpirun sleeps this long (one second by itself) before it sends SIGTERM, and again before SIGKILL.
GRACE = ["--mca", "odls_base_sigkill_timeout", "10"]


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: {what} did not happen within {PATIENCE} s")
        time.sleep(0.02)


def processes_of(folder):
    """{pid: words} of everything that was started with the folder in its command line."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
            if any(folder in word for word in words):
                found[int(path.split("/")[2])] = words
        except OSError:
            pass
    return found


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().decode(errors="replace").split("\0")
    except OSError:  # it has ended
        return {}
    return dict(variable.split("=", 1) for variable in variables if "=" in variable)


class Job:
    """Two ranks under mpirun that make steps until they are stopped; `training` waits for the first of them."""

    FLAGS = ["--max_steps", 100000, "--save_strategy", "no"]

    def __init__(self, fixture, name, grace=(), ranks=2, backend="mpi", flags=FLAGS):
        self.fixture, self.output = fixture, os.path.join(fixture.folder, name)
        self.traces = ()
        words = fixture.flags(self.output, *flags, "--ddp_backend", backend)
        at = words.index("--nproc_per_node")
        environment = {**fixture.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.errors = open(self.output + ".errors", "w+")
        self.mpirun = subprocess.Popen(["mpirun", "--oversubscribe", *grace, "-n", str(ranks), HFTRAIN]
                                       + words[:at] + words[at + 2:], env=environment, stdout=self.errors,
                                       stderr=self.errors, start_new_session=True)

    def training(self):
        log = os.path.join(self.output, "hftrain", "log.jsonl")
        self.wait_until(lambda: os.path.exists(log) and len(open(log).readlines()) > 3, "training")
        self.take_traces()
        if not self.traces:
            self.fail("no front program has what mpirun gives its processes")
        return self

    def wait_until(self, condition, what):
        wait_until(lambda: self.mpirun.poll() is not None or condition(), what)

    def take_traces(self):
        """What Open MPI makes for this job, as a pattern of names; other jobs may run beside it."""
        for pid in self.pids("hftrain"):
            variables = environment_of(pid)
            if "PMIX_NAMESPACE" in variables:
                self.traces = (f"/dev/shm/vader_segment.*.{int(variables['PMIX_NAMESPACE']):x}.*",
                               variables["OMPI_MCA_orte_jobfam_session_dir"])
                return

    def pids(self, program):
        return sorted(pid for pid, words in processes_of(self.output).items() if os.path.basename(words[0]) == program)

    def worker(self, rank):
        for pid in self.pids("hftrain-worker"):
            if environment_of(pid).get("RANK") == str(rank):
                return pid
        self.fail(f"there is no worker of rank {rank}")

    def end(self):
        begin = time.monotonic()
        try:
            code = self.mpirun.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail("mpirun did not end")
        self.seconds = time.monotonic() - begin
        return code

    def text(self):
        self.errors.seek(0)
        return self.errors.read()

    def fail(self, what):
        for pid in processes_of(self.output):
            os.kill(pid, signal.SIGKILL)
        raise SystemExit(f"FAILED: {what}\n{self.text()}")

    def summary(self):
        """The exit code of the job, or nothing when it ended before it began."""
        path = os.path.join(self.output, "hftrain", "summary.json")
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return json.load(file)["exit_code"]

    def check_saved(self):
        steps = self.fixture.checkpoints(self.output)
        if not steps:
            self.fail("there is no checkpoint")
        if steps[-1] < last_step(self.output):
            self.fail(f"it made {last_step(self.output)} updates, and the newest checkpoint is of {steps[-1]}")
        self.fixture.call("checkpoint", "verify", os.path.join(self.output, f"checkpoint-{steps[-1]}"))
        return f"checkpoint-{steps[-1]} verified"

    def check_nothing_left(self):
        wait_until(lambda: not processes_of(self.output), "the end of all processes")
        left = [name for trace in self.traces for name in glob.glob(trace)]
        if left:
            self.fail(f"left behind: {', '.join(sorted(left))}")


def expect(job, what, condition):
    if not condition:
        job.fail(what)


def scenario_signal(fixture):
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        job = Job(fixture, f"signal-{number}", GRACE if number == signal.SIGTERM else ()).training()
        job.mpirun.send_signal(number)
        code = job.end()
        expect(job, f"{number!r} ended mpirun with {code}", code == (1 if number == signal.SIGTERM else 143))
        expect(job, "the summary does not say 143", job.summary() == 143)
        saved = job.check_saved()
        job.check_nothing_left()
        print(f"{signal.Signals(number).name} to mpirun: {code}, the job 143, {saved}", flush=True)


def scenario_rank(fixture):
    for rank in (1, 0):
        job = Job(fixture, f"rank-{rank}").training()
        os.kill(job.worker(rank), signal.SIGKILL)
        code = job.end()
        expect(job, f"mpirun ended with {code}", code == 9)
        expect(job, f"rank {rank} is not named", f"error: rank {rank} was killed by SIGKILL" in job.text())
        job.check_nothing_left()
        print(f"kill -9 of rank {rank}: 9 after {job.seconds:.2f} s", flush=True)


def scenario_front(fixture):
    job = Job(fixture, "front").training()
    worker = job.worker(1)
    with open(f"/proc/{worker}/stat") as file:
        parent = int(file.read().rsplit(")", 1)[1].split()[1])
    os.kill(parent, signal.SIGKILL)
    code = job.end()
    expect(job, f"mpirun ended with {code}", code != 0)
    job.check_nothing_left()
    print(f"kill -9 of the front program of rank 1: {code} after {job.seconds:.2f} s", flush=True)


def scenario_mpirun(fixture):
    for backend in ("gloo", "mpi"):
        job = Job(fixture, f"mpirun-{backend}", backend=backend).training()
        job.mpirun.kill()
        job.end()
        job.check_nothing_left()
        expect(job, f"the summary says {job.summary()}, not 143", job.summary() == 143)
        print(f"kill -9 of mpirun, {backend}: the job 143, {job.check_saved()}", flush=True)


def main():
    if not shutil.which("mpirun") or not os.path.exists(HFTRAIN.replace("bin/hftrain", "lib/libhftrain_mpi.so")):
        skip("there is no mpirun, or hftrain was built without Open MPI")
    scenarios = {name.removeprefix("scenario_"): scenario for name, scenario in globals().items() if name.startswith("scenario_")}
    with tempfile.TemporaryDirectory(prefix="hftrain-mpirun-") as folder:
        fixture = Fixture(folder)
        for name in sys.argv[1:] or scenarios:
            scenarios[name](fixture)


if __name__ == "__main__":
    main()
