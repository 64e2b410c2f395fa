#!/usr/bin/env python3
"""What a run that goes on keeps of what it had counted, and what it says where the counts of then and now do not go together.

  going_on.py [SCENARIO]…     all of them without a word
"""
import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import Run, last_step, send
from runs import Fixture, expect, read_json, records, run_scenarios


def early_stopping_counts_on_where_a_rank_was_lost(fixture, folder):
    """A loss that falls never rises, so that an evaluation every 4 steps stops the run after the first and 40 more."""
    output = os.path.join(folder, "out")
    run = Run(fixture, output, "--max_steps", 100_000, "--learning_rate", "1e-5", "--lr_scheduler_type", "constant", "--save_steps", 4, "--save_total_limit", 2,
              "--max_eval_samples", 4, "--metric_for_best_model", "loss", "--greater_is_better", "true", "--early_stopping_patience", 40,
              "--max_restarts", 1, ranks=1)
    expect(run.wait_for_workers() and run.wait_for_line("'eval_loss'", 15), "it evaluates", "".join(run.lines))
    send(run.pid_of(0), signal.SIGKILL)
    code, said = run.finish()
    expect(code == 0 and "restart 1 of 1" in said, "it is started again", said)
    expect(last_step(output) == 4 * 41, "it stops where an undisturbed run does", last_step(output))


def a_run_that_early_stopping_has_ended_stays_ended(fixture, folder):
    """The first evaluation is the best one here, so the second after it ends the run."""
    def train(output, *more):
        return fixture.call(*fixture.flags(output, "--max_steps", 30, "--validation_file", fixture.text, "--max_eval_samples", 2, "--eval_strategy", "steps", "--eval_steps", 2,
                                           "--save_strategy", "steps", "--save_steps", 2, "--metric_for_best_model", "loss", "--load_best_model_at_end",
                                           "--early_stopping_threshold", 100, "--early_stopping_patience", *map(str, more), ranks=1)).stderr
    whole, cut, kept = (os.path.join(folder, name) for name in ("whole", "cut", "kept"))
    content = lambda output: [pathlib.Path(output, name).read_bytes() for name in ("model.safetensors", "checkpoint-6/model.safetensors")]
    train(whole, 2)
    ended = content(whole)
    expect(last_step(whole) == 6 and fixture.checkpoints(whole) == [2, 4, 6], "it ends with the second evaluation after the best", fixture.checkpoints(whole))
    shutil.copytree(whole, kept)
    said = train(whole, 2)
    expect("resuming from" in said and content(whole) == ended and fixture.checkpoints(whole) == [2, 4, 6], "the same command adds nothing", said)
    expect("has ended this run at step 6" in said and "a larger --early_stopping_patience" in said, "and why nothing is trained", said)
    fixture.call("--config", os.path.join(whole, "hftrain", "arguments.yaml"))  # which has all that is a default, too
    expect(content(whole) == ended and fixture.checkpoints(whole) == [2, 4, 6], "nor does the record of the run", fixture.checkpoints(whole))
    train(whole, 2, "--resume_from_checkpoint", "auto")
    expect(content(whole) == ended and fixture.checkpoints(whole) == [2, 4, 6], "nor does a job script's word", fixture.checkpoints(whole))
    expect(read_json(whole, "hftrain", "summary.json")["reason"] == "early stopping", "and says why", read_json(whole, "hftrain", "summary.json"))
    # Ended by a kill at the last checkpoint but one, and behind the last one.
    for gone in (["checkpoint-6", "model.safetensors"], ["model.safetensors"]):
        shutil.rmtree(cut, ignore_errors=True)
        shutil.copytree(kept, cut)
        for name in gone:
            place = os.path.join(cut, name)
            shutil.rmtree(place) if os.path.isdir(place) else os.remove(place)
        train(cut, 2)
        expect(content(cut) == ended and fixture.checkpoints(cut) == [2, 4, 6], "it ends as the run that nobody disturbed", fixture.checkpoints(cut))
    train(cut, 3)
    expect(fixture.checkpoints(cut) == [2, 4, 6, 8], "more patience goes on", fixture.checkpoints(cut))
    train(kept, 2, "--restore_callback_states_from_checkpoint", "false")
    expect(fixture.checkpoints(kept) == [2, 4, 6, 8, 10], "and so does a count that begins anew", fixture.checkpoints(kept))


def larger_batches_that_end_a_run_early_are_told(fixture, folder):
    output = os.path.join(folder, "out")
    common = fixture.flags(output, "--max_train_samples", 13, "--num_train_epochs", 2.3, "--save_steps", 5, "--gradient_accumulation_steps", 2, ranks=1)
    first = fixture.call(*common, "--per_device_train_batch_size", "1").stderr
    expect("will end at epoch" not in first, "nothing to tell", first)
    again = [*common, "--resume_from_checkpoint", os.path.join(output, "checkpoint-5"), "--output_dir"]
    same = fixture.call(*again, output + "-same", "--per_device_train_batch_size", "1").stderr
    expect("will end at epoch" not in same, "the same batches", same)
    larger = fixture.call(*again, output + "-larger", "--per_device_train_batch_size", "4").stderr
    expect("will end at epoch 0.77, not at --num_train_epochs 2.3" in larger, "larger batches", larger)
    expect(read_json(output + "-larger", "trainer_state.json")["epoch"] < 0.8, "and it does", larger)


