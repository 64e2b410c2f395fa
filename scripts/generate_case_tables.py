#!/usr/bin/env python3
"""Writes lib/hftrain/chat/case_tables.cpp: upper, lower and title case of every character, and which are digits, as this
Python has them.

Usage: scripts/generate_case_tables.py
"""
import pathlib
import sys
import unicodedata

TARGET = pathlib.Path(__file__).resolve().parents[1] / "lib" / "hftrain" / "chat" / "case_tables.cpp"


def runs(mapping):
    """(first, last, step, delta) for characters that become one other, in order."""
    found = []
    for code, other in sorted(mapping.items()):
        delta = other - code
        if found:
            first, last, step, before = found[-1]
            gap = code - last
            if before == delta and (gap == step or (first == last and gap in (1, 2))):
                found[-1] = (first, code, gap, delta)
                continue
        found.append((code, code, 1, delta))
    return found


def ranges(codes):
    found = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def rows(items, width):
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) + 2 > width:
            lines.append(line.rstrip())
            line = ""
        line += item + ", "
    return "\n".join("    " + line for line in lines + [line.rstrip(", ")])


def case_table(name, change, like=None):
    single, several = {}, []
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:
            continue
        made = change(chr(code))
        if made == (like or str)(chr(code)):
            continue
        if len(made) == 1:
            single[code] = ord(made)
        else:
            several.append((code, [ord(c) for c in made]))
    return (f"const CaseRun k{name}Runs[] = {{\n"
            + rows(["{%#X, %#X, %d, %d}" % run for run in runs(single)], 108) + "};\n"
            + f"const size_t k{name}RunCount = std::size(k{name}Runs);\n"
            + f"const CaseExpansion k{name}Expansions[] = {{\n"
            + rows(["{%#X, {%s}}" % (code, ", ".join("%#X" % c for c in to)) for code, to in several], 108) + "};\n"
            + f"const size_t k{name}ExpansionCount = std::size(k{name}Expansions);\n")


def digit_table(name, wanted):
    codes = [code for code in range(sys.maxunicode + 1) if wanted(chr(code)) and not chr(code).isdecimal()]
    return (f"const CodeRange k{name}[] = {{\n" + rows(["{%#X, %#X}" % pair for pair in ranges(codes)], 108) + "};\n"
            + f"const size_t k{name}Count = std::size(k{name});\n")


TARGET.write_text(
    f"// Made by scripts/generate_case_tables.py of Unicode {unicodedata.unidata_version}.\n"
    '#include "hftrain/chat/case_tables.h"\n\n#include <iterator>\n\nnamespace hftrain::chat {\n\n// clang-format off\n'
    + case_table("Upper", str.upper) + case_table("Lower", str.lower) + case_table("Title", str.title, str.upper)
    + digit_table("FurtherDigits", str.isdigit) + digit_table("FurtherNumbers", str.isnumeric)
    + "// clang-format on\n\n}  // namespace hftrain::chat\n")
