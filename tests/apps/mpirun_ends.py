#!/usr/bin/env python3
"""How a run under mpirun ends, with the mpi back end: signals, deaths, and what is left behind.

  mpirun_ends.py [signal | rank | front | mpirun]…     all of them without a word

A signal to mpirun saves and ends the job with 143 (mpirun itself ends with 1 on SIGTERM); a rank killed with -9 ends the job with code 9; so does a front program, and
with mpirun itself goes everything that it started. Nothing may be left: no process, no file in shared memory.
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
from runs import HFTRAIN, Workplace

PATIENCE = 120  # seconds; only a hang takes them
# Between SIGTERM and SIGKILL Open MPI sleeps this long, one second by itself, whether or not everything has ended.
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


def segments():
    return set(glob.glob("/dev/shm/*"))


class Job:
    """Two ranks under mpirun that have made some steps."""

    def __init__(self, place, name, grace=(), ranks=2):
        self.place, self.output = place, os.path.join(place.folder, name)
        self.segments = segments()
        words = place.flags(self.output, "--max_steps", 100000, "--save_strategy", "no", "--ddp_backend", "mpi")
        at = words.index("--nproc_per_node")
        environment = {**place.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.errors = open(self.output + ".errors", "w+")
        self.mpirun = subprocess.Popen(["mpirun", "--oversubscribe", *grace, "-n", str(ranks), HFTRAIN]
                                       + words[:at] + words[at + 2:], env=environment, stdout=self.errors,
                                       stderr=self.errors, start_new_session=True)
        log = os.path.join(self.output, "hftrain", "log.jsonl")
        wait_until(lambda: self.mpirun.poll() is not None
                   or (os.path.exists(log) and len(open(log).readlines()) > 3), "training")

    def pids(self, program):
        return sorted(pid for pid, words in processes_of(self.output).items() if os.path.basename(words[0]) == program)

    def worker(self, rank):
        for pid in self.pids("hftrain-worker"):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"RANK={rank}".encode() in file.read().split(b"\0"):
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

    def check_nothing_left(self, but=()):
        wait_until(lambda: not processes_of(self.output), "the end of all processes")
        left = segments() - self.segments
        left = {name for name in left if not any(part in name for part in but)}
        if left:
            self.fail(f"left behind: {', '.join(sorted(left))}")


def expect(job, what, condition):
    if not condition:
        job.fail(what)


def story_signal(place):
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        job = Job(place, f"signal-{number}", GRACE if number == signal.SIGTERM else ())
        job.mpirun.send_signal(number)
        code = job.end()
        expect(job, f"{number!r} ended mpirun with {code}", code == (1 if number == signal.SIGTERM else 143))
        steps = place.checkpoints(job.output)
        expect(job, f"{number!r} left no checkpoint", len(steps) == 1)
        place.call("checkpoint", "verify", os.path.join(job.output, f"checkpoint-{steps[-1]}"))
        with open(os.path.join(job.output, "hftrain", "summary.json")) as file:
            expect(job, "the summary does not say 143", json.load(file)["exit_code"] == 143)
        job.check_nothing_left()
        print(f"{signal.Signals(number).name} to mpirun: {code}, the job 143, checkpoint-{steps[-1]} verified", flush=True)


def story_rank(place):
    for rank in (1, 0):
        job = Job(place, f"rank-{rank}")
        os.kill(job.worker(rank), signal.SIGKILL)
        code = job.end()
        expect(job, f"mpirun ended with {code}", code == 9)
        expect(job, f"rank {rank} is not named", f"rank {rank}" in job.text())
        job.check_nothing_left()
        print(f"kill -9 of rank {rank}: 9 after {job.seconds:.2f} s", flush=True)


def story_front(place):
    job = Job(place, "front")
    worker = job.worker(1)
    with open(f"/proc/{worker}/stat") as file:
        parent = int(file.read().rsplit(")", 1)[1].split()[1])
    os.kill(parent, signal.SIGKILL)
    code = job.end()
    expect(job, f"mpirun ended with {code}", code != 0)
    job.check_nothing_left()
    print(f"kill -9 of the front program of rank 1: {code} after {job.seconds:.2f} s", flush=True)


def story_mpirun(place):
    job = Job(place, "mpirun")
    job.mpirun.kill()
    job.end()
    job.check_nothing_left(but=("vader_segment",))  # Open MPI's own; mpirun would have removed them
    print("kill -9 of mpirun: nothing is left running", flush=True)


def main():
    if not shutil.which("mpirun") or not os.path.exists(HFTRAIN.replace("bin/hftrain", "lib/libhftrain_mpi.so")):
        return print("SKIPPED: there is no mpirun, or hftrain was built without Open MPI")
    stories = {name[6:]: story for name, story in globals().items() if name.startswith("story_")}
    with tempfile.TemporaryDirectory(prefix="hftrain-mpirun-") as folder:
        place = Workplace(folder)
        for name in sys.argv[1:] or stories:
            stories[name](place)


if __name__ == "__main__":
    main()
