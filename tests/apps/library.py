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

import installed
import runs
from installed import call
from runs import expect
from sequence_to_sequence import Pairs


class Library(runs.Fixture):
    """The installed tree."""

    def __init__(self, folder):
        super().__init__(folder)
        self.tree = tree = installed.tree()
        runs.HFTRAIN = str(tree / "bin/hftrain")

    def flags(self, output, *more, **options):
        return [word + self.WITHOUT_DROPOUT if word.startswith("n_layer=") else word for word in super().flags(output, *more, **options)]

    def program(self, name):
        """Where it is, built when it is asked for."""
        return installed.built("library", self.tree / "share/hftrain/docs/library", name) / name

    def start(self, program, output, *more, code=0, ranks=2, **environment):
        """Of the program at that path by itself; its output."""
        flags = self.flags(output, "--save_strategy", "no", *map(str, more), ranks=ranks)
        done = subprocess.run([program, *flags], env={**self.environment, **environment}, text=True, capture_output=True)
        expect(done.returncode == code, f"{program} ends with {code}", f"{done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def wrong(self, kind, how, output, *more, code=0, ranks=1):
        """Of tests/apps/wrong_programs, with one rank where the others would only say it again; its output."""
        built = installed.built("wrong", pathlib.Path(__file__).parent / "wrong_programs")
        return self.start(built / "wrong", output, *more, code=code, ranks=ranks, PROGRAM=kind, WRONG=how)

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
        library.start(library.program("plain"), own, *flags, ranks=ranks)
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
    text = library.start(library.program("quiet_model"), own, *flags)
    library.plain(named, *flags, "--worker_program", library.program("quiet_model"))
    prices = [record["z_loss"] for record in runs.records(own) if "loss" in record]
    # Of 512 tokens a model that knows nothing has a logsumexp of about 6.2, whose price is 1e-4 times its square.
    expect(all(0.002 < price < 0.01 for price in prices), "what it adds is logged", prices)
    expect(abs(column(own)[0] - column(plain)[0] - prices[0]) < 1e-3, "and is part of the loss", (column(own), column(plain)))
    expect(column(named) == column(own), "hftrain --worker_program is the same", (column(named), column(own)))
    results = [runs.read_json(path, "eval_results.json")["eval_loss"] for path in (plain, own)]
    expect(0.001 < results[1] - results[0] < 0.02, "evaluation has it, too", results)
    expect("quiet_model" not in text, "nothing is complained of", text)
    refused = library.start(library.program("quiet_model"), os.path.join(folder, "smooth"), *flags, "--label_smoothing_factor", "0.1", code=2)
    runs.in_order(refused, "the program 'quiet_model' cannot be used", "--label_smoothing_factor")


def a_training_step_sees_the_inputs_first(library, folder):
    plain, own = (os.path.join(folder, name) for name in ("plain", "own"))
    flags = ("--max_steps", 4, "--logging_steps", "1", "--gradient_accumulation_steps", "2")
    library.plain(plain, *flags)
    library.start(library.program("fewer_words"), own, *flags)
    expect(differ(column(plain), column(own)) and abs(column(plain)[0] - column(own)[0]) < 0.2, "it trains on other inputs",
           (column(plain), column(own)))


def its_metrics_judge_what_its_step_predicts(library, folder):
    flags = ("--max_steps", 4, "--do_eval", "--validation_split_percentage", "5", "--per_device_eval_batch_size", "3")
    results = {}
    for ranks in (1, 2):
        own, plain = (os.path.join(folder, f"{name}{ranks}") for name in ("own", "plain"))
        library.start(library.program("late_tokens"), own, *flags, ranks=ranks)
        library.plain(plain, *flags, ranks=ranks)
        expect(column(own) == column(plain), "training is as it was", (column(own), column(plain)))
        results[ranks], other = (runs.read_json(path, "eval_results.json") for path in (own, plain))
        expect(abs(results[ranks]["eval_loss"] - other["eval_loss"]) > 1e-4, "the step hides tokens", (results[ranks], other))
        expect(abs(results[ranks]["eval_accuracy_again"] - results[ranks]["eval_accuracy"]) < 1e-9, "it sees what the task judges", results)
        expect(results[ranks]["eval_blocks"] == results[ranks]["eval_samples"] and "eval_accuracy_late" in results[ranks], "all of it, once", results)
        expect("eval_blocks" not in other, "a run without it has none", other)
    text = library.start(library.program("late_tokens"), os.path.join(folder, "none"), *flags, "--prediction_loss_only", code=2)
    runs.in_order(text, "the program 'late_tokens' cannot be used", "--prediction_loss_only")


def what_could_not_act_is_refused(library, folder):
    place = pathlib.Path(folder)
    plugins = installed.built("plugins", library.tree / "share/hftrain/docs/plugins", "focal_loss")
    text = library.start(library.program("quiet_model"), place / "losses", "--max_steps", 2, "--plugin", plugins / "focal_loss.so", code=2)
    runs.in_order(text, "the program 'quiet_model' cannot be used", "compute_loss and the loss of --plugin", "try: leave one of them out")
    pairs = Pairs(folder)
    done = subprocess.run([library.program("late_tokens"), *pairs.flags(place / "texts", "--max_steps", 2)], env=pairs.environment, text=True,
                          capture_output=True)
    expect(done.returncode == 2, "metrics of texts that nobody writes", done.stdout + done.stderr)
    runs.in_order(done.stderr, "the program 'late_tokens' cannot be used", "without --predict_with_generate", "try: --predict_with_generate")


def its_loaders_give_other_data(library, folder):
    whole, half, plain = (os.path.join(folder, name) for name in ("whole", "half", "plain"))
    flags = ("--max_steps", 16, "--learning_rate", "1e-2", "--do_eval", "--do_predict", "--validation_split_percentage", "5", "--test_file", library.text)
    library.plain(plain, *flags)
    library.start(library.program("counting"), whole, *flags)
    expect(differ(column(whole), column(plain)) and column(whole)[-1] < column(whole)[0] - 0.5, "training counts", (column(whole), column(plain)))
    epochs = column(whole, "epoch")
    expect(abs(epochs[5] - 1) < 1e-9 and abs(epochs[11] - 2) < 1e-9, "its epochs have six batches", epochs)
    results = [[runs.read_json(path, f"{split}_results.json")[f"{name}_loss"] for split, name in (("eval", "eval"), ("predict", "predict"))]
               for path in (whole, plain)]
    expect(all(abs(own - other) > 0.2 for own, other in zip(*results)), "evaluation and prediction do, too", results)
    expect(abs(results[0][0] - column(whole)[-1]) < 1, "the model knows how", results)
    # In the middle of an epoch, whose other batches are those that come.
    library.start(library.program("counting"), half, *flags, "--save_strategy", "steps", "--save_steps", "8")
    shutil.rmtree(os.path.join(half, "checkpoint-16"))
    library.start(library.program("counting"), half, *flags, "--resume_from_checkpoint", "true")
    expect(column(half)[-8:] == column(whole)[-8:], "a run that goes on skips what it had", (column(half), column(whole)))
    for ranks, rows in ((1, 16), (2, 2)):  # other ranks with as many samples in a round as two with 8 each, and the same ranks with fewer
        text = library.start(library.program("counting"), half, *flags, "--resume_from_checkpoint", os.path.join(half, "checkpoint-8"),
                             "--per_device_train_batch_size", rows, ranks=ranks, code=2)
        runs.in_order(text, "goes on with batches of the same size", "try: the ranks and --per_device_train_batch_size")
    # At the end of an epoch there is no place in it to look for.
    ended = os.path.join(folder, "ended")
    six = ("--max_steps", 6, "--save_strategy", "steps", "--save_steps", "6", "--resume_from_checkpoint", "true")
    library.start(library.program("counting"), ended, *flags, *six[:-2])
    library.start(library.program("counting"), ended, *flags, *six, ranks=1)
    library.start(library.program("counting"), ended, *flags, *six, "--max_steps", 9, ranks=1)
    updates = [record["epoch"] for record in runs.records(ended) if "loss" in record]  # of one rank each has two of the six batches
    expect([round(epoch, 6) for epoch in updates[6:]] == [1.333333, 1.666667, 2.0], "it goes on with the next epoch", updates)
    text = library.start(library.program("counting"), os.path.join(folder, "epochs"), "--num_train_epochs", "1", code=2)
    runs.in_order(text, "the program's data loader cannot be used", "an epoch of it has 6 batches", "--max_steps")


def optimizers_are_passed_in_and_saved(library, folder):
    whole, half, plain = (os.path.join(folder, name) for name in ("whole", "half", "plain"))
    flags = ("--max_steps", 8, "--learning_rate", "1e-3", "--logging_steps", "1")
    library.plain(plain, *flags)
    library.start(library.program("signs"), whole, *flags)
    rates = column(whole, "learning_rate")
    expect(all(abs(rate - 1e-3 / (1 + i) ** 0.5) < 1e-9 for i, rate in enumerate(rates)), "the schedule's rates", rates)
    expect(column(whole)[0] == column(plain)[0] and differ(column(whole)[1:], column(plain)[1:]), "other updates than AdamW's",
           (column(whole), column(plain)))
    expect(column(whole)[-1] < column(whole)[0] - 0.05, "it learns", column(whole))
    cards = [pathlib.Path(path, "README.md").read_text() for path in (whole, plain)]
    expect(all(f"- {part}: that of the program 'signs'\n" in cards[0] for part in ("optimizer", "lr_scheduler_type")), "the card names it", cards[0])
    expect("warmup" not in cards[0] and "- optimizer: adamw" in cards[1] and "- lr_scheduler_warmup_steps: " in cards[1], "and that of flags", cards)
    library.start(library.program("signs"), half, *flags, "--save_strategy", "steps", "--save_steps", "4")
    shutil.rmtree(os.path.join(half, "checkpoint-8"))
    library.start(library.program("signs"), half, *flags, "--resume_from_checkpoint", "true")
    expect(column(half)[-4:] == column(whole)[-4:], "a run that goes on has the state of the optimizer", (column(half), column(whole)))
    text = library.start(library.program("signs"), os.path.join(folder, "trainer"), *flags, "--save_for_trainer", code=2)
    runs.in_order(text, "the program 'signs' cannot be used", "--save_for_trainer writes the state of AdamW", "try: leave --save_for_trainer out")


def what_it_creates_is_used_in_its_stages(library, folder):
    own, sgd = (os.path.join(folder, name) for name in ("own", "sgd"))
    flags = ("--max_steps", 6, "--learning_rate", "0.1", "--logging_steps", "1", "--weight_decay", "0", "--do_eval", "--validation_split_percentage", "5")
    text = library.start(library.program("in_stages"), own, *flags)
    library.plain(sgd, *flags, "--optim", "sgd", "--lr_scheduler_type", "constant")
    expect(column(own, "learning_rate") == [0.1] * 3 + [0.05] * 3, "its rates", column(own, "learning_rate"))
    expect(len(column(own)) == len(column(sgd)) == 6 and all(abs(a - b) < 1e-5 for a, b in zip(column(own)[:4], column(sgd)[:4])),
           "updates of plain descent", (column(own), column(sgd)))
    runs.in_order(text, "trained", "train_loss", "evaluated", "eval_loss")
    for strategy in ("zero1", "full_shard"):
        sharded = os.path.join(folder, strategy)
        library.start(library.program("in_stages"), sharded, *flags, *STRATEGIES[strategy])
        expect(len(column(sharded)) == 6 and all(abs(a - b) < 1e-4 for a, b in zip(column(own), column(sharded))), f"the same with {strategy}",
               (column(own), column(sharded)))


def flags_of_what_it_creates_itself_are_told(library, folder):
    few = ("--max_steps", 2, "--learning_rate", "0.1", "--weight_decay", "0.1", "--max_grad_norm", "0.5")
    idle = ("--optim", "adamw_torch", "--adam_beta1", "0.5", "--adam_epsilon", "1e-3", "--warmup_ratio", "0.5")
    effect, program = "no effect but what the program reads of", "is that of the program 'in_stages'"
    text = library.start(library.program("in_stages"), os.path.join(folder, "plain"), *few)
    of_schedule = f"--lr_scheduler_type cosine has {effect} it in about_run().arguments: the schedule {program}"
    expect(text.count(of_schedule) == text.count(effect) == 1, "what it is handed acts", text)
    text = library.start(library.program("in_stages"), os.path.join(folder, "own"), *few, *idle)
    expect(column(os.path.join(folder, "plain")) == column(os.path.join(folder, "own")), "all else does not", text)
    for told in (f"--optim adamw_torch, --adam_beta1 0.5, --adam_epsilon 0.001 have {effect} them in about_run().arguments: the optimizer {program}",
                 f"--lr_scheduler_type cosine, --warmup_steps 0.5 have {effect} them in about_run().arguments: the schedule {program}"):
        expect(text.count(told) == 1, "that is told once", text)
    text = library.wrong("makes_nothing", "", os.path.join(folder, "none"), *few, *idle)
    expect(effect not in text, "those of the flags read them", text)
    cycle = ("--lr_scheduler_type", "OneCycle", "--lr_scheduler_kwargs", '{"cycle_min_lr": 0.01, "cycle_max_lr": 0.1}')
    text = library.wrong("descends", "", os.path.join(folder, "cycle"), "--max_steps", 2, *cycle)
    runs.in_order(text, "OneCycle: the momentum does not cycle", "the program 'wrong'")


STRATEGIES = {"zero1": ("--sharded_ddp", "simple"), "full_shard": ("--fsdp", "full_shard")}


def a_callback_stops_and_saves(library, folder):
    output = os.path.join(folder, "run")
    text = library.start(library.program("stop_after"), output, "--max_steps", 9, "--logging_steps", "1", STOP_AFTER="3")
    expect(len(column(output)) == 3 and library.checkpoints(output) == [3], "it saves and stops", text)
    text = library.start(library.program("stop_after"), os.path.join(folder, "unset"), "--max_steps", 2, code=1)
    runs.in_order(text, "the program 'stop_after' has failed", "its Trainer, being made", "STOP_AFTER is not set")


def others_are_refused_before_anything_starts(library, folder):
    content = library.program("plain").read_bytes()
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
    itself = os.path.join(folder, "interface")
    text = library.start(itself, output, "--max_steps", 2, code=3)
    runs.in_order(text, "the program cannot be used", itself, "interface for programs 9, and this program has 1")
    expect(not os.path.exists(output), "nothing is written by one that is started by itself, either", text)


EVALUATES = ("--max_steps", 2, "--do_eval", "--validation_split_percentage", "5")


def outputs_of_another_shape_are_refused(library, folder):
    for how, words in (("predicts_nothing", "it does not call that of Trainer"), ("predicts_wider", "its output is Long [8, 128], and that of Trainer is Long [8, 64]"),
                       ("predicts_narrower", "its output is Long [8, 1], and that of Trainer is Long [8, 64]"), ("predicts_int32", "its output is Int [8, 64]"),
                       ("predicts_unlabelled", "the column 'labels' is left out"), ("predicts_throws", "no idea")):
        text = library.wrong("predicts", how, os.path.join(folder, how), *EVALUATES, code=1)
        runs.in_order(text, "the program 'wrong' has failed", "its Trainer, prediction_step", words)
    for kind, how, method, words in (("prices", "loss_throws", "compute_loss", "no price"), ("prices", "loss_is_logits", "compute_loss", "no float32 scalar"),
                                     ("prices", "loss_is_cut_off", "compute_loss", "no gradient flows from its loss to the model"),
                                     ("tells", "tells_step", "log", "it gives 'step' twice"), ("tells", "tells_epoch", "log", "it gives 'epoch'"),
                                     ("tells", "tells_time", "log", "it gives 'time'"), ("tells", "tells_namelessly", "log", "a metric without a name"),
                                     ("judges", "judging_throws", "compute_metrics", "no judgement"),
                                     ("judges", "judges_twice", "compute_metrics", "it gives 'mine' twice"), ("judges", "judges_speed", "compute_metrics", "it gives 'runtime'"),
                                     ("judges", "judges_namelessly", "compute_metrics", "a metric without a name")):
        text = library.wrong(kind, how, os.path.join(folder, how), *EVALUATES, code=1)
        runs.in_order(text, "the program 'wrong' has failed", f"its Trainer, {method}, ", words)


def a_number_that_it_logs_again_is_its_own(library, folder):
    own = os.path.join(folder, "own")
    library.wrong("tells", "tells_again", own, "--max_steps", 2)
    lines = pathlib.Path(own, "hftrain", "log.jsonl").read_text().splitlines()
    expect(column(own) and set(column(own)) == {7} and all(line.count('"loss"') == 1 for line in lines), "it stands there once", lines)


def its_metrics_say_which_model_is_best(library, folder):
    own = os.path.join(folder, "own")
    flags = ("--max_steps", 6, "--do_eval", "--validation_split_percentage", "5", "--eval_strategy", "steps", "--eval_steps", 2)
    best = ("--save_strategy", "steps", "--save_steps", 2, "--load_best_model_at_end", "true", "--greater_is_better", "true")
    library.wrong("judges", "", own, *flags, *best, "--metric_for_best_model", "mine", ranks=2)
    state = runs.read_json(own, "trainer_state.json")
    expect(state["best_metric"] == 2 and state["best_model_checkpoint"].endswith("checkpoint-4"), "those of rank 0 decide", state)
    text = library.wrong("judges", "", os.path.join(folder, "none"), *flags, "--metric_for_best_model", "mina", code=2)
    runs.in_order(text, "there is no metric 'eval_mina'", "evaluation gives", "eval_mine", "try: one of these")
    expect("has failed" not in text, "the program is not blamed for it", text)
    text = library.wrong("judges", "", os.path.join(folder, "running"), *EVALUATES, "--batch_eval_metrics", code=2)
    runs.in_order(text, "the program 'wrong' cannot be used", "--batch_eval_metrics", "leave the flag out")


def an_optimizer_that_is_none_is_that_of_the_flags(library, folder):
    names = ("none", "plain", "passed", "passed_and_none")
    none, plain, passed, passed_and_none = (os.path.join(folder, name) for name in names)
    flags = ("--max_steps", 4)
    text = library.wrong("makes_nothing", "", none, *flags)
    expect("that of the program" not in pathlib.Path(none, "README.md").read_text(), "and its card says those", none)
    for method in ("create_optimizer", "create_scheduler"):
        expect(f"{method} of the program 'wrong' makes none: it is the one of the flags" in text, "it is said", text)
    library.plain(plain, *flags, ranks=1)
    expect(column(none) == column(plain) and column(none, "learning_rate") == column(plain, "learning_rate"), "that of the flags", column(none))
    library.wrong("passes", "", passed, *flags)
    text = library.wrong("passes_and_makes_nothing", "", passed_and_none, *flags)
    expect(text.count("makes none: it is the one that was passed in") == 2, "that is said, too", text)
    expect(column(passed) == column(passed_and_none) and column(passed)[1:] != column(plain)[1:], "that which was passed in", column(passed))
    expect(column(passed_and_none, "learning_rate") == [5e-4] * 4, "its schedule, too", column(passed_and_none, "learning_rate"))


def state_that_checkpoints_could_not_keep_is_refused(library, folder):
    for how, part, words in (("state_comes_late", "create_optimizer", "the state 'mean' of parameter 0 is not there"),
                             ("state_is_a_copy", "create_optimizer", "is another tensor each time"),
                             ("state_of_another_shape", "create_optimizer", "neither the shape of its parameter nor one number"),
                             ("state_twice", "create_optimizer", "two states of its optimizer have one name"),
                             ("state_named_late", "step of an optimizer", "its states have other names than before"),
                             ("step_throws", "step of an optimizer", "no way down"), ("schedule_throws", "schedule", "no rate"),
                             ("schedule_is_none", "schedule", "its factor behind 0 updates is")):
        text = library.wrong("passes", how, os.path.join(folder, how), "--max_steps", 2, code=1)
        runs.in_order(text, "the program 'wrong' has failed", f"its Trainer, {part}, ", words)


def batches_that_do_not_fit_are_refused(library, folder):
    for how, words in (("labels_wider", "'labels'"), ("labels_narrower", "'labels'"), ("labels_fewer", "'labels'"), ("labels_int32", "'labels'"),
                       ("ids_int32", "'input_ids'"), ("mask_wider", "'attention_mask'"), ("mask_float", "'attention_mask'"),
                       ("positions_narrower", "'position_ids'"), ("ids_missing", "no rows of input_ids"), ("column_undefined", "'labels'")):
        for kind in ("loads_training", "loads_evaluation"):
            text = library.wrong(kind, how, os.path.join(folder, how + kind), *EVALUATES, code=1)
            runs.in_order(text, "the program 'wrong' has failed", "its Trainer, next of a data loader", words)
    text = library.wrong("loads_training", "length_throws", os.path.join(folder, "length"), "--max_steps", 2, code=1)
    runs.in_order(text, "the program 'wrong' has failed", "its Trainer, length of a data loader", "no length")
    sends = ("--max_steps", 2, "--accelerator_config", '{"dispatch_batches": true}')
    text = library.wrong("loads_training", "", os.path.join(folder, "sends"), *sends, code=2, ranks=2)
    runs.in_order(text, "the program 'wrong' cannot be used", "dispatch_batches", "try: ")
    streams = ("--max_steps", 2, "--streaming", "--do_eval", "--validation_file", library.text)
    text = library.wrong("loads_training", "", os.path.join(folder, "streams"), *streams, code=2)
    runs.in_order(text, "the program's data loader cannot be used", "the run streams its data", "try: train without --streaming")
    library.wrong("loads_evaluation", "", os.path.join(folder, "streamed"), *streams)
    expect("eval_loss" in runs.read_json(folder, "streamed", "eval_results.json"), "that of evaluation loads beside a stream", folder)


def stages_are_told_and_fail_as_hftrain_does(library, folder):
    text = library.wrong("runs", "trains_twice", os.path.join(folder, "twice"), *EVALUATES, code=1)
    runs.in_order(text, "the program 'wrong' has failed", "its Trainer, run", "train() is called a second time")
    text = library.wrong("runs", "evaluates_before_and_after", os.path.join(folder, "both"), *EVALUATES)
    losses = [float(line.split()[-1]) for line in text.splitlines() if line.startswith(("before ", "after "))]
    expect(len(losses) == 2 and losses[1] < losses[0], "evaluation before training and after it", text)
    wild = ("--max_steps", 9, "--learning_rate", "1e30")
    text = library.wrong("runs", "swallows", os.path.join(folder, "wild"), *wild, code=8, ranks=2)
    expect("heard of it" in text and "training diverged" in text and "has failed" not in text, "nobody swallows a failure", text)
    text = library.wrong("runs", "says_it_again", os.path.join(folder, "again"), *wild, code=8)
    expect("training diverged" in text and "it did not work" not in text, "what failed first is told", text)


def a_method_that_hides_one_of_trainer_does_not_compile(library, folder):
    built = installed.built("wrong", pathlib.Path(__file__).parent / "wrong_programs", "wrong")
    done = subprocess.run(["cmake", "--build", built, "--target", "hides"], text=True, capture_output=True)
    text = done.stdout + done.stderr
    expect(done.returncode != 0 and "your compute_loss has the name of a method of hftrain::Trainer and is another one" in text, "the compiler says so", text)
    expect(text.count("error:") == 1, "and nothing else", text)


def commands_without_a_run_are_those_of_hftrain(library, folder):
    for words, code, said in ((("checkpoint", "inspect", os.path.join(folder, "gone")), 4, "try: "), (("docs", "man"), 0, "EXIT STATUS"),
                              (("completion", "bash"), 0, "complete"), (("cache", "list"), 0, ""), (("--version",), 0, "hftrain"),
                              (("explain", "worker_program"), 0, "worker_program"), (("plan", "--nothing"), 2, "unknown flag --nothing")):
        done = subprocess.run([library.program("plain"), *words], env=library.environment, text=True, capture_output=True)
        text = done.stdout + done.stderr
        expect(done.returncode == code and said in text, " ".join(words), f"{done.returncode}\n{text}")
    planned = [library.program("plain"), "plan", *library.flags(os.path.join(folder, "run"), "--max_steps", "2", "--metric_for_best_model", "mine",
                                                                   "--eval_strategy", "epoch", "--validation_split_percentage", "5")]
    done = subprocess.run(planned, env=library.environment, text=True, capture_output=True)
    expect(done.returncode == 0, "a plan is for the program", done.stdout + done.stderr)


SCENARIOS = [a_plain_program_trains_as_hftrain, a_loss_and_its_log_are_the_programs, a_training_step_sees_the_inputs_first,
             its_metrics_judge_what_its_step_predicts, what_could_not_act_is_refused, its_loaders_give_other_data, optimizers_are_passed_in_and_saved,
             what_it_creates_is_used_in_its_stages, flags_of_what_it_creates_itself_are_told, a_callback_stops_and_saves,
             others_are_refused_before_anything_starts, outputs_of_another_shape_are_refused, a_number_that_it_logs_again_is_its_own, its_metrics_say_which_model_is_best,
             an_optimizer_that_is_none_is_that_of_the_flags, state_that_checkpoints_could_not_keep_is_refused,
             batches_that_do_not_fit_are_refused, a_method_that_hides_one_of_trainer_does_not_compile, stages_are_told_and_fail_as_hftrain_does, commands_without_a_run_are_those_of_hftrain]

if __name__ == "__main__":
    runs.run_scenarios(SCENARIOS, sys.argv[1:], Library)
