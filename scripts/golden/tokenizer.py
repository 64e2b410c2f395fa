#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/: small trained tokenizers of every pipeline, and what the PyPI `tokenizers` package makes
of nasty texts with them. One folder per pipeline with tokenizer.json and cases.jsonl.

    python3 scripts/golden/tokenizer.py
"""
import json
import os
import random
import shutil

from tokenizer_pipelines import NASTY, PIPELINES, SPLITS, random_text, record

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "tokenizer")


def main():
    shutil.rmtree(TARGET, ignore_errors=True)
    for name, make in {**PIPELINES, **SPLITS}.items():
        tokenizer = make()
        folder = os.path.join(TARGET, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "tokenizer.json"), "w") as out:
            out.write(tokenizer.to_str())
        rng = random.Random(name)
        texts = NASTY + [random_text(rng) for _ in range(20)]
        with open(os.path.join(folder, "cases.jsonl"), "w") as out:
            for text in texts:
                out.write(json.dumps(record(tokenizer, text), ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
