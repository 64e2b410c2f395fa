"""How long a launcher takes to bring ranks of one machine to a barrier: ours against torchrun, the same ranks under both.

The ranks are build/bin/barrier_worker: a small program that connects to rank 0, waits for all others and leaves; it loads
neither LibTorch nor Python, so that what is measured is the launcher. Under torchrun (--no-python) it is started as it is
under ours (the launcher library in build/bin/dummy_launcher, which supervises as hftrain does: pipes, logs, process
descriptors). Time counts from starting the launcher until the last rank has passed the barrier, and until the launcher has
ended. torchrun's share includes starting Python and importing torch, which every user of it waits for.
With --python torchrun also starts ranks that are Python programs with a TCPStore barrier, as its users' ranks are.
Runs alternate. Usage: python3 scripts/bench/barrier.py --torchrun PATH [--ranks 64] [--runs 5] [--python]
"""
import argparse
import glob
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import turns

BUILD = pathlib.Path(os.environ.get("HFTRAIN_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build")) / "bin"
PYTHON_RANK = """
import os, time
from datetime import timedelta
from torch.distributed import TCPStore
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
store = TCPStore("127.0.0.1", int(os.environ["BARRIER_PORT"]), world, rank == 0, timedelta(seconds=600))
store.add("here", 1)
while store.add("here", 0) < world:
    time.sleep(0.001)
with open(os.environ["BARRIER_FILE"] + f".{rank}", "w") as file:
    file.write(str(time.monotonic()))
store.add("left", 1)
while rank == 0 and store.add("left", 0) < world:
    time.sleep(0.001)
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def measure(command, ranks, folder, **variables):
    """Seconds until the last rank was through, and until the launcher had ended."""
    marks = os.path.join(folder, "rank")
    for name in glob.glob(marks + ".*"):
        os.remove(name)
    begin = time.monotonic()
    result = subprocess.run(command, env=dict(os.environ, BARRIER_FILE=marks, OMP_NUM_THREADS="1", **variables),
                            capture_output=True, text=True)
    end = time.monotonic()
    names = glob.glob(marks + ".*")
    if result.returncode != 0 or len(names) != ranks:
        sys.exit(f"{' '.join(map(str, command))[:200]} failed with {result.returncode}, {len(names)} ranks met:\n"
                 f"{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return max(float(pathlib.Path(name).read_text()) for name in names) - begin, end - begin


def ours(ranks, folder):
    logs = os.path.join(folder, "logs")
    shutil.rmtree(logs, ignore_errors=True)
    return measure([BUILD / "dummy_launcher", BUILD / "barrier_worker", logs, "1", *["meet"] * ranks], ranks, folder)


def torchrun(program, ranks, folder, rank_command):
    flags = ["--nnodes", "1", "--nproc_per_node", str(ranks), "--master_addr", "127.0.0.1", "--master_port",
             str(free_port())]
    return measure([program, *flags, *rank_command], ranks, folder, BARRIER_PORT=str(free_port()))


def text(times):
    if not times:
        return "not measured"
    return f"median {statistics.median(times):.3f} s ({min(times):.3f} to {max(times):.3f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torchrun", required=True)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--python", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "rank.py")
        pathlib.Path(script).write_text(PYTHON_RANK)
        peers = {"torchrun, the same ranks": ["--no-python", BUILD / "barrier_worker"]}
        if options.python:
            peers["torchrun, Python ranks"] = [script]
        sides = {"ours": lambda: ours(options.ranks, folder)}
        for name, command in peers.items():
            sides[name] = lambda command=command: torchrun(options.torchrun, options.ranks, folder, command)
        seen, whole = turns.take(sides, options.runs, lambda times: f"barrier {times[0]:.3f} s, ended {times[1]:.3f} s")
    print(f"{options.ranks} ranks, {options.runs} runs, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    for name, times in seen.items():
        print(f"{name:26} barrier {text([t[0] for t in times])}; ended {text([t[1] for t in times])}")
        ratios = [peer[0] / own[0] for own, peer in turns.pairs(seen["ours"], times)]
        if name != "ours" and ratios:
            print(f"{'':26} {statistics.median(ratios):.1f} times ours, {min(ratios):.1f} to {max(ratios):.1f} run by run")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
