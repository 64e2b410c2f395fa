#!/usr/bin/env python3
"""A terminal that takes no more text (here a pipe that nobody reads): training goes on; once it takes text again the
launcher says that some is missing; and while it takes none, a stop signal still ends the run with code 143 and a checkpoint.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, Workplace

RECORDS = 1500  # about 140 KB of text, more than twice what a pipe holds
SAID = b"took no text for a while"


def records(output):
    path = os.path.join(output, "hftrain", "log.jsonl")
    if not os.path.exists(path):
        return 0
    with open(path) as file:
        return sum(1 for _ in file)


def wait_for_records(job, output, count):
    seen, end = 0, time.monotonic() + PATIENCE
    while (now := records(output)) < count:
        if now > seen:  # slow is not stopped
            seen, end = now, time.monotonic() + PATIENCE
        if job.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"FAILED: {now} of {count} records beside a full pipe, code {job.poll()}")
        time.sleep(0.1)


def read_until_said(pipe):
    """Reads what the pipe holds and on, until the launcher has said that it left something out."""
    text = b""
    while SAID not in text:
        part = os.read(pipe.fileno(), 65536)
        if not part:
            raise SystemExit(f"FAILED: nothing was said of what was left out:\n{text[-1000:].decode()}")
        text += part


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(folder)
        output = os.path.join(folder, "out")
        job = subprocess.Popen([HFTRAIN, *place.flags(output, "--max_steps", 100000, "--save_strategy", "no")], env=place.environment,
                               stderr=subprocess.PIPE)
        try:
            wait_for_records(job, output, RECORDS)
            read_until_said(job.stderr)
            wait_for_records(job, output, records(output) + RECORDS)
            job.send_signal(signal.SIGTERM)
            code = job.wait(PATIENCE)
        finally:
            if job.poll() is None:
                job.kill()
        kept = place.checkpoints(output)
        if code != 143 or not kept:
            raise SystemExit(f"FAILED: ended with {code}, checkpoints {kept}")
        print(f"{records(output)} records beside a full pipe, code 143, checkpoint-{kept[-1]}")


main()
