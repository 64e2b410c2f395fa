#!/usr/bin/env python3
"""Resident memory and step time of GPT-2 124M on one CPU rank, optimizer state in memory against on NVMe, in turn.

  nvme_offload.py BUILD/bin/bench_nvme_offload [--folder DIR] [--runs 3] [--steps 3] [--block 128] [--batch 2]

"saved" is the difference of resident memory after the last step, and of the peak, as a share of the optimizer's bytes
(two moments of 124,439,808 float32 numbers). The losses of both must be equal to the last digit.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import turns

STATE_MB = 2 * 4 * 124_439_808 / 1e6
COLUMNS = ("resident", "peak", "step", "optimizer")


def run(options, folder):
    command = [options.binary, folder, str(options.block), str(options.batch), str(options.steps)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    *numbers, loss = result.stdout.split()
    return {**dict(zip(COLUMNS, map(float, numbers))), "loss": loss}


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--batch", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=".bench-nvme-", dir=options.folder) as folder:
        sides, whole = turns.take({"memory": lambda: run(options, "-"), "NVMe": lambda: run(options, os.path.abspath(folder))},
                                  options.runs, lambda result: f"resident {result['resident']:.0f} MB, step {result['step']:.2f} s")
    losses = {result["loss"] for results in sides.values() for result in results}
    middle = {side: {key: statistics.median(result[key] for result in results) for key in COLUMNS}
              for side, results in sides.items() if results}
    for side, values in middle.items():
        print(f"{side}: resident {values['resident']:.0f} MB, peak {values['peak']:.0f} MB, step {values['step']:.2f} s, "
              f"of it optimizer {values['optimizer']:.2f} s")
    for key in ("resident", "peak") if len(middle) == 2 else ():
        saved = middle["memory"][key] - middle["NVMe"][key]
        print(f"{key}: saved {saved:.0f} MB, {100 * saved / STATE_MB:.1f} % of the optimizer's {STATE_MB:.0f} MB")
    print(f"losses equal: {'yes' if len(losses) == 1 else 'no: ' + ', '.join(sorted(losses))}")
    return 0 if whole and len(losses) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
