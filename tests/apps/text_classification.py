#!/usr/bin/env python3
"""Text classification from files of made-up rows to a saved model: it learns, evaluates, resumes with the same bits, and two ranks
compute what one does.

  text_classification.py [SCENARIO]…     all of them without a word
"""
import csv
import filecmp
import json
import os
import pathlib
import random
import re
import shlex
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, apart, expect, largest, read_json, records, run_scenarios, skip

WORDS = {"bad": ["awful", "broken", "late"], "fair": ["plain", "usual", "so-so"], "good": ["bright", "quick", "lovely"]}
MODELS = {
    "gpt2": "n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0,"
            "resid_pdrop=0,embd_pdrop=0,attn_pdrop=0",
    "llama": "num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,hidden_size=32,intermediate_size=64,vocab_size=512,"
             "bos_token_id=0,eos_token_id=0",
}
BERT = "hidden_size=64,num_hidden_layers=2,num_attention_heads=4,intermediate_size=128,max_position_embeddings=64"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "text-classification.md"
CLASSES = {"gpt2": "GPT2ForSequenceClassification", "llama": "LlamaForSequenceClassification"}


def write_rows(path, seed, count):
    """Rows of two texts, the second at times empty, and a label that one word of the first gives away."""
    numbers = random.Random(seed)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sentence1", "sentence2", "label"])
        for _ in range(count):
            label = numbers.choice(sorted(WORDS))
            filler = [numbers.choice(["the", "day", "was", "a", "thing, said", "she"]) for _ in range(numbers.randrange(3, 12))]
            filler.insert(numbers.randrange(len(filler)), numbers.choice(WORDS[label]))
            rows.writerow([" ".join(filler), " ".join(filler[:numbers.randrange(4)]), label])


