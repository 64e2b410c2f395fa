"""Steps that disturb a run, and look at what it holds of the device."""
import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import time

from runs import HFTRAIN
from trial import require_gpus

ROWS = 400  # of the 412 that the sample text gives: a batch has no more rows than the data
UPDATES = 8  # before a run is disturbed: in the first ones a rank may be silent for minutes, as on a device that compiles


def faults(trial, options):
    """a rank that is killed or stopped, a run that the user stops, and a batch that does not fit"""
    for name, number, expected, words in (("kill -9 of a rank", signal.SIGKILL, 9, "rank 0"), ("SIGSTOP of a rank", signal.SIGSTOP, 9, "rank 0"),
                                          ("Ctrl-C", signal.SIGINT, 130, "")):
        if trial.has(name):
            continue
        with trial.row_of(name):
            code, said = struck(trial, name.replace(" ", "-"), number)
            trial.row(name, code == expected and words in said, f"ended with {code}: {said}")
    if not trial.has("out of memory"):
        with trial.row_of("out of memory"):
            out_of_memory(trial)


def out_of_memory(trial):
    """A model whose state fits and whose activations cannot: a state that does not fit is refused before the device is touched."""
    if not trial.on_gpu:
        for gib in (80, 141):
            too_deep(trial, gib * 2**30)
        return trial.skip("out of memory", "it needs a GPU")
    flags = too_deep(trial, json.loads(trial.call("devices", "--json").stdout)["devices"][0]["total_bytes"])
    said = trial.train("too-large", *flags, expect=5).result.stderr.splitlines()
    error = next((line for line in said if line.startswith("error")), "no error")
    trial.row("out of memory", "the device is out of memory" in error, "ended with 5: " + error)


def deep(layers):
    """Many layers of small matrices: much to keep for the backward pass for each weight, and quickly made."""
    return ["--max_steps", 2, "--save_strategy", "no", "--per_device_train_batch_size", ROWS, "--config_overrides",
            f"n_layer={layers},n_head=4,n_embd=256,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0"]


def too_deep(trial, card):
    """The flags of a model that is planned to need twice the memory of the card; a row says what the plan has."""
    flags = deep(math.ceil(2 * card / (trial.planned(*deep(100))["activations"] / 100)))
    memory = trial.planned(*flags)
    state = sum(memory[part] for part in ("parameters", "gradients", "optimizer"))
    trial.row(f"a plan beyond {card / 2**30:.0f} GiB", memory["total"] > 1.8 * card and state < card / 4,
              f"{memory['total'] / 2**30:.0f} GiB, of which {state / 2**30:.1f} GiB are state")
    return flags


def children_of(pid, proc="/proc"):
    try:
        with open(f"{proc}/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return [int(other) for other in os.listdir(proc) if other.isdigit() and parent_of(other, proc) == pid]


def parent_of(pid, proc):
    """By the second field behind the name, which is in brackets and may hold any; none of a process that is gone."""
    try:
        with open(f"{proc}/{pid}/stat", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def lines_of(path):
    try:
        with open(path) as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def long_run(trial, name, *more):
    """A run in the middle of its updates, or ended before: (process, file of what it says)."""
    data, output = trial.data(), os.path.join(trial.folder, name)
    flags = [flag for flag in data.flags(output, "--max_steps", 100000, "--save_strategy", "no", *more, ranks=1) if flag != "--use_cpu"]
    with open(output + ".err", "w+") as said:
        process = subprocess.Popen([HFTRAIN, *flags, *trial.device_flags()], env=data.environment, stdout=subprocess.DEVNULL, stderr=said)
        log = os.path.join(output, "hftrain", "log.jsonl")
        try:
            while process.poll() is None and not lines_of(log) > UPDATES:
                trial.seconds_left()
                time.sleep(0.05)
            if trial.on_gpu and lines_of(log) > UPDATES:
                require_gpus(output)
            yield process, said
        finally:
            process.kill()  # what did not end in time does not go on under the other steps
            process.wait()


def struck(trial, name, number):
    """Sends the signal to the worker, or to the program for Ctrl-C, in the middle of a run; the exit status and what it said."""
    # The launcher's patience with a silent rank follows the slowest updates so far, up to this.
    with long_run(trial, name, "--ddp_timeout", 35) as (process, said):
        if process.poll() is None:
            for pid in [process.pid] if number == signal.SIGINT else children_of(process.pid):
                os.kill(pid, number)
        code = process.wait(trial.seconds_left())
        said.seek(0)
        lines = said.read().strip().splitlines()
    return code, next((line for line in lines if line.startswith("error")), lines[-1] if lines else "nothing")


def contexts(trial, options):
    """one context on the GPU for each rank, and none of the program that starts them"""
    if not trial.on_gpu:
        return trial.skip("contexts", "they are a GPU's")

    if not shutil.which("nvidia-smi"):
        return trial.skip("contexts of one rank", "there is no nvidia-smi")

    def listed():
        found = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True, text=True, check=True)
        return len(found.stdout.split())

    before = listed()
    with long_run(trial, "contexts") as (process, _):
        during = listed()  # by number: in a container the driver's process ids are those of the machine
        alive = process.poll() is None
    if alive and during == before == 0:  # some drivers show a container none at all
        return trial.skip("contexts of one rank", "nvidia-smi shows no process here")
    trial.row("contexts of one rank", alive and during - before == 1, f"{before} before, {during} while it trains")
