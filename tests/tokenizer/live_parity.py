#!/usr/bin/env python3
"""Writes large random corpora and what the PyPI `tokenizers` package makes of them, for live_parity_test.cpp.

    live_parity.py FOLDER TEXTS_PER_PIPELINE
"""
import json
import os
import random
import sys

from tokenizers import Tokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "golden"))
from tokenizer_inputs import quiet, write_inputs  # noqa: E402
from tokenizer_pipelines import PIPELINES, SPLITS, random_text, record  # noqa: E402

CONTEXTS = ["{}", "a{}b", " {} ", "'{}", "1{}2", "{0}{0}", "{}\n", "e\u0301{}", "A{}a "]


def every_code_point(rng):
    """Each code point of the BMP (and some beyond) in one of the contexts, many to a text."""
    points = [c for c in range(0x10000) if not 0xD800 <= c < 0xE000] + [rng.randrange(0x10000, 0x110000) for _ in range(9000)]
    for begin in range(0, len(points), 40):
        yield "".join(rng.choice(CONTEXTS).format(chr(c)) for c in points[begin:begin + 40])


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    for name, make in {**PIPELINES, **SPLITS}.items():
        tokenizer = make()
        target = os.path.join(folder, name)
        os.makedirs(target)
        text_of_tokenizer = tokenizer.to_str()
        with open(os.path.join(target, "tokenizer.json"), "w") as out:
            out.write(text_of_tokenizer)
        rng = random.Random("live " + name)
        texts = [random_text(rng) for _ in range(count)] + list(every_code_point(rng))
        if name in ("gpt2", "llama3", "qwen2", "llama2", "llama2_old"):  # a megabyte without a space
            texts.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyzäßя東") for _ in range(1_000_000)))
        write_inputs(tokenizer, os.path.join(target, "inputs.jsonl"), rng, count, random_text)
        tokenizer = Tokenizer.from_str(text_of_tokenizer)
        with open(os.path.join(target, "cases.jsonl"), "w") as out, quiet():
            for text in texts:
                out.write(json.dumps(record(tokenizer, text), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
