#!/usr/bin/env python3
"""A run stopped by SIGTERM at three points and started again gives the same bits as one that never stopped: weights,
optimizer state, losses.

  resume_is_the_same_run.py [--ranks 1 2 3]

Dropout is on (the GPT-2 default), epochs are short and end with an incomplete group of micro-batches. The run goes on from
just where each number says: in the middle of a logging interval, of an epoch, and at the end of one.
"""
import argparse
import filecmp
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runs
from runs import HFTRAIN, Fixture, expect

STEPS, EVERY, STOPS = 32, 2, (3, 8, 15)
PATIENCE = 120  # seconds; only a hang takes them
COMMON = ["--max_steps", STEPS, "--logging_steps", EVERY, "--gradient_accumulation_steps", 2, "--max_train_samples", 40,
          "--per_device_train_batch_size", 4, "--weight_decay", 0.1, "--save_strategy", "steps", "--save_steps", 1]


def losses(output, skip=0):
    """By step, of the records behind the first `skip`; without their time."""
    return {r["step"]: {k: v for k, v in r.items() if k != "time"} for r in runs.records(output)[skip:] if "loss" in r}


def stop(fixture, output, ranks, at):
    """Ends a run once it has saved step `at`; whatever it did after that is taken away."""
    job = subprocess.Popen([HFTRAIN, *fixture.flags(output, *COMMON, ranks=ranks)], env=fixture.environment, text=True,
                           stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while not os.path.isdir(os.path.join(output, f"checkpoint-{at}")):
        expect(job.poll() is None and time.monotonic() < end, f"step {at} was not saved; code {job.poll()}", "")
        time.sleep(0.002)
    job.send_signal(signal.SIGTERM)
    said = job.communicate(timeout=PATIENCE)[1]
    expect(job.returncode == 143, f"ended with {job.returncode} instead of 143", said)
    saved = fixture.checkpoints(output)
    expect(saved[-1] < STEPS and not os.path.exists(os.path.join(output, "model.safetensors")), "it was stopped", saved)
    for step in saved:
        if step > at:
            shutil.rmtree(os.path.join(output, f"checkpoint-{step}"))


def check(fixture, ranks):
    straight = os.path.join(fixture.folder, f"straight-{ranks}")
    fixture.call(*fixture.flags(straight, *COMMON, ranks=ranks))
    whole = losses(straight)
    expect(sorted(whole) == list(range(EVERY, STEPS + 1, EVERY)), "every interval is logged", whole)
    expect(whole[STEPS]["epoch"] > 3, "several epochs", whole)
    for at in STOPS:
        where = f"{ranks} rank(s), stopped at {at}"
        resumed = os.path.join(fixture.folder, f"resumed-{ranks}-{at}")
        stop(fixture, resumed, ranks, at)
        before = len(runs.records(resumed))
        said = fixture.call(*fixture.flags(resumed, *COMMON, ranks=ranks)).stderr
        expect(f"and global step {at}\n" in said, f"{where}: it does not go on from there", said)
        again = losses(resumed, skip=before)
        expect(again == {step: record for step, record in whole.items() if step > at},
               f"{where}: other losses were logged", [again, whole])
        compared = 0
        for folder, _, names in os.walk(straight):
            for name in names:
                if name.endswith(".safetensors"):
                    path = os.path.join(folder, name)
                    other = os.path.join(resumed, os.path.relpath(path, straight))
                    expect(filecmp.cmp(path, other, shallow=False), f"{where}: {os.path.relpath(path, straight)} differs", "")
                    compared += 1
        expect(compared > STEPS, f"{where}: only {compared} files were compared", "")
    print(f"{ranks} rank(s): stopped at {', '.join(map(str, STOPS))} of {STEPS}: the same bits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", nargs="*", type=int, default=[1, 2, 3])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        for ranks in options.ranks:
            check(fixture, ranks)


main()
