#!/usr/bin/env python3
"""--rehearse: one evaluation batch, one save and the model of the end before the first update, which leave no trace in the run, and which end it
there when they cannot be done.

    rehearsal.py SCENARIO…        without one: all
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture

STRATEGIES = {
    "one rank": ["--nproc_per_node", "1"],
    "ddp": [],
    "ddp in the background": ["--async_save"],
    "zero 1": ["--sharded_ddp", "simple"],
    "zero 2": ["--fsdp", "shard_grad_op auto_wrap"],
    "zero 3": ["--fsdp", "full_shard auto_wrap"],
    "zero 3 in the background": ["--fsdp", "full_shard auto_wrap", "--async_save", "--bf16"],
    "zero 3 with offload": ["--fsdp", "full_shard offload auto_wrap"],
}


def tensors(output):
    found = {}
    for folder, _, names in os.walk(output):
        for name in names:
            if name.endswith(".safetensors"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, output)] = file.read()
    return found


def read_plan(output):
    with open(os.path.join(output, "hftrain", "plan.json")) as file:
        return json.load(file)


def metrics(output):
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        records = [json.loads(line) for line in file]
    timed = ("time", "runtime", "per_second")
    return [{key: value for key, value in record.items() if not any(word in key for word in timed)} for record in records]


def scenario_a_rehearsed_run_gives_the_same_bits_under_every_strategy(fixture):
    for name, flags in STRATEGIES.items():
        outputs = [os.path.join(fixture.folder, f"{name} {way}") for way in ("plain", "rehearsed")]
        for output, way in zip(outputs, ("false", "true")):
            # Dropout, so that random numbers count.
            result = fixture.call(*fixture.flags(output, "--validation_split_percentage", 10, "--eval_strategy", "steps",
                                             "--eval_steps", 3, "--save_steps", 3, "--max_steps", 6, "--rehearse", way,
                                             *flags))
            whole = read_plan(output)["strategy"]["state_dict"] == "full"
            tried = "one evaluation batch" + (" and one save" if whole else ", one save and the last model")
            if (f"Rehearsed {tried} in" in result.stderr) != (way == "true"):
                raise SystemExit(f"{name}, --rehearse {way}:\n{result.stderr}")
        if not tensors(outputs[0]) or tensors(outputs[0]) != tensors(outputs[1]):
            raise SystemExit(f"{name}: the tensors differ")
        if metrics(outputs[0]) != metrics(outputs[1]):
            raise SystemExit(f"{name}: the metrics differ")
        names = [sorted(os.listdir(output)) for output in outputs]
        if names[0] != names[1]:
            raise SystemExit(f"{name}: a rehearsal left {set(names[1]) - set(names[0])}")


def scenario_a_resumed_run_is_rehearsed_and_goes_on_as_without(fixture):
    straight, resumed = (os.path.join(fixture.folder, name) for name in ("straight", "resumed"))
    flags = ["--save_steps", 3, "--max_steps", 6]
    fixture.call(*fixture.flags(straight, *flags))
    fixture.call(*fixture.flags(resumed, *flags))
    subprocess.run(["rm", "-r", os.path.join(resumed, "checkpoint-6")], check=True)
    result = fixture.call(*fixture.flags(resumed, *flags, "--rehearse"))
    if "Rehearsed one save" not in result.stderr:
        raise SystemExit(result.stderr)
    if tensors(straight) != tensors(resumed):
        raise SystemExit("the tensors differ")


def limited(fixture, flags, kind, amount):
    result = subprocess.run([HFTRAIN, *flags], env=fixture.environment, text=True, capture_output=True,
                            preexec_fn=lambda: resource.setrlimit(kind, (amount, amount)))
    return result


def ended_before_training(result, output, code, words):
    log = os.path.join(output, "hftrain", "log.jsonl")
    trained = os.path.exists(log) and os.path.getsize(log) > 0
    if result.returncode != code or trained or any(word not in result.stderr for word in words):
        raise SystemExit(f"ended with {result.returncode}, expected {code}; trained: {trained}\n{result.stderr}")
    left = [name for name in os.listdir(output) if "checkpoint" in name]
    if left:
        raise SystemExit(f"it left {left}")


def scenario_a_save_that_cannot_be_written_ends_the_run_before_it_begins(fixture):
    output = os.path.join(fixture.folder, "out")
    flags = fixture.flags(output, "--save_steps", 500, "--max_steps", 1000, "--rehearse", ranks=1, width=128)
    result = limited(fixture, flags, resource.RLIMIT_FSIZE, 400_000)
    ended_before_training(result, output, 7, ["the rehearsal of a save failed", "nothing was trained yet", "try:"])


def scenario_a_model_that_only_the_end_would_write_is_tried_too(fixture):
    # Nothing is saved before, or parts that are smaller than the whole: either way the run would have lost all that it trained.
    never = ["--save_strategy", "no"]
    parts = ["--save_steps", 500, "--optim", "sgd", "--fsdp", "full_shard", "--fsdp_config", '{"state_dict_type": "SHARDED_STATE_DICT"}']
    for name, flags, ranks, most in (("never", never, 1, 400_000), ("parts", parts, 2, 1_500_000)):
        output = os.path.join(fixture.folder, name)
        words = fixture.flags(output, *flags, "--max_steps", 1000, "--rehearse", ranks=ranks, width=128)
        # Files of ranks that share memory would meet the limit before the model does.
        result = limited(fixture, [*words, "--ddp_backend", "gloo"], resource.RLIMIT_FSIZE, most)
        ended_before_training(result, output, 7, ["the rehearsal of the last model failed", "nothing was trained yet", "try:"])
        if os.path.exists(os.path.join(output, ".model.tmp")):
            raise SystemExit(f"{name}: it left what it wrote")
    output = os.path.join(fixture.folder, "enough")
    result = fixture.call(*fixture.flags(output, *never, "--max_steps", 2, "--rehearse"))
    if "Rehearsed the last model in" not in result.stderr:
        raise SystemExit(result.stderr)


def scenario_an_evaluation_without_memory_ends_the_run_before_it_begins(fixture):
    output = os.path.join(fixture.folder, "out")
    # One batch of all validation blocks through a wide layer: what comes out of it alone takes ten gigabytes.
    flags = fixture.flags(output, "--per_device_train_batch_size", 1, "--validation_file", fixture.text, "--eval_strategy",
                        "steps", "--eval_steps", 500, "--per_device_eval_batch_size", 4096, "--max_steps", 1000,
                        "--save_strategy", "no", "--rehearse", ranks=1)
    overrides = flags.index("--config_overrides") + 1
    flags[overrides] += ",n_inner=100000"
    result = limited(fixture, flags, resource.RLIMIT_AS, 3_000_000_000)
    ended_before_training(result, output, 6, ["the rehearsal of an evaluation failed", "--per_device_eval_batch_size"])


def scenario_without_a_word_only_long_runs_are_rehearsed(fixture):
    output = os.path.join(fixture.folder, "out")
    short = json.loads(fixture.call("plan", *fixture.flags(output, "--max_steps", 10), "--json").stdout)
    long = json.loads(fixture.call("plan", *fixture.flags(output, "--max_steps", 100_000_000), "--json").stdout)
    off = json.loads(fixture.call("plan", *fixture.flags(output, "--max_steps", 100_000_000, "--rehearse", "false"), "--json").stdout)
    if (short["rehearse"], long["rehearse"], off["rehearse"]) != (False, True, False):
        raise SystemExit(f"{short['steps']} {long['steps']}")


def main():
    scenarios = sys.argv[1:] or [name for name in globals() if name.startswith("scenario_")]
    for scenario in scenarios:
        with tempfile.TemporaryDirectory() as folder:
            globals()[scenario](Fixture(folder))
        print(scenario.removeprefix("scenario_").replace("_", " "), "— ok")


main()
