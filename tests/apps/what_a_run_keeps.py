#!/usr/bin/env python3
"""What a run leaves in its output folder, read back: results, records, README, event files, models, checkpoints.

  what_a_run_keeps.py [SCENARIO]…     all of them without a word
"""
import csv
import datetime
import filecmp
import glob
import json
import os
import shutil
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, expect, in_order, read_json, records

EVALUATED = ["--eval_strategy", "steps", "--eval_steps", 2, "--do_eval", "--validation_split_percentage", 10]


def same_weights(a, b):
    return filecmp.cmp(os.path.join(a, "model.safetensors"), os.path.join(b, "model.safetensors"), shallow=False)


def results_and_readme_say_what_was_logged(fixture, output):
    fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_strategy", "no", "--logging_steps", 2, *EVALUATED,
                            "--do_predict", "--test_file", fixture.text, "--max_predict_samples", 30))
    log = records(output)
    by_split = {}
    for split in ("train", "eval", "predict"):
        with open(os.path.join(output, f"{split}_results.json")) as file:
            text = file.read()
        by_split[split] = json.loads(text)
        expect(text == json.dumps(by_split[split], indent=4, sort_keys=True), f"{split}: indent 4, sorted", text)
    train, evaluation, prediction = by_split.values()
    expect(train["train_samples"] > 0 and train["epoch"] == log[-1]["epoch"], "samples and epoch", train)
    at_the_end = [r for r in log if "train_loss" in r]
    expect(len(at_the_end) == 1 and all(train[k] == v for k, v in at_the_end[0].items() if k not in ("step", "time")),
           "the record at the end of training is in train_results.json", [train, at_the_end])
    losses = [r["loss"] for r in log if "loss" in r]
    expect(len(losses) == 3 and abs(sum(losses) / 3 - train["train_loss"]) < 1e-6, "train_loss is the mean", losses)
    evaluations = [r for r in log if "eval_loss" in r]
    expect([r["step"] for r in evaluations] == [2, 4, 6, 6], "three evaluations, and one at the end", evaluations)
    expect(evaluation["eval_loss"] == evaluations[-1]["eval_loss"] == evaluations[-2]["eval_loss"], "the same loss", log)
    expect(set(prediction) == {"predict_accuracy", "predict_loss", "predict_runtime", "predict_samples", "predict_samples_per_second",
                               "predict_steps_per_second"} and prediction["predict_samples"] == 30, "keys", prediction)
    expect(not any("predict_loss" in r for r in log), "a prediction is no record of training", log)
    expect(read_json(output, "all_results.json") == {**train, **evaluation, **prediction}, "all of them merged", by_split)
    history = read_json(output, "trainer_state.json")["log_history"]
    expect(len(history) >= len(losses) + len(evaluations) - 1, "a history of all records but those at the end", history)
    expect(history == [{k: v for k, v in r.items() if k != "time"} for r in log[:len(history)]], "the same history", history)

    with open(os.path.join(output, "README.md")) as file:
        card = file.read()
    expect(card.startswith("---\nlibrary_name: transformers\n"), "a YAML head", card)
    name = os.path.basename(output)
    in_order(card, "pipeline_tag: text-generation", "- generated_from_trainer", f"- name: {name}", f"# {name}",
             f"- Loss: {round(evaluation['eval_loss'], 4)}", "- learning_rate: 0.001", "- train_batch_size: 8",
             "- num_devices: 2", "- total_train_batch_size: 16", "- lr_scheduler_type: cosine", "- training_steps: 6")
    rows = [line.split("|")[1:-1] for line in card.splitlines() if line.startswith("| ")]
    expect([[float(cell) for cell in row] for row in rows[1:]] ==
           [[round(loss, 4), round(r["epoch"], 4), r["step"], round(r["eval_loss"], 4), round(r["eval_accuracy"], 4)]
            for loss, r in zip(losses, evaluations)], "one row per evaluation while training", card)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a protocol buffer message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def events(path):
    """Scalars {tag: {step: value}} and the tags of all else; lengths and contents are checked against their checksums."""
    with open(path, "rb") as file:
        data = file.read()
    scalars, texts, at = {}, set(), 0
    while at < len(data):
        size, crc = struct.unpack_from("<QI", data, at)
        event = data[at + 12:at + 12 + size]
        expect(crc == masked_crc(data[at:at + 8]), "checksum of a length", path)
        expect(struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(event), "checksum of an event", path)
        at += 16 + size
        event = dict(fields(event))
        for _, value in fields(event.get(5, b"")):
            parts = dict(fields(value))
            tag = parts[1].decode()
            if 2 in parts:
                scalars.setdefault(tag, {})[event.get(2, 0)] = struct.unpack("<f", parts[2])[0]
            else:
                texts.add(tag)
    return scalars, texts


