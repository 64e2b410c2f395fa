"""Collectives of ranks on one machine: the back ends shm, gloo and mpi against Open MPI's own collectives, float32.

"openmpi" is a C program that calls MPI directly (collectives_mpi.c). Runs alternate, so that all see the same machine.
Per operation and size: the shortest time of all runs, the median of the runs' medians, and Open MPI's time divided by
that of shm and of mpi (shortest of both; in brackets the range of the ratio of medians, run by run). Bytes are those of
the whole tensor.
Usage: python3 scripts/bench/collectives.py <build>/bin/test_comm [--runs N] [--ranks 2] [--no-gloo]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import turns

MPI_SOURCE = pathlib.Path(__file__).with_name("collectives_mpi.c")


def run(command, **variables):
    """{(operation, bytes): (shortest, median)} in microseconds."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       **variables)
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    rows = [line.split() for line in result.stdout.splitlines()]
    return {(row[0], int(row[1])): (float(row[2]), float(row[3]))
            for row in rows if len(row) == 4 and row[0] in ("all_reduce", "reduce_scatter", "all_gather")}


def size_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--no-gloo", action="store_true")
    options = parser.parse_args()
    backends = ["shm", "mpi"] + ([] if options.no_gloo else ["gloo"])
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/collectives_mpi"
        subprocess.run(["mpicc", "-O3", "-o", program, str(MPI_SOURCE)], check=True)
        sides = {backend: lambda backend=backend: run([options.binary, "[.benchmark]"], BENCH_BACKEND=backend,
                                                      BENCH_RANKS=options.ranks) for backend in backends}
        sides["openmpi"] = lambda: run(["mpirun", "--oversubscribe", "-n", options.ranks, program])
        seen, whole = turns.take(sides, options.runs, lambda rows: f"{len(rows)} operations and sizes")
    seen = {name: results for name, results in seen.items() if results}
    print(f"{options.ranks} ranks, {options.runs} runs, load average {os.getloadavg()[0]:.1f}; microseconds")
    for operation, size in sorted({key for results in seen.values() for key in results[0]}):
        key = operation, size
        line = f"{operation:15}{size_text(size):>8}"
        for name, results in seen.items():
            shortest = min(result[key][0] for result in results)
            median = statistics.median(result[key][1] for result in results)
            line += f" | {name} {shortest:9.1f} median {median:9.1f}"
        for ours in ("shm", "mpi") if "openmpi" in seen else ():
            if ours not in seen:
                continue
            best = min(r[key][0] for r in seen["openmpi"]) / min(r[key][0] for r in seen[ours])
            ratios = [theirs[key][1] / own[key][1] for theirs, own in turns.pairs(seen["openmpi"], seen[ours])]
            line += f" | openmpi/{ours} {best:.2f} (medians {min(ratios):.2f}-{max(ratios):.2f})"
        print(line, flush=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
