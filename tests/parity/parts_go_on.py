#!/usr/bin/env python3
"""A run whose checkpoint others saved in forms of their own goes on with the losses that it would have had.

  parts_go_on.py [--cases NAME…]

The Trainer trains 20 updates with two ranks. Its checkpoint at step 10 is saved again: by accelerate's calls for FSDP, in parts and whole, from a
model and an optimizer that are sharded; and file by file as DeepSpeed's ds_to_universal lays it out. hftrain goes on from there
under several strategies. Losses and learning rates are compared at every step, losses to a relative difference of 1e-4. The weights
are exported and opened by transformers, and what cannot be gone on from is refused in words. With the package deepspeed the Trainer
itself trains by it, and its checkpoint is converted: cases that are skipped by name without it.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures
import peers

STEPS, BROKEN = 20, 10
COMMON = dict(per_device_train_batch_size=4, logging_steps=1, learning_rate=1e-3, seed=7, weight_decay=0.1, max_grad_norm=1.0, max_steps=STEPS,
              lr_scheduler_type="cosine", warmup_steps=3)
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
WAYS = {  # how hftrain goes on: ranks, flags, and to which step it sees the same samples
    "two ranks": (2, [], STEPS),
    "full_shard": (2, ["--fsdp", "full_shard"], STEPS),
    "one rank": (1, ["--gradient_accumulation_steps", "2"], 15),  # the epoch's last update is filled up for two ranks
}
CASES = {  # who saves and how, and how hftrain goes on
    "fsdp": (("fsdp", "1", "SHARDED_STATE_DICT"), list(WAYS)),
    "fsdp2": (("fsdp", "2", "SHARDED_STATE_DICT"), ["two ranks"]),
    "fsdp-whole": (("fsdp", "1", "FULL_STATE_DICT"), ["two ranks"]),
    "fsdp2-whole": (("fsdp", "2", "FULL_STATE_DICT"), ["full_shard", "one rank"]),
    "fsdp2-adapter": (("fsdp", "2", "SHARDED_STATE_DICT"), ["two ranks", "full_shard"]),
    "universal-2": (("universal", "2"), ["two ranks"]),
    "universal-3": (("universal", "3"), ["full_shard"]),
    "deepspeed-2": (("deepspeed", "2"), ["two ranks", "one rank"]),
    "deepspeed-3": (("deepspeed", "3"), ["full_shard"]),
}
LORA = dict(r=4, lora_alpha=16, target_modules=["c_attn", "c_proj"])


def decayed_first(model):
    """Names of the parameters with weight decay, and of those without."""
    from transformers import Trainer
    decayed = set(Trainer.get_decay_parameter_names(types.SimpleNamespace(), model))
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    return [name for name in names if name in decayed], [name for name in names if name not in decayed]


def shard(model, version, kind):
    """Without a GPU torch gathers only what NO_SHARD keeps whole, which changes nothing of the files."""
    import torch
    if version == "2":
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
        for block in (model.base_model.model if hasattr(model, "peft_config") else model).transformer.h:
            torch.distributed.fsdp.fully_shard(block, mesh=mesh)
        return torch.distributed.fsdp.fully_shard(model, mesh=mesh)
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    strategy = torch.distributed.fsdp.ShardingStrategy["NO_SHARD" if kind == "FULL_STATE_DICT" else "FULL_SHARD"]
    return torch.distributed.fsdp.FullyShardedDataParallel(model, sharding_strategy=strategy, use_orig_params=True, device_id=torch.device("cpu"),
                                                           auto_wrap_policy=ModuleWrapPolicy({type(model.transformer.h[0])}))


def save_fsdp(source, target, version, kind, base=None):
    """One rank of those that save the Trainer's checkpoint SOURCE again, as accelerate does for FSDP; of an adapter of the model BASE, too."""
    import torch
    from accelerate.utils import fsdp_utils
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict
    from torch.distributed.fsdp import fully_sharded_data_parallel as fsdp
    from transformers import AutoModelForCausalLM
    torch.distributed.init_process_group("gloo")
    model = AutoModelForCausalLM.from_pretrained(base or source)
    if base:
        from peft import PeftModel
        model = PeftModel.from_pretrained(model, source, is_trainable=True)
    groups = decayed_first(model)
    order = groups[0] + groups[1]
    saved = torch.load(os.path.join(source, "optimizer.pt"), weights_only=True, map_location="cpu")
    model = shard(model, version, kind)
    own = {name.replace("_fsdp_wrapped_module.", ""): parameter for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW([{"params": [own[name] for name in group], "initial_lr": COMMON["learning_rate"]} for group in groups])
    named = [{**group, "params": [order[i] for i in group["params"]]} for group in saved["param_groups"]]
    set_optimizer_state_dict(model, optimizer, {"state": {order[i]: state for i, state in saved["state"].items()}, "param_groups": named},
                             options=StateDictOptions(full_state_dict=True))
    configs = {"SHARDED_STATE_DICT": (fsdp.ShardedStateDictConfig, fsdp.ShardedOptimStateDictConfig),
               "FULL_STATE_DICT": (fsdp.FullStateDictConfig, fsdp.FullOptimStateDictConfig)}[kind]
    own = {"rank0_only": True} if kind == "FULL_STATE_DICT" else {}
    plugin = types.SimpleNamespace(state_dict_type=fsdp.StateDictType[kind], fsdp_version=int(version),
                                   state_dict_config=configs[0](offload_to_cpu=True, **own),
                                   optim_state_dict_config=configs[1](offload_to_cpu=True, **own))
    rank = torch.distributed.get_rank()
    accelerator = types.SimpleNamespace(process_index=rank, num_processes=torch.distributed.get_world_size(), is_fsdp2=version == "2")
    fsdp_utils.logger = types.SimpleNamespace(info=lambda text: None)
    fsdp_utils.save_fsdp_model(plugin, accelerator, model, target, adapter_only=bool(base))
    fsdp_utils.save_fsdp_optimizer(plugin, accelerator, optimizer, model, target)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def save_universal(source, target, stage):
    """What ds_to_universal makes of stages 1 and 2: tensors in their shapes; of stage 3: in one row, and shapes beside the model."""
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(source)
    weights = dict(model.named_parameters())
    saved = torch.load(os.path.join(source, "optimizer.pt"), weights_only=True, map_location="cpu")["state"]
    folder = pathlib.Path(target) / f"global_step{BROKEN}_universal"
    for number, name in enumerate(sum(decayed_first(model), [])):
        (folder / "zero" / name).mkdir(parents=True)
        for state, tensor in {"fp32": weights[name].detach(), **saved[number]}.items():
            if state == "step" and stage == "3":
                continue  # it is with the settings
            value = tensor if state == "step" else {"cat_dim": 0, "param": tensor.clone()} if stage == "2" else tensor.flatten().clone()
            torch.save(value, folder / "zero" / name / f"{state}.pt")
    torch.save({"param_groups": [], "optimizer_state_dict": {"state": {0: {"step": saved[0]["step"]}}}} if stage == "3" else {"param_groups": []},
               folder / "zero" / "optimizer_state.pt")
    if stage == "3":
        torch.save({"module": {name: torch.empty(0) for name in weights}, "param_shapes": [{name: weight.shape for name, weight in weights.items()}],
                    "sparse_tensor_module_names": set()}, folder / "zero_pp_rank_0_mp_rank_00_model_states.pt")
    (pathlib.Path(target) / "latest_universal").write_text(folder.name)


def by_step(history):
    return {record["step"]: record for record in history if "loss" in record}


def whole_run(scratch, name, model, text, adapter=None, **more):
    """Log records of the Trainer's by step; its checkpoint at step 10 lies in SCRATCH/NAME."""
    out = os.path.join(scratch, name + ".json")
    arguments = {**COMMON, "output_dir": os.path.join(scratch, name), "use_cpu": True, "save_strategy": "steps", "save_steps": BROKEN, **more}
    peers.run(fixtures.PEER, ["--model", model, "--train_file", text, "--block_size", "128", "--out", out] + (["--adapter", adapter] if adapter else []) +
              ["--"] + [f"{key}={json.dumps(value)}" for key, value in arguments.items()], ranks=2, DS_ACCELERATOR="cpu")
    with open(out) as file:
        return by_step(json.load(file)["log_history"])


def again(scratch, name, who, *how, whole="whole"):
    """The Trainer's checkpoint at step 10 as the peer leaves it: no model's configuration, no weights in the model's own file."""
    source, target = os.path.join(scratch, whole, f"checkpoint-{BROKEN}"), os.path.join(scratch, name, f"checkpoint-{BROKEN}")
    os.makedirs(target)
    if who == "fsdp":
        peers.run(os.path.abspath(__file__), ["--save", source, target, *how], ranks=2)
    else:
        save_universal(source, target, *how)
    for file in ("scheduler.pt", "trainer_state.json", "rng_state_0.pth", "rng_state_1.pth"):
        shutil.copy(os.path.join(source, file), target)
    return target


def by_deepspeed(scratch, name, model, text, stage):
    """Records of a Trainer that trains by DeepSpeed, its checkpoint, and the same in the universal form, made as hftrain says it when a file
    is missing."""
    settings = os.path.join(scratch, name + "-settings.json")
    with open(settings, "w") as file:
        json.dump({"zero_optimization": {"stage": int(stage)}, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
                   "gradient_clipping": 1.0, "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto"}, file)
    whole = whole_run(scratch, name, model, text, deepspeed=settings)
    checkpoint = os.path.join(scratch, name, f"checkpoint-{BROKEN}")
    converted = os.path.join(scratch, name + "-converted", f"checkpoint-{BROKEN}")
    shutil.copytree(checkpoint, converted)
    gone = next(pathlib.Path(converted, f"global_step{BROKEN}").glob("*zero_pp_rank_1_*optim_states.pt"))
    kept = gone.rename(os.path.join(scratch, gone.name))
    result = subprocess.run([fixtures.HFTRAIN, *flags("two ranks", model, text, os.path.join(scratch, name, "not-whole")),
                             "--resume_from_checkpoint", converted], text=True, capture_output=True, env=ONE_THREAD)
    said = re.search(r"`python (-m deepspeed.checkpoint.ds_to_universal [^`]*)`", result.stderr)
    if result.returncode != 4 or not said:
        raise SystemExit(f"{name}: exit code {result.returncode} without a rank's file:\n{result.stderr}")
    shutil.move(kept, gone)
    fixtures.run([sys.executable, *said.group(1).split()], env={**ONE_THREAD, "DS_ACCELERATOR": "cpu"})
    return whole, checkpoint, converted


def flags(way, model, text, out):
    count, more, _ = WAYS[way]
    return ["--model_name_or_path", model, "--train_file", text, "--block_size", "128", "--output_dir", out, "--use_cpu", "--nproc_per_node",
            str(count), "--do_train", "--save_strategy", "no", *more] + [part for key, value in COMMON.items() for part in (f"--{key}", str(value))]


def goes_on(name, way, whole, model, text, checkpoint, scratch, *more):
    out = os.path.join(scratch, name, "on-" + way.replace(" ", "-"))
    fixtures.run([fixtures.HFTRAIN, *flags(way, model, text, out), *more, "--resume_from_checkpoint", checkpoint], env=ONE_THREAD)
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


def other_class(path):
    import pickle
    path.write_bytes(pickle.dumps(pathlib.PurePosixPath("/")))


def changed_file(path, change):
    import torch
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)


