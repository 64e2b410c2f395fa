#!/usr/bin/env python3
"""Writes large random corpora and what the PyPI `tokenizers` package makes of them, for live_parity_test.cpp.

    live_parity.py FOLDER TEXTS_PER_PIPELINE[:INPUTS] [PIPELINE…]     all pipelines, or these

Each code point of the BMP is seen by every eighth pipeline and by those that alone have a part of their own; from 1000 texts on by all.
INPUTS are texts and pairs with options of truncation and padding, as many as texts when not said. HFTRAIN_PARITY_SEED is any word:
another one makes other texts.
"""
import json
import os
import random
import sys

from tokenizers import Tokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "golden"))
from tokenizer_inputs import quiet, write_inputs  # noqa: E402
from tokenizer_parts import PARTS  # noqa: E402
from tokenizer_pipelines import PIPELINES, SPLITS, random_text, record  # noqa: E402

# Pipelines with a normalizer or a way to split that no other one has.
ALONE = {"scripts", "bert_uncased", "bert_odd", "bert_accents", "xlm_roberta", "clip"}
CONTEXTS = ["{}", "a{}b", " {} ", "'{}", "1{}2", "{0}{0}", "{}\n", "e\u0301{}", "A{}a "]


# What joins, splits and vanishes: letters and marks, conjuncts, jamo, flags, families, controls.
CLUSTERS = ["a", "q", "ß", "é", "e\u0301", " ", "  ", "\n", "\r\n", "\u0301", "\u0323", "\u0915", "\u094d", "\u093c", "\u0e33", "\u1100",
            "\u1161", "\u11a8", "가", "각", "한", "\U0001f1f7", "\U0001f468", "\U0001f3fd", "©", "™", "\u200d", "\u200c", "\u200b", "\ufeff",
            "\u0600", "\u0903", "\u0f73", "\u0f74", "\u302e", "\U0001d165", "ﬁ", "㌀", "！", "中", "ｶ", "ー", "カ", "\x00", "\x01", "\x7f", "\xad", "\u0130",
            "''", "``", "e", "E", "|", "<pad>", "##", "▁", "[MASK]", "\U00011f02", "\U000e0020", "½", "²", "?", "."]


def random_clusters(rng):
    return "".join(rng.choice(CLUSTERS) for _ in range(rng.randint(0, 24)))


def random_mixture(rng):
    return random_clusters(rng) if rng.random() < 0.4 else random_text(rng)


def every_code_point(rng, first, step):
    """Each code point of the BMP (and some beyond) in one of the contexts, many to a text; of the texts every `step`th."""
    points = [c for c in range(0x10000) if not 0xD800 <= c < 0xE000] + [rng.randrange(0x10000, 0x110000) for _ in range(9000)]
    for begin in range(40 * first, len(points), 40 * step):
        yield "".join(rng.choice(CONTEXTS).format(chr(c)) for c in points[begin:begin + 40])


def hard_text(rng):
    """Long words, emoji joined to one another, piles of combining marks, controls, one code point of any plane after another."""
    def any_point():
        return rng.choice([c for c in (rng.randrange(0x110000), rng.randrange(0x3000), 0x41) if not 0xD800 <= c < 0xE000])
    pieces = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.2:
            pieces.append("".join(rng.choice("etaoin shrdluETAOINß東я'-") for _ in range(rng.randint(60, 300))))
        elif kind < 0.35:
            pieces.append(rng.choice("aé東🙂") * rng.choice([7, 8, 25, 26, 99, 100, 101, 150]))
        elif kind < 0.55:
            pieces.append("\u200d".join(chr(rng.randint(0x1F300, 0x1FAFF)) + rng.choice(["", "\ufe0f", "\U0001f3fd"])
                                        for _ in range(rng.randint(1, 5))))
        elif kind < 0.7:
            pieces.append(rng.choice("aeoAE ") + "".join(chr(rng.randint(0x300, 0x36F)) for _ in range(rng.randint(1, 9))))
        elif kind < 0.8:
            pieces.append("".join(chr(rng.choice([rng.randint(0, 31), rng.randint(0x7F, 0x9F), 0xFFFD, 0xFEFF, 0xAD, 0xE000]))
                                  for _ in range(rng.randint(1, 6))))
        else:
            pieces.append("".join(chr(any_point()) for _ in range(rng.randint(1, 12))))
        pieces.append(rng.choice(["", "", " ", "  ", "the", "\n"]))
    return "".join(pieces)


def main():
    folder, names = sys.argv[1], sys.argv[3:]
    count, _, inputs = sys.argv[2].partition(":")
    count, inputs = int(count), int(inputs or count)
    for number, (name, make) in enumerate({**PIPELINES, **SPLITS, **PARTS}.items()):
        if names and name not in names:
            continue
        tokenizer = make()
        target = os.path.join(folder, name)
        os.makedirs(target)
        text_of_tokenizer = tokenizer.to_str()
        with open(os.path.join(target, "tokenizer.json"), "w") as out:
            out.write(text_of_tokenizer)
        rng = random.Random(os.environ.get("HFTRAIN_PARITY_SEED", "live") + " " + name)
        step = 1 if count >= 1000 or name in ALONE else 8
        texts = [(hard_text if i % 4 == 3 else random_mixture)(rng) for i in range(count)]
        texts += every_code_point(rng, number % step, step)
        if name in ("gpt2", "llama3", "qwen2", "llama2", "llama2_old", "unigram_bytes"):  # a megabyte without a space
            texts.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyzäßя東") for _ in range(1_000_000)))
        write_inputs(tokenizer, os.path.join(target, "inputs.jsonl"), rng, inputs, random_mixture)
        tokenizer = Tokenizer.from_str(text_of_tokenizer)
        with open(os.path.join(target, "cases.jsonl"), "w") as out, quiet():
            for i, text in enumerate(texts):  # of many, all is asked about some
                out.write(json.dumps(record(tokenizer, text, count < 10_000 or i % 20 == 0), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