def another_schedule_takes_the_step_and_the_rate_where_both_go_by_steps(fixture, folder):
    output = os.path.join(folder, "out")
    steps = ["--max_steps", 8, "--save_steps", 4]
    fixture.call(*fixture.flags(output, *steps, ranks=1))  # by a cosine
    more = ["--resume_from_checkpoint", os.path.join(output, "checkpoint-4"), "--output_dir"]
    other = output + "-linear"
    again = [*fixture.flags(output, *steps, ranks=1), "--lr_scheduler_type", "linear", "--learning_rate", "5e-3", *more, other]
    said = fixture.call(*again).stderr
    expect("goes on with the schedule linear instead of cosine" in said, "it is told", said)
    rates = {record["step"]: record["learning_rate"] for record in read_json(other, "trainer_state.json")["log_history"] if "learning_rate" in record}
    for step in range(5, 9):  # the rate of an update is that before it
        expect(abs(rates[step] - 1e-3 * (9 - step) / 8) < 1e-9, "the rate of the first run, lowered by the second's schedule", rates)
    for command in ("plan", "train"):
        refused = fixture.call(command, *fixture.flags(output, *steps, ranks=1), "--lr_scheduler_type", "WarmupLR", "--warmup_steps", "2", *more, output + "-deepspeed",
                               expect=2).stderr
        expect('the saved schedule is "cosine", this run\'s is "WarmupLR"' in refused and "rank 0" not in refused, "before ranks are started", refused)


def who_goes_back_is_told_what_stays_ahead(fixture, folder):
    output = os.path.join(folder, "out")
    common = fixture.flags(output, "--max_steps", 6, "--save_steps", 2, ranks=1)
    fixture.call(*common)
    back = [*common, "--save_steps", "3", "--resume_from_checkpoint"]
    said = fixture.call("plan", *back, os.path.join(output, "checkpoint-2")).stderr
    expect("warning: checkpoint-4, checkpoint-6 stay: a save of the same step replaces it" in said, "both are named", said)
    for place, words in ((os.path.join(output, "checkpoint-6"), back), (os.path.join(output, "checkpoint-2"), [*back[:-1], "--output_dir", output + "2", back[-1]])):
        said = fixture.call("plan", *words, place).stderr
        expect("a save of the same step" not in said, "nothing lies ahead there", said)


def another_optimizer_is_refused_and_other_options_are_told(fixture, folder):
    output = os.path.join(folder, "out")
    flags = lambda *more: fixture.flags(output, "--save_steps", 1, *more, ranks=1)
    fixture.call(*flags("--optim", "sgd", "--max_steps", 1))
    for command in ("plan", "train"):
        refused = fixture.call(command, *flags("--optim", "lion", "--max_steps", 2), expect=2).stderr
        expect('the saved optimizer is "sgd", this run\'s is "lion_32bit"' in refused and "rank 0" not in refused, "before ranks are started", refused)
    # Its plan takes the place of the training's.
    fixture.call(*[word for word in flags("--validation_file", fixture.text, "--max_eval_samples", 2, "--do_eval") if word != "--do_train"])
    keeping = fixture.flags(output + "-momentum", "--save_steps", 1, "--optim", "sgd", ranks=2)
    fixture.call(*keeping, "--optim_args", "momentum=0.5", "--max_steps", "1")
    for command in ("plan", "train"):
        lacking = fixture.call(command, *flags("--optim", "sgd", "--optim_args", "momentum=0.5", "--max_steps", 2), expect=4).stderr
        expect("keeps less of the optimizer than this run: momentum_buffer" in lacking and "sgd here: momentum=0.5; there: none" in lacking, "what it lacks", lacking)
        left = fixture.call(command, *keeping, "--max_steps", "2", expect=4).stderr
        expect("keeps more of the optimizer than this run: momentum_buffer" in left and "--optim_args momentum=0.5, or a new run" in left and "rank 0" not in left,
               "what it would lose", left)
    said = fixture.call(*flags("--optim", "sgd", "--max_steps", 2)).stderr
    expect("the optimizer" not in said and "other options" not in said, "the same one", said)


def the_final_loss_is_of_the_updates_whose_losses_are_known(fixture, folder):
    """A model alone, saved between two records of losses, tells nothing of those between the last record and the save."""
    output = os.path.join(folder, "out")
    flags = fixture.flags(output, "--max_steps", 12, "--logging_steps", 5, "--save_steps", 9, "--save_only_model", ranks=1)
    fixture.call(*flags)
    fixture.call(*flags, "--output_dir", output + "-again", "--resume_from_checkpoint", os.path.join(output, "checkpoint-9"))
    logged = lambda name: {record["step"]: record["loss"] for record in records(name) if "loss" in record}
    before, again = logged(output), logged(output + "-again")
    expect(set(again) == {10}, "one record of the updates since, and two updates behind it", again)
    found = read_json(output + "-again", "train_results.json")["train_loss"]
    # 5 updates that were logged before, and 10 to 12, whose losses are between those logged around them.
    wanted = (5 * before[5] + 3 * again[10]) / 8
    expect(abs(found - wanted) < 0.05, "the mean of those 8", (found, wanted, before, again))


if __name__ == "__main__":
    run_scenarios([a_run_that_early_stopping_has_ended_stays_ended, early_stopping_counts_on_where_a_rank_was_lost, larger_batches_that_end_a_run_early_are_told,
                   another_schedule_takes_the_step_and_the_rate_where_both_go_by_steps, who_goes_back_is_told_what_stays_ahead,
                   another_optimizer_is_refused_and_other_options_are_told,
                   the_final_loss_is_of_the_updates_whose_losses_are_known], sys.argv[1:], Fixture)
