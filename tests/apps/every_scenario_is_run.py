#!/usr/bin/env python3
"""Every script of this folder that shows something, and every scenario in one, is a test: its name stands in CMakeLists.txt, and every
name that stands there is that of a script or a scenario."""
import ast
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def scenarios_of(tree):
    """Functions whose names begin with scenario_, and those that a list or table SCENARIOS names."""
    found = {node.name.removeprefix("scenario_") for node in tree.body
             if isinstance(node, ast.FunctionDef) and node.name.startswith("scenario_")}
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "SCENARIOS" for target in node.targets):
            if isinstance(node.value, ast.Dict):
                found |= {key.value for key in node.value.keys}
            elif isinstance(node.value, (ast.List, ast.Tuple)):
                found |= {element.id for element in node.value.elts}
    return found


def is_run(tree):
    """Whether it does something when it is called, and is not only there for others to import."""
    calls = [node for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return any(getattr(call.value.func, "id", "") == "main" for call in calls) or any(
        isinstance(node, ast.If) and "__name__" in ast.dump(node.test) for node in tree.body)


def main():
    with open(os.path.join(HERE, "CMakeLists.txt")) as file:
        cmake = re.sub(r"#.*", "", file.read())
    words = set(re.findall(r"[\w./-]+", cmake))
    missing, scripts, scenarios = [], 0, 0
    for name in sorted(os.listdir(HERE)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(HERE, name)) as file:
            tree = ast.parse(file.read())
        scripts += is_run(tree)
        if is_run(tree) and name not in words:
            missing.append(name)
        for scenario in scenarios_of(tree):
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
