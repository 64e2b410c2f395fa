#!/usr/bin/env python3
"""What happens to the output folder before a run begins: it is looked at before the data are prepared, and a run that never began
leaves nothing of its own.

  before_a_run.py [SCENARIO]…     all of them without a word
"""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import BUILD, HFTRAIN, Fixture, expect, in_order, run_scenarios


def late_mistake(folder):
    """Rows of which one cannot be used, behind all that is looked at before the preparation."""
    path = os.path.join(folder, "late.jsonl")
    with open(path, "w") as file:
        for _ in range(5000):
            file.write(json.dumps({"text": "the quick brown fox jumps over the lazy dog"}) + "\n")
        file.write(json.dumps({"text": 5}) + "\n")
    return path


def content(folder):
    """Every path below it, with its text."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(place, name), folder)] = None
        for name in files:
            with open(os.path.join(place, name), "rb") as file:
                found[os.path.relpath(os.path.join(place, name), folder)] = file.read()
    return found


def refused(fixture, code, said, *words):
    run = fixture.call(*map(str, words), expect=code)
    expect(said in run.stderr and parts_of(run.stderr) == [{"what", "where", "why", "try"}], f"'{said}' is said in four parts", run.stderr)


def expect_as_it_was(output, before):
    """The run whose content was that `before`; whoever locks its folder writes into the lock."""
    after = content(output)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    expect(changed <= {"hftrain/lock"}, "the run that is there stays as it was", changed)


def a_run_that_never_began_leaves_nothing(fixture, folder):
    data, output = late_mistake(folder), os.path.join(folder, "deep", "out")
    flags = [*fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1), "--train_file", data]
    refused(fixture, 4, "late.jsonl:5001", *flags)
    expect(not os.path.exists(os.path.join(folder, "deep")), "no folder is left", os.listdir(folder))

    os.makedirs(output)
    with open(os.path.join(output, "notes.txt"), "w") as file:
        file.write("mine")
    refused(fixture, 4, "late.jsonl:5001", *flags)
    expect(content(output) == {"notes.txt": b"mine"}, "a folder that was there stays as it was", content(output))

    fixture.call(*fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1))
    before = content(output)
    refused(fixture, 4, "late.jsonl:5001", *flags, "--overwrite_output_dir")
    expect(os.listdir(os.path.dirname(output)) == ["out"], "no run is moved aside", os.listdir(os.path.dirname(output)))
    expect_as_it_was(output, before)


def the_folder_is_looked_at_before_the_data_are_prepared(fixture, folder):
    data, output = late_mistake(folder), os.path.join(folder, "out")
    fixture.call(*fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1))
    flags = [*fixture.flags(output, "--max_steps", 4, ranks=1), "--train_file", data]
    refused(fixture, 2, "holds another run", *flags, "--seed", 7)
    other = [word.replace("n_head=2", "n_head=4") for word in flags]
    refused(fixture, 2, f"differs in model: n_head 2 there, 4 here; training_data: {fixture.text} there, {data} here, or prepared by other flags\n", *other)
    other = [word.replace("n_head=2", "n_head=2,summary_type=" + 99 * "x") for word in flags]
    refused(fixture, 2, 'there, "' + 59 * "x" + "… here; ", *other)
    other = os.path.join(folder, "other.txt")
    shutil.copy(fixture.text, other)
    with open(other, "a") as file:
        file.write("one more line\n")
    other = [*fixture.flags(output, "--max_steps", 4, ranks=1), "--train_file", other]
    for command in (["plan"], ["train"]):
        refused(fixture, 2, f"differs in training_data: {fixture.text} there, {other[-1]} here, or prepared by other flags\n", *command, *other)
    refused(fixture, 4, "there is no checkpoint to resume from", *fixture.flags(os.path.join(folder, "new"), ranks=1),
            "--train_file", data, "--resume_from_checkpoint", "true")
    expect(not os.path.exists(os.path.join(folder, "new")), "no folder is left", os.listdir(folder))
    refused(fixture, 2, "lies in the folder that is moved aside", *flags, "--overwrite_output_dir", "--resume_from_checkpoint",
            os.path.join(output, "checkpoint-2"))
    at = flags.index("--model_type")
    refused(fixture, 2, f"where: {output} (--model_name_or_path)", *flags[:at], *flags[at + 4:], "--model_name_or_path", output,
            "--overwrite_output_dir")
    rows = os.path.join(output, "rows.jsonl")
    with open(rows, "w") as file:
        file.write('{"text": "the quick brown fox"}\n' * 50)
    refused(fixture, 2, f"where: {rows} (--train_file)", *flags, "--train_file", rows, "--overwrite_output_dir")
    expect(not os.path.exists(output + ".old-1"), "nothing is moved", os.listdir(folder))

    numbers = os.path.join(folder, "numbers.jsonl")
    with open(numbers, "w") as file:
        file.write('{"text": 5}\n' * 5)
    with open(os.path.join(output, "hftrain", "lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in ([], ["plan"]):
            refused(fixture, 2, "another run is using the output folder", *command, *flags, "--train_file", numbers)
    below_a_file = fixture.flags(os.path.join(numbers, "out"), "--train_file", numbers, ranks=1)
    for command in ([], ["plan"]):
        refused(fixture, 7, "cannot create folder", *command, *below_a_file)


def what_a_run_goes_on_from_is_what_was_meant(fixture, folder):
    """Weights of another model are another run; of a run's output folder the newest checkpoint is meant; a mistyped one is told as that."""
    first, second, tuned = (os.path.join(folder, name) for name in ("first", "second", "tuned"))
    for output, seed in ((first, 42), (second, 7)):
        fixture.call(*fixture.flags(output, "--max_steps", "2", "--save_steps", 1, "--seed", seed, ranks=1))
    flags = fixture.flags(tuned, "--save_steps", 1, ranks=1)
    flags = flags[4:]  # without --model_type and what belongs to it
    fixture.call(*flags, "--model_name_or_path", first, "--max_steps", "1")
    refused(fixture, 2, "weights: ", *flags, "--model_name_or_path", second, "--max_steps", "3")
    copy = os.path.join(folder, "a copy")
    shutil.copytree(first, copy)
    went_on = fixture.call(*flags, "--model_name_or_path", copy, "--max_steps", "2")
    expect("resuming from " + os.path.join(tuned, "checkpoint-1") in went_on.stdout + went_on.stderr, "a copy of the same weights is the same run", went_on.stderr)
    itself = fixture.flags(tuned, "--save_steps", 1, ranks=1)[4:]
    fixture.call(*itself, "--model_name_or_path", tuned, "--max_steps", "3")

    adapters = [os.path.join(folder, f"adapter-{seed}") for seed in (1, 2)]
    for seed, adapter in zip((1, 2), adapters):
        fixture.call(*fixture.flags(adapter, "--save_steps", 1, "--seed", seed, "--use_peft", "--model_name_or_path", first, ranks=1)[4:], "--max_steps", "1")
    further = fixture.flags(os.path.join(folder, "further"), "--save_steps", 1, "--use_peft", ranks=1)[4:]
    fixture.call(*further, "--model_name_or_path", adapters[0], "--max_steps", "1")
    refused(fixture, 2, "weights: ", *further, "--model_name_or_path", adapters[1], "--max_steps", "2")
    fixture.call(*further, "--model_name_or_path", adapters[0], "--max_steps", "2")

    named = fixture.call(*flags, "--model_name_or_path", first, "--max_steps", "3", "--overwrite_output_dir", "--resume_from_checkpoint", second)
    expect("resuming from " + os.path.join(second, "checkpoint-2") + " at step 2, the newest of that folder" in named.stdout + named.stderr,
           "the newest checkpoint in it", named.stdout + named.stderr)
    for step in (1, 2):
        os.truncate(os.path.join(second, f"checkpoint-{step}", "model.safetensors"), 100)
    refused(fixture, 4, "none of them verifies", *flags, "--model_name_or_path", first, "--max_steps", 4, "--overwrite_output_dir", "--resume_from_checkpoint",
            second)
    refused(fixture, 4, "no such folder", *flags, "--model_name_or_path", first, "--max_steps", "4", "--resume_from_checkpoint", os.path.join(folder, "nope"))


