#!/usr/bin/env python3
"""Tokens per second against the Hugging Face Trainer, alternating runs on this machine.

  training.py [--shapes tiny-gpt2 tiny-llama gpt2-124m] [--ranks 1 2] [--runs 5]

Same folder, same text, same batches, fp32, no dropout, same threads (all cores divided by the ranks). Steps up to the
fifth are warm-up. Prints one line per shape and rank count: both medians and the ratio of each pair (ours / theirs).
"""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))
import fixtures
import turns

WARM_UP = 5
LOADS = {  # block size, batch per rank, steps in all
    "tiny-gpt2": (128, 8, 65),
    "tiny-llama": (128, 8, 65),
    "gpt2-124m": (128, 2, 20),
}


def speed(times, tokens_per_step, steps_between):
    return tokens_per_step * steps_between / (times[-1] - times[0])


def ours(folder, model, text, ranks, block, batch, steps, threads):
    out = os.path.join(folder, "ours")
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", model, "--train_file", text, "--block_size", str(block),
                  "--per_device_train_batch_size", str(batch), "--max_steps", str(steps), "--logging_steps", str(WARM_UP),
                  "--save_strategy", "no", "--output_dir", out, "--overwrite_output_dir", "--use_cpu", "--do_train",
                  "--nproc_per_node", str(ranks)])
    records = [r for r in fixtures.our_records(out) if "loss" in r]
    run = [r for r in records if r["step"] >= WARM_UP]
    return speed([run[0]["time"], run[-1]["time"]], ranks * batch * block, run[-1]["step"] - run[0]["step"])


def peer(folder, model, text, ranks, block, batch, steps, threads):
    out = os.path.join(folder, "peer.json")
    launcher = [sys.executable] if ranks == 1 else [
        sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    fixtures.run(launcher + [fixtures.PEER, "--model", model, "--train_file", text, "--block_size", str(block),
                             "--threads", str(threads), "--out", out, "--", f"output_dir={folder}/peer", "use_cpu=true",
                             f"per_device_train_batch_size={batch}", f"max_steps={steps}",
                             f"logging_steps={WARM_UP}", "save_strategy=no"],
                 env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    with open(out) as file:
        times = json.load(file)["step_seconds"]
    return speed([times[WARM_UP - 1], times[-1]], ranks * batch * block, len(times) - WARM_UP)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="*", default=list(LOADS))
    parser.add_argument("--ranks", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    whole = True
    with tempfile.TemporaryDirectory() as scratch:
        text = fixtures.sample_text(scratch, 1_500_000)
        for shape in turns.unless_interrupted(options.shapes):
            vocabulary = fixtures.SHAPES[shape]["vocab_size"]
            model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, text, min(vocabulary, 4096)))
            block, batch, steps = LOADS[shape]
            for ranks in turns.unless_interrupted(options.ranks):
                arguments = (scratch, model, text, ranks, block, batch, steps, max(1, cores // ranks))
                speeds, all_measured = turns.take({"ours": lambda: ours(*arguments), "Trainer": lambda: peer(*arguments)},
                                                  options.runs, "{:.0f} tokens/s".format)
                whole &= all_measured
                print(f"{shape} {ranks} rank(s): {turns.sides_text(speeds, '{:.0f} tokens/s'.format)}", flush=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
