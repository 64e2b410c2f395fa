#!/usr/bin/env python3
"""Parzen estimators (tpe) against random draws: `hftrain search` of a tiny GPT-2 on made-up text, by seeds.

  search.py [--flags 2] [--seeds 10] [--first_seed 1] [--trials 20] [--max_steps 30] [--bar 8] [--keep FOLDER]

Each seed draws other values, and trains on other text from other weights; both methods have as many trials of one space, which has the
first --flags of these: learning rate and weight decay over orders of magnitude, warm-up, the second beta of AdamW. Prints the lowest eval_loss that each found
and ends with 1 when tpe's is the lower one in fewer seeds than --bar. An even pair counts for random. --keep leaves the searches'
search.json there, one file a search. HFTRAIN_BUILD_DIR names the build (default: build).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "apps"))
from runs import HFTRAIN, Fixture

FLAGS = ["learning_rate: {low: 1e-5, high: 1, log: true}", "weight_decay: {low: 1e-4, high: 10, log: true}",
         "warmup_steps: {low: 0, high: 20, step: 1}", "adam_beta2: {low: 0.8, high: 0.9999}"]


def search(fixture, output, method, seed, options):
    file = output + ".yaml"
    with open(file, "w") as written:
        space = "".join(f"  {flag}\n" for flag in FLAGS[:options.flags])
        written.write(f"space:\n{space}method: {method}\ntrials: {options.trials}\nseed: {seed}\n")
    flags = fixture.flags(output, "--max_steps", options.max_steps, *([] if options.flags > 2 else ["--warmup_steps", 10]), "--do_eval", "--validation_split_percentage", 10, "--max_eval_samples", 32,
                          "--save_strategy", "no", "--logging_steps", options.max_steps, "--seed", seed, ranks=1)
    at = flags.index("--learning_rate")
    del flags[at:at + 2]  # it is always drawn
    result = subprocess.run([HFTRAIN, "search", *flags, "--search", file, "--json"], env=fixture.environment, text=True, capture_output=True)
    if result.returncode != 0:
        raise SystemExit(f"{method}, seed {seed}: ended with {result.returncode}\n{result.stderr}")
    found = json.loads(result.stdout)
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        shutil.copy(os.path.join(output, "search.json"), os.path.join(options.keep, f"{method}-{seed}.json"))
    return found["best"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"flags": 2, "seeds": 10, "first_seed": 1, "trials": 20, "max_steps": 30, "bar": 8}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep")
    options = parser.parse_args()
    wins = 0
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
            fixture = Fixture(folder)
            fixture.text = os.path.join(folder, f"text-{seed}.txt")
            fixture.call("sample-data", "text", fixture.text, "--size", "100000", "--seed", str(seed))
            both = {method: pool.submit(search, fixture, os.path.join(folder, method), method, seed, options) for method in ("tpe", "random")}
            best = {method: future.result() for method, future in both.items()}
        wins += best["tpe"]["metric"] < best["random"]["metric"]
        print(f"seed {seed}: " + ", ".join(f"{method} {found['metric']:.5f} in trial {found['number']}" for method, found in best.items()), flush=True)
    print(f"tpe has the lower loss in {wins} of {options.seeds} seeds, {options.trials} trials each")
    return 0 if wins >= options.bar else 1


if __name__ == "__main__":
    sys.exit(main())
