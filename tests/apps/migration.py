#!/usr/bin/env python3
"""What docs/migration.md says to those who come from Python: its commands, its flags, the files of the other side.

  migration.py [SCENARIO…]     all of them without a word
"""
import os
import re
import shlex
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import Fixture, expect, in_order, read_json, records, run_scenarios
from tiny_tasks import write

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../docs/migration.md")
ARGUMENTS = os.path.join(HERE, "../golden/arguments/training_arguments.json")


def page():
    with open(PAGE) as file:
        return file.read()


def losses(output):
    return [record["loss"] for record in records(output) if "loss" in record]


def the_commands_of_the_page_work(fixture, folder):
    text = page()
    os.chdir(folder)
    files = re.findall(r"`([\w.]+)`:\n\n((?:    .*\n)+)", text)
    expect(len(files) == 5, "the page has its files", files)
    for name, content in files:
        write(folder, {name: "".join(line[4:] + "\n" for line in content.splitlines())})
    commands = [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.startswith("    hftrain ")]
    expect(len(commands) == 11, "the page has its commands", commands)
    for command in commands:
        fixture.call(*shlex.split(command)[1:])
    expect(read_json("sharded/hftrain/plan.json")["strategy"]["name"] == "full_shard", "the Accelerate file shards", "")
    expect(read_json("zero/hftrain/plan.json")["strategy"]["name"] == "shard_grad_op", "the DeepSpeed file shards", "")
    one = fixture.call("--use_cpu", "--model_name_or_path", "model", "--train_file", "text/train.txt", "--block_size", "64", "--max_steps", "4",
                       "--per_device_train_batch_size", "16", "--output_dir", "one", "--logging_steps", "1")
    for name in ("sharded", "zero"):
        mine, theirs = read_json(name, "train_results.json")["train_loss"], read_json("one", "train_results.json")["train_loss"]
        expect(abs(mine - theirs) < 1e-4, f"{name} has the losses of one rank", [mine, theirs, one.stderr])
    expect(os.path.exists("adapter/adapter_model.safetensors"), "an adapter", os.listdir("adapter"))


def every_flag_of_the_page_is_one(fixture, folder):
    """In the right column; the left one is of other programs."""
    right = [line.rsplit("|", 2)[1] for line in page().splitlines() if line.startswith("| ") and line.count("|") == 3]
    flags = set(re.findall(r"--([a-z_]+)", " ".join(right)))
    expect(len(flags) > 25, "the page names flags", flags)
    for flag in sorted(flags - {"task_name"}):
        said = fixture.call("explain", flag).stdout
        expect("not supported" not in said, f"{flag} works", said)


def arguments_that_were_written_in_python_are_read(fixture, folder):
    """The file is TrainingArguments(output_dir="out", max_steps=3, learning_rate=1e-3, use_cpu=True).to_json_string() of 5.17."""
    output = os.path.join(folder, "out")
    flags = fixture.flags(output, ranks=1)
    at = flags.index("--learning_rate")
    del flags[at:at + 4]  # with the schedule
    fixture.call("--config", ARGUMENTS, *flags)
    plan = read_json(output, "hftrain", "plan.json")
    expect(plan["optimizer"]["learning_rate"] == 1e-3 and plan["schedule"]["name"] == "linear", "arguments of the file", plan["optimizer"])
    expect(losses(output) and read_json(output, "trainer_state.json")["global_step"] == 3, "its steps", output)
    write(folder, {"token.json": '{"hub_token": "<OTHER_TOKEN>"}'})
    printed = [fixture.call("--config", file, *flags, "--print_config", "minimal").stdout for file in (os.path.join(folder, "token.json"), ARGUMENTS)]
    expect("hub_token" in printed[0] and "hub_token" not in printed[1], "another token is one", printed)


def checkpoints_of_the_trainer_are_left_alone(fixture, folder):
    first, output = os.path.join(folder, "first"), os.path.join(folder, "out")
    fixture.call(*fixture.flags(first, "--max_steps", 2, "--save_steps", 2, ranks=1))
    # As the Trainer has it: the model, its progress, and pickles.
    theirs = os.path.join(output, "checkpoint-2")
    os.makedirs(theirs)
    for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "trainer_state.json"):
        shutil.copy(os.path.join(first, "checkpoint-2", name), theirs)
    write(theirs, {name: "a pickle" for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin")})
    before = {name: os.stat(os.path.join(theirs, name)).st_mtime_ns for name in os.listdir(theirs)}
    flags = fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1)
    for more in ([], ["--resume_from_checkpoint", "auto"], ["--resume_from_checkpoint", os.path.join(first, "checkpoint-2")]):
        said = fixture.call(*flags, *more, expect=2).stderr
        expect("did not write" in said and "checkpoint-2" in said, f"{more}: it is refused", said)
        expect(parts_of(said) == [{"what", "where", "why", "try"}], "one message of four parts", said)
        expect({name: os.stat(os.path.join(theirs, name)).st_mtime_ns for name in os.listdir(theirs)} == before, "nothing has changed", more)
    said = fixture.call(*flags, "--resume_from_checkpoint", theirs, expect=2).stderr
    expect("did not write" in said, "itself, too", said)
    other = os.path.join(folder, "other")
    said = fixture.call(*fixture.flags(other, "--max_steps", 2, ranks=1), "--resume_from_checkpoint", theirs, expect=4).stderr
    expect("optimizer.pt" in said and "--model_name_or_path" in said, "a pickle without a zip is refused", said)
    expect(parts_of(said) == [{"what", "where", "why", "try"}], "one message of four parts", said)
    at = flags.index("--model_type")
    fixture.call("--model_name_or_path", theirs, *fixture.flags(other, "--max_steps", 2, ranks=1)[at + 4:])
    fixture.call(*flags, "--overwrite_output_dir")
    moved = os.path.join(folder, "out.old-1", "checkpoint-2")
    expect(set(os.listdir(moved)) == set(before), "moved aside", os.listdir(folder))
    own = os.path.join(folder, "own")
    saves = fixture.flags(own, "--max_steps", 2, "--save_steps", 1, "--save_only_model", ranks=1)
    fixture.call(*saves)
    os.remove(os.path.join(own, "checkpoint-2", "manifest.json"))
    said = fixture.call(*saves, "--resume_from_checkpoint", "true").stderr  # a damaged one of ours is no other's
    in_order(said, "skipped ", "own/checkpoint-2: ", "resuming from ", "own/checkpoint-1 at step 1")


def a_file_called_like_a_checkpoint_is_left_alone(fixture, folder):
    output = os.path.join(folder, "out")
    write(output, {"checkpoint-2": "notes"})
    flags = fixture.flags(output, "--max_steps", 2, "--save_steps", 2, ranks=1)
    for more in ([], ["--resume_from_checkpoint", "auto"]):
        said = fixture.call(*flags, *more, expect=2).stderr
        expect("checkpoint-2 is no folder" in said and parts_of(said) == [{"what", "where", "why", "try"}], f"{more}: it is refused", said)
        expect(open(os.path.join(output, "checkpoint-2")).read() == "notes", "it stays as it is", said)
    fixture.call(*flags, "--overwrite_output_dir")
    expect(open(os.path.join(folder, "out.old-1", "checkpoint-2")).read() == "notes", "moved aside", os.listdir(folder))


SCENARIOS = [the_commands_of_the_page_work, every_flag_of_the_page_is_one, arguments_that_were_written_in_python_are_read,
             checkpoints_of_the_trainer_are_left_alone, a_file_called_like_a_checkpoint_is_left_alone]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
