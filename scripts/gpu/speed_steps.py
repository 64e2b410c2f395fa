"""Steps that measure: memory beside the plan's, tokens a second."""
import json
import os
import random
import shutil
import statistics

from runs import largest
from trial import SMALL, WITHOUT_DROPOUT

GPT2 = "n_positions=1024,vocab_size=50257"
WARM_UP, UPDATES = 20, 60  # updates that do not count, and all
WORKSPACES = 2 * 32 << 20  # cuBLAS's from the same allocator, for the thread of the forward pass and that of the backward; not in the plan


class Shape:
    """A model and its batch, and what a run of it takes: on the CPU the same words train small ones, whose figures stand in docs/benchmarks.md."""

    def __init__(self, name, flags, length, rows):
        self.name, self.flags, self.length, self.rows = name, flags, length, rows

    def text(self, trial):
        """Where no epoch ends within the updates: its last batch is smaller, compiled code is made again for it, and the loader begins anew."""
        return trial.text(8 * UPDATES * self.rows * self.length)

    def words(self, trial):
        """The flags of a run whose first updates do not count."""
        return [*self.flags, "--train_file", self.text(trial), "--per_device_train_batch_size", self.rows, "--bf16", "--max_steps", UPDATES,
                "--logging_steps", WARM_UP, "--logging_first_step", "--save_strategy", "no"]

    def rate(self, times):
        """Tokens a second between WARM_UP and the last update, of their times by step."""
        return self.length * self.rows * (UPDATES - WARM_UP) / (times[UPDATES] - times[WARM_UP])


def gpt2(trial):
    if not trial.on_gpu:
        return Shape("a small model", [], 64, 2)
    return Shape("GPT-2 124M, 1,024 tokens, bf16", ["--config_overrides", GPT2, "--block_size", 1024], 1024, 8)


def gpt2_without_dropout(trial):
    """Beside dropout ours leaves cuDNN's attention alone, which is wrong there (nn/device_attention.h), and the Trainer takes it."""
    if not trial.on_gpu:
        return Shape("a small model without dropout", ["--config_overrides", SMALL + WITHOUT_DROPOUT], 64, 2)
    return Shape("GPT-2 124M without dropout", ["--config_overrides", GPT2 + WITHOUT_DROPOUT, "--block_size", 1024], 1024, 8)


def llama(trial):
    sizes = "hidden_size=2048,intermediate_size=8192,num_hidden_layers=16,num_attention_heads=32,num_key_value_heads=8,vocab_size=128256"
    small = "hidden_size=32,intermediate_size=64,num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,vocab_size=512"
    flags = ["--model_type", "llama", "--config_overrides", f"{sizes if trial.on_gpu else small},tie_word_embeddings=true,max_position_embeddings=2048"]
    if not trial.on_gpu:
        return Shape("a small Llama", flags, 64, 2)
    return Shape("Llama 1B, 2,048 tokens, bf16", [*flags, "--block_size", 2048], 2048, 4)


def spread(figures, form):
    low, middle, high = (form.format(figure) for figure in (min(figures), statistics.median(figures), max(figures)))
    return f"{middle} ({low} to {high}, {len(figures)} turns)"


def memory(trial, options):
    """the plan's figure beside what the allocator held at most: no more than planned, and how much less"""
    layers, width, rows = (8, 512, 32) if trial.on_gpu else (2, 128, 8)
    shape = ["--config_overrides", f"n_layer={layers},n_head=8,n_embd={width},n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0",
             "--per_device_train_batch_size", rows]
    for name, more in (("plain", []), ("recomputed", ["--gradient_checkpointing"]), ("bf16", ["--bf16"])):
        if trial.has(name):
            continue
        with trial.row_of(name):
            run = trial.train("memory-" + name, *shape, "--max_steps", 5, "--save_strategy", "no", "--skip_memory_metrics", "false", *more)
            with open(os.path.join(run.output, "hftrain", "plan.json")) as file:
                planned = json.load(file)["memory_per_rank"]["total"]
            results, kind = run.results(), "gpu" if trial.on_gpu else "cpu"  # of the CPU by the kernel, with all that is no tensor
            held = sum(results[f"{part}_mem_{kind}_{delta}_delta"] for part, delta in (("init", "alloc"), ("train", "alloc"), ("train", "peaked")))
            good, figure = as_planned(held, planned)
            trial.row(name, good if trial.on_gpu else None, figure if trial.on_gpu else f"{held / 2**20:.0f} MiB of {planned / 2**20:.0f} planned")


