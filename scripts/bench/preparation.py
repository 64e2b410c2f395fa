#!/usr/bin/env python3
"""Seconds from text files to samples, against the `datasets` package doing what the example scripts do, by turns, one thread each.

  preparation.py [--tasks clm mlm summarization text-classification] [--megabytes 4] [--turns 5]

Ours is the whole `hftrain prepare` with an empty cache, its start included. Theirs is counted from load_dataset to the end of the last
map(), batched, without the time of their imports, with their caches empty. Both the clock and processor time are shown.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "parity"))
import fixtures
import turns

TASKS = {"clm": "bpe", "mlm": "wordpiece", "summarization": "unigram", "text-classification": "wordpiece"}
MODELS = {"clm": "gpt2", "mlm": "bert", "summarization": "t5", "text-classification": "bert"}
LENGTH, TARGET = 128, 64


def theirs(task, folder, data, cache):
    """Run in a process of its own."""
    import datasets
    import transformers
    datasets.disable_progress_bars()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def blocks(rows):
        joined = {key: [x for row in values for x in row] for key, values in rows.items()}
        whole = len(joined["input_ids"]) // LENGTH * LENGTH
        return {key: [values[at:at + LENGTH] for at in range(0, whole, LENGTH)] for key, values in joined.items()}

    def pair(rows):
        features = tokenizer(rows["text"], max_length=LENGTH, truncation=True)
        features["labels"] = tokenizer(text_target=rows["summary"], max_length=TARGET, truncation=True)["input_ids"]
        return features

    start, cpu = time.perf_counter(), time.process_time()
    rows = datasets.load_dataset("text" if data.endswith(".txt") else "json", data_files=data, cache_dir=cache)["train"]
    if task in ("clm", "mlm"):
        options = {"return_special_tokens_mask": True} if task == "mlm" else {}
        rows = rows.map(lambda r: tokenizer(r["text"], **options), batched=True, remove_columns=["text"]).map(blocks, batched=True)
    elif task == "summarization":
        rows = rows.map(pair, batched=True, remove_columns=rows.column_names)
    else:
        rows = rows.map(lambda r: tokenizer(r["text"], max_length=LENGTH, truncation=True), batched=True)
    print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, len(rows)]))


def processor_time():
    """Of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def ours(task, folder, data, cache):
    begin, start = processor_time(), time.perf_counter()
    command = [fixtures.HFTRAIN, "prepare", "--do_train", "--use_cpu", "--config_name", folder, "--tokenizer_name", folder, "--train_file", data,
               "--output_dir", os.path.join(cache, "out"), "--preprocessing_num_workers", "1"]
    command += {"clm": ["--block_size", str(LENGTH)], "mlm": ["--task", task, "--max_seq_length", str(LENGTH)],
                "summarization": ["--task", task, "--max_source_length", str(LENGTH), "--max_target_length", str(TARGET)],
                "text-classification": ["--task", task, "--max_seq_length", str(LENGTH), "--no_pad_to_max_length"]}[task]
    fixtures.run(command, env={**os.environ, "HFTRAIN_CACHE": cache})
    return time.perf_counter() - start, processor_time() - begin


def write_rows(path, text, task):
    with open(path, "w") as file:
        for number, at in enumerate(range(0, len(text) - 900, 900)):
            row = {"text": text[at:at + 700]} | ({"summary": text[at + 700:at + 900]} if task == "summarization" else {"label": number % 2})
            file.write(json.dumps(row) + "\n")
    return path


def prepare(scratch, task, size):
    from transformers import AutoConfig
    text = fixtures.sample_text(scratch, size)
    folder, data = os.path.join(scratch, "model-" + task), text
    fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", TASKS[task], "--vocab_size", "4000", "--files", text, "--output", folder])
    AutoConfig.for_model(MODELS[task], vocab_size=4096, **({"bos_token_id": 0, "eos_token_id": 0} if task == "clm" else {})).save_pretrained(folder)
    if task in ("summarization", "text-classification"):
        with open(text) as file:
            data = write_rows(os.path.join(scratch, task + ".jsonl"), " ".join(file.read().split()), task)
    return folder, data


def measure(task, options, scratch):
    folder, data = prepare(scratch, task, options.megabytes * 1_000_000)
    megabytes = os.path.getsize(data) / 1e6
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

    def fresh(side):
        cache = tempfile.mkdtemp(dir=scratch)
        try:
            if side == "ours":
                return ours(task, folder, data, cache)
            result = fixtures.run([sys.executable, __file__, "--theirs", task, folder, data, cache], env=environment)
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
    if len(sys.argv) > 2 and sys.argv[1] == "--theirs":
        return theirs(*sys.argv[2:])
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
