#!/usr/bin/env python3
"""Stop signals and kills at random moments of a run under mpirun: never a hang, nothing left, a true exit code.

  mpirun_anywhere.py [--stops 50] [--kills 20] [--seed N]

A stop goes to mpirun, to a front program or to a worker; the run would go on for long. The job ends with 143 and a checkpoint
that verifies, or, before its first loss, with 10 and the reason; mpirun ends with the same, after SIGTERM to itself with 1. Only
a stop that comes before there are workers may leave no summary. A kill takes a worker of such
a run: the job and mpirun end with 9, and its rank is named. A signal before mpirun has started anything ends it without a job.
"""
import argparse
import collections
import os
import random
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import FLAGS, last_step, send
from machines import no_mpi
from mpirun_ends import GRACE, Job, environment_of
from runs import Fixture, skip

# What is to end a run must not come too late; mpirun passes SIGTERM on only after it has slept.
LONG = ["--max_steps", 100000, *FLAGS[2:], "--save_total_limit", 2]
STOPS = [signal.SIGTERM] * 4 + [signal.SIGUSR1, signal.SIGUSR2]


def pids_of(job, program):
    """Without the clients of PMIx that front programs have forked, which take no signal."""
    return [pid for pid in job.pids(program) if program != "hftrain" or parent_of(pid) == job.mpirun.pid]


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def pid_of(job, program, chance):
    """A process of the job, once there are two; nothing when the job ended before."""
    job.wait_until(lambda: len(pids_of(job, program)) >= 2, f"the start of {program}")
    pids = pids_of(job, program)
    return chance.choice(pids) if pids else None


def ended_before_the_job(job, target, number, code):
    """Whether a run without a summary has ended as it may. mpirun has codes of its own; whoever else was stopped says why and
    ends with 10, but one that the signal met before it had said its version, and so before it could take any. Where there is
    a worker there is a job."""
    if target == "mpirun" and number == signal.SIGTERM:
        return code != 0
    if target == "hftrain-worker":
        return False
    if not re.search(r"(?m)^hftrain \d", job.text()):
        return code == 128 + number
    return code == 10 and "stop" in job.text()


def stop_one(job, chance, length, target, number):
    pid = job.mpirun.pid if target == "mpirun" else pid_of(job, target, chance)
    if target == "mpirun" and number != signal.SIGTERM:
        pid_of(job, "hftrain", chance)  # mpirun drops a signal that it has nobody to pass on to
    # The moment itself is what is random; ranks run for about half of the time.
    time.sleep(chance.random() * length * (1 if target == "mpirun" else 0.5))
    job.take_traces()
    if pid is None or not send(pid, number):
        job.fail(f"{target} had ended before it was sent {number.name}")
    code, summary = job.end(), job.summary()
    what = f"{number.name} to {target}: mpirun {code}, summary {summary}"
    if summary == 143:
        job.check_saved()
    elif summary == 10:
        if "stop" not in job.text():
            job.fail(f"{what}: no reason is given")
        if last_step(job.output):
            job.fail(f"{what}: after update {last_step(job.output)}, which it could have saved")
    elif summary is not None or not ended_before_the_job(job, target, number, code):
        job.fail(what)
    if code not in {summary, 1 if target == "mpirun" else summary} and summary is not None:
        job.fail(what)
    return f"{target} {summary if summary is not None else 'before there was a job'}"


def kill_one(job, chance, length):
    pid = pid_of(job, "hftrain-worker", chance)
    time.sleep(chance.random() * length * 0.5)
    job.take_traces()
    rank = environment_of(pid).get("RANK") if pid else None
    if rank is None or not send(pid, signal.SIGKILL):
        job.fail("a rank had ended before it was killed")
    code, summary = job.end(), job.summary()
    if (code, summary) != (9, 9) or f"rank {rank} " not in job.text():
        job.fail(f"kill -9 of rank {rank}: mpirun {code}, summary {summary}, or the rank is not named")
    return "kill 9"


def main():
    if no_mpi():
        skip(no_mpi())
    parser = argparse.ArgumentParser()
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    ends = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="hftrain-mpirun-") as folder:
        fixture = Fixture(folder)
        start = time.monotonic()
        straight = Job(fixture, "straight", flags=FLAGS)
        if straight.end() != 0:
            straight.fail("a run that nobody disturbs")
        length = time.monotonic() - start
        for number in range(options.stops + options.kills):
            stops = number < options.stops
            wish = chance.choice(["mpirun", "hftrain", "hftrain-worker"]), chance.choice(STOPS)
            # mpirun sleeps that long after any end.
            grace = GRACE if stops and wish == ("mpirun", signal.SIGTERM) else ()
            job = Job(fixture, f"run-{number}", grace, flags=LONG, backend=chance.choice(["mpi", "gloo"]))
            end = stop_one(job, chance, length, *wish) if stops else kill_one(job, chance, length)
            job.check_nothing_left()
            ends[end] += 1
            print(f"{number}: {end}", flush=True)
    print(", ".join(f"{times} × {end}" for end, times in sorted(ends.items())))


main()
