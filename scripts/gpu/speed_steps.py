"""Steps that measure: memory beside the plan's, tokens a second, turns with the peers."""
import json
import os
import shutil
import statistics
import subprocess
import sys

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "peer_trainer.py")
WARM_UP, UPDATES = 20, 60  # updates that do not count, and all
WORKSPACES = 2 * 32 << 20  # cuBLAS's from the same allocator, for the thread of the forward pass and that of the backward; not in the plan


def shape_of(trial):
    """(name, flags, tokens of a row and rows): on the CPU the same words train a small model, whose figures stand in docs/benchmarks.md."""
    if not trial.on_gpu:
        return "a small model", [], (64, 2)
    return ("GPT-2 124M, 1,024 tokens, bf16", ["--config_overrides", "n_positions=1024,vocab_size=50257", "--block_size", 1024], (1024, 8))


def timed(trial):
    """(name, flags of a run whose first updates do not count, its tokens a second between WARM_UP and the last)"""
    name, shape, (length, rows) = shape_of(trial)
    flags = [*shape, "--per_device_train_batch_size", rows, "--bf16", "--max_steps", UPDATES, "--logging_steps", WARM_UP, "--save_strategy", "no"]

    def rate(place, *more):
        times = trial.train(place, *flags, *more).figures("time")
        return length * rows * (UPDATES - WARM_UP) / (times[UPDATES] - times[WARM_UP])

    return name, flags, rate


def spread(figures, form):
    low, middle, high = (form.format(figure) for figure in (min(figures), statistics.median(figures), max(figures)))
    return f"{middle} ({low} to {high}, {len(figures)} turns)"


def memory(trial, options):
    """the plan's figure beside what the allocator held at most"""
    layers, width, rows = (8, 512, 32) if trial.on_gpu else (2, 128, 8)
    shape = ["--config_overrides", f"n_layer={layers},n_head=8,n_embd={width},n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0",
             "--per_device_train_batch_size", rows]
    for name, more in (("plain", []), ("recomputed", ["--gradient_checkpointing"]), ("bf16", ["--bf16"])):
        if trial.has(name):
            continue
        run = trial.train("memory-" + name, *shape, "--max_steps", 5, "--save_strategy", "no", "--skip_memory_metrics", "false", *more)
        with open(os.path.join(run.output, "hftrain", "plan.json")) as file:
            planned = json.load(file)["memory_per_rank"]["total"]
        results, kind = run.results(), "gpu" if trial.on_gpu else "cpu"  # of the CPU by the kernel, with all that is no tensor
        held = sum(results[f"{part}_mem_{kind}_{delta}_delta"] for part, delta in (("init", "alloc"), ("train", "alloc"), ("train", "peaked")))
        good, figure = as_planned(held, planned)
        trial.row(name, good if trial.on_gpu else None, figure if trial.on_gpu else f"{held / 2**20:.0f} MiB of {planned / 2**20:.0f} planned")


def as_planned(held, planned):
    """Whether what was held is what was planned, and the figures of it."""
    good = 0.95 * planned <= held <= 1.05 * planned + WORKSPACES
    return good, (f"{held / 2**20:.0f} MiB measured, {planned / 2**20:.0f} planned; allowed are 5 % less, or 5 % more and the {WORKSPACES >> 20} MiB"
                  " that cuBLAS's workspaces may add, which no plan has")


def speed(trial, options):
    """tokens a second of GPT-2 124M by turns, with LibTorch's kernels and with our own, and a trace of two updates"""
    name, flags, rate = timed(trial)
    sides = {name: []}
    if trial.on_gpu:  # a CPU always takes its own
        sides[name + ", kernels of our own"] = ["--use_liger_kernel"]
    rates = {side: [] for side in sides}
    for turn in range(3 if trial.on_gpu else 1):
        for number, (side, more) in enumerate(sides.items()):
            rates[side].append(trial.once(f"{side}, turn {turn}", lambda: rate(f"speed-{turn}-{number}", *more)))
    for side, found in rates.items():
        trial.row(side, None, "tokens/s " + spread(found, "{:.0f}"))
    # In a run of its own: what records the trace slows the updates.
    traced = trial.train("trace", *flags, "--profile_steps", "40:41")
    trace = os.path.join(traced.output, "hftrain", "profile", "rank-0.json")
    trial.row("trace of two updates", os.path.exists(trace), shutil.copy(trace, options.out) if os.path.exists(trace) else "none was written")


def peers(trial, options):
    """tokens a second by turns with the Trainer, eager and compiled, on the same folder and text"""
    found = subprocess.run([sys.executable, "-c", "import accelerate, transformers"], capture_output=True)
    if found.returncode != 0:
        return trial.skip("the Trainer", "transformers and accelerate are not installed for this Python")
    _, _, (length, rows) = shape_of(trial)
    name, flags, rate = timed(trial)
    folder = trial.train("peers-model", *flags, "--max_steps", 1).output  # whose config and tokenizer all sides take

    def trainer(turn, *settings):
        out = os.path.join(trial.folder, f"peer-{turn}.json")
        subprocess.run([sys.executable, PEER, "--model", folder, "--train_file", trial.data().text, "--block_size", str(length), "--out", out,
                        "--", f"output_dir={trial.folder}/peer", f"per_device_train_batch_size={rows}", f"max_steps={UPDATES}",
                        f"logging_steps={WARM_UP}", "save_strategy=no", "bf16=true", *settings, *([] if trial.on_gpu else ["use_cpu=true"])],
                       check=True, capture_output=True, text=True, timeout=trial.seconds_left())
        with open(out) as file:
            times = json.load(file)["step_seconds"]
        return length * rows * (UPDATES - WARM_UP) / (times[-1] - times[WARM_UP - 1])

    sides = {"the Trainer": []}
    if trial.on_gpu:
        sides["the Trainer, compiled"] = ["torch_compile=true"]
    else:
        trial.skip("the Trainer, compiled", "compiling for a CPU takes minutes")
    ratios = {side: [] for side in sides}
    for turn in range(3 if trial.on_gpu else 1):
        mine = trial.once(f"ours, turn {turn}", lambda: rate(f"peers-{turn}"))
        for side, settings in sides.items():
            ratios[side].append(mine / trial.once(f"{side}, turn {turn}", lambda: trainer(turn, *settings)))
    for side, found in ratios.items():
        trial.row(f"{name}: ours / {side}", None, spread(found, "{:.2f}"))
