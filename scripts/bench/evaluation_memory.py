#!/usr/bin/env python3
"""Peak memory of an evaluation with a vocabulary of 50,257 over more and more examples: it stays flat.

  evaluation_memory.py [--bin build/bin/hftrain] [--examples 500 2000 10000] [--block_size 32] [--batch 8]
"""
import argparse
import json
import os
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/bin/hftrain")
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--block_size", type=int, default=32)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hftrain-evaluation-") as folder:
        environment = {**os.environ, "HFTRAIN_CACHE": os.path.join(folder, "cache")}

        def call(*arguments):
            return subprocess.run([options.bin, *map(str, arguments)], env=environment, check=True, capture_output=True, text=True).stdout

        text, tokenizer = os.path.join(folder, "text.txt"), os.path.join(folder, "tokenizer")
        call("sample-data", "text", text, "--size", 8 * options.block_size * max(options.examples))
        call("tokenizer", "train", "--kind", "bpe", "--vocab_size", 512, "--files", text, "--output", tokenizer)
        for examples in options.examples:
            output = os.path.join(folder, str(examples))
            flags = ["--model_type", "gpt2", "--config_overrides",
                     "n_layer=1,n_head=2,n_embd=32,n_positions=64,vocab_size=50257,bos_token_id=0,eos_token_id=0", "--tokenizer_name",
                     tokenizer, "--train_file", text, "--validation_file", text, "--block_size", options.block_size, "--do_eval",
                     "--use_cpu", "--per_device_eval_batch_size", options.batch, "--max_eval_samples", examples, "--output_dir", output]
            call("train", *flags)
            with open(os.path.join(output, "hftrain", "summary.json")) as file:
                rank = json.load(file)["ranks"][0]
            with open(os.path.join(output, "eval_results.json")) as file:
                found = json.load(file)
            print(f"{found['eval_samples']:>7} examples: peak {rank['peak_host_bytes'] / 2**20:.1f} MiB; eval_accuracy {found['eval_accuracy']:.5f}, "
                  f"{found['eval_samples_per_second']:.0f} examples/s", flush=True)


main()
