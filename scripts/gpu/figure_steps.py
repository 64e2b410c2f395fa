"""Steps that compare figures of runs: with the CPU's, with other strategies, with another precision, with themselves gone on with."""
import functools
import os
import shutil

from heads_and_strategies import FAMILIES, STRATEGIES
from trial import SMALL, WITHOUT_DROPOUT, apart

PADDED = ("llama", "bert")  # grouped heads behind one another, and all beside all
BARS = {"cuda": 1e-4, "cpu": 0.0}  # of losses beside the CPU's: four updates by other kernels, and the same ones


def families(trial, options):
    """four updates of every family with every head, beside the CPU's"""
    def compared(family, task):
        place = os.path.join(trial.folder, f"{family}-{task}")
        beside = trial.data().trained(family, task, place + "-cpu", on_cpu=True)
        found = trial.data().trained(family, task, place, on_cpu=not trial.on_gpu)
        for folder in (place, place + "-cpu"):
            shutil.rmtree(folder)
        difference = apart(found[0], beside[0])
        return difference <= BARS[trial.device], f"losses {difference:.1e} apart"

    trial.each({f"{family}, {task}": functools.partial(compared, family, task) for family in options.families or FAMILIES
                for task in FAMILIES[family][3].split()})


def strategies(trial, options):
    """twenty updates under every strategy on one rank, beside none; losses and norms of gradients"""
    steps = ["--max_steps", 20, "--save_strategy", "no", "--max_grad_norm", 0.5, "--gradient_accumulation_steps", 2]
    base = trial.train("plain", *steps)
    for name, flags in STRATEGIES.items():
        if name in ("ddp", "hybrid") or trial.has(name):
            continue
        with trial.row_of(name):
            run = trial.train(name, *steps, *flags("GPT2Block", 1))
            losses, norms = (apart(run.figures(key), base.figures(key)) for key in ("loss", "grad_norm"))
            trial.row(name, max(losses, norms) <= (1e-4 if trial.on_gpu else 1e-6), f"losses {losses:.1e} apart, norms {norms:.1e}")


def precision(trial, options):
    """fifty updates in bfloat16 and float16 beside float32"""
    # Without dropout, which draws other places in each precision: 4e-3 of the difference was its own.
    steps = ["--max_steps", 50, "--save_strategy", "no", "--config_overrides", SMALL + WITHOUT_DROPOUT]
    base = trial.train("float32", *steps).figures()
    with trial.row_of("bf16"):
        difference = apart(trial.train("bfloat16", *steps, "--bf16").figures(), base)
        trial.row("bf16", difference <= 2e-2, f"losses {difference:.1e} apart")
    for family in PADDED:  # rows of many lengths, for which attention takes other kernels
        name = f"bf16, padded {family}"
        with trial.row_of(name):
            found, beside = (trial.data().padded(family, os.path.join(trial.folder, f"padded-{family}-{kind}"), *more)
                             for kind, more in (("bf16", ["--bf16"]), ("float32", [])))
            difference = apart(found, beside)
            trial.row(name, difference <= 2e-2, f"losses {difference:.1e} apart")
    if not trial.on_gpu:
        return trial.skip("fp16", "it needs a GPU")
    with trial.row_of("fp16 with a loss scale"):
        difference = apart(trial.train("float16", *steps, "--fp16").figures(), base)
        trial.row("fp16 with a loss scale", difference <= 2e-2, f"losses {difference:.1e} apart")


def going_on(trial, options):
    """resumed, saved beside training and recomputed with dropout: the same bits; of long rows in bf16 with --full_determinism"""
    steps = ["--max_steps", 12, "--save_strategy", "steps", "--save_steps", 6]
    straight = trial.train("straight", *steps)
    with trial.row_of("resumed at 6 of 12"):
        trial.row("resumed at 6 of 12", *resumed_beside(trial, straight, steps))
    for name, flag in (("saved in the background", "--async_save"), ("recomputed", "--gradient_checkpointing")):
        with trial.row_of(name):
            other = trial.train(flag.strip("-"), *steps, flag)
            trial.row(name, other.weights() == straight.weights(), f"losses {apart(other.figures(), straight.figures()):.1e} apart")
    # Beyond 128 places flash attention's blocks of keys add their parts of a gradient in the order in which they come.
    places = 1024 if trial.on_gpu else 64
    long = [*steps, "--bf16", "--per_device_train_batch_size", 2, "--block_size", places, "--config_overrides",
            f"n_layer=2,n_head=2,n_embd=128,n_positions={places},vocab_size=512,bos_token_id=0,eos_token_id=0"]
    for name, more, holds in (("without", [], False), ("with", ["--full_determinism"], True)):
        row = f"bf16 of {places} places, {name} --full_determinism"
        with trial.row_of(row):
            same, figure = resumed_beside(trial, trial.train(f"long-{name}", *long, *more), [*long, *more])
            trial.row(row, same if holds else None, f"resumed with {'the same' if same else 'other'} bits, {figure}")


def resumed_beside(trial, straight, flags):
    """Whether a run that goes on from update 6 of `straight` has its losses and weights to the last bit, and the figure."""
    resumed = trial.train(os.path.basename(straight.output) + "-resumed", *flags, "--resume_from_checkpoint", os.path.join(straight.output, "checkpoint-6"))
    later = {step: loss for step, loss in straight.figures().items() if step > 6}
    return resumed.figures() == later and resumed.weights() == straight.weights(), f"losses {apart(resumed.figures(), later):.1e} apart"
