#!/usr/bin/env python3
"""A checkpoint saved by one strategy on 4 ranks is continued by another on 2 and 1: the losses go on as if nothing had happened.

  resume_across_strategies.py [--all] [--from NAME...] [--to NAME...] [--state_dict full sharded] [--family gpt2|t5|bart]

The global batch stays the same through accumulation and dropout is off, so every later loss must be within 1e-6 of the
undisturbed run; the data goes on in the middle of an epoch and into the next one, so that a batch seen twice or left out would
show. Without options a few pairs are tried, with --all every pair.
"""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from classified_rows import ClassifiedRows
from runs import Fixture, largest

STRATEGIES = {
    "ddp": [],
    "zero1": ["--sharded_ddp", "simple"],
    "shard_grad_op": ["--fsdp", "shard_grad_op auto_wrap", "--fsdp_transformer_layer_cls_to_wrap", "GPT2Block"],
    "full_shard": ["--fsdp", "full_shard auto_wrap", "--fsdp_transformer_layer_cls_to_wrap", "GPT2Block"],
    "hybrid_shard": ["--fsdp", "hybrid_shard auto_wrap", "--fsdp_transformer_layer_cls_to_wrap", "GPT2Block"],
}
FEW = [("ddp", "full_shard"), ("full_shard", "zero1"), ("zero1", "ddp"), ("full_shard", "shard_grad_op")]
SAVED, STEPS, RANKS, TOLERANCE = 6, 11, 4, 1e-6


def flags_of(strategy, state_dict):
    flags = list(STRATEGIES[strategy])
    if "--fsdp" in flags:
        flags += ["--fsdp_config", json.dumps({"state_dict_type": state_dict.upper() + "_STATE_DICT"})]
    return flags


def layouts_of(strategy):
    """Only --fsdp has a choice of state dict; the others write whole tensors."""
    return ["full", "sharded"] if "--fsdp" in STRATEGIES[strategy] else ["full"]


def run(fixture, output, strategy, state_dict, ranks, *more):
    """Losses by step."""
    flags = fixture.flags(output, "--max_steps", STEPS, "--per_device_train_batch_size", 2, "--gradient_accumulation_steps",
                        RANKS // ranks, "--max_train_samples", 32, "--weight_decay", 0.1, "--save_strategy", "steps",
                        "--save_steps", SAVED, *flags_of(strategy, state_dict), *more, ranks=ranks)
    overrides = flags.index("--config_overrides") + 1
    flags[overrides] += fixture.WITHOUT_DROPOUT
    fixture.call(*(fixture.LAYER if flag == "GPT2Block" else flag for flag in flags))
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        records = [json.loads(line) for line in file]
    return {record["step"]: record["loss"] for record in records if "loss" in record}


def check(fixture, source, layout, targets):
    straight = os.path.join(fixture.folder, f"{source}-{layout}")
    expected = run(fixture, straight, source, layout, RANKS)
    checkpoint = os.path.join(straight, f"checkpoint-{SAVED}")
    whole = os.path.exists(os.path.join(checkpoint, "model.safetensors"))
    if whole != (layout == "full"):
        raise SystemExit(f"{source}, {layout}: the weights of the checkpoint are in the other layout")
    fixture.call("checkpoint", "verify", checkpoint)
    for target in targets:
        for ranks in (2, 1):
            output = f"{straight}-{target}-{ranks}"
            losses = run(fixture, output, target, layout if layout in layouts_of(target) else "full", ranks,
                         "--resume_from_checkpoint", checkpoint)
            if sorted(losses) != list(range(SAVED + 1, STEPS + 1)):
                raise SystemExit(f"{source} to {target} on {ranks}: steps {sorted(losses)}")
            worst = largest(abs(losses[step] / expected[step] - 1) for step in losses)
            if not worst <= TOLERANCE:
                raise SystemExit(f"{source} ({layout}) to {target} on {ranks} rank(s): losses differ by {worst:.1e}\n"
                                 f"expected {expected}\nfound    {losses}")
            print(f"{source} ({layout}) on {RANKS} ranks -> {target} on {ranks}: within {worst:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--from", dest="sources", nargs="*", choices=STRATEGIES)
    parser.add_argument("--to", dest="targets", nargs="*", choices=STRATEGIES)
    parser.add_argument("--state_dict", nargs="*", choices=["full", "sharded"], default=["full", "sharded"])
    parser.add_argument("--family", choices=["gpt2", *ClassifiedRows.MODELS], default="gpt2")
    options = parser.parse_args()
    every = [(a, b) for a in options.sources or STRATEGIES for b in options.targets or STRATEGIES]
    chosen = every if options.all or options.sources or options.targets else FEW
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder) if options.family == "gpt2" else ClassifiedRows(folder, options.family)
        for source in dict.fromkeys(a for a, _ in chosen):
            for layout in layouts_of(source):
                if layout in options.state_dict:
                    check(fixture, source, layout, [b for a, b in chosen if a == source])


main()
