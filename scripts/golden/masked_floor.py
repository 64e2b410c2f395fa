#!/usr/bin/env python3
"""The loss and the accuracy that no masked language model of sample text can beat, one row a sample (--line_by_line); and what a model
comes to that knows all sentences and looks at no other word of the row than the hidden one.

  masked_floor.py TOKENIZER [--without_numbers] [--mlm_probability 0.15] [--draws 4000] [--seed 1]

All sentences that `hftrain sample-data text` can write are enumerated (lib/hftrain/data/sample_text.cpp), with their chances. Rows are
drawn and tokens hidden as masking does it (80 % mask, 10 % another token, 10 % left); for each hidden place the chances of its token
under Bayes' rule, given all that is seen and that the place was chosen, are what the best model says. Their mean logarithm is the floor,
with the error of so many draws beside it. --without_numbers leaves out the sentences that hold numbers: a small model does not learn to
add.
"""
import argparse
import itertools
import os

import numpy
from tokenizers import Tokenizer

NAMES = "Ada Boris Clara David Elena Felix Greta Hugo".split()
ADJECTIVES = "old small quiet bright lonely clever green tired".split()
ANIMALS = "fox owl horse rabbit crow otter wolf hen".split()
VERBS = "watches follows greets forgets helps hears".split()
PLACES = ["by the river", "in the barn", "near the bridge", "under the oak", "on the hill"]
THINGS = "apples stones letters coins feathers candles".split()
TIMES = "morning noon evening midnight".split()
NUMBERS = list(range(33))


def sentences():
    """All of them, pattern by pattern."""
    yield [f"The {a} {b} {v} the {c} {p}." for a, b, v, c, p in itertools.product(ADJECTIVES, ANIMALS, VERBS, ANIMALS, PLACES)]
    yield [f"At {t} {n} and the {a} meet {p}, and at {t} they part." for t, n, a, p in itertools.product(TIMES, NAMES, ANIMALS, PLACES)]
    yield [f"{n} has {a} {t} and finds {b} more, so {n} has {a + b} {t}." for n, a, t, b in itertools.product(NAMES, NUMBERS, THINGS, NUMBERS)]
    yield [f"{a} + {b} = {a + b}" for a, b in itertools.product(NUMBERS, NUMBERS)]


class Grammar:
    """Ids of all sentences by their length, with the logarithms of their chances."""

    def __init__(self, tokenizer, patterns):
        by_length = {}
        for number, pattern in enumerate(patterns):
            for encoding in tokenizer.encode_batch(pattern):
                special = encoding.special_tokens_mask
                by_length.setdefault(len(encoding.ids), []).append((encoding.ids, special, -numpy.log(len(patterns) * len(pattern)), number))
        self.lengths = {length: (numpy.array([e[0] for e in some]), numpy.array(some[0][1], bool), numpy.array([e[2] for e in some]),
                                 numpy.array([e[3] for e in some])) for length, some in by_length.items()}
        chances = {length: numpy.exp(log).sum() for length, (_, _, log, _) in self.lengths.items()}
        self.chances = chances
        if abs(sum(chances.values()) - 1) > 1e-9:
            raise SystemExit(f"the chances of all sentences make {sum(chances.values())}")

    def draw(self, numbers):
        length = numbers.choice(list(self.chances), p=list(self.chances.values()))
        ids, special, log, pattern = self.lengths[length]
        chances = numpy.exp(log)
        return ids, special, log, pattern, numbers.choice(len(ids), p=chances / chances.sum())


def judged(grammar, numbers, probability, mask, vocabulary):
    """Of one row: for every hidden place -log of its best chance, whether the likeliest token is right, and -log of its chance where
    nothing of the row is known but its length and its pattern."""
    ids, special, log, pattern, row = grammar.draw(numbers)
    truth = ids[row]
    chosen = (numbers.random(len(truth)) < probability) & ~special
    how = numbers.random(len(truth))
    seen = numpy.where(chosen & (how < 0.8), mask, numpy.where(chosen & (how < 0.9), numbers.integers(vocabulary, size=len(truth)), truth))
    same, other, hidden = ids == seen, 0.1 / vocabulary, seen == mask
    # P(seen | token) of a place, and the same when it is known to be chosen.
    where_chosen = numpy.where(hidden, 0.8 + other, numpy.where(same, 0.1 + other, other))
    anywhere = numpy.where(special, 1.0, numpy.where(hidden, probability * (0.8 + other), numpy.where(same, 1 - probability, 0) + probability * where_chosen * ~hidden))
    weights = log + numpy.log(numpy.maximum(anywhere, 1e-300)).sum(axis=1)
    for place in numpy.flatnonzero(chosen):
        own = weights - numpy.log(anywhere[:, place]) + numpy.log(where_chosen[:, place])
        own = numpy.exp(own - own.max())
        totals = numpy.bincount(ids[:, place], weights=own, minlength=vocabulary) / own.sum()
        blind = numpy.exp(log) * where_chosen[:, place] * (pattern == pattern[row])
        blind = numpy.bincount(ids[:, place], weights=blind, minlength=vocabulary) / blind.sum()
        yield -numpy.log(totals[truth[place]]), totals.argmax() == truth[place], -numpy.log(blind[truth[place]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenizer")
    parser.add_argument("--without_numbers", action="store_true")
    parser.add_argument("--mlm_probability", type=float, default=0.15)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(os.path.join(options.tokenizer, "tokenizer.json"))
    patterns = [some for some in sentences() if not (options.without_numbers and any(c.isdigit() for c in some[0]))]
    grammar, numbers = Grammar(tokenizer, patterns), numpy.random.default_rng(options.seed)
    found = [pair for _ in range(options.draws)
             for pair in judged(grammar, numbers, options.mlm_probability, tokenizer.token_to_id("[MASK]"), tokenizer.get_vocab_size())]
    losses, right, blind = (numpy.array(column, float) for column in zip(*found))
    print(f"loss {losses.mean():.4f} +- {losses.std() / len(losses) ** 0.5:.4f}, accuracy {right.mean():.4f} +- "
          f"{right.std() / len(right) ** 0.5:.4f}, of {len(losses)} hidden tokens; loss without the other words {blind.mean():.4f}")


if __name__ == "__main__":
    main()
