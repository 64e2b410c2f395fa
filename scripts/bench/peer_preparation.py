#!/usr/bin/env python3
"""The peer of preparation.py: `datasets` doing in our own words what the example script of a task does before it trains.

  peer_preparation.py TASK TOKENIZER DATA CACHE      [seconds by the clock, of the processor, rows] as JSON

Counted from load_dataset to the end of the last map(), batched, without the time of the imports. Of pictures the scripts prepare nothing but their
list; as ours looks into each whether it can be read, they are decoded here, too.
"""
import json
import os
import sys
import time

import datasets
import transformers

LENGTH, TARGET, WINDOW, STRIDE = 128, 64, 384, 128


def blocks(rows):
    joined = {key: [x for row in values for x in row] for key, values in rows.items()}
    whole = len(joined["input_ids"]) // LENGTH * LENGTH
    return {key: [values[at:at + LENGTH] for at in range(0, whole, LENGTH)] for key, values in joined.items()}


def tagged(tokenizer, numbers, rows):
    """Only the first token of a word has its tag."""
    features = tokenizer(rows["tokens"], truncation=True, is_split_into_words=True)
    features["labels"] = []
    for number, tags in enumerate(rows["ner_tags"]):
        words = features.word_ids(number)
        features["labels"].append([numbers[tags[word]] if word is not None and word != before else -100 for before, word in zip([None, *words], words)])
    return features


def windows(tokenizer, rows):
    """The tokens in which an answer begins and ends; those of windows without it stand at the first token."""
    features = tokenizer([text.lstrip() for text in rows["question"]], rows["context"], truncation="only_second", max_length=WINDOW, stride=STRIDE,
                         return_overflowing_tokens=True, return_offsets_mapping=True)
    features["start_positions"], features["end_positions"] = [], []
    for number, (row, offsets) in enumerate(zip(features.pop("overflow_to_sample_mapping"), features.pop("offset_mapping"))):
        answers, sides = rows["answers"][row], features.sequence_ids(number)
        begin = answers["answer_start"][0] if answers["answer_start"] else -1
        end = begin + len(answers["text"][0]) if begin >= 0 else -1
        context = [at for at, side in enumerate(sides) if side == 1]
        first, last = 0, 0
        if begin >= 0 and offsets[context[0]][0] <= begin and offsets[context[-1]][1] >= end:
            first = max(at for at in context if offsets[at][0] <= begin)
            last = min(at for at in context if offsets[at][1] >= end)
        features["start_positions"].append(first)
        features["end_positions"].append(last)
    return features


def summaries(tokenizer, rows):
    features = tokenizer(rows["text"], max_length=LENGTH, truncation=True)
    features["labels"] = tokenizer(text_target=rows["summary"], max_length=TARGET, truncation=True)["input_ids"]
    return features


def prepared(task, tokenizer, rows):
    if task == "image-classification":
        for row in rows:
            row["image"].load()
        return rows
    if task in ("clm", "mlm"):
        options = {"return_special_tokens_mask": True} if task == "mlm" else {}
        return rows.map(lambda r: tokenizer(r["text"], **options), batched=True, remove_columns=["text"]).map(blocks, batched=True)
    if task in ("text-classification", "pairs"):
        names = ["sentence1", "sentence2"] if task == "pairs" else ["text"]
        return rows.map(lambda r: tokenizer(*(r[name] for name in names), max_length=LENGTH, truncation=True), batched=True)
    if task == "token-classification":
        names = sorted({tag for row in rows["ner_tags"] for tag in row})
        numbers = {name: number for number, name in enumerate(names)}
        return rows.map(lambda r: tagged(tokenizer, numbers, r), batched=True)
    made = {"question-answering": windows, "summarization": summaries}[task]
    return rows.map(lambda r: made(tokenizer, r), batched=True, remove_columns=rows.column_names)


def main():
    task, folder, data, cache = sys.argv[1:]
    datasets.disable_progress_bars()
    tokenizer = None if task == "image-classification" else transformers.AutoTokenizer.from_pretrained(folder)
    start, cpu = time.perf_counter(), time.process_time()
    kind = "imagefolder" if os.path.isdir(data) else "text" if data.endswith(".txt") else "json"
    files = {"data_dir": data} if kind == "imagefolder" else {"data_files": data}
    rows = prepared(task, tokenizer, datasets.load_dataset(kind, **files, cache_dir=cache)["train"])
    print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, len(rows)]))


if __name__ == "__main__":
    main()