def wandb_records(path):
    """The records of a .wandb file, {field: value} each; lengths and checksums are looked at."""
    with open(path, "rb") as file:
        data = file.read()
    expect(data[:7] == struct.pack("<4sHB", b":W&B", 0xBEE1, 0), "the header of a .wandb file", data[:7])
    at, whole = 7, b""
    while at < len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        checksum, size, kind = struct.unpack_from("<IHB", data, at)
        content = data[at + 7:at + 7 + size]
        expect(checksum == zlib.crc32(content, zlib.crc32(bytes([kind]))), "checksum of a piece", at)
        whole, at = (content if kind in (1, 2) else whole + content), at + 7 + size
        if kind in (1, 4):
            yield dict(fields(whole))


def wandb_items(message):
    """{key: value} of a configuration, a summary or a point of a curve."""
    items = [dict(fields(value)) for number, value in fields(message) if number == 1]
    return {item.get(1, item.get(2)).decode(): json.loads(item[16]) for item in items}


def tag_of(key):
    return f"eval/{key[5:]}" if key.startswith("eval_") else f"train/{key}"


OF_WHOLE_RUN = ["train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos"]


def wandb_gets_every_record(folder, log):
    runs = glob.glob(os.path.join(folder, "wandb", "offline-run-*"))
    expect(len(runs) == 1 and runs[0].endswith("-my-id"), "one offline run", runs)
    found = list(wandb_records(os.path.join(runs[0], "run-my-id.wandb")))
    run, config, end = dict(fields(found[1][17])), wandb_items(found[2][5]), found[-1][18]
    expect((run[1], run[3], run[8]) == (b"my-id", b"a-project", b"a-name"), "what flags and variables say", run)
    expect(config["learning_rate"] == 1e-3 and config["n_layer"] == 2 and config["model/num_parameters"] > 0, "arguments and model", config)
    expect(end == b"" or dict(fields(end)).get(1, 0) == 0, "a good end", end)
    points = [wandb_items(record[2]) for record in found if 2 in record]
    wanted = [{**{tag_of(k): v for k, v in r.items() if k not in ("step", "time", *OF_WHOLE_RUN)}, "train/global_step": r["step"],
               "_timestamp": r["time"], "_step": i} for i, r in enumerate(log)]
    expect([{k: v for k, v in p.items() if k != "_runtime"} for p in points] == wanted, "the points are the records", [points, wanted])
    summary = {}
    for record in found:
        summary.update(wandb_items(record.get(3, b"")))
    whole = {k: v for r in log for k, v in r.items() if k in OF_WHOLE_RUN}
    expect(whole and {k: summary.get(k) for k in whole} == whole, "what is of the whole run is in the summary", summary)


def trackio_gets_every_record(store, log):
    lines = []
    for file in sorted(glob.glob(os.path.join(store, "inbox", "*", "*"))):
        expect(file.endswith(".jsonl"), "whole files alone", file)
        with open(file) as text:
            lines += [json.loads(line) for line in text]
    expect({(r["v"], r["kind"], r["project"], r["run"]) for r in lines} == {(1, "metric", "a project", "a-name")}, "one run", lines)
    expect(len({r["run_id"] for r in lines}) == 1 and len({r["log_id"] for r in lines}) == len(lines), "ids", lines)
    config = lines[0]["config"]
    expect(config["learning_rate"] == 1e-3 and config["n_layer"] == 2 and config["model/num_parameters"] > 0, "arguments and model", config)
    times = [datetime.datetime.fromisoformat(r["timestamp"]).timestamp() for r in lines]
    expect(all(abs(time - r["time"]) < 1e-5 for time, r in zip(times, log)), "their times", times)
    wanted = [({**{tag_of(k): v for k, v in r.items() if k not in ("step", "time")}, "train/global_step": r["step"]}, r["step"]) for r in log]
    expect([(r["metrics"], r["step"]) for r in lines] == wanted, "the lines are the records", [lines, wanted])


