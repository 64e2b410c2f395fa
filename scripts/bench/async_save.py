#!/usr/bin/env python3
"""Saving in the background, GPT-2 124M shape: how long training waits, what it costs the steps, how fast it writes.

  async_save.py [--ranks 1] [--rounds 3] [--disk FOLDER] [--width 768 --layers 12 --vocabulary 50257]

stall   seconds that training waited for a save after the first one (whose memory is new), against a plain copy of
        the same bytes from memory to memory
steps   median step while a save is in flight against the other steps of the same run, the waiting itself left out
write   bytes of a checkpoint by the time from its begin to its commit (copy, write, sync, rename, read back) when
        training is over and only the save is left, against writing and syncing one file of that size, by turns
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "apps"))
from runs import HFTRAIN, Workplace

SAVED = re.compile(r"checkpoint-(\d+) \(committed after ([0-9.e+-]+) s, training waited ([0-9.e+-]+) s\)")
PIECE = 8 << 20


def copy_seconds(size):
    """Best of three copies between touched memory."""
    source, target = bytearray(size), bytearray(size)
    source[::4096] = b"\1" * len(source[::4096])
    target[::4096] = b"\1" * len(target[::4096])
    view, seconds = memoryview(target), []
    for _ in range(3):
        begin = time.monotonic()
        view[:] = source
        seconds.append(time.monotonic() - begin)
    return min(seconds)


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


def train(place, output, options, *more):
    """Saves as (step, seconds to the commit, seconds waited), and the time at which each step was logged."""
    flags = place.flags(output, "--async_save", "--per_device_train_batch_size", options.batch, "--save_strategy", "steps",
                        "--save_total_limit", 1, "--overwrite_output_dir", *more, ranks=options.ranks)
    flags[flags.index("--config_overrides") + 1] = (
        f"n_layer={options.layers},n_head=12,n_embd={options.width},n_positions=64,vocab_size={options.vocabulary},"
        "bos_token_id=0,eos_token_id=0,embd_pdrop=0,attn_pdrop=0,resid_pdrop=0")
    environment = {**place.environment}
    environment.pop("OMP_NUM_THREADS")
    result = subprocess.run([HFTRAIN, *flags], env=environment, text=True, capture_output=True)
    if result.returncode != 0:
        raise SystemExit(result.stdout + result.stderr)
    saves = [(int(step), float(total), float(waited)) for step, total, waited in SAVED.findall(result.stderr)]
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        records = [json.loads(line) for line in file]
    return saves, {record["step"]: record["time"] for record in records if "loss" in record}


def step_times(saves, logged):
    """Steps while a save was in flight, and the others; the first steps and those that waited are left out."""
    busy, free = [], []
    for step in range(4, max(logged) + 1):
        if any(step == saved + 1 for saved, _, _ in saves):
            continue
        seconds = logged[step] - logged[step - 1]
        in_flight = any(logged[saved] < logged[step - 1] and logged[step] < logged[saved] + total
                        for saved, total, _ in saves if saved in logged)
        (busy if in_flight else free).append(seconds)
    return busy, free


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--save_steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        place = Workplace(folder)
        output = os.path.join(folder, "out")
        saves, logged = train(place, output, options, "--max_steps", options.steps, "--save_steps", options.save_steps)
        size = folder_bytes(os.path.join(output, f"checkpoint-{options.steps}"))
        busy, free = step_times(saves, logged)
        waited = statistics.median(wait for _, _, wait in saves[1:-1]) if len(saves) > 2 else saves[0][2]
        copied = copy_seconds(size)
        print(f"{options.ranks} rank(s), checkpoint of {size / 1e9:.2f} GB")
        print(f"stall: first {saves[0][2]:.2f} s, later {waited:.2f} s; a plain copy {copied:.2f} s: {waited / copied:.2f} x")
        if busy and free:
            ratio = statistics.median(busy) / statistics.median(free)
            print(f"steps: {statistics.median(busy):.3f} s in flight ({len(busy)}), {statistics.median(free):.3f} s else "
                  f"({len(free)}): {100 * (ratio - 1):+.1f} %")
        ours, direct = [], []
        for _ in range(options.rounds):
            direct.append(direct_write_seconds(os.path.join(folder, "direct"), size))
            saves, _ = train(place, output, options, "--max_steps", 2, "--save_steps", 2)
            ours.append(saves[-1][1])
        ours_rate, direct_rate = (size / statistics.median(seconds) / 1e6 for seconds in (ours, direct))
        print(f"write: {ours_rate:.0f} MB/s to the commit, {direct_rate:.0f} MB/s directly: "
              f"{100 * ours_rate / direct_rate:.0f} %")


main()
