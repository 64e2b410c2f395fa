"""The steps of the day. Each takes a Trial and the options, and leaves rows; its first line says what it shows."""
import json
import os
import re
import shutil
import signal
import subprocess

from fault_steps import contexts, faults
from figure_steps import families, going_on, precision, strategies
from optimizer_steps import optimizers
from peer_steps import peers, peers_of_llama, peers_without_dropout
from speed_steps import memory, packed, speed
from wait_steps import host_waits

SKIPPED = 77  # the exit status of a program of tests that could not run one
LONG = 5 * 60  # of a step, in which the watched kernels have to be through
NEEDED = ("worker", "torch", "gpus", "cuda_plugin", "nccl")  # of what `hftrain doctor` looks at: what a run on a GPU has to have


def machine(trial, options):
    """what the machine is, as the program sees it"""
    doctor = json.loads(trial.call("doctor", "--json").stdout)
    seen = json.loads(trial.call("devices", "--json").stdout)
    gpus = seen["devices"]
    name = gpus[0]["name"] if gpus else f"the CPU, {doctor['cores']} cores"
    trial.row("device", bool(gpus) if trial.on_gpu else None, name)
    trial.row("LibTorch", None, doctor["torch"]["version"])
    good, figure = driver(seen.get("cuda_version"), doctor["torch"].get("cuda"))
    trial.row("driver", good if trial.on_gpu else None, f"{seen.get('driver_version') or 'none'}, {figure}")
    good, figure = problems(doctor["problems"])
    trial.row("problems", good if trial.on_gpu else None, figure)
    with trial.row_of("one update"):
        said = trial.train("first", "--max_steps", 1, "--save_strategy", "no").result.stderr
        trial.row("one update", True, in_blocks(said) if trial.on_gpu else "on the CPU")


def in_blocks(said):
    """How the device gives its memory, by what a run said of it."""
    refused = [line for line in said.splitlines() if "memory that grows in place" in line]
    return refused[0].strip() if refused else "its memory grows in place"


def driver(offered, wanted):
    """Whether the driver runs programs of LibTorch's CUDA, by their versions, or None where one is not told; the figure."""
    good = int(offered.split(".")[0]) >= int(wanted.split(".")[0]) if offered and wanted else None
    return good, f"for CUDA up to {offered or 'nothing that it tells'}; LibTorch is for {wanted or 'none'}"


def problems(found):
    """Whether there are none of those that a run on a GPU ends with, and all that there are. A packed folder has no Arrow (parquet)."""
    grave = [problem for problem in found if problem["fatal"] or problem["name"] in NEEDED]
    told = [f"{problem['name']}{'' if problem in grave else ' (which the day does not need)'}: {problem['problem']}" for problem in found]
    return not grave, "; ".join(told) or "none"


def kernels(trial, options):
    """every operator with a kernel of its own, over dtypes, beside the composition of ATen's; and what a kernel that fails is told as"""
    program = program_of(trial, "operators")
    if not program:
        return
    for name, tag in (("operators", "[gpu]"), ("a poisoned kernel", "[.poisoned]")):
        if not trial.has(name):
            result = tests(trial, [program, tag])
            trial.row(name, result.returncode == 0, outcome(result))


def memory_accesses(trial, options):
    """our kernels of the operators under the toolkit's watch: what they read and write outside their tensors; how long that takes nobody has seen"""
    program = program_of(trial, "memory accesses")
    if program:
        watched(trial, program)


def program_of(trial, row):
    """The tests of kernels, or None and a row that says why there are none."""
    program = trial.tree / "bin" / "test_gpu_kernels"
    if not trial.on_gpu:
        return trial.skip(row, "they need a GPU")
    if not program.exists():
        return trial.row(row, False, f"{program} is not there; scripts/gpu/pack brings it")
    return program


def tests(trial, command, **more):
    # Before what is there, by which the driver's own may be found.
    libraries = ":".join(filter(None, [f"{trial.tree / 'lib'}", f"{trial.tree / 'lib' / 'torch'}", os.environ.get("LD_LIBRARY_PATH")]))
    return ended(command, trial.seconds_left(), {**os.environ, "HFTRAIN_BINARY_DIR": str(trial.tree), "LD_LIBRARY_PATH": libraries, **more})


def watched(trial, program):
    """Our kernels under the toolkit's own watch, where it is installed and knows the device. LibTorch's beside them are not watched, which
    take long, nor the calls of CUDA that fail and are handled. Each tensor is an allocation: beside others in LibTorch's blocks a kernel may
    leave its own unseen."""
    sanitizer = shutil.which("compute-sanitizer", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    if not sanitizer:
        return trial.skip("memory accesses", "there is no compute-sanitizer")
    known = subprocess.run([sanitizer, "--help"], text=True, capture_output=True).stdout
    ours = ["--kernel-name" if "--kernel-name" in known else "--kernel-regex", "kns=hftrain"]  # its newer and its older name
    try:
        result = tests(trial, [sanitizer, "--tool", "memcheck", "--report-api-errors", "no", *ours, "--error-exitcode", "1", program, "[kernels]"],
                       PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    except subprocess.TimeoutExpired as late:
        if late.timeout < LONG:
            raise  # the call was short; the next one has the whole step for it
        return trial.skip("memory accesses", f"they were not through after {late.timeout:.0f} s")
    said = [line.strip("= ") for line in (result.stdout + result.stderr).splitlines() if line.startswith("=========")]
    refused = [line for line in said if "Device not supported" in line]
    if refused:  # in some containers; what the program then says of itself is that
        return trial.skip("memory accesses", refused[0])
    trial.row("memory accesses", result.returncode == 0, said[-1] if said else outcome(result))


def ended(command, seconds, environment):
    """The ended program, as of subprocess.run; what it started ends with it where its time is over, and keeps no pipe open."""
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, process_group=0) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:  # Ctrl-C among them, which another group does not hear of
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def outcome(result):
    """What a program of tests says of itself; of one that skips, why."""
    if result.returncode == SKIPPED:
        reasons = re.findall(r"^SKIPPED: (.*)", result.stdout, re.M)
        return f"skipped: {reasons[0] if reasons else 'no reason given'}"
    return result.stdout.strip().splitlines()[-1] if result.stdout.strip() else result.stderr[-300:]


STEPS = {step.__name__.replace("_", "-"): step
         for step in (machine, kernels, precision, going_on, memory, host_waits, speed, packed, peers, peers_without_dropout, peers_of_llama, strategies, contexts,
                       faults, optimizers, families, memory_accesses)}
