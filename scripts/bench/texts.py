"""Texts of our own for measuring tokenizers: several languages, and text that no person writes. The same for the same seed."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "tokenizer"))

# What words of a language are made of: beginnings and ends of syllables (or characters), and how many of them.
LATIN = ("b c d f g h k l m n p r s t v z br st tr pl gr sch".split(), "a e i o u an er en in on es ät ö ü é ã ñ".split(), (1, 4))
CYRILLIC = ("б в г д ж з к л м н п р с т х ц ч ш ст пр".split(), "а е и о у я ы ю ой ий ов ен ат ё".split(), (1, 4))
GREEK = ("β γ δ θ κ λ μ ν π ρ σ τ φ χ".split(), "α ε η ι ο ου ας ος ή ίας ών".split(), (1, 4))
HAN = ([chr(c) for c in range(0x4E00, 0x5600)], [""], (1, 4))
KANA = ([chr(c) for c in range(0x3042, 0x3090)] + [chr(c) for c in range(0x4E00, 0x4F00)], [""], (2, 6))
HANGUL = ([chr(c) for c in range(0xAC00, 0xD7A0, 7)], [""], (1, 4))
DEVANAGARI = ([chr(c) for c in range(0x0915, 0x0939)], ["", "ा", "ि", "ी", "े", "ो", "्र", "ं"], (1, 4))
ARABIC = ([chr(c) for c in range(0x0628, 0x063A)] + [chr(c) for c in range(0x0641, 0x0649)], ["", "ا", "ي", "و"], (2, 4))
LANGUAGES = ((LATIN, " "), (LATIN, " "), (CYRILLIC, " "), (GREEK, " "), (HAN, ""), (KANA, ""), (HANGUL, " "), (DEVANAGARI, " "), (ARABIC, " "))


def words_of(language, rng, count=12_000):
    starts, ends, (fewest, most) = language
    return ["".join(rng.choice(starts) + rng.choice(ends) for _ in range(rng.randint(fewest, most))) for _ in range(count)]


def languages(limit, seed=5):
    """Lines of words that are frequent as in any language (Zipf's law), with numbers, names and punctuation."""
    rng = random.Random(seed)
    vocabularies = [(words_of(language, rng), space) for language, space in LANGUAGES]
    lines, size = [], 0
    while size < limit:
        words, space = rng.choice(vocabularies)
        chosen = []
        for _ in range(rng.randint(4, 40)):
            word = words[min(len(words) - 1, int(rng.paretovariate(0.7)) - 1)]
            kind = rng.random()
            if kind < 0.04:
                word = str(rng.randint(0, 99_999))
            elif kind < 0.1:
                word = word.capitalize()
            elif kind < 0.2:
                word += rng.choice([",", ",", ".", ";", "!", "?", "…"])
            chosen.append(word)
        lines.append(space.join(chosen) + rng.choice([".", "。", "?"]))
        size += len(lines[-1].encode()) + 1
    return "\n".join(lines)


def nasty(limit, seed=5):
    """The texts of the comparison with the package (tests/tokenizer/live_parity.py), a line each."""
    from live_parity import hard_text, random_mixture
    rng, lines, size = random.Random(seed), [], 0
    while size < limit:
        line = (hard_text if len(lines) % 4 == 3 else random_mixture)(rng).replace("\n", " ").replace("\r", " ")
        lines.append(line)
        size += len(line.encode()) + 1
    return "\n".join(lines)
