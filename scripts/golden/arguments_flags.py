#!/usr/bin/env python3
"""Writes tests/golden/arguments/flags.json from the machine-readable flag contract (arguments.yaml).

usage: arguments_flags.py CONTRACT/arguments.yaml OUTPUT/flags.json
One entry per flag with what the flag table must agree with: names, types, defaults, choices and status.
"""
import json
import sys

import yaml


def text(value):
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def entry(flag):
    golden = {
        "type": flag["type"],
        "optional": flag.get("optional", False),
        "default": flag["default"],
        "status": flag["hftrain"],
    }
    if flag.get("choices"):
        golden["choices"] = {text(choice): "implement" for choice in flag["choices"]}
    for choice, status in flag.get("choice_status", {}).items():
        golden.setdefault("choices", {})[text(choice)] = status["hftrain"]
    for key in ("aliases", "short", "negative_flag", "constraints", "unit", "pattern"):
        if key in flag:
            golden[key] = flag[key]
    if flag.get("first"):
        golden["releases"] = [flag["first"], flag["last"]]
    if "default_history" in flag:
        golden["older_defaults"] = [run["to"] for run in flag["default_history"][:-1]]
    return golden


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        flags = yaml.safe_load(file)["arguments"]
    lines = [f"  {json.dumps(flag['name'])}: {json.dumps(entry(flag))}" for flag in flags]
    with open(target, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


main()
