"""Golden data of tests/tasks/masked_lm_test.cpp, made by the real `datasets`, `tokenizers` and `transformers`.

Writes tests/golden/tasks/masked_lm.json: for small files the samples that run_mlm would make (ids, special tokens), and for each
token whether masking whole words would draw for it, as DataCollatorForLanguageModeling tells from the offsets.
Usage: python scripts/golden/masked_lm.py
"""

import json
import pathlib
import tempfile

import datasets
import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tasks/masked_lm.json"
datasets.disable_progress_bars()
folder = pathlib.Path(tempfile.mkdtemp())

LINES = ["The weather was unbelievable, they said.", "", "   ", "\t\u3000\u00a0", "Don't-stop: nothing is (really) over!", "x",
         "Caf\u00e9 \u65e5\u672c\u8a9e \U0001f642 end", "[MASK] and [SEP] stand here", "a  b   c", "weathering weathers"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def word_pieces():
    letters = sorted(set("".join(LINES)) - set(" \t\u3000\u00a0"))
    tokens = [*SPECIAL, *letters, *("##" + c for c in letters if c.isalpha()), "weather", "##ing", "The", "un", "##believ", "##able", "they"]
    tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(dict.fromkeys(tokens))}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def byte_pairs():
    vocab = {token: i for i, token in enumerate([*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    merges = [("t", "h"), ("e", "r"), ("i", "n"), ("\u0120", "w")]
    for a, b in merges:
        vocab[a + b] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2), add_prefix_space=False)
    return tokenizer


CASES = [
    {"name": "blocks", "file": "a.txt", "max_seq_length": 16},
    {"name": "blocks of bytes", "file": "b.txt", "max_seq_length": 24, "tokenizer": "bytes"},
    {"name": "lines", "file": "c.txt", "max_seq_length": 12, "line_by_line": True},
    {"name": "lines of bytes", "file": "d.jsonl", "max_seq_length": 20, "line_by_line": True, "tokenizer": "bytes"},
    {"name": "records", "file": "e.jsonl", "max_seq_length": 7},
]


def samples_of(case, tokenizer):
    path = folder / case["file"]
    text = "".join(line + "\n" for line in LINES)
    if case["file"].endswith("jsonl"):
        text = "".join(json.dumps({"id": i, "text": line}) + "\n" for i, line in enumerate(LINES))
    path.write_text(text)
    rows = datasets.load_dataset("text" if case["file"].endswith("txt") else "json", data_files={"train": str(path)},
                                 cache_dir=str(folder / "cache"))["train"]["text"]
    length = case["max_seq_length"]
    more = {"return_special_tokens_mask": True, "return_offsets_mapping": True}
    if case.get("line_by_line"):
        lines = [line for line in rows if len(line) > 0 and not line.isspace()]
        encoded = tokenizer(lines, truncation=True, max_length=length, **more)
    else:
        encoded = tokenizer(list(rows), **more)
        joined = {key: [x for row in encoded[key] for x in row] for key in encoded}
        whole = len(joined["input_ids"]) // length * length
        encoded = {key: [values[i:i + length] for i in range(0, whole, length)] for key, values in joined.items()}
    result = []
    for ids, special, offsets in zip(encoded["input_ids"], encoded["special_tokens_mask"], encoded["offset_mapping"]):
        _, never = DataCollatorForLanguageModeling._calc_word_ids_and_prob_mask(np.array([offsets]), np.array([special]))
        result.append({"input_ids": ids, "special_tokens_mask": special, "draws": [int(not n) for n in never[0]]})
    return {"content": text, "samples": result}


def main():
    raw = {"pieces": word_pieces(), "bytes": byte_pairs()}
    for tokenizer in raw.values():
        tokenizer.add_special_tokens(SPECIAL)
    fast = {name: PreTrainedTokenizerFast(tokenizer_object=one, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                          mask_token="[MASK]") for name, one in raw.items()}
    cases = [case | samples_of(case, fast[case.get("tokenizer", "pieces")]) for case in CASES]
    tokenizers = {name: json.loads(one.to_str()) for name, one in raw.items()}
    OUT.write_text(json.dumps({"tokenizers": tokenizers, "cases": cases}, separators=(",", ":")) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes, samples {[len(c['samples']) for c in cases]}")


if __name__ == "__main__":
    main()
