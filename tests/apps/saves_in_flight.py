#!/usr/bin/env python3
"""Saves in the background that something comes in between of: the next save, the end of training, a stop signal, kill -9.

Each run has two ranks. With a save at every update each save begins while the last one is being written, and the checkpoints
hold the same bytes as those of a run that waits for every save. A signal is sent when the temporary folder of a save appears:
SIGTERM to the launcher or to a rank ends with 143 and a checkpoint that verifies; a rank that is killed ends the run with 9, or
with --max_restarts is started again; and however it was disturbed, the run ends with the losses of an undisturbed one.
"""
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import Run, losses, send
from runs import Fixture

SAVES = 8
STEPS = 64  # a run with a dozen saves: one of them is seen while it is written, and the run is not over then


def save_at_every_update(fixture, folder):
    outputs = {}
    for name, *more in (("waits",), ("in_background", "--async_save")):
        outputs[name] = output = os.path.join(folder, name)
        flags = fixture.flags(output, "--max_steps", SAVES, "--save_strategy", "steps", "--save_steps", 1, *more)
        err = fixture.call(*flags).stderr
        said = [int(line.split("checkpoint-")[1].split()[0]) for line in err.splitlines() if "(committed after" in line]
        if said != list(range(1, SAVES + 1)) or fixture.checkpoints(output) != said:
            raise SystemExit(f"{name}: committed {said}, and there are {fixture.checkpoints(output)}\n{err}")
    if losses(outputs["waits"]) != losses(outputs["in_background"]):
        raise SystemExit("saving in the background changed the losses")
    for step in range(1, SAVES + 1):
        first, second = (os.path.join(outputs[name], f"checkpoint-{step}") for name in outputs)
        for name in ("model.safetensors", "optimizer/shard-00001-model-00001-of-00001.safetensors"):
            with open(os.path.join(first, name), "rb") as a, open(os.path.join(second, name), "rb") as b:
                if a.read() != b.read():
                    raise SystemExit(f"checkpoint-{step}: {name} has other bytes when it is saved in the background")
    print(f"{SAVES} saves, one at every update and the last at the end: the bytes of a run that waits")


def wait_for_save(run):
    """Until a save other than the first is being written."""
    while run.process.poll() is None:
        names = os.listdir(run.output) if os.path.isdir(run.output) else []
        if "checkpoint-5" in names and any(name.startswith(".checkpoint-") and ".tmp-" in name for name in names):
            return
        time.sleep(0.0005)
    raise SystemExit("the run ended before it was disturbed:\n" + run.finish()[1])


def check_folder(fixture, output):
    steps = fixture.checkpoints(output)
    if not steps:
        raise SystemExit(f"no checkpoint in {output}")
    for step in steps:
        fixture.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{step}"))


def disturb(fixture, output, number, target, expected_code, *more):
    run = Run(fixture, output, "--max_steps", STEPS, "--async_save", *more)
    if not run.wait_for_workers():
        raise SystemExit("the run ended before its workers ran:\n" + run.finish()[1])
    wait_for_save(run)
    send(run.process.pid if target == "launcher" else run.pid_of(target), number)
    code, err = run.finish()
    if code != expected_code:
        raise SystemExit(f"{signal.Signals(number).name} to {target} {more}: code {code}, expected {expected_code}\n{err}")
    if "--max_restarts" in more and "restart 1 of 1" not in err:
        raise SystemExit(f"{signal.Signals(number).name} to {target} {more}: nothing was started again\n{err}")
    check_folder(fixture, output)
    leftovers = [name for name in os.listdir(output) if name.startswith(".checkpoint-")]
    if leftovers and (number != signal.SIGKILL or "--max_restarts" in more):
        raise SystemExit(f"{signal.Signals(number).name} to {target} left {leftovers}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        save_at_every_update(fixture, folder)
        straight = os.path.join(folder, "straight")
        code, err = Run(fixture, straight, "--max_steps", STEPS).finish()
        if code != 0:
            raise SystemExit(err)
        expected = losses(straight)
        cases = [(signal.SIGTERM, "launcher", 143), (signal.SIGTERM, 1, 143), (signal.SIGKILL, 0, 9),
                 (signal.SIGKILL, 0, 0, "--max_restarts", 1), (signal.SIGKILL, 1, 0, "--max_restarts", 1)]
        for number, case in enumerate(cases):
            output = os.path.join(folder, f"out-{number}")
            disturb(fixture, output, *case)
            if case[2] != 0:
                code, err = Run(fixture, output, "--max_steps", STEPS, "--async_save").finish()
                if code != 0:
                    raise SystemExit(f"started again after {case}: code {code}\n{err}")
            if losses(output) != expected or fixture.checkpoints(output)[-1] != STEPS:
                raise SystemExit(f"{case}: other losses than an undisturbed run, or no last checkpoint")
            check_folder(fixture, output)
        print(f"{len(cases)} saves in flight disturbed: what was committed verified, and the run went on to the same losses")


main()
