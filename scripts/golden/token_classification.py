"""Golden data of tests/tasks/token_classification_test.cpp, made by the real `datasets`, `tokenizers` and `transformers`.

Writes tests/golden/tasks/token_classification.json: for small files the columns that run_ner would take, its labels, the features
of every row (ids, type ids, labels) and a padded batch of all rows, in our own words after its rules; and the tokenizers.
Usage: python scripts/golden/token_classification.py
"""

import json
import pathlib
import tempfile

import datasets
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, BertConfig, DataCollatorForTokenClassification, GPT2Config

from text_classification import make_tokenizer as byte_level

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tasks/token_classification.json"
datasets.disable_progress_bars()
folder = pathlib.Path(tempfile.mkdtemp())

SENTENCES = [
    (["Ada", "Lovelace", "sings", "in", "Paris", "."], ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]),
    (["Bo", "ran", "to", "Lima"], ["B-PER", "O", "O", "B-LOC"]),
    (["unbelievable", "weather", "-", "said", "Ada"], ["B-MISC", "I-MISC", "O", "O", "B-PER"]),
    (["x"], ["O"]),
    (["日本", "café", "🙂", "don't", ""], ["B-LOC", "O", "O", "O", "O"]),
    (["Lovelace"] * 9, ["B-PER"] + ["I-PER"] * 8),
]


def rows(words, tags, order=None, **more):
    """Lines of JSON, their keys in that order."""
    result = []
    for i, (texts, labels) in enumerate(SENTENCES):
        row = {words: texts, tags: labels, **{key: values[i] for key, values in more.items()}}
        result.append(json.dumps({key: row[key] for key in order or row}) + "\n")
    return "".join(result)


MODEL = ["O", "B-PER", "I-PER", "B-MISC", "I-MISC", "B-LOC"]
CASES = [
    {"name": "tokens and ner_tags", "content": rows("tokens", "ner_tags", id=[str(i) for i in range(6)], order=["id", "ner_tags", "tokens"])},
    {"name": "labels on all tokens", "label_all_tokens": True, "content": rows("tokens", "ner_tags")},
    {"name": "the first two columns", "content": rows("words", "tags")},
    {"name": "a task names its column", "task_name": "POS", "content": rows("tokens", "pos_tags", ner_tags=[t for _, t in SENTENCES], order=["tokens", "ner_tags", "pos_tags"])},
    {"name": "columns by flag", "text_column_name": "b", "label_column_name": "c",
     "content": rows("b", "c", a=[t for _, t in SENTENCES], order=["a", "b", "c"])},
    {"name": "the model's order is kept", "model_labels": MODEL, "label_all_tokens": True, "content": rows("tokens", "ner_tags")},
    {"name": "other labels of the model do not count", "model_labels": MODEL[:-1] + ["B-ORG"], "content": rows("tokens", "ner_tags")},
    {"name": "cut and padded to a length", "max_seq_length": 8, "pad_to_max_length": True, "label_all_tokens": True, "content": rows("tokens", "ner_tags")},
    {"name": "padded on the left", "pads_on_left": True, "max_seq_length": 12, "content": rows("tokens", "ner_tags")},
    {"name": "words behind spaces", "tokenizer": "spaced", "label_all_tokens": True, "content": rows("tokens", "ner_tags")},
    {"name": "words as they are", "tokenizer": "bytes", "content": rows("tokens", "ner_tags")},
]


def word_pieces():
    letters = sorted(set("".join(w for words, _ in SENTENCES for w in words)))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *("##" + c for c in letters if c.isalpha() and c.isascii()),
              "in", "un", "##believ", "##able", "weather", "Ada", "Love", "##lace", "Paris", "ran"]
    tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(dict.fromkeys(tokens))}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def tokenizer_folders():
    """name -> (tokenizer.json, tokenizer_config.json, add_prefix_space as run_ner gives it)"""
    marks = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    found = {}
    for name, raw, config, model in (("pieces", word_pieces(), {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}, BertConfig()),
                                     ("spaced", byte_level(), {"tokenizer_class": "GPT2Tokenizer"}, GPT2Config()),
                                     ("bytes", byte_level(), {"tokenizer_class": "PreTrainedTokenizerFast"}, GPT2Config())):
        place = folder / name
        place.mkdir()
        raw.save(str(place / "tokenizer.json"))
        (place / "tokenizer_config.json").write_text(json.dumps(marks | config))
        model.save_pretrained(place)
        found[name] = (json.loads(raw.to_str()), marks | config, model.model_type == "gpt2")
    return found


def result_of(case, number, folders):
    path = folder / f"{number}.json"
    path.write_text(case["content"])
    data = datasets.load_dataset("json", data_files={"train": str(path)}, cache_dir=str(folder / "cache"))["train"]
    words = case.get("text_column_name") or ("tokens" if "tokens" in data.column_names else data.column_names[0])
    usual = case.get("task_name", "ner").lower() + "_tags"
    tags = case.get("label_column_name") or (usual if usual in data.column_names else data.column_names[1])
    labels = sorted({tag for row in data[tags] for tag in row})
    if sorted(case.get("model_labels", [])) == labels:
        labels = case["model_labels"]
    inner = [labels.index("I-" + t[2:]) if t.startswith("B-") and "I-" + t[2:] in labels else i for i, t in enumerate(labels)]
    name = case.get("tokenizer", "pieces")
    tokenizer = AutoTokenizer.from_pretrained(folder / name, use_fast=True, **({"add_prefix_space": True} if folders[name][2] else {}))
    tokenizer.padding_side = "left" if case.get("pads_on_left") else "right"
    pad = "max_length" if case.get("pad_to_max_length") else False
    features = []
    for row in data:
        encoded = tokenizer(row[words], padding=pad, truncation=True, max_length=case.get("max_seq_length"), is_split_into_words=True)
        aligned, before = [], None
        for word in encoded.word_ids():
            number = None if word is None else labels.index(row[tags][word])
            aligned.append(-100 if word is None else number if word != before else inner[number] if case.get("label_all_tokens") else -100)
            before = word
        features.append({**encoded, "labels": aligned})
    batch = DataCollatorForTokenClassification(tokenizer)([dict(feature) for feature in features])
    return {"labels": labels, "batch": {key: tensor.tolist() for key, tensor in batch.items()}}


def main():
    folders = tokenizer_folders()
    cases = [case | result_of(case, i, folders) for i, case in enumerate(CASES)]
    tokenizers = {name: {"tokenizer": raw, "config": config} for name, (raw, config, _) in folders.items()}
    OUT.write_text(json.dumps({"tokenizers": tokenizers, "cases": cases}, separators=(",", ":")) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
