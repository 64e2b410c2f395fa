#!/usr/bin/env python3
"""Seconds from files to samples, against the `datasets` package doing what the example scripts do, by turns, one thread each.

  preparation.py [--tasks clm mlm summarization text-classification pairs token-classification question-answering image-classification]
                 [--megabytes 4] [--turns 5]

Ours is the whole `hftrain prepare` with an empty cache, its start included; theirs is peer_preparation.py, their caches empty. Both the clock
and processor time are shown, in megabytes of files a second.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "parity"))
import fixtures
import turns

LENGTH, TARGET, WINDOW, STRIDE = 128, 64, 384, 128  # tokens; as in peer_preparation.py
TASKS = {  # name: (kind of tokenizer, family, sample data in the place of text, flags of ours)
    "clm": ("bpe", "gpt2", None, ["--task", "clm", "--block_size", LENGTH]),
    "mlm": ("wordpiece", "bert", None, ["--task", "mlm", "--max_seq_length", LENGTH]),
    "summarization": ("unigram", "t5", None, ["--task", "summarization", "--max_source_length", LENGTH, "--max_target_length", TARGET]),
    "text-classification": ("wordpiece", "bert", None, ["--task", "text-classification", "--max_seq_length", LENGTH, "--no_pad_to_max_length"]),
    "pairs": ("wordpiece", "bert", "pairs", ["--task", "text-classification", "--max_seq_length", LENGTH, "--no_pad_to_max_length"]),
    "token-classification": ("wordpiece", "bert", "tags", ["--task", "token-classification"]),
    "question-answering": ("wordpiece", "bert", "qa", ["--task", "question-answering", "--max_seq_length", WINDOW, "--doc_stride", STRIDE,
                                                       "--no_pad_to_max_length"]),
    "image-classification": (None, "vit", "images", ["--task", "image-classification"]),
}


def processor_time():
    """Of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def ours(task, folder, data, cache):
    begin, start = processor_time(), time.perf_counter()
    command = [fixtures.HFTRAIN, "prepare", "--do_train", "--use_cpu", "--config_name", folder, *map(str, TASKS[task][3]), "--output_dir",
               os.path.join(cache, "out"), "--preprocessing_num_workers", "1"]
    command += ["--train_dir", data] if os.path.isdir(data) else ["--tokenizer_name", folder, "--train_file", data]
    fixtures.run(command, env={**os.environ, "HFTRAIN_CACHE": cache})
    return time.perf_counter() - start, processor_time() - begin


def write_rows(path, text, task):
    with open(path, "w") as file:
        for number, at in enumerate(range(0, len(text) - 900, 900)):
            row = {"text": text[at:at + 700]} | ({"summary": text[at + 700:at + 900]} if task == "summarization" else {"label": number % 2})
            file.write(json.dumps(row) + "\n")
    return path


def data_of(scratch, task, text, size):
    made = TASKS[task][2]
    if made:
        place = os.path.join(scratch, made)
        fixtures.run([fixtures.HFTRAIN, "sample-data", made, place, "--size", str(size)])
        return os.path.join(place, "train" if made == "images" else "train.jsonl")
    if task in ("clm", "mlm"):
        return text
    with open(text) as file:
        return write_rows(os.path.join(scratch, task + ".jsonl"), " ".join(file.read().split()), task)


def prepare(scratch, task, size):
    from transformers import AutoConfig
    kind, family, _, _ = TASKS[task]
    text, folder = fixtures.sample_text(scratch, size), os.path.join(scratch, "model-" + task)
    if kind:
        fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", kind, "--vocab_size", "4000", "--files", text, "--output", folder])
    more = {"bos_token_id": 0, "eos_token_id": 0} if task == "clm" else {}
    AutoConfig.for_model(family, **(more | {"vocab_size": 4096} if kind else {})).save_pretrained(folder)
    return folder, data_of(scratch, task, text, size)


def bytes_of(data):
    if not os.path.isdir(data):
        return os.path.getsize(data)
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(data) for name in names)


def measure(task, options, scratch):
    folder, data = prepare(scratch, task, options.megabytes * 1_000_000)
    megabytes = bytes_of(data) / 1e6
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    peer = os.path.join(HERE, "peer_preparation.py")

    def fresh(side):
        cache = tempfile.mkdtemp(dir=scratch)
        try:
            if side == "ours":
                return ours(task, folder, data, cache)
            result = fixtures.run([sys.executable, peer, task, folder, data, cache], env=environment)
            return tuple(json.loads(result.stdout.splitlines()[-1])[:2])
        finally:
            shutil.rmtree(cache)

    taken, whole = turns.take({side: lambda side=side: fresh(side) for side in ("ours", "datasets")}, options.turns,
                              lambda t: f"{megabytes / t[0]:.2f} MB/s, {megabytes / t[1]:.2f} per processor second", change_sides=True)
    for at, what in enumerate(("by the clock", "by processor time")):
        print(f"{task}, {megabytes:.1f} MB, {what}: "
              f"{turns.sides_text({n: [megabytes / t[at] for t in all] for n, all in taken.items()}, '{:.2f} MB/s'.format)}", flush=True)
    return whole


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--megabytes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hftrain-preparation-") as scratch:
        results = [measure(task, options, scratch) for task in options.tasks]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
