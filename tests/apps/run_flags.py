#!/usr/bin/env python3
"""Flags of the loop, of logging, of ranks and of how they are launched: the value of each changes what the built program does.

  run_flags.py [SCENARIO]…     all of them without a word

What one scenario shows of several flags is said by flags, and once more by a file. task_flags.py knows where each flag is shown.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loop_options import Loop, near, poisoned
from runs import HFTRAIN, PATIENCE, expect, free_port, read_json, records, run_scenarios
from task_flags import data_flags
from tiny_tasks import TinyTasks

# A worker that says who it is on both of its streams before it begins, and how it was started.
TALKING = """#!/bin/bash
echo "speaks-$RANK on cores $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status) with $OMP_NUM_THREADS threads as $ROLE_NAME"
echo "complains-$RANK" >&2
exec "{worker}" "$@"
"""
# A shell for other machines that starts everything on this one, and keeps what it was asked.
SHELL = """#!/bin/bash
echo "$*" >> "{calls}"
shift
exec sh -c "$*"
"""


def words(flags):
    """{flag: value} as words of a command line."""
    return [word for flag, value in flags.items() for word in ["--" + flag, *([] if value is True else ["false"] if value is False else [str(value)])]]


def script(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def logged(done, key="loss"):
    return [record["step"] for record in records(done.output) if key in record]


# Of the flags that change the numbers of training: a value, and what else both runs are told.
NUMBERS = {
    "learning_rate": 5e-3, "weight_decay": 0.5, "adam_beta1": 0.5, "adam_beta2": 0.9, "adam_epsilon": 1e-3, "max_grad_norm": 0.1, "label_smoothing_factor": 0.2,
    "neftune_noise_alpha": 5, "warmup_steps": 2, "gradient_accumulation_steps": 2, "per_device_train_batch_size": 4}
# Old names, and what they are other names of.
OLD_NUMBERS = {"per_gpu_train_batch_size": (4, {"per_device_train_batch_size": 4}), "warmup_ratio": (0.7, {"warmup_steps": 0.7}), "adafactor": (True, {"optim": "adafactor"}),
               "poly_power": (2.0, {"lr_scheduler_kwargs": '{"power": 2.0}'})}


def numbers_of_the_update(fixture, folder):
    """No two runs are alike that differ by one of these, and a file says them all at once."""
    steps = ["--max_steps", 3, "--save_strategy", "no"]
    base = {"per_device_train_batch_size": 2}

    def losses(name, flags, yaml=None, more=()):
        told = {**base, **flags}
        return fixture.run(folder, name, *words(told), *more, ranks=1, steps=steps, yaml=yaml).losses
    found = {"": losses("plain", {})}
    for flag, value in NUMBERS.items():
        found[flag] = losses(flag, {flag: value})
        expect(len(found[flag]) == 3 and all(0 < loss < 20 for loss in found[flag]), f"{flag} trains", found[flag])
        alike = [other for other in found if other != flag and found[other] == found[flag]]
        expect(not alike, f"{flag} {value} changes the numbers", (alike, found))
    given = {flag: value for flag, value in NUMBERS.items() if flag not in ("learning_rate", "per_device_train_batch_size")}
    together = losses("together", given)
    expect(together == losses("yaml", {}, json.dumps(given)) and together not in found.values(), "a file says them too", together)
    power = ["--lr_scheduler_type", "polynomial"]
    for flag, (value, new) in OLD_NUMBERS.items():
        more = power if flag == "poly_power" else []
        own = {} if "per_device_train_batch_size" in new else base
        old, plain = (fixture.run(folder, f"{flag}-{name}", *words({**own, **told}), *more, ranks=1, steps=steps).losses for name, told in (("old", {flag: value}), ("new", new)))
        expect(old == plain and old != found[""], f"{flag} is {new}", (old, plain))


def tokens_of_ranks_are_averaged_as_asked(fixture, folder):
    """Ranks that mask as many tokens as it happens: the mean over all of them is another one than the mean of their means."""
    tiny = TinyTasks(folder)
    data = data_flags(tiny, "mlm", folder)

    def losses(name, ranks, *more):
        output = os.path.join(folder, name)
        tiny.call(*tiny.flags("mlm", output, *data, "--line_by_line", "--max_seq_length", 32, "--learning_rate", 1e-2, *more, "--nproc_per_node", ranks))
        return [record["loss"] for record in records(output) if "loss" in record]
    with open(os.path.join(folder, "means.yaml"), "w") as file:
        file.write("average_tokens_across_devices: false\n")
    over_all, by_flag, by_file = losses("all", 2), losses("means", 2, "--no_average_tokens_across_devices"), losses("file", 2, "--config", file.name)
    expect(by_flag == by_file and all(a != b for a, b in zip(over_all, by_flag)), "the mean of means", (over_all, by_flag, by_file))
    expect(near(losses("one", 1), losses("one-means", 1, "--no_average_tokens_across_devices"), 0), "of one rank both are the same", folder)


def batches_are_shared_out_as_asked(fixture, folder):
    few = ["--max_train_samples", 7, "--max_steps", 2]
    apart = fixture.run(folder, "apart", *few, ranks=2)
    split = fixture.run(folder, "split", *few, "--per_device_train_batch_size", 4, "--accelerator_config", '{"split_batches": true}', ranks=2)
    whole = fixture.run(folder, "whole", *few, "--per_device_train_batch_size", 4, ranks=2)
    old = fixture.run(folder, "old", *few, ranks=2, yaml="split_batches: true\n", steps=["--per_device_train_batch_size", 4, "--save_strategy", "no"])
    expect(split.losses == old.losses == apart.losses != whole.losses, "batches of four are of both ranks", (split.losses, old.losses, apart.losses, whole.losses))
    uneven = fixture.run(folder, "uneven", *few, "--accelerator_config", '{"even_batches": false}', ranks=2)
    by_file = fixture.run(folder, "uneven-file", *few, ranks=2, yaml="accelerator_config: {even_batches: false}\n")
    expect(uneven.losses[0] == apart.losses[0] and uneven.losses[1] != apart.losses[1], "the last round is not filled up", (uneven.losses, apart.losses))
    expect(uneven.losses == by_file.losses, "a file says it too", by_file.losses)


def records_are_written_when_asked(fixture, folder):
    epochs = ["--max_train_samples", 4, "--max_steps", 5]  # two updates each
    steps = [*epochs, "--save_strategy", "no", "--per_device_train_batch_size", 2]

    def of(name, *more, yaml=None):
        return logged(fixture.run(folder, name, *more, ranks=1, steps=steps, yaml=yaml))
    expect(of("two", "--logging_steps", 2) == [2, 4], "logging_steps", folder)
    expect(of("first", "--logging_steps", 2, "--logging_first_step") == [1, 2, 4], "logging_first_step", folder)
    expect(of("epoch", "--logging_strategy", "epoch") == [2, 4, 5], "logging_strategy epoch", folder)
    expect(of("epoch-file", yaml="logging_strategy: epoch\nlogging_first_step: true\n") == [1, 2, 4, 5], "both in a file", folder)
    of("saved", "--save_strategy", "epoch")
    expect(fixture.checkpoints(os.path.join(folder, "saved")) == [2, 4, 5] and not fixture.checkpoints(os.path.join(folder, "two")), "save_strategy epoch", folder)
    quiet = fixture.run(folder, "no", "--logging_strategy", "no", ranks=1, steps=steps)
    expect(logged(quiet) == [] and logged(quiet, "train_loss") == [5] and "{'loss'" not in quiet.said, "logging_strategy no", quiet.said)


def losses_that_are_no_numbers_are_logged_as_asked(fixture, folder):
    bad = poisoned(fixture.run(folder, "model", ranks=1).output, "h.1.mlp.c_fc.weight")
    two = ["--max_steps", 2, "--save_strategy", "no"]

    def losses(name, *more, yaml=None):
        return fixture.run(folder, name, *more, ranks=1, steps=two, model=bad, yaml=yaml).losses
    expect(losses("filtered") == [0.0, 0.0], "the mean so far stands for them", folder)
    for found in (losses("flag", "--no_logging_nan_inf_filter"), losses("file", yaml="logging_nan_inf_filter: false\n")):
        expect(len(found) == 2 and all(isinstance(loss, str) or loss is None or loss != loss for loss in found), "as they are", found)


def an_adapter_is_scaled_as_asked(fixture, folder):
    """By the root of its rank."""
    base = fixture.run(folder, "base", ranks=1).output

    def adapter(name, *more, yaml=None):
        done = fixture.run(folder, name, "--use_peft", "--lora_r", 16, "--lora_dropout", 0, "--learning_rate", 1e-2, *more, ranks=1, model=base, yaml=yaml)
        return done.losses, read_json(done.output, "adapter_config.json")["use_rslora"]
    plain, by_flag, by_file = adapter("plain"), adapter("flag", "--use_rslora"), adapter("file", yaml="use_rslora: true\n")
    expect(by_flag == by_file and (plain[1], by_flag[1]) == (False, True) and plain[0][2] != by_flag[0][2], "use_rslora", (plain, by_flag, by_file))
    expect(adapter("dropped", "--lora_dropout", 0.5)[0] != plain[0], "lora_dropout", plain)
    # 32 over the root of 16 is 128 over 16.
    expect(adapter("scaled", "--lora_alpha", 128)[0] == by_flag[0] != adapter("half", "--lora_alpha", 64)[0], "the scale is that of a larger alpha", by_flag)


def callbacks_go_on_where_that_is_asked(fixture, folder):
    """A first evaluation is the best one here, and the third after it ends the run; one that goes on counts anew, unless it is told otherwise."""
    judged = ["--max_steps", 9, "--per_device_train_batch_size", 2, "--validation_file", fixture.text, "--max_eval_samples", 2, "--eval_strategy", "steps", "--eval_steps", 1,
              "--save_strategy", "steps", "--save_steps", 1, "--metric_for_best_model", "loss", "--load_best_model_at_end", "--early_stopping_patience", 3]
    strict = ["--early_stopping_threshold", 100]

    def last(name, *more, yaml=None):
        return max(logged(fixture.run(folder, name, *more, ranks=1, steps=judged, yaml=yaml)))
    resumed = [*strict, "--resume_from_checkpoint", os.path.join(folder, "whole", "checkpoint-2")]
    found = [last("lenient"), last("whole", *strict), last("anew", *resumed), last("flag", *resumed, "--restore_callback_states_from_checkpoint"),
             last("file", *resumed, yaml="restore_callback_states_from_checkpoint: true\n")]
    expect(found == [9, 4, 5, 4, 4], "the updates after which runs ended", found)


def talking(folder):
    """The built program beside such a worker."""
    built, place = os.path.dirname(HFTRAIN), os.path.join(folder, "program", "bin")
    os.makedirs(place)
    os.symlink(os.path.join(os.path.dirname(built), "lib"), os.path.join(folder, "program", "lib"))
    shutil.copy(HFTRAIN, place)
    script(os.path.join(place, "hftrain-worker"), TALKING.format(worker=os.path.join(built, "hftrain-worker")))
    return os.path.join(place, "hftrain")


class Talk:
    """What two ranks of a run said: on the terminal, as {rank and stream}, and into the common files."""

    def __init__(self, fixture, program, output, flags, in_file, logs=None):
        with open(output + ".yaml", "w") as file:
            json.dump(flags if in_file else {}, file)
        told = fixture.flags(output, "--max_steps", 1, "--save_strategy", "no", "--per_device_train_batch_size", 2, "--config", file.name, *([] if in_file else words(flags)))
        run = subprocess.run([program, *told], env=fixture.environment, text=True, capture_output=True, timeout=PATIENCE)
        expect(run.returncode == 0, f"{flags} ends with {run.returncode}", run.stdout + run.stderr)
        self.said = run.stderr
        self.shown = {found for found in re.findall(r"\b(?:speaks|complains)-[01]", run.stdout + run.stderr)}
        place = os.path.join(logs or flags.get("log_dir", os.path.join(output, "hftrain", "ranks")), "0")
        self.common, self.lines = {}, []
        for stream in ("stdout", "stderr"):
            path = os.path.join(place, f"filtered_{stream}.log")
            self.common[stream] = open(path).read() if os.path.exists(path) else None
        for rank in ("0", "1"):
            with open(os.path.join(place, rank, "stdout.log")) as file:
                self.lines.append(file.readline().strip())
        with open(os.path.join(place, "0", "stderr.log")) as file:
            log = file.read()
        for text in ("***** Running training *****", "{'loss'", "train_loss"):
            expect(text in log, f"{text} in the log of rank 0", log)
        self.tells_of_run = "{'loss'" in run.stderr


def output_of_ranks_goes_where_it_is_sent(fixture, folder):
    program = talking(folder)
    every = {"speaks-0", "speaks-1", "complains-0", "complains-1"}

    def both(name, flags):
        found = [Talk(fixture, program, os.path.join(folder, f"{name}-{in_file}"), flags, in_file) for in_file in (False, True)]
        expect(found[0].shown == found[1].shown and found[0].common == found[1].common, f"{flags} in YAML", (found[0].said, found[1].said))
        return found[0]

    def shown(name, flags):
        return Talk(fixture, program, os.path.join(folder, name), flags, False).shown
    plain = Talk(fixture, program, os.path.join(folder, "plain"), {}, False)
    expect(plain.shown == {"speaks-0", "complains-0"} and plain.tells_of_run, "rank 0 is shown", plain.said)
    for flags in ({"log_ranks": "1"}, {"local_ranks_filter": "1"}, {"redirects": "0:2"}):
        quiet = Talk(fixture, program, os.path.join(folder, "quiet-" + "".join(flags)), flags, False)
        expect(not quiet.tells_of_run, f"of the run nothing is shown beside {flags}", quiet.said)
        told = [line.split(" it is in ")[1] for line in quiet.said.splitlines() if line.startswith("what rank 0 says of the run is not shown here;")]
        expect(len(told) == 1 and "{'loss'" in pathlib.Path(told[0]).read_text(), f"beside {flags} it is told where it is", quiet.said)
    expect("is not shown here" not in plain.said, "what is shown is not looked for elsewhere", plain.said)
    expect(shown("one", {"log_ranks": "1"}) == {"speaks-1", "complains-1"}, "log_ranks", folder)
    expect(shown("tee", {"tee": "1:2"}) == {"speaks-0", "complains-0", "complains-1"}, "tee", folder)
    expect(both("local", {"local_ranks_filter": "1"}).shown == {"speaks-1", "complains-1"}, "local_ranks_filter", folder)
    # Each stream of each rank goes its own way, so that none may stand for another.
    sent = both("sent", {"log_ranks": "all", "redirects": "0:1,1:2", "duplicate_stdout_filters": "speaks-1", "duplicate_stderr_filters": "complains-0"})
    expect(sent.shown == every - {"speaks-0", "complains-1"}, "redirects", sent.said)
    expect((sent.common["stdout"] or "").startswith("[rank 1] speaks-1 ") and "-0" not in sent.common["stdout"], "duplicate_stdout_filters", sent.common)
    expect(sent.common["stderr"] == "[rank 0] complains-0\n", "duplicate_stderr_filters", sent.common)
    swapped = shown("swapped", {"log_ranks": "all", "redirects": "0:2,1:1"})
    expect(swapped == every - {"complains-0", "speaks-1"}, "redirects of the other streams", swapped)
    elsewhere = both("elsewhere", {"log_dir": os.path.join(folder, "logs"), "duplicate_stderr_filters": "complains-1"})
    expect(elsewhere.common == {"stdout": None, "stderr": "[rank 1] complains-1\n"}, "log_dir, and one file alone", elsewhere.common)
    Talk(fixture, program, os.path.join(folder, "each"), {"enable_each_rank_log": os.path.join(folder, "each-rank")}, False, os.path.join(folder, "each-rank"))


def ranks_start_as_they_are_told(fixture, folder):
    """Threads, cores and a role of their own."""
    program, cores = talking(folder), sorted(os.sched_getaffinity(0))

    def lines(name, flags, in_file=False):
        talk = Talk(fixture, program, os.path.join(folder, name), flags, in_file)
        return talk.lines, talk.said
    plain, said = lines("plain", {})
    expect(all(line.endswith("with 1 threads as") for line in plain) and "CPUs of the ranks" not in said, "as they are", plain)
    bound = {"num_cpu_threads_per_process": 3, "role": "painter", "enable_cpu_affinity": True}
    for in_file in (False, True):
        found, said = lines(f"near-{in_file}", bound, in_file)
        expect(all("with 3 threads as painter" in line for line in found), "num_cpu_threads_per_process and role", found)
        expect("CPUs of the ranks (" in said and "enable_cpu_affinity" in said, "enable_cpu_affinity", said)
    if len(cores) < 2:
        return
    for in_file in (False, True):
        found, said = lines(f"exclusive-{in_file}", {"numa_binding": "exclusive"}, in_file)
        own = [re.search(r"on cores (\S+) ", line)[1] for line in found]
        expect(own[0] != own[1] and plain[0].split(" with")[0] != found[0].split(" with")[0] and "CPUs of the ranks" in said, "numa_binding", found)


def buckets_and_recomputed_layers_are_as_many_as_asked(fixture, folder):
    wide = ["--config_overrides", "n_layer=2,n_head=2,n_embd=160,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0"]

    def traced(name, *more, ranks=1, yaml=None):
        done = fixture.run(folder, name, *more, "--profile_steps", 3, ranks=ranks, yaml=yaml)
        names = [event.get("name", "") for event in read_json(done.output, "hftrain", "profile", "rank-0.json")["traceEvents"]]
        return done.losses, names.count("c10d::allreduce_"), names.count("aten::addmm")
    large, small = traced("large", *wide, ranks=2), traced("small", *wide, "--ddp_bucket_cap_mb", 1, ranks=2)
    by_file = traced("small-file", *wide, ranks=2, yaml="ddp_bucket_cap_mb: 1\n")
    expect(small[1] > large[1] and small[1] == by_file[1], "ddp_bucket_cap_mb: more buckets that are smaller", (large, small, by_file))
    recompute = ["--gradient_checkpointing"]
    none, every, second = traced("none"), traced("every", *recompute), traced("second", *recompute, "--gradient_checkpointing_kwargs", '{"every_n_layers": 2}')
    by_file = traced("second-file", yaml="gradient_checkpointing: true\ngradient_checkpointing_kwargs: {every_n_layers: 2}\n")
    expect(2 * (second[2] - none[2]) == every[2] - none[2] > 0 and second == by_file, "one of two layers is computed again", (none, every, second, by_file))
    expect(none[0] == every[0] == second[0], "losses are the same", (none, every, second))


def one_machine_of_a_host_file_is_reached(fixture, folder):
    hosts, calls = os.path.join(folder, "hosts"), os.path.join(folder, "calls")
    with open(hosts, "w") as file:
        file.write("elsewhere.invalid slots=1\n")
    fixture.environment["HFTRAIN_SSH"] = script(os.path.join(folder, "shell"), SHELL.format(calls=calls))

    def asked(name, *more, expect_code=0, yaml=None):
        if os.path.exists(calls):
            os.remove(calls)
        flags = ["--hostfile", hosts, "--max_steps", 1, "--save_strategy", "no", *more]
        done = fixture.run(folder, name, *flags, yaml=yaml, expect=expect_code, ranks=1, steps=[])
        return (open(calls).read().splitlines() if os.path.exists(calls) else []), done
    found, done = asked("refused", expect_code=2)
    expect(not found and "the one machine of the host file is not this one" in done.said, "without force_multi", done.said)
    for name, more, yaml in (("flag", ["--force_multi"], None), ("file", [], "force_multi: true\n")):
        found, done = asked(name, *more, yaml=yaml)
        expect(len(found) == 2 and found[0] == "elsewhere.invalid true" and len(done.losses) == 1, f"force_multi by {name}: tried, then started", found)
    for name, more, yaml in (("unchecked", ["--force_multi", "--no_ssh_check"], None), ("unchecked-file", [], "force_multi: true\nno_ssh_check: true\n")):
        found, done = asked(name, *more, yaml=yaml)
        expect(len(found) == 1 and found[0].endswith(" hosted") and len(done.losses) == 1, f"no_ssh_check, {name}: started at once", found)
    del fixture.environment["HFTRAIN_SSH"]
    # Of several machines those are planned that are chosen, in the words of either launcher.
    with open(hosts, "w") as file:
        file.write("a.invalid slots=2\nb.invalid slots=2\nc.invalid slots=2\n")

    def planned(*more):
        said = fixture.call(*fixture.flags(os.path.join(folder, "many"), *more, ranks=1), "--dry_run").stdout
        return re.findall(r"^  ([abc])\.invalid", said, re.M)
    ways = [planned("--hostfile", hosts, *more) for more in ([], ["--include", "b.invalid@c.invalid"], ["--exclude", "c.invalid"], ["--num_nodes", 2])]
    expect(ways == [["a", "b", "c"], ["b", "c"], ["a", "b"], ["a", "b"]], "include, exclude and num_nodes", ways)
    ways = [planned("--deepspeed_hostfile", hosts, *more) for more in (["--deepspeed_inclusion_filter", "b.invalid@c.invalid"], ["--deepspeed_exclusion_filter", "c.invalid"])]
    expect(ways == [["b", "c"], ["a", "b"]], "names of accelerate launch", ways)


def machines_of_another_job_are_refused(fixture, folder):
    port = str(free_port())

    def front(node, *more):
        flags = fixture.flags(os.path.join(folder, "out"), "--max_steps", 1, "--save_strategy", "no", "--nnodes", 2, "--node_rank", node, "--master_addr", "127.0.0.1", "--master_port", port, *more, ranks=1)
        return subprocess.Popen([HFTRAIN, *flags], env=fixture.environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with open(os.path.join(folder, "job.yaml"), "w") as file:
        file.write("rdzv_id: ours\n")
    leader = front(0, "--rdzv_id", "ours")
    try:
        other = front(1, "--rdzv_id", "theirs")
        said = other.communicate(timeout=PATIENCE)[1]
        expect(other.returncode == 2 and "its job is 'theirs', and this one is 'ours'" in said, f"another job is refused with {other.returncode}", said)
        same = front(1, "--config", file.name)
        said = same.communicate(timeout=PATIENCE)[1]
        expect(same.returncode == leader.wait(PATIENCE) == 0, "the same job trains", said)
    finally:
        leader.kill()
        leader.communicate()


LAYER = {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "fsdp_transformer_layer_cls_to_wrap": "GPT2Block"}
FSDP, ZERO = {"use_fsdp": True}, {"use_deepspeed": True}
ZERO_3 = {**ZERO, "zero_stage": 3}
WHOLE = {"fsdp_auto_wrap_policy": "NO_WRAP"}


def zero(**more):
    return {"deepspeed": json.dumps({"zero_optimization": more})}


# What both plans are told, what the second one is told besides, and another way to say that; none where there is no other.
PLANS = [
    ({}, FSDP, {"fsdp": "full_shard"}), (FSDP, {"fsdp_sharding_strategy": "SHARD_GRAD_OP"}, {"fsdp": "shard_grad_op"}),
    ({**FSDP, "fsdp_version": 2}, {"fsdp_reshard_after_forward": "false"}, {"fsdp": "shard_grad_op"}),
    (FSDP, WHOLE, {"fsdp": "full_shard", "fsdp_config": '{"auto_wrap_policy": "NO_WRAP"}'}),
    ({**FSDP, **WHOLE}, LAYER, {"fsdp": "full_shard auto_wrap", "fsdp_config": '{"transformer_layer_cls_to_wrap": "GPT2Block"}'}),
    ({**FSDP, "fsdp_auto_wrap_policy": "SIZE_BASED_WRAP"}, {"fsdp_min_num_params": 2000}, {"fsdp": "full_shard auto_wrap", "fsdp_config": '{"min_num_params": 2000}'}),
    (FSDP, {"fsdp_offload_params": True}, {"fsdp": "full_shard offload"}), ({**FSDP, **LAYER}, {"fsdp_ignored_modules": ".*mlp"}, None),
    ({**FSDP, **LAYER}, {"fsdp_activation_checkpointing": True}, None), (FSDP, {"fsdp_state_dict_type": "SHARDED_STATE_DICT"}, None),
    (ZERO, {"zero_stage": 3}, zero(stage=3)), ({}, ZERO, zero(stage=2)), (ZERO_3, {"offload_optimizer_device": "cpu"}, None), (ZERO_3, {"offload_param_device": "cpu"}, None),
    ({}, {"sharded_ddp": "simple"}, None), ({}, {"ddp_find_unused_parameters": False}, None), ({}, {"ddp_static_graph": True}, None), ({}, {"ddp_timeout": 77}, None),
    ({}, {"ddp_backend": "gloo"}, None), ({}, {"xpu_backend": "gloo"}, {"ddp_backend": "gloo"}), ({}, {"mixed_precision": "bf16"}, {"bf16": True}),
    ({"fsdp": "full_shard"}, {"parallelism_config": '{"dp_replicate_size": 2, "dp_shard_size": 2}'}, None),
    ({**FSDP, "fsdp_version": 2}, {"use_parallelism_config": True, "parallelism_config_dp_replicate_size": 2, "parallelism_config_dp_shard_size": 2}, None)]


def parts_of_the_plan_follow_their_flags(fixture, folder):
    """How a run is sharded and what ranks speak over is in the plan, which is all that workers know of it: each flag changes it, by a file too."""
    known = {}

    def plan(flags, in_file=False):
        key = json.dumps([flags, in_file])
        if key not in known:
            with open(os.path.join(folder, "plan.yaml"), "w") as file:
                json.dump(flags if in_file else {}, file)
            told = fixture.flags(os.path.join(folder, "out"), "--max_steps", 3, "--config", file.name, *([] if in_file else words(flags)), ranks=4)
            found = json.loads(fixture.call(*told, "--dry_run", "--json").stdout)
            known[key] = {part: value for part, value in found.items() if part not in ("logging", "workers", "devices", "disk")}
        return known[key]
    for base, more, other in PLANS:
        plain, by_flag = plan(base), plan({**base, **more})
        expect(plain != by_flag, f"{more} changes the plan", plain)
        expect(by_flag == plan({**base, **more}, True), f"{more} in YAML", by_flag)
        if other is not None:
            said_so = plan(other)
            # The flags of accelerate launch have another form of checkpoints, which is written in other pieces.
            differing = [part for part in by_flag if by_flag[part] != said_so[part] and part not in ("saving", "memory_per_rank")]
            expect(not differing, f"{more} is {other}", [(by_flag[part], said_so[part]) for part in differing])
    # What these two change is whether they go together.
    apart = {**FSDP, "fsdp_sync_module_states": False, "fsdp_cpu_ram_efficient_loading": True}
    refused = fixture.call(*fixture.flags(os.path.join(folder, "out"), *words(apart)), "--dry_run", expect=2).stderr
    expect("does not go with" in refused, "fsdp_sync_module_states", refused)
    expect(plan({**apart, "fsdp_cpu_ram_efficient_loading": False})["strategy"] == plan(FSDP)["strategy"], "fsdp_cpu_ram_efficient_loading", folder)


def a_follower_waits_as_long_as_who_started_it_may_need(fixture, folder):
    """By a scheduler's variables as long as node 0 waits for it; who types the same is answered after 9 seconds."""
    port = str(free_port())
    said = {}
    for name, flags, variables in (
            ("typed", ["--nnodes", "2", "--node_rank", "1", "--master_addr", "127.0.0.1", "--master_port", port], {}),
            ("pod", [], {"PET_NNODES": "2", "PET_NODE_RANK": "1", "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": port}),
            ("endpoint", [], {"PET_NNODES": "2", "PET_NODE_RANK": "1", "PET_RDZV_ENDPOINT": f"127.0.0.1:{port}"})):
        run = subprocess.Popen([HFTRAIN, *fixture.flags(os.path.join(folder, name), *flags, ranks=1)], env={**fixture.environment, **variables}, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        lines = []
        for line in run.stderr:
            lines.append(line)
            if "cannot reach node 0 yet" in line:
                break
        run.send_signal(signal.SIGTERM)
        lines += run.stderr
        said[name] = "".join(lines)
        expect(run.wait(PATIENCE) == 10, f"{name}: it hears a signal meanwhile", said[name])
    left = {name: int(re.search(r"trying for 0:(\d\d):\d\d more", text)[1]) for name, text in said.items()}
    expect(left == {"typed": 0, "pod": 4, "endpoint": 4}, "minutes that are left", (left, said))


SCENARIOS = [parts_of_the_plan_follow_their_flags, numbers_of_the_update, an_adapter_is_scaled_as_asked, tokens_of_ranks_are_averaged_as_asked, batches_are_shared_out_as_asked, records_are_written_when_asked,
             losses_that_are_no_numbers_are_logged_as_asked, callbacks_go_on_where_that_is_asked, output_of_ranks_goes_where_it_is_sent, ranks_start_as_they_are_told,
             buckets_and_recomputed_layers_are_as_many_as_asked, one_machine_of_a_host_file_is_reached, machines_of_another_job_are_refused,
             a_follower_waits_as_long_as_who_started_it_may_need]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Loop)
