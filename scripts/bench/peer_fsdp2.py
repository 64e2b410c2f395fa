#!/usr/bin/env python3
"""The peer of sharded training: a plain FSDP2 loop (torch's fully_shard) over a transformers model, under torchrun.

  torchrun --nproc_per_node 2 peer_fsdp2.py --model DIR --batch 2 --block 128 --steps 15 --reshard true --out R.json

Random tokens, AdamW fused, gradient clipping at 1.0 as the Trainer does. Writes the time at the end of every step.
"""
import argparse
import json
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reshard", choices=["true", "false"], default="true")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    dist.init_process_group("gloo")
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
    model.train()
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    reshard = options.reshard == "true"
    for block in model.transformer.h:
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)
    generator = torch.Generator().manual_seed(dist.get_rank())
    times = []
    for _ in range(options.steps):
        ids = torch.randint(0, model.config.vocab_size, (options.batch, options.block), generator=generator)
        model(input_ids=ids, labels=ids).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.time())
    if dist.get_rank() == 0:
        with open(options.out, "w") as file:
            json.dump({"step_seconds": times}, file)
    dist.destroy_process_group()


main()
