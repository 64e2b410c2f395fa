#!/usr/bin/env python3
"""Seconds from the command to the end of the first step, against torchrun with the Hugging Face Trainer, alternating.

  startup.py [--ranks 1 2] [--runs 5]

Tiny GPT-2 on the CPU, warm caches: each side runs once before counting. Also times `--help`, `--dry_run` and a mistyped flag.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))
import fixtures
import turns


def flags(model, text, out, ranks):
    return ["--model_name_or_path", model, "--train_file", text, "--block_size", "128", "--max_steps", "3",
            "--logging_steps", "1", "--save_strategy", "no", "--output_dir", out, "--overwrite_output_dir", "--use_cpu",
            "--do_train", "--nproc_per_node", str(ranks)]


def ours(folder, model, text, ranks):
    out = os.path.join(folder, f"ours-{ranks}")
    begin = time.time()
    fixtures.run([fixtures.HFTRAIN] + flags(model, text, out, ranks))
    return next(r["time"] for r in fixtures.our_records(out) if r["step"] == 1) - begin


def peer(folder, model, text, ranks):
    out = os.path.join(folder, "peer.json")
    launcher = [sys.executable] if ranks == 1 else [
        sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    begin = time.time()
    fixtures.run(launcher + [fixtures.PEER, "--model", model, "--train_file", text, "--block_size", "128", "--out", out,
                             "--", f"output_dir={folder}/peer", "use_cpu=true", "max_steps=3", "save_strategy=no"],
                 env={**os.environ, "OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // ranks))})
    # The peer counts from its own interpreter's start; the launcher before it counts too.
    ended = time.time()
    with open(out) as file:
        result = json.load(file)
    return min(ended - begin, result["first_step_unix"] - begin)


def front(arguments):
    begin = time.perf_counter()
    subprocess.run([fixtures.HFTRAIN] + arguments, capture_output=True)
    return time.perf_counter() - begin


def describe(name, seconds):
    print(f"{name}: median {statistics.median(seconds) * 1000:.1f} ms, min {min(seconds) * 1000:.1f}, max "
          f"{max(seconds) * 1000:.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    whole = True
    with tempfile.TemporaryDirectory() as scratch:
        text = fixtures.sample_text(scratch)
        model = fixtures.model_folder(scratch, "tiny-gpt2", fixtures.tokenizer(scratch, text))
        plan = flags(model, text, os.path.join(scratch, "plan"), 1)
        for name, arguments in (("--help", ["--help"]), ("--dry_run", plan + ["--dry_run"]),
                                ("mistyped flag", plan + ["--lerning_rate", "1"])):
            describe(name, [front(arguments) for _ in range(4 * options.runs)])
        for ranks in turns.unless_interrupted(options.ranks):
            seconds, all_measured = turns.take({"ours": lambda: ours(scratch, model, text, ranks),
                                                "peer": lambda: peer(scratch, model, text, ranks)}, options.runs,
                                               "{:.2f} s".format, warm_up=1)
            whole &= all_measured
            print(f"{ranks} rank(s), command to end of first step: {turns.sides_text(seconds, '{:.2f} s'.format)}", flush=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
