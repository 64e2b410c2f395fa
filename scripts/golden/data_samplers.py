"""Golden data of tests/data/samplers_test.cpp, made by the real torch and accelerate packages.

Writes tests/golden/data/samplers.json: hashes and samples of torch.randperm, and the batches that accelerate's
BatchSamplerShard gives every rank over a grid of sizes and options.
Usage: python scripts/golden/data_samplers.py
"""

import itertools
import json
import pathlib

import torch
from accelerate.data_loader import BatchSamplerShard
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/samplers.json"
PRIME = 1099511628211


def digest(values):
    """FNV-1a over the numbers, modulo 2^64: a permutation in one number."""
    state = 14695981039346656037
    for value in values:
        state = ((state ^ value) * PRIME) % 2**64
    return str(state)


def permutation(n, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    order = torch.randperm(n, generator=generator).tolist()
    return {"n": n, "seed": str(seed), "first": order[:5], "last": order[-3:], "digest": digest(order)}


def large_permutation(n, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    order = torch.randperm(n, generator=generator)
    places = [0, 1, 2, n // 3, n // 2, n - 2, n - 1]
    return {"n": n, "seed": str(seed), "places": places, "values": order[places].tolist()}


def shard(n, batch, world, rank, drop_last, even, split):
    base = BatchSampler(SequentialSampler(range(n)), batch, drop_last)
    if world == 1:  # accelerate leaves the sampler alone then
        return list(base), len(base)
    sampler = BatchSamplerShard(base, world, rank, split_batches=split, even_batches=even)
    return list(sampler), len(sampler)


def grid():
    flags = (False, True)
    for n, batch, world in itertools.product((0, 1, 2, 3, 5, 7, 8, 11, 12, 16, 17, 24, 25, 31), (1, 2, 3, 4, 8), (1, 2, 3, 4)):
        for drop_last, even, split in itertools.product(flags, flags, flags):
            if (split and batch % world) or (world == 1 and (split or not even)):
                continue
            for rank in range(world):
                batches, length = shard(n, batch, world, rank, drop_last, even, split)
                yield [n, batch, world, rank, int(drop_last), int(even), int(split), length, batches]


def shuffled(n, batch, seed, epoch):
    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    sampler = RandomSampler(range(n), generator=generator)
    return {"n": n, "batch": batch, "seed": str(seed), "epoch": epoch, "batches": list(BatchSampler(sampler, batch, False))}


def main():
    sizes = (0, 1, 2, 3, 10, 1000, 65537, 100000)
    seeds = (0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**32 + 7, 2**63 + 5)
    cases = list(grid())
    # Large grids are kept as digests; the small ones in full, so that a failure can be read.
    for case in cases:
        flat = [x for b in case[8] for x in (len(b), *b)]
        case[8] = digest(flat) if case[0] > 8 else case[8]
    record = {
        "torch": torch.__version__.split("+")[0],
        "permutations": [permutation(n, s) for n in sizes for s in seeds],
        "large_permutation": large_permutation((2**32 - 1) // 20, 42),
        "shards": cases,
        "shuffled": [shuffled(23, 4, s, e) for s in (42, 2**32 + 7) for e in (0, 1, 5)],
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, separators=(",", ":"))
    OUT.write_text(text.replace("],[", "],\n[").replace("},{", "},\n{") + "\n")


main()
