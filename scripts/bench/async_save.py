#!/usr/bin/env python3
"""Saving in the background, GPT-2 124M shape: how long training waits, what it costs the steps, how fast it writes.

  async_save.py [--ranks 1] [--threads N] [--saves 5] [--rounds 2] [--disk FOLDER] [--width 768 --layers 12 --vocabulary 50257]

stall   seconds that training waited for the first save and for later ones, against plain copies of the same bytes between memory
        that has been written to, after the run; a copy to new memory is told beside it
steps   the steps while a save is in flight against those after it and before the next one, save by save; steps that waited are
        left out
write   bytes of a checkpoint by the time from its begin to its commit (write, sync, rename, read back): beside training, and at
        its end, when only the save is left, which goes by turns with writing and syncing one file of that size

Ratios are medians, with their range. It says of each save when it was committed. Threads that share their cores with other work
wait for each other at every operation: --threads 1 then. On a busy machine stall and copy are not measured at the
same moment, and bench_async_save, which takes them by turns, is the better witness.
"""
import argparse
import json
import mmap
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "apps"))
import turns
from runs import HFTRAIN, Fixture

SAVED = re.compile(r"checkpoint-(\d+) \(committed after ([0-9.e+-]+) s, training waited ([0-9.e+-]+) s\)")
PIECE = 8 << 20


def copy_seconds(size, copies=4):
    """(to memory that has been written to, to new memory): seconds of each copy."""
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    warm, cold = [], []
    with mmap.mmap(-1, size, private) as source, mmap.mmap(-1, size, private) as target:
        for offset in range(0, size, mmap.PAGESIZE):
            source[offset] = 1
        for _ in range(copies):
            begin = time.monotonic()
            target[:] = source
            (warm if cold else cold).append(time.monotonic() - begin)
    return warm, cold


def direct_write_seconds(path, size):
    piece = os.urandom(PIECE)
    begin = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        for offset in range(0, size, PIECE):
            file.write(piece[:min(PIECE, size - offset)])
        os.fsync(file.fileno())
    seconds = time.monotonic() - begin
    os.remove(path)
    return seconds


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names)


def train(fixture, output, options, *more):
    """Saves as (step, seconds to the commit, seconds waited), and the time at which each step was logged."""
    flags = fixture.flags(output, "--async_save", "--per_device_train_batch_size", options.batch, "--save_strategy", "steps",
                        "--save_total_limit", 1, "--overwrite_output_dir", *more, ranks=options.ranks)
    flags[flags.index("--config_overrides") + 1] = (
        f"n_layer={options.layers},n_head=12,n_embd={options.width},n_positions=64,vocab_size={options.vocabulary},"
        "bos_token_id=0,eos_token_id=0,embd_pdrop=0,attn_pdrop=0,resid_pdrop=0")
    environment = {**fixture.environment}
    environment.pop("OMP_NUM_THREADS")
    if options.threads:
        environment["OMP_NUM_THREADS"] = str(options.threads)
    saves, said = [], []
    with subprocess.Popen([HFTRAIN, *flags], env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        for line in run.stderr:
            said.append(line)
            if saved := SAVED.search(line):
                saves.append((int(saved[1]), float(saved[2]), float(saved[3])))
                print(f"  step {saved[1]}: committed after {saved[2]} s, training waited {saved[3]} s", flush=True)
    if run.returncode != 0:
        raise SystemExit("".join(said))
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        records = [json.loads(line) for line in file]
    return saves, {record["step"]: record["time"] for record in records if "loss" in record}


def step_ratios(saves, logged):
    """Save by save: the median step while it was in flight by that after it, before the next one."""
    ratios, last = [], max(logged)
    ends = [step for step, _, _ in saves[1:]]
    for (saved, total, _), end in zip(saves, ends):
        busy, free = [], []
        for step in range(saved + 2, min(end, last) + 1):
            seconds = logged[step] - logged[step - 1]
            if logged[step] < logged[saved] + total:
                busy.append(seconds)
            elif logged[step - 1] > logged[saved] + total:
                free.append(seconds)
        if busy and len(free) > 1:
            ratios.append(statistics.median(busy) / statistics.median(free))
    return ratios


def spread(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "none"


def measure_run(fixture, output, options):
    """Prints stall and steps; returns the bytes of a checkpoint and the seconds of its last save."""
    steps = options.saves * options.save_steps
    saves, logged = train(fixture, output, options, "--max_steps", steps, "--save_steps", options.save_steps)
    size = folder_bytes(os.path.join(output, f"checkpoint-{steps}"))
    warm, cold = copy_seconds(size)
    copied = statistics.median(warm)
    print(f"{options.ranks} rank(s), checkpoint of {size / 1e9:.2f} GB; a copy takes {copied:.2f} s ({min(warm):.2f} to "
          f"{max(warm):.2f}), to new memory {statistics.median(cold):.2f} s", flush=True)
    # Training also waits for a save that is not done when the next one begins; the last one is all waiting.
    done = [logged[save[0]] + save[1] < logged[following[0]] for save, following in zip(saves, saves[1:])]
    first, *later = [(waited, f"{waited / copied:.2f}" if in_time else "in flight at the next save")
                     for (_, _, waited), in_time in zip(saves, done)]
    print(f"stall: first {first[0]:.2f} s, {first[1]} x a copy; later {', '.join(ratio for _, ratio in later)}")
    print(f"steps: in flight against the others {spread(step_ratios(saves, logged))}")
    print(f"write: beside training {size / statistics.median(total for _, total, _ in saves[:-1]) / 1e6:.0f} MB/s", flush=True)
    return size, saves[-1][1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--saves", type=int, default=5)
    parser.add_argument("--save_steps", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of each rank; as the launcher divides the cores if not given")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--disk")
    options = parser.parse_args()
    if options.saves < 3:
        parser.error("--saves: at least 3, a first, a later and a last one")
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "out")
        size, seconds = measure_run(fixture, output, options)
        first = direct_write_seconds(os.path.join(folder, "direct"), size)
        sides = {"directly": lambda: direct_write_seconds(os.path.join(folder, "direct"), size),
                 "to the commit": lambda: train(fixture, output, options, "--max_steps", 2, "--save_steps", 2)[0][-1][1]}
        taken, whole = turns.take(sides, options.rounds, "{:.2f} s".format)
        ours, direct = [seconds, *taken["to the commit"]], [first, *taken["directly"]]
        print(f"write: at the end {size / statistics.median(ours) / 1e6:.0f} MB/s to the commit, {size / statistics.median(direct) / 1e6:.0f} "
              f"MB/s directly: {spread([d / o for d, o in turns.pairs(direct, ours)])}")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
