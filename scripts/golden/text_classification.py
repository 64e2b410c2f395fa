"""Golden data of tests/tasks/text_classification_test.cpp, made by the real `datasets`, `tokenizers` and `transformers`.

Writes tests/golden/tasks/text_classification.json: for small files the columns that run_glue would take, its labels, the
features of every row (ids, type ids, label) and a padded batch of the first rows, in our own words after its rules; and the
tokenizer that made them. Label names are strings, as transformers 5 wants them in config.json.
Usage: python scripts/golden/text_classification.py
"""

import json
import pathlib
import tempfile

import datasets
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, DataCollatorWithPadding, PreTrainedTokenizerFast, default_data_collator

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tasks/text_classification.json"
datasets.disable_progress_bars()
folder = pathlib.Path(tempfile.mkdtemp())

GLUE_KEYS = {"cola": ("sentence", None), "mrpc": ("sentence1", "sentence2"), "qnli": ("question", "sentence"),
             "stsb": ("sentence1", "sentence2")}
PAIRS = [("A man is eating.", "He eats a pear, slowly and with much noise, all day."), ("x", "y"), ("", "only here"),
         ("This is a long first text of many words, longer than the second one.", "short"), ("é ü 日本", "🙂 ok")]


def csv(header, rows):
    return header + "\n" + "".join(",".join('"%s"' % str(v) if isinstance(v, str) else str(v) for v in row) + "\n" for row in rows)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


CASES = [
    {"name": "named pair, words for labels", "file": "a.csv",
     "content": csv("sentence2,label,sentence1", [(b, ["no", "yes", "maybe"][i % 3], a) for i, (a, b) in enumerate(PAIRS)])},
    {"name": "one column beside the label", "file": "b.csv", "content": csv("label,body", [(i % 2, a or "z") for i, (a, b) in enumerate(PAIRS)])},
    {"name": "whole numbers are sorted by value", "file": "c.jsonl",
     "content": lines([{"first": a, "second": b, "label": [10, 9, -3, 10, 2][i]} for i, (a, b) in enumerate(PAIRS)])},
    {"name": "strings of digits are sorted as strings", "file": "d.jsonl",
     "content": lines([{"text": a, "label": ["10", "9", "2", "10", "9"][i]} for i, (a, b) in enumerate(PAIRS)])},
    {"name": "numbers with a fraction are a regression", "file": "e.csv",
     "content": csv("sentence1,sentence2,label", [(a, b, [0.5, 1, -2.25, 3, 4][i]) for i, (a, b) in enumerate(PAIRS)])},
    {"name": "a GLUE task names its columns", "task_name": "qnli", "file": "f.jsonl",
     "content": lines([{"idx": i, "question": a, "sentence": b, "label": ["entailment", "not_entailment"][i % 2]} for i, (a, b) in enumerate(PAIRS)])},
    {"name": "stsb is a regression whatever its numbers", "task_name": "stsb", "file": "g.csv",
     "content": csv("sentence1,sentence2,label", [(a or "-", b, i) for i, (a, b) in enumerate(PAIRS)])},
    {"name": "short sequences, padded to the longest", "file": "h.jsonl", "max_seq_length": 12, "pad_to_max_length": False,
     "content": lines([{"sentence1": a, "sentence2": b, "label": ["b", "a"][i % 2]} for i, (a, b) in enumerate(PAIRS)])},
    {"name": "one text, padded to the longest", "task_name": "cola", "file": "i.jsonl", "max_seq_length": 20, "pad_to_max_length": False,
     "content": lines([{"sentence": a, "label": i % 2} for i, (a, b) in enumerate(PAIRS)])},
]


def make_tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate(["[PAD]", "[CLS]", "[SEP]", *alphabet])}
    merges = [(a, b) for a, b in ("th", "he", "in", "on", "ea", "lo") if a in vocab and b in vocab]
    for a, b in merges:
        vocab[a + b] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer


def result_of(case, tokenizer):
    path = folder / case["file"]
    path.write_text(case["content"])
    kind = "csv" if case["file"].endswith("csv") else "json"
    rows = datasets.load_dataset(kind, data_files={"train": str(path)}, cache_dir=str(folder / "cache"))["train"]
    if case.get("task_name"):
        regression = case["task_name"] == "stsb"
        first, second = GLUE_KEYS[case["task_name"]]
    else:
        regression = rows.features["label"].dtype in ("float32", "float64")
        others = [name for name in rows.column_names if name != "label"]
        first, second = ("sentence1", "sentence2") if {"sentence1", "sentence2"} <= set(others) else (others + [None])[:2]
    labels = [] if regression else sorted(rows.unique("label"))
    number = {label: i for i, label in enumerate(labels)}
    pad, length = case.get("pad_to_max_length", True), case.get("max_seq_length", 128)
    features = []
    for row in rows:
        texts = (row[first] or "",) if second is None else (row[first] or "", row[second] or "")
        feature = dict(tokenizer(*texts, padding="max_length" if pad else False, max_length=length, truncation=True))
        feature["label"] = float(row["label"]) if regression else number[row["label"]]
        features.append(feature)
    collate = default_data_collator if pad else DataCollatorWithPadding(tokenizer)
    batch = collate([dict(feature) for feature in features])
    config = BertConfig(num_labels=1 if regression else len(labels))
    if not regression:
        config.label2id = {str(label): i for i, label in enumerate(labels)}
        config.id2label = {i: str(label) for i, label in enumerate(labels)}
    written = json.loads(config.to_json_string())
    return {"columns": [first, second], "features": features, "batch": {name: tensor.tolist() for name, tensor in batch.items()},
            "config": {name: written.get(name) for name in ("id2label", "label2id")}}


def main():
    raw = make_tokenizer()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                                        model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    cases = [case | result_of(case, tokenizer) for case in CASES]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"tokenizer": json.loads(raw.to_str()), "cases": cases}, separators=(",", ":")) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
