#!/usr/bin/env python3
"""Stop signals at random moments of a run, to the launcher or to one rank: never a hang, never a torn state.

  terminate_anywhere.py [--rounds 50] [--seed N] [--kills N]

The run would not end by itself. Stopped it ends with 143 (130 after SIGINT) and a checkpoint that verifies, or,
before its first loss, with 10 and the reason. Started again it goes on from its newest checkpoint, with the losses of an undisturbed run. At the end a
launcher is killed with -9 (a tenth as often, or --kills times), and nothing is left of its run.
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
from faults import ENDLESS, Run, check_same_losses, last_step, losses, processes_of, send, some_steps_after
from runs import PATIENCE, Fixture

SIGNALS = [signal.SIGTERM] * 4 + [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT]


def stop_one(fixture, output, chance, length):
    run = Run(fixture, output, *ENDLESS)
    target = chance.choice(["launcher", "rank"])
    number = chance.choice(SIGNALS)
    time_left = chance.random() * length
    if target == "rank":
        if not run.wait_for_workers():
            raise SystemExit("the run ended before its workers ran:\n" + run.finish()[1])
        pid = run.pid_of(chance.randrange(run.ranks))
    else:
        run.wait_for_line("hftrain")  # from its first word on
        pid = run.process.pid
    time.sleep(time_left)  # the moment itself is what is random
    if not send(pid, number):
        raise SystemExit(f"the {target} had ended before it was sent a signal:\n" + run.finish()[1])
    code, err = run.finish()
    check(fixture, output, f"{number.name} to the {target}", 130 if number == signal.SIGINT else 143, code, err)
    return f"{target} {code}"


def check(fixture, output, what, saved, code, err):
    if code == saved:
        steps = fixture.checkpoints(output)
        if not steps:
            raise SystemExit(f"{what}: code {code} and no checkpoint:\n{err}")
        if steps[-1] < last_step(output):
            raise SystemExit(f"{what}: code {code} after update {last_step(output)}, and the newest checkpoint is of {steps[-1]}:\n"
                             f"{err}")
        fixture.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{steps[-1]}"))
    elif code == 10:
        if "stop" not in err:
            raise SystemExit(f"{what}: code 10 without a reason:\n{err}")
        if last_step(output):
            raise SystemExit(f"{what}: code 10 after update {last_step(output)}, which it could have saved:\n{err}")
    else:
        raise SystemExit(f"{what}: exit code {code}\n{err}")


def start_again(fixture, output):
    """Until some steps later; returns all losses."""
    kept = fixture.checkpoints(output)
    code, err = Run(fixture, output, *ENDLESS, "--max_steps", some_steps_after(last_step(output))).finish()
    if code != 0:
        raise SystemExit(f"started again after a stop: exit code {code}\n{err}")
    if kept and f"at step {kept[-1]}" not in err:
        raise SystemExit(f"started again it did not go on from checkpoint-{kept[-1]}:\n{err}")
    return losses(output)


def kill_launcher(fixture, output, chance, length):
    run = Run(fixture, output, *ENDLESS)
    if not run.wait_for_workers():
        raise SystemExit("the run ended before its workers ran:\n" + run.finish()[1])
    time.sleep(chance.random() * length)
    if not send(run.process.pid, signal.SIGKILL):
        raise SystemExit("the launcher had ended before it was killed:\n" + run.finish()[1])
    run.process.wait()
    deadline = time.monotonic() + PATIENCE
    while processes_of(output):
        if time.monotonic() > deadline:
            raise SystemExit(f"the launcher was killed and left {run.end_all()}")
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int)
    options = parser.parse_args()
    kills = max(1, options.rounds // 10) if options.kills is None else options.kills
    chance = random.Random(options.seed)
    ends, found = collections.Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        start = time.monotonic()
        code, err = Run(fixture, os.path.join(folder, "measured")).finish()
        length = time.monotonic() - start
        if code != 0:
            raise SystemExit(err)
        for number in range(options.rounds):
            output = os.path.join(folder, f"out-{number}")
            ends[stop_one(fixture, output, chance, length)] += 1
            found[f"round {number}"] = start_again(fixture, output)
            shutil.rmtree(output)
        if found:
            check_same_losses(fixture, found)
        for number in range(kills):
            kill_launcher(fixture, os.path.join(folder, f"killed-{number}"), chance, length)
    print(f"{options.rounds} stops: {', '.join(f'{n} × {e}' for e, n in sorted(ends.items()))}; all verified and went on to the "
          f"losses of an undisturbed run; nothing left of {kills} runs whose launcher was killed")


main()
