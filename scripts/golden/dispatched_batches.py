"""Golden data of tests/data/samplers_test.cpp, made by accelerate: what its DataLoaderDispatcher (dispatch_batches) sends to every rank.

Writes tests/golden/data/dispatched.json: [samples, batch, ranks, rank, drop_last, split_batches, length, batches].
Usage: python scripts/golden/dispatched_batches.py
"""

import itertools
import json
import os
import pathlib
import tempfile

import torch
import torch.multiprocessing as processes
from accelerate import PartialState
from accelerate.data_loader import prepare_data_loader
from torch.utils.data import DataLoader, TensorDataset

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/dispatched.json"


def rows_of(rank, world, folder):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT="29617")
    PartialState(cpu=True)
    rows = []
    for n, batch, drop_last, split in itertools.product((4, 5, 7, 8, 11, 12, 13, 17), (1, 2, 3, 4, 6), (False, True), (False, True)):
        if split and batch % world:
            continue
        if n < world or (drop_last and n < batch * world):
            continue  # too few samples for one round
        loader = prepare_data_loader(DataLoader(TensorDataset(torch.arange(n)), batch_size=batch, drop_last=drop_last), num_processes=world, process_index=rank,
                                     split_batches=split, dispatch_batches=True, put_on_device=True)
        rows.append([n, batch, world, rank, int(drop_last), int(split), len(loader), [part[0].tolist() for part in loader]])
    pathlib.Path(folder, f"{world}-{rank}.json").write_text(json.dumps(rows))


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for world in (2, 3):
            processes.spawn(rows_of, (world, folder), world)
            for rank in range(world):
                rows += json.loads(pathlib.Path(folder, f"{world}-{rank}.json").read_text())
    OUT.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
