"""Writes tests/golden/optim/deepspeed_schedules.json with the schedules of deepspeed 0.19.8, in the form of schedules.json.

The source distribution is enough (`pip download --no-deps deepspeed==0.19.8`, unpacked): one file of it is loaded, with its
logger replaced, so that nothing is installed or compiled.
Usage: python scripts/golden/deepspeed_schedules.py SOURCE_FOLDER [output folder]
"""

import importlib.util
import json
import logging
import pathlib
import sys
import types

import torch

BASE = 1e-4
WARMUP = {"warmup_min_lr": 1e-5, "warmup_max_lr": 2e-4}
CYCLE = {"cycle_min_lr": 1e-5, "cycle_max_lr": 1e-3}
RATE_ONLY = {**CYCLE, "cycle_momentum": False}

# name, options, steps to look at
CASES = [
    ("WarmupLR", {"warmup_num_steps": 6, "warmup_max_lr": BASE}, 12),
    ("WarmupLR", {**WARMUP, "warmup_num_steps": 6, "warmup_type": "linear"}, 12),
    ("WarmupLR", {**WARMUP, "warmup_num_steps": 1}, 6),
    ("WarmupDecayLR", {**WARMUP, "warmup_num_steps": 5, "total_num_steps": 14}, 20),
    ("WarmupDecayLR", {**WARMUP, "warmup_num_steps": 5, "total_num_steps": 14, "warmup_type": "linear"}, 20),
    ("WarmupDecayLR", {**WARMUP, "warmup_num_steps": 9, "total_num_steps": 6}, 14),
    ("WarmupCosineLR", {"warmup_num_steps": 4, "total_num_steps": 15}, 20),
    ("WarmupCosineLR", {"warmup_num_steps": 4, "total_num_steps": 15, "warmup_min_ratio": 0.1, "cos_min_ratio": 0.2,
                        "warmup_type": "linear"}, 20),
    ("LRRangeTest", {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 4, "lr_range_test_step_rate": 2.0}, 12),
    ("LRRangeTest", {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 4, "lr_range_test_staircase": True}, 12),
    ("OneCycle", {**RATE_ONLY, "cycle_first_step_size": 5}, 16),
    ("OneCycle", {**RATE_ONLY, "cycle_first_step_size": 5, "cycle_second_step_size": 7, "decay_step_size": 3,
                  "decay_lr_rate": 0.5}, 24),
    ("OneCycle", {**RATE_ONLY, "cycle_first_step_size": 6, "cycle_second_step_size": 4, "cycle_first_stair_count": 3,
                  "cycle_second_stair_count": 2}, 14),
    ("OneCycle", {**CYCLE, "cycle_first_step_size": 5}, 16),
    ("OneCycle", {**CYCLE, "cycle_first_step_size": 4, "cycle_second_step_size": 6, "cycle_min_mom": 0.7,
                  "cycle_max_mom": 0.85, "decay_step_size": 3, "decay_lr_rate": 0.5, "decay_mom_rate": 0.02}, 24),
    ("OneCycle", {**CYCLE, "cycle_first_step_size": 49, "cycle_first_stair_count": 49, "cycle_second_step_size": 7,
                  "cycle_second_stair_count": 3, "decay_step_size": 0, "decay_mom_rate": 0.5}, 60),
]


def load(source):
    utils = types.ModuleType("deepspeed.utils")
    utils.logger = logging.getLogger("deepspeed")
    sys.modules["deepspeed"] = types.ModuleType("deepspeed")
    sys.modules["deepspeed.utils"] = utils
    spec = importlib.util.spec_from_file_location("lr_schedules", source / "deepspeed/runtime/lr_schedules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    module = load(pathlib.Path(sys.argv[1]))
    default = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/optim"
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else default
    cases = []
    for name, options, count in CASES:
        optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=BASE, betas=(0.9, 0.999))
        schedule = getattr(module, name)(optimizer, **options)
        rates, betas = [], []
        for _ in range(count):
            rates.append(optimizer.param_groups[0]["lr"])
            betas.append(optimizer.param_groups[0]["betas"])
            schedule.step()
        case = dict(name=name, options=options, base=BASE, rates=rates)
        if any(pair != (0.9, 0.999) for pair in betas):
            case["betas"] = betas
        cases.append(case)
    (folder / "deepspeed_schedules.json").write_text(json.dumps(cases, indent=0) + "\n")


if __name__ == "__main__":
    main()
