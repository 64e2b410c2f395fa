"""The step that counts where the host waits for the device in updates between two log lines, by the trace of --profile_steps."""
import collections
import json
import os
import re

from heads_and_strategies import STRATEGIES
from speed_steps import documents

LOGGED, FIRST, LAST = 20, 25, 27  # updates: every 20th is logged, and the trace has three that lie between
UPDATES = LAST - FIRST + 1
STEPS = ["--max_steps", LAST + 1, "--logging_steps", LOGGED, "--save_strategy", "no", "--profile_steps", f"{FIRST}:{LAST}"]
# Calls of CUDA's runtime and driver that return when the device has done something. cudaStreamWaitEvent, a query and an asynchronous copy do
# not; one to or from pageable memory does.
WAITS = re.compile(r"(cu(da)?(Device|Stream|Event|Ctx|Thread)Synchronize|cudaMemcpy(2D)?|cuMemcpy[DH]to[DH]|cudaFree(Host)?|cudaHostUnregister)(_v\d+)?(_pts[dz])?")
# What an allocator asks of the driver when it has to grow, which new lengths of rows may make it do.
GROWS = re.compile(r"cudaMalloc(Host|Async)?|cudaHostAlloc|cuMem(Create|Map|Alloc|HostAlloc)(_v\d+)?")
# In each update the host asks for the norm of the one before (Update::settle), by an event behind its copy and outside every operator.
NORM = re.compile(r"cu(da)?EventSynchronize(_v\d+)?(_pts[dz])?")
PAGEABLE = re.compile(r"Memcpy \w+ \(.*Pageable.*\)")


def host_waits(trial, options):
    """what makes the host wait for the device in updates that are not logged: the norm of the update before, and nothing else"""
    if not trial.on_gpu:  # of a CPU a trace has operators alone: that it is read is what a rehearsal shows
        trial.skip("host waits", "they are a GPU's")
    for name, run in {**runs_of_text(trial), **runs_of_heads(trial)}.items():
        if trial.has(name):
            continue
        with trial.row_of(name):
            with open(os.path.join(run("waits-" + re.sub(r"\W+", "-", name)), "hftrain", "profile", "rank-0.json")) as file:
                good, figure = counted(json.load(file)["traceEvents"])
            trial.row(name, good if trial.on_gpu else None, figure)


def runs_of_text(trial):
    """{name: function that trains in a folder of that name and gives it}, of blocks of text."""
    flags = {"plain": []}
    if trial.on_gpu:
        flags |= {"bf16": ["--bf16"], "fp16": ["--fp16"], "accumulated": ["--gradient_accumulation_steps", 2],
                  "recomputed": ["--gradient_checkpointing"], "our own kernels": ["--bf16", "--use_liger_kernel"],
                  **{name: STRATEGIES[name]("GPT2Block", 1) for name in ("zero1", "zero2", "full_shard")}}
    return {name: lambda place, more=more: trial.train(place, *STEPS, *more).output for name, more in flags.items()}


def runs_of_heads(trial):
    """The same of rows of many lengths: chosen places, padding and, for T5, a bias and its limits; and of documents in packed rows."""
    halves = ["bf16", "fp16"] if trial.on_gpu else ["bf16"]
    heads = {f"{family}, {task}, {half}": (family, task, f"--{half}") for family, task in (("bert", "mlm"), ("t5", "texts"), ("bart", "texts")) for half in halves}

    def trained(place, family, task, half):
        output, data = os.path.join(trial.folder, place), trial.data()
        data.on_cpu = not trial.on_gpu
        data.train(family, task, output, 1, 0.1, *STEPS, half)
        return output

    def packed(place, *more):
        texts = documents(trial, 64 * 64 * UPDATES * LAST)
        return trial.train(place, *STEPS, "--task", "sft", "--packing", "true", "--max_length", 64, "--train_file", texts, "--bf16", *more,
                           lacks=["--block_size"]).output

    return {**{name: lambda place, what=what: trained(place, *what) for name, what in heads.items()}, "packed documents": packed,
            "packed documents, kernels of our own": lambda place: packed(place, "--use_liger_kernel")}


def counted(events):
    """Whether the threads of the traced operators wait for the norm of the update before alone, and what else does, by operator. `events`:
    those of a trace of Kineto."""
    spans = [event for event in events if event.get("ph") == "X"]
    operators = [span for span in spans if span.get("cat") == "cpu_op"]
    threads = {operator["tid"] for operator in operators}
    calls = [span for span in spans if span.get("cat") in ("cuda_runtime", "cuda_driver")]
    launches = sum("Launch" in call["name"] and call["tid"] in threads for call in calls)
    if not launches:
        return False, f"{len(operators)} operators, and no kernel that their threads launched: nothing is known of waits"
    # What waits before the first operator or behind the last is the trace's own begin or end.
    begin, end = min(operator["ts"] for operator in operators), max(operator["ts"] + operator["dur"] for operator in operators)
    waits = [call for call in calls if WAITS.fullmatch(call["name"]) and begin <= call["ts"] < end]
    waits += pageable_copies(spans, calls)
    around = [(call, operator_around(call, operators)) for call in waits if call["tid"] in threads]
    norms = norms_among(around)
    others = [(call, operator) for call, operator in around if call not in norms]
    beside = f"; {len(waits) - len(around)} of other threads" if len(waits) > len(around) else ""
    grown = sum(bool(GROWS.fullmatch(call["name"])) for call in calls)
    told = told_of(norms) + beside + (f"; memory was taken from the driver {grown} ×" if grown else "")
    if not others:
        return True, f"nothing else in {UPDATES} updates with {launches} launches; {told}"
    found = collections.Counter(f"{call['name']} in {operator or 'no operator'}" for call, operator in others)
    return False, f"{len(others)} in {UPDATES} updates: " + ", ".join(f"{n} × {what}" for what, n in found.most_common(8)) + f"; {told}"


def norms_among(around):
    """The waits for norms among waits and their operators: events outside every operator, one an update, all of one thread. Of more than that
    nobody knows which are the norms."""
    found = [call for call, operator in around if operator is None and NORM.fullmatch(call["name"])]
    return found if len(found) <= UPDATES and len({call["tid"] for call in found}) <= 1 else []


def told_of(norms):
    """How often and how long the host waited for norms. `dur` is in microseconds."""
    if not norms:
        return "no wait for the norm of the update before"
    times = [call["dur"] for call in norms]
    return f"the norm of the update before was waited for {len(norms)} ×, {sum(times):.0f} µs in all, {max(times):.0f} at most"


def pageable_copies(spans, calls):
    """The calls that copy between the device and memory of the host that is not pinned, asynchronous by name alone."""
    started = {call.get("args", {}).get("correlation"): call for call in calls}
    copies = [span for span in spans if span.get("cat") == "gpu_memcpy" and PAGEABLE.fullmatch(span["name"])]
    found = [(copy, started.get(copy.get("args", {}).get("correlation"))) for copy in copies]
    return [dict(call, name=copy["name"]) for copy, call in found if call and not WAITS.fullmatch(call["name"])]


def operator_around(call, operators):
    """The innermost operator of the call's thread in which it was made, or none."""
    around = [op for op in operators if op["tid"] == call["tid"] and op["ts"] <= call["ts"] <= op["ts"] + op["dur"]]
    return min(around, key=lambda op: op["dur"])["name"] if around else None
