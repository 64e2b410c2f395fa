#!/usr/bin/env python3
"""A run whose checkpoint others saved in the parts of their ranks goes on with the losses that it would have had.

  parts_go_on.py [--cases NAME…]

The Trainer trains 20 updates with two ranks. Its checkpoint at step 10 is saved again with the calls of the peer (accelerate's for FSDP), from a
model and an optimizer that are sharded; hftrain goes on from there under several strategies. Losses and learning rates are compared at
every step, losses to a relative difference of 1e-4. The weights are exported and opened by transformers, and what cannot be gone
on from is refused in words.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

STEPS, BROKEN = 20, 10
COMMON = dict(per_device_train_batch_size=4, logging_steps=1, learning_rate=1e-3, seed=7, weight_decay=0.1, max_grad_norm=1.0, max_steps=STEPS,
              lr_scheduler_type="cosine", warmup_steps=3)
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
WAYS = {  # how hftrain goes on: ranks, flags, and to which step it sees the same samples
    "two ranks": (2, [], STEPS),
    "full_shard": (2, ["--fsdp", "full_shard"], STEPS),
    "one rank": (1, ["--gradient_accumulation_steps", "2"], 15),  # the epoch's last update is filled up for two ranks
}
CASES = {"fsdp": ("1", list(WAYS)), "fsdp2": ("2", ["two ranks"])}


def decayed_first(model):
    """Names of the parameters with weight decay, and of those without."""
    from transformers import Trainer
    decayed = set(Trainer.get_decay_parameter_names(types.SimpleNamespace(), model))
    names = [name for name, _ in model.named_parameters()]
    return [name for name in names if name in decayed], [name for name in names if name not in decayed]


def shard(model, version):
    import torch
    if version == "2":
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
        for block in model.transformer.h:
            torch.distributed.fsdp.fully_shard(block, mesh=mesh)
        return torch.distributed.fsdp.fully_shard(model, mesh=mesh)
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    return torch.distributed.fsdp.FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"),
                                                           auto_wrap_policy=ModuleWrapPolicy({type(model.transformer.h[0])}))


def save_fsdp(source, target, version):
    """One rank of those that save the Trainer's checkpoint SOURCE again, as accelerate does for FSDP."""
    import torch
    from accelerate.utils import fsdp_utils
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict
    from torch.distributed.fsdp import fully_sharded_data_parallel as fsdp
    from transformers import AutoModelForCausalLM
    torch.distributed.init_process_group("gloo")
    model = AutoModelForCausalLM.from_pretrained(source)
    groups = decayed_first(model)
    order = groups[0] + groups[1]
    saved = torch.load(os.path.join(source, "optimizer.pt"), weights_only=True, map_location="cpu")
    model = shard(model, version)
    own = {name.replace("_fsdp_wrapped_module.", ""): parameter for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW([{"params": [own[name] for name in group], "initial_lr": COMMON["learning_rate"]} for group in groups])
    named = [{**group, "params": [order[i] for i in group["params"]]} for group in saved["param_groups"]]
    set_optimizer_state_dict(model, optimizer, {"state": {order[i]: state for i, state in saved["state"].items()}, "param_groups": named},
                             options=StateDictOptions(full_state_dict=True))
    plugin = types.SimpleNamespace(state_dict_type=fsdp.StateDictType.SHARDED_STATE_DICT, fsdp_version=int(version),
                                   state_dict_config=fsdp.ShardedStateDictConfig(offload_to_cpu=True),
                                   optim_state_dict_config=fsdp.ShardedOptimStateDictConfig(offload_to_cpu=True))
    rank = torch.distributed.get_rank()
    accelerator = types.SimpleNamespace(process_index=rank, num_processes=torch.distributed.get_world_size(), is_fsdp2=version == "2")
    fsdp_utils.logger = types.SimpleNamespace(info=lambda text: None)
    fsdp_utils.save_fsdp_model(plugin, accelerator, model, target)
    fsdp_utils.save_fsdp_optimizer(plugin, accelerator, optimizer, model, target)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def ranks(*command):
    fixtures.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", *command], env=ONE_THREAD)


def by_step(history):
    return {record["step"]: record for record in history if "loss" in record}


def whole_run(scratch, model, text):
    out = os.path.join(scratch, "whole.json")
    arguments = {**COMMON, "output_dir": os.path.join(scratch, "whole"), "use_cpu": True, "save_strategy": "steps", "save_steps": BROKEN}
    ranks(fixtures.PEER, "--model", model, "--train_file", text, "--block_size", "128", "--out", out, "--",
          *(f"{key}={json.dumps(value)}" for key, value in arguments.items()))
    with open(out) as file:
        return by_step(json.load(file)["log_history"])


def in_parts(scratch, name, version):
    """The checkpoint at step 10 as the peer leaves it: no model's configuration, no weights in one place."""
    source, target = os.path.join(scratch, "whole", f"checkpoint-{BROKEN}"), os.path.join(scratch, name, f"checkpoint-{BROKEN}")
    os.makedirs(target)
    ranks(os.path.abspath(__file__), "--save", source, target, version)
    for file in ("scheduler.pt", "trainer_state.json", "rng_state_0.pth", "rng_state_1.pth"):
        shutil.copy(os.path.join(source, file), target)
    return target


def flags(way, model, text, out):
    count, more, _ = WAYS[way]
    return ["--model_name_or_path", model, "--train_file", text, "--block_size", "128", "--output_dir", out, "--use_cpu", "--nproc_per_node",
            str(count), "--do_train", "--save_strategy", "no", *more] + [part for key, value in COMMON.items() for part in (f"--{key}", str(value))]


def goes_on(name, way, whole, model, text, checkpoint, scratch):
    out = os.path.join(scratch, name, "on-" + way.replace(" ", "-"))
    fixtures.run([fixtures.HFTRAIN, *flags(way, model, text, out), "--resume_from_checkpoint", checkpoint], env=ONE_THREAD)
    mine, steps = by_step(fixtures.our_records(out)), range(BROKEN + 1, STEPS + 1)
    if sorted(mine) != list(steps):
        print(f"  {name}, {way}: losses at {sorted(mine)}")
        return False
    apart = fixtures.largest(abs(mine[s]["loss"] - whole[s]["loss"]) / whole[s]["loss"] for s in steps if s <= WAYS[way][2])
    rates = fixtures.largest(abs(mine[s]["learning_rate"] - whole[s]["learning_rate"]) for s in steps)
    print(f"  {name}, {way}: worst relative difference of a loss {apart:.2e}, of a rate {rates:.1e}", flush=True)
    return apart <= 1e-4 and rates <= 1e-12


def exported(name, model, checkpoint, scratch):
    """inspect and export, and that transformers opens what came of it with the weights of the Trainer's folder."""
    import torch
    from transformers import AutoModelForCausalLM
    seen = json.loads(fixtures.run([fixtures.HFTRAIN, "checkpoint", "inspect", checkpoint, "--json"]).stdout)
    plain = os.path.join(scratch, name, "plain")
    fixtures.run([fixtures.HFTRAIN, "checkpoint", "export", checkpoint, plain, "--model_name_or_path", model])
    there = AutoModelForCausalLM.from_pretrained(os.path.join(scratch, "whole", f"checkpoint-{BROKEN}")).state_dict()
    here = AutoModelForCausalLM.from_pretrained(plain).state_dict()
    same = there.keys() == here.keys() and all(torch.equal(there[key], here[key]) for key in there)
    told = seen["step"] == BROKEN and len(seen["optimizer"]["tensors"]) == 3 * (len(there) - 1)  # the head is the embedding
    if not same or not told:
        print(f"  {name}: exported the same: {same}; inspected {seen['step']}, {len(seen['optimizer']['tensors'])} tensors of {len(there)} parameters")
    return same and told


def refused(name, model, text, checkpoint, scratch):
    """Exit code 4, the file's name and the reason."""
    def changed(case, change):
        folder = os.path.join(scratch, name, "refused-" + case, f"checkpoint-{BROKEN}")
        shutil.copytree(checkpoint, folder)
        change(pathlib.Path(folder))
        return folder

    def other_class(folder):
        import pickle
        (folder / "optimizer_0" / ".metadata").write_bytes(pickle.dumps(pathlib.PurePosixPath("/")))

    other = fixtures.model_folder(scratch, "tiny-llama", fixtures.tokenizer(scratch, text))
    cases = {"missing": (lambda folder: (folder / "optimizer_0" / "__1_0.distcp").unlink(), model, "the file is missing"),
             "cut": (lambda folder: os.truncate(folder / "pytorch_model_fsdp_0" / "__0_0.distcp", 5000), model, "and the file has 5000"),
             "class": (other_class, model, "asks for 'pathlib.PurePosixPath'"), "model": (lambda folder: None, other, "checkpoint-10")}
    good = True
    for case, (change, own_model, words) in cases.items():
        folder = changed(case, change)
        result = subprocess.run([fixtures.HFTRAIN, *flags("two ranks", own_model, text, os.path.join(scratch, name, "out-" + case)),
                                 "--resume_from_checkpoint", folder], text=True, capture_output=True, env=ONE_THREAD)
        if result.returncode != 4 or words not in result.stderr:
            print(f"  {name}, refused-{case}: exit code {result.returncode}, without {words!r}:\n{result.stderr}")
            good = False
    return good


def main():
    if sys.argv[1:2] == ["--save"]:
        return save_fsdp(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text = fixtures.sample_text(scratch, size=60_000)
        model = fixtures.model_folder(scratch, "tiny-gpt2", fixtures.tokenizer(scratch, text))
        whole = whole_run(scratch, model, text)
        good = True
        for name in options.cases:
            version, ways = CASES[name]
            checkpoint = in_parts(scratch, name, version)
            good &= all([goes_on(name, way, whole, model, text, checkpoint, scratch) for way in ways])
            good &= exported(name, model, checkpoint, scratch)
            good &= refused(name, model, text, checkpoint, scratch)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
