#!/usr/bin/env python3
"""kill -9 of a random rank at random moments of a run.

  kill_a_rank.py [--rounds 100] [--seed N] [--ranks 2] [--nodes 1]

Three runs a round. Two would not end by themselves. Without restarts the job is gone within two seconds (on a machine that has
nothing else to do), with exit code 9, the report names that rank, and no process is left. With --max_restarts 1 it starts again
and goes on; stopped then, it has the losses of an undisturbed run. The third is killed when it has made its last update: it
ends with 9, or with 0 and the model of an undisturbed run. With --nodes N the ranks belong to N front programs on this machine,
which all end alike.
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
from faults import ENDLESS, STEPS, Run, check_same_losses, last_step, losses, newest_error, send, some_steps_after
from runs import InTime, Fixture

GONE_WITHIN = 2.0


class Killed:
    """A run whose workers live, of which one rank has just been killed."""

    def __init__(self, fixture, output, chance, wait, options, *more):
        self.output, self.rank = output, chance.randrange(options.ranks)
        self.run = Run(fixture, output, *more, ranks=options.ranks, nodes=options.nodes)
        if not self.run.wait_for_workers():
            self.fail("the run ended before its workers ran")
        wait(self.run)
        self.begin = time.monotonic()
        self.was_alive = send(self.run.pid_of(self.rank), signal.SIGKILL)

    def fail(self, what):
        raise SystemExit(f"{what}\n{self.run.end_all() or ''}{''.join(self.run.lines)}")

    def finish(self):
        code, err = self.run.finish()
        self.seconds = self.run.ended - self.begin
        return code, err

    def check_lost(self, code, err):
        """Ended with 9 and named; returns the phase in which the rank was seen last."""
        if code != 9 or f"error: rank {self.rank} was killed by SIGKILL" not in err:
            self.fail(f"rank {self.rank} was killed; exit code {code}")
        record = newest_error(self.output)
        if record["rank"] != self.rank or record["signal"] != 9:
            self.fail(f"rank {self.rank} was killed; error.json names rank {record['rank']}, signal {record['signal']}")
        return record["last_seen"]["phase"]


def some_time(chance, length):
    return lambda run: time.sleep(chance.random() * length)  # the moment itself is what is random


def lose_one(fixture, output, chance, length, options):
    """Returns (phase, seconds from the kill to the end)."""
    clock = InTime(GONE_WITHIN)
    killed = Killed(fixture, output, chance, some_time(chance, length), options, *ENDLESS)
    if not killed.was_alive:
        killed.fail("the rank had ended before it was killed")
    phase = killed.check_lost(*killed.finish())
    if not clock.stop(killed.seconds):
        killed.fail(f"the job was gone only after {clock}")
    return phase, killed.seconds


def start_again(fixture, output, chance, length, options):
    """All losses of a run that was started again, and stopped later."""
    killed = Killed(fixture, output, chance, some_time(chance, length), options, *ENDLESS, "--max_restarts", 1)
    if not killed.run.wait_for_line("restart 1 of 1"):
        killed.fail(f"rank {killed.rank} was killed, and nothing was started again")
    said = sum("'loss'" in line for line in killed.run.lines)
    if not killed.run.wait_for_line("'loss'", said + 3):
        killed.fail("the run that was started again did not go on")
    send(killed.run.process.pid, signal.SIGTERM)
    code, err = killed.finish()
    if code != 143:
        killed.fail(f"stopped after a restart: exit code {code}")
    again = Run(fixture, output, *ENDLESS, "--max_steps", some_steps_after(last_step(output)), ranks=options.ranks,
                nodes=options.nodes)
    code, err = again.finish()
    if code != 0:
        raise SystemExit(f"going on after a stop: exit code {code}\n{err}")
    return losses(output)


def model_of(output):
    with open(os.path.join(output, "model.safetensors"), "rb") as file:
        return file.read()


def kill_at_the_end(fixture, output, chance, options, model):
    def last_update(run):
        if not run.wait_for_line("'loss'", STEPS):
            raise SystemExit("the run ended without its last update:\n" + "".join(run.lines))

    killed = Killed(fixture, output, chance, last_update, options)
    code, err = killed.finish()
    if code == 0 and model_of(output) != model:
        killed.fail("a rank was killed, and the run ended with 0 and another model")
    return "over" if code == 0 else killed.check_lost(code, err)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    phases, late, times, found = collections.Counter(), collections.Counter(), [], {}
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        measured = os.path.join(folder, "measured")
        begun = Run(fixture, measured, ranks=options.ranks, nodes=options.nodes)
        begun.wait_for_workers()
        start = time.monotonic()
        code, err = begun.finish()
        length = time.monotonic() - start
        if code != 0:
            raise SystemExit(err)
        for number in range(options.rounds):
            output = os.path.join(folder, f"out-{number}")
            phase, seconds = lose_one(fixture, output, chance, length, options)
            phases[phase] += 1
            times.append(seconds)
            shutil.rmtree(output)
            found[f"round {number}"] = start_again(fixture, output, chance, length, options)
            shutil.rmtree(output)
            late[kill_at_the_end(fixture, output, chance, options, model_of(measured))] += 1
            shutil.rmtree(output)
        check_same_losses(fixture, found, ranks=options.ranks, nodes=options.nodes)
    times.sort()
    print(f"{options.rounds} kills ({', '.join(f'{n} {p}' for p, n in phases.most_common())}): all named, gone within "
          f"{times[-1]:.2f} s (median {times[len(times) // 2]:.2f}); {options.rounds} runs started again and went on with the "
          f"losses of an undisturbed one; killed at the end: {', '.join(f'{n} {p}' for p, n in late.most_common())}")


main()
