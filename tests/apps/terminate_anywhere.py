#!/usr/bin/env python3
"""Stop signals at random moments of a run, to the launcher or to one rank: never a hang, never a torn state.

  terminate_anywhere.py [--rounds 50] [--seed N]

Each run ends with 143 (130 after SIGINT to the launcher) and a checkpoint that verifies, or with 10 and the reason, or with 0
when it had finished before. Started again it ends with the losses of an undisturbed run. At the end one launcher is killed with
-9, and nothing is left of its run.
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
from faults import Run, losses, processes_of, send
from runs import Workplace

SIGNALS = [signal.SIGTERM] * 4 + [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT]


def stop_one(place, output, chance, length):
    run = Run(place, output)
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
    send(pid, number)
    code, err = run.finish()
    return target, number, code, err


def check(place, output, target, number, code, err):
    saved = 130 if number == signal.SIGINT else 143
    if code == saved:
        steps = place.checkpoints(output)
        if not steps:
            raise SystemExit(f"code {code} and no checkpoint:\n{err}")
        place.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{steps[-1]}"))
    elif code == 10:
        if "stop" not in err:
            raise SystemExit(f"code 10 without a reason:\n{err}")
    elif code != 0:
        raise SystemExit(f"{signal.Signals(number).name} to the {target}: exit code {code}\n{err}")


def kill_launcher(place, output, chance, length):
    run = Run(place, output)
    run.wait_for_workers()
    time.sleep(chance.random() * length)
    run.process.kill()
    run.process.wait()
    deadline = time.monotonic() + 10
    while processes_of(output):
        if time.monotonic() > deadline:
            raise SystemExit(f"the launcher was killed and left {processes_of(output)}")
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    ends = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(folder)
        straight = os.path.join(folder, "straight")
        start = time.monotonic()
        code, err = Run(place, straight).finish()
        length = time.monotonic() - start
        if code != 0:
            raise SystemExit(err)
        expected = losses(straight)
        for number in range(options.rounds):
            output = os.path.join(folder, f"out-{number}")
            target, sent, code, err = stop_one(place, output, chance, length)
            check(place, output, target, sent, code, err)
            ends[f"{target} {code}"] += 1
            code, err = Run(place, output).finish()
            if code != 0 or losses(output) != expected:
                raise SystemExit(f"round {number}: started again after a stop: exit code {code}\n{err}")
            shutil.rmtree(output)
        for number in range(max(1, options.rounds // 10)):
            kill_launcher(place, os.path.join(folder, f"killed-{number}"), chance, length)
    print(f"{options.rounds} stops: {', '.join(f'{n} × {e}' for e, n in sorted(ends.items()))}; all verified and went on to the "
          f"losses of an undisturbed run; nothing left of {max(1, options.rounds // 10)} runs whose launcher was killed")


main()
