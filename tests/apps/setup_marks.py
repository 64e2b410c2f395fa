#!/usr/bin/env python3
"""What scripts/setup takes for installed: by the mark in LibTorch's folder, where the packages of the tests have the sum of their list."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import expect

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def bash(cache, command):
    return subprocess.run(["bash", "-c", f'source "{SCRIPTS}/environment.sh"; {command}'], env={**os.environ, "XDG_CACHE_HOME": cache},
                          text=True, capture_output=True)


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-setup-") as cache:
        mark = pathlib.Path(bash(cache, 'echo "$ready_mark"').stdout.strip())
        mark.parent.mkdir(parents=True)
        word = bash(cache, "wanted_installations tests").stdout.strip()
        expect(word.startswith("tests-"), "the list has a sum", word)
        for marked, run, tests in ((None, False, False), (word, True, True), ("cpu\n" + word, True, True), ("tests", True, False),
                                   ("tests-1", True, False)):
            mark.unlink(missing_ok=True)
            if marked is not None:
                mark.write_text(marked + "\n")
            for purpose, expected in (("run", run), ("tests", tests)):
                there = bash(cache, f"torch_is_installed {purpose}").returncode == 0
                expect(there == expected, f"marked {marked!r}, for {purpose}", there)
        mark.write_text(word + "\n")
        grown = bash(cache, "test_requirements+=(another==1); torch_is_installed tests").returncode
        expect(grown != 0, "a list that grew is not there", word)
        print("ok")


if __name__ == "__main__":
    main()
