#!/usr/bin/env python3
"""SIGSTOP of a rank: the launcher notices, names it and ends the job.

  stop_a_rank.py [--rounds 5] [--seed N] [--ddp_timeout SECONDS] [--nodes 1]

The deadline of a job that has trained for a while is 30 s, or --ddp_timeout where that is shorter; a minute later at most the
job must be over (later on a busy machine), with exit code 9 and the rank named. With --nodes N the ranks belong to N front programs on this machine.
Without --ddp_timeout no rank gives up by itself, and error.json must have the stacks of all that could show one.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import Run, newest_error, send
from runs import InTime, Fixture

LEARNED, AFTER_IT, UPDATES = 30, 60, 100


def stop(fixture, output, chance, nodes, more, bar):
    run = Run(fixture, output, *more, ranks=3 if nodes == 1 else 2 * nodes, nodes=nodes)
    if not run.wait_for_workers():
        raise SystemExit("the run ended before its workers ran:\n" + run.finish()[1])
    if not run.wait_for_line("'loss'", UPDATES):  # the deadline is learned
        raise SystemExit("the run ended before it trained:\n" + run.finish()[1])
    time.sleep(chance.random())
    rank = chance.randrange(run.ranks)
    clock = InTime(bar)
    if not send(run.pid_of(rank), signal.SIGSTOP):
        raise SystemExit("the rank had ended before it could be stopped")
    code, err = run.finish(seconds=600)
    return rank, clock, clock.stop(), code, err


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ddp_timeout", type=int)
    parser.add_argument("--nodes", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    more = ["--max_steps", 100000, "--save_strategy", "no"]
    if options.ddp_timeout:
        more += ["--ddp_timeout", options.ddp_timeout]
    deadline = min(LEARNED, options.ddp_timeout or LEARNED)
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        for number in range(options.rounds):
            output = os.path.join(folder, f"out-{number}")
            rank, clock, in_time, code, err = stop(fixture, output, chance, options.nodes, more, deadline + AFTER_IT)
            if code != 9 or f"error: rank {rank} hangs: its process was stopped" not in err:
                raise SystemExit(f"rank {rank} was stopped; exit code {code}:\n{err}")
            if not in_time:
                raise SystemExit(f"it took {clock}, the deadline is {deadline} s:\n{err}")
            record = newest_error(output)
            if record["rank"] != rank:
                raise SystemExit("error.json names another rank")
            silent = [r["rank"] for r in record["ranks"] if r["rank"] != rank and not r["status"]["stack"]]
            if silent and not options.ddp_timeout:
                raise SystemExit(f"error.json has no stack of {silent}")
            taken.append(clock.seconds)
            shutil.rmtree(output)
    print(f"{options.rounds} stopped ranks: all named, the job over after {', '.join(f'{s:.1f}' for s in taken)} s "
          f"(deadline {deadline} s)")


main()
