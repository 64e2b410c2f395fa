"""Golden data of tests/data/length_samplers_test.cpp, made by the real transformers and accelerate packages.

Writes tests/golden/data/length_samplers.json: the orders of LengthGroupedSampler over a grid of sizes, seeds and kinds of
lengths, the batches that a Trainer's own loaders give with it (one rank) and that accelerate deals out of it to several
(use_seedable_sampler true and false), and those of BatchRebalanceSampler for every rank. The sortish sampler is in no package any more: here it is in our own
words after the rules of the sequence-to-sequence examples of transformers 4.0, with torch's permutations.
Usage: python scripts/golden/length_samplers.py
"""

import itertools
import json
import pathlib
import tempfile

import torch
import transformers
from accelerate.data_loader import BatchSamplerShard, prepare_data_loader
from torch.utils.data import BatchSampler
from transformers import Trainer, TrainingArguments
from transformers.trainer_pt_utils import BatchRebalanceSampler, LengthGroupedSampler, get_length_grouped_indices

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/length_samplers.json"
PRIME = 1099511628211


def digest(values):
    state = 14695981039346656037
    for value in values:
        state = ((state ^ value) * PRIME) % 2**64
    return str(state)


# Groups of these are filled in the order of a Python set, which is not that of their numbers.
SCATTERED = [1, 4, 1, 2, 20, 1, 1, 10, 1, 1, 12, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 3, 17, 3, 34, 2, 6, 2, 36, 2, 1, 18]


