#!/usr/bin/env python3
"""Every script of this folder that shows something, and every scenario in one, is a test: its name stands in CMakeLists.txt, and every
name that stands there is that of a script or a scenario."""
import ast
import os
import re
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import runs

OWN = {os.path.basename(__file__), "runs.py"}  # they name run_scenarios and have none
PROGRAMS = {"stand_in.py"}  # started by other scripts, in the place of a program


def written_in(tree):
    """Functions whose names begin with scenario_, those that a list or table SCENARIOS names, and in a script that calls run_scenarios all
    that take (fixture, folder), as scenarios do, so that none is forgotten in its list."""
    found, handed = set(), calls_of(tree, "run_scenarios")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            takes = [argument.arg for argument in node.args.args]
            if node.name.startswith("scenario_") or (handed and takes == ["fixture", "folder"]):
                found.add(node.name.removeprefix("scenario_"))
        elif isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "SCENARIOS" for target in node.targets):
            if isinstance(node.value, ast.Dict):
                found |= {key.value for key in node.value.keys}
            elif isinstance(node.value, (ast.List, ast.Tuple)):
                found |= {element.id for element in node.value.elts}
    return found


class Asked(Exception):
    """A script came to the place where it would run its scenarios."""


def handed_over(path):
    """What a script that makes scenarios of its tables hands to runs.run_scenarios when it is called without a word."""
    def note(scenarios, *_):
        raise Asked({scenario.__name__ for scenario in scenarios})
    kept, words = runs.run_scenarios, sys.argv
    runs.run_scenarios, sys.argv = note, [path]
    try:
        runpy.run_path(path, run_name="__main__")
    except Asked as asked:
        return asked.args[0]
    finally:
        runs.run_scenarios, sys.argv = kept, words
    raise SystemExit(f"FAILED: {path} names run_scenarios and comes to its end without a call of it")


def calls_of(tree, name):
    return any(isinstance(node, ast.Call) and name in {getattr(node.func, "id", ""), getattr(node.func, "attr", "")} for node in ast.walk(tree))


def is_run(tree):
    """Whether it does something when it is called, and is not only there for others to import."""
    for node in tree.body:
        called = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        if isinstance(node, (ast.If, ast.For, ast.With, ast.Try)) or (called and ast.unparse(called.func) != "sys.path.insert"):
            return True
    return False


def main():
    with open(os.path.join(HERE, "CMakeLists.txt")) as file:
        cmake = re.sub(r"#.*", "", file.read())
    words = set(re.findall(r"[\w./-]+", cmake))
    missing, scripts, scenarios = [], 0, 0
    for name in sorted(os.listdir(HERE)):
        if not name.endswith(".py"):
            continue
        path = os.path.join(HERE, name)
        with open(path) as file:
            tree = ast.parse(file.read())
        shows = is_run(tree) and name not in PROGRAMS
        scripts += shows
        if shows and name not in words:
            missing.append(name)
        found = written_in(tree)
        if name not in OWN and calls_of(tree, "run_scenarios"):
            found |= handed_over(path)
        for scenario in sorted(found):
            scenarios += 1
            if scenario not in words:
                missing.append(f"{name}: {scenario}")
    missing += [f"{word}: there is no such script" for word in words
                if word.endswith(".py") and not os.path.exists(os.path.join(HERE, word))]
    if missing:
        raise SystemExit("FAILED: no test of CMakeLists.txt, or nothing behind its name:\n" + "\n".join(missing))
    if not scenarios:
        raise SystemExit("FAILED: no scenario was found")
    print(f"{scripts} scripts, {scenarios} scenarios: all are run")


if __name__ == "__main__":
    sys.exit(main())
