#!/usr/bin/env python3
"""What attention that stays within documents costs: packed rows of short and of long documents, beside another build, by turns.

  packed_documents.py --other FOLDER_OF_A_BUILD [--documents short long] [--runs 3] [--steps 6]

A Llama of 512 numbers and 4 layers learns texts of 10 to 60 words (short) and of 200 to 600 (long), packed by --task sft into 2 rows of
1,024 tokens, float32, one rank, all threads. A run is measured whole, start included, in processor seconds.
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))
import fixtures
import turns

SHAPE = dict(model_type="llama", hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8,
             max_position_embeddings=1024, pad_token_id=0, bos_token_id=0, eos_token_id=0)
DOCUMENTS = {"short": (4000, 10, 60), "long": (400, 200, 600)}  # how many, words at least, words at most


def write_documents(path, name, words):
    count, least, most = DOCUMENTS[name]
    draw = random.Random(1)
    with open(path, "w") as file:
        for _ in range(count):
            length, begin = draw.randint(least, most), draw.randrange(len(words) - most)
            file.write(json.dumps({"text": " ".join(words[begin:begin + length])}) + "\n")


def measure(program, model, data, steps, scratch):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.Popen([program, "--task", "sft", "--packing", "true", "--config_name", model, "--tokenizer_name", model, "--train_file", data,
                            "--max_length", "1024", "--per_device_train_batch_size", "2", "--max_steps", str(steps), "--save_strategy", "no",
                            "--output_dir", os.path.join(scratch, "out"), "--overwrite_output_dir", "--use_cpu", "--do_train",
                            "--nproc_per_node", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    message = run.communicate()[1]
    if run.returncode:
        raise SystemExit(message[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(scratch):
    """(folder with config.json and tokenizer, words to make documents of)."""
    text = fixtures.sample_text(scratch, 1_500_000)
    model = fixtures.tokenizer(scratch, text)
    with open(os.path.join(model, "config.json"), "w") as file:
        json.dump(dict(SHAPE, vocab_size=4096), file)
    with open(text) as file:
        return model, file.read().split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--other", required=True)
    parser.add_argument("--documents", nargs="*", default=list(DOCUMENTS), choices=list(DOCUMENTS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    complete = True
    with tempfile.TemporaryDirectory(prefix="hftrain-packed-") as scratch:
        model, words = prepare(scratch)
        for name in turns.unless_interrupted(arguments.documents):
            data = os.path.join(scratch, name + ".jsonl")
            write_documents(data, name, words)
            sides = {"ours": fixtures.HFTRAIN, "other": os.path.join(arguments.other, "bin", "hftrain")}
            measures = {side: lambda program=program: measure(program, model, data, arguments.steps, scratch) for side, program in sides.items()}
            taken, whole = turns.take(measures, arguments.runs, "{:.1f} s".format, change_sides=True)
            print(f"{name}: {turns.sides_text(taken, '{:.1f} s'.format)}", flush=True)
            complete = complete and whole
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
