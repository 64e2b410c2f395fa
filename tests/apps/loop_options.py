#!/usr/bin/env python3
"""Options of the training loop: each changes what its documentation says, by flag and by YAML.

  loop_options.py [SCENARIO]…     all of them without a word
"""
import json
import os
import re
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, expect, in_order, read_json, records, run_scenarios, working_values

STEPS = ["--max_steps", 3, "--save_strategy", "no", "--per_device_train_batch_size", 2]


class Loop(Fixture):
    def run(self, folder, name, *more, ranks=1, yaml=None, expect=0, steps=STEPS, model=None):
        """One run; `yaml`: more settings, in a file; `model`: a folder to start from."""
        output = os.path.join(folder, name)
        if yaml is not None:
            path = output + ".yaml"
            with open(path, "w") as file:
                file.write(yaml)
            more = ["--config", path, *more]
        words = self.flags(output, *steps, *more, ranks=ranks)
        if model is not None:
            words = ["--model_name_or_path", model, *words[words.index("--tokenizer_name"):]]
        done = self.call(*words, expect=expect)
        return Done(output, done.stderr)


class Done:
    def __init__(self, output, said):
        self.output, self.said = output, said

    @property
    def losses(self):
        return [record["loss"] for record in records(self.output) if "loss" in record]

    @property
    def ranks(self):
        return read_json(self.output, "hftrain", "summary.json")["ranks"]


def near(one, other, bar=1e-6):
    return len(one) == len(other) > 0 and all(abs(a - b) <= bar * abs(b) for a, b in zip(one, other))


def rank_0_reads_for_all(fixture, folder):
    """Of five samples the last one is left for a round of two ranks with two each."""
    few = ["--max_train_samples", 5, "--max_steps", 2]
    apart = fixture.run(folder, "apart", *few, ranks=2)
    sent = fixture.run(folder, "sent", *few, "--accelerator_config", '{"dispatch_batches": true}', ranks=2)
    by_yaml = fixture.run(folder, "yaml", *few, ranks=2, yaml="accelerator_config:\n  dispatch_batches: true\n")
    old = fixture.run(folder, "old", *few, "--dispatch_batches", "true", "--dataloader_num_workers", 2, ranks=2)
    expect(sent.losses == by_yaml.losses == old.losses, "by flag, by YAML, by the old name and with threads", (sent.losses, by_yaml.losses, old.losses))
    expect(sent.losses[0] == apart.losses[0], "a whole round is the same", (sent.losses, apart.losses))
    # One sample is left: two ranks share it and the first one, where even_batches fills four places.
    expect(sent.losses[1] != apart.losses[1], "the last round is shared out evenly", (sent.losses, apart.losses))
    traffic = [[rank["bytes_sent"] for rank in done.ranks] for done in (apart, sent)]
    expect(traffic[1][0] > traffic[0][0], "batches were sent", traffic)


def gradients_are_reduced_in_every_micro_batch(fixture, folder):
    twice = ["--gradient_accumulation_steps", 2]
    for name, strategy in (("ddp", []), ("zero2", ["--fsdp", "shard_grad_op auto_wrap"]), ("zero1", ["--deepspeed", '{"zero_optimization": {"stage": 1}}'])):
        once = fixture.run(folder, name, *twice, *strategy, ranks=2)
        each = fixture.run(folder, name + "-each", *twice, *strategy, "--accelerator_config", '{"gradient_accumulation_kwargs": {"sync_each_batch": true}}', ranks=2)
        expect(near(each.losses, once.losses), name + ": the same sums", (each.losses, once.losses))
        if not strategy:
            sent = [done.ranks[0]["bytes_sent"] for done in (once, each)]
            expect(sent[1] > 1.5 * sent[0], "twice as much is sent", sent)
            yaml = fixture.run(folder, "yaml", *twice, ranks=2, yaml="accelerator_config:\n  gradient_accumulation_kwargs:\n    sync_each_batch: true\n")
            expect(yaml.ranks[0]["bytes_sent"] == sent[1] and yaml.losses == each.losses, "YAML says it too", yaml.said)


