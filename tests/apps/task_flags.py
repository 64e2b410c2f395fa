#!/usr/bin/env python3
"""Every flag of the tasks, their data and their evaluation changes what its documentation says, on the command line and in YAML alike.

  task_flags.py [TASK]…     runs of those tasks, or of all; then that no flag was forgotten

CHANGES holds the flags, each with a value that is not its default and with what must differ from a run without it; SHOWN_BY names the
scenario of the others. `hftrain docs arguments` says which flags there are.
"""
import csv
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, expect, read_json, records, run_scenarios
from shown_flags import SHOWN, flags_of_page, is_shown_at
from tiny_tasks import GPT2, TinyTasks, rows, write

SPEEDS = ("runtime", "per_second", "model_preparation_time")


def seen(output):
    """What a run shows of its data, its losses and its evaluations."""
    log = records(output)
    data = read_json(output, "hftrain", "plan.json")["data"]

    def results(name):
        path = os.path.join(output, name + "_results.json")
        found = read_json(path) if os.path.exists(path) else {}
        return {key: value for key, value in found.items() if not any(word in key for word in SPEEDS)}
    files = {}
    for name in sorted(os.listdir(output)):
        if re.match(r"(predict|eval|predictions|generat).*\.(txt|json)$", name) and not name.endswith("_results.json"):
            with open(os.path.join(output, name)) as file:
                files[name] = file.read()
    last = next((r for r in reversed(log) if "eval_runtime" in r), {})
    batches = round(last["eval_steps_per_second"] * last["eval_runtime"]) if "eval_steps_per_second" in last else 0
    return {"batches": batches, "losses": {r["step"]: r["loss"] for r in log if "loss" in r}, "evaluated": [r["step"] for r in log if "eval_runtime" in r],
            "eval": results("eval"), "predict": results("predict"), "files": files, "padding": (data.get("padding") or {}).get("length"),
            "samples": {split: (data[split] or {}).get("samples") for split in ("train", "validation", "test")}, "block": data.get("block_size")}


class Change:
    """A flag, its value, what it changes (a function of the run without and the run with it), and what both runs are told besides."""

    def __init__(self, flag, value, differs, *more, base=None):
        self.flag, self.value, self.differs, self.more = flag, value, differs, [str(word) for word in more]
        self.base = base  # the flags of the run without it; else `more`

    def words(self):
        if isinstance(self.value, bool):
            return ["--" + self.flag] if self.value else ["--no_" + self.flag]
        return ["--" + self.flag, *map(str, self.value if isinstance(self.value, list) else [self.value])]


def losses_differ(plain, changed):
    return plain["losses"] != changed["losses"]


def only_files_differ(plain, changed):
    return plain["losses"] == changed["losses"] and plain["files"] != changed["files"]


def samples(split, count):
    return lambda plain, changed: plain["samples"][split] != count and changed["samples"][split] == count


def padded_to(length):
    return lambda plain, changed: plain["padding"] != length and changed["padding"] == length


def nothing(plain, changed):
    """Accepted flags: the run is the same, and says why."""
    return plain == changed


# batch_rebalance draws with 42 whatever the seed.
ORDERS = [Change("train_sampling_strategy", name, losses_differ, "--no_pad_to_max_length", *seed)
          for name, seed in (("sequential", []), ("group_by_length", []), ("batch_rebalance", ["--seed", 7]))]
