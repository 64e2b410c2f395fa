#!/usr/bin/env python3
"""Writes tests/golden/interchange/fsdp: what accelerate leaves of FSDP with SHARDED_STATE_DICT, by two ranks of the CPU, small; and in
expected.json the numbers of the model and of its optimizer. fsdp_whole: the same with FULL_STATE_DICT. fsdp1_whole and fsdp1_flat: of FSDP 1 with
FULL_STATE_DICT and several parameters, of which one is tied, as they are and with those of each unit in one (use_orig_params false); fsdp1.json: what a
model without FSDP has. Without a GPU torch gathers only what NO_SHARD keeps whole, which changes nothing of the files.

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
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.fsdp.fully_sharded_data_parallel import (FullOptimStateDictConfig, FullStateDictConfig, ShardedOptimStateDictConfig,
                                                              ShardedStateDictConfig, StateDictType)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

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
    fsdp_utils.logger = types.SimpleNamespace(info=lambda text: None)
    accelerator = types.SimpleNamespace(process_index=number, num_processes=ranks, is_fsdp2=True)
    for target, kind, of_model, of_optimizer in (("fsdp", StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig, ShardedOptimStateDictConfig),
                                                 ("fsdp_whole", StateDictType.FULL_STATE_DICT, FullStateDictConfig, FullOptimStateDictConfig)):
        plugin = types.SimpleNamespace(state_dict_type=kind, fsdp_version=2, state_dict_config=of_model(offload_to_cpu=True),
                                       optim_state_dict_config=of_optimizer(offload_to_cpu=True))
        fsdp_utils.save_fsdp_model(plugin, accelerator, model, target)
        fsdp_utils.save_fsdp_optimizer(plugin, accelerator, optimizer, model, target)
    whole = StateDictOptions(full_state_dict=True)
    weights, states = get_model_state_dict(model, options=whole), get_optimizer_state_dict(model, optimizer, options=whole)["state"]
    if number == 0:
        expected = {name: value.tolist() for name, value in weights.items()}
        expected.update({f"{name}.{key}": value.tolist() for name, state in states.items() for key, value in state.items()})
        pathlib.Path("fsdp/expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()


class Several(torch.nn.Module):
    """`head` is tied to `embed`."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(5, 3)
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 3))
        self.head = torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.inner(self.embed(ids)))


def trained(model):
    """Every parameter decays alike, because those of a unit may be one."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    for ids in ([0, 1, 2, 3], [4, 0, 2, 2]):
        model(torch.tensor([ids])).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return optimizer


def rank_of_version_1(number, ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=number, world_size=ranks)
    fsdp_utils.logger = types.SimpleNamespace(info=lambda text: None)
    accelerator = types.SimpleNamespace(process_index=number, num_processes=ranks, is_fsdp2=False)
    plugin = types.SimpleNamespace(state_dict_type=StateDictType.FULL_STATE_DICT, fsdp_version=1,
                                   state_dict_config=FullStateDictConfig(offload_to_cpu=True, rank0_only=True),
                                   optim_state_dict_config=FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=True))
    for target, as_they_are in (("fsdp1_whole", True), ("fsdp1_flat", False)):
        torch.manual_seed(5)
        model = FullyShardedDataParallel(Several(), sharding_strategy=ShardingStrategy.NO_SHARD, use_orig_params=as_they_are,
                                         device_id=torch.device("cpu"), auto_wrap_policy=ModuleWrapPolicy({torch.nn.Sequential}))
        optimizer = trained(model)
        fsdp_utils.save_fsdp_model(plugin, accelerator, model, target)
        fsdp_utils.save_fsdp_optimizer(plugin, accelerator, optimizer, model, target)
    if number == 0:
        torch.manual_seed(5)
        model = Several()
        optimizer = trained(model)
        expected = {name: value.tolist() for name, value in model.named_parameters()}
        for name, value in model.named_parameters():
            expected.update({f"{name}.{key}": state.tolist() for key, state in optimizer.state[value].items()})
        pathlib.Path("fsdp1.json").write_text(json.dumps(expected, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.chdir(folder)  # the metadata say where they were saved
    torch.multiprocessing.spawn(rank, (2, 29633), nprocs=2)
    torch.multiprocessing.spawn(rank_of_version_1, (2, 29634), nprocs=2)
