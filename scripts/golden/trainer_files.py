#!/usr/bin/env python3
"""Writes tests/golden/interchange: the files that the Trainer leaves of an optimizer, a schedule and random numbers, small, and in
expected.json what torch.load reads in them.

Usage: scripts/golden/trainer_files.py
"""
import json
import pathlib
import random

import numpy
import torch

folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "interchange"


def main():
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(3)
    weight, bias = torch.nn.Parameter(torch.randn(2, 3)), torch.nn.Parameter(torch.randn(3))
    optimizer = torch.optim.AdamW([{"params": [weight], "weight_decay": 0.1}, {"params": [bias], "weight_decay": 0.0}], lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    for _ in range(2):
        (weight.sum() * bias.sum()).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    torch.save(schedule.state_dict(), folder / "scheduler.pt")
    torch.save({"scale": 32768.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 12}, folder / "scaler.pt")
    random.seed(5)
    numpy.random.seed(5)
    torch.save({"python": random.getstate(), "numpy": numpy.random.get_state(), "cpu": torch.get_rng_state()}, folder / "rng_state.pth")
    state = optimizer.state_dict()["state"]
    (folder / "expected.json").write_text(json.dumps({
        "exp_avg": [state[i]["exp_avg"].flatten().tolist() for i in range(2)],
        "exp_avg_sq": [state[i]["exp_avg_sq"].flatten().tolist() for i in range(2)],
        "cpu_begins": torch.get_rng_state()[:16].tolist(),
        "python": random.getstate()[1][:4], "numpy": numpy.random.get_state()[1][:4].tolist(),
    }, indent=1) + "\n")


main()
