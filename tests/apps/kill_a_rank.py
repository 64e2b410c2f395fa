#!/usr/bin/env python3
"""kill -9 of a random rank at random moments of a run.

  kill_a_rank.py [--rounds 100] [--seed N] [--ranks 2] [--nodes 1]

Without restarts: the job is gone within two seconds, with exit code 9, the report names that rank, and no process is left. With
--max_restarts 1: the run finishes, and every loss is that of an undisturbed run. Moments are spread over the whole life of the
workers, from their start to their end. With --nodes N the ranks belong to N front programs on this machine, which all end alike.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import Run, losses, newest_error, send
from runs import Workplace

GONE_WITHIN = 2.0


def kill_one(place, output, chance, length, options, *more):
    """Returns (exit code, stderr, rank, seconds from the kill to the end, whether it came in time)."""
    run = Run(place, output, *more, ranks=options.ranks, nodes=options.nodes)
    if not run.wait_for_workers():
        raise SystemExit("the run ended before its workers ran:\n" + run.finish()[1])
    time.sleep(chance.random() * length)  # the moment itself is what is random
    rank = chance.randrange(options.ranks)
    begin = time.monotonic()
    in_time = send(run.pid_of(rank), signal.SIGKILL)
    code, err = run.finish()
    return code, err, rank, run.ended - begin, in_time


def check_end(output, code, err, rank, seconds):
    if code != 9 or f"error: rank {rank} was killed by SIGKILL" not in err:
        raise SystemExit(f"rank {rank} was killed; exit code {code}:\n{err}")
    if seconds > GONE_WITHIN:
        raise SystemExit(f"the job was gone only after {seconds:.2f} s:\n{err}")
    record = newest_error(output)
    if record["rank"] != rank or record["signal"] != 9:
        raise SystemExit(f"error.json names rank {record['rank']}, signal {record['signal']}")
    return record["last_seen"]["phase"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    phases, times, restarted = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(folder)
        straight = os.path.join(folder, "straight")
        begun = Run(place, straight, ranks=options.ranks, nodes=options.nodes)
        begun.wait_for_workers()
        start = time.monotonic()
        code, err = begun.finish()
        length = time.monotonic() - start
        if code != 0:
            raise SystemExit(err)
        expected = losses(straight)
        for number in range(options.rounds):
            output = os.path.join(folder, f"out-{number}")
            code, err, rank, seconds, in_time = kill_one(place, output, chance, length, options)
            if code == 0:  # it had done all there was to do
                phases["over"] += 1
            else:
                phases[check_end(output, code, err, rank, seconds)] += 1
                times.append(seconds)
            shutil.rmtree(output)

            code, err, rank, _, in_time = kill_one(place, output, chance, length, options, "--max_restarts", 1)
            if code != 0 or losses(output) != expected:
                raise SystemExit(f"round {number}: rank {rank} was killed; with a restart: exit code {code}, losses "
                                 f"{'equal' if losses(output) == expected else 'differ'}\n{err}")
            restarted += "restart 1 of 1" in err
            shutil.rmtree(output)
    times.sort()
    print(f"{options.rounds} kills ({', '.join(f'{n} {p}' for p, n in phases.most_common())}): all named, gone within "
          f"{times[-1]:.2f} s (median {times[len(times) // 2]:.2f}); {restarted} of {options.rounds} runs started again and "
          "ended with the losses of an undisturbed one")


main()
