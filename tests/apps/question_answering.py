#!/usr/bin/env python3
"""Question answering from made-up rows to answers: it learns, writes its answers, resumes with the same bits, and ranks compute what
one does.

  question_answering.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import processes_of, send
from runs import HFTRAIN, PATIENCE, Fixture, apart, expect, read_json, records, run_scenarios

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "question-answering.md"
MODEL = "n_layer=2,n_head=2,n_embd=32,n_positions=128,vocab_size=512,bos_token_id=0,eos_token_id=0,pad_token_id=0,resid_pdrop=0,embd_pdrop=0,attn_pdrop=0"


class Questions(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        data = os.path.join(self.folder, "data")
        self.call("sample-data", "qa", data, "--size", "60000", "--seed", "1")
        self.train, self.valid = (os.path.join(data, name + ".jsonl") for name in ("train", "validation"))
        self.tokenizer = os.path.join(self.folder, "wordpiece")
        self.call("tokenizer", "train", "--kind", "wordpiece", "--vocab_size", "512", "--files", self.text, "--output", self.tokenizer)

    def flags(self, output, *more, ranks=1, batch=8, train=None):
        return ["--task", "question-answering", "--model_type", "gpt2", "--config_overrides", MODEL, "--tokenizer_name", self.tokenizer,
                "--train_file", train or self.train, "--validation_file", self.valid, "--max_seq_length", "96", "--doc_stride", "16", "--use_cpu",
                "--do_train", "--nproc_per_node", str(ranks), "--per_device_train_batch_size", str(batch), "--output_dir", str(output),
                "--logging_steps", "1", "--learning_rate", "1e-3", "--lr_scheduler_type", "constant", *map(str, more)]


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def rows_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def the_run_of_the_page_reaches_the_floor(fixture, folder):
    """Its commands as they stand there, in an empty folder. All answers follow from their contexts."""
    commands = re.search(r"```bash\n(.*?)```", PAGE.read_text(), re.S).group(1)
    where = {**fixture.environment, "PATH": os.path.dirname(HFTRAIN) + os.pathsep + os.environ["PATH"]}
    result = subprocess.run(["bash", "-euc", commands], cwd=folder, env=where, text=True, capture_output=True)
    expect(result.returncode == 0, "the page's commands end well", result.stdout + result.stderr)
    output = os.path.join(folder, "answers")
    results = read_json(output, "eval_results.json")
    expect(results["eval_exact_match"] > 95 and results["eval_f1"] > 95 and results["eval_loss"] < 0.15, "the floor is near", results)
    predictions, lists = (read_json(output, f"eval_{name}.json") for name in ("predictions", "nbest_predictions"))
    rows = rows_of(os.path.join(folder, "data", "validation.jsonl"))
    expect([row["id"] for row in rows] == list(predictions) == list(lists), "an answer for each question, in their order", predictions)
    right = sum(predictions[row["id"]] == row["answers"]["text"][0] for row in rows)
    expect(abs(100 * right / len(rows) - results["eval_exact_match"]) < 1e-6, "exact match is of these answers", results)
    for answers in lists.values():
        expect(abs(sum(one["probability"] for one in answers) - 1) < 1e-6 and len(answers) <= 20, "probabilities", answers)
    config = read_json(output, "config.json")
    expect(config["architectures"] == ["GPT2ForQuestionAnswering"], "its class", config)
    expect("pipeline_tag: question-answering" in open(os.path.join(output, "README.md")).read(), "the card names the task", output)


def flags_of_data_change_windows(fixture, folder):
    """Each on the command line and in a file; what is prepared and how it is padded stands in the plan of the run."""
    def data_of(name, *more, unsaid=None):
        output = os.path.join(folder, name)
        words = fixture.flags(output, "--max_steps", 1, "--save_strategy", "no", "--do_eval", *more)
        if unsaid in words:  # the command line wins over files
            del words[words.index(unsaid):words.index(unsaid) + 2]
        fixture.call(*words)
        return read_json(output, "hftrain", "plan.json")["data"]

    plain = data_of("plain")
    for flag, value, differs in (("max_seq_length", 40, lambda data: data["train"]["samples"] > plain["train"]["samples"]),
                                 ("doc_stride", 3, lambda data: data["train"]["cache_path"] != plain["train"]["cache_path"]),
                                 ("version_2_with_negative", True, lambda data: data["train"]["cache_path"] != plain["train"]["cache_path"]),
                                 ("pad_to_max_length", False, lambda data: plain["padding"]["length"] == 96 and data["padding"]["length"] == 0)):
        path = os.path.join(folder, flag + ".yaml")
        with open(path, "w") as file:
            file.write(f"{flag}: {json.dumps(value)}\n")
        given = ["--no_" + flag] if value is False else ["--" + flag] if value is True else ["--" + flag, value]
        by_flag = data_of(flag + "_flag", *given, unsaid="--" + flag if len(given) == 2 else None)
        by_file = data_of(flag + "_file", "--config", path, unsaid="--" + flag)
        expect(differs(by_flag), f"{flag} changes the data", by_flag)
        expect(by_file["train"] == by_flag["train"] and by_file["padding"] == by_flag["padding"], f"{flag} in a file", by_file)


def flags_of_reading_change_answers(fixture, folder):
    """On the command line and in a file, of a model that has learned little."""
    trained = os.path.join(folder, "trained")
    fixture.call(*fixture.flags(trained, "--max_steps", 4, "--save_strategy", "no"))

    def answers(name, *more):
        output = os.path.join(folder, name)
        fixture.call("--task", "question-answering", "--model_name_or_path", trained, "--validation_file", fixture.valid, "--do_eval",
                     "--max_seq_length", "96", "--doc_stride", "16", "--use_cpu", "--output_dir", output, *map(str, more))
        return output

    plain = answers("plain")
    lists = read_json(plain, "eval_nbest_predictions.json")
    expect(not os.path.exists(os.path.join(plain, "eval_null_odds.json")), "no odds without --version_2_with_negative", plain)
    expect(max(map(len, lists.values())) == 20, "20 answers", lists)
    for value, how in (("flag", ["--n_best_size", 3, "--max_answer_length", 1]), ("file", [])):
        if value == "file":
            path = os.path.join(folder, "reading.yaml")
            with open(path, "w") as file:
                file.write("n_best_size: 3\nmax_answer_length: 1\n")
            how = ["--config", path]
        few = read_json(answers("few_by_" + value, *how), "eval_nbest_predictions.json")
        expect(max(map(len, few.values())) <= 3, f"n_best_size by {value}", few)
        longest = max(len(one["text"]) for some in few.values() for one in some)
        expect(longest < max(len(one["text"]) for some in lists.values() for one in some), f"max_answer_length by {value}", few)
    for name, threshold in (("low", -1000), ("high", 1000)):
        path = os.path.join(folder, name + ".yaml")
        with open(path, "w") as file:
            file.write(f"version_2_with_negative: true\nnull_score_diff_threshold: {threshold}\n")
        output = answers(name, "--config", path)
        predictions, odds = read_json(output, "eval_predictions.json"), read_json(output, "eval_null_odds.json")
        expect(set(odds) == set(predictions), "odds of every question", odds)
        expect(all((text == "") == (threshold < 0) for text in predictions.values()), f"a {name} threshold", predictions)
        results = read_json(output, "eval_results.json")
        expect({"eval_exact", "eval_f1", "eval_total", "eval_HasAns_exact", "eval_best_f1_thresh"} <= set(results), "SQuAD 2's keys", results)


def test_data_are_answered_and_judged_where_answers_are_known(fixture, folder):
    output, silent = os.path.join(folder, "known"), os.path.join(folder, "unknown")
    bare = os.path.join(folder, "bare.jsonl")
    with open(bare, "w") as file:
        for row in rows_of(fixture.valid):
            file.write(json.dumps({key: row[key] for key in ("id", "question", "context")}) + "\n")
    for place, test in ((output, fixture.valid), (silent, bare)):
        fixture.call(*fixture.flags(place, "--max_steps", 2, "--save_strategy", "no", "--do_predict", "--test_file", test))
    both = [read_json(place, "predict_predictions.json") for place in (output, silent)]
    expect(both[0] == both[1] and len(both[0]) == len(rows_of(bare)), "the same answers", both)
    known, unknown = (read_json(place, "predict_results.json") for place in (output, silent))
    expect(any(key.endswith("exact_match") for key in known), "judged", known)
    expect(not any(key.endswith("exact_match") for key in unknown), "not judged", unknown)
    more = os.path.join(folder, "more")
    fixture.call("train", "--task", "question-answering", "--model_name_or_path", output, "--test_file", fixture.valid, "--do_predict", "--max_seq_length",
                 "96", "--doc_stride", "16", "--use_cpu", "--include_for_metrics", "inputs", "--output_dir", more)
    beside = read_json(more, "predict_results.json")
    expect(beside["predict_exact_match"] == known["predict_exact_match"] and beside["predict_input_tokens"] > 0, "beside metrics of inputs", beside)


def answers_do_not_depend_on_how_they_are_gathered(fixture, folder):
    """Windows of one question on several ranks, and outputs that wait for one another: the same bytes in every file."""
    trained, tokenizer = os.path.join(folder, "trained"), os.path.join(folder, "left")
    shutil.copytree(fixture.tokenizer, tokenizer)
    path = os.path.join(tokenizer, "tokenizer_config.json")
    with open(path) as file:
        config = json.load(file)
    with open(path, "w") as file:
        json.dump(config | {"padding_side": "left"}, file)
    fixture.call(*fixture.flags(trained, "--max_steps", 30, "--save_strategy", "no"))

    def answers(name, *more, ranks=1):
        output = os.path.join(folder, name)
        fixture.call("--task", "question-answering", "--model_name_or_path", trained, "--validation_file", fixture.valid, "--test_file", fixture.valid,
                     "--do_eval", "--do_predict", "--max_seq_length", "48", "--doc_stride", "8", "--use_cpu", "--nproc_per_node", str(ranks),
                     "--per_device_eval_batch_size", "4", "--version_2_with_negative", "--output_dir", output, *map(str, more))
        expect(not [name for name in os.listdir(output) if ".tmp-" in name], "nothing temporary is left", os.listdir(output))
        files = {}
        for split in ("eval", "predict"):
            for kind in ("predictions", "nbest_predictions", "null_odds"):
                with open(os.path.join(output, f"{split}_{kind}.json")) as file:
                    files[split + kind] = file.read()
        return files, {key: value for key, value in read_json(output, "eval_results.json").items() if "exact" in key or "f1" in key}

    plain = answers("plain")
    expect(list(json.loads(plain[0]["evalnbest_predictions"])) == [row["id"] for row in rows_of(fixture.valid)], "all questions in their order", plain[1])
    expect(answers("two", ranks=2) == plain, "two ranks", plain[1])
    expect(answers("three", "--eval_accumulation_steps", 3, "--fsdp", "full_shard", ranks=3) == plain, "three ranks, waiting outputs", plain[1])
    left = ["--tokenizer_name", tokenizer, "--no_pad_to_max_length"]
    wide = answers("wide", *left)
    expect(answers("joined", *left, "--eval_accumulation_steps", 3) == wide, "batches of several lengths, padded on the left and joined", wide[1])


def answers_of_a_killed_evaluation_are_gone_at_the_next_start(fixture, folder):
    trained, output = os.path.join(folder, "trained"), os.path.join(folder, "killed")
    fixture.call(*fixture.flags(trained, "--max_steps", 1, "--save_strategy", "no"))
    words = ["train", "--task", "question-answering", "--model_name_or_path", trained, "--validation_file", fixture.valid, "--do_eval", "--max_seq_length", "24",
             "--doc_stride", "2", "--per_device_eval_batch_size", "1", "--use_cpu", "--output_dir", output]

    def half_written():
        return [name for name in os.listdir(output) if ".tmp-" in name] if os.path.isdir(output) else []
    front = subprocess.Popen([HFTRAIN, *words], env=fixture.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while not half_written() and front.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    killed = [send(pid, signal.SIGKILL) for pid in processes_of(output)]
    said = front.communicate()[1]
    expect(killed == [True] and front.returncode == 9 and half_written(), "a worker is killed, and leaves what it was writing", [killed, front.returncode, said])
    left, again = half_written(), fixture.call(*words).stderr
    expect(not half_written() and all(f"removed {os.path.join(output, name)}" in again for name in left), "the next start says what it removes", [left, again])
    expect(os.path.exists(os.path.join(output, "eval_nbest_predictions.json")), "and writes its own", os.listdir(output))


def a_resumed_run_gives_the_same_bits(fixture, folder):
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    common = ["--save_strategy", "steps", "--save_steps", 4, "--no_pad_to_max_length"]
    fixture.call(*fixture.flags(straight, "--max_steps", 8, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 4, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 8, *common))
    expect(losses(straight) == losses(parts) and len(losses(parts)) == 8, "losses", [losses(straight), losses(parts)])
    same = filecmp.cmp(os.path.join(straight, "model.safetensors"), os.path.join(parts, "model.safetensors"), shallow=False)
    expect(same, "weights", parts)


def ranks_compute_what_one_does(fixture, folder):
    outputs = {name: os.path.join(folder, name) for name in ("one", "two", "sharded")}
    # Of full rounds: where the last one is not, ranks count means over rows that fill it up, as the Trainer's do.
    common = ["--max_steps", 5, "--save_strategy", "no", "--do_eval", "--max_eval_samples", 8, "--per_device_eval_batch_size", 4]
    fixture.call(*fixture.flags(outputs["one"], *common))
    fixture.call(*fixture.flags(outputs["two"], *common, ranks=2, batch=4))
    fixture.call(*fixture.flags(outputs["sharded"], *common, "--fsdp", "full_shard", "--gradient_checkpointing", ranks=2, batch=4))
    one = losses(outputs["one"])
    for name in ("two", "sharded"):
        expect(apart(losses(outputs[name]), one) < 2e-4, f"{name}: the losses", [one, losses(outputs[name])])
        answers = [read_json(place, "eval_nbest_predictions.json") for place in (outputs["one"], outputs[name])]
        expect(list(answers[0]) == list(answers[1]), f"{name}: questions in their order", answers)
        scores = [read_json(place, "eval_results.json") for place in (outputs["one"], outputs[name])]
        expect(scores[0]["eval_samples"] == 8 and abs(scores[0]["eval_loss"] - scores[1]["eval_loss"]) < 1e-5 * scores[0]["eval_loss"],
               f"{name}: eval_loss", scores)
    expect(losses(outputs["two"]) == losses(outputs["sharded"]), "shards change no bit", outputs)


def wrong_rows_are_refused_and_nothing_is_written(fixture, folder):
    output, rows = os.path.join(folder, "refused"), os.path.join(folder, "wrong.jsonl")
    good = rows_of(fixture.train)[0]
    for change, said in (({"answers": {"text": ["nowhere"], "answer_start": [0]}}, "not in its context"),
                         ({"answers": {"text": ["x"], "answer_start": [9999]}}, "outside its context"),
                         ({"context": ""}, "the context of a row is empty"), ({"question": " "}, "the question of a row is empty")):
        with open(rows, "w") as file:
            file.write(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
        result = fixture.call(*fixture.flags(output, train=rows), expect=4)
        expect(said in result.stderr and "wrong.jsonl:2" in result.stderr and not os.path.exists(output), said, result.stderr)
    with open(rows, "w") as file:
        file.write(json.dumps({key: good[key] for key in ("id", "question", "context")}) + "\n")
    result = fixture.call(*fixture.flags(output, train=rows), expect=4)
    expect("no column 'answers'" in result.stderr and not os.path.exists(output), "a missing column", result.stderr)
    result = fixture.call(*fixture.flags(output, "--doc_stride", 96), expect=2)
    expect("--doc_stride" in result.stderr and not os.path.exists(output), "a stride as long as a window", result.stderr)


SCENARIOS = [the_run_of_the_page_reaches_the_floor, flags_of_data_change_windows, flags_of_reading_change_answers, test_data_are_answered_and_judged_where_answers_are_known,
             answers_do_not_depend_on_how_they_are_gathered, answers_of_a_killed_evaluation_are_gone_at_the_next_start,
             a_resumed_run_gives_the_same_bits, ranks_compute_what_one_does, wrong_rows_are_refused_and_nothing_is_written]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Questions)
