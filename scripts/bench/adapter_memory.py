#!/usr/bin/env python3
"""Peak memory of a rank that trains an adapter, beside what the plan expects, and beside the training of every weight.

  adapter_memory.py [--bin build/bin/hftrain] [--cases NAME …] [--steps 6] [--layers 12] [--width 768] [--batch 4] [--length 128]

The bar is the plan's figure and 5 %, the program itself being 138 MiB of it as in the plan's line on the host. The model has the shape of GPT-2 124M unless told otherwise; it is made first, by a step of training.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = 138  # MiB, kWorkingProgramBytes
ADAPTER = ["--use_peft"]
ALL_LINEAR = ["--use_peft", "--lora_target_modules", "all-linear", "--lora_r", "64"]
CASES = {  # name: (ranks, flags)
    "every weight": (1, []),
    "every weight, bf16": (1, ["--bf16"]),
    "adapter": (1, ADAPTER),
    "adapter on every projection, r 64": (1, ALL_LINEAR),
    "adapter, bf16": (1, ADAPTER + ["--bf16"]),
    "adapter, base in bf16": (1, ADAPTER + ["--bf16", "--dtype", "bfloat16"]),
    "adapter, recomputed": (1, ADAPTER + ["--gradient_checkpointing"]),
    "adapter, accumulated": (1, ADAPTER + ["--gradient_accumulation_steps", "2"]),
    "adapter, 2 ranks": (2, ADAPTER),
    "adapter, ZeRO 3 on 2 ranks": (2, ADAPTER + ["--fsdp", "full_shard auto_wrap"]),
    "adapter, evaluated and saved": (1, ADAPTER + ["--do_eval", "--eval_strategy", "steps", "--eval_steps", "2", "--save_steps", "2"]),
}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = {**os.environ, "HFTRAIN_CACHE": os.path.join(folder, "cache")}
        self.text, self.base = os.path.join(folder, "text.txt"), os.path.join(folder, "base")
        tokenizer = os.path.join(folder, "tokenizer")
        self.call("sample-data", "text", self.text, "--size", 400_000)
        self.call("tokenizer", "train", "--kind", "bpe", "--vocab_size", 4096, "--files", self.text, "--output", tokenizer)
        shape = f"n_layer={options.layers},n_head={options.width // 64},n_embd={options.width},vocab_size=50257,n_positions={options.length}"
        self.call("train", "--model_type", "gpt2", "--config_overrides", shape, "--tokenizer_name", tokenizer, "--train_file", self.text,
                  "--block_size", 16, "--per_device_train_batch_size", 1, "--max_steps", 1, "--do_train", "--use_cpu", "--output_dir", self.base)

    def call(self, *arguments):
        done = subprocess.run([self.options.bin, *map(str, arguments)], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}\nended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def measure(self, name):
        ranks, flags = CASES[name]
        options, output = self.options, os.path.join(self.folder, name.replace(" ", "-").replace(",", ""))
        words = ["--model_name_or_path", self.base, "--train_file", self.text, "--validation_file", self.text, "--max_eval_samples", 16,
                 "--block_size", options.length, "--per_device_train_batch_size", options.batch, "--per_device_eval_batch_size", options.batch,
                 "--max_steps", options.steps, "--do_train", "--use_cpu", "--nproc_per_node", ranks, "--save_strategy", "no",
                 "--output_dir", output, "--overwrite_output_dir", *flags]  # `plan` after the run, too
        if "--save_steps" in flags:
            at = words.index("--save_strategy")
            del words[at:at + 2]
        self.call("train", *words)
        planned = json.loads(self.call("plan", "--json", *words))["memory_per_rank"]["total"] / 2**20 + PROGRAM
        with open(os.path.join(output, "hftrain", "summary.json")) as file:
            peak = max(rank["peak_host_bytes"] for rank in json.load(file)["ranks"]) / 2**20
        print(f"{name:<36} peak {peak:7.0f} MiB, planned {planned:7.0f}, {peak / planned:.3f} of it", flush=True)
        return peak <= 1.05 * planned


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin/hftrain")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    for name, value in (("steps", 6), ("layers", 12), ("width", 768), ("batch", 4), ("length", 128)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hftrain-adapters-") as folder:
        bench = Bench(options, folder)
        within = [bench.measure(name) for name in options.cases]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
