"""Writes tests/golden/optim: optimizers.safetensors and schedules.json, made with torch 2.11.0 and transformers 5.17.0.

optimizers.safetensors: "parameter/i" at the start, "gradient/i/step", and "<case>/i/step" after that step; its metadata
"cases" lists name, optimizer, optim_args and settings. lion_32bit and adamw_anyprecision have no installed reference: they
are written out here from their papers' rules in float64.
schedules.json: the rate of every update per case; metric schedules also list the metrics observed.
Usage: python scripts/golden/optim.py [output folder]
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import get_scheduler
from transformers.optimization import Adafactor

STEPS, RATE = 6, 0.01
SHAPES = [(6, 4), (5,), (3, 2, 4)]
DECAY = [0.1, 0.0, 0.1]  # weight decay of each parameter

CASES = [
    ("adamw", "adamw_torch_fused", {}, lambda groups: torch.optim.AdamW(groups, lr=RATE, fused=True)),
    ("adamw_betas", "adamw_torch", {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6},
     lambda groups: torch.optim.AdamW(groups, lr=RATE, betas=(0.8, 0.95), eps=1e-6)),
    ("adam", "adam", {}, lambda groups: torch.optim.Adam(groups, lr=RATE)),
    ("sgd", "sgd", {}, lambda groups: torch.optim.SGD(groups, lr=RATE)),
    ("sgd_momentum", "sgd", {"optim_args": {"momentum": "0.9", "dampening": "0.2"}},
     lambda groups: torch.optim.SGD(groups, lr=RATE, momentum=0.9, dampening=0.2)),
    ("sgd_nesterov", "sgd", {"optim_args": {"momentum": "0.9", "nesterov": "True"}},
     lambda groups: torch.optim.SGD(groups, lr=RATE, momentum=0.9, nesterov=True)),
    ("adagrad", "adagrad", {"optim_args": {"lr_decay": "0.1", "eps": "1e-6"}},
     lambda groups: torch.optim.Adagrad(groups, lr=RATE, lr_decay=0.1, eps=1e-6)),
    ("rmsprop", "rmsprop", {}, lambda groups: torch.optim.RMSprop(groups, lr=RATE)),
    ("rmsprop_centered", "rmsprop", {"optim_args": {"momentum": "0.9", "alpha": "0.9", "centered": "true"}},
     lambda groups: torch.optim.RMSprop(groups, lr=RATE, momentum=0.9, alpha=0.9, centered=True)),
    ("adafactor", "adafactor", {},
     lambda groups: Adafactor(groups, lr=RATE, scale_parameter=False, relative_step=False)),
    ("lion", "lion_32bit", {"beta1": 0.9, "beta2": 0.99}, None),
    ("anyprecision", "adamw_anyprecision", {}, None),
]


def lion(parameter, gradients, decay):
    mean = torch.zeros_like(parameter)
    for gradient in gradients:
        direction = torch.sign(0.9 * mean + 0.1 * gradient)
        parameter = parameter * (1 - RATE * decay) - RATE * direction
        mean = 0.99 * mean + 0.01 * gradient
        yield parameter


def adamw(parameter, gradients, decay):
    first, second = torch.zeros_like(parameter), torch.zeros_like(parameter)
    for step, gradient in enumerate(gradients, 1):
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        root = (second / (1 - 0.999**step)).sqrt() + 1e-8
        parameter = parameter * (1 - RATE * decay) - RATE * first / (1 - 0.9**step) / root
        yield parameter


def optimizers(folder):
    torch.manual_seed(0)
    tensors = {}
    start = [torch.randn(shape) for shape in SHAPES]
    gradients = [[torch.randn(shape) * (0.1 + step) for step in range(STEPS)] for shape in SHAPES]
    for i in range(len(SHAPES)):
        tensors[f"parameter/{i}"] = start[i].clone()
        for step in range(STEPS):
            tensors[f"gradient/{i}/{step}"] = gradients[i][step]
    for case, name, settings, make in CASES:
        if make is None:
            rule = lion if name == "lion_32bit" else adamw
            for i in range(len(SHAPES)):
                for step, value in enumerate(rule(start[i].double(), [g.double() for g in gradients[i]], DECAY[i])):
                    tensors[f"{case}/{i}/{step}"] = value.float()
            continue
        parameters = [torch.nn.Parameter(value.clone()) for value in start]
        optimizer = make([{"params": [p], "weight_decay": decay} for p, decay in zip(parameters, DECAY)])
        for step in range(STEPS):
            for i, parameter in enumerate(parameters):
                parameter.grad = gradients[i][step].clone()
            optimizer.step()
            for i, parameter in enumerate(parameters):
                tensors[f"{case}/{i}/{step}"] = parameter.detach().clone()
    cases = [dict(case=case, optimizer=name, **settings) for case, name, settings, _ in CASES]
    metadata = {"cases": json.dumps(cases), "rate": str(RATE), "steps": str(STEPS), "decay": json.dumps(DECAY)}
    save_file(tensors, folder / "optimizers.safetensors", metadata=metadata)


FACTOR_CASES = [
    ("linear", {}), ("cosine", {}), ("cosine", {"num_cycles": 1.25}), ("cosine_with_restarts", {"num_cycles": 3}),
    ("polynomial", {}), ("polynomial", {"lr_end": 1e-5, "power": 2.0}), ("constant", {}), ("constant_with_warmup", {}),
    ("inverse_sqrt", {}), ("inverse_sqrt", {"timescale": 7}), ("cosine_with_min_lr", {"min_lr": 1e-5}),
    ("cosine_with_min_lr", {"min_lr_rate": 0.2, "num_cycles": 1.0}), ("cosine_warmup_with_min_lr", {"min_lr_rate": 0.1}),
    ("cosine_warmup_with_min_lr", {"min_lr": 2e-5, "warmup_lr_rate": 0.3}),
    ("warmup_stable_decay", {"num_decay_steps": 6}),
    ("warmup_stable_decay", {"num_decay_steps": 5, "num_stable_steps": 4, "warmup_type": "cosine", "decay_type": "1-sqrt",
                             "min_lr_ratio": 0.1}),
    ("warmup_stable_decay", {"num_decay_steps": 8, "warmup_type": "1-sqrt", "decay_type": "cosine", "num_cycles": 1.0}),
]
METRIC_CASES = [
    ("reduce_lr_on_plateau", {"patience": 1}),
    ("reduce_lr_on_plateau", {"mode": "max", "factor": 0.5, "patience": 0, "cooldown": 2, "min_lr": 1e-5,
                              "threshold_mode": "abs", "threshold": 0.05}),
    ("greedy", {"patience": 1, "min_lr": 1e-5, "max_lr": 2e-4, "factor": 0.5}),
    ("greedy", {"patience": 0, "min_lr": 2e-5, "max_lr": 1e-3, "factor": 0.7, "smooth": True, "window_size": 3, "cooldown": 1,
                "warmup": 2, "reset_start": 2, "threshold_mode": "rel"}),
]


def schedules(folder):
    def optimizer():
        return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-4)

    cases = []
    for warmup, total in ((0, 20), (5, 20), (1, 3)):
        for name, options in FACTOR_CASES:
            if total < 20 and name == "warmup_stable_decay":
                continue
            used = optimizer()
            schedule = get_scheduler(name, used, warmup, total, scheduler_specific_kwargs=dict(options))
            rates = []
            for _ in range(total + 3):
                rates.append(used.param_groups[0]["lr"])
                used.step()
                schedule.step()
            cases.append(dict(name=name, options=options, warmup=warmup, total=total, base=1e-4, rates=rates))
    torch.manual_seed(1)
    metrics = [1.0 - 0.1 * i for i in range(6)] + [0.5 + 0.01 * i for i in range(14)] + torch.rand(20).tolist()
    for name, options in METRIC_CASES:
        used = optimizer()
        schedule = get_scheduler(name, used, scheduler_specific_kwargs=dict(options))
        rates = []
        for metric in metrics:
            schedule.step(metric)
            rates.append(used.param_groups[0]["lr"])
        cases.append(dict(name=name, options=options, base=1e-4, metrics=metrics, rates=rates))
    (folder / "schedules.json").write_text(json.dumps(cases, indent=0) + "\n")


def main():
    default = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/optim"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    optimizers(folder)
    schedules(folder)


if __name__ == "__main__":
    main()