WRITES = ("--predict_with_generate", "--max_steps", 20, "--learning_rate", 1e-2)  # then texts hold words
CHANGES = {
    "text-classification": [
        Change("max_seq_length", 9, lambda a, b: losses_differ(a, b) and b["padding"] == 9),
        Change("pad_to_max_length", False, padded_to(0)),
        Change("task_name", "cola", lambda a, b: losses_differ(a, b) and "eval_matthews_correlation" in b["eval"] and "predict_results_cola.txt" in b["files"]),
        Change("max_train_samples", 5, samples("train", 5)), Change("max_eval_samples", 3, samples("validation", 3)),
        Change("max_predict_samples", 2, lambda a, b: samples("test", 2)(a, b) and len(b["files"]["predict_results.txt"].splitlines()) == 3),
        Change("max_val_samples", 3, samples("validation", 3)), Change("max_test_samples", 2, samples("test", 2)),
        Change("n_test", 3, samples("test", 3)), Change("group_by_length", True, losses_differ, "--no_pad_to_max_length"),
        Change("evaluation_strategy", "steps", lambda a, b: len(b["evaluated"]) > len(a["evaluated"]), "--eval_steps", 1),
        Change("evaluate_during_training", True, lambda a, b: len(b["evaluated"]) > len(a["evaluated"]), "--eval_steps", 1),
        Change("per_gpu_eval_batch_size", 2, lambda a, b: (a["batches"], b["batches"]) == (1, 4) and a["losses"] == b["losses"]),
        Change("include_inputs_for_metrics", True, lambda a, b: "eval_input_tokens" in b["eval"] and "eval_input_tokens" not in a["eval"]),
        # What is a label is no input: without the mask tokens are counted with their padding.
        Change("label_names", ["labels", "attention_mask"], lambda a, b: a["eval"]["eval_input_tokens"] < b["eval"]["eval_input_tokens"], "--include_for_metrics",
               "inputs"),
        Change("length_column_name", "size", losses_differ, "--train_sampling_strategy", "group_by_length", "--no_pad_to_max_length"),
        Change("remove_unused_columns", False, nothing), *ORDERS, Change("data_seed", 5, losses_differ),
        Change("include_for_metrics", ["inputs", "loss"], lambda a, b: {"eval_input_tokens", "eval_loss_std"} <= set(b["eval"]) - set(a["eval"])),
        Change("eval_strategy", "steps", lambda a, b: len(b["evaluated"]) > len(a["evaluated"]), "--eval_steps", 1),
        Change("eval_steps", 2, lambda a, b: len(b["evaluated"]) < len(a["evaluated"]), "--eval_strategy", "steps"),
        Change("eval_delay", 2, lambda a, b: a["evaluated"][:2] == [1, 2] and 1 not in b["evaluated"], "--eval_strategy", "steps", "--eval_steps", 1),
        Change("eval_on_start", True, lambda a, b: 0 in b["evaluated"] and 0 not in a["evaluated"], "--eval_strategy", "steps", "--eval_steps", 1)],
    "token-classification": [
        Change("text_column_name", "others", losses_differ), Change("label_column_name", "pos_tags", losses_differ),
        Change("task_name", "POS", losses_differ), Change("label_all_tokens", True, losses_differ), Change("max_seq_length", 4, losses_differ),
        Change("pad_to_max_length", True, padded_to(64)),
        Change("return_entity_level_metrics", True, lambda a, b: "eval_overall_f1" in b["eval"] and "eval_f1" in a["eval"] and a["losses"] == b["losses"])],
    "question-answering": [
        Change("max_seq_length", 30, lambda a, b: losses_differ(a, b) and b["samples"]["train"] > a["samples"]["train"], "--doc_stride", 4, base=["--doc_stride", 4, "--max_seq_length", 60]),
        Change("doc_stride", 8, lambda a, b: b["samples"]["train"] > a["samples"]["train"], "--max_seq_length", 30, base=["--doc_stride", 1, "--max_seq_length", 30]),
        Change("pad_to_max_length", False, padded_to(0), "--max_seq_length", 60, "--doc_stride", 4),
        Change("version_2_with_negative", True, lambda a, b: "eval_HasAns_f1" in b["eval"] and "eval_null_odds.json" in b["files"], "--max_seq_length", 60, "--doc_stride", 4),
        Change("n_best_size", 2, lambda a, b: most_answers(b) == 2 and most_answers(a) > 2, "--max_seq_length", 60, "--doc_stride", 4),
        Change("max_answer_length", 1, only_files_differ, "--max_seq_length", 60, "--doc_stride", 4),
        Change("null_score_diff_threshold", -1e9, lambda a, b: set(answers(b)) == {""} and set(answers(a)) != {""}, "--version_2_with_negative", "--max_seq_length", 60,
               "--doc_stride", 4)],
    "summarization": [
        Change("text_column", "other", losses_differ), Change("summary_column", "other", losses_differ), Change("source_prefix", "say: ", losses_differ),
        Change("max_source_length", 5, losses_differ), Change("max_target_length", 3, losses_differ),
        Change("val_max_target_length", 3, lambda a, b: a["losses"] == b["losses"] and a["eval"]["eval_loss"] != b["eval"]["eval_loss"]),
        Change("pad_to_max_length", True, padded_to(40), "--max_source_length", 40, "--max_target_length", 40),
        Change("ignore_pad_token_for_loss", False, losses_differ), Change("sortish_sampler", True, losses_differ),
        Change("forced_bos_token", "the", lambda a, b: "forced_bos_token_id" in b["files"]["generation_config.json"] and a["losses"] == b["losses"]),
        Change("lang", "en", nothing),
        Change("predict_with_generate", True, lambda a, b: "eval_rouge1" in b["eval"] and "eval_rouge1" not in a["eval"] and a["losses"] == b["losses"]),
        Change("generation_max_length", 5, lambda a, b: b["eval"]["eval_gen_len"] <= 5 < a["eval"]["eval_gen_len"], *WRITES),
        Change("generation_num_beams", 3, only_files_differ, *WRITES), Change("num_beams", 3, only_files_differ, *WRITES)],
    "translation": [Change("source_lang", "other_XX", losses_differ, "--target_lang", "ro", base=["--source_lang", "en", "--target_lang", "ro"]),
                    Change("target_lang", "other_XX", losses_differ, "--source_lang", "en", base=["--source_lang", "en", "--target_lang", "ro"])],
    "mlm": [
        Change("mlm_probability", 0.5, losses_differ), Change("line_by_line", True, losses_differ), Change("whole_word_mask", True, losses_differ),
        Change("max_seq_length", 9, losses_differ), Change("pad_to_max_length", True, padded_to(32), "--line_by_line", "--max_seq_length", 32),
        Change("validation_split_percentage", 50, lambda a, b: b["samples"]["train"] < a["samples"]["train"])],
    "clm": [
        Change("torch_dtype", "bfloat16", losses_differ), Change("block_size", 8, losses_differ), Change("keep_linebreaks", False, losses_differ),
        Change("validation_split_percentage", 50, lambda a, b: b["samples"]["train"] < a["samples"]["train"]),
        Change("dataloader_drop_last", True, lambda a, b: a["losses"].keys() != b["losses"].keys() or losses_differ(a, b), "--max_steps", -1, "--num_train_epochs", 1,
               "--max_train_samples", 3)],
    "image-classification": [
        Change("train_val_split", 0.5, lambda a, b: b["samples"]["validation"] > a["samples"]["validation"]),
        Change("max_train_samples", 4, samples("train", 4)), Change("max_eval_samples", 2, samples("validation", 2)),
        Change("remove_unused_columns", False, nothing)],
}
# Of flags whose runs are longer, or that name files: where they are shown.
SHOWN_BY = {
    "streaming": "streaming.py as_prepared",
    **dict.fromkeys(("train_file", "validation_file", "test_file"), "task_flags.py what_is_done_and_with_what"),
    **dict.fromkeys(("validation_mismatched_file", "test_mismatched_file"), "text_classification.py both_sets_of_mnli_are_evaluated_and_predicted"),
    "train_dir": "task_flags.py folders_and_columns_of_images", "validation_dir": "task_flags.py folders_and_columns_of_images",
    "image_column_name": "task_flags.py folders_and_columns_of_images", "image_processor_name": "task_flags.py folders_and_columns_of_images",
    **dict.fromkeys(("data_dir", "n_train", "n_val"), "task_flags.py pairs_of_files_are_rows"), "feature_extractor_name": "task_flags.py folders_and_columns_of_images",
    **dict.fromkeys(("overwrite_cache", "preprocessing_num_workers"), "task_flags.py prepared_again_by_other_threads"),
    "ignore_data_skip": "streaming.py the_data_start_over_when_asked", "dataloader_num_workers": "image_classification.py a_resumed_run_gives_the_same_bits: speed alone",
    **dict.fromkeys(("dataloader_prefetch_factor", "dataloader_pin_memory"), "tests/plan/resolve_test.cpp: loader threads, what each has ready"),
    "generation_config": "written_texts.py settings_of_generation_follow_their_priority",
    **dict.fromkeys(("prediction_loss_only", "batch_eval_metrics"), "text_classification.py flags_of_evaluation_do_what_they_say"),
    **dict.fromkeys(("eval_accumulation_steps", "eval_do_concat_batches"), "task_flags.py outputs_wait_as_long_as_asked"),
    **dict.fromkeys(("do_train", "do_eval", "do_predict", "seed", "num_train_epochs", "max_steps", "task"), "task_flags.py what_is_done_and_with_what"),
    "full_determinism": "tests/runtime/worker_context_test.cpp: full determinism and TF32 set the switches",
}
SHOWN_BY |= {flag: "instruction_tuning.py every_flag_acts_by_flag_and_by_file" for flag in (
    "dataset_text_field", "chat_template_path", "max_length", "truncation_mode", "packing", "packing_strategy", "padding_free", "eval_packing", "completion_only_loss",
    "assistant_only_loss", "eos_token", "pad_token", "pad_to_multiple_of", "shuffle_dataset", "dataset_num_proc", "loss_type")}
