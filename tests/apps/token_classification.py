#!/usr/bin/env python3
"""Token classification from sample rows to a saved model: it learns down to the floor of the rows, evaluates, predicts, resumes with
the same bits, and two ranks compute what one does.

  token_classification.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, apart, expect, read_json, records, run_scenarios

MODEL = dict(model_type="gpt2", n_layer=2, n_head=2, n_embd=32, n_positions=64, vocab_size=512, bos_token_id=0, eos_token_id=0, resid_pdrop=0,
             embd_pdrop=0, attn_pdrop=0, classifier_dropout=0)
TAGS = ["B-LOC", "B-ORG", "B-PER", "I-ORG", "I-PER", "O"]
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/token-classification.md")


class Rows(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        self.rows = os.path.join(self.folder, "tags")
        self.floor = self.call("sample-data", "tags", self.rows, "--size", "60000", "--seed", "5").stderr
        self.train, self.valid = os.path.join(self.rows, "train.jsonl"), os.path.join(self.folder, "valid.jsonl")
        self.call("sample-data", "tags", self.valid, "--size", "40000", "--seed", "9")
        self.model = os.path.join(self.folder, "config.json")
        with open(self.model, "w") as file:
            json.dump(MODEL, file)
        path = os.path.join(self.tokenizer, "tokenizer_config.json")
        config = read_json(path)
        config["pad_token"] = config["eos_token"]
        with open(path, "w") as file:
            json.dump(config, file)

    def flags(self, output, *more, ranks=1, batch=16):
        return ["--task", "token-classification", "--config_name", self.model,
                "--tokenizer_name", self.tokenizer, "--train_file", self.train, "--validation_file", self.valid, "--use_cpu",
                "--do_train", "--do_eval", "--nproc_per_node", str(ranks), "--per_device_train_batch_size", str(batch),
                "--output_dir", str(output), "--logging_steps", "1", "--learning_rate", "3e-3", "--lr_scheduler_type", "constant",
                "--save_strategy", "no", *map(str, more)]


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def a_tagger_learns_down_to_the_floor(fixture, folder):
    floor, best = (float(re.search(text + r" ([0-9.]+)", fixture.floor)[1]) for text in ("loss floor:", "accuracy"))
    output = os.path.join(folder, "out")
    fixture.call(*fixture.flags(output, "--num_train_epochs", 6, "--lr_scheduler_type", "linear"))
    found = read_json(output, "eval_results.json")
    expect(floor * 0.5 < found["eval_loss"] < floor + 0.03, f"the loss is near its floor of {floor}", found)
    expect(found["eval_accuracy"] > best - 0.02, f"of at most {best} tags right", found)
    expect(found["eval_f1"] > 0.9 and {"eval_precision", "eval_recall"} < set(found), "entities are found", found)
    config = read_json(output, "config.json")
    expect(config["architectures"] == ["GPT2ForTokenClassification"] and config["id2label"] == {str(i): t for i, t in enumerate(TAGS)} and
           config["label2id"] == {t: i for i, t in enumerate(TAGS)}, "the tags of the data, sorted", config)
    with open(os.path.join(output, "README.md")) as file:
        expect("pipeline_tag: token-classification" in file.read(), "the card names the task", output)


def predictions_are_those_of_the_saved_model(fixture, folder):
    output, again = os.path.join(folder, "trained"), os.path.join(folder, "predicted")
    fixture.call(*fixture.flags(output, "--max_steps", 60))
    fixture.call("--task", "token-classification", "--model_name_or_path", output, "--validation_file", fixture.valid, "--test_file",
                 fixture.valid, "--do_eval", "--do_predict", "--use_cpu", "--output_dir", again)
    before, after, predicted = (read_json(*place) for place in ((output, "eval_results.json"), (again, "eval_results.json"),
                                                                (again, "predict_results.json")))
    for key in ("loss", "f1", "accuracy"):
        expect(before["eval_" + key] == after["eval_" + key] == predicted["predict_" + key], key, [before, after, predicted])
    with open(fixture.valid) as file, open(os.path.join(again, "predictions.txt")) as lines:
        wanted, found = [json.loads(line)["ner_tags"] for line in file], [line.split(" ") for line in lines.read().splitlines()]
    expect([len(row) for row in wanted] == [len(row) for row in found], "a line a row, a tag a word", found[:3])
    pairs = [(a, b) for row, line in zip(wanted, found) for a, b in zip(row, line)]
    right = sum(a == b for a, b in pairs) / len(pairs)
    expect(abs(right - after["eval_accuracy"]) < 1e-12, "as many right as the accuracy says", [right, after])
    bare = os.path.join(folder, "bare.jsonl")
    with open(fixture.valid) as file, open(bare, "w") as words:
        words.writelines(json.dumps({"tokens": json.loads(line)["tokens"]}) + "\n" for line in file)
    for ranks, more in (1, []), (2, ["--eval_accumulation_steps", "3"]):
        untagged = os.path.join(folder, f"untagged{ranks}")
        fixture.call("--task", "token-classification", "--model_name_or_path", output, "--test_file", bare, "--do_predict", "--use_cpu",
                     "--nproc_per_node", str(ranks), "--output_dir", untagged, *more)
        results = read_json(untagged, "predict_results.json")
        expect(not {"predict_loss", "predict_f1", "predict_accuracy"} & set(results), "without tags nothing is judged", results)
        expect(filecmp.cmp(os.path.join(untagged, "predictions.txt"), os.path.join(again, "predictions.txt"), shallow=False), "the same tags", untagged)


def a_resumed_tagger_gives_the_same_bits(fixture, folder):
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    common = ["--save_strategy", "steps", "--save_steps", 4]
    fixture.call(*fixture.flags(straight, *common, "--max_steps", 8))
    fixture.call(*fixture.flags(parts, *common, "--max_steps", 4))
    fixture.call(*fixture.flags(parts, *common, "--max_steps", 8))
    expect(losses(straight) == losses(parts) and len(losses(parts)) == 8, "losses", [losses(straight), losses(parts)])
    same = filecmp.cmp(os.path.join(straight, "model.safetensors"), os.path.join(parts, "model.safetensors"), shallow=False)
    expect(same, "weights", parts)


def two_ranks_tag_as_one_does(fixture, folder):
    one, two, sharded = (os.path.join(folder, name) for name in ("one", "two", "sharded"))
    fixture.call(*fixture.flags(one, "--max_steps", 6))
    fixture.call(*fixture.flags(two, "--max_steps", 6, ranks=2, batch=8))
    fixture.call(*fixture.flags(sharded, "--max_steps", 6, "--fsdp", "full_shard", "--gradient_checkpointing", ranks=2, batch=8))
    expect(apart(losses(two), losses(one)) < 2e-4, "the losses", [losses(one), losses(two)])
    expect(losses(two) == losses(sharded), "sharded and recomputed, bit for bit", [losses(two), losses(sharded)])
    metrics = [read_json(place, "eval_results.json") for place in (one, two)]
    expect(abs(metrics[0]["eval_f1"] - metrics[1]["eval_f1"]) < 0.02, "metrics", metrics)


def flags_and_files_change_what_is_tagged(fixture, folder):
    base = os.path.join(folder, "base")
    fixture.call(*fixture.flags(base, "--max_steps", 2))
    config = os.path.join(folder, "more.yaml")
    cases = {"label_all_tokens": "true", "max_seq_length": "6", "pad_to_max_length": "true"}
    for name, value in cases.items():
        by_flag, by_file = (os.path.join(folder, name + way) for way in ("_flag", "_file"))
        fixture.call(*fixture.flags(by_flag, "--max_steps", 2, "--" + name, value))
        with open(config, "w") as file:
            file.write(f"{name}: {value}\n")
        fixture.call("--config", config, *fixture.flags(by_file, "--max_steps", 2))
        expect(losses(by_flag) == losses(by_file), f"{name} by flag and by file", [losses(by_flag), losses(by_file)])
        changed = losses(by_flag) != losses(base)
        plans = [read_json(place, "hftrain/plan.json")["data"]["padding"]["length"] for place in (base, by_flag)]
        expect(changed if name != "pad_to_max_length" else plans == [0, 64], f"{name} changes what is learned", [losses(base), plans])
    output = os.path.join(folder, "entities")
    fixture.call(*fixture.flags(output, "--max_steps", 40, "--return_entity_level_metrics"))
    found = read_json(output, "eval_results.json")
    expect({"eval_PER_f1", "eval_LOC_number", "eval_overall_f1", "eval_overall_accuracy"} < set(found) and "eval_f1" not in found,
           "metrics of each type", found)


def columns_are_named_by_flags(fixture, folder):
    renamed, output, base = (os.path.join(folder, name) for name in ("rows.jsonl", "renamed", "base"))
    with open(fixture.train) as source, open(renamed, "w") as target:
        for line in source:
            row = json.loads(line)
            target.write(json.dumps({"id": "x", "words": row["tokens"], "pos_tags": row["ner_tags"]}) + "\n")
    fixture.call(*fixture.flags(base, "--max_steps", 2))
    for way in (["--text_column_name", "words", "--label_column_name", "pos_tags"], ["--text_column_name", "words", "--task_name", "POS"]):
        fixture.call(*fixture.flags(output, "--max_steps", 2, "--overwrite_output_dir"), "--train_file", renamed, "--validation_file", renamed,
                     *way)
        expect(losses(output) == losses(base), "the same words and tags", [losses(output), losses(base)])


def wrong_tags_are_refused_and_nothing_is_written(fixture, folder):
    output, rows = os.path.join(folder, "refused"), os.path.join(folder, "wrong.jsonl")
    good = {"tokens": ["Ada", "sings"], "ner_tags": ["B-PER", "O"]}
    for wrong, said in (({"tokens": ["a"], "ner_tags": ["O", "O"]}, "1 words, 2 tags"), ({"tokens": [], "ner_tags": []}, "no words"),
                        ({"tokens": ["a"]}, "ner_tags"), ({"tokens": "a", "ner_tags": ["O"]}, "list of words"),
                        ({"tokens": ["a"], "ner_tags": [-1]}, "it is a number, and those of the rows before are not")):
        with open(rows, "w") as file:
            file.write("".join(json.dumps(row) + "\n" for row in (good, wrong)))
        result = fixture.call(*fixture.flags(output), "--train_file", rows, expect=4)
        expect(said in result.stderr and "wrong.jsonl:2" in result.stderr and not os.path.exists(output), said, result.stderr)
    for wrong, said in (([-1], "it is -1"), ([""], "it is empty"), ([0], "all words have the tag 0"), (["O"], "all words have the tag O")):
        with open(rows, "w") as file:
            file.write(json.dumps({"tokens": ["a"], "ner_tags": wrong}) + "\n")
        result = fixture.call(*fixture.flags(output), "--train_file", rows, expect=4)
        expect(said in result.stderr and not os.path.exists(output), said, result.stderr)
    with open(rows, "w") as file:
        file.write(json.dumps({"tokens": ["a"], "ner_tags": ["B-EVENT"]}) + "\n")
    result = fixture.call(*fixture.flags(output), "--validation_file", rows, expect=4)
    expect("'B-EVENT'" in result.stderr and "wrong.jsonl:1" in result.stderr and not os.path.exists(output), "an unknown tag", result.stderr)
    result = fixture.call(*fixture.flags(output), "--text_column_name", "wordz", expect=4)
    expect("no column 'wordz'" in result.stderr and "tokens, ner_tags" in result.stderr, "a missing column", result.stderr)
    result = fixture.call(*fixture.flags(output, "--block_size", 8), expect=2)
    expect("--task clm" in result.stderr, "a flag of another task", result.stderr)


def the_run_of_the_page_works(fixture, folder):
    with open(PAGE) as file:
        commands = [line.strip() for line in file.read().replace("\\\n", " ").splitlines() if line.startswith("    hftrain ")]
    expect(len(commands) >= 3, "the page has commands", commands)
    os.chdir(folder)
    for command in commands:
        fixture.call(*shlex.split(command)[1:])
    expect(read_json(folder, "tagger", "eval_results.json")["eval_f1"] > 0.9, "it learns", folder)
    expect(os.path.exists(os.path.join(folder, "tagged", "predictions.txt")), "it predicts", folder)


SCENARIOS = [a_tagger_learns_down_to_the_floor, predictions_are_those_of_the_saved_model, a_resumed_tagger_gives_the_same_bits,
             two_ranks_tag_as_one_does, flags_and_files_change_what_is_tagged, columns_are_named_by_flags,
             wrong_tags_are_refused_and_nothing_is_written, the_run_of_the_page_works]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Rows)