def lengths_of(kind, n):
    """By a rule that C++ can repeat: a linear congruential generator, and what is made of its draws."""
    if kind == "scattered":
        return SCATTERED
    state, lengths = n + 1, []
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        draw = state >> 12
        lengths.append({"uniform": 1 + draw % 512, "equal": 7, "few": 1 + draw % 3, "tail": 1 + (draw % 700) ** 3 // 400000}[kind])
    return lengths


KINDS = ("uniform", "equal", "few", "tail")


def generator(seed):
    return torch.Generator().manual_seed(seed)


def in_full(values, limit):
    return values if len(values) <= limit else digest(values)


def grouped():
    for kind, n, group, seed in itertools.product(KINDS, (1, 2, 7, 40, 333, 5000), (1, 3, 8, 32), (0, 42, 2**32 + 7)):
        yield [kind, n, group, str(seed), in_full(get_length_grouped_indices(lengths_of(kind, n), group, generator=generator(seed)), 40)]


def sortish(lengths, group, seed):
    state = generator(seed)
    order = torch.randperm(len(lengths), generator=state).tolist()
    pieces = [sorted(order[i : i + 50 * group], key=lambda s: lengths[s], reverse=True) for i in range(0, len(order), 50 * group)]
    joined = [sample for piece in pieces for sample in piece]
    groups = [joined[i : i + group] for i in range(0, len(joined), group)]
    best = max(range(len(groups)), key=lambda g: lengths[groups[g][0]])
    groups[0], groups[best] = groups[best], groups[0]
    rest = torch.randperm(len(groups) - 1, generator=state).tolist()
    return groups[0] + [sample for g in rest for sample in groups[1 + g]]


def sortish_cases():
    for kind, n, group, seed in itertools.product(KINDS, (1, 2, 7, 40, 1500), (1, 3, 8), (0, 42)):
        lengths = lengths_of(kind, n)
        longest_first = sorted(range(n), key=lambda s: lengths[s], reverse=True)
        yield [kind, n, group, str(seed), in_full(sortish(lengths, group, seed), 40), in_full(longest_first, 40)]


def dealt():
    """A group of several micro-batches, dealt out to ranks: [n, b, G, W, drop_last, even, split, epoch, batches of each rank]."""
    flags = (False, True)
    for n, batch, world in ((37, 2, 2), (50, 3, 4), (41, 4, 4), (9, 4, 2)):
        for accumulation, drop_last, even, split, epoch in itertools.product((1, 3), flags, flags, flags, (0, 2)):
            if split and batch % world:
                continue
            ranks = []
            for rank in range(world):
                sampler = LengthGroupedSampler(batch * accumulation, lengths=lengths_of("uniform", n), generator=generator(42 + epoch))
                base = BatchSampler(sampler, batch, drop_last)
                ranks.append(list(BatchSamplerShard(base, world, rank, split_batches=split, even_batches=even)))
            yield [n, batch, accumulation, world, int(drop_last), int(even), int(split), epoch, ranks]


def drawn():
    """use_seedable_sampler false and two ranks: accelerate draws a seed for all epochs. [n, b, G, seed, batches of each rank in each epoch]."""
    for n, batch, accumulation in ((37, 2, 1), (50, 3, 2), (9, 4, 1)):
        ranks = []
        for rank in range(2):
            lengths = lengths_of("uniform", n)
            sampler = LengthGroupedSampler(batch * accumulation, lengths=lengths)
            torch.manual_seed(n)
            seed = int(torch.empty((), dtype=torch.int64).random_().item())
            torch.manual_seed(n)
            loader = prepare_data_loader(torch.utils.data.DataLoader(range(n), batch, sampler=sampler), num_processes=2, process_index=rank,
                                         put_on_device=False, use_seedable_sampler=False)
            ranks.append([[samples.tolist() for samples in loader] for _ in range(3)])
        yield [n, batch, accumulation, str(seed), ranks]


class Samples(torch.utils.data.Dataset):
    def __init__(self, lengths):
        self.lengths = lengths

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return {"input_ids": [0] * self.lengths[index]}


def trainer_loaders():
    """The Trainer's own loaders on one rank; what its training loader draws from the global generator is told here."""
    lengths = lengths_of("uniform", 61)
    for strategy, accumulation, drop_last in itertools.product(("group_by_length", "batch_rebalance", "random"), (1, 2), (False, True)):
        arguments = TrainingArguments(
            tempfile.mkdtemp(), per_device_train_batch_size=4, per_device_eval_batch_size=6, gradient_accumulation_steps=accumulation,
            train_sampling_strategy=strategy, dataloader_drop_last=drop_last, seed=42, data_seed=7, report_to=[], use_cpu=True)
        data = Samples(lengths)
        trainer = Trainer(torch.nn.Linear(1, 1), arguments, train_dataset=data, eval_dataset=data)
        loader = trainer.get_train_dataloader()
        torch.manual_seed(7)
        train = [list(batch) for batch in loader.batch_sampler]
        evaluation = [list(batch) for batch in trainer.get_eval_dataloader().batch_sampler]
        yield {"strategy": strategy, "accumulation": accumulation, "drop_last": drop_last, "train": train, "eval": evaluation}


def rebalanced():
    shapes = [(1, 1, 4), (1, 4, 2), (2, 1, 4), (2, 2, 3), (2, 8, 2), (4, 2, 1), (4, 4, 3), (3, 5, 2), (16, 2, 2), (4, 1, 16)]
    cases = [("scattered", 32, (4, 4, 2)), *itertools.product(KINDS, (5, 64, 1000), shapes)]
    for kind, n, (world, accumulation, batch) in cases:
        size = batch * world * accumulation
        for drop_last, epoch in ((False, 0), (True, 3)):
            ranks = []
            for rank in range(world):
                sampler = BatchRebalanceSampler(lengths_of(kind, n), size, world, accumulation, rank=rank, drop_last=drop_last)
                sampler.set_epoch(epoch)
                batches = list(sampler)
                assert len(sampler) == len(batches)
                ranks.append(batches)
            flat = [x for rank in ranks for b in rank for x in (len(b), *b)]
            yield [kind, n, batch, accumulation, world, int(drop_last), epoch, ranks if n == 5 else digest(flat)]


def main():
    record = {
        "transformers": transformers.__version__,
        "grouped": list(grouped()),
        "sortish": list(sortish_cases()),
        "dealt": list(dealt()),
        "drawn": list(drawn()),
        "loaders": list(trainer_loaders()),
        "rebalanced": list(rebalanced()),
    }
    text = json.dumps(record, separators=(",", ":"))
    OUT.write_text(text.replace("],[", "],\n[").replace("},{", "},\n{") + "\n")


main()