def tried(name, case, own_model, text, checkpoint, change, scratch):
    """What hftrain says to a copy of the checkpoint that `change` was done to, and how it ends."""
    folder = os.path.join(scratch, name, "tried-" + case, f"checkpoint-{BROKEN}")
    shutil.copytree(checkpoint, folder)
    change(pathlib.Path(folder))
    return subprocess.run([fixtures.HFTRAIN, *flags("two ranks", own_model, text, os.path.join(scratch, name, "out-" + case)),
                           "--resume_from_checkpoint", folder], text=True, capture_output=True, env=ONE_THREAD)


def refused(name, model, text, checkpoint, scratch):
    """Exit code 4, the file's name and the reason."""
    other = fixtures.model_folder(scratch, "tiny-llama", fixtures.tokenizer(scratch, text))
    zero = f"global_step{BROKEN}_universal/zero/transformer.wte.weight/"
    cases = {"model": (lambda folder: None, other, "the model's weights lack 'model.")}
    if CASES[name][0][-1] == "SHARDED_STATE_DICT":
        cases.update({
            "missing": (lambda folder: (folder / "optimizer_0" / "__1_0.distcp").unlink(), model, "the file is missing"),
            "cut": (lambda folder: os.truncate(folder / "pytorch_model_fsdp_0" / "__0_0.distcp", 5000), model, "and the file has 5000"),
            "class": (lambda folder: other_class(folder / "optimizer_0" / ".metadata"), model, "asks for 'pathlib.PurePosixPath'")})
    elif CASES[name][0][-1] == "FULL_STATE_DICT":
        cases.update({
            "cut": (lambda folder: os.truncate(folder / "pytorch_model_fsdp.bin", 5000), model, "pytorch_model_fsdp.bin"),
            "empty": (lambda folder: changed_file(folder / "optimizer.bin", lambda saved: saved["state"].clear()), model,
                      "the optimizer's state is empty"),
            "another": (lambda folder: changed_file(folder / "optimizer.bin", lambda saved: saved["state"].update(more={"step": 1})), model,
                        "it has state of 'more', which this run does not train")})
    else:
        cases.update({
            "missing": (lambda folder: (folder / zero / "fp32.pt").unlink(), model, zero + "fp32.pt"),
            "cut": (lambda folder: os.truncate(folder / zero / "exp_avg.pt", 5000), model, zero + "exp_avg.pt"),
            "named": (lambda folder: (folder / "latest_universal").write_text("../elsewhere"), model, "it names no folder beside it")})
    good = True
    for case, (change, own_model, words) in cases.items():
        result = tried(name, case, own_model, text, checkpoint, change, scratch)
        if result.returncode != 4 or words not in result.stderr:
            print(f"  {name}, refused-{case}: exit code {result.returncode}, without {words!r}:\n{result.stderr}")
            good = False
    return good


