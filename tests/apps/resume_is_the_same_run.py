#!/usr/bin/env python3
"""A run stopped at three points and resumed gives the same bits as one that never stopped: weights, optimizer state, losses.

  resume_is_the_same_run.py [--ranks 1 2 3]

Dropout is on (the GPT-2 default), one stop is in the middle of a logging interval and one in the middle of an epoch.
"""
import argparse
import filecmp
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Workplace

STEPS, STOPS = 12, (3, 7, 10)


def records(output):
    """Later lines win: those of a resumed attempt follow the ones they replace."""
    found = {}
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        for line in file:
            record = json.loads(line)
            if "loss" in record:
                found[record["step"]] = {k: v for k, v in record.items() if k != "time"}
    return found


def check(place, ranks):
    straight = os.path.join(place.folder, f"straight-{ranks}")
    common = ["--max_steps", STEPS, "--logging_steps", 2, "--gradient_accumulation_steps", 2,
              "--per_device_train_batch_size", 4, "--weight_decay", 0.1, "--save_strategy", "steps", "--save_steps", 1]
    place.call(*place.flags(straight, *common, ranks=ranks))
    for stop in STOPS:
        resumed = os.path.join(place.folder, f"resumed-{ranks}-{stop}")
        shutil.copytree(straight, resumed)
        for step in range(stop + 1, STEPS + 1):
            shutil.rmtree(os.path.join(resumed, f"checkpoint-{step}"))
        os.remove(os.path.join(resumed, "model.safetensors"))
        before = records(resumed)
        place.call(*place.flags(resumed, *common, ranks=ranks))
        if records(resumed) != before:
            raise SystemExit(f"{ranks} rank(s), stopped at {stop}: other losses were logged")
        for folder, _, names in os.walk(straight):
            for name in names:
                if name.endswith(".safetensors"):
                    path = os.path.join(folder, name)
                    other = os.path.join(resumed, os.path.relpath(path, straight))
                    if not filecmp.cmp(path, other, shallow=False):
                        raise SystemExit(f"{ranks} rank(s), stopped at {stop}: {os.path.relpath(path, straight)} differs")
    print(f"{ranks} rank(s): stopped at {', '.join(map(str, STOPS))} of {STEPS}: the same bits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", nargs="*", type=int, default=[1, 2, 3])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(folder)
        for ranks in options.ranks:
            check(place, ranks)


main()
