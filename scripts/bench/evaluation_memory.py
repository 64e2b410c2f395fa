#!/usr/bin/env python3
"""Peak memory of an evaluation with a vocabulary of 50,257 over more and more examples, beside what the plan expects: it stays flat.

  evaluation_memory.py [--bin build/bin/hftrain] [--tasks clm mlm qa tags classes texts written] [--examples 500 2000 10000] [--length 32] [--batch 8]

What the process has before it evaluates (LibTorch, most of it, and the model) is told by itself; the plan's evaluation is to be compared with
what is added to it.
"""
import argparse
import json
import os
import subprocess
import tempfile

VOCABULARY = 50257
DECODER = ("gpt2", f"n_layer=1,n_head=2,n_embd=32,n_positions=64,vocab_size={VOCABULARY},bos_token_id=0,eos_token_id=0,pad_token_id=0")
ENCODER = ("bert", f"num_hidden_layers=1,num_attention_heads=2,hidden_size=32,intermediate_size=128,max_position_embeddings=64,vocab_size={VOCABULARY}")
BOTH = ("t5", f"d_model=32,d_kv=16,d_ff=128,num_layers=1,num_heads=2,decoder_start_token_id=0,pad_token_id=0,eos_token_id=1,vocab_size={VOCABULARY}")
TASKS = {  # name: (task, model, kind of rows, kind of tokenizer, flag that says how long an example is, flags besides)
    "clm": ("clm", DECODER, "text", "bpe", "block_size", []),
    "mlm": ("mlm", ENCODER, "text", "wordpiece", "max_seq_length", []),
    "qa": ("question-answering", ENCODER, "qa", "wordpiece", "max_seq_length", ["--doc_stride", 8]),
    "tags": ("token-classification", ENCODER, "tags", "wordpiece", "max_seq_length", []),
    "classes": ("text-classification", ENCODER, "classification", "wordpiece", "max_seq_length", []),
    "texts": ("summarization", BOTH, "seq2seq", "unigram", "max_source_length", ["--max_target_length", 16]),
    "written": ("summarization", BOTH, "seq2seq", "unigram", "max_source_length", ["--max_target_length", 16, "--predict_with_generate"]),
}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = {**os.environ, "HFTRAIN_CACHE": os.path.join(folder, "cache")}
        self.text = os.path.join(folder, "text.txt")
        self.call("sample-data", "text", self.text, "--size", 8 * options.length * max(options.examples))

    def call(self, *arguments):
        return subprocess.run([self.options.bin, *map(str, arguments)], env=self.environment, check=True, capture_output=True, text=True).stdout

    def tokenizer(self, kind):
        path = os.path.join(self.folder, kind)
        if not os.path.exists(path):
            self.call("tokenizer", "train", "--kind", kind, "--vocab_size", 512, "--files", self.text, "--output", path)
        return path

    def rows(self, kind):
        """Sample rows, again and again until there are enough."""
        if kind == "text":
            return self.text
        folder, path = os.path.join(self.folder, "rows-" + kind), os.path.join(self.folder, kind + ".jsonl")
        if not os.path.exists(path):
            self.call("sample-data", kind, folder, "--size", 400000)
            with open(os.path.join(folder, "train.jsonl")) as file:
                rows = [json.loads(line) for line in file]
            with open(path, "w") as file:
                for number in range(max(self.options.examples)):
                    row = rows[number % len(rows)]
                    file.write(json.dumps(row | {"id": str(number)} if "id" in row else row) + "\n")
        return path

    def evaluate(self, name, examples):
        task, (family, overrides), kind, tokenizer, length, more = TASKS[name]
        output = os.path.join(self.folder, f"{name}-{examples}")
        flags = ["--task", task, "--model_type", family, "--config_overrides", overrides, "--tokenizer_name", self.tokenizer(tokenizer),
                 "--train_file", self.rows(kind), "--validation_file", self.rows(kind), "--" + length, self.options.length, "--do_eval", "--use_cpu",
                 "--per_device_eval_batch_size", self.options.batch, "--max_eval_samples", examples, "--output_dir", output, *more]
        self.call("train", *flags)
        memory = json.loads(self.call("plan", "--json", *flags, "--overwrite_output_dir"))["memory_per_rank"]
        with open(os.path.join(output, "hftrain", "summary.json")) as file:
            rank = json.load(file)["ranks"][0]
        with open(os.path.join(output, "eval_results.json")) as file:
            found = json.load(file)
        metric = next(key for key in ("eval_accuracy", "eval_f1", "eval_rouge1", "eval_loss") if key in found)
        peak, loaded, planned = (number / 2**20 for number in (rank["peak_host_bytes"], rank["peak_host_bytes_loading"], memory["evaluation"]))
        print(f"{name:>7} {found['eval_samples']:>6} samples: peak {peak:.1f} MiB, {peak - loaded:.1f} of it by evaluating, planned {planned:.1f}; "
              f"{metric} {found[metric]:.5f}, {found['eval_samples_per_second']:.0f} samples/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin/hftrain")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hftrain-evaluation-") as folder:
        bench = Bench(options, folder)
        for name in options.tasks:
            for examples in options.examples:
                bench.evaluate(name, examples)


main()