def trackers_get_every_record(fixture, output):
    fixture.environment.update(WANDB_DIR=output, WANDB_PROJECT="a-project", WANDB_RUN_ID="my-id", WANDB_MODE="online",
                               WANDB_API_KEY="verysecret", TRACKIO_DIR=os.path.join(output, "store"), TRACKIO_SPACE_ID="me/space")
    said = fixture.call(*fixture.flags(output, "--max_steps", 4, "--save_strategy", "no", *EVALUATED, "--run_name", "a-name",
                                       "--project", "a project", "--trackio_static_space_id", "me/static",
                                       "--report_to", "tensorboard", "csv", "wandb", "trackio", "prometheus")).stderr
    in_order(said, "WANDB_PROJECT=a-project", "are used for the run of wandb", "WANDB_MODE=online of the environment has no effect")
    in_order(said, "TRACKIO_SPACE_ID=me/space of the environment has no effect on the run of trackio")
    in_order(said, "trackio_static_space_id", "only the local Trackio store is written")
    for folder, _, names in os.walk(output):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                expect(b"verysecret" not in file.read(), "no key in a file", name)
    for variable in [name for name in fixture.environment if name.startswith(("WANDB_", "TRACKIO_"))]:
        del fixture.environment[variable]
    log = records(output)
    wandb_gets_every_record(output, log)
    trackio_gets_every_record(os.path.join(output, "store"), log)
    files = glob.glob(os.path.join(output, "runs", "*", "events.out.tfevents.*"))
    expect(len(files) == 1, "one event file", files)
    scalars, texts = events(files[0])
    expect(texts == {"args/text_summary", "model_config/text_summary", "_hparams_/session_start_info", "_hparams_/session_end_info"},
           "args, model_config, and what HPARAMS shows", texts)
    last = {}
    for record in log:  # for equal steps the later record counts
        for key, value in record.items():
            if key not in ("step", "time"):
                last.setdefault(tag_of(key), {})[record["step"]] = struct.unpack("<f", struct.pack("<f", value))[0]
    expect(scalars == last, "the scalars are the records", [scalars, last])
    with open(os.path.join(output, "hftrain", "log.csv"), newline="") as file:
        table = list(csv.DictReader(file))
    rows = [{k: float(v) for k, v in row.items() if v} for row in table]
    expect(rows == [{k: float(v) for k, v in r.items()} for r in log], "the table is the records", [rows, log])
    with open(os.path.join(output, "hftrain", "metrics.prom")) as file:
        gauges = dict(line.rsplit(" ", 1) for line in file if not line.startswith("#"))
    newest = {k: v for r in log for k, v in r.items() if k != "time"}
    wanted = {f'hftrain_{k}{{run="a-name"}}': v for k, v in {**newest, "last_record_seconds": log[-1]["time"], "running": 0}.items()}
    expect({k: float(v) for k, v in gauges.items()} == wanted, "the gauges are the newest values", [gauges, wanted])


def trackers_that_fail_or_hang_cost_a_warning_each(fixture, output):
    flags = ["--max_steps", 6, "--save_strategy", "no"]
    alone = output + "-alone"
    fixture.call(*fixture.flags(alone, *flags))
    os.makedirs(os.path.join(output, "hftrain"))
    os.mkfifo(os.path.join(output, "hftrain", "log.csv"))  # reading it waits for ever
    os.makedirs(os.path.join(output, "hftrain", "metrics.prom"))  # a folder where a file should be
    full = os.path.join(output, "board")
    os.symlink("/dev/full", full)  # no folder to write into
    fixture.environment.update(WANDB_DIR="/dev/null/nowhere", TRACKIO_DIR="/dev/null/nowhere")
    said = fixture.call(*fixture.flags(output, *flags, "--logging_dir", full,
                                       "--report_to", "csv", "tensorboard", "prometheus", "wandb", "trackio")).stderr
    del fixture.environment["WANDB_DIR"], fixture.environment["TRACKIO_DIR"]
    for tracker in ("csv", "tensorboard", "prometheus", "wandb", "trackio"):
        expect(said.count(f"warning: {tracker} gets no more records of this run: ") == 1, f"one warning of {tracker}", said)
    expect(said.count("warning:") == 5 and said.count("hftrain/log.jsonl holds all of them") == 5, "and no other", said)
    losses = [[(r["step"], r["loss"], r["grad_norm"]) for r in records(folder) if "loss" in r] for folder in (alone, output)]
    expect(len(losses[1]) == 6 and losses[0] == losses[1] and same_weights(alone, output), "the same training", losses)


