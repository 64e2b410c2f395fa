#!/usr/bin/env python3
"""scripts/bench/same_bits.py, by which a change is held to what must not change: it calls a build and itself the same, and finds one that
draws other random numbers."""
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, expect

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "bench", "same_bits.py")


def main():
    build = os.path.dirname(os.path.abspath(HFTRAIN))
    compare = lambda other: subprocess.run([sys.executable, SCRIPT, build, other, "--cases", "gpt2-one-rank"], text=True, capture_output=True)
    same = compare(build)
    expect(same.returncode == 0 and "1 of 1 the same" in same.stdout, "a build and itself", same.stdout + same.stderr)
    with tempfile.TemporaryDirectory() as other:
        with open(os.path.join(other, "hftrain"), "w") as file:
            file.write(f'#!/bin/sh\ncase $1 in --*) set -- "$@" --seed 12;; esac\nexec {shlex.quote(HFTRAIN)} "$@"\n')
        os.chmod(file.name, 0o755)
        different = compare(other)
    said = different.stdout + different.stderr
    expect(different.returncode == 1 and "0 of 1 the same" in said, "one that draws other numbers", said)
    for name in ("model.safetensors", "hftrain/log.jsonl", "trainer_state.json"):
        expect(f"{name}: not equal" in said, f"{name} is told", said)
    print("ok: two builds are compared to the last bit")


if __name__ == "__main__":
    main()
