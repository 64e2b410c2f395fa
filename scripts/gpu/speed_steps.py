"""Steps that measure: memory beside the plan's, tokens a second, turns with the peers."""
import json
import os
import shutil
import statistics
import subprocess
import sys

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "peer_trainer.py")
WARM_UP = 20  # updates that do not count


def shape_of(trial):
    """(name, flags, tokens of a row and rows): on the CPU the same words train a small model, whose figures stand in docs/benchmarks.md."""
    if not trial.on_gpu:
        return "a small model", [], (64, 2)
    return ("GPT-2 124M, 1,024 tokens, bf16", ["--config_overrides", "n_positions=1024,vocab_size=50257", "--block_size", 1024,
                                               "--per_device_train_batch_size", 8], (1024, 8))


def memory(trial, options):
    """the plan's figure beside what the allocator held at most"""
    layers, width, rows = (8, 512, 32) if trial.on_gpu else (2, 128, 8)
    shape = ["--config_overrides", f"n_layer={layers},n_head=8,n_embd={width},n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0",
             "--per_device_train_batch_size", rows]
    for name, more in (("plain", []), ("recomputed", ["--gradient_checkpointing"]), ("bf16", ["--bf16"])):
        run = trial.train("memory-" + name, *shape, "--max_steps", 5, "--save_strategy", "no", "--skip_memory_metrics", "false", *more)
        with open(os.path.join(run.output, "hftrain", "plan.json")) as file:
            planned = json.load(file)["memory_per_rank"]["total"]
        results, kind = run.results(), "gpu" if trial.on_gpu else "cpu"  # of the CPU by the kernel, with all that is no tensor
        held = sum(results[f"{part}_mem_{kind}_{delta}_delta"] for part, delta in (("init", "alloc"), ("train", "alloc"), ("train", "peaked")))
        good = abs(held / planned - 1) <= 0.05 if trial.on_gpu else None
        trial.row(name, good, f"{held / 2**20:.0f} MiB of {planned / 2**20:.0f} planned")


def speed(trial, options):
    """tokens a second of GPT-2 124M, with LibTorch's kernels and with our own, and a trace of one update"""
    name, shape, _ = shape_of(trial)
    run = trial.train("speed", *shape, "--bf16", "--max_steps", 60, "--logging_steps", 10, "--save_strategy", "no",
                      "--include_num_input_tokens_seen", "all", "--profile_steps", "40:41")
    trial.row(name, None, f"{run.results()['train_tokens_per_second']:.0f} tokens/s with start and trace")
    if trial.on_gpu:  # a CPU always takes its own
        own = trial.train("speed-own-kernels", *shape, "--bf16", "--max_steps", 60, "--logging_steps", 10, "--save_strategy", "no",
                          "--include_num_input_tokens_seen", "all", "--use_liger_kernel")
        trial.row(name + ", kernels of our own", None, f"{own.results()['train_tokens_per_second']:.0f} tokens/s with start")
    trace = os.path.join(run.output, "hftrain", "profile", "rank-0.json")
    trial.row("trace of two updates", os.path.exists(trace), shutil.copy(trace, options.out) if os.path.exists(trace) else "none was written")


def peers(trial, options):
    """tokens a second by turns with the Trainer, eager and compiled, on the same folder and text"""
    found = subprocess.run([sys.executable, "-c", "import accelerate, transformers"], capture_output=True)
    if found.returncode != 0:
        return trial.skip("the Trainer", "transformers and accelerate are not installed for this Python")
    name, shape, (length, rows) = shape_of(trial)
    steps = 3 * WARM_UP
    more = [*shape, "--per_device_train_batch_size", rows, "--bf16", "--max_steps", steps, "--logging_steps", WARM_UP, "--save_strategy", "no"]
    folder = trial.train("peers-model", *more).output  # whose config and tokenizer all sides take

    def ours(turn):
        times = {step: time for step, time in trial.train(f"peers-{turn}", *more).figures("time").items()}
        return length * rows * (steps - WARM_UP) / (times[steps] - times[WARM_UP])

    def trainer(turn, *settings):
        out = os.path.join(trial.folder, f"peer-{turn}.json")
        subprocess.run([sys.executable, PEER, "--model", folder, "--train_file", trial.data().text, "--block_size", str(length), "--out", out,
                        "--", f"output_dir={trial.folder}/peer", f"per_device_train_batch_size={rows}", f"max_steps={steps}",
                        f"logging_steps={WARM_UP}", "save_strategy=no", "bf16=true", *settings, *([] if trial.on_gpu else ["use_cpu=true"])],
                       check=True, capture_output=True, text=True, timeout=trial.seconds_left())
        with open(out) as file:
            times = json.load(file)["step_seconds"]
        return length * rows * (steps - WARM_UP) / (times[-1] - times[WARM_UP - 1])

    sides = {"the Trainer": []}
    if trial.on_gpu:
        sides["the Trainer, compiled"] = ["torch_compile=true"]
    else:
        trial.skip("the Trainer, compiled", "compiling for a CPU takes minutes")
    ratios = {side: [] for side in sides}
    for turn in range(3 if trial.on_gpu else 1):
        mine = ours(turn)
        for side, settings in sides.items():
            ratios[side].append(mine / trainer(turn, *settings))
    for side, found in ratios.items():
        trial.row(f"{name}: ours / {side}", None, f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f}, {len(found)} turns)")