def only_the_model_is_saved_when_so_asked(fixture, output):
    fixture.call(*fixture.flags(output, "--max_steps", 4, "--save_steps", 2, "--save_only_model"))
    saved = os.path.join(output, "checkpoint-4")
    names = set(os.listdir(saved))
    expect({"model.safetensors", "config.json", "generation_config.json", "tokenizer.json", "trainer_state.json"} <= names and
           not names & {"optimizer", "rng", "hftrain_state.json"}, "a model without training state", names)
    fixture.call("checkpoint", "verify", saved)
    expect(same_weights(saved, output), "the last checkpoint is the final model", names)
    # It is a model to start from, and a run goes on at its step.
    flags = fixture.flags(os.path.join(fixture.folder, "from-it"), "--max_steps", 1, "--save_strategy", "no")
    at = flags.index("--model_type")
    fixture.call("--model_name_or_path", saved, *flags[:at], *flags[at + 4:])
    said = fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_steps", 2, "--save_only_model")).stderr
    in_order(said, "warning:", "no training state", "begin anew", "and global step 4")
    steps = [r["step"] for r in read_json(output, "trainer_state.json")["log_history"] if "loss" in r]
    expect(steps == [1, 2, 3, 4, 5, 6], "the history goes on", steps)


def without_an_interval_the_last_update_alone_is_saved(fixture, output):
    said = fixture.call(*fixture.flags(output, "--max_steps", 4, "--save_steps", 0)).stderr
    expect(fixture.checkpoints(output) == [4] and "save_steps" not in said, "one checkpoint, and no complaint", said)
    shown = fixture.call("plan", *fixture.flags(output + "-plan", "--max_steps", 4, "--save_steps", 0)).stdout
    expect("after the last update" in shown, "the plan says when", shown)


def a_checkpoint_that_the_limit_removes_is_named(fixture, output):
    said = fixture.call(*fixture.flags(output, "--max_steps", 3, "--save_steps", 1, "--save_total_limit", 2)).stderr
    expect(fixture.checkpoints(output) == [2, 3], "two are left", fixture.checkpoints(output))
    in_order(said, f"Saving model checkpoint to {output}/checkpoint-2",
             f"Deleting older checkpoint [{output}/checkpoint-1] due to args.save_total_limit\n")
    expect(said.count("Deleting older checkpoint") == 1, "and no other is named", said)


def a_best_model_that_is_found_behind_its_save_is_kept(fixture, output):
    """The end of an epoch is evaluated after the save of its last update; of three epochs the first has the largest loss."""
    fixture.call(*fixture.flags(output, "--num_train_epochs", 3, "--max_train_samples", 32, "--per_device_train_batch_size", 4, "--save_steps", 4,
                                "--eval_strategy", "epoch", "--do_eval", "--validation_split_percentage", 10, "--metric_for_best_model", "loss",
                                "--greater_is_better", "true", "--save_total_limit", 2))
    losses = [record["eval_loss"] for record in records(output) if "eval_loss" in record]
    expect(losses[0] == max(losses[:3]) > losses[1], "the first evaluation has the largest loss", losses)
    expect(fixture.checkpoints(output) == [4, 12], "the best one and the newest are kept", fixture.checkpoints(output))
    state = read_json(output, "checkpoint-12", "trainer_state.json")
    expect(state["best_global_step"] == 4 and str(state["best_model_checkpoint"]).endswith("checkpoint-4"), "it is named", state)


def a_best_model_of_the_folder_before_is_named_where_it_lies(fixture, output):
    """A run that goes on in another folder from the last update of an epoch evaluates that epoch first."""
    old, new = output + "-old", output + "-new"
    epochs = ["--max_train_samples", 32, "--per_device_train_batch_size", 4, "--save_steps", 4, "--eval_strategy", "epoch", "--do_eval",
              "--validation_split_percentage", 10, "--metric_for_best_model", "loss", "--greater_is_better", "true"]
    fixture.call(*fixture.flags(old, "--num_train_epochs", 2, *epochs))
    saved = os.path.join(old, "checkpoint-4")
    fixture.call(*fixture.flags(new, "--num_train_epochs", 2, *epochs, "--resume_from_checkpoint", saved))
    evaluated = [record["step"] for record in records(new) if "eval_loss" in record]
    expect(evaluated[0] == 4, "the epoch that ended with the save is evaluated", evaluated)
    state = read_json(new, "checkpoint-8", "trainer_state.json")
    expect(state["best_global_step"] == 4 and os.path.samefile(state["best_model_checkpoint"], saved), "the checkpoint that is there", state)


