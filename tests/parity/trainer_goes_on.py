#!/usr/bin/env python3
"""A run that goes from the Trainer to hftrain and back has the losses of the Trainer's run that was never broken.

  trainer_goes_on.py [--cases NAME…]

Each case trains 30 updates with the Trainer; from its checkpoint at step 10 hftrain goes on
(--resume_from_checkpoint, --save_for_trainer), and from that one's checkpoint at step 20 the Trainer goes on again.
Another one begins with hftrain and goes to the Trainer. Of other optimizers than AdamW it goes to hftrain alone. Losses are compared at every step, to a relative
difference of 1e-4; so is the learning rate. Then what cannot be gone on from is refused in words.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures
import peers

STEPS = 30
COMMON = dict(per_device_train_batch_size=4, logging_steps=1, learning_rate=1e-3, seed=7, weight_decay=0.1, max_grad_norm=1.0,
              max_steps=STEPS, save_strategy="steps", save_steps=10, warmup_steps=3)
CASES = {  # shape, ranks, arguments, characters of text; the small text makes epochs of a few updates
    "gpt2-linear": ("tiny-gpt2", 1, dict(lr_scheduler_type="linear", gradient_accumulation_steps=2), 60_000, []),
    "llama-cosine": ("tiny-llama", 1, dict(lr_scheduler_type="cosine", optim="adamw_torch"), 400_000, []),
    "gpt2-two-ranks": ("tiny-gpt2", 2, dict(lr_scheduler_type="cosine"), 60_000, []),
    "llama-two-ranks-sharded": ("tiny-llama", 2, dict(lr_scheduler_type="linear"), 400_000, ["--fsdp", "full_shard", "--async_save"]),
}
ONE_WAY = {  # whose state hftrain reads, and writes for nobody
    "llama-adafactor": ("tiny-llama", 1, dict(lr_scheduler_type="linear", optim="adafactor"), 60_000, []),
    "gpt2-adagrad": ("tiny-gpt2", 1, dict(lr_scheduler_type="linear", optim="adagrad"), 60_000, []),
    "gpt2-rmsprop": ("tiny-gpt2", 1, dict(lr_scheduler_type="linear", optim="rmsprop", optim_args="momentum=0.5,centered=True"), 60_000, []),
    "gpt2-sgd": ("tiny-gpt2", 1, dict(lr_scheduler_type="linear", optim="sgd", optim_args="momentum=0.9"), 60_000, []),
}
CASES |= ONE_WAY


def peer(folder, name, case, model, text, resume=None):
    """Log records of the Trainer's, which leaves checkpoints in FOLDER/NAME."""
    _, ranks, more, _, _ = CASES[case]
    out = os.path.join(folder, name + ".json")
    arguments = {**COMMON, **more, "output_dir": os.path.join(folder, name), "use_cpu": True}
    peers.run(fixtures.PEER, ["--model", model, "--train_file", text, "--block_size", "128", "--out", out] +
              (["--resume", resume] if resume else []) + ["--"] + [f"{key}={json.dumps(value)}" for key, value in arguments.items()], ranks)
    with open(out) as file:
        return by_step(json.load(file)["log_history"])


def by_step(records):
    return {record["step"]: record for record in records if "loss" in record}


def flags(case, model, text, out):
    _, ranks, more, _, own = CASES[case]
    return ["--model_name_or_path", model, "--train_file", text, "--block_size", "128", "--output_dir", out, "--use_cpu", "--nproc_per_node",
            str(ranks), "--do_train", *own] + [part for key, value in {**COMMON, **more}.items() for part in (f"--{key}", str(value))]


def ours(case, model, text, out, *more):
    fixtures.run([fixtures.HFTRAIN, *flags(case, model, text, out), *more])
    return by_step(fixtures.our_records(out))


