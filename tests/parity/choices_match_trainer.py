#!/usr/bin/env python3
"""Every optimizer and every schedule against the Hugging Face Trainer: the same folder, text and seed, a few updates each.

  choices_match_trainer.py [--cases NAME…] [--steps 8]

What hftrain offers is read from its own table of flags, so that a new value is compared or named below with why it cannot be. The bars
are a relative difference of 1e-4 in the losses and 1e-9 in the learning rates.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "bench"))
import fixtures

COMMON = dict(per_device_train_batch_size=4, logging_steps=1, save_strategy="no", learning_rate=1e-3, seed=7, weight_decay=0.1)
EVALUATED = dict(eval_strategy="steps", eval_steps=1)
# What the Trainer has here, and what a value needs so that it shows itself in a few updates.
CASES = {
    "optim": {"adamw_torch_fused": {}, "adamw_torch": {}, "adafactor": {}, "sgd": dict(optim_args="momentum=0.9,nesterov=True"), "adagrad": {},
              "rmsprop": dict(optim_args="momentum=0.5")},
    "lr_scheduler_type": {
        "linear": {}, "cosine": {}, "cosine_with_restarts": dict(lr_scheduler_kwargs=dict(num_cycles=2)),
        "polynomial": dict(lr_scheduler_kwargs=dict(power=2)), "constant": {}, "constant_with_warmup": {}, "inverse_sqrt": {},
        "reduce_lr_on_plateau": dict(lr_scheduler_kwargs=dict(mode="max", patience=0), **EVALUATED),
        "cosine_with_min_lr": dict(lr_scheduler_kwargs=dict(min_lr_rate=0.4)),
        "cosine_warmup_with_min_lr": dict(lr_scheduler_kwargs=dict(min_lr_rate=0.4, warmup_lr_rate=0.5)),
        "warmup_stable_decay": dict(lr_scheduler_kwargs=dict(num_decay_steps=3)),
        "greedy": dict(lr_scheduler_kwargs=dict(mode="max", patience=0), **EVALUATED)}}
WITHOUT_PEER = {
    "optim": {"adamw_anyprecision": "torchdistX is not there", "lion_32bit": "bitsandbytes is not there", "lion": "not the Trainer's", "adam": "not the Trainer's",
              "adamw_hf": "of older releases", "adamw_apex_fused": "apex is not there"},
    "lr_scheduler_type": {name: "DeepSpeed's" for name in ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "LRRangeTest", "OneCycle")}}


def working_values(flag):
    table = fixtures.run([fixtures.HFTRAIN, "docs", "arguments"]).stdout
    offered = re.search(rf"^\| {flag} \| one of ([^|]*?) \|", table, re.M).group(1).split(", ")
    return set(offered) - set(re.findall(rf"^\| {flag} \| (\S+) \| refused", table, re.M))


class Peer:
    """The Trainer in this process, anew for each case."""

    def __init__(self, model, text, evaluated):
        import torch
        from peer_trainer import blocks
        from transformers import AutoTokenizer
        torch.set_num_threads(1)
        tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = model
        self.train, self.evaluated = ([{"input_ids": row, "labels": row} for row in blocks(tokenizer, path, 64)] for path in (text, evaluated))

    def records(self, folder, arguments):
        import torch
        from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator
        trainer = Trainer(model=AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32),
                          args=TrainingArguments(output_dir=folder, use_cpu=True, report_to="none", disable_tqdm=True, **arguments),
                          train_dataset=self.train, eval_dataset=self.evaluated, data_collator=default_data_collator)
        trainer.train()
        return trainer.state.log_history


def ours(folder, model, text, evaluated, arguments):
    flags = [part for key, value in arguments.items() for part in (f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value))]
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", model, "--train_file", text, "--validation_file", evaluated, "--block_size", "64",
                  "--output_dir", folder, "--use_cpu", "--do_train", *flags], env={**os.environ, "OMP_NUM_THREADS": "1"})
    return fixtures.our_records(folder)


def main():
    every = {f"{flag}={value}": (flag, value) for flag, values in CASES.items() for value in values}
    for flag in CASES:
        known = {*CASES[flag], *WITHOUT_PEER[flag]}
        if working_values(flag) != known:
            raise SystemExit(f"--{flag} offers other values than this test knows: {working_values(flag) ^ known}")
        for value, why in WITHOUT_PEER[flag].items():
            print(f"not compared: {flag}={value}, {why}")
    prepared = {}

    def compare(name, steps, scratch):
        flag, value = every[name]
        if not prepared:
            text, evaluated = fixtures.sample_text(scratch, 60_000), fixtures.sample_text(scratch, 4_000, seed=2)
            model = fixtures.model_folder(scratch, "tiny-gpt2", fixtures.tokenizer(scratch, text))
            prepared.update(files=(model, text, evaluated), peer=Peer(model, text, evaluated))
        arguments = {**COMMON, "max_steps": steps, "warmup_steps": 2, flag: value, **CASES[flag][value]}
        logs = prepared["peer"].records(f"{scratch}/{name}-peer", arguments), ours(f"{scratch}/{name}", *prepared["files"], arguments)
        theirs, mine = ([(record["loss"], record["learning_rate"]) for record in log if "loss" in record] for log in logs)
        if len(theirs) != steps or len(mine) != steps:
            raise SystemExit(f"{name}: {len(theirs)} and {len(mine)} updates of {steps}")
        worst = fixtures.largest(abs(one[0] - other[0]) / one[0] for one, other in zip(theirs, mine))
        rates = fixtures.largest(abs(one[1] - other[1]) for one, other in zip(theirs, mine))
        print(f"{name}: loss {theirs[0][0]:.4f} -> {theirs[-1][0]:.4f}, worst relative difference {worst:.2e}, of rates {rates:.2e}", flush=True)
        return worst <= 1e-4 and rates <= 1e-9

    fixtures.compare_cases(every, compare, 8)


if __name__ == "__main__":
    main()
