"""The steps of the day. Each takes a Trial and the options, and leaves rows; its first line says what it shows."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from heads_and_strategies import FAMILIES, STRATEGIES
from runs import HFTRAIN
from trial import apart

BARS = {"cuda": 1e-4, "cpu": 0.0}  # of losses beside the CPU's: four updates by other kernels, and the same ones


def machine(trial, options):
    """what the machine is, as the program sees it"""
    doctor = json.loads(trial.call("doctor", "--json").stdout)
    gpus = json.loads(trial.call("devices", "--json").stdout)["devices"]
    name = gpus[0]["name"] if gpus else f"the CPU, {doctor['cores']} cores"
    trial.row("device", bool(gpus) if trial.on_gpu else None, name)
    trial.row("LibTorch", None, doctor["torch"]["version"])
    trial.row("problems", not doctor["problems"] if trial.on_gpu else None, json.dumps(doctor["problems"]))


def kernels(trial, options):
    """every operator with a kernel of its own, over dtypes, beside the composition of ATen's"""
    program = trial.tree / "bin" / "test_gpu_kernels"
    if not trial.on_gpu:
        return trial.skip("operators", "they need a GPU")
    if not program.exists():
        return trial.row("operators", False, f"{program} is not there; scripts/gpu/pack brings it")
    libraries = f"{trial.tree / 'lib'}:{trial.tree / 'lib' / 'torch'}"
    result = subprocess.run([program, "[gpu]"], text=True, capture_output=True, timeout=trial.seconds_left(),
                            env={**os.environ, "HFTRAIN_BINARY_DIR": str(trial.tree), "LD_LIBRARY_PATH": libraries})
    trial.row("operators", result.returncode == 0, result.stdout.strip().splitlines()[-1] if result.stdout else result.stderr[-300:])


def families(trial, options):
    """four updates of every family with every head, beside the CPU's"""
    for family in options.families or FAMILIES:
        for task in FAMILIES[family][3].split():
            place = os.path.join(trial.folder, f"{family}-{task}")
            beside = trial.data().trained(family, task, place + "-cpu", on_cpu=True)
            found = trial.data().trained(family, task, place, on_cpu=not trial.on_gpu)
            difference = apart(found[0], beside[0])
            trial.row(f"{family}, {task}", difference <= BARS[trial.device], f"losses {difference:.1e} apart")
            for folder in (place, place + "-cpu"):
                shutil.rmtree(folder)


def strategies(trial, options):
    """twenty updates under every strategy on one rank, beside none; losses and norms of gradients"""
    steps = ["--max_steps", 20, "--save_strategy", "no", "--max_grad_norm", 0.5, "--gradient_accumulation_steps", 2]
    base = trial.train("plain", *steps)
    for name, flags in STRATEGIES.items():
        if name in ("ddp", "hybrid"):
            continue
        run = trial.train(name, *steps, *flags("GPT2Block", 1))
        losses, norms = (apart(run.figures(key), base.figures(key)) for key in ("loss", "grad_norm"))
        trial.row(name, max(losses, norms) <= (1e-4 if trial.on_gpu else 1e-6), f"losses {losses:.1e} apart, norms {norms:.1e}")


def precision(trial, options):
    """fifty updates in bfloat16 and float16 beside float32"""
    steps = ["--max_steps", 50, "--save_strategy", "no"]
    base = trial.train("float32", *steps).figures()
    difference = apart(trial.train("bfloat16", *steps, "--bf16").figures(), base)
    trial.row("bf16", difference <= 2e-2, f"losses {difference:.1e} apart")
    if not trial.on_gpu:
        return trial.skip("fp16", "it needs a GPU")
    difference = apart(trial.train("float16", *steps, "--fp16").figures(), base)
    trial.row("fp16 with a loss scale", difference <= 2e-2, f"losses {difference:.1e} apart")


def going_on(trial, options):
    """resumed, saved beside training and recomputed with dropout: the same bits"""
    steps = ["--max_steps", 12, "--save_strategy", "steps", "--save_steps", 6]
    straight = trial.train("straight", *steps)
    checkpoint = os.path.join(straight.output, "checkpoint-6")
    resumed = trial.train("resumed", *steps, "--resume_from_checkpoint", checkpoint)
    later = {step: loss for step, loss in straight.figures().items() if step > 6}
    trial.row("resumed at 6 of 12", resumed.figures() == later and resumed.weights() == straight.weights(),
              f"losses {apart(resumed.figures(), later):.1e} apart")
    for name, flag in (("saved in the background", "--async_save"), ("recomputed", "--gradient_checkpointing")):
        other = trial.train(flag.strip("-"), *steps, flag)
        trial.row(name, other.weights() == straight.weights(), f"losses {apart(other.figures(), straight.figures()):.1e} apart")