def recomputed_activations_give_the_same_losses_in_less_memory(fixture, output):
    shape = ["--config_overrides", "n_layer=8,n_head=2,n_embd=64,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0",
             "--max_steps", 3, "--save_strategy", "no", "--per_device_train_batch_size", 64]
    losses, peaks = [], []
    for flags in ([], ["--gradient_checkpointing"]):
        folder = output + str(len(flags))
        fixture.call(*fixture.flags(folder, *shape, *flags, ranks=1))
        losses.append([r["loss"] for r in records(folder) if "loss" in r])
        peaks.append(read_json(folder, "hftrain", "summary.json")["ranks"][0]["peak_host_bytes"])
    expect(len(losses[0]) == 3 and losses[0] == losses[1], "the same losses, dropout included", losses)
    # Blocks hold some 10 MiB of activations each, of which one is there at a time when they are made again.
    expect(peaks[1] < peaks[0] - (40 << 20), "less memory", peaks)


def tokens_and_memory_are_counted_when_asked(fixture, output):
    fixture.call(*fixture.flags(output, "--max_steps", 4, "--save_strategy", "no", "--logging_steps", 2, *EVALUATED,
                            "--include_tokens_per_second", "--skip_memory_metrics", "false",
                            "--do_predict", "--test_file", fixture.text, "--max_predict_samples", 20))
    log = records(output)
    per_update = 2 * 8 * 64
    expect(all(r["num_input_tokens_seen"] == r["step"] * per_update for r in log), "tokens in every record", log)
    for r in log:
        if "loss" in r:
            rate = r["num_input_tokens_seen"] / r["train_runtime"]
            expect(abs(r["train_tokens_per_second"] - rate) <= 0.01 * rate, "tokens a second while training", r)
    train, evaluation, prediction = (read_json(output, f"{s}_results.json") for s in ("train", "eval", "predict"))
    rate = train["num_input_tokens_seen"] / train["train_runtime"]
    expect(abs(train["train_tokens_per_second"] - rate) <= 0.01 * rate, "tokens a second at the end", train)
    expect(evaluation["num_input_tokens_seen"] == 4 * per_update, "tokens in the evaluation", evaluation)
    expect("num_input_tokens_seen" not in prediction, "no tokens in a prediction", prediction)

    def memory(results):
        return {k for k in results if "_mem_" in k}

    def stage(name):
        return {f"{name}_mem_cpu_alloc_delta", f"{name}_mem_cpu_peaked_delta"}
    expect(memory(train) == stage("train") | stage("init") | {"before_init_mem_cpu"}, "memory of init and train", train)
    expect(memory(evaluation) == stage("eval") and memory(prediction) == stage("test"), "memory of eval and test", evaluation)
    expect(train["before_init_mem_cpu"] > 1 << 20 and train["init_mem_cpu_alloc_delta"] != 0 and
           train["train_mem_cpu_alloc_delta"] + train["train_mem_cpu_peaked_delta"] > 0, "bytes", train)
    peak = read_json(output, "hftrain", "summary.json")["ranks"][0]["peak_host_bytes"]
    so_far = train["before_init_mem_cpu"] + train["init_mem_cpu_alloc_delta"] + train["train_mem_cpu_alloc_delta"]
    expect(peak + (1 << 20) >= so_far + train["train_mem_cpu_peaked_delta"], "the summary's peak is that of all stages", [peak, train])


