"""Golden data of tests/data/samplers_test.cpp, made by accelerate: the batches of an iterable data set whose ranks read all of it.

Writes tests/golden/data/streamed.json: [samples, batch, ranks, rank, drop_last, split_batches, batches].
Usage: python scripts/golden/streamed_batches.py
"""

import itertools
import json
import pathlib

from accelerate.data_loader import IterableDatasetShard
from torch.utils.data import DataLoader, IterableDataset

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/streamed.json"


class Numbers(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


def main():
    rows = []
    for n, batch, world, drop_last, split in itertools.product((1, 2, 5, 7, 8, 12, 13), (1, 2, 3, 4, 6), (1, 2, 3), (False, True), (False, True)):
        if split and batch % world:
            continue
        for rank in range(world):
            shard = IterableDatasetShard(Numbers(n), batch_size=batch, drop_last=drop_last, num_processes=world, process_index=rank, split_batches=split)
            own = batch // world if split else batch
            whole = Numbers(n) if world == 1 else shard  # one process gets no shard
            batches = [part.tolist() for part in DataLoader(whole, batch_size=own, drop_last=drop_last)]
            rows.append([n, batch, world, rank, int(drop_last), int(split), batches])
    OUT.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
