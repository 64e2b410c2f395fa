#!/usr/bin/env python3
"""A difference that is no number fails whoever compares: largest() of runs.py sees it, apart() sees losses that
are missing, and no test takes Python's max() of differences, which passes over what is no number unless it comes first."""
import ast
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import apart, expect, largest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
NONE = float("nan")
PLANTED = ["max(abs(a - b) for a, b in zip(x, y))", "max([abs(a - b) / b for a, b in zip(x, y)])", "max(worst, abs(a - b))",
           "max((x[k] - y[k]).abs().max().item() for k in x)"]
FINE = ["max(abs(a), 1e-12)", "max(len(each) for each in x)", "largest(abs(a - b) for a, b in zip(x, y))", "(x - y).abs().max()"]


def takes_differences(call):
    """Of one number a floor is no comparison."""
    if getattr(call.func, "id", "") != "max" or any(isinstance(argument, ast.Constant) for argument in call.args):
        return False
    names = {getattr(node.func, "id", getattr(node.func, "attr", "")) for argument in call.args for node in ast.walk(argument)
             if isinstance(node, ast.Call)}
    return "abs" in names


def places(text, name):
    return [f"{name}:{node.lineno}" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and takes_differences(node)]


def main():
    for numbers in ([NONE, 0.1], [0.1, NONE], [0.1, NONE, 0.2]):
        expect(largest(numbers) == float("inf"), "what is no number is seen", numbers)
    expect(largest(iter([0.1, 0.3, 0.2])) == 0.3, "the largest", "")
    expect(apart({1: 0.5, 2: 3.0}, {1: 1.0, 2: 2.0}) == 1, "series of losses", "")
    for found, wanted in (({}, {}), ({1: 1.0}, {1: 1.0, 2: 1.0}), ({1: 1.0, 2: 1.0}, {1: 1.0}), ({1: NONE, 2: 1.0}, {1: 1.0, 2: 1.0})):
        expect(apart(found, wanted) == float("inf"), "series that cannot be compared", [found, wanted])
    expect(all(places(text, "planted") for text in PLANTED) and not any(places(text, "fine") for text in FINE), "planted places are found", "")
    paths = sorted(glob.glob(os.path.join(ROOT, "tests/**/*.py"), recursive=True) + glob.glob(os.path.join(ROOT, "scripts/gpu/*.py")))
    found = []
    for path in paths:
        with open(path) as file:
            found += places(file.read(), os.path.relpath(path, ROOT))
    expect(len(paths) > 50 and not found, "largest() in the place of max()", "\n".join(found))
    print(f"{len(paths)} scripts: none takes max() of differences")


if __name__ == "__main__":
    main()