def same(what, steps, theirs, mine):
    """Losses and learning rates at `steps`."""
    missing = [step for step in steps if step not in mine]
    if missing:
        print(f"  {what}: no losses at {missing}")
        return False
    apart = fixtures.largest(abs(mine[s]["loss"] - theirs[s]["loss"]) / theirs[s]["loss"] for s in steps)
    rates = fixtures.largest(abs(mine[s]["learning_rate"] - theirs[s]["learning_rate"]) for s in steps)
    print(f"  {what}: worst relative difference of a loss {apart:.2e}, of a rate {rates:.1e}", flush=True)
    return apart <= 1e-4 and rates <= 1e-12


def compare(case, scratch):
    shape, ranks, _, size, _ = CASES[case]
    text = fixtures.sample_text(scratch, size=size)
    model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, text))
    folder = os.path.join(scratch, case)
    os.makedirs(folder)
    whole = peer(folder, "whole", case, model, text)
    print(f"{case}: losses {whole[1]['loss']:.4f} -> {whole[STEPS]['loss']:.4f}", flush=True)
    there = os.path.join(folder, "whole", "checkpoint-10")
    between = os.path.join(folder, "between")
    middle = ours(case, model, text, between, "--resume_from_checkpoint", there, *([] if case in ONE_WAY else ["--save_for_trainer"]))
    good = [same("the Trainer to step 10, then hftrain", range(11, STEPS + 1), whole, middle)]
    if case in ONE_WAY:
        return all(good)
    if ranks == 1:  # the Trainer of several CPU ranks cannot open its own optimizer.pt: torch.load knows no device cpu:0
        last = peer(folder, "last", case, model, text, resume=os.path.join(between, "checkpoint-20"))
        begun = os.path.join(folder, "begun")
        ours(case, model, text, begun, "--save_for_trainer")
        after = peer(folder, "after", case, model, text, resume=os.path.join(begun, "checkpoint-10"))
        good += [same("to step 20, then the Trainer again", range(21, STEPS + 1), whole, last),
                 same("hftrain to step 10, then the Trainer", range(11, STEPS + 1), whole, after)]
    return all(good + [refused(case, model, text, there, folder)])


def refused(case, model, text, checkpoint, scratch):
    """Every file that cannot be gone on from: exit code 4 and the message's four parts."""
    import torch

    def changed(name, change):
        folder = os.path.join(scratch, "refused-" + name)
        shutil.copytree(checkpoint, folder)
        change(pathlib.Path(folder))
        return folder

    def rewrite(change):
        def apply(folder):
            state = torch.load(folder / "optimizer.pt", weights_only=True)
            change(state)
            torch.save(state, folder / "optimizer.pt")
        return apply

    def with_a_class(folder):
        torch.save({"lr": pathlib.PurePosixPath("/")}, folder / "scheduler.pt")

    def cut(folder):
        os.truncate(folder / "optimizer.pt", (folder / "optimizer.pt").stat().st_size - 100)

    def of_sgd(state):
        for one in state["state"].values():
            one.clear()
            one["momentum_buffer"] = torch.zeros(2)

    def fewer(state):
        del state["state"][state["param_groups"][1]["params"].pop()]

    def turned(state):
        state["state"][0]["exp_avg"] = torch.zeros(3, 5)

    cases = {"class": (with_a_class, "asks for 'pathlib.PurePosixPath'"), "cut": (cut, "cut short"), "sgd": (rewrite(of_sgd), "momentum_buffer"),
             "fewer": (rewrite(fewer), "it has groups of"), "shape": (rewrite(turned), "[3,5]")}
    good = True
    for name, (change, words) in cases.items():
        folder = changed(name, change)
        result = subprocess.run([fixtures.HFTRAIN, *flags(case, model, text, os.path.join(scratch, "out-" + name)), "--resume_from_checkpoint", folder],
                                text=True, capture_output=True)
        if result.returncode != 4 or words not in result.stderr or folder not in result.stderr:
            print(f"  refused-{name}: exit code {result.returncode}, without {words!r}:\n{result.stderr}")
            good = False
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        passed = [compare(name, scratch) for name in options.cases]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
