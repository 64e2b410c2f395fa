#!/usr/bin/env python3
"""Programs of docs/library, built outside the sources against an installed tree: a plain one trains as hftrain does, to the bit, and what
each of the others does in its own way acts.

Usage: tests/apps/library.py [scenario…]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import runs
from plugins import call
from runs import expect


class Library(runs.Fixture):
    """The installed tree, moved, and the programs in `built`."""

    def __init__(self, folder):
        super().__init__(folder)
        place = pathlib.Path(folder)
        call("cmake", "--install", runs.BUILD, "--prefix", place / "first", cwd=folder)
        tree = (place / "first").rename(place / "installed")
        shutil.copytree(tree / "share/hftrain/docs/library", place / "sources")
        self.built = place / "built"
        call("cmake", "-S", place / "sources", "-B", self.built, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={tree}", cwd=folder)
        call("cmake", "--build", self.built, cwd=folder)
        runs.HFTRAIN = str(tree / "bin/hftrain")

    def flags(self, output, *more, **options):
        return [word + self.WITHOUT_DROPOUT if word.startswith("n_layer=") else word for word in super().flags(output, *more, **options)]

    def start(self, program, output, *more, code=0, ranks=2, **environment):
        """Of a program by itself; its output."""
        flags = self.flags(output, "--save_strategy", "no", *map(str, more), ranks=ranks)
        done = subprocess.run([self.built / program, *flags], env={**self.environment, **environment}, text=True, capture_output=True)
        expect(done.returncode == code, f"{program} ends with {code}", f"{done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def plain(self, output, *more, ranks=2):
        self.call(*self.flags(output, "--save_strategy", "no", *map(str, more), ranks=ranks))


def column(output, name="loss"):
    return [record[name] for record in runs.records(output) if name in record]


def differ(first, second):
    return len(first) == len(second) and any(abs(a - b) > 1e-3 for a, b in zip(first, second))


def a_plain_program_trains_as_hftrain(library, folder):
    for ranks in (1, 2):
        ours, own = (os.path.join(folder, f"{name}{ranks}") for name in ("hftrain", "own"))
        flags = ("--max_steps", 5, "--do_eval", "--validation_split_percentage", "5", "--logging_steps", "1")
        library.plain(ours, *flags, ranks=ranks)
        library.start("plain", own, *flags, ranks=ranks)
        expect(len(column(ours)) == 5 and column(ours) == column(own), "the same losses", (column(ours), column(own)))
        expect(column(ours, "grad_norm") == column(own, "grad_norm"), "the same gradients", column(own, "grad_norm"))
        expect(runs.read_json(ours, "eval_results.json")["eval_loss"] == runs.read_json(own, "eval_results.json")["eval_loss"],
               "the same evaluation", "")
        weights = [pathlib.Path(path, "model.safetensors").read_bytes() for path in (ours, own)]
        expect(weights[0] == weights[1], "the same weights", "")


def a_loss_and_its_log_are_the_programs(library, folder):
    plain, own, named = (os.path.join(folder, name) for name in ("plain", "own", "named"))
    flags = ("--max_steps", 5, "--do_eval", "--validation_split_percentage", "5")
    library.plain(plain, *flags)
    text = library.start("quiet_model", own, *flags)
    library.plain(named, *flags, "--worker_program", library.built / "quiet_model")
    prices = [record["z_loss"] for record in runs.records(own) if "loss" in record]
    # Of 512 tokens a model that knows nothing has a logsumexp of about 6.2, whose price is 1e-4 times its square.
    expect(all(0.002 < price < 0.01 for price in prices), "what it adds is logged", prices)
    expect(abs(column(own)[0] - column(plain)[0] - prices[0]) < 1e-3, "and is part of the loss", (column(own), column(plain)))
    expect(column(named) == column(own), "hftrain --worker_program is the same", (column(named), column(own)))
    results = [runs.read_json(path, "eval_results.json")["eval_loss"] for path in (plain, own)]
    expect(0.001 < results[1] - results[0] < 0.02, "evaluation has it, too", results)
    expect("quiet_model" not in text, "nothing is complained of", text)
    refused = library.start("quiet_model", os.path.join(folder, "smooth"), *flags, "--label_smoothing_factor", "0.1", code=2)
    runs.in_order(refused, "the program 'quiet_model' cannot be used", "--label_smoothing_factor")


def a_training_step_sees_the_inputs_first(library, folder):
    plain, own = (os.path.join(folder, name) for name in ("plain", "own"))
    flags = ("--max_steps", 4, "--logging_steps", "1", "--gradient_accumulation_steps", "2")
    library.plain(plain, *flags)
    library.start("fewer_words", own, *flags)
    expect(differ(column(plain), column(own)) and abs(column(plain)[0] - column(own)[0]) < 0.2, "it trains on other inputs",
           (column(plain), column(own)))


def its_metrics_judge_what_its_step_predicts(library, folder):
    flags = ("--max_steps", 4, "--do_eval", "--validation_split_percentage", "5", "--per_device_eval_batch_size", "3")
    results = {}
    for ranks in (1, 2):
        own, plain = (os.path.join(folder, f"{name}{ranks}") for name in ("own", "plain"))
        library.start("late_tokens", own, *flags, ranks=ranks)
        library.plain(plain, *flags, ranks=ranks)
        expect(column(own) == column(plain), "training is as it was", (column(own), column(plain)))
        results[ranks], other = (runs.read_json(path, "eval_results.json") for path in (own, plain))
        expect(abs(results[ranks]["eval_loss"] - other["eval_loss"]) > 1e-4, "the step hides tokens", (results[ranks], other))
        expect(abs(results[ranks]["eval_accuracy_again"] - results[ranks]["eval_accuracy"]) < 1e-9, "it sees what the task judges", results)
        expect(results[ranks]["eval_blocks"] == results[ranks]["eval_samples"] and "eval_accuracy_late" in results[ranks], "all of it, once", results)
        expect("eval_blocks" not in other, "a run without it has none", other)
    text = library.start("late_tokens", os.path.join(folder, "none"), *flags, "--prediction_loss_only", code=2)
    runs.in_order(text, "the program 'late_tokens' cannot be used", "--prediction_loss_only")


def its_loaders_give_other_data(library, folder):
    whole, half, plain = (os.path.join(folder, name) for name in ("whole", "half", "plain"))
    flags = ("--max_steps", 16, "--learning_rate", "1e-2", "--do_eval", "--do_predict", "--validation_split_percentage", "5", "--test_file", library.text)
    library.plain(plain, *flags)
    library.start("counting", whole, *flags)
    expect(differ(column(whole), column(plain)) and column(whole)[-1] < column(whole)[0] - 0.5, "training counts", (column(whole), column(plain)))
    epochs = column(whole, "epoch")
    expect(abs(epochs[5] - 1) < 1e-9 and abs(epochs[11] - 2) < 1e-9, "its epochs have six batches", epochs)
    results = [[runs.read_json(path, f"{split}_results.json")[f"{name}_loss"] for split, name in (("eval", "eval"), ("predict", "predict"))]
               for path in (whole, plain)]
    expect(all(abs(own - other) > 0.2 for own, other in zip(*results)), "evaluation and prediction do, too", results)
    expect(abs(results[0][0] - column(whole)[-1]) < 1, "the model knows how", results)
    # In the middle of an epoch, whose other batches are those that come.
    library.start("counting", half, *flags, "--save_strategy", "steps", "--save_steps", "8")
    shutil.rmtree(os.path.join(half, "checkpoint-16"))
    library.start("counting", half, *flags, "--resume_from_checkpoint", "true")
    expect(column(half)[-8:] == column(whole)[-8:], "a run that goes on skips what it had", (column(half), column(whole)))
    text = library.start("counting", os.path.join(folder, "epochs"), "--num_train_epochs", "1", code=2)
    runs.in_order(text, "the program's data loader cannot be used", "an epoch of it has 6 batches", "--max_steps")


def optimizers_are_passed_in_and_saved(library, folder):
    whole, half, plain = (os.path.join(folder, name) for name in ("whole", "half", "plain"))
    flags = ("--max_steps", 8, "--learning_rate", "1e-3", "--logging_steps", "1")
    library.plain(plain, *flags)
    library.start("signs", whole, *flags)
    rates = column(whole, "learning_rate")
    expect(all(abs(rate - 1e-3 / (1 + i) ** 0.5) < 1e-9 for i, rate in enumerate(rates)), "the schedule's rates", rates)
    expect(column(whole)[0] == column(plain)[0] and differ(column(whole)[1:], column(plain)[1:]), "other updates than AdamW's",
           (column(whole), column(plain)))
    expect(column(whole)[-1] < column(whole)[0] - 0.05, "it learns", column(whole))
    library.start("signs", half, *flags, "--save_strategy", "steps", "--save_steps", "4")
    shutil.rmtree(os.path.join(half, "checkpoint-8"))
    library.start("signs", half, *flags, "--resume_from_checkpoint", "true")
    expect(column(half)[-4:] == column(whole)[-4:], "a run that goes on has the state of the optimizer", (column(half), column(whole)))


def what_it_creates_is_used_in_its_stages(library, folder):
    own, sgd = (os.path.join(folder, name) for name in ("own", "sgd"))
    flags = ("--max_steps", 6, "--learning_rate", "0.1", "--logging_steps", "1", "--weight_decay", "0", "--do_eval", "--validation_split_percentage", "5")
    text = library.start("in_stages", own, *flags)
    library.plain(sgd, *flags, "--optim", "sgd", "--lr_scheduler_type", "constant")
    expect(column(own, "learning_rate") == [0.1] * 3 + [0.05] * 3, "its rates", column(own, "learning_rate"))
    expect(all(abs(a - b) < 1e-5 for a, b in zip(column(own)[:4], column(sgd)[:4])), "updates of plain descent", (column(own), column(sgd)))
    runs.in_order(text, "trained", "train_loss", "evaluated", "eval_loss")
    for strategy in ("zero1", "full_shard"):
        sharded = os.path.join(folder, strategy)
        library.start("in_stages", sharded, *flags, *STRATEGIES[strategy])
        expect(all(abs(a - b) < 1e-4 for a, b in zip(column(own), column(sharded))), f"the same with {strategy}", (column(own), column(sharded)))


STRATEGIES = {"zero1": ("--sharded_ddp", "simple"), "full_shard": ("--fsdp", "full_shard")}


def a_callback_stops_and_saves(library, folder):
    output = os.path.join(folder, "run")
    text = library.start("stop_after", output, "--max_steps", 9, "--logging_steps", "1", STOP_AFTER="3")
    expect(len(column(output)) == 3 and library.checkpoints(output) == [3], "it saves and stops", text)
    text = library.start("stop_after", os.path.join(folder, "unset"), "--max_steps", 2, code=1)
    runs.in_order(text, "the program 'stop_after' has failed", "its Trainer, being made", "STOP_AFTER is not set")


def others_are_refused_before_anything_starts(library, folder):
    content = (library.built / "plain").read_bytes()
    torch = content.split(b"\ntorch=")[1].split(b"\n")[0]

    def changed(name, before, after):
        expect(content.count(before) == 1 and len(before) == len(after), "the note is there once", name)
        path = pathlib.Path(folder, name)
        path.write_bytes(content.replace(before, after))
        path.chmod(0o755)
        return str(path)

    for path, code, words in (
            (changed("interface", b"program_interface=1\n", b"program_interface=9\n"), 3, "interface for programs 9, and this program has 1"),
            (changed("torch", b"\ntorch=" + torch, b"\ntorch=1" + torch[1:]), 3, f"it was built for LibTorch 1{torch[1:].decode()}"),
            (os.path.join(folder, "gone"), 2, "there is no such file"),
            (library.text, 2, "it may not be executed"),
            (runs.HFTRAIN, 2, "it is no position-independent program with a Trainer of hftrain")):
        output = os.path.join(folder, "run")
        done = library.call(*library.flags(output, "--worker_program", path, "--max_steps", "2"), expect=code)
        runs.in_order(done.stdout + done.stderr, "the program cannot be used", str(path), words)
        expect(not os.path.exists(output), "nothing is written", json.dumps(str(path)))
    started = subprocess.run([os.path.join(folder, "interface"), "--max_steps", "2"], env=library.environment, text=True, capture_output=True)
    expect(started.returncode != 0, "started by itself it is refused as well", started.stdout + started.stderr)


SCENARIOS = [a_plain_program_trains_as_hftrain, a_loss_and_its_log_are_the_programs, a_training_step_sees_the_inputs_first,
             its_metrics_judge_what_its_step_predicts, its_loaders_give_other_data, optimizers_are_passed_in_and_saved, what_it_creates_is_used_in_its_stages, a_callback_stops_and_saves,
             others_are_refused_before_anything_starts]

if __name__ == "__main__":
    runs.run_scenarios(SCENARIOS, sys.argv[1:], Library)
