#!/usr/bin/env python3
"""Writes random cases and what the reference packages make of them, for live_parity_test.cpp.

    live_parity.py FILE COUNT        (about 16 × COUNT cases; ends with 77 where a package is missing, which it names)

HFTRAIN_PARITY_SEED is any word: another one makes other data. The first case holds every code point that this Python knows: what it is in lower case, and whether it splits words.
"""
import json
import logging
import os
import sys
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "golden"))
PACKAGES = ["scipy", "sklearn", "seqeval", "rouge_score", "sacrebleu", "transformers"]


CHANGED = 0x1171E  # a mark that became another kind of mark in Unicode 16, which our tables have


def code_points():
    known = [chr(c) for c in range(0x110000) if c != CHANGED and unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]
    contexts = [known[i:i + 50] for i in range(0, len(known), 50)]
    texts = ["a".join(some) for some in contexts] + [f"a{c}Σ a\u03a3{c} a\u03a3{c}b" for c in known]
    return {"kind": "python", "in": {"texts": texts}, "out": {"lower": [t.lower() for t in texts], "split": [t.split() for t in texts],
                                                              "rstrip": [t.rstrip() for t in texts]}}


def main():
    path, count = sys.argv[1], int(sys.argv[2])
    for package in PACKAGES:
        try:
            __import__(package)
        except ImportError:
            print(package)
            return 77
    from metrics_cases import live_cases
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    with open(path, "w") as out:
        for case in [code_points(), *live_cases(os.environ.get("HFTRAIN_PARITY_SEED", "live"), count)]:
            out.write(json.dumps(case, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
