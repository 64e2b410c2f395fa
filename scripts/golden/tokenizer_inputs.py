#!/usr/bin/env python3
"""One text and two, running or as words, truncated into windows and padded: what the PyPI `tokenizers` package makes of them.

    python3 scripts/golden/tokenizer_inputs.py     writes inputs.jsonl beside the tokenizer.json of every golden tokenizer

Used by tests/tokenizer/live_parity.py, too.
"""
import contextlib
import json
import os
import random

from tokenizers import Tokenizer

from tokenizer_pipelines import NASTY, random_text

STRATEGIES = ("longest_first", "only_first", "only_second")


def random_input(tokenizer, rng, text_of):
    """An input with its options, as tests/tokenizer/golden_inputs.cpp reads them."""
    words = rng.random() < 0.3

    def sequence():
        if words:
            return [text_of(rng)[:rng.randint(0, 12)] for _ in range(rng.randint(0, 6))]
        return text_of(rng)
    case = {"first": sequence(), "second": sequence() if rng.random() < 0.6 else None,
            "add_special_tokens": rng.random() < 0.8, "truncation": None, "padding": None}
    if rng.random() < 0.7:
        # The package goes wrong below the special tokens' own number.
        # Of a single text too: some pipelines' pairs have fewer than their single texts.
        least = max(tokenizer.num_special_tokens_to_add(pair) for pair in (False, True))
        most = least + rng.choice([0, 1, 2, 3, 5, 8, 16, 40])
        case["truncation"] = {"max_length": most, "stride": rng.choice([0, 0, 0, 1, 2, 4]), "direction": rng.choice(["left", "right"]),
                              "strategy": rng.choice(STRATEGIES)}
    if rng.random() < 0.25:
        case["padding"] = {"length": rng.choice([None, 4, 24]), "pad_to_multiple_of": rng.choice([None, 8]), "pad_id": 3, "pad_type_id": 2,
                           "pad_token": "<fill>", "direction": rng.choice(["left", "right"])}
    return case


def window(encoding):
    sequences = 2 if any(i == 1 for i in encoding.sequence_ids) else 1
    return {"ids": encoding.ids, "type_ids": encoding.type_ids, "tokens": encoding.tokens, "offsets": encoding.offsets,
            "attention_mask": encoding.attention_mask, "special_tokens_mask": encoding.special_tokens_mask,
            "word_ids": encoding.word_ids, "sequence_ids": encoding.sequence_ids,
            "char_to_token": [[encoding.char_to_token(c, s) for c in range(12)] for s in range(sequences)]}


def record_input(tokenizer, case):
    """`case` with all that the package says about it, or that it fails."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    try:
        if case["truncation"]:
            tokenizer.enable_truncation(**case["truncation"])
        if case["padding"]:
            tokenizer.enable_padding(**case["padding"])
        encoding = tokenizer.encode(case["first"], case["second"], is_pretokenized=isinstance(case["first"], list),
                                    add_special_tokens=case["add_special_tokens"])
    except BaseException as error:  # a Rust panic is no Exception
        return {**case, "fails": str(error)[:80]}
    return {**case, "windows": [window(e) for e in [encoding] + encoding.overflowing][:40]}


@contextlib.contextmanager
def quiet():
    """Panics of the package write to standard error."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)


def write_inputs(tokenizer, path, rng, count, text_of):
    with open(path, "w") as out, quiet():
        for _ in range(count):
            out.write(json.dumps(record_input(tokenizer, random_input(tokenizer, rng, text_of)), separators=(",", ":")) + "\n")


def short_text(rng):
    text = rng.choice(NASTY) if rng.random() < 0.4 else random_text(rng)
    return text[:rng.choice([0, 4, 12, 30, 30])]


def main():
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "tokenizer")
    for name in sorted(os.listdir(target)):
        file = os.path.join(target, name, "tokenizer.json")
        if os.path.exists(file):
            write_inputs(Tokenizer.from_file(file), os.path.join(target, name, "inputs.jsonl"), random.Random("inputs " + name), 30, short_text)


if __name__ == "__main__":
    main()