SHOWN_BY["activation_offloading"] = "tests/plan/resolve_task_test.cpp: TRL's words for the loss and for offload act"
SHOWN_BY |= {flag: "data_sets.py snapshots_of_the_hub_cache" for flag in ("dataset_name", "dataset_config_name")}
SHOWN_BY |= {flag: "data_sets.py splits_of_instruction_tuning" for flag in ("dataset_train_split", "dataset_test_split")}
SHOWN_BY["model_init_kwargs"] = "tests/arguments/parse_test.cpp: model_init_kwargs count where the flags"
SHOWN_BY |= {flag: "task_flags.py flags_of_models" for flag in (
    "model_name_or_path", "model_type", "config_overrides", "config_name", "tokenizer_name", "cache_dir", "model_revision", "dtype", "use_cache")}
SHOWN_BY |= {"ignore_mismatched_sizes": "opening.py a_head_of_another_size_is_drawn_anew_where_that_is_asked_for",
             "resize_position_embeddings": "opening.py positions_are_added_where_samples_are_longer", "freeze_embeds": "opening.py frozen_embeddings_stay_whatever_the_strategy_and_after_a_resume", "freeze_encoder": "opening.py a_frozen_encoder_stays_and_the_decoder_learns"}


def answers(run):
    return list(json.loads(run["files"]["eval_predictions.json"]).values())


