#!/usr/bin/env python3
"""kill -9 of everything at random moments around saves: resuming always works and no committed checkpoint is lost.

  crash_loop.py [--rounds 50] [--seed N] [--async_save]

Every round starts the run again, kills the launcher and both ranks at a random moment after the next checkpoint began to be
due, and checks that what had been announced as committed verifies. At the end the run is left to finish.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import send
from runs import HFTRAIN, Fixture


def tree(pid):
    """The process and its children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [pid] + [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return [pid]


def crash(fixture, flags, chance):
    """Starts the run, kills everything some time after its first or second commit; returns the steps it announced."""
    process = subprocess.Popen([HFTRAIN, *flags], env=fixture.environment, text=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    announced, wanted = [], chance.choice((0, 1, 1, 2))
    while len(announced) < wanted:
        line = process.stderr.readline()
        if not line:
            break
        if line.startswith("Saving model checkpoint to ") and "committed" in line:
            announced.append(int(line.split("checkpoint-")[1].split()[0]))
    # The kill itself is what is random: it must not wait for anything the run says.
    time.sleep(chance.random() * (0.9 if wanted == 0 else 0.12))
    pids = tree(process.pid)
    for pid in pids:
        send(pid, signal.SIGKILL)
    process.stderr.read()
    code = process.wait()
    while any(send(pid, 0) for pid in pids):  # the killed finish the call that they are in
        time.sleep(0.001)
    return announced, code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--async_save", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    steps = 1_000_000  # it does not end by itself
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "out")
        common = ["--save_strategy", "steps", "--save_steps", 5, "--save_total_limit", 3]
        if options.async_save:
            common.append("--async_save")
        flags = fixture.flags(output, *common, "--max_steps", steps)
        newest = 0
        for round_number in range(options.rounds):
            announced, code = crash(fixture, flags, chance)
            if code != -signal.SIGKILL:
                raise SystemExit(f"round {round_number}: the run ended by itself with code {code}")
            newest = max([newest, *announced])
            kept = fixture.checkpoints(output)
            if newest and newest not in kept and not any(step > newest for step in kept):
                raise SystemExit(f"round {round_number}: checkpoint {newest} was committed and is gone; there are {kept}")
            for step in kept:
                fixture.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{step}"))
            newest = max([newest, *kept])
        if not newest:
            raise SystemExit("nothing was committed before any of the crashes")
        last = newest + 5
        fixture.call(*fixture.flags(output, *common, "--max_steps", steps, "--resume_from_checkpoint", "auto",
                                "--early_stopping_patience", 1, "--eval_strategy", "steps", "--eval_steps", 5,
                                "--metric_for_best_model", "loss", "--early_stopping_threshold", 100))
        if not any(step >= last for step in fixture.checkpoints(output)):
            raise SystemExit("the run did not go on after the last crash")
        print(f"{options.rounds} crashes, newest committed step {newest}: every checkpoint verified, the run went on")


main()