class Rows(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        self.train, self.valid = os.path.join(self.folder, "train.csv"), os.path.join(self.folder, "valid.csv")
        write_rows(self.train, 1, 240)
        write_rows(self.valid, 2, 50)
        path = os.path.join(self.tokenizer, "tokenizer_config.json")
        config = read_json(path)
        config["pad_token"] = config["eos_token"]
        with open(path, "w") as file:
            json.dump(config, file)

    def flags(self, output, *more, ranks=1, model="gpt2", batch=8):
        return ["--task", "text-classification", "--model_type", model, "--config_overrides", MODELS[model],
                "--tokenizer_name", self.tokenizer, "--train_file", self.train, "--validation_file", self.valid,
                "--max_seq_length", "48", "--use_cpu", "--do_train", "--do_eval", "--nproc_per_node", str(ranks),
                "--per_device_train_batch_size", str(batch), "--output_dir", str(output), "--logging_steps", "1",
                "--learning_rate", "1e-3", "--lr_scheduler_type", "constant", *map(str, more)]


def tensors_of(path):
    """Names and shapes of a safetensors file."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
    return {name: tensor["shape"] for name, tensor in header.items() if name != "__metadata__"}


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def a_classification_learns_and_is_saved_under_its_class(fixture, folder):
    for model, architecture in CLASSES.items():
        output = os.path.join(folder, model)
        fixture.call(*fixture.flags(output, "--num_train_epochs", 16, "--save_strategy", "no", model=model))
        loss = read_json(output, "eval_results.json")
        expect(loss["eval_loss"] < 0.4 and loss["eval_samples"] == 50, f"{model}: three labels are learned (chance: 1.10)", loss)
        expect("perplexity" not in loss, "it has no perplexity", loss)
        config = read_json(output, "config.json")
        names = {str(i): name for i, name in enumerate(sorted(WORDS))}
        expect(config["architectures"] == [architecture] and config["id2label"] == names and
               config["label2id"] == {name: int(i) for i, name in names.items()} and
               config["problem_type"] == "single_label_classification", "labels of the data, sorted", config)
        shapes = tensors_of(os.path.join(output, "model.safetensors"))
        expect(shapes["score.weight"] == [3, 32] and "lm_head.weight" not in shapes, "one head, of three labels", shapes)
        expect(not os.path.exists(os.path.join(output, "generation_config.json")), "it generates nothing", output)
        with open(os.path.join(output, "README.md")) as file:
            expect("pipeline_tag: text-classification" in file.read(), "the card names the task", output)


def padding_is_work_and_no_token_that_was_seen(fixture, folder):
    """Of texts padded to 48: the work of an update is that of all places, and rates count what was there."""
    found = {}
    for counted in ("no", "all", "non_padding"):
        output = os.path.join(folder, counted)
        fixture.call(*fixture.flags(output, "--max_steps", 4, "--save_strategy", "no", "--include_num_input_tokens_seen", counted))
        found[counted] = {**read_json(output, "train_results.json"), **read_json(output, "hftrain", "summary.json")}
    works = {one["total_flos"] for one in found.values()}
    expect(len(works) == 1 and works.pop() > 0, "the same work", works)
    seen = [found[counted]["num_input_tokens_seen"] for counted in ("all", "non_padding")]
    expect(0 < seen[1] < 0.8 * seen[0], "there is padding", seen)
    tokens = [one["tokens_per_second"] * one["phases"]["train"] for one in (found["all"], found["non_padding"])]
    expect(all(abs(a - b) < 1e-6 * b for a, b in zip(tokens, seen)), "summary.json counts the same tokens", (tokens, seen))


def a_saved_classification_is_evaluated_alone(fixture, folder):
    output, again = os.path.join(folder, "trained"), os.path.join(folder, "evaluated")
    fixture.call(*fixture.flags(output, "--max_steps", 20, "--save_strategy", "no"))
    flags = ["--task", "text-classification", "--model_name_or_path", output, "--validation_file", fixture.valid, "--do_eval",
             "--max_seq_length", 48, "--use_cpu", "--output_dir", again]
    fixture.call(*map(str, flags))
    before, after = (read_json(place, "eval_results.json")["eval_loss"] for place in (output, again))
    expect(before == after, "the same loss", [before, after])
    held = read_json(again, "hftrain", "summary.json")["ranks"][0]["state_bytes"]
    expect(held["optimizer"] == 0 and held["parameters"] > 0, "an evaluation alone keeps no optimizer's state", held)


def labels_without_names_are_counted(fixture, folder):
    """Of a classifier whose labels nobody named: transformers saves LABEL_0, … for them, and for two of them nothing."""
    for count in (2, 3):
        trained = os.path.join(folder, str(count))
        train, valid = (os.path.join(folder, name + ".csv") for name in ("train", "valid"))
        for path in (train, valid):
            with open(path, "w") as file:
                file.writelines(["text,label\n", *(f"{word} day,{label % count}\n" for label, words in enumerate(WORDS.values()) for word in words)])
        given = ["--train_file", train, "--validation_file", valid]
        fixture.call(*fixture.flags(trained, "--max_steps", 5, "--save_strategy", "no", *given))
        config = read_json(trained, "config.json")
        names = {str(i): f"LABEL_{i}" for i in range(count)}
        for key, value in (("id2label", names), ("label2id", {name: int(i) for i, name in names.items()})):
            del config[key]
            config |= {key: value} if count > 2 else {}
        del config["problem_type"]
        with open(os.path.join(trained, "config.json"), "w") as file:
            json.dump(config, file)
        again = os.path.join(folder, f"again{count}")
        flags = ["--task", "text-classification", "--model_name_or_path", trained, "--max_seq_length", 48, "--use_cpu", "--output_dir", again]
        fixture.call(*map(str, [*flags, "--validation_file", valid, "--do_eval", "--test_file", valid, "--do_predict"]))
        before, after = (read_json(place, "eval_results.json") for place in (trained, again))
        expect(all(before[key] == after[key] for key in ("eval_loss", "eval_accuracy")), "it is judged as it was", [before, after])
        with open(os.path.join(again, "predict_results.txt")) as file:
            written = {line.split("\t")[1].strip() for line in list(file)[1:]}
        expect(written <= set(map(str, range(count))), "predictions are numbers of labels", written)
    config["architectures"] = ["GPT2LMHeadModel"]
    with open(os.path.join(trained, "config.json"), "w") as file:
        json.dump(config, file)
    said = fixture.call(*map(str, [*flags, "--overwrite_output_dir", "--validation_file", valid, "--do_eval"]), expect=4).stderr
    expect("the model has no labels" in said and f"where: {trained}/config.json" in said, "the model's config.json is named", said)


def a_resumed_classification_gives_the_same_bits(fixture, folder):
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    common = ["--save_strategy", "steps", "--save_steps", 4, "--no_pad_to_max_length"]
    fixture.call(*fixture.flags(straight, "--max_steps", 8, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 4, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 8, *common))
    expect(losses(straight) == losses(parts) and len(losses(parts)) == 8, "losses", [losses(straight), losses(parts)])
    same = filecmp.cmp(os.path.join(straight, "model.safetensors"), os.path.join(parts, "model.safetensors"), shallow=False)
    expect(same, "weights", parts)


def two_ranks_compute_what_one_does(fixture, folder):
    one, two = os.path.join(folder, "one"), os.path.join(folder, "two")
    for output, ranks in ((one, 1), (two, 2)):
        fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_strategy", "no", ranks=ranks, batch=8 // ranks))
    expect(apart(losses(two), losses(one)) < 2e-4, "the losses", [losses(one), losses(two)])


def wrong_rows_are_refused_and_nothing_is_written(fixture, folder):
    output, rows = os.path.join(folder, "refused"), os.path.join(folder, "wrong.csv")
    for text, code, said in (("sentence1,label\nshe was late,\nthe day,good\n", 4, "label"), ("words,mark\nlate,bad\n", 4, "label")):
        with open(rows, "w") as file:
            file.write(text)
        result = fixture.call(*fixture.flags(output), "--train_file", rows, expect=code)
        expect(said in result.stderr and not os.path.exists(output), "refused by the label", result.stderr)
    result = fixture.call(*fixture.flags(output, "--mlm_probability", 0.2), expect=2)
    expect("mlm_probability" in result.stderr, "a flag of another task", result.stderr)


def write_csv(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


class Case:
    """Files of a task, made of words that say what is right, most of the time."""

    def __init__(self, fixture, folder, task):
        self.fixture, self.folder, self.task = fixture, folder, task
        numbers = random.Random(task)

        def row(i):
            words = [numbers.choice(sum(WORDS.values(), [])) for _ in range(numbers.randrange(2, 9))]
            count = sum(word in WORDS["good"] for word in words)
            text = " ".join(words)
            if task == "stsb":
                return [text, text[::2], round(numbers.random() + count, 2)]
            if task == "mrpc":
                return [text, " ".join(words[:count]), int(count > 1)]
            if task == "cola":
                return [text, numbers.randrange(2) if i % 4 == 0 else int(count > 1)]
            return [text, sorted(WORDS)[count % 3]]
        self.header = {"stsb": ["sentence1", "sentence2", "label"], "mrpc": ["sentence1", "sentence2", "label"],
                       "cola": ["sentence", "label"]}.get(task, ["text", "label"])
        for name, count in (("train", 80), ("valid", 37), ("test", 21)):
            rows = [row(i) for i in range(count)]
            drop = slice(0, -1) if name == "test" else slice(None)
            write_csv(self.path(name), self.header[drop], [one[drop] for one in rows])

    def path(self, name):
        return os.path.join(self.folder, name + ".csv")

    def flags(self, output, *more):
        named = ["--task_name", self.task] if self.task else []
        return [*self.fixture.flags(output, *named, *more, model="gpt2"), "--train_file", self.path("train"),
                "--validation_file", self.path("valid"), "--test_file", self.path("test"), "--per_device_eval_batch_size", "5"]

    def peer(self, model, out, *arguments):
        """What the Trainer makes of a model folder and these files."""
        python = os.environ.get("HFTRAIN_TEST_PYTHON")
        if not python:
            skip("no Python with transformers")
        named = ["--task_name", self.task] if self.task else []
        script = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench" / "peer_classification.py"
        subprocess.run([python, str(script), "--model", model, "--validation_file", self.path("valid"), "--out", out, *named,
                        *arguments], check=True, capture_output=True,
                       env={**self.fixture.environment, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""})
        return read_json(out)


METRICS = {"stsb": ["pearson", "spearmanr", "combined_score"], "mrpc": ["accuracy", "f1", "combined_score"],
           "cola": ["matthews_correlation"], "": ["accuracy"]}


def predictions(output, task):
    with open(os.path.join(output, f"predict_results{'_' * bool(task)}{task}.txt")) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    expect(lines[0] == ["index", "prediction"] and [line[0] for line in lines[1:]] == [str(i) for i in range(21)],
           "a header and a line for each row of the test file, in its order", lines)
    return [line[1] for line in lines[1:]]


def metrics_and_predictions_are_those_of_the_trainer(fixture, folder):
    for task, keys in METRICS.items():
        place = os.path.join(folder, task or "own")
        os.mkdir(place)
        case = Case(fixture, place, task)
        one, two = os.path.join(place, "one"), os.path.join(place, "two")
        for output, more in ((one, []), (two, ["--nproc_per_node", "2"])):
            fixture.call(*case.flags(output, "--max_steps", 80, "--learning_rate", "5e-3", "--do_predict", "--save_strategy", "no"), *more)
        peer = case.peer(one, os.path.join(place, "peer.json"), "--test_file", case.path("test"), "--", f"output_dir={place}/peer",
                         "per_device_eval_batch_size=5")
        evaluated, config = read_json(one, "eval_results.json"), read_json(one, "config.json")
        for key in keys:
            found, wanted = evaluated[f"eval_{key}"], peer["metrics"][f"eval_{key}"]
            expect(abs(found - wanted) <= 1e-6 or (found != found and wanted != wanted), f"{task}: {key}", [evaluated, peer["metrics"]])
        expect(abs(evaluated["eval_loss"] - peer["metrics"]["eval_loss"]) <= 1e-5 * peer["metrics"]["eval_loss"], "loss",
               [evaluated, peer["metrics"]])
        wanted = [f"{row[0]:3.3f}" if task == "stsb" else config["id2label"][str(row.index(max(row)))] for row in peer["scores"]]
        found = predictions(one, task)
        close = task == "stsb" and all(abs(float(a) - float(b)) < 2e-3 for a, b in zip(found, wanted))
        expect(found == wanted or close, f"{task}: predictions", [found, wanted])
        expect("predict_loss" not in read_json(one, "predict_results.json"), "test rows have no labels", one)
        # Evaluated by two ranks: the same model, so the same metrics.
        again = os.path.join(place, "again")
        alone = ["--model_name_or_path", one, "--task", "text-classification", "--validation_file", case.path("valid"), "--test_file",
                 case.path("test"), "--do_eval", "--do_predict", "--max_seq_length", "48", "--use_cpu", "--nproc_per_node", "2",
                 "--per_device_eval_batch_size", "5", "--output_dir", again, *(["--task_name", task] if task else [])]
        fixture.call(*alone)
        shared = read_json(again, "eval_results.json")
        for key in keys:
            expect(abs(shared[f"eval_{key}"] - evaluated[f"eval_{key}"]) <= 1e-7, f"{task}: {key} of two ranks", [shared, evaluated])
        expect(predictions(again, task) == found, f"{task}: predictions of two ranks", found)
        blocks = read_json(one, "all_results.json")
        expect(blocks["predict_samples"] == 21 and blocks["eval_samples"] == 37, "all results", blocks)


def both_sets_of_mnli_are_evaluated_and_predicted(fixture, folder):
    """As run_glue does: at the end, under keys that end in _mm and in a file of its own; on the command line and in YAML."""
    numbers = random.Random(7)

    def file(name, count, labelled=True):
        rows = [[" ".join(numbers.choice(["awful", "late", "plain", "quick", "lovely", "day"]) for _ in range(numbers.randrange(2, 9))) for _ in range(2)]
                for _ in range(count)]
        path = os.path.join(folder, name + ".csv")
        write_csv(path, ["premise", "hypothesis", "label"][:3 if labelled else 2], [[*row, numbers.choice(["no", "maybe", "yes"])][:3 if labelled else 2] for row in rows])
        return path
    sets = {"train_file": file("train", 40), "validation_file": file("valid", 37), "test_file": file("test", 21, False),
            "validation_mismatched_file": file("valid-mm", 29), "test_mismatched_file": file("test-mm", 17, False)}

    def run(name, files, *more, model=("--model_type", "gpt2", "--config_overrides", MODELS["gpt2"], "--tokenizer_name", fixture.tokenizer)):
        output = os.path.join(folder, name)
        named = [word for flag, path in files.items() for word in ("--" + flag, path)]
        fixture.call("train", "--task", "text-classification", "--task_name", "mnli", *model, "--max_seq_length", "48", "--use_cpu", "--do_eval", "--do_predict",
                     "--per_device_eval_batch_size", "5", "--learning_rate", "5e-3", "--output_dir", output, *named, *more)
        return output, read_json(output, "eval_results.json")

    def lines(output, task):
        with open(os.path.join(output, f"predict_results_{task}.txt")) as found:
            return found.read().splitlines()
    trained, both = run("trained", sets, "--do_train", "--max_steps", "9", "--eval_strategy", "steps", "--eval_steps", "3", "--save_strategy", "no")
    first = {key for key in both if not key.endswith("_mm")}
    expect({"eval_loss", "eval_accuracy", "eval_samples", "eval_runtime", "epoch"} <= first and {key + "_mm" for key in first} == set(both) - first, "each key twice",
           both)
    expect(both["eval_samples"] == 37 and both["eval_samples_mm"] == 29 and both["epoch_mm"] == both["epoch"], "of both sets", both)
    log = records(trained)
    expect([r["step"] for r in log if "eval_accuracy" in r] == [3, 6, 9, 9] and [r["step"] for r in log if "eval_accuracy_mm" in r] == [9], "only the matched set while training",
           log)
    whole = read_json(trained, "all_results.json")
    expect(all(whole[key] == value for key, value in both.items()) and whole["predict_samples"] == 21 and whole["predict_samples_mm"] == 17, "all results", whole)
    # The mismatched set in the place of the matched one, by the same model: the same results.
    model = ("--model_name_or_path", trained)
    alone, other = run("alone", {"validation_file": sets["validation_mismatched_file"], "test_file": sets["test_mismatched_file"]}, model=model)
    for key in ("eval_loss", "eval_accuracy", "eval_samples"):
        expect(both[key + "_mm"] == other[key] and "_mm" not in "".join(other), key, [both, other])
    expect(both["eval_loss"] != both["eval_loss_mm"], "two sets", both)
    expect(lines(trained, "mnli-mm") == lines(alone, "mnli") and len(lines(trained, "mnli-mm")) == 18 and len(lines(trained, "mnli")) == 22 and
           not os.path.exists(os.path.join(alone, "predict_results_mnli-mm.txt")), "predictions", alone)
    config = os.path.join(folder, "second.yaml")
    with open(config, "w") as written:
        json.dump({key: path for key, path in sets.items() if "mismatched" in key}, written)
    evaluated = {key: path for key, path in sets.items() if key in ("validation_file", "test_file")}
    again, shared = run("again", evaluated, "--config", config, "--nproc_per_node", "2", model=model)
    for key in ("eval_accuracy", "eval_samples"):  # the loss counts means over rows that fill a round up, as the Trainer's does
        for each in (key, key + "_mm"):
            expect(abs(shared[each] - both[each]) <= 1e-6, f"{each} of two ranks, by YAML", [shared, both])
    expect(lines(again, "mnli") == lines(trained, "mnli") and lines(again, "mnli-mm") == lines(trained, "mnli-mm"), "their predictions", again)
    fewer, counted = run("fewer", evaluated, "--config", config, "--max_eval_samples", "31", "--max_predict_samples", "4", model=model)
    expect(counted["eval_samples"] == 31 and counted["eval_samples_mm"] == 29 and len(lines(fewer, "mnli-mm")) == 5, "limits are of each set", counted)


def fifty_steps_are_those_of_the_trainer(fixture, folder):
    """A classification and a regression: every loss, and the metrics after the last update."""
    # A regression goes on from a model whose scores lie apart. Those of a new one are nearly alike after 50 steps (2.0445 with a deviation of
    # 0.0015, of which the last digit of a float32 is 1.6e-4), and their correlation is that of rounding: 1e-5 apart for the same weights.
    for task, warm, rate in (("", ["--max_steps", 1], "2e-3"), ("stsb", ["--max_steps", 80, "--learning_rate", "5e-3"], "5e-4")):
        place = os.path.join(folder, task or "classes")
        os.mkdir(place)
        case = Case(fixture, place, task)
        start, output = os.path.join(place, "start"), os.path.join(place, "trained")
        common = ["--save_strategy", "no", "--lr_scheduler_type", "linear", "--learning_rate", rate]
        fixture.call(*case.flags(start, *common, *warm))
        trained = [*case.flags(output, "--max_steps", 50, "--eval_strategy", "steps", "--eval_steps", 25, *common)]
        where = trained.index("--model_type")
        del trained[where:where + 6]  # with config overrides and the tokenizer
        fixture.call(*trained, "--model_name_or_path", start)
        peer = case.peer(start, os.path.join(place, "peer.json"), "--train_file", case.path("train"), "--", f"output_dir={place}/peer",
                         "max_steps=50", "learning_rate=" + rate, "lr_scheduler_type=linear", "logging_steps=1", "eval_strategy=steps",
                         "eval_steps=25", "per_device_eval_batch_size=5", "save_strategy=no")
        wanted = {r["step"]: r["loss"] for r in peer["log_history"] if "loss" in r}
        found, evaluated = losses(output), read_json(output, "eval_results.json")
        apart = largest(abs(found[step] - loss) / loss for step, loss in wanted.items())
        metrics = {key: abs(evaluated["eval_" + key] - peer["metrics"]["eval_" + key]) for key in METRICS[task]}
        print(f"{task or 'classes'}: worst relative loss difference {apart:.1e}, metrics apart {metrics}", flush=True)
        expect(len(found) == 50 and apart <= 1e-4, f"{task}: losses of 50 steps", [apart, found, wanted])
        expect(largest(metrics.values()) <= 1e-6, f"{task}: final metrics", [evaluated, peer["metrics"]])


def the_best_model_is_that_of_the_best_metric(fixture, folder):
    output = os.path.join(folder, "best")
    flags = ["--eval_strategy", "steps", "--eval_steps", 5, "--save_strategy", "steps", "--save_steps", 5, "--max_steps", 40,
             "--load_best_model_at_end", "--metric_for_best_model", "accuracy", "--early_stopping_patience", 3]
    fixture.call(*fixture.flags(output, *flags))
    state = read_json(output, "trainer_state.json")
    seen = {r["step"]: r["eval_accuracy"] for r in state["log_history"] if "eval_accuracy" in r}
    best = max(seen.values())
    expect(state["best_metric"] == best and seen[state["best_global_step"]] == best, "the best accuracy", [state["best_metric"], seen])
    evaluated = read_json(output, "eval_results.json")
    expect(evaluated["eval_accuracy"] == best, "the model at the end is that of the best accuracy", [evaluated, seen])
    refused = os.path.join(folder, "refused")
    result = fixture.call(*fixture.flags(refused, *flags, "--metric_for_best_model", "acuracy"), expect=2)
    for said in ("--metric_for_best_model", "loss, accuracy, runtime", "did you mean accuracy?"):
        expect(said in result.stderr, said, result.stderr)
    expect(not os.path.exists(os.path.join(refused, "hftrain", "log.jsonl")), "nothing was trained", refused)


def flags_of_evaluation_do_what_they_say(fixture, folder):
    start = os.path.join(folder, "start")
    fixture.call(*fixture.flags(start, "--max_steps", 5, "--save_strategy", "no"))

    def evaluate(name, *flags, yaml=None):
        output = os.path.join(folder, name)
        more = []
        if yaml:
            path = os.path.join(folder, name + ".yaml")
            with open(path, "w") as file:
                file.write(yaml)
            more = ["--config", path]
        result = fixture.call("train", "--task", "text-classification", "--model_name_or_path", start, "--validation_file", fixture.valid,
                              "--do_eval", "--max_seq_length", "48", "--use_cpu", "--per_device_eval_batch_size", "8",
                              "--output_dir", output, *more, *flags)
        return read_json(output, "eval_results.json"), result.stderr + result.stdout

    usual, said = evaluate("usual")
    expect("eval_accuracy" in usual and "eval_input_tokens" not in usual and "after batch" not in said, "by default", [usual, said])
    for way, flags in (("flag", {"only": ["--prediction_loss_only"], "extra": ["--include_for_metrics", "inputs", "loss"],
                                 "running": ["--batch_eval_metrics"], "joined": ["--eval_accumulation_steps", "3"],
                                 "first": ["--max_eval_samples", "9"], "other": ["--label_names", "labels", "attention_mask"]}),
                       ("yaml", {"only": "prediction_loss_only: true", "extra": "include_for_metrics: [inputs, loss]",
                                 "running": "batch_eval_metrics: true",
                                 "joined": "eval_accumulation_steps: 3\neval_do_concat_batches: false", "first": "max_eval_samples: 9",
                                 "other": "label_names: [labels, attention_mask]"})):
        found = {name: evaluate(f"{way}-{name}", *(value if way == "flag" else []), yaml=value if way == "yaml" else None)
                 for name, value in flags.items()}
        only, extra, joined, first, other = (found[name][0] for name in ("only", "extra", "joined", "first", "other"))
        expect("eval_accuracy" not in only and only["eval_loss"] == usual["eval_loss"], "the loss alone", only)
        expect(extra["eval_input_tokens"] > 50 and extra["eval_loss_std"] > 0 and extra["eval_accuracy"] == usual["eval_accuracy"],
               "inputs and losses", extra)
        expect("after batch 7 of 7: accuracy" in found["running"][1], "metrics so far", found["running"][1])
        expect(joined["eval_accuracy"] == usual["eval_accuracy"], "the same metrics of joined batches", joined)
        expect(first["eval_samples"] == 9, "the first rows", first)
        expect(other["eval_accuracy"] == usual["eval_accuracy"], "one more label", other)
    blind = os.path.join(folder, "blind.jsonl")
    with open(fixture.valid) as labelled, open(blind, "w") as file:
        file.writelines(json.dumps({key: row[key] for key in row if key != "label"}) + "\n" for row in csv.DictReader(labelled))
    said = fixture.call("train", "--task", "text-classification", "--model_name_or_path", start, "--test_file", blind, "--do_predict", "--max_seq_length", "48",
                        "--use_cpu", "--batch_eval_metrics", "--output_dir", os.path.join(folder, "blind")).stderr
    expect("Running Prediction" in said and "after batch" not in said, "no metrics of what has no labels", said)


def evaluations_wait_and_start_as_asked(fixture, folder):
    def steps_of(name, *flags):
        output = os.path.join(folder, name)
        fixture.call(*fixture.flags(output, "--max_steps", 8, "--eval_strategy", "steps", "--eval_steps", 2, "--save_strategy", "no",
                                    *flags))
        return [r["step"] for r in records(output) if "eval_accuracy" in r]

    usual = steps_of("usual")
    expect(usual[:4] == [2, 4, 6, 8], "every second update", usual)
    expect(steps_of("late", "--eval_delay", 5)[:2] == [6, 8], "none before the fifth", usual)
    expect(steps_of("start", "--eval_on_start")[:2] == [0, 2], "once before the first", usual)


def the_evaluation_before_the_first_update_is_no_candidate_for_the_best(fixture, folder):
    output = os.path.join(folder, "worse")  # and worse: only the start is better than what is learned
    flags = ["--max_steps", 4, "--learning_rate", 5, "--eval_on_start", "--eval_strategy", "steps", "--eval_steps", 2]
    fixture.call(*fixture.flags(output, *flags, "--save_strategy", "steps", "--save_steps", 2, "--load_best_model_at_end"))
    seen = {r["step"]: r["eval_loss"] for r in records(output) if "eval_loss" in r}
    state = read_json(output, "trainer_state.json")
    expect(seen[0] < seen[2], "the start is better", seen)
    best = state["best_global_step"]
    expect(best in (2, 4) and state["best_model_checkpoint"].endswith(f"checkpoint-{best}"), "one of training is the best", state)
    expect(read_json(output, "eval_results.json")["eval_loss"] == state["best_metric"], "and is loaded", state)
    output = os.path.join(folder, "saved")
    fixture.call(*fixture.flags(output, *flags, "--save_strategy", "best", "--metric_for_best_model", "loss"))
    expect(not os.path.exists(os.path.join(output, "checkpoint-0")) and fixture.checkpoints(output)[0] == 2, "nothing is saved of the start", output)


def samples_count_once_whatever_the_ranks(fixture, folder):
    """Fewer samples than ranks, one, and rounds that are not full: the metrics and predictions of one rank."""
    start = os.path.join(folder, "start")
    fixture.call(*fixture.flags(start, "--max_steps", 5, "--save_strategy", "no"))
    for count, ways in ((1, ((4, []),)), (3, ((2, []), (4, ["--fsdp", "full_shard"]))),
                        (23, ((2, ["--eval_accumulation_steps", "3"]), (3, ["--fsdp", "full_shard"]), (4, ["--dataloader_drop_last", "false"])))):
        rows, found = os.path.join(folder, f"{count}.csv"), []
        write_rows(rows, 5, count)
        for ranks, more in ((1, []), *ways):
            output = os.path.join(folder, f"{count}-of-{ranks}")
            fixture.call("train", "--task", "text-classification", "--model_name_or_path", start, "--validation_file", rows, "--test_file", rows,
                         "--do_eval", "--do_predict", "--max_seq_length", "48", "--use_cpu", "--nproc_per_node", str(ranks),
                         "--per_device_eval_batch_size", "4", "--max_eval_samples", "1000", "--max_predict_samples", "1000", "--output_dir", output, *more)
            results = read_json(output, "all_results.json")
            with open(os.path.join(output, "predict_results.txt")) as file:
                found.append([file.read(), *(results[key] for key in ("eval_accuracy", "eval_samples", "predict_samples"))])
        expect(all(one == found[0] for one in found) and found[0][0].count("\n") == count + 1 and found[0][2:] == [count, count],
               f"{count} samples", found)
        expect("epoch" not in read_json(output, "predict_results.json"), "a prediction is of no epoch", output)


def the_runs_of_the_page_reach_the_floor(fixture, folder):
    with open(PAGE) as file:
        commands = [line.strip() for line in file.read().replace("\\\n", " ").splitlines() if line.startswith("    hftrain ")]
    expect(len(commands) == 5, "the page has commands", commands)
    os.chdir(folder)
    told = [fixture.call(*shlex.split(command)[1:]).stderr for command in commands]
    floor, best = (float(re.search(text + r" ([0-9.]+)", told[0])[1]) for text in ("loss floor:", "accuracy"))
    found = read_json("judge", "eval_results.json")
    expect(floor - 0.2 < found["eval_loss"] < floor + 0.15 and found["eval_accuracy"] > best - 0.08, f"near {floor} and {best}", found)
    with open("rows/validation.jsonl") as file, open("judged/predict_results.txt") as lines:
        labels, said = [json.loads(line)["label"] for line in file], [line.split("\t")[1].strip() for line in lines][1:]
    right = sum(a == b for a, b in zip(labels, said)) / len(labels)
    expect(len(labels) == len(said) and abs(right - found["eval_accuracy"]) < 1e-9, "predictions are as right as the accuracy says", [right, found])


def pairs_are_learned_to_their_floor(fixture, folder):
    rows, output = os.path.join(folder, "rows"), os.path.join(folder, "out")
    told = fixture.call("sample-data", "pairs", rows, "--size", "300000").stderr
    floor, best = (float(re.search(text + r" ([0-9.]+)", told)[1]) for text in ("loss floor:", "accuracy"))
    pieces = os.path.join(folder, "pieces")
    fixture.call("tokenizer", "train", "--kind", "wordpiece", "--vocab_size", "400", "--files", fixture.text, "--output", pieces)
    fixture.call("train", "--task", "text-classification", "--model_type", "bert", "--config_overrides", BERT + ",vocab_size=400", "--tokenizer_name", pieces,
                 "--train_file", f"{rows}/train.jsonl", "--validation_file", f"{rows}/validation.jsonl", "--do_train", "--do_eval", "--num_train_epochs", "10",
                 "--learning_rate", "1e-3", "--per_device_train_batch_size", "16", "--max_seq_length", "64", "--no_pad_to_max_length", "--use_cpu",
                 "--output_dir", output, "--save_strategy", "no")
    found = read_json(output, "eval_results.json")
    expect(floor - 0.2 < found["eval_loss"] < floor + 0.15 and found["eval_accuracy"] > best - 0.08, f"near {floor} and {best}", found)


SCENARIOS = [the_runs_of_the_page_reach_the_floor, pairs_are_learned_to_their_floor, flags_of_evaluation_do_what_they_say, evaluations_wait_and_start_as_asked,
             the_evaluation_before_the_first_update_is_no_candidate_for_the_best, samples_count_once_whatever_the_ranks,
             both_sets_of_mnli_are_evaluated_and_predicted, metrics_and_predictions_are_those_of_the_trainer, fifty_steps_are_those_of_the_trainer,
             the_best_model_is_that_of_the_best_metric, a_classification_learns_and_is_saved_under_its_class, padding_is_work_and_no_token_that_was_seen, a_saved_classification_is_evaluated_alone, labels_without_names_are_counted,
             a_resumed_classification_gives_the_same_bits, two_ranks_compute_what_one_does,
             wrong_rows_are_refused_and_nothing_is_written]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Rows)