def most_answers(run):
    return max(len(each) for each in json.loads(run["files"]["eval_nbest_predictions.json"]).values())


def made_rows(task, count):
    numbers = random.Random(count)
    words = "the fox owl horse rabbit sings sleeps waits by river barn bridge".split()

    def text(least=2, most=9):
        return " ".join(numbers.choice(words) for _ in range(numbers.randint(least, most)))
    for i in range(count):
        if task == "text-classification":
            yield {"sentence1": text(), "sentence2": text(), "sentence": text(), "label": i % 2, "size": 50 - i, "note": "x"}
        elif task == "token-classification":
            tokens = text().split()
            tags = ["B-LOC" if word in ("river", "barn") else "I-LOC" if word == "bridge" else "O" for word in tokens]
            yield {"tokens": [word + "ford" for word in tokens], "ner_tags": tags, "pos_tags": ["B-X" if len(word) > 3 else "O" for word in tokens], "others": tokens[::-1]}
        elif task == "question-answering":
            context = text(20, 30)
            yield {"id": f"q{i}", "question": "who", "context": context, "answers": {"text": [context.split()[0]], "answer_start": [0]}}
        elif task == "translation":
            yield {"translation": {"en": text(), "ro": text(), "other": text()}}
        else:
            yield {"text": text(4, 9), "summary": text(4, 5), "other": text()}


def data_flags(fixture, task, folder):
    if task == "image-classification":
        return ["--train_dir", f"{fixture.pictures}/train"]
    if task in ("clm", "mlm"):
        write(folder, {"train.txt": "".join(row["text"] + "\n" for row in made_rows(task, 400))})
        return ["--train_file", os.path.join(folder, "train.txt")]
    write(folder, {f"{split}.jsonl": rows(*made_rows(task, count)) for split, count in (("train", 24), ("valid", 7), ("test", 4))})
    paths = [os.path.join(folder, split + ".jsonl") for split in ("train", "valid", "test")]
    predicts = task in ("text-classification", "token-classification", "question-answering", "summarization")
    return ["--train_file", paths[0], "--validation_file", paths[1], *(["--test_file", paths[2], "--do_predict"] if predicts else [])]


# The length that a run has unless the flag that is shown says another one, or the run names one itself.
LENGTH = {"text-classification": ("--max_seq_length", "48"), "mlm": ("--max_seq_length", "32"), "clm": ("--block_size", "16")}


def flags_of(task):
    def scenario(fixture, folder):
        data, known = data_flags(fixture, task, folder), {}

        def run(name, *more, unsaid=""):
            output = os.path.join(folder, name)
            flag, tokens = LENGTH.get(task, ("", ""))
            length = [flag, tokens] if flag and flag not in more and flag != "--" + unsaid else []  # the command line wins over files
            said = fixture.call(*fixture.flags(task, output, *data, "--do_eval", *length, *more)).stderr
            return seen(output), said

        for number, change in enumerate(CHANGES[task]):
            plain = [str(word) for word in (change.base if change.base is not None else change.more)]
            key = " ".join(plain)
            if key not in known:
                known[key] = run(f"plain{number}", *plain)[0]
            path = os.path.join(folder, f"{number}.yaml")
            with open(path, "w") as file:
                file.write(json.dumps({change.flag: change.value}) + "\n")
            by_flag, told = run(f"flag{number}", *change.more, *change.words(), unsaid=change.flag)
            by_file, told_too = run(f"file{number}", "--config", path, *change.more, unsaid=change.flag)
            what = f"{task}: {' '.join(change.words())}"
            expect(change.differs(known[key], by_flag), f"{what} changes what it says", f"{known[key]}\n{by_flag}")
            expect(by_flag == by_file, f"{what} in YAML", f"{by_flag}\n{by_file}")
            if change.differs is nothing:
                expect(all(f"{change.flag} has no effect here" in text for text in (told, told_too)), f"{what} is told", told)
            else:
                expect(known[key] != by_flag, f"{what} changes something", by_flag)
    scenario.__name__ = "flags_of_" + task.replace("-", "_")
    return scenario