def the_best_model_is_found_after_a_move_and_forgotten_when_gone(fixture, output):
    # The highest loss counts as the best, which is the first: the last model is another one.
    flags = ["--save_steps", 2, *EVALUATED, "--load_best_model_at_end", "--greater_is_better", "true", "--max_steps"]
    said = fixture.call(*fixture.flags(output, *flags, 4)).stderr
    first, last = f"{output}/checkpoint-2", f"{output}/checkpoint-4"
    best = read_json(output, "trainer_state.json")
    in_order(said, f"Loading best model from {first} (score: {best['best_metric']}).")
    expect(best["best_model_checkpoint"] == first and best["best_global_step"] == 2, "the best", best)
    expect(same_weights(output, first) and not same_weights(output, last), "the final model is the best one", "")
    evaluated = [r for r in records(output) if "eval_loss" in r]
    expect(evaluated[-1]["eval_loss"] == best["best_metric"], "the final evaluation is of the best model", evaluated)

    def goes_on(name, change, *words):
        folder = output + name
        shutil.copytree(output, folder)
        change(folder)
        said = fixture.call(*fixture.flags(folder, *flags, 6)).stderr
        in_order(said, *words)
        return folder, read_json(folder, "trainer_state.json")["best_model_checkpoint"]

    os.rename(output, output + "-first")
    output += "-first"  # where the states say it is, is nothing
    moved, found = goes_on("-moved", lambda folder: None, "Loading best model from")
    expect(found == f"{moved}/checkpoint-2" and same_weights(moved, found), "found where the folder went", found)
    gone, found = goes_on("-gone", lambda folder: shutil.rmtree(f"{folder}/checkpoint-2"), "warning: the best checkpoint so far",
                          "is forgotten")
    expect(found is None and same_weights(gone, f"{gone}/checkpoint-6"), "the last model is written", found)

    def damage(folder):
        with open(f"{folder}/checkpoint-2/model.safetensors", "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"\x01\x02\x03\x04")
    def thin_out(folder):  # to save room
        shutil.rmtree(f"{folder}/checkpoint-2/optimizer")
        os.remove(f"{folder}/checkpoint-2/rng/rank-00000.safetensors")
    thin, found = goes_on("-thin", thin_out, "warning: the best checkpoint is damaged, and the newest one stays", "optimizer/", "Loading best model from")
    expect(found == f"{thin}/checkpoint-2" and same_weights(thin, found), "a model needs no state of the optimizer", found)
    damaged, found = goes_on("-damaged", damage, "warning: the best model is not loaded", "model.safetensors")
    expect(same_weights(damaged, f"{damaged}/checkpoint-6"), "the last model is written", found)


def the_best_model_of_another_trainer_is_loaded(fixture, output):
    flags = ["--save_steps", 2, *EVALUATED, "--load_best_model_at_end", "--greater_is_better", "true", "--max_steps"]
    fixture.call(*fixture.flags(output, "--save_for_trainer", *flags, 4))
    theirs = output + "-theirs"
    for step in (2, 4):  # what the Trainer leaves, and nothing of ours
        folder = shutil.copytree(f"{output}/checkpoint-{step}", f"{theirs}/checkpoint-{step}")
        for name in ("manifest.json", "hftrain_state.json"):
            os.remove(os.path.join(folder, name))
        for name in ("optimizer", "rng"):
            shutil.rmtree(os.path.join(folder, name))
    os.rename(output, output + "-ours")  # where the state says that the best one is, is nothing

    def goes_on(name, *words):
        folder = output + name
        said = fixture.call(*fixture.flags(folder, *flags, 6), "--resume_from_checkpoint", f"{theirs}/checkpoint-4").stderr
        in_order(said, "which transformers' Trainer wrote", *words)
        return folder

    on = goes_on("-on", f"Loading best model from {theirs}/checkpoint-2")
    expect(same_weights(on, f"{theirs}/checkpoint-2") and not same_weights(on, f"{on}/checkpoint-6"), "the model is the Trainer's best", "")
    with open(f"{theirs}/checkpoint-2/model.safetensors", "r+b") as file:  # a norm of another name
        begin = file.read(100_000).index(b'"transformer.ln_f.bias"')
        file.seek(begin)
        file.write(b'"transformer.ln_f.wish"')
    lacking = goes_on("-lacking", "warning: the best model is not loaded", "transformer.ln_f.bias")
    expect(same_weights(lacking, f"{lacking}/checkpoint-6"), "the last model is written in the place of one that lacks a tensor", "")
    os.truncate(f"{theirs}/checkpoint-2/model.safetensors", 5000)
    damaged = goes_on("-damaged", "warning: the best model is not loaded", "model.safetensors")
    expect(same_weights(damaged, f"{damaged}/checkpoint-6"), "the last model is written", "")


def a_generation_config_stays_as_it_was(fixture, output):
    model = output + "-model"
    fixture.call(*fixture.flags(model, "--max_steps", 1, "--save_strategy", "no", ranks=1))
    flags = fixture.flags(output, "--max_steps", 2, "--save_steps", 1, ranks=1)
    at = flags.index("--model_type")
    flags = ["--model_name_or_path", model, *flags[:at], *flags[at + 4:]]
    own = read_json(model, "generation_config.json")
    expect("eos_token_id" in own, "made from the model's config", own)
    text = '{"temperature": 0.6,\n "do_sample" : true, "our_key": {"a": [1.50, 2]},\n' + json.dumps(own)[1:]
    with open(os.path.join(model, "generation_config.json"), "w") as file:
        file.write(text)
    fixture.call(*flags)
    exported = output + "-exported"
    fixture.call("checkpoint", "export", f"{output}/checkpoint-2", exported)
    for folder in (output, f"{output}/checkpoint-1", exported):
        with open(os.path.join(folder, "generation_config.json")) as file:
            expect(file.read() == text, "byte for byte", folder)
    # An end token that the tokenizer has not: the tokenizer's is added, the rest stays.
    with open(os.path.join(model, "generation_config.json"), "w") as file:
        json.dump({**json.loads(text), "eos_token_id": [77, 78]}, file)
    said = fixture.call(*flags, "--overwrite_output_dir").stderr
    in_order(said, "warning: the tokenizer's special tokens differ", "eos_token_id [77,78] -> ")
    changed = read_json(output, "generation_config.json")
    expect(changed == {**json.loads(text), "eos_token_id": [own["eos_token_id"], 77, 78]}, "the rest stays", changed)


def the_parts_of_a_model_by_themselves_are_exported(fixture, output):
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "interchange", "fsdp")
    model, parts = output + "-model", output + "-parts"
    os.mkdir(model)
    with open(os.path.join(model, "config.json"), "w") as file:
        file.write('{"model_type": "gpt2"}')
    shutil.copytree(os.path.join(golden, "pytorch_model_fsdp_0"), parts)
    said = fixture.call("checkpoint", "export", parts, output, expect=4).stderr
    in_order(said, "it has no config.json", "--model_name_or_path MODEL")
    fixture.call("checkpoint", "export", parts, output, "--model_name_or_path", model)
    with open(os.path.join(output, "model.safetensors"), "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin, end = header["weight"]["data_offsets"]
        file.seek(begin, os.SEEK_CUR)
        numbers = list(struct.unpack(f"<{(end - begin) // 4}f", file.read(end - begin)))
    expect({*header} - {"__metadata__"} == {"weight", "bias"}, "the names below model.", header)
    expected = read_json(golden, "expected.json")["weight"]
    expect(numbers == [struct.unpack("<f", struct.pack("<f", number))[0] for row in expected for number in row], "the numbers of both ranks", numbers)
    path = os.path.join(parts, "__1_0.distcp")
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 1)
    said = fixture.call("checkpoint", "export", parts, output + "-cut", "--model_name_or_path", model, expect=4).stderr
    expect("__1_0.distcp" in said and not os.path.exists(output + "-cut"), "a part that was cut is named", said)


SCENARIOS = [results_and_readme_say_what_was_logged, trackers_get_every_record, trackers_that_fail_or_hang_cost_a_warning_each, only_the_model_is_saved_when_so_asked,
           without_an_interval_the_last_update_alone_is_saved, a_checkpoint_that_the_limit_removes_is_named, a_best_model_that_is_found_behind_its_save_is_kept, a_best_model_of_the_folder_before_is_named_where_it_lies, recomputed_activations_give_the_same_losses_in_less_memory, tokens_and_memory_are_counted_when_asked,
           the_best_model_is_found_after_a_move_and_forgotten_when_gone, a_generation_config_stays_as_it_was,
           the_best_model_of_another_trainer_is_loaded, the_parts_of_a_model_by_themselves_are_exported]


def main():
    names = sys.argv[1:]
    if unknown := set(names) - {scenario.__name__ for scenario in SCENARIOS}:
        raise SystemExit(f"there is no scenario {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        for scenario in SCENARIOS:
            if not names or scenario.__name__ in names:
                scenario(fixture, os.path.join(folder, scenario.__name__))
                print(scenario.__name__.replace("_", " "))


main()
