#!/usr/bin/env python3
"""A difference that is no number fails whoever compares: largest() of runs.py sees it, apart() sees losses that
are missing, and no test takes Python's max() of differences, which passes over what is no number unless it comes first, nor collects
those that are larger than something, which one that is no number never is."""
import ast
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import apart, expect, largest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
NONE = float("nan")
PLANTED = ["max(abs(a - b) for a, b in zip(x, y))", "max([abs(a - b) / b for a, b in zip(x, y)])", "max(worst, abs(a - b))",
           "max((x[k] - y[k]).abs().max().item() for k in x)", "[k for k in x if k not in y or abs(x[k] - y[k]) > 1e-6]",
           "if abs(a - b) >= 1e-4: fail()"]
FINE = ["[k for k in x if not abs(x[k] - y[k]) <= 1e-6]", "any(abs(a - b) > 1e-3 for a, b in zip(x, y))", "max(abs(a), 1e-12)", "max(len(each) for each in x)", "largest(abs(a - b) for a, b in zip(x, y))", "(x - y).abs().max()"]


def takes_differences(call):
    """Of one number a floor is no comparison."""
    if getattr(call.func, "id", "") != "max" or any(isinstance(argument, ast.Constant) for argument in call.args):
        return False
    names = {getattr(node.func, "id", getattr(node.func, "attr", "")) for argument in call.args for node in ast.walk(argument)
             if isinstance(node, ast.Call)}
    return "abs" in names


def is_difference(node):
    return any(isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "abs" for call in ast.walk(node))


def asks_whether_larger(node):
    """Of what chooses: `if` as a statement and in a list."""
    tests = node.ifs if isinstance(node, ast.comprehension) else [node.test] if isinstance(node, ast.If) else []
    return any(isinstance(each, ast.Compare) and isinstance(each.ops[0], (ast.Gt, ast.GtE)) and is_difference(each.left)
               for test in tests for each in ast.walk(test))


def places(text, name):
    wrong = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and takes_differences(node)]
    wrong += [(node.ifs[0] if isinstance(node, ast.comprehension) else node) for node in ast.walk(ast.parse(text)) if asks_whether_larger(node)]
    return [f"{name}:{node.lineno}" for node in wrong]


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
    expect(len(paths) > 50 and not found, "largest() in the place of max(), and `not … <=` in that of `>`", "\n".join(found))
    print(f"{len(paths)} scripts: none takes max() of differences, or passes over what is no number")


if __name__ == "__main__":
    main()
