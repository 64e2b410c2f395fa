#!/usr/bin/env python3
"""Whether two builds of hftrain train the same, to the last bit: what a change that must not change training is held to.

  same_bits.py OLD_BIN NEW_BIN [--cases NAME…] [--keep FOLDER] [--flags="FLAGS OF EVERY RUN"] [--added KEY…]

OLD_BIN and NEW_BIN hold hftrain and its worker (build/bin). Each case is run with both, on the same made-up text, each side with
a cache of its own. Compared are the token blocks, every file of the output folder and of its checkpoints, the records of the
log in their order, and the lines of the terminal without what is measured (times, speeds, memory). Ends with 1 at a difference.
Records of a build that knows more metrics differ by these: --flags="--prediction_loss_only" leaves them out on both sides; --added names
keys that the new build writes beside those of the old one.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# What a run measures or is named by; the rest of a record is what it computed.
MEASURED = re.compile(r"_(runtime|per_second|seconds|mem_\w+)$|^(time|timestamp|seconds|start_time|end_time)$")
ADDED = set()  # --added
# What a build says that does not know a flag of --flags yet.
UNKNOWN_FLAG = re.compile(r"^note: \S+ has no effect here\n(  .*\n)*", re.MULTILINE)
# Files that say how a run was asked for, by which program, and when.
ABOUT_THE_RUN = {"arguments.yaml", "plan.json", "summary.json", "summary.before.json", "lock", "manifest.json"}

FAMILIES = {
    "gpt2": "n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0",
    "llama": "num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,hidden_size=32,intermediate_size=64,"
             "vocab_size=512,bos_token_id=0,eos_token_id=0",
    "qwen3": "num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,head_dim=8,hidden_size=32,intermediate_size=64,"
             "vocab_size=512,bos_token_id=0,eos_token_id=0,tie_word_embeddings=true",
    "mistral": "num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,head_dim=8,hidden_size=32,intermediate_size=64,"
               "vocab_size=512,bos_token_id=0,eos_token_id=0,sliding_window=16",
}

CASES = {  # name: (family, ranks, flags)
    "gpt2-one-rank": ("gpt2", 1, []),  # with its dropout of 0.1
    "gpt2-two-ranks": ("gpt2", 2, ["--gradient_accumulation_steps", "2", "--weight_decay", "0.1"]),
    "llama-two-ranks": ("llama", 2, ["--lr_scheduler_type", "cosine", "--warmup_steps", "2"]),
    "qwen3-one-rank": ("qwen3", 1, ["--label_smoothing_factor", "0.1"]),
    "mistral-one-rank": ("mistral", 1, ["--neftune_noise_alpha", "5"]),
    "zero1": ("llama", 2, ["--sharded_ddp", "simple"]),
    "zero2": ("gpt2", 2, ["--sharded_ddp", "zero_dp_2", "--gradient_accumulation_steps", "2"]),
    "zero3-offload": ("gpt2", 2, ["--sharded_ddp", "zero_dp_3 offload"]),
    "full-shard": ("llama", 2, ["--fsdp", "full_shard"]),
    "full-shard-four": ("gpt2", 4, ["--fsdp", "full_shard", "--gradient_checkpointing"]),
    "recompute": ("gpt2", 1, ["--gradient_checkpointing"]),
    "bf16": ("llama", 2, ["--bf16"]),
    "bf16-recompute": ("gpt2", 1, ["--bf16", "--gradient_checkpointing"]),
    "adafactor": ("llama", 1, ["--optim", "adafactor"]),
}


class Side:
    """One build, in a folder of its own: paths on its command lines are relative, so both sides' lines are equal."""

    def __init__(self, programs, folder, flags):
        self.flags = flags
        self.program = str(pathlib.Path(programs).resolve() / "hftrain")
        self.folder = folder
        folder.mkdir(parents=True)
        self.environment = {**os.environ, "HFTRAIN_CACHE": "cache", "OMP_NUM_THREADS": "1"}

    def call(self, *arguments):
        result = subprocess.run([self.program, *arguments], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0:
            raise SystemExit(f"{self.program} {' '.join(arguments)}\nended with {result.returncode}\n{result.stdout}")
        return result.stdout.replace(str(self.folder.resolve()), "FOLDER")

    def prepare(self):
        self.call("sample-data", "text", "text.txt", "--size", "100000", "--seed", "3")
        self.call("tokenizer", "train", "--kind", "bpe", "--vocab_size", "512", "--files", "text.txt", "--output", "tokenizer")

    def run(self, name):
        family, ranks, more = CASES[name]
        line = ["--model_type", family, "--config_overrides", FAMILIES[family], "--tokenizer_name", "tokenizer",
                "--train_file", "text.txt", "--validation_split_percentage", "5", "--block_size", "64", "--use_cpu",
                "--do_train", "--do_eval", "--nproc_per_node", str(ranks), "--output_dir", name, "--learning_rate", "1e-3",
                "--per_device_train_batch_size", "2", "--logging_steps", "1", "--eval_strategy", "steps", "--eval_steps", "3",
                "--save_steps", "4", "--seed", "11", *more, *self.flags]
        first = self.call(*line, "--max_steps", "6")
        return first + self.call(*line, "--max_steps", "10", "--resume_from_checkpoint", f"{name}/checkpoint-4")


def without_measured(value):
    if isinstance(value, dict):
        return {key: without_measured(item) for key, item in value.items() if not MEASURED.search(key) and key not in ADDED}
    return [without_measured(item) for item in value] if isinstance(value, list) else value


def content(path, side):
    """What must be equal of a file of a side; bytes where nothing in it is measured."""
    if path.suffix not in (".jsonl", ".json", ".md"):
        return path.read_bytes()
    text = path.read_text().replace(str(side.resolve()), "FOLDER")
    if path.suffix == ".md":
        return without_figures(text)
    if path.suffix == ".json":
        return without_measured(json.loads(text))
    # An attempt that goes on with a file begins with an empty line, and memory is looked at when it is time.
    records = [json.loads(line) for line in text.splitlines() if line]
    return [without_measured(record) for record in records if record.get("event") != "sample"]


def without_figures(text):
    """The words of lines; of numbers only that there was one. What a run computed is compared in its files."""
    text = UNKNOWN_FLAG.sub("", text)
    lines = (re.sub(r" *[0-9][0-9.,:e+-]*", " N", line) for line in re.split(r"[\r\n]+", text))
    return [line for line in lines if not re.search(r"^still waiting for|it/s|tok(en)?s?/s|\bETA\b|%\|", line)]


def files_of(folder):
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in ABOUT_THE_RUN and "/ranks/" not in str(path)}