def folders_and_columns_of_images(fixture, folder):
    """Folders, and the same pictures named by rows, under columns of any name; another image processor gives other numbers."""
    task = "image-classification"

    def run(name, *more):
        output = os.path.join(folder, name)
        fixture.call(*fixture.flags(task, output, "--do_eval", *more))
        return seen(output)

    def in_yaml(name, **values):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            json.dump(values, file)
        return ["--config", path]
    train, valid = (f"{fixture.pictures}/{split}" for split in ("train", "validation"))
    plain = run("plain", "--train_dir", train, "--validation_dir", valid)
    expect(plain == run("yaml", *in_yaml("dirs.yaml", train_dir=train, validation_dir=valid)), "folders in YAML", plain)
    expect(plain["samples"]["validation"] == len(glob.glob(valid + "/*/*")), "the validation folder is evaluated", plain["samples"])
    expect(run("held", "--train_dir", train)["samples"]["train"] < plain["samples"]["train"], "without it some are held out", plain["samples"])
    for split, place in (("train", train), ("valid", valid)):
        with open(os.path.join(folder, split + ".csv"), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["nothing", "picture", "colour"])
            writer.writerows(["x", path, os.path.basename(os.path.dirname(path))] for path in sorted(glob.glob(place + "/*/*")))
    listed = ["--train_file", f"{folder}/train.csv", "--validation_file", f"{folder}/valid.csv"]
    named = {"image_column_name": "picture", "label_column_name": "colour"}
    for name, more in (("flags", [word for flag, value in named.items() for word in ("--" + flag, value)]), ("file", in_yaml("columns.yaml", **named))):
        expect(run("listed-" + name, *listed, *more) == plain, f"the same pictures by columns named in {name}", plain)
    result = fixture.call(*fixture.flags(task, os.path.join(folder, "none"), *listed), expect=4)
    expect("no column 'image'" in result.stderr, "without their names", result.stderr)
    write(folder, {"processor/preprocessor_config.json": json.dumps({"do_resize": True, "size": {"height": 16, "width": 16}, "do_normalize": True, "do_rescale": True,
                                                                     "image_mean": [0.1, 0.2, 0.3], "image_std": [0.2, 0.2, 0.2]})})
    place = os.path.join(folder, "processor")
    other = run("processor", "--train_dir", train, "--validation_dir", valid, "--image_processor_name", place)
    expect(losses_differ(plain, other), "another processor", plain)
    expect(other == run("processor-yaml", "--train_dir", train, "--validation_dir", valid, *in_yaml("processor.yaml", image_processor_name=place)), "in YAML", other)
    expect(other == run("extractor", "--train_dir", train, "--validation_dir", valid, "--feature_extractor_name", place), "by its old name", other)


