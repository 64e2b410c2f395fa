"""The steps that measure by turns with the Trainer: tokens a second and the time to the first update, on the same folder and text."""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time

from speed_steps import UPDATES, WARM_UP, gpt2, gpt2_without_dropout, llama, spread

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "peer_trainer.py")
FIRST = "to the first update"
WORKERS = 2  # processes that load the Trainer's batches, without which the thread that trains would make them


def peers(trial, options):
    """tokens a second of GPT-2 124M by turns with the Trainer, eager and compiled; the goals are 1.7 and 1.05"""
    if has(trial, "the Trainer", "transformers", "accelerate"):
        sides = {"the Trainer": []}
        if compiles(trial, "the Trainer, compiled"):
            sides["the Trainer, compiled"] = ["torch_compile=true"]
        turns(trial, gpt2(trial), sides)


def peers_without_dropout(trial, options):
    """the same without dropout, where both sides take the same kernels of attention"""
    if has(trial, "the Trainer", "transformers", "accelerate"):
        turns(trial, gpt2_without_dropout(trial), {"the Trainer": []})


def peers_of_llama(trial, options):
    """the same of a Llama of 1B, compiled beside Liger's kernels, which know no GPT-2; the goals are 1.25 and 1.0"""
    if not has(trial, "the Trainer", "transformers", "accelerate"):
        return
    sides, both = {"the Trainer": []}, "the Trainer, compiled, with Liger"
    if compiles(trial, both) and has(trial, both, "liger_kernel", "triton"):
        sides[both] = ["torch_compile=true", "use_liger_kernel=true"]
    turns(trial, llama(trial), sides)


def has(trial, side, *packages):
    found = subprocess.run([sys.executable, "-c", f"import {', '.join(packages)}"], capture_output=True)
    if found.returncode != 0:
        trial.skip(side, f"{' and '.join(packages)} are not installed for this Python")
    return found.returncode == 0


def compiles(trial, side):
    """Whether torch.compile can: Triton builds its launcher with a C compiler and Python's headers."""
    if not trial.on_gpu:
        trial.skip(side, "compiling for a CPU takes minutes")
        return False
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    headers = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    if not compiler or not os.path.exists(headers):
        trial.skip(side, f"there is no {headers if compiler else 'C compiler'}, with which Triton builds")
        return False
    return True


def turns(trial, shape, sides):
    figures = {side: [] for side in sides}
    # Which all sides load; its text is then prepared for every turn of ours.
    folder = trial.train("peers-model", *shape.words(trial), "--max_steps", 1).output
    for turn in range(3 if trial.on_gpu else 1):
        mine = trial.once(f"ours, turn {turn}", lambda: ours(trial, shape, folder, f"peers-{turn}"))
        for side, settings in list(sides.items()):
            try:
                theirs = trial.once(f"{side}, turn {turn}", lambda: trainer(trial, shape, folder, turn, settings))
            except subprocess.CalledProcessError as failure:  # the other sides are worth having
                sides.pop(side)
                trial.row(side, False, f"ended with {failure.returncode}: {failure.stderr[-1000:]}")
                continue
            figures[side].append([mine[0] / theirs[0], mine[1] / theirs[1]])
            trial.row(f"{shape.name}: ours / {side}", None, spread([rate for rate, _ in figures[side]], "{:.2f}") + f", beside {WORKERS} loader workers")
            trial.row(f"{shape.name}, {FIRST}: ours / {side}", None, spread([first for _, first in figures[side]], "{:.2f}"))


def ours(trial, shape, folder, place):
    """[tokens a second, seconds from the command to the end of the first update]"""
    begin = time.time()
    run = trial.train(place, *shape.words(trial), model=folder, measured=True)
    times = run.times()
    shutil.rmtree(run.output)  # 5 GiB of a Llama
    return [shape.rate(times), times[1] - begin]


def trainer(trial, shape, folder, turn, settings):
    """The same of the Trainer, whose text is not prepared before: without the seconds of that."""
    out = os.path.join(trial.folder, f"peer-{turn}.json")
    subprocess.run([sys.executable, PEER, "--model", folder, "--train_file", shape.text(trial), "--block_size", str(shape.length), "--out", out,
                    "--", f"output_dir={trial.folder}/peer", f"per_device_train_batch_size={shape.rows}", f"max_steps={UPDATES}",
                    f"logging_steps={WARM_UP}", f"dataloader_num_workers={WORKERS}", "save_strategy=no", "bf16=true", *settings, *([] if trial.on_gpu else ["use_cpu=true"])],
                   check=True, capture_output=True, text=True, timeout=trial.seconds_left())
    with open(out) as file:
        result = json.load(file)
    seconds = dict(enumerate(result["step_seconds"], 1))
    return [shape.rate(seconds), seconds[1] - result["preparation_seconds"]]
