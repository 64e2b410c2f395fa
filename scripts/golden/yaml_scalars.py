"""Golden data of tests/arguments/yaml_numbers_test.cpp, made by PyYAML: what safe_load makes of scalars without quotes. accelerate, trl and
transformers read their files with it.

Writes tests/golden/arguments/yaml_scalars.json: for each scalar its kind and, of numbers and truth values, what Python prints of it.
Usage: python scripts/golden/yaml_scalars.py
"""

import itertools
import json
import pathlib

import yaml

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/arguments/yaml_scalars.json"
BODIES = ("0 7 10 00 007 010 0777 08 09 018 0_10 0_ 00_ 1_000 1__0 1_ 1_0_ _1 0x10 0xFf 0x_1f 0x1_ 0x 0x_ 0X10 0xg 0b101 0b1_0 0b 0b_ 0b2 0B1 "
          "0o10 0O7 1:30 1:5 01:30 0:30 1:60 1:30:05 190:20:30 1_0:30 1:3_0 1: 1:: 1:30: 1:300 1:30.5 0:30.5 1:30. 1:30.5_5 1:60.5 1:30.5e+3 1:.5 "
          "1:30:00.25 1.5 1. .5 . ._5 .5_ 1._5 1_.5 1_0.2_5 010.5 00.5 0.5 1.5.2 1e3 1E3 1e+3 1.0e3 1.0e+3 1.0E-3 1.e+3 .5e+3 .5e3 1.5e+ 1.5e+1_0 "
          "1_0.5e+3 .inf .Inf .INF .inF inf Infinity .nan .NaN .NAN .Nan nan 5e-05 5.0e-05 1d5 1f 1L 1,000 9223372036854775807 9223372036854775808 "
          "0x7fffffffffffffff 0xffffffffffffffffff 0777777777777777777777777 0b1").split()
WORDS = ("yes Yes YES yEs no No NO nO true True TRUE tRue false False FALSE on On ON oN off Off OFF oFF y Y n N t f T F null Null NULL nULL None none ~ "
         "~~ = 2024-01-02 2024-1-2 2024-13-99 2001-12-14T21:59:43Z 12:30:45 a1 1a -- +- - + -1-2 1-2 1+2 ++1 --1 1/2 0.1.2.3 v1.0 "
         "0x1.8 0b1.1 1_2_3.4_5 12e03 1e 1.e .e+1 0e0 0.e+0 -.e").split()


def kind_of(text):
    try:
        value = yaml.safe_load(f"key: {text}")["key"]
    except (yaml.YAMLError, ValueError):
        return None
    if value is None:
        return {"kind": "null"}
    if isinstance(value, (bool, int, float)):
        return {"kind": type(value).__name__, "value": str(value)}
    return {"kind": "text" if isinstance(value, str) else "date"}


def main():
    scalars = [sign + body for sign, body in itertools.product(("", "-", "+"), BODIES)] + WORDS
    cases = [{"text": text, **kind} for text in scalars if (kind := kind_of(text))]
    OUT.write_text(json.dumps({"pyyaml": yaml.__version__, "cases": cases}, indent=0) + "\n")


main()
