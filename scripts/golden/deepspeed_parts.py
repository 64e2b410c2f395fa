#!/usr/bin/env python3
"""Writes tests/golden/interchange/deepspeed: stage2_parts and stage3_parts, what DeepSpeed leaves of two ranks of the CPU, small; stage2 and
stage3, what its ds_to_universal makes of them; and in expected.json the numbers of the model and of its optimizer, which are the
same for both. several2_parts and several3_parts are of a model in bfloat16 with several parameters in a group, of which one is tied
and one is frozen, with the model's own file as accelerate leaves it; what DeepSpeed's converters say of them is in
several2.json and several3.json. round_robin_parts is of the same model with round_robin_gradients. Needs the packages deepspeed (0.19.8) and safetensors.

Usage: scripts/golden/deepspeed_parts.py
"""
import argparse
import json
import os
import pathlib
import shutil
import tempfile

os.environ["DS_ACCELERATOR"] = "cpu"
import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from deepspeed.checkpoint import ds_to_universal  # noqa: E402
from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "interchange" / "deepspeed"


def model_and_optimizer():
    torch.manual_seed(3)
    model = torch.nn.Linear(3, 5)  # rows that two ranks do not have alike
    return model, torch.optim.AdamW([{"params": [model.weight], "weight_decay": 0.1}, {"params": [model.bias], "weight_decay": 0.0}], lr=1e-3)


def trained_plainly():
    """What two updates make of both without DeepSpeed."""
    model, optimizer = model_and_optimizer()
    for _ in range(2):
        model(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    numbers = {}
    for name, parameter in model.named_parameters():
        numbers[name] = parameter.detach()
        for state in ("exp_avg", "exp_avg_sq"):
            numbers[f"{name}.{state}"] = optimizer.state[parameter][state]
    return numbers


def rank(number, ranks, stage, scratch):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29640 + stage), RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(ranks))
    deepspeed.init_distributed("gloo")
    model, optimizer = model_and_optimizer()
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config={
        "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False, "gradient_clipping": 0.0})
    for _ in range(2):
        engine.backward(engine(torch.ones(1, 3)).square().sum())
        engine.step()
    engine.save_checkpoint(scratch, tag="global_step2")
    dist.barrier()
    dist.destroy_process_group()


class Several(torch.nn.Module):
    """`head` is tied to `embed`, and `fixed` is frozen."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(5, 3)
        self.inner = torch.nn.Linear(3, 4)
        self.fixed = torch.nn.Linear(4, 4, bias=False)
        self.outer = torch.nn.Linear(4, 3)
        self.head = torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.fixed.weight.requires_grad = False

    def forward(self, ids):
        return self.head(self.outer(self.fixed(self.inner(self.embed(ids)))))


def rank_of_several(number, stage, round_robin, scratch):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29660 + stage), RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE="2")
    deepspeed.init_distributed("gloo")
    torch.manual_seed(5)
    model = Several()
    decayed = [parameter for name, parameter in model.named_parameters() if parameter.requires_grad and not name.endswith("bias")]
    others = [parameter for name, parameter in model.named_parameters() if name.endswith("bias")]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=1e-2)
    zero = {"stage": stage, "round_robin_gradients": True} if round_robin else {"stage": stage}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config={
        "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": zero, "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False, "gradient_clipping": 0.0})
    for ids in ([0, 1, 2, 3], [4, 0, 2, 2]):
        engine.backward(engine(torch.tensor([ids])).float().square().sum())
        engine.step()
    engine.save_checkpoint(scratch, tag="global_step2")
    with deepspeed.zero.GatheredParameters(list(engine.module.parameters()), enabled=stage == 3):
        whole = {name: tensor.detach().clone().contiguous() for name, tensor in engine.module.state_dict().items()}
    if number == 0:
        save_file(whole, os.path.join(scratch, "model.safetensors"), metadata={"format": "pt"})
    dist.barrier()
    dist.destroy_process_group()


def write_numbers(scratch, path):
    """Of the weights what zero_to_fp32 says, of the optimizer what ds_to_universal does."""
    numbers = get_fp32_state_dict_from_zero_checkpoint(scratch)
    rounded = load_file(os.path.join(scratch, "model.safetensors"))
    for name, tensor in numbers.items():
        torch.testing.assert_close(tensor.to(torch.bfloat16), rounded[name], rtol=0, atol=0)
    shapes = {name: tensor.shape for name, tensor in numbers.items()}
    universal = os.path.join(scratch, "universal")
    ds_to_universal.main(argparse.Namespace(input_folder=os.path.join(scratch, "global_step2"), output_folder=universal, num_extract_workers=1,
                                            num_merge_workers=1, keep_temp_folder=False, strict=True, inject_missing_state=True))
    for file in sorted(pathlib.Path(universal, "zero").glob("*/exp_avg*.pt")):
        saved = torch.load(file, weights_only=True)
        saved = saved["param"] if isinstance(saved, dict) else saved
        numbers[f"{file.parent.name}.{file.stem}"] = saved.reshape(shapes[file.parent.name])
    path.write_text(json.dumps({name: tensor.tolist() for name, tensor in numbers.items()}, indent=1) + "\n")


def write_several(stage, round_robin, target):
    with tempfile.TemporaryDirectory() as scratch:
        torch.multiprocessing.spawn(rank_of_several, (stage, round_robin, scratch), nprocs=2)
        shutil.rmtree(folder / target, ignore_errors=True)
        (folder / target).mkdir(parents=True)
        for name in ("latest", "model.safetensors"):
            shutil.copy(os.path.join(scratch, name), folder / target)
        shutil.copytree(os.path.join(scratch, "global_step2"), folder / target / "global_step2")
        if not round_robin:
            write_numbers(scratch, folder / f"{target.removesuffix('_parts')}.json")


def main():
    write_several(2, False, "several2_parts")
    write_several(3, False, "several3_parts")
    write_several(2, True, "round_robin_parts")
    for stage in (2, 3):
        with tempfile.TemporaryDirectory() as scratch:
            torch.multiprocessing.spawn(rank, (2, stage, scratch), nprocs=2)
            universal = os.path.join(scratch, "global_step2_universal")
            ds_to_universal.main(argparse.Namespace(input_folder=os.path.join(scratch, "global_step2"), output_folder=universal, num_extract_workers=1,
                                                    num_merge_workers=1, keep_temp_folder=False, strict=True, inject_missing_state=True))
            numbers = trained_plainly()
            for name, plain in numbers.items():
                parameter, _, state = name.partition(".")
                saved = torch.load(os.path.join(universal, "zero", parameter, f"{state or 'fp32'}.pt"), weights_only=True)
                saved = (saved["param"] if isinstance(saved, dict) else saved).reshape(plain.shape)
                torch.testing.assert_close(saved, plain)
                numbers[name] = saved.tolist()
            for target, pointer, saved in ((f"stage{stage}_parts", "latest", "global_step2"), (f"stage{stage}", "latest_universal", "global_step2_universal")):
                shutil.rmtree(folder / target, ignore_errors=True)
                (folder / target).mkdir(parents=True)
                shutil.copy(os.path.join(scratch, pointer), folder / target)
                shutil.copytree(os.path.join(scratch, saved), folder / target / saved)
            (folder / "expected.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
