#!/usr/bin/env python3
"""A terminal that takes no more text (here a pipe that nobody reads): training goes on; once it takes text again the
launcher says that some is missing; and while it takes none, a stop signal still ends the run with code 143 and a checkpoint.

  stopped_terminal.py [SCENARIO]…     all of them without a word
"""
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, Fixture, free_port, tell

PIPE = 4096  # bytes, the least that a pipe may hold
RECORDS = 800  # about 75 KB of text, twice what the pipe and the launcher hold
SAID = b"took no text for a while"
# A worker that also writes lines longer than a page of a pipe: of those a pipe that has room for some takes a part.
CHATTY = """#!/bin/bash
(line=$(printf '%05000d' 0); while :; do for i in 1 2 3 4 5; do echo "$line" >&2; done; sleep 0.1; done) &
exec "{worker}" "$@"
"""


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


def chatty_program(folder):
    """The built program beside such a worker."""
    built = os.path.dirname(HFTRAIN)
    os.makedirs(os.path.join(folder, "bin"))
    os.symlink(os.path.join(os.path.dirname(built), "lib"), os.path.join(folder, "lib"))
    program, worker = (os.path.join(folder, "bin", name) for name in ("hftrain", "hftrain-worker"))
    shutil.copy(HFTRAIN, program)
    with open(worker, "w") as file:
        file.write(CHATTY.format(worker=os.path.join(built, "hftrain-worker")))
    os.chmod(worker, 0o755)
    return program


def start(fixture, output, *more, program=HFTRAIN):
    job = subprocess.Popen([program, *fixture.flags(output, "--max_steps", 100000, "--save_strategy", "no",
                                                    "--per_device_train_batch_size", 1, *more)],
                           env=fixture.environment, stderr=subprocess.PIPE)
    fcntl.fcntl(job.stderr, fcntl.F_SETPIPE_SZ, PIPE)
    return job


def stop(fixture, output, job):
    """With nobody reading."""
    job.send_signal(signal.SIGTERM)
    code = job.wait(PATIENCE)
    kept = fixture.checkpoints(output)
    if code != 143 or not kept:
        raise SystemExit(f"FAILED: ended with {code}, checkpoints {kept}")
    return f"{records(output)} records beside a full pipe, code 143, checkpoint-{kept[-1]}"


def scenario_short_lines(fixture, output):
    job = start(fixture, output)
    try:
        wait_for_records(job, output, RECORDS)
        read_until_said(job.stderr)
        wait_for_records(job, output, records(output) + RECORDS)
        return stop(fixture, output, job)
    finally:
        job.kill()


def wait_for_flood(job, fixture, output):
    """Until a rank has written more than pipes and this program hold."""
    wait_for_records(job, output, 3)
    path = os.path.join(output, "hftrain", "ranks", "0", "0", "stderr.log")
    end = time.monotonic() + PATIENCE
    while os.path.getsize(path) < 400_000:
        if time.monotonic() > end or job.poll() is not None:
            raise SystemExit(f"FAILED: the output of rank 0 is not taken, code {job.poll()}")
        time.sleep(0.1)
    wait_for_records(job, output, records(output) + 3)


def scenario_long_lines(fixture, output):
    job = start(fixture, output, program=chatty_program(output + "-program"))
    try:
        wait_for_flood(job, fixture, output)
        read_until_said(job.stderr)  # a reader that comes and goes leaves the writer in the middle of a line
        time.sleep(3)
        return stop(fixture, output, job)
    finally:
        job.kill()


def scenario_host_file(fixture, output):
    hosts = output + "-hosts"
    with open(hosts, "w") as file:
        file.write(f"{socket.gethostname()} slots=2\n")
    job = start(fixture, output, "--hostfile", hosts, program=chatty_program(output + "-program"))
    try:
        wait_for_flood(job, fixture, output)
        return stop(fixture, output, job)
    finally:
        job.kill()


def fill(pipe):
    """Until it holds no more; nobody reads."""
    own = os.open(f"/proc/self/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
    for size in (PIPE, 1):
        try:
            while True:
                os.write(own, b"x" * size)
        except BlockingIOError:
            pass
    os.close(own)


def waits_for_others(job):
    """Once it has blocked the signals that end it, which it takes in its own time."""
    end = time.monotonic() + PATIENCE
    while True:
        with open(f"/proc/{job.pid}/status") as file:
            blocked = next(int(line.split()[1], 16) for line in file if line.startswith("SigBlk"))
        if blocked >> (signal.SIGTERM - 1) & 1:
            return
        if job.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"FAILED: it met nobody, code {job.poll()}")
        time.sleep(0.05)


def scenario_before_a_run(fixture, output):
    """Of the first node of two, which meets nobody."""
    reading, writing = os.pipe()
    job = subprocess.Popen([HFTRAIN, *fixture.flags(output, "--max_steps", 3, "--nnodes", 2, "--node_rank", 0, "--master_addr", "127.0.0.1",
                                                    "--master_port", free_port())], env=fixture.environment, stderr=writing)
    try:
        waits_for_others(job)
        fill(writing)
        job.send_signal(signal.SIGTERM)
        code = job.wait(PATIENCE)
        if code != 10:
            raise SystemExit(f"FAILED: it ended with {code}")
        return "ended with 10 beside a full pipe"
    finally:
        job.kill()
        os.close(reading)
        os.close(writing)


def main():
    scenarios = {name.removeprefix("scenario_"): scenario for name, scenario in globals().items() if name.startswith("scenario_")}
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)

        def run(name, scenario):
            print(f"{name.replace('_', ' ')}: {scenario(fixture, os.path.join(folder, name))}", flush=True)

        tell(scenarios, sys.argv[1:], run)


if __name__ == "__main__":
    main()
