"""The step that trains with every optimizer: its update as it is made for a device, and the one that is skipped there."""
import functools
import math
import os

from figure_steps import BARS
from runs import working_values
from trial import apart

NARROW = 2e-2  # of losses in bfloat16, by other products


def optimizers(trial, options):
    """an epoch with every optimizer in which one update has to be skipped, beside the CPU's"""
    rows = {}
    for name in working_values(trial, "optim"):
        rows[name] = functools.partial(compared, trial, os.path.join(trial.folder, name), ["--optim", name], BARS[trial.device])
        if trial.on_gpu:
            rows[f"{name}, bf16"] = functools.partial(compared, trial, os.path.join(trial.folder, name + "-bf16"), ["--optim", name, "--bf16"], NARROW)
    trial.each(rows)


def compared(trial, place, flags, bar):
    """Whether the same one update was skipped on both, and all losses are within `bar`; the figure."""
    losses, norms = trial.data().with_a_gap(place, not trial.on_gpu, *flags)
    beside, norms_beside = trial.data().with_a_gap(place + "-cpu", True, *flags)
    skipped, expected = ([step for step, norm in found.items() if not math.isfinite(norm)] for found in (norms, norms_beside))
    difference = apart(losses, beside)
    good = difference <= bar and skipped == expected and len(skipped) == 1
    return good, f"losses {difference:.1e} apart, skipped {skipped}, on the CPU {expected}"
