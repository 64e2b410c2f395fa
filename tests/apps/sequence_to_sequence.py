#!/usr/bin/env python3
"""Summaries and translations from made-up rows to a saved model: it learns, resumes with the same bits, ranks compute what one does.

  sequence_to_sequence.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, apart, expect, read_json, records, run_scenarios

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "sequence-to-sequence.md"
MODEL = ("d_model=32,d_kv=8,d_ff=64,num_layers=2,num_heads=4,vocab_size=512,decoder_start_token_id=0,pad_token_id=0,eos_token_id=1,"
         "dropout_rate=0")


class Pairs(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        data = os.path.join(self.folder, "data")
        self.call("sample-data", "seq2seq", data, "--size", "60000", "--seed", "1")
        self.train, self.valid = (os.path.join(data, name + ".jsonl") for name in ("train", "validation"))
        self.tokenizer = os.path.join(self.folder, "unigram")
        self.call("tokenizer", "train", "--kind", "unigram", "--vocab_size", "512", "--files", self.text, "--output", self.tokenizer)

    def flags(self, output, *more, task="summarization", ranks=1, batch=8, train=None, without=None):
        lengths = {"max_source_length": "64", "max_target_length": "32"}
        lengths.pop(without, None)
        return ["--task", task, "--model_type", "t5", "--config_overrides", MODEL, "--tokenizer_name", self.tokenizer,
                "--train_file", train or self.train, "--validation_file", self.valid, *(word for name, tokens in lengths.items() for word in ("--" + name, tokens)),
                "--use_cpu", "--do_train", "--do_eval", "--nproc_per_node", str(ranks), "--per_device_train_batch_size", str(batch),
                "--output_dir", str(output), "--logging_steps", "1", "--learning_rate", "1e-3", "--lr_scheduler_type", "constant",
                "--save_strategy", "no", *map(str, more)]


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def the_run_of_the_page_reaches_the_floor(fixture, folder):
    """Its commands as they stand there, in an empty folder. What is to be written follows from what is read."""
    commands = "".join(re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.S))
    where = {**fixture.environment, "PATH": os.path.dirname(HFTRAIN) + os.pathsep + os.environ["PATH"]}
    result = subprocess.run(["bash", "-euc", commands], cwd=folder, env=where, text=True, capture_output=True)
    expect(result.returncode == 0, "the page's commands end well", result.stdout + result.stderr)
    output = os.path.join(folder, "cipher")
    results = read_json(output, "eval_results.json")
    expect(results["eval_loss"] < 0.05, "the floor is near", results)
    expect(read_json(output, "config.json")["architectures"] == ["T5ForConditionalGeneration"], "its class", output)
    judged = os.path.join(folder, "judged")
    results = read_json(judged, "eval_results.json")
    expect(results["eval_bleu"] > 80 and read_json(judged, "predict_results.json")["predict_bleu"] == results["eval_bleu"], "what it writes is right", results)


def flags_change_what_is_learned(fixture, folder):
    """Each on the command line and in a file: the first losses are others, and the same in both ways."""
    plain = {}
    for task, languages in (("summarization", []), ("translation", ["--source_lang", "plain", "--target_lang", "cipher"])):
        plain[task] = os.path.join(folder, task)
        fixture.call(*fixture.flags(plain[task], "--max_steps", 2, *languages, task=task))
    summaries = losses(plain["summarization"])
    expect(summaries != losses(plain["translation"]), "languages", plain)
    for flag, value in (("text_column", "translation_text"), ("summary_column", "other"), ("source_prefix", "say: "), ("max_source_length", 6),
                        ("max_target_length", 3), ("pad_to_max_length", True), ("ignore_pad_token_for_loss", False)):
        rows = os.path.join(folder, "rows.jsonl")
        with open(fixture.train) as source, open(rows, "w") as file:
            for line in source:
                row = json.loads(line)
                file.write(json.dumps({"text": row["text"], "summary": row["summary"], "translation_text": row["translation"]["plain"],
                                       "other": row["translation"]["cipher"]}) + "\n")
        given = ["--no_" + flag] if value is False else ["--" + flag] if value is True else ["--" + flag, value]
        path = os.path.join(folder, flag + ".yaml")
        with open(path, "w") as file:
            file.write(f"{flag}: {json.dumps(value)}\n")
        found = []
        for way, how in (("flag", given), ("file", ["--config", path])):
            output = os.path.join(folder, flag + way)
            fixture.call(*(f for f in fixture.flags(output, "--max_steps", 2, *how, train=rows, without=flag) if f != "--do_eval"))
            found.append(losses(output))
        expect(found[0] == found[1], f"{flag} by flag and by file", found)
        same = found[0] == summaries
        # Padding in itself changes sizes and no loss, but for what rounding makes of them.
        expect(flag == "pad_to_max_length" or not same, f"{flag} changes the loss", [summaries, found])



def a_resumed_run_gives_the_same_bits(fixture, folder):
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    # Texts are drawn in evaluations before and after the break, which must not move the training's random numbers.
    common = ["--save_strategy", "steps", "--save_steps", 4, "--eval_strategy", "steps", "--eval_steps", 3, "--predict_with_generate",
              "--max_eval_samples", 4, "--generation_max_length", 6]
    fixture.call(*fixture.flags(straight, "--max_steps", 8, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 4, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 8, *common))
    expect(losses(straight) == losses(parts) and len(losses(parts)) == 8, "losses", [losses(straight), losses(parts)])
    judged = [{r["step"]: [r[name] for name in sorted(r) if name.startswith("eval_") and not re.search("runtime|per_second", name)] for r in records(output)
               if "eval_loss" in r and r["step"] != 4} for output in (straight, parts)]  # 4: the end of the first part
    expect(judged[0] == judged[1] and {3, 6} <= set(judged[0]) and len(judged[0][6]) > 1, "what evaluations wrote", judged)
    same = filecmp.cmp(os.path.join(straight, "model.safetensors"), os.path.join(parts, "model.safetensors"), shallow=False)
    expect(same, "weights", parts)


def batches_of_ranks_that_generate_count_by_their_own_means(fixture, folder):
    """As in the Seq2SeqTrainer, whose prediction step is another where it generates: the labels of other ranks do not weigh."""
    found = {}
    for words in ([], ["--predict_with_generate", "--generation_max_length", 3]):
        for average in (True, False):
            output = os.path.join(folder, f"{len(words)}-{average}")
            fixture.call(*fixture.flags(output, "--max_steps", 1, "--max_eval_samples", 21, "--per_device_eval_batch_size", 3,
                                        "--average_tokens_across_devices", str(average).lower(), "--learning_rate", 0, *words, ranks=2))
            found[bool(words), average] = read_json(output, "eval_results.json")["eval_loss"]
    expect(found[False, True] != found[False, False], "labels of all ranks weigh where nothing is written", found)
    expect(found[True, True] == found[True, False], "but not beside texts", found)
    expect(abs(found[True, True] - found[False, False]) < 1e-6, "they are the means of batches", found)


def sortish_batches_are_learned_and_resume_in_mid_epoch(fixture, folder):
    """The same bits after a stop in the middle of an epoch, on one rank and on two; on other ranks the same samples an update."""
    common = ["--sortish_sampler", "--save_strategy", "steps", "--save_steps", 3, "--include_num_input_tokens_seen", "all"]
    for ranks in (1, 2):
        straight, parts, plain = (os.path.join(folder, f"{name}-{ranks}") for name in ("straight", "parts", "plain"))
        fixture.call(*fixture.flags(straight, "--max_steps", 7, *common, ranks=ranks, batch=4))
        fixture.call(*fixture.flags(parts, "--max_steps", 3, *common, ranks=ranks, batch=4))
        fixture.call(*fixture.flags(parts, "--max_steps", 7, *common, ranks=ranks, batch=4))
        fixture.call(*fixture.flags(plain, "--max_steps", 7, *common[3:], ranks=ranks, batch=4))
        expect(losses(straight) == losses(parts) and len(losses(parts)) == 7, f"losses on {ranks}", [losses(straight), losses(parts)])
        expect(losses(straight) != losses(plain), "an order of its own", [losses(straight), losses(plain)])
        same = filecmp.cmp(os.path.join(straight, "model.safetensors"), os.path.join(parts, "model.safetensors"), shallow=False)
        expect(same, f"weights on {ranks}", parts)
    moved = os.path.join(folder, "moved")
    fixture.call(*fixture.flags(moved, "--max_steps", 3, *common, ranks=2, batch=4))
    fixture.call(*fixture.flags(moved, "--max_steps", 7, *common, ranks=1, batch=8))
    whole = losses(os.path.join(folder, "straight-2"))
    expect(apart(losses(moved), whole) < 5e-4, "losses on other ranks", [losses(moved), whole])


def ranks_compute_what_one_does(fixture, folder):
    outputs = {name: os.path.join(folder, name) for name in ("one", "two", "sharded")}
    fixture.call(*fixture.flags(outputs["one"], "--max_steps", 5))
    fixture.call(*fixture.flags(outputs["two"], "--max_steps", 5, ranks=2, batch=4))
    fixture.call(*fixture.flags(outputs["sharded"], "--max_steps", 5, "--fsdp", "full_shard", "--gradient_checkpointing", ranks=2, batch=4))
    one = losses(outputs["one"])
    for name in ("two", "sharded"):
        expect(apart(losses(outputs[name]), one) < 5e-4, f"{name}: the losses", [one, losses(outputs[name])])
    expect(losses(outputs["two"]) == losses(outputs["sharded"]), "shards change no bit", outputs)


def wrong_rows_are_refused_and_nothing_is_written(fixture, folder):
    output, rows = os.path.join(folder, "refused"), os.path.join(folder, "wrong.jsonl")
    good = {"text": "a fox", "summary": "fox", "translation": {"en": "a", "de": "b"}}
    languages = ["--source_lang", "en", "--target_lang", "de"]
    for change, more, said in (({"summary": 3}, [], "wrong.jsonl:2"), ({}, ["--text_column", "story"], "no column 'story'"),
                               ({"translation": {"en": "a"}}, languages, "no text in 'de'"), ({"translation": 1}, languages, "it is a number")):
        with open(rows, "w") as file:
            file.write(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
        result = fixture.call(*fixture.flags(output, *more, task="seq2seq", train=rows), expect=4)
        expect(said in result.stderr and not os.path.exists(output), said, result.stderr)
    result = fixture.call(*fixture.flags(output, task="translation"), expect=2)
    expect("--source_lang" in result.stderr and not os.path.exists(output), "a translation without languages", result.stderr)


SCENARIOS = [the_run_of_the_page_reaches_the_floor, flags_change_what_is_learned, batches_of_ranks_that_generate_count_by_their_own_means, a_resumed_run_gives_the_same_bits,
             sortish_batches_are_learned_and_resume_in_mid_epoch, ranks_compute_what_one_does, wrong_rows_are_refused_and_nothing_is_written]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Pairs)