def flags_of_models(fixture, folder):
    """Where a model, its settings and its tokenizer come from; each on the command line and in YAML."""
    write(folder, {"train.txt": "".join(row["text"] + "\n" for row in made_rows("clm", 200)), "config.json": json.dumps(
        {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 64, "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0, "vocab_size": 512})})
    data = ["--task", "clm", "--train_file", os.path.join(folder, "train.txt"), "--block_size", "16", "--use_cpu", "--nproc_per_node", "1", "--max_steps", "2",
            "--logging_steps", "1", "--save_strategy", "no", "--do_train", "--do_eval"]
    scratch = {"model_type": "gpt2", "config_overrides": GPT2, "tokenizer_name": fixture.tokenizer}

    def run(name, flags, in_file=None):
        output, path = os.path.join(folder, name), os.path.join(folder, name + ".yaml")
        with open(path, "w") as file:
            json.dump(in_file or {}, file)
        words = [word for flag, value in flags.items() for word in ("--" + flag, str(value))]
        fixture.call("train", *data, *words, "--config", path, "--output_dir", output)
        return seen(output), read_json(output, "config.json")

    def acts(name, base, change, differs):
        """`change` is told by flags and by a file."""
        plain = run(name + "-plain", base)
        rest = {flag: value for flag, value in base.items() if flag not in change}
        by_flag, by_file = run(name + "-flag", rest | change), run(name + "-yaml", rest, change)
        expect(differs(plain, by_flag), f"{name} changes what it says", [plain, by_flag])
        expect(by_flag == by_file, f"{name} in YAML", [by_flag, by_file])

    def other_losses(plain, changed):
        return losses_differ(plain[0], changed[0])
    acts("use_cache", scratch, {"use_cache": True}, lambda a, b: (a[1]["use_cache"], b[1]["use_cache"]) == (False, True) and a[0] == b[0])
    acts("dtype", scratch, {"dtype": "bfloat16"}, lambda a, b: other_losses(a, b) and (a[1]["dtype"], b[1]["dtype"]) == ("float32", "bfloat16"))
    acts("config_overrides", scratch, {"config_overrides": GPT2 + ",n_inner=8"}, lambda a, b: other_losses(a, b) and b[1]["n_inner"] == 8)
    llama = "hidden_size=16,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2,num_key_value_heads=2,max_position_embeddings=64,vocab_size=512"
    acts("model_type", scratch | {"model_type": "llama", "config_overrides": llama}, {"model_type": "mistral"},
         lambda a, b: (a[1]["model_type"], b[1]["model_type"]) == ("llama", "mistral"))
    other = os.path.join(folder, "other")
    fixture.call("tokenizer", "train", "--kind", "bpe", "--vocab_size", "300", "--files", os.path.join(folder, "train.txt"), "--output", other)
    acts("tokenizer_name", scratch, {"tokenizer_name": other}, other_losses)
    named = {"config_name": os.path.join(folder, "config.json"), "tokenizer_name": fixture.tokenizer}
    found = [run(name, *flags) for name, flags in (("config-flag", [named]), ("config-yaml", [{"tokenizer_name": fixture.tokenizer}, {"config_name": named["config_name"]}]))]
    expect(found[0] == found[1] and found[0][1]["n_layer"] == 2, "config_name", found)
    # Two revisions of a model of the hub, in a cache of its own.
    place = os.path.join(folder, "hub", "models--org--tiny")
    for revision, seed in (("main", 1), ("v2", 2)):
        run(revision, scratch | {"seed": seed})
        shutil.copytree(os.path.join(folder, revision), os.path.join(place, "snapshots", revision + "0"))
        write(place, {"refs/" + revision: revision + "0"})
    hub = {"model_name_or_path": "org/tiny", "cache_dir": os.path.join(folder, "hub")}
    acts("model_revision", hub, {"model_revision": "v2"}, other_losses)
    first = run("hub-yaml", {}, hub)
    expect(first == run("folder", {"model_name_or_path": os.path.join(place, "snapshots", "main0")}), "model_name_or_path and cache_dir in YAML", first)


def pairs_of_files_are_rows(fixture, folder):
    """The files of --data_dir, or by name, are the rows that a .jsonl file of them is, of summaries and of translations."""
    pairs = {split: list(made_rows("summarization", count)) for split, count in (("train", 24), ("val", 7))}
    for split, some in pairs.items():
        write(folder, {f"old/{split}.source": "".join(row["text"] + "\n" for row in some), f"old/{split}.target": "".join(row["summary"] + "\n" for row in some),
                       f"{split}.jsonl": rows(*some)})
    old = os.path.join(folder, "old")
    by_name = ["--train_file", f"{old}/train.source", "--validation_file", f"{old}/val.source"]
    write(folder, {"old.yaml": json.dumps({"data_dir": old})})

    def run(name, task, *more):
        output = os.path.join(folder, name)
        fixture.call(*fixture.flags(task, output, "--do_eval", *more))
        return seen(output)
    plain = run("rows", "summarization", "--train_file", f"{folder}/train.jsonl", "--validation_file", f"{folder}/val.jsonl")
    expect(plain["samples"]["train"] == 24 and plain["samples"]["validation"] == 7, "rows", plain)
    for name, task, how in (("flag", "summarization", ["--data_dir", old]), ("yaml", "seq2seq", ["--config", f"{folder}/old.yaml"]),
                            ("translated", "translation", ["--data_dir", old, "--src_lang", "en", "--tgt_lang", "ro"]),
                            ("named", "translation", [*by_name]),
                            ("named-languages", "translation", [*by_name, "--source_lang", "en", "--target_lang", "ro"]),
                            ("named-summaries", "summarization", [*by_name])):
        expect(run(name, task, *how) == plain, f"pairs of files: {name}", plain)
    fewer = run("fewer", "summarization", "--data_dir", old, "--n_train", 9, "--n_val", 3, "--n_test", -1)
    expect(fewer["samples"]["train"] == 9 and fewer["samples"]["validation"] == 3, "n_train and n_val", fewer["samples"])


def what_is_done_and_with_what(fixture, folder):
    """What a run does and the files that it reads, named by flags, by a file, and left out one after another."""
    data_flags(fixture, "text-classification", folder)
    files = {flag: os.path.join(folder, name) for flag, name in (("train_file", "train.jsonl"), ("validation_file", "valid.jsonl"), ("test_file", "test.jsonl"))}
    whole = {"do_train": True, "do_eval": True, "do_predict": True, **files, "num_train_epochs": 0.5, "seed": 7}
    model = [word for word in fixture.model("text-classification") if word not in ("--task", "text-classification")]
    common = ["train", *model, "--use_cpu", "--nproc_per_node", "1", "--max_seq_length", "48", "--logging_steps", "1", "--save_strategy", "no"]

    def run(name, told, in_file):
        output, path = os.path.join(folder, name), os.path.join(folder, name + ".yaml")
        with open(path, "w") as file:
            json.dump({"task": "text-classification", **told} if in_file else {}, file)
        words = [] if in_file else ["--task", "text-classification", *(word for flag, value in told.items() for word in ("--" + flag, *([] if value is True else [str(value)])))]
        fixture.call(*common, "--config", path, "--output_dir", output, *words)
        return seen(output)

    def both(name, told):
        by_flag, by_file = run(name + "-flag", told, False), run(name + "-yaml", told, True)
        expect(by_flag == by_file, f"{name} in YAML", f"{by_flag}\n{by_file}")
        return by_flag
    plain = both("whole", whole)
    expect(plain["losses"] and plain["eval"] and plain["files"] and plain["samples"] == {"train": 24, "validation": 7, "test": 4}, "all is done", plain)
    for flag, part in (("do_train", "losses"), ("do_eval", "eval"), ("do_predict", "files")):
        found = both("no-" + flag, {key: value for key, value in whole.items() if key != flag})
        expect(not found[part] and all(found[other] for other in ("losses", "eval", "files") if other != part), f"without {flag}", found)
    fewer = both("other-files", whole | {"validation_file": files["test_file"], "test_file": files["validation_file"]})
    expect(fewer["samples"] == {"train": 24, "validation": 4, "test": 7}, "the files that are named", fewer["samples"])
    changed = {"seed": {"seed": 8}, "num_train_epochs": {"num_train_epochs": 1}, "max_steps": {"max_steps": 5}}
    found = {name: both(name, whole | more) for name, more in changed.items()}
    steps = {name: max(run["losses"]) for name, run in (*found.items(), ("whole", plain))}
    expect(steps == {"seed": 2, "whole": 2, "num_train_epochs": 3, "max_steps": 5} and losses_differ(plain, found["seed"]), "steps and losses", steps)


def outputs_wait_as_long_as_asked(fixture, folder):
    """Outputs of the batches that wait are in the plan, twice where they are joined; results are the same, however long they wait."""
    data = data_flags(fixture, "token-classification", folder)[:4]

    def run(name, told, in_file):
        path = os.path.join(folder, name + ".yaml")
        with open(path, "w") as file:
            json.dump(told if in_file else {}, file)
        words = [] if in_file else [word for flag, value in told.items() for word in (["--no_" + flag] if value is False else ["--" + flag, str(value)])]
        flags = fixture.flags("token-classification", os.path.join(folder, name), *data, "--do_eval", "--per_device_eval_batch_size", 1, "--config", path, *words)
        plan = json.loads(fixture.call(*flags, "--dry_run", "--json").stdout)
        fixture.call(*flags)
        return plan["memory_per_rank"]["evaluation"], seen(os.path.join(folder, name))
    plain = run("plain", {}, False)
    found = {}
    for name, told in (("waits", {"eval_accumulation_steps": 3}), ("apart", {"eval_accumulation_steps": 3, "eval_do_concat_batches": False})):
        found[name] = run(name + "-flag", told, False)
        in_file = run(name + "-yaml", told, True)
        expect(found[name] == in_file, f"{name} in YAML", [found[name], in_file])
        expect(found[name][1] == plain[1] and plain[1]["eval"]["eval_samples"] == 7, f"{name}: the same results", [plain, found])
    kept = plain[0], found["apart"][0], found["waits"][0]
    expect(0 < kept[1] - kept[0] == (kept[2] - kept[0]) * 2 / 5, "three batches of outputs are planned, and twice as many where they are joined", kept)


def prepared_again_by_other_threads(fixture, folder):
    """What is prepared stays until a run overwrites it, and is the same by any number of threads."""
    data = data_flags(fixture, "clm", folder)
    write(folder, {"again.yaml": json.dumps({"overwrite_cache": True, "preprocessing_num_workers": 4})})

    def prepared(*more):
        words = fixture.flags("clm", os.path.join(folder, "out"), *data, "--block_size", "16", *more)
        fixture.call("prepare", *words[1:])
        found = glob.glob(os.path.join(fixture.environment["HFTRAIN_CACHE"], "tokens", "*", "train.bin"))
        expect(len(found) == 1, "one entry", found)
        with open(found[0], "rb") as file:
            return os.stat(found[0]).st_ino, file.read()
    shutil.rmtree(os.path.join(fixture.environment["HFTRAIN_CACHE"], "tokens"), ignore_errors=True)
    first = prepared("--preprocessing_num_workers", 1)
    expect(prepared("--preprocessing_num_workers", 3) == first, "what is there is taken", first[0])
    for how in (["--overwrite_cache", "--preprocessing_num_workers", 3], ["--config", os.path.join(folder, "again.yaml")]):
        again = prepared(*how)
        expect(again[0] != first[0] and again[1] == first[1], "the same samples are made again", [how, first[0], again[0]])
        first = again


def no_flag_is_forgotten(fixture, folder):
    """Each has a change here, or a place that gives it another value than its default; and flags and places that are planted are found out."""
    page = subprocess.run([HFTRAIN, "docs", "arguments"], text=True, capture_output=True, check=True).stdout
    changes = {change.flag: change.value for changes in CHANGES.values() for change in changes}
    places = {**SHOWN, **SHOWN_BY}

    def forgotten(page):
        return sorted(flag for flags in flags_of_page(page).values() for flag in flags if flag not in changes and flag not in places)
    sections = flags_of_page(page)
    defaults = {flag: default for flags in sections.values() for flag, default in flags.items()}
    expect(len(sections) > 20 and all(sections.values()) and len(defaults) > 300, "the page has flags in every section", {title: len(flags) for title, flags in sections.items()})
    expect(not forgotten(page), "every flag that works is shown to work", forgotten(page))
    planted = page.replace("\n| ddp_timeout |", "\n| planted_flag | int | 3 | Does nothing. |\n| ddp_timeout |")
    expect(planted != page and forgotten(planted) == ["planted_flag"], "a flag that nothing shows is found", forgotten(planted))
    for flag, value in changes.items():
        expect(str(value).lower() != defaults.get(flag, "").strip('"').lower(), f"{flag} has another value than its default", value)
    wrong = sorted((flag, place) for flag, place in places.items() if flag in defaults and not is_shown_at(flag, defaults[flag], place))
    expect(not wrong, "each flag has another value than its default where it is said to be shown", "\n".join(map(str, wrong)))
    expect(not set(places) - set(defaults), "no place is of a flag that is gone", sorted(set(places) - set(defaults)))
    for flag, default, place in (("seed", "42", "streaming.py no_such_scenario"), ("seed", "42", "tests/plan/no_such_test.cpp: a name"), ("seed", "42", "every scenario"),
                                 ("no_such_flag", "null", "task_flags.py flags_of_models"), ("no_such_flag", "null", "tests/plan/resolve_test.cpp: cpu_ranks"),
                                 ("do_train", "true", "task_flags.py what_is_done_and_with_what"),                                  ("logging_nan_inf_filter", "false", SHOWN["logging_nan_inf_filter"]), ("rdzv_id", "null", "tests/plan/resolve_test.cpp: no such test")):
        expect(not is_shown_at(flag, default, place), "a place that does not show a flag is found out", [flag, place])


def main():
    tasks = {"flags_of_" + task.replace("-", "_"): flags_of(task) for task in CHANGES}
    others = [folders_and_columns_of_images, flags_of_models, pairs_of_files_are_rows, what_is_done_and_with_what, outputs_wait_as_long_as_asked,
              prepared_again_by_other_threads, no_flag_is_forgotten]
    run_scenarios([*tasks.values(), *others], sys.argv[1:], TinyTasks)


if __name__ == "__main__":
    main()
