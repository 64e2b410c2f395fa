"""Golden data of tests/tasks/sequence_to_sequence_test.cpp, made by the real `datasets`, `tokenizers` and `transformers`.

Writes tests/golden/tasks/sequence_to_sequence.json: for small files the batch that run_summarization or run_translation would make of
all their training rows, and of all their validation rows (the same file), in our own words after their rules; and the tokenizer.
Usage: python scripts/golden/sequence_to_sequence.py
"""

import json
import pathlib
import tempfile

import datasets
from text_classification import csv, lines, make_tokenizer
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerFast, default_data_collator

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tasks/sequence_to_sequence.json"
datasets.disable_progress_bars()
folder = pathlib.Path(tempfile.mkdtemp())

PAIRS = [("The mill by the river was old, and nobody went there in winter.", "An old mill."), ("x", "yy"),
         ("É ü 日本 🙂, with much else behind it that will be cut off somewhere", "🙂 ok"), ("short", "a summary that is longer than its text")]
LANGUAGES = [{"en": a, "de_x": "-", "ro": b} for a, b in PAIRS]

CASES = [
    {"name": "the first two columns", "file": "a.csv", "content": csv("body,head", PAIRS)},
    {"name": "columns by name, behind a prefix", "file": "b.jsonl", "text_column": "long", "summary_column": "brief", "source_prefix": "summarize: ",
     "content": lines([{"brief": b, "id": i, "long": a} for i, (a, b) in enumerate(PAIRS)])},
    {"name": "pairs without a text or a summary are left out", "file": "c.jsonl",
     "content": lines([{"text": a, "summary": b} for a, b in [*PAIRS, ("alone", ""), ("", "alone"), (None, "x"), ("x", None)]])},
    {"name": "cut texts", "file": "d.jsonl", "max_source_length": 20, "max_target_length": 7, "val_max_target_length": 11,
     "content": lines([{"text": a, "summary": b} for a, b in PAIRS])},
    {"name": "padded to the lengths", "file": "e.jsonl", "max_source_length": 24, "max_target_length": 10, "val_max_target_length": 14, "pad_to_max_length": True,
     "content": lines([{"text": a, "summary": b} for a, b in PAIRS])},
    {"name": "padding counts", "file": "f.jsonl", "max_source_length": 24, "max_target_length": 10, "ignore_pad_token_for_loss": False,
     "content": lines([{"text": a, "summary": b} for a, b in PAIRS])},
    {"name": "padding counts, to the lengths", "file": "g.jsonl", "max_source_length": 24, "max_target_length": 10, "ignore_pad_token_for_loss": False,
     "pad_to_max_length": True, "content": lines([{"text": a, "summary": b} for a, b in PAIRS])},
    {"name": "translation", "file": "h.json", "source_lang": "en", "target_lang": "ro_RO", "source_prefix": "to Romanian: ", "max_source_length": 40,
     "content": lines([{"id": i, "translation": both} for i, both in enumerate(LANGUAGES)])},
    {"name": "translation the other way, to the lengths", "file": "i.jsonl", "source_lang": "ro", "target_lang": "en", "max_source_length": 30, "max_target_length": 30,
     "pad_to_max_length": True, "content": lines([{"translation": both} for both in LANGUAGES])},
    {"name": "multiples of 8", "file": "j.jsonl", "fp16": True, "max_source_length": 21, "max_target_length": 30,
     "content": lines([{"text": a, "summary": b} for a, b in PAIRS])},
    {"name": "padded on the left", "file": "k.jsonl", "padding_side": "left", "max_source_length": 24,
     "content": lines([{"text": a, "summary": b} for a, b in PAIRS])},
]


def pairs_of(case):
    path = folder / case["file"]
    path.write_text(case["content"])
    kind = "csv" if case["file"].endswith("csv") else "json"
    rows = datasets.load_dataset(kind, data_files={"train": str(path)}, cache_dir=str(folder / "cache"))["train"]
    if "source_lang" in case:
        source, target = (case[key].split("_")[0] for key in ("source_lang", "target_lang"))
        return [(both[source], both[target]) for both in rows["translation"]]
    text, summary = case.get("text_column", rows.column_names[0]), case.get("summary_column", rows.column_names[1])
    return [(row[text], row[summary]) for row in rows if row[text] and row[summary]]


def batch_of(case, tokenizer, target_length):
    padding = "max_length" if case.get("pad_to_max_length") else False
    ignores = case.get("ignore_pad_token_for_loss", True)
    features = []
    for source, target in pairs_of(case):
        feature = tokenizer(case.get("source_prefix", "") + source, max_length=case.get("max_source_length", 1024), padding=padding, truncation=True)
        labels = tokenizer(text_target=target, max_length=target_length, padding=padding, truncation=True)["input_ids"]
        if padding and ignores:
            labels = [-100 if label == tokenizer.pad_token_id else label for label in labels]
        features.append({"input_ids": feature["input_ids"], "attention_mask": feature["attention_mask"], "labels": labels})
    collate = DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=-100 if ignores else tokenizer.pad_token_id,
                                     pad_to_multiple_of=8 if case.get("fp16") else None, return_tensors="pt")
    if padding and "source_lang" in case:
        collate = default_data_collator
    return {name: tensor.tolist() for name, tensor in collate(features).items()}


def main():
    raw = make_tokenizer()
    cases = []
    for case in CASES:
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                                            padding_side=case.get("padding_side", "right"), model_input_names=["input_ids", "attention_mask"])
        target = case.get("max_target_length", 128)
        cases.append(case | {"batch": batch_of(case, tokenizer, target),
                             "validation": batch_of(case, tokenizer, case.get("val_max_target_length", target))["labels"]})
    raw.no_truncation(), raw.no_padding()
    OUT.write_text(json.dumps({"tokenizer": json.loads(raw.to_str()), "cases": cases}, separators=(",", ":")) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