def differences(old, new, name):
    """Names of what is not equal in the folders of that name of two sides."""
    mine, theirs = files_of(old / name), files_of(new / name)
    return [f"{name}: only in one" for name in sorted(mine.keys() ^ theirs.keys())] + [
        f"{name}: not equal" for name in sorted(mine.keys() & theirs.keys()) if content(mine[name], old) != content(theirs[name], new)]


def token_blocks(side):
    """Contents of the cache's token files; the names of its entries are hashes of how they were made."""
    return sorted(path.read_bytes() for path in (side.folder / "cache").rglob("*") if path.suffix in (".bin", ".idx"))


def compare(old, new, name):
    lines = [without_figures(side.run(name)) for side in (old, new)]
    found = differences(old.folder, new.folder, name)
    if lines[0] != lines[1]:
        changed = [pair for pair in zip(*lines) if pair[0] != pair[1]]
        found.append(f"the terminal's lines: {changed[0] if changed else 'one has more'}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old_bin")
    parser.add_argument("new_bin")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--flags", type=shlex.split, default=[], help="more flags of every run")
    parser.add_argument("--added", nargs="+", default=[], metavar="KEY")
    parser.add_argument("--keep", help="work in this new folder and leave it")
    arguments = parser.parse_args()
    ADDED.update(arguments.added)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(arguments.keep or scratch)
        old, new = (Side(programs, folder / name, arguments.flags)
                    for name, programs in (("old", arguments.old_bin), ("new", arguments.new_bin)))
        old.prepare(), new.prepare()
        different = 0
        for name in arguments.cases:
            found = compare(old, new, name)
            different += bool(found)
            print(f"{name}: {'; '.join(found) if found else 'the same'}", flush=True)
        if token_blocks(old) != token_blocks(new):
            different += 1
            print("the token blocks are not equal")
    print(f"{len(arguments.cases) - different} of {len(arguments.cases)} the same")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