def checkpoints_that_do_not_verify_are_moved_aside(fixture, folder):
    output = os.path.join(folder, "out")
    flags = fixture.flags(output, "--save_steps", 2, ranks=1)
    fixture.call(*flags, "--max_steps", "6")
    weights = lambda step: os.path.join(output, f"checkpoint-{step}", "model.safetensors")
    whole = pathlib.Path(weights(6)).read_bytes()
    os.truncate(weights(6), 100)
    os.remove(os.path.join(output, "checkpoint-4", "manifest.json"))
    before = content(output)
    fixture.call("plan", *flags, "--max_steps", "6")
    expect_as_it_was(output, before)
    told = fixture.call(*flags, "--max_steps", "6").stderr
    for step in (4, 6):
        expect(f"moved {output}/checkpoint-{step}, which does not verify, to {output}/checkpoint-{step}.old-1" in told, "it is told", told)
    in_order(told, "skipped", "resuming from " + os.path.join(output, "checkpoint-2"), "moved")
    expect(os.path.getsize(weights("6.old-1")) == 100 and os.path.exists(weights("4.old-1")), "what was damaged is as it was", os.listdir(output))
    expect(pathlib.Path(weights(6)).read_bytes() == whole, "and the run has its own in their places", "other weights")
    for step in (2, 4, 6):
        os.truncate(weights(step), 100)
    before = content(output)
    refused(fixture, 4, "none of them verifies", *flags, "--max_steps", "8", "--resume_from_checkpoint", "auto")
    refused(fixture, 4, "none of them verifies", *flags, "--max_steps", "8")
    expect_as_it_was(output, before)
    fixture.call(*flags, "--max_steps", "8", "--resume_from_checkpoint", "auto", "--overwrite_output_dir")
    expect(os.path.exists(output + ".old-1/checkpoint-6"), "all of it is aside", os.listdir(folder))


