#!/usr/bin/env python3
"""Speed of our asynchronous file I/O against fio with the same block size, queue depth, size and engine, in turn.

  nvme.py BUILD/bin/bench_async_file [--folder DIR] [--runs 15] [--mib 512] [--block-kib 1024] [--depth 8] [--engine ring]

Both go past the page cache over blocks that already exist. A disk shared with others is noisy: each pair runs within
seconds, its ratio is taken, and the median of the ratios is printed with their quartiles. fio is Debian's.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import turns

FIO_ENGINES = {"ring": "io_uring", "threads": "psync"}


def output_of(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def fio(options, folder, operation):
    threads = options.depth if options.engine == "threads" else 1
    command = ["fio", "--name=bench", f"--directory={folder}", "--filename=fio.data", f"--rw={operation}", "--direct=1",
               f"--bs={options.block_kib}k", f"--ioengine={FIO_ENGINES[options.engine]}", "--overwrite=1",
               f"--size={options.mib // threads}m", f"--iodepth={options.depth if threads == 1 else 1}",
               "--thread", f"--numjobs={threads}", f"--offset_increment={options.mib // threads}m", "--group_reporting",
               f"--filesize={options.mib}m", "--buffer_pattern=0x5a", "--scramble_buffers=0", "--output-format=json"]
    return json.loads(output_of(command))["jobs"][0][operation]["bw_bytes"] / 1e6


def ours(options, folder):
    command = [options.binary, folder, str(options.mib), str(options.block_kib), str(options.depth), options.engine]
    write, read, engine, way = output_of(command).split()
    if way != "direct":
        sys.exit(f"{folder} does not take O_DIRECT: name another --folder")
    return {"write": float(write), "read": float(read)}


def show(name, speeds):
    """`speeds`: {side: MB/s in turn}."""
    ratios = [a / b for a, b in turns.pairs(speeds["ours"], speeds["fio"])]
    quartiles = ""
    if len(ratios) > 1:
        low, _, high = statistics.quantiles(ratios, n=4)
        quartiles = f"; quartiles {low:.2f}-{high:.2f}"
    print(f"{name}: {turns.sides_text(speeds, '{:.0f} MB/s'.format)}{quartiles}", flush=True)


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--block-kib", type=int, default=1024)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--engine", choices=FIO_ENGINES, default="ring")
    options = parser.parse_args()
    if shutil.which("fio") is None:
        sys.exit("fio is missing: apt-get install fio")
    with tempfile.TemporaryDirectory(prefix=".bench-nvme-", dir=options.folder) as folder:
        fio(options, folder, "write")  # the file exists from here on
        sides = {"ours": lambda: ours(options, os.path.abspath(folder)),
                 "fio": lambda: {operation: fio(options, folder, operation) for operation in ("write", "read")}}
        taken, whole = turns.take(sides, options.runs, lambda speeds: f"write {speeds['write']:.0f}, read {speeds['read']:.0f} MB/s",
                                  change_sides=True)
    for operation in ("write", "read"):
        show(f"{operation} of {options.mib} MiB, {options.block_kib} KiB blocks, depth {options.depth}, {options.engine}",
             {side: [result[operation] for result in results] for side, results in taken.items()})
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