def memory(trial, options):
    """the plan's figure beside what the allocator held at most"""
    shape = ["--config_overrides", "n_layer=8,n_head=8,n_embd=512,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0"]
    for name, more in (("plain", []), ("recomputed", ["--gradient_checkpointing"]), ("bf16", ["--bf16"])):
        run = trial.train("memory-" + name, *shape, "--max_steps", 5, "--save_strategy", "no", "--per_device_train_batch_size", 32,
                          "--skip_memory_metrics", "false", *more)
        with open(os.path.join(run.output, "hftrain", "plan.json")) as file:
            planned = json.load(file)["memory_per_rank"]["total"]
        results, kind = run.results(), "gpu" if trial.on_gpu else "cpu"  # of the CPU by the kernel, with all that is no tensor
        held = sum(results[f"{part}_mem_{kind}_{delta}_delta"] for part, delta in (("init", "alloc"), ("train", "alloc"), ("train", "peaked")))
        good = abs(held / planned - 1) <= 0.05 if trial.on_gpu else None
        trial.row(name, good, f"{held / 2**20:.0f} MiB of {planned / 2**20:.0f} planned")


def faults(trial, options):
    """a rank that is killed, one that is stopped by the user, and a batch that does not fit"""
    for name, number, codes in (("kill -9 of a rank", signal.SIGKILL, (9,)), ("Ctrl-C", signal.SIGINT, (130,))):
        code, said = struck(trial, name.replace(" ", "-"), number)
        trial.row(name, code in codes, f"ended with {code}: {said}")
    if not trial.on_gpu:
        return trial.skip("out of memory", "it needs a GPU")
    run = trial.train("too-large", "--max_steps", 2, "--save_strategy", "no", "--per_device_train_batch_size", 10**6,
                      "--config_overrides", "n_layer=2,n_head=2,n_embd=1024,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0", expect=5)
    trial.row("out of memory", True, "ended with 5: " + run.result.stderr.strip().splitlines()[0])


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def struck(trial, name, number):
    """Sends the signal to the worker, or to the program for Ctrl-C, in the middle of a run; the exit status and what it said."""
    data, output = trial.data(), os.path.join(trial.folder, name)
    flags = [flag for flag in data.flags(output, "--max_steps", 100000, "--save_strategy", "no", ranks=1) if flag != "--use_cpu"]
    with open(output + ".err", "w+") as said:
        process = subprocess.Popen([HFTRAIN, *flags, *trial.device_flags()], env=data.environment, stdout=subprocess.DEVNULL, stderr=said)
        log = os.path.join(output, "hftrain", "log.jsonl")
        try:
            while process.poll() is None and not (os.path.exists(log) and os.path.getsize(log)):
                trial.seconds_left()
                time.sleep(0.05)
            if process.poll() is None:
                for pid in children_of(process.pid) if number == signal.SIGKILL else [process.pid]:
                    os.kill(pid, number)
            code = process.wait(trial.seconds_left())
        finally:
            process.kill()  # what did not end in time does not go on under the other steps
            process.wait()
        said.seek(0)
        lines = said.read().strip().splitlines()
    return code, next((line for line in lines if line.startswith("error")), lines[-1] if lines else "nothing")


def speed(trial, options):
    """tokens a second of GPT-2 124M by turns with the Trainer, and a trace of one update"""
    # On the CPU the same words train a small model: its figures stand in docs/benchmarks.md.
    name, shape = "a small model", []
    if trial.on_gpu:
        name = "GPT-2 124M, 1,024 tokens, bf16"
        shape = ["--config_overrides", "n_positions=1024,vocab_size=50257", "--block_size", 1024, "--per_device_train_batch_size", 8]
    run = trial.train("speed", *shape, "--bf16", "--max_steps", 60, "--logging_steps", 10, "--save_strategy", "no",
                      "--include_num_input_tokens_seen", "all", "--profile_steps", "40:41")
    trial.row(name, None, f"{run.results()['train_tokens_per_second']:.0f} tokens/s with start and trace")
    trace = os.path.join(run.output, "hftrain", "profile", "rank-0.json")
    trial.row("trace of two updates", os.path.exists(trace), shutil.copy(trace, options.out) if os.path.exists(trace) else "none was written")
    peer = subprocess.run([sys.executable, "-c", "import transformers, accelerate"], capture_output=True)
    if peer.returncode != 0:
        return trial.skip("the Trainer", "transformers and accelerate are not installed for this Python")
    trial.skip("the Trainer", "scripts/bench/training.py has no turns on a GPU yet")


STEPS = {step.__name__.replace("_", "-"): step
         for step in (machine, kernels, families, strategies, precision, going_on, memory, faults, speed)}
