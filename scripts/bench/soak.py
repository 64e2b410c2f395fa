#!/usr/bin/env python3
"""Resident memory of every process of a long run that logs, evaluates and saves at every chance.

  soak.py [--steps 20000] [--from_step 500] [--ranks 2] [--logging_steps 1] [--eval_steps 40] [--save_steps 60]
          [--width 256] [--bar 1.02]

A small GPT-2 on made-up text. Samples VmRSS of the launcher and of each worker while it runs and prints a line per process: the
median around --from_step, the median of the last hundred samples, and their ratio. Ends with 1 when a ratio is above --bar.
Prints what it has when it is stopped. HFTRAIN_BUILD_DIR names the build (default: build).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "apps"))
from runs import HFTRAIN, Fixture


def resident(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)


def processes(front):
    """Name -> pid of the front program and its workers, by their RANK."""
    found = {"hftrain": front}
    children = pathlib.Path(f"/proc/{front}/task/{front}/children")
    for pid in (children.read_text().split() if children.exists() else []):
        try:
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ranks = [value[5:].decode() for value in variables if value.startswith(b"RANK=")]
        if ranks:
            found[f"rank {ranks[0]}"] = int(pid)
    return found


def last_step(log):
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - 4096))
            return json.loads(file.read().splitlines()[-1])["step"]
    except (OSError, IndexError, ValueError, KeyError):
        return 0


def report(samples, from_step, bar):
    worst = 0.0
    for name, values in sorted(samples.items()):
        early = [size for step, size in values if from_step <= step < from_step * 1.2]
        late = [size for _, size in values[-100:]]
        if not early or not late:
            print(f"{name}: too few samples ({len(values)}, up to step {values[-1][0] if values else 0})")
            worst = float("inf")
            continue
        ratio = statistics.median(late) / statistics.median(early)
        worst = max(worst, ratio)
        print(f"{name}: {statistics.median(early) / 2**20:.1f} MiB around step {from_step}, "
              f"{statistics.median(late) / 2**20:.1f} MiB at step {values[-1][0]}, ratio {ratio:.4f}")
    return worst <= bar


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"steps": 20000, "from_step": 500, "ranks": 2, "logging_steps": 1, "eval_steps": 40, "save_steps": 60,
                          "width": 256}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--bar", type=float, default=1.02)
    options = parser.parse_args()
    samples = {}
    with tempfile.TemporaryDirectory(prefix="hftrain-soak-") as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "run")
        words = fixture.flags(output, "--max_steps", options.steps, "--eval_strategy", "steps", "--eval_steps", options.eval_steps,
                            "--validation_split_percentage", 10, "--save_steps", options.save_steps, "--save_total_limit", 2,
                            "--per_device_train_batch_size", 4, ranks=options.ranks, width=options.width)
        words[words.index("--logging_steps") + 1] = str(options.logging_steps)
        begin = time.monotonic()
        front = subprocess.Popen([HFTRAIN, *words], env=fixture.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            while front.poll() is None:
                step = last_step(os.path.join(output, "hftrain", "log.jsonl"))
                for name, pid in processes(front.pid).items():
                    if (size := resident(pid)) and step:
                        samples.setdefault(name, []).append((step, size))
                time.sleep(0.2)
        except KeyboardInterrupt:
            front.terminate()
        code = front.wait()
        print(f"ended with {code} after {time.monotonic() - begin:.0f} s")
        return 0 if report(samples, options.from_step, options.bar) and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