def begun_anew(name, model, text, checkpoint, scratch):
    """A parameter without state is told of, and the run goes on, as the Trainer's."""
    if CASES[name][0][-1] != "FULL_STATE_DICT":
        return True
    gone = "transformer.wpe.weight"
    result = tried(name, "partly", model, text, checkpoint,
                   lambda folder: changed_file(folder / "optimizer.bin", lambda saved: saved["state"].pop(gone)), scratch)
    words = f"no state of the optimizer for 1 of the parameters that this run trains, so that it begins anew for them: {gone}"
    if result.returncode == 0 and words in result.stdout + result.stderr:
        return True
    print(f"  {name}: exit code {result.returncode}, without {words!r}:\n{result.stdout}{result.stderr}")
    return False


def adapter_goes_on(name, model, text, scratch):
    """In parts there is no adapter_config.json: the run's own flags say what it is, and that is told."""
    from adapters_match_peft import first_adapter
    (who, *how), ways = CASES[name]
    first = first_adapter(model, os.path.join(scratch, name + "-first"), {**LORA, "lora_dropout": 0.0})
    whole = whole_run(scratch, name + "-whole", model, text, adapter=first)
    checkpoint = again(scratch, name, who, *how, model, whole=name + "-whole")
    own = ["--use_peft", "--lora_r", str(LORA["r"]), "--lora_alpha", str(LORA["lora_alpha"]), "--lora_dropout", "0", "--lora_target_modules", *LORA["target_modules"]]
    good = all([goes_on(name, way, whole, model, text, checkpoint, scratch, *own) for way in ways])
    bare = shutil.copytree(checkpoint, os.path.join(scratch, name, "bare", os.path.basename(checkpoint)))
    shutil.rmtree(bare + "/optimizer_0")
    os.remove(bare + "/scheduler.pt")
    for case, place, more, code, words in (("told", checkpoint, [], 0, "no adapter_config.json, which would say how it was trained"), ("rank", checkpoint, ["--lora_r", "8"], 4, "lora_A"),
                                           ("fewer", bare, ["--lora_target_modules", "c_attn"], 4, "which this run does not train"),
                                           ("whole", checkpoint, ["--use_peft", "false"], 4, "the model's weights lack")):
        result = subprocess.run([fixtures.HFTRAIN, *flags("two ranks", model, text, os.path.join(scratch, name, case)), *own, *more, "--resume_from_checkpoint", place],
                                text=True, capture_output=True, env=ONE_THREAD)
        if result.returncode != code or words not in result.stdout + result.stderr:
            print(f"  {name}, {case}: exit code {result.returncode}, without {words!r}:\n{result.stderr}")
            good = False
    for command, more in (("export", ["--model_name_or_path", model]), ("merge", [])):
        result = subprocess.run([fixtures.HFTRAIN, "checkpoint", command, checkpoint, os.path.join(scratch, name, command), *more], text=True, capture_output=True, env=ONE_THREAD)
        if result.returncode != 4 or "an adapter in the parts of FSDP" not in result.stderr:
            print(f"  {name}, {command}: exit code {result.returncode}:\n{result.stderr}")
            good = False
    return good


