#!/usr/bin/env python3
"""Writes lib/hftrain/tokenizer/unicode/segment_tables.cpp: what the PyPI `tokenizers` package takes for one grapheme
cluster, and which script it sees in a character, found by asking the package itself.

    python3 scripts/generate_segment_tables.py

Clusters show in the Precompiled normalizer: it looks up a cluster of less than six bytes whole, and each character of a
longer one. With a charsmap that knows every first byte as "X", the number of X tells how a text was cut.
"""
import os
import struct

import tokenizers
from tokenizers import normalizers, pre_tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "..", "lib", "hftrain", "tokenizer", "unicode", "segment_tables.cpp")
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
SYLLABLES = range(0xAC00, 0xAC00 + 11172)
MARK, ZWJ, SIGN = "\u0301", "\u200d", "\u00a9"  # two bytes, three, two: Extend, ZWJ, Extended_Pictographic
KA, VIRAMA = "\u0915", "\u094d"
LEAD, VOWEL, TAIL = "\u1100", "\u1161", "\u11a8"


def first_bytes():
    """A charsmap in which every byte but that of a new line is a key, and all mean X."""
    units = [256 << 10] + [0] * 1023  # children of the root at 256 + byte, their leaves 512 behind
    for byte in range(1, 256):
        if byte != 10:
            units[256 ^ byte] = 512 << 10 | 1 << 8 | byte
    return normalizers.Precompiled(struct.pack("<I1024I", 4096, *units) + b"X\0")


CHARSMAP = first_bytes()


def counts(form, points):
    """How many X `form` has with each character in place of the braces."""
    text = CHARSMAP.normalize_str("\n".join(form.replace("{}", chr(c)) for c in points))
    return dict(zip(points, map(len, text.split("\n"))))


def where(form, points, count):
    return {c for c, n in counts(form, points).items() if n == count}


def grapheme_classes():
    points = [c for c in CODE_POINTS if c not in (0, 10, 13) and c not in SYLLABLES]
    classes = {10: "LF", 13: "CR", 0: "Control", 0x200D: "ZWJ"}

    def put(found, name):
        for c in found:
            classes.setdefault(c, name)

    joined = where("a{}", points, 1)
    linkers = where(KA + "{}" + KA + MARK, joined, 4)
    extends = where(KA + VIRAMA + "{}" + KA + MARK, joined - linkers, 5)
    is_extend = where(SIGN + "{}" + ZWJ + SIGN + MARK, joined, 5)
    for c in joined:
        kind = "Linker" if c in linkers else "ConjunctExtend" if c in extends else "Extend"
        put([c], kind if c in is_extend else "SpacingMark")
    assert not (linkers - is_extend), "a linker that is a spacing mark"
    assert 0x200D in joined and 0x200D in extends
    rest = [c for c in points if c not in joined]
    put(where("{}a", rest, 1), "Prepend")
    put([c for c in where("{}" + MARK + MARK, rest, 2)], "Control")
    put(range(0x1F1E6, 0x1F200), "RegionalIndicator")
    put(where(SIGN + ZWJ + "{}", rest, 3), "Pictographic")
    put(where("{}" + VIRAMA + KA + MARK, rest, 4), "Consonant")
    put(where("{}" + "\uac00" + MARK, [c for c in rest if c not in classes], 3), "L")
    rest = [c for c in rest if c not in classes]
    put(where(VOWEL + "{}" + VOWEL + MARK, rest, 4), "V")
    put(where(VOWEL + "{}" + TAIL + MARK, rest, 4), "T")
    assert all(n == 3 for n in counts("{}" + TAIL + MARK, SYLLABLES).values())
    assert where("{}" + VOWEL + MARK, SYLLABLES, 3) == set(SYLLABLES[::28])
    return classes


def ranges_of(classes):
    ranges = []
    for c in sorted(classes):
        if ranges and ranges[-1][1] + 1 == c and ranges[-1][2] == classes[c]:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, classes[c]])
    return ranges


def scripts():
    """Runs of code points that the UnicodeScripts pre-tokenizer never cuts apart; 0 is any script."""
    cut = pre_tokenizers.UnicodeScripts()

    def pieces(text):
        return {begin for _, (begin, end) in cut.pre_tokenize_str(text)}

    after_latin = pieces("".join("\u0431a" + chr(c) for c in CODE_POINTS))
    after_cyrillic = pieces("".join("a\u0431" + chr(c) for c in CODE_POINTS))
    numbers, known = {}, []
    previous = None
    for i, c in enumerate(CODE_POINTS):
        if 3 * i + 2 not in after_latin and 3 * i + 2 not in after_cyrillic:
            continue  # any script
        if previous is not None and previous in numbers and not pieces(chr(previous) + chr(c)) - {0}:
            numbers[c] = numbers[previous]
        else:
            begins = pieces("".join(chr(r) + chr(c) for r in known))
            same = [k for k in range(len(known)) if 2 * k + 1 not in begins]
            assert len(same) <= 1
            if not same:
                known.append(c)
            numbers[c] = same[0] + 1 if same else len(known)
        previous = c
    assert len(known) < 256
    return numbers


def rows(entries, width):
    return "\n".join("    " + " ".join(e + "," for e in entries[i:i + width]) for i in range(0, len(entries), width))


def main():
    clusters, scripted = ranges_of(grapheme_classes()), ranges_of(scripts())
    with open(TARGET, "w") as out:
        out.write(f"// Generated by scripts/generate_segment_tables.py from tokenizers {tokenizers.__version__}. Do not edit.\n"
                  '// clang-format off\n#include "hftrain/tokenizer/unicode/segments.h"\n\nnamespace hftrain::tokenizer::unicode {\n\n')
        entries = ["{%d, %d, GraphemeClass::k%s}" % tuple(r) for r in clusters]
        out.write(f"const GraphemeRange kGraphemeRanges[{len(entries)}] = {{\n{rows(entries, 3)}\n}};\n")
        out.write(f"const size_t kGraphemeRangesCount = {len(entries)};\n\n")
        entries = ["{%d, %d, %d}" % tuple(r) for r in scripted]
        out.write(f"const ScriptRange kScriptRanges[{len(entries)}] = {{\n{rows(entries, 7)}\n}};\n")
        out.write(f"const size_t kScriptRangesCount = {len(entries)};\n\n}}  // namespace hftrain::tokenizer::unicode\n")


if __name__ == "__main__":
    main()