def a_stop_before_ranks_begin_moves_the_old_run_back(fixture, folder):
    output = os.path.join(folder, "out")
    flags = fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1)
    fixture.call(*flags)
    before = content(output)
    # Where ranks meet is bound behind the move, and is the last thing before they begin.
    run = subprocess.run([HFTRAIN, *flags, "--overwrite_output_dir"], text=True, capture_output=True,
                         env={**fixture.environment, "LD_PRELOAD": str(BUILD / "lib" / "libno_listener.so"), "SIGTERM_AT_LISTEN": "1"})
    expect(run.returncode == 10, "it ends with 10", [run.returncode, run.stderr])
    in_order(run.stderr, "moved the old run to", f"moved the old run back to {output}", "stopped before the run began")
    expect(not os.path.exists(output + ".old-1"), "nothing is left aside", os.listdir(folder))
    expect_as_it_was(output, before)


def other_evaluation_data_do_not_make_another_run(fixture, folder):
    output, other = os.path.join(folder, "out"), os.path.join(folder, "other.txt")
    with open(other, "w") as file:
        file.write("the quick brown fox jumps over the lazy dog\n" * 200)
    run = lambda steps, *more: fixture.call(*fixture.flags(output, "--max_steps", steps, "--save_steps", 2, *more, ranks=1))
    judged = ["--eval_strategy", "steps", "--eval_steps", 2, "--metric_for_best_model", "loss", "--validation_file", other]
    untold = "evaluated on other data before"
    run(2)
    went_on = run(4, *judged).stderr
    expect("at step 2, the newest of this run" in went_on, "the run goes on", went_on)
    expect(untold not in went_on, "nothing was best by other data", went_on)
    went_on = run(6, *judged, "--max_eval_samples", 3).stderr
    expect("at step 4, the newest of this run" in went_on and untold in went_on, "what is best by other data is told", went_on)
    expect(untold not in run(8, *judged, "--max_eval_samples", 3).stderr, "and not by the same", judged)
    refused(fixture, 2, "training_data", *fixture.flags(output, "--max_steps", 10, "--train_file", other, ranks=1))


def a_port_that_is_not_there_moves_the_old_run_back(fixture, folder):
    output = os.path.join(folder, "out")
    flags = fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1)
    fixture.call(*flags)
    before = content(output)
    run = subprocess.run([HFTRAIN, *flags, "--overwrite_output_dir"], text=True, capture_output=True,
                         env={**fixture.environment, "LD_PRELOAD": str(BUILD / "lib" / "libno_listener.so")})
    expect(run.returncode == 3, "it ends with 3", [run.returncode, run.stderr])
    in_order(run.stderr, "moved the old run to", f"moved the old run back to {output}", "there is no free port to listen on")
    expect(not os.path.exists(output + ".old-1"), "nothing is left aside", os.listdir(folder))
    expect_as_it_was(output, before)


def a_folder_that_is_not_utf8_is_refused(fixture, folder):
    here = os.path.join(os.fsencode(folder), b"caf\xe9")
    os.mkdir(here)
    flags = fixture.flags("out", "--max_steps", 2, ranks=1)

    def refused(place, **surroundings):
        run = subprocess.run([HFTRAIN, *flags], capture_output=True, **{"env": fixture.environment, **surroundings})
        said = run.stderr.decode()
        expect(run.returncode == 2 and place in said and "caf\\xe9" in said, "it is named, with 2", [run.returncode, said])

    refused("the current folder", cwd=here)
    expect(os.listdir(here) == [], "nothing is written there", os.listdir(here))
    refused("the folder of prepared data", cwd=folder, env={**os.environb, **{k.encode(): v.encode() for k, v in fixture.environment.items()}, b"HFTRAIN_CACHE": here})
    expect(os.listdir(os.fsencode(folder)) == [b"caf\xe9"], "nor beside it", os.listdir(os.fsencode(folder)))


SCENARIOS = [checkpoints_that_do_not_verify_are_moved_aside, a_run_that_never_began_leaves_nothing, the_folder_is_looked_at_before_the_data_are_prepared,
             what_a_run_goes_on_from_is_what_was_meant, other_evaluation_data_do_not_make_another_run,
             a_stop_before_ranks_begin_moves_the_old_run_back, a_port_that_is_not_there_moves_the_old_run_back,
             a_folder_that_is_not_utf8_is_refused]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
