"""Steps that disturb a run, and look at what it holds of the device."""
import contextlib
import os
import signal
import subprocess
import time

from runs import HFTRAIN

UPDATES = 8  # before a run is disturbed: in the first ones a rank may be silent for minutes, as on a device that compiles


def faults(trial, options):
    """a rank that is killed or stopped, a run that the user stops, and a batch that does not fit"""
    for name, number, expected, words in (("kill -9 of a rank", signal.SIGKILL, 9, "rank 0"), ("SIGSTOP of a rank", signal.SIGSTOP, 9, "rank 0"),
                                          ("Ctrl-C", signal.SIGINT, 130, "")):
        code, said = struck(trial, name.replace(" ", "-"), number)
        trial.row(name, code == expected and words in said, f"ended with {code}: {said}")
    if not trial.on_gpu:
        return trial.skip("out of memory", "it needs a GPU")
    run = trial.train("too-large", "--max_steps", 2, "--save_strategy", "no", "--per_device_train_batch_size", 10**6,
                      "--config_overrides", "n_layer=2,n_head=2,n_embd=1024,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0", expect=5)
    trial.row("out of memory", True, "ended with 5: " + run.result.stderr.strip().splitlines()[0])


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


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

    def listed():
        found = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True, text=True, check=True)
        return len(found.stdout.split())

    before = listed()
    with long_run(trial, "contexts") as (process, _):
        during = listed()  # by number: in a container the driver's process ids are those of the machine
        trial.row("contexts of one rank", process.poll() is None and during - before == 1, f"{before} before, {during} while it trains")