def a_static_graph_goes_with_accumulation(fixture, folder):
    for name, steps in (("one", 1), ("two", 2)):
        runs = [fixture.run(folder, f"{name}-{static}", "--gradient_accumulation_steps", steps, "--max_steps", 4, "--ddp_static_graph", static, ranks=2) for static in ("false", "true")]
        expect(near(runs[1].losses, runs[0].losses), f"{steps} micro-batches: losses of the run without it", [done.losses for done in runs])
        told = "the graph is walked at every update" in runs[1].said
        expect(told == (steps > 1), "it is said where the graph is walked", runs[1].said)


def an_order_may_be_drawn_from_the_random_numbers_of_the_run(fixture, folder):
    epochs = ["--max_train_samples", 8, "--max_steps", 10, "--per_device_train_batch_size", 2]
    drawn = ["--accelerator_config", '{"use_seedable_sampler": false}']
    for ranks in (1, 2):
        seeded = fixture.run(folder, f"seeded-{ranks}", *epochs, ranks=ranks)
        first = fixture.run(folder, f"drawn-{ranks}", *epochs, *drawn, ranks=ranks)
        again = fixture.run(folder, f"again-{ranks}", *epochs, ranks=ranks, yaml="accelerator_config: {use_seedable_sampler: false}\n")
        expect(first.losses != seeded.losses, "another order", first.losses)
        expect(first.losses == again.losses, "the same order for the same seed, by YAML too", (first.losses, again.losses))
        saved = [*epochs, *drawn, "--save_strategy", "steps", "--save_steps", 3]
        whole = fixture.run(folder, f"whole-{ranks}", *saved, ranks=ranks)
        begun = fixture.run(folder, f"begun-{ranks}", *saved, ranks=ranks)
        for step in (6, 3):  # in the middle of an epoch, and the other where two ranks are
            rest = fixture.run(folder, f"rest-{ranks}-{step}", *saved, "--resume_from_checkpoint", os.path.join(begun.output, f"checkpoint-{step}"), ranks=ranks)
            expect(rest.losses == whole.losses[step:], f"a run that goes on at {step} takes the same samples", (rest.losses, whole.losses))


def memory_goes_back_when_asked(fixture, folder):
    def faults(name, *more, **options):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        done = fixture.run(folder, name, "--max_steps", 20, *more, steps=[*STEPS, "--per_device_train_batch_size", 16], **options)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before, done.losses

    kept, losses = faults("kept")
    given, same = faults("given", "--torch_empty_cache_steps", 1)
    by_yaml, _ = faults("yaml", yaml="torch_empty_cache_steps: 1\n")
    seldom, _ = faults("seldom", "--torch_empty_cache_steps", 1000)
    expect(losses == same, "the losses are the same", (losses, same))
    expect(given > kept + 2000 and by_yaml > kept + 2000, "what went back is taken anew", (kept, given, by_yaml))
    expect(seldom < kept + (given - kept) / 2, "seldom is less often", (kept, seldom, given))


def poisoned(model, tensor):
    """A copy of the model's folder with one number of the tensor infinite."""
    other = model + "-poisoned"
    subprocess.run(["cp", "-r", model, other], check=True)
    path = os.path.join(other, "model.safetensors")
    with open(path, "r+b") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        name = next(key for key in header if key.endswith(tensor))
        file.seek(8 + size + header[name]["data_offsets"][0])
        file.write(struct.pack("<f", float("inf")))
    return other


