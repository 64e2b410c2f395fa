#!/usr/bin/env python3
"""Writes random templates and what transformers makes of them, for live_parity_test.cpp.

    live_parity.py FILE COUNT SEED        (ends with 77 where transformers or Jinja is missing, which it names)
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "golden"))

# What depends on addresses in memory, or has numbers beyond 64 bits.
UNTELLABLE = re.compile(r"object at 0x|built-in method|<bound method|\d{19}")


def main():
    path, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for package in ("jinja2", "transformers"):
        try:
            __import__(package)
        except ImportError:
            print(package)
            return 77
    from chat import outcome
    from chat_expressions import VARIABLES, random_sources
    with open(path, "w") as out:
        out.write(json.dumps({"variables": VARIABLES}) + "\n")
        for source in random_sources(count, seed):
            made = outcome(source, VARIABLES)
            if UNTELLABLE.search(made.get("text", "")) or len(made.get("text", "")) > 100000:
                continue
            out.write(json.dumps({"source": source, **made}, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
