#!/usr/bin/env python3
"""A terminal that takes no more text (here a pipe that nobody reads): training goes on, a stop signal still ends it with
code 143 and a checkpoint, and once it takes text again the launcher says how many lines it left out.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Workplace

RECORDS = 1500  # about 140 KB of text, more than twice what a pipe holds
PATIENCE = 120


def records(output):
    path = os.path.join(output, "hftrain", "log.jsonl")
    if not os.path.exists(path):
        return 0
    with open(path) as file:
        return sum(1 for _ in file)


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(folder)
        output = os.path.join(folder, "out")
        words = [str(word) for word in place.flags(output, "--max_steps", 100000, "--logging_steps", 1)]
        job = subprocess.Popen([HFTRAIN, *words], env=place.environment, stderr=subprocess.PIPE)
        end = time.monotonic() + PATIENCE
        while records(output) < RECORDS and job.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        seen = records(output)
        job.send_signal(signal.SIGTERM)
        try:
            code = job.wait(PATIENCE if seen >= RECORDS else 1)
        except subprocess.TimeoutExpired:
            job.kill()
            code = "no end"
        text = job.stderr.read().decode()
        kept = place.checkpoints(output)
        if seen < RECORDS or code != 143 or not kept:
            raise SystemExit(f"FAILED: {seen} records, ended with {code}, checkpoints {kept}:\n{text[-1000:]}")
        print(f"{seen} records beside a full pipe, code 143, checkpoint-{kept[-1]}")


main()