def the_first_module_that_overflows_is_named(fixture, folder):
    model = fixture.run(folder, "model").output
    bad = poisoned(model, "h.1.mlp.c_fc.weight")
    for name, more, yaml, ranks in (("flag", ["--debug", "underflow_overflow"], None, 1), ("yaml", [], "debug: [underflow_overflow]\n", 1),
                                    ("sharded", ["--debug", "underflow_overflow", "--fsdp", "full_shard auto_wrap", "--gradient_checkpointing"], None, 2)):
        done = fixture.run(folder, name, *more, yaml=yaml, ranks=ranks, expect=8, model=bad)
        in_order(done.said, "inf or NaN in transformer.h.1.mlp.c_fc: its weight has inf", "abs min  abs max  metadata", "transformer.h.0.mlp.c_fc Conv1D",
                 "transformer.h.1.mlp.c_fc Conv1D")
        expect(re.search(r" inf +weight", done.said), "the frame has what is wrong", done.said)
    without = fixture.run(folder, "without", "--max_steps", 8, expect=8, model=bad)
    expect("c_fc" not in without.said, "without it no module is named", without.said)
    sound = fixture.run(folder, "sound", "--debug", "underflow_overflow", model=model)
    plain = fixture.run(folder, "plain", model=model)
    expect(sound.losses == plain.losses, "a sound model trains as without it", (sound.losses, plain.losses))


