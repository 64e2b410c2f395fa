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

FIO_ENGINES = {"ring": "io_uring", "threads": "psync"}


def fio(options, folder, operation):
    threads = options.depth if options.engine == "threads" else 1
    command = ["fio", "--name=bench", f"--directory={folder}", "--filename=fio.data", f"--rw={operation}", "--direct=1",
               f"--bs={options.block_kib}k", f"--ioengine={FIO_ENGINES[options.engine]}", "--overwrite=1",
               f"--size={options.mib // threads}m", f"--iodepth={options.depth if threads == 1 else 1}",
               "--thread", f"--numjobs={threads}", f"--offset_increment={options.mib // threads}m", "--group_reporting",
               f"--filesize={options.mib}m", "--buffer_pattern=0x5a", "--scramble_buffers=0", "--output-format=json"]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result["jobs"][0][operation]["bw_bytes"] / 1e6


def ours(options, folder):
    command = [options.binary, folder, str(options.mib), str(options.block_kib), str(options.depth), options.engine]
    write, read, engine, way = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if way != "direct":
        sys.exit(f"{folder} does not take O_DIRECT: name another --folder")
    return {"write": float(write), "read": float(read)}


def show(name, mine, theirs):
    ratios = [a / b for a, b in zip(mine, theirs)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{name}: ours {statistics.median(mine):.0f} MB/s ({min(mine):.0f}-{max(mine):.0f}), fio "
          f"{statistics.median(theirs):.0f} ({min(theirs):.0f}-{max(theirs):.0f}), ratio {middle:.2f} "
          f"(quartiles {low:.2f}-{high:.2f}, {len(ratios)} pairs)", flush=True)


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
        mine, theirs = {"write": [], "read": []}, {"write": [], "read": []}
        for run in range(options.runs):
            first = fio if run % 2 else ours
            for side in (first, ours if first is fio else fio):
                if side is ours:
                    for operation, speed in ours(options, os.path.abspath(folder)).items():
                        mine[operation].append(speed)
                else:
                    for operation in ("write", "read"):
                        theirs[operation].append(fio(options, folder, operation))
        for operation in ("write", "read"):
            show(f"{operation} of {options.mib} MiB, {options.block_kib} KiB blocks, depth {options.depth}, "
                 f"{options.engine}", mine[operation], theirs[operation])


if __name__ == "__main__":
    main()
