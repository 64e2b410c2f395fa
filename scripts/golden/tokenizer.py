#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/: small trained tokenizers of every pipeline, and what the PyPI `tokenizers` package makes
of nasty texts with them. One folder per pipeline with tokenizer.json and cases.jsonl; training/ holds a text and the
vocabulary that the package's BpeTrainer learns from it.

    python3 scripts/golden/tokenizer.py [NAME…]     all of them, or the folders of these pipelines alone

Where a trained alphabet is cut at characters that are equally frequent, the package keeps others in every run.
"""
import json
import os
import random
import shutil
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

import tokenizer_inputs
from tokenizer_parts import PARTS
from tokenizer_pipelines import BERT_TOKENS, NASTY, PIPELINES, SPLITS, corpus, random_text, record

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "tokenizer")

# What large random corpora have found, once it is mended: characters in front of everything that come from nowhere or vanish.
FOUND = {"t5": ["\u000b\t\b\u0004 a \u1f68 e", "?\uac00e\u00b2<pad>\u00bd[MASK]\u0f73\u093c<pad>\u0301\u3300  \u0915\ud807\udf02\u4e2d\u3300\u30ab\uff76\u302ee e"],
         "xlm_roberta": ["\u0301\u200b\u0301[MASK] \u3300\u30fc  a q\u0130", "\u0301\u0e33<pad> ##\uff76[MASK] e"]}


def write_training():
    folder = os.path.join(TARGET, "training")
    os.makedirs(folder)
    text = os.path.join(folder, "text.txt")
    with open(text, "w", encoding="utf-8", newline="") as out:
        out.write("\r\n\n".join(corpus(60) + ["aaaa aaa ababab abcabcabc \u00a0x\u3000 y"] * 3) + "last line")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train([text], trainers.BpeTrainer(vocab_size=700, min_frequency=2, special_tokens=["<|endoftext|>", "<pad>"],
                                                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    with open(os.path.join(folder, "expected.json"), "w") as out:
        out.write(tokenizer.to_str())


def write_word_training():
    """What the package's other trainers learn from the same text. The WordPiece trainer gives characters inside of words ids
    in an order that changes from run to run, so that they are named as special tokens here."""
    folder = os.path.join(TARGET, "training")
    text = os.path.join(folder, "text.txt")
    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    with open(text, encoding="utf-8", newline="") as file:
        words = [word for line in file for word, _ in pieces.pre_tokenizer.pre_tokenize_str(pieces.normalizer.normalize_str(line))]
    inside = ["##" + c for c in sorted({c for word in words for c in word[1:]})]
    pieces.train([text], trainers.WordPieceTrainer(vocab_size=900, min_frequency=2, special_tokens=list(BERT_TOKENS) + inside,
                                                   show_progress=False))
    level = Tokenizer(models.WordLevel(unk_token="<unk>"))
    level.normalizer = normalizers.NFC()
    level.pre_tokenizer = pre_tokenizers.Whitespace()
    level.train([text], trainers.WordLevelTrainer(vocab_size=150, min_frequency=2, special_tokens=["<pad>", "<s>", "</s>", "<unk>"],
                                                  show_progress=False))
    for name, tokenizer in {"word_piece": pieces, "word_level": level}.items():
        with open(os.path.join(folder, name + ".json"), "w") as out:
            out.write(tokenizer.to_str())


def main():
    names = sys.argv[1:]
    if not names:
        shutil.rmtree(TARGET, ignore_errors=True)
        write_training()
    if not names or "training" in names:
        write_word_training()
    for name, make in {**PIPELINES, **SPLITS, **PARTS}.items():
        if names and name not in names:
            continue
        tokenizer = make()
        folder = os.path.join(TARGET, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with open(os.path.join(folder, "tokenizer.json"), "w") as out:
            out.write(tokenizer.to_str())
        rng = random.Random(name)
        texts = NASTY + [random_text(rng) for _ in range(8)] + FOUND.get(name, [])
        with open(os.path.join(folder, "cases.jsonl"), "w") as out:
            for text in texts:
                out.write(json.dumps(record(tokenizer, text), ensure_ascii=True, separators=(",", ":")) + "\n")
    tokenizer_inputs.main()


if __name__ == "__main__":
    main()