def ignored_modules_are_not_sharded(fixture, folder):
    sharded = ["--fsdp", "full_shard auto_wrap"]
    plain = fixture.run(folder, "plain", *sharded, ranks=2)
    whole = fixture.run(folder, "whole", *sharded, "--fsdp_config", '{"ignored_modules": ".*\\\\.mlp"}', ranks=2)
    yaml = fixture.run(folder, "yaml", ranks=2, yaml="fsdp: full_shard auto_wrap\nfsdp_config:\n  ignored_modules: '.*\\.mlp'\n")
    expect(near(whole.losses, plain.losses, 1e-6), "the numbers are the same", (whole.losses, plain.losses))
    held = [done.ranks[0]["state_bytes"]["parameters"] for done in (plain, whole, yaml)]
    # Half of two blocks' MLPs: 2 x (2 x 32 x 128 + 128 + 32) numbers of 4 bytes.
    expect(held[1] - held[0] == 2 * (2 * 32 * 128 + 128 + 32) * 4 // 2 and held[2] == held[1], "the MLPs are whole", held)
    for pattern, said in (("mlp", "no module's name matches"), ("(", "is not a regular expression")):
        wrong = fixture.run(folder, "wrong", *sharded, "--fsdp_config", json.dumps({"ignored_modules": pattern}), ranks=2, expect=2)
        expect(said in wrong.said, said, wrong.said)


def saved_inputs_are_said_to_be_on_the_host_already(fixture, folder):
    for name, more in (("kwargs", ["--gradient_checkpointing", "--gradient_checkpointing_kwargs", '{"offload": true}']),
                       ("fsdp", ["--fsdp", "full_shard auto_wrap", "--fsdp_config", '{"activation_checkpointing": true, "activation_checkpointing_offload": true}'])):
        done = fixture.run(folder, name, *more)
        expect("has no effect here" in done.said and "it lies in host memory anyway" in done.said, name, done.said)
    lonely = fixture.run(folder, "lonely", "--fsdp", "full_shard", "--fsdp_config", '{"activation_checkpointing_offload": true}', expect=2)
    expect("does nothing without activation_checkpointing" in lonely.said, "F13", lonely.said)


def traces_of_updates_are_written(fixture, folder):
    done = fixture.run(folder, "one", "--profile_steps", "2")
    more = fixture.run(folder, "two", ranks=2, yaml="profile_steps: '2:3'\n")
    counts = []
    for run, ranks in ((done, [0]), (more, [0, 1])):
        for rank in ranks:
            events = read_json(run.output, "hftrain", "profile", f"rank-{rank}.json")["traceEvents"]
            names = [event.get("name", "") for event in events]
            counts.append(sum(name == "aten::addmm" for name in names))
    expect(counts[0] > 0 and counts[1] == counts[2] == 2 * counts[0], "two updates have twice the products of one", counts)
    expect("the trace of --profile_steps is in" in done.said, "it is said where", done.said)
    for value in ("0", "3:2", "2:9", "x"):
        wrong = fixture.run(folder, "wrong", "--profile_steps", value, expect=2)
        expect("names no updates of this run" in wrong.said, value, wrong.said)


def an_older_release_has_its_defaults_and_habits(fixture, folder):
    def run(name, release, *more, **options):
        return fixture.run(folder, name, *(["--hf_compat", release] if release else []), *more, **options)

    printed = fixture.call("--print_config", "origins", "--hf_compat", "4.49.0").stdout
    for line in ("optim: adamw_torch ", "average_tokens_across_devices: false ", "report_to: "):
        found = next(one for one in printed.splitlines() if one.startswith(line))
        expect(found.endswith("# from hf_compat 4.49.0"), line, found)
    kept = fixture.call("--print_config", "origins", "--hf_compat", "4.49.0", "--optim", "sgd").stdout
    expect("optim: sgd " in kept and "# --optim" in kept, "a flag that is given wins", kept)
    few = ["--max_train_samples", 10, "--gradient_accumulation_steps", 2, "--num_train_epochs", 2, "--max_steps", -1]
    new, old = run("epochs-new", None, *few), run("epochs-old", "4.51.3", *few)
    expect((len(new.losses), len(old.losses)) == (6, 4), "five micro-batches are two updates and a half", (new.losses, old.losses))
    three = ["--eval_strategy", "steps", "--eval_steps", 2, "--max_grad_norm", 0]
    new, old, older = run("new", None, *three), run("old", "5.2.0", *three), run("older", "4.49.0", *three)
    evaluated = [[record["step"] for record in records(done.output) if "eval_loss" in record] for done in (new, old)]
    # Both evaluate once more at their end.
    expect(evaluated == [[2, 3, 3], [2, 3]], "the last update is evaluated on a multiple alone", evaluated)
    norms = ["grad_norm" in records(done.output)[0] for done in (new, old)]
    expect(norms == [True, False], "no norm where nothing is clipped", norms)
    # The family of the other runs counts them in any release.
    llama = ["--model_type", "llama", "--config_overrides", "num_hidden_layers=1,num_attention_heads=2,num_key_value_heads=2,hidden_size=32,intermediate_size=64,"
             "max_position_embeddings=64,vocab_size=512"]
    counted = [run("llama-" + (release or "new"), release, *llama).losses[0] for release in (None, "5.2.0")]
    expect(near(counted[1:], [counted[0] * 63 / 64]), "first labels count", counted)
    judged = [read_json(run("judged-llama-" + (release or "new"), release, *llama, "--do_eval").output, "eval_results.json")["eval_loss"] for release in (None, "5.2.0", "4.49.0")]
    expect(near(judged[1:], [judged[0] * 63 / 64, judged[0]], 1e-4), "and in evaluations, once there is a count", judged)
    smooth = ["--label_smoothing_factor", 0.1, "--do_eval"]
    runs = [run("smoothed-" + (release or "new"), release, *smooth) for release in (None, "5.11.0")]
    evaluated = [read_json(one.output, "eval_results.json")["eval_loss"] for one in runs]
    expect(near([runs[1].losses[0], evaluated[1]], [runs[0].losses[0] * 64 / 63, evaluated[0] * 64 / 63], 1e-3), "smoothed losses know none but those that are predicted", (runs[0].losses, runs[1].losses, evaluated))
    # GPT-2's count there in any release.
    judged = [read_json(run("judged-" + (release or "new"), release, "--do_eval").output, "eval_results.json")["eval_loss"] for release in (None, "4.49.0")]
    expect(near(judged[:1], [judged[1] * 63 / 64]), "evaluations had no count of labels", judged)
    epochs = ["--max_steps", -1, "--num_train_epochs", 2, "--max_train_samples", 16, "--eval_strategy", "epoch", "--save_strategy", "epoch", "--load_best_model_at_end"]
    kept = run("kept-old", "4.49.0", *epochs)
    state = read_json(kept.output, "trainer_state.json")
    best = read_json(state["best_model_checkpoint"], "trainer_state.json")
    expect(state["best_model_checkpoint"].endswith(f"checkpoint-{state['best_global_step']}"), "the best model is that of its score", state)
    expect(best["log_history"][-1]["step"] == best["global_step"] and "eval_loss" in best["log_history"][-1], "a checkpoint has its own evaluation", best)
    expect(older.losses != old.losses and all(loss == round(loss, 4) for loss in older.losses), "four decimals", older.losses)
    rates = [[record["learning_rate"] for record in records(done.output) if "loss" in record] for done in (old, older)]
    expect(rates[1][:2] == rates[0][1:] and rates[1][2] == 0, "the rate of the next update", rates)
    trackers = [os.path.isdir(os.path.join(done.output, "runs")) for done in (old, older)]
    expect(trackers == [False, True], "every tracker that is there", trackers)
    yaml = fixture.run(folder, "yaml", *three, yaml="hf_compat: '5.2.0'\n")
    expect(yaml.losses == old.losses, "YAML says it too", (yaml.losses, old.losses))
    for release, old in (("4.57", True), ("4.57.6", True), ("5.0.0", False)):
        said = fixture.call("--print_config", "origins", "--hf_compat", release).stdout
        expect((f"report_to: [tensorboard" in said) == old, f"every patch of 4.57 has its defaults: {release}", said)
    expect(all(loss == round(loss, 4) for loss in run("patch", "4.57.6").losses), "four decimals up to 5.0", release)
    for release, said in (("4.45.2", "is too old"), ("6.0", "is not known"), ("new", "is no release")):
        expect(said in run("wrong", release, expect=2).said, said, release)
    required = fixture.call("--hf_compat", "4.47.1", "--dry_run", expect=2)
    expect("output_dir is missing" in required.stderr, "the output folder had no default", required.stderr)


# What a value needs beside itself for that it differs from its neighbours in a few updates. The last member names what it is another name of.
EVALUATED = ["--eval_strategy", "steps", "--eval_steps", 1]
OPTIMIZERS = {"adamw_torch_fused": ([], None), "adamw_torch": ([], "adamw_torch_fused"), "adamw_hf": ([], "adamw_torch_fused"),
              "adamw_apex_fused": ([], "adamw_torch_fused"), "adafactor": ([], None), "adamw_anyprecision": (["--optim_args", "variance_dtype=bfloat16"], None), "sgd": ([], None),
              "adagrad": ([], None), "rmsprop": ([], None), "lion_32bit": ([], None), "lion": ([], "lion_32bit"), "adam": ([], None)}
SCHEDULES = {"linear": ({}, []), "cosine": ({}, []), "cosine_with_restarts": ({"num_cycles": 2}, []), "polynomial": ({"power": 2}, []), "constant": ({}, []),
             "constant_with_warmup": ({}, []), "inverse_sqrt": ({}, []), "reduce_lr_on_plateau": ({"mode": "max", "patience": 0}, EVALUATED),
             "cosine_with_min_lr": ({"min_lr_rate": 0.4}, []), "cosine_warmup_with_min_lr": ({"min_lr_rate": 0.4, "warmup_lr_rate": 0.5}, []),
             "warmup_stable_decay": ({"num_decay_steps": 3}, []), "greedy": ({"mode": "max", "patience": 0}, EVALUATED), "WarmupLR": ({}, []),
             "WarmupDecayLR": ({}, []), "WarmupCosineLR": ({}, []), "LRRangeTest": ({"lr_range_test_step_size": 2}, []),
             "OneCycle": ({"cycle_min_lr": 1e-3, "cycle_max_lr": 1e-2, "cycle_first_step_size": 3}, [])}


def all_differ(found):
    """No two of {value: losses} are the same, and all are numbers."""
    seen = {}
    for value, losses in found.items():
        expect(len(losses) == 6 and all(0 < loss < 20 for loss in losses), f"{value} trains", losses)
        other = seen.setdefault(tuple(losses), value)
        expect(other == value, f"{value} is another than {other}", losses)


def every_optimizer_trains_by_its_own_rule(fixture, folder):
    values, steps = working_values(fixture, "optim"), [*STEPS, "--max_steps", 6, "--weight_decay", 0.1]
    expect(sorted(values) == sorted(OPTIMIZERS), "the table of this test has every optimizer", values)
    found = {value: fixture.run(folder, value, "--optim", value, *OPTIMIZERS[value][0], steps=steps).losses for value in values}
    default = fixture.run(folder, "default", steps=steps)
    expect(default.losses == found["adamw_torch_fused"], "the default", default.losses)
    for value, (_, other) in OPTIMIZERS.items():
        expect(other is None or found[value] == found[other], f"{value} is {other}", found[value])
    all_differ({value: found[value] for value, (_, other) in OPTIMIZERS.items() if other is None})
    yaml = fixture.run(folder, "yaml", steps=steps, yaml="optim: adafactor\n")
    expect(yaml.losses == found["adafactor"], "YAML says it too", yaml.losses)


def every_schedule_has_rates_of_its_own(fixture, folder):
    values, steps = working_values(fixture, "lr_scheduler_type"), [*STEPS, "--max_steps", 6, "--warmup_steps", 2, "--validation_file", fixture.text, "--max_eval_samples", 4]
    expect(sorted(values) == sorted(SCHEDULES), "the table of this test has every schedule", values)
    found, rates = {}, {}
    for value in values:
        options, more = SCHEDULES[value]
        done = fixture.run(folder, value, "--lr_scheduler_type", value, "--lr_scheduler_kwargs", json.dumps(options), *more, steps=steps)
        found[value], rates[value] = done.losses, [record["learning_rate"] for record in records(done.output) if "loss" in record]
    all_differ(found)
    expect(len(set(map(tuple, rates.values()))) == len(values), "rates of its own", rates)


def a_record_behind_an_evaluation_has_the_rate_that_was_used(fixture, folder):
    steps = [*STEPS, "--max_steps", 2, "--learning_rate", 1e-3, "--logging_strategy", "epoch", "--validation_file", fixture.text, "--max_eval_samples", 4]
    flags = ["--lr_scheduler_type", "reduce_lr_on_plateau", "--lr_scheduler_kwargs", '{"mode": "max", "patience": 0}', *EVALUATED]
    done = fixture.run(folder, "rate", *flags, "--optim", "sgd", "--optim_args", "momentum=0.5", steps=steps)
    rates = [record["learning_rate"] for record in records(done.output) if "loss" in record]
    expect(rates == [1e-3], "the last evaluation lowered the rate of an update that did not come", rates)
    with open(os.path.join(done.output, "README.md")) as file:
        expect("- optimizer: sgd with momentum=0.5\n" in file.read(), "the card has its options and no betas", done.output)


SCENARIOS = [a_record_behind_an_evaluation_has_the_rate_that_was_used, every_optimizer_trains_by_its_own_rule, every_schedule_has_rates_of_its_own, an_older_release_has_its_defaults_and_habits, rank_0_reads_for_all, gradients_are_reduced_in_every_micro_batch, a_static_graph_goes_with_accumulation, an_order_may_be_drawn_from_the_random_numbers_of_the_run,
             memory_goes_back_when_asked, the_first_module_that_overflows_is_named, ignored_modules_are_not_sharded,
             saved_inputs_are_said_to_be_on_the_host_already, traces_of_updates_are_written]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Loop)