def as_planned(held, planned):
    """Whether what was held fits into what was planned, or None where it is so much less that the plan is too careful; the figures of it.
    What a plan expects was counted on a CPU's allocator (tests/models/step_peak_test.cpp); a device's kernels keep other tensors."""
    ratio = held / planned
    good = ratio >= 0.85 and held <= 1.05 * planned + WORKSPACES
    figure = (f"{held / 2**20:.0f} MiB measured, {planned / 2**20:.0f} planned: {ratio:.2f} of the plan; allowed are 5 % more and the"
              f" {WORKSPACES >> 20} MiB that cuBLAS's workspaces may add, which no plan has")
    if good and ratio < 0.95:
        return None, f"planned more than was held: {figure}; the goal is within 5 %, below 0.85 fails"
    return good, f"{figure}; less than 0.95 is a plan too careful, below 0.85 fails"


def speed(trial, options):
    """tokens a second of GPT-2 124M by turns, with LibTorch's kernels, with our own and with more room for cuBLASLt, and a trace of two updates"""
    shape = gpt2(trial)
    sides = {shape.name: ([], {})}
    if trial.on_gpu:  # a CPU always takes its own
        sides[shape.name + ", kernels of our own"] = (["--use_liger_kernel"], {})
        # LibTorch gives cuBLASLt, which adds biases, 1 MiB, and its heuristic leaves out what wants more.
        sides[shape.name + ", 32 MiB for cuBLASLt"] = ([], {"CUBLASLT_WORKSPACE_SIZE": "32768"})
    rates = {side: [] for side in sides}
    for turn in range(3 if trial.on_gpu else 1):
        for number, (side, (more, variables)) in enumerate(sides.items()):
            train = lambda: shape.rate(trial.train(f"speed-{turn}-{number}", *shape.words(trial), *more, measured=True, variables=variables).times())
            rates[side].append(trial.once(f"{side}, turn {turn}", train))
    for side, found in rates.items():
        trial.row(side, None, "tokens/s " + spread(found, "{:.0f}"))
    # In a run of its own: what records the trace slows the updates.
    traced = trial.train("trace", *shape.words(trial), "--profile_steps", "40:41")
    trace = os.path.join(traced.output, "hftrain", "profile", "rank-0.json")
    trial.row("trace of two updates", os.path.exists(trace), shutil.copy(trace, options.out) if os.path.exists(trace) else "none was written")


def documents(trial, bytes_of_all):
    """A file of made-up texts of 10 to 60 words."""
    path, draw = os.path.join(trial.folder, f"documents-{bytes_of_all}.jsonl"), random.Random(1)
    if not os.path.exists(path):
        with open(trial.text(bytes_of_all)) as file:
            words = file.read().split()
        with open(path, "w") as file:
            while words:
                count = draw.randint(10, 60)
                file.write(json.dumps({"text": " ".join(words[:count])}) + "\n")
                words = words[count:]
    return path


def packed(trial, options):
    """short documents in packed rows: a call of attention for each, and one for all beside kernels of our own, which learn the same; tokens a second"""
    model = GPT2 + WITHOUT_DROPOUT if trial.on_gpu else SMALL + WITHOUT_DROPOUT
    shape = Shape("documents in packed rows", ["--config_overrides", model, "--task", "sft", "--packing", "true", "--max_length", 1024 if trial.on_gpu else 64],
                  *((1024, 8) if trial.on_gpu else (64, 2)))
    words = [*shape.words(trial), "--train_file", documents(trial, 8 * UPDATES * shape.rows * shape.length)]
    sides, rates, losses = {"each by itself": [], "all in one call, kernels of our own": ["--use_liger_kernel"]}, {}, {}
    for side, more in sides.items():
        for turn in range(2 if trial.on_gpu else 1):
            def train():
                run = trial.train(f"packed-{turn}-{len(more)}", *words, *more, measured=True, lacks=["--block_size"])
                return shape.rate(run.times()), list(run.figures().values())
            rate, losses[side] = trial.once(f"{side}, turn {turn}", train)
            rates.setdefault(side, []).append(rate)
    for side, found in rates.items():
        trial.row(f"{shape.name}, {side}", None, "tokens/s " + spread(found, "{:.0f}"))
    apart = largest(abs(a - b) for a, b in zip(*losses.values(), strict=True))
    trial.row("the same is learnt", apart < 2e-2, f"losses at most {apart:.2e} apart")
