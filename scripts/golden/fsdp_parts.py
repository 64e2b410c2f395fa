#!/usr/bin/env python3
"""Writes tests/golden/interchange/fsdp: what accelerate leaves of FSDP with SHARDED_STATE_DICT, by two ranks of the CPU, small; and in
expected.json the numbers of the model and of its optimizer.

Usage: scripts/golden/fsdp_parts.py
"""
import json
import os
import pathlib
import types

import torch
import torch.distributed as dist
from accelerate.utils import fsdp_utils
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp.fully_sharded_data_parallel import ShardedOptimStateDictConfig, ShardedStateDictConfig, StateDictType

folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "interchange"


def rank(number, ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=number, world_size=ranks)
    torch.manual_seed(3)
    model = torch.nn.Linear(3, 5)  # rows that two ranks do not have alike
    fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
    optimizer = torch.optim.AdamW([{"params": [model.weight], "weight_decay": 0.1}, {"params": [model.bias], "weight_decay": 0.0}], lr=1e-3)
    for _ in range(2):
        model(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    sharded = StateDictType.SHARDED_STATE_DICT
    plugin = types.SimpleNamespace(state_dict_type=sharded, fsdp_version=2, state_dict_config=ShardedStateDictConfig(offload_to_cpu=True),
                                   optim_state_dict_config=ShardedOptimStateDictConfig(offload_to_cpu=True))
    accelerator = types.SimpleNamespace(process_index=number, num_processes=ranks, is_fsdp2=True)
    fsdp_utils.logger = types.SimpleNamespace(info=lambda text: None)
    fsdp_utils.save_fsdp_model(plugin, accelerator, model, "fsdp")
    fsdp_utils.save_fsdp_optimizer(plugin, accelerator, optimizer, model, "fsdp")
    whole = StateDictOptions(full_state_dict=True)
    weights, states = get_model_state_dict(model, options=whole), get_optimizer_state_dict(model, optimizer, options=whole)["state"]
    if number == 0:
        expected = {name: value.tolist() for name, value in weights.items()}
        expected.update({f"{name}.{key}": value.tolist() for name, state in states.items() for key, value in state.items()})
        pathlib.Path("fsdp/expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.chdir(folder)  # the metadata say where they were saved
    torch.multiprocessing.spawn(rank, (2, 29633), nprocs=2)