def compare(name, whole, model, text, scratch):
    (who, *how), ways = CASES[name]
    if name.endswith("adapter"):
        return adapter_goes_on(name, model, text, scratch)
    if who == "deepspeed":
        whole, *checkpoints = by_deepspeed(scratch, name, model, text, *how)
        return all([goes_on(called, way, whole, model, text, checkpoint, scratch)
                    for called, checkpoint in zip((name, name + "-converted"), checkpoints) for way in ways])
    checkpoint = again(scratch, name, who, *how)
    good = all([goes_on(name, way, whole, model, text, checkpoint, scratch) for way in ways])
    return all([good, exported(name, model, checkpoint, scratch), refused(name, model, text, checkpoint, scratch),
                begun_anew(name, model, text, checkpoint, scratch)])


def main():
    if sys.argv[1:2] == ["--save"]:
        return save_fsdp(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    absent = [name for name in options.cases if name.startswith("deepspeed") and importlib.util.find_spec("deepspeed") is None]
    for name in absent:
        print(f"SKIPPED: {name}: the package deepspeed is not installed")
    cases = [name for name in options.cases if name not in absent]
    if not cases:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        text = fixtures.sample_text(scratch, size=60_000)
        model = fixtures.model_folder(scratch, "tiny-gpt2", fixtures.tokenizer(scratch, text))
        whole = None if all(name.startswith("deepspeed") or name.endswith("adapter") for name in cases) else whole_run(scratch, "whole", model, text)
        good = all([compare(name, whole, model, text, scratch) for name in cases])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
