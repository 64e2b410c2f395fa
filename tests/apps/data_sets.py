#!/usr/bin/env python3
"""Data sets by name: a folder and a snapshot in the hub cache give every task the rows that their files give, and what is not there, or is
no files to read, is said.

  data_sets.py [SCENARIO]…     all of them without a word
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import HFTRAIN, expect, read_json, run_scenarios
from task_flags import LENGTH as LENGTHS
from task_flags import made_rows, seen
from tiny_tasks import TinyTasks, rows, write

TASKS = ("clm", "mlm", "text-classification", "token-classification", "question-answering", "summarization", "translation")
LENGTH = {**LENGTHS, "question-answering": ("--max_seq_length", "60", "--doc_stride", "4")}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def shown(fixture, task, output, *more, environment=None):
    before = fixture.environment
    fixture.environment = {**before, **(environment or {})}
    named = ["--source_lang", "en", "--target_lang", "ro"] if task == "translation" else []
    fixture.call(*fixture.flags(task, output, "--do_eval", *LENGTH.get(task, []), *named, *more))
    fixture.environment = before
    return seen(output)


def refused(fixture, folder, *more, code=4, environment=None, output="out"):
    result = subprocess.run([HFTRAIN, *fixture.flags("clm", os.path.join(folder, output), "--block_size", 16, *more)], text=True, capture_output=True,
                            env={**fixture.environment, **(environment or {})}, timeout=60)
    told = f"{more}: code {result.returncode}\n{result.stderr}"
    expect(result.returncode == code, f"exit code {code}", told)
    expect(parts_of(result.stderr) == [{"what", "where", "why", "try"}], "one message of four parts", told)
    expect(not os.path.exists(os.path.join(folder, output)), "no folder is made", told)
    return result.stderr


def put(folder, task, splits=(("train", 60), ("validation", 20), ("test", 4))):
    files = {f"{split}.jsonl": rows(*made_rows(task, count)) for split, count in splits}
    write(folder, files)
    return {name: os.path.join(folder, name + ".jsonl") for name, _ in splits}


def every_task_reads_a_folder(fixture, folder):
    for task in TASKS:
        place = os.path.join(folder, task)
        files = put(os.path.join(place, "set"), task)
        predicts = ["--do_predict"] if task not in ("clm", "mlm", "translation") else []
        tested = ["--test_file", files["test"], *predicts] if predicts else []
        plain = shown(fixture, task, f"{place}/files", "--train_file", files["train"], "--validation_file", files["validation"], *tested)
        expect(plain == shown(fixture, task, f"{place}/named", "--dataset_name", f"{place}/set", *predicts), f"{task}: a folder is its files", plain)
    plain = shown(fixture, "image-classification", f"{folder}/images", "--train_dir", f"{fixture.pictures}/train", "--validation_dir", f"{fixture.pictures}/validation")
    expect(plain == shown(fixture, "image-classification", f"{folder}/pictures", "--dataset_name", fixture.pictures), "a folder of images", plain)


def links_to_folders_are_not_followed(fixture, folder):
    put(os.path.join(folder, "set"), "clm")
    plain = shown(fixture, "clm", f"{folder}/plain", "--dataset_name", f"{folder}/set")
    os.symlink(".", f"{folder}/set/again")
    expect(plain == shown(fixture, "clm", f"{folder}/linked", "--dataset_name", f"{folder}/set"), "the same rows", plain)


def a_run_in_the_folder_of_its_data_goes_on(fixture, folder):
    put(folder, "clm", (("train", 200),))
    words = ["--dataset_name", folder, "--block_size", "16"]

    def run(name, steps):
        flags = [{"no": "steps", "2": steps}.get(word, word) for word in fixture.flags("clm", os.path.join(folder, name))]
        return fixture.call(*flags, *words, "--save_steps", "1").stderr
    run("inside", "2")
    said = run("inside", "3")
    expect("resuming from" in said and "checkpoint-2" in said, "it goes on", said)
    expect(read_json(folder, "inside/trainer_state.json")["global_step"] == 3, "to the end", said)
    run("whole", "3")
    expect(seen(f"{folder}/inside")["samples"] == seen(f"{folder}/whole")["samples"], "with the same data", said)
    said = fixture.call(*fixture.flags("clm", folder, *words), expect=2).stderr
    expect("the output folder is the folder of the data set" in said, "the same folder", said)


def both_sets_of_mnli_are_found_however_it_is_spelled(fixture, folder):
    made = {split: rows(*({"premise": row["sentence"], "hypothesis": "a fox", "label": row["label"]} for row in made_rows("text-classification", count)))
            for split, count in (("train", 40), ("validation_matched", 9), ("validation_mismatched", 7))}
    card = "".join(f"  - split: {split}\n    path: {split}.jsonl\n" for split in made)
    write(f"{folder}/set", {"README.md": f"---\nconfigs:\n- config_name: default\n  data_files:\n{card}---\n",
                            **{f"{split}.jsonl": text for split, text in made.items()}})
    for name in ("mnli", "MNLI"):
        output = f"{folder}/{name}"
        fixture.call(*fixture.flags("text-classification", output, "--do_eval", *LENGTH.get("text-classification", []), "--task_name", name,
                                    "--dataset_name", f"{folder}/set"))
        found = read_json(output, "eval_results.json")
        expect((found.get("eval_samples"), found.get("eval_samples_mm")) == (9, 7), f"{name}: both sets", found)


def pairs(count):
    return rows(*({"sentence1": row["sentence"], "sentence2": "a fox", "premise": row["sentence"], "hypothesis": "a fox", "label": row["label"]}
                  for row in made_rows("text-classification", count)))


def a_glue_task_without_data_names_its_own(fixture, folder):
    snapshot = f"{folder}/hub/datasets--nyu-mll--glue/snapshots/{COMMIT}"
    splits = {"mrpc": {"train": 40, "validation": 9, "test": 5},
              "mnli": {"train": 44, "validation_matched": 9, "validation_mismatched": 7, "test_matched": 5, "test_mismatched": 6}}
    card = "".join(f"- config_name: {name}\n  data_files:\n" + "".join(f"  - split: {split}\n    path: {name}/{split}.jsonl\n" for split in counts)
                   for name, counts in splits.items())
    write(f"{folder}/hub/datasets--nyu-mll--glue", {"refs/main": COMMIT})
    write(snapshot, {"README.md": f"---\nconfigs:\n{card}---\n",
                     **{f"{name}/{split}.jsonl": pairs(count) for name, counts in splits.items() for split, count in counts.items()}})
    cached = {"HF_HUB_CACHE": f"{folder}/hub"}
    for name in ("mrpc", "MNLI"):
        word = name.lower()
        named = shown(fixture, "text-classification", f"{folder}/named-{name}", "--task_name", name, "--dataset_name", "nyu-mll/glue", "--dataset_config_name", word,
                      "--do_predict", environment=cached)
        found = shown(fixture, "text-classification", f"{folder}/found-{name}", "--task_name", name, "--do_predict", environment=cached)
        expect(found == named and found["samples"]["validation"] == 9, f"{name}: its data", f"{named}\n{found}")
    results = read_json(folder, "found-MNLI/eval_results.json")
    expect((results.get("eval_samples"), results.get("eval_samples_mm")) == (9, 7), "both sets of mnli", results)

    def plan(code, *more, environment=None):
        words = ["plan", *fixture.flags("text-classification", f"{folder}/planned", *LENGTH.get("text-classification", []), *more)[1:]]
        before, fixture.environment = fixture.environment, {**fixture.environment, **(environment or cached)}
        said = fixture.call(*words, expect=code).stderr
        fixture.environment = before
        return said
    said = plan(0, "--task_name", "mrpc")
    expect("the data are mrpc of nyu-mll/glue" in said, "it is told", said)
    said = plan(4, "--task_name", "mrpc", environment={"HF_HUB_CACHE": f"{folder}/empty"})
    expect("--task_name mrpc" in said and "hftrain fetch --dataset nyu-mll/glue" in said, "what is not in the cache", said)
    said = plan(4, "--task_name", "rte")
    expect("no configuration 'rte'" in said and "hftrain fetch --dataset nyu-mll/glue" in said, "what lies there in part", said)
    said = plan(2, "--task_name", "foo")
    expect("no GLUE task 'foo'" in said, "another word", said)
    write(folder, {"own.jsonl": pairs(30)})
    said = plan(0, "--task_name", "mrpc", "--train_file", f"{folder}/own.jsonl")
    expect("nyu-mll/glue" not in said, "files that are named", said)


def without_a_validation_split_some_rows_are_held_out(fixture, folder):
    files = put(os.path.join(folder, "set"), "clm", (("train", 200),))
    for share in ("5", "30"):
        plain = shown(fixture, "clm", f"{folder}/files{share}", "--train_file", files["train"], "--validation_split_percentage", share)
        expect(plain["samples"]["validation"] > 0, "some are held out", plain)
        expect(plain == shown(fixture, "clm", f"{folder}/named{share}", "--dataset_name", f"{folder}/set", "--validation_split_percentage", share), f"{share} %", plain)
    said = fixture.call("plan", *fixture.flags("clm", f"{folder}/told", "--do_eval", *LENGTH["clm"], "--dataset_name", f"{folder}/set")[1:]).stderr
    expect("rows of 'train' are held out to judge by" in said, "it is told", said)
    expect("do_predict needs it; the splits are train" in refused(fixture, folder, "--dataset_name", f"{folder}/set", "--do_predict"), "no split test", "")
    files = put(os.path.join(folder, "tests"), "clm", (("test", 9),))
    expect("has no split 'train'" in refused(fixture, folder, "--dataset_name", f"{folder}/tests"), "no split train", "")


def snapshots_of_the_hub_cache(fixture, folder):
    home = os.path.join(folder, "home")
    snapshot = f"{home}/hub/datasets--org--set/snapshots/{COMMIT}"
    write(home, {"hub/datasets--org--set/refs/main": COMMIT})
    card = "---\nconfigs:\n- config_name: small\n  data_files:\n  - split: train\n    path: a/*.jsonl\n- config_name: large\n  data_files: b/*.jsonl\n---\n"
    write(snapshot, {"README.md": card, "a/x.jsonl": rows(*made_rows("clm", 90)), "b/y.jsonl": rows(*made_rows("clm", 150))})
    caches = ({"HF_HOME": home}, {"HF_HUB_CACHE": home + "/hub"})
    for number, (configuration, path) in enumerate((("small", "a/x.jsonl"), ("large", "b/y.jsonl"))):
        plain = shown(fixture, "clm", f"{folder}/files{number}", "--train_file", f"{snapshot}/{path}")
        for flag, environment in zip(("dataset_config_name", "dataset_config"), caches):
            found = shown(fixture, "clm", f"{folder}/{flag}{number}", "--dataset_name", "org/set", "--" + flag, configuration, environment=environment)
            expect(plain == found, f"{flag} {configuration}", f"{plain}\n{found}")
    said = refused(fixture, folder, "--dataset_name", "org/set", environment=caches[0])
    expect("its configurations are small, large" in said, "none is named", said)
    said = refused(fixture, folder, "--dataset_name", "org/set", "--dataset_config_name", "huge", environment=caches[0])
    expect("no configuration 'huge'" in said, "a wrong one", said)
    said = refused(fixture, folder, "--dataset_name", "org/other", environment=caches[0])
    expect(f"{home}/hub/datasets--org--other" in said and "hftrain fetch --dataset org/other" in said, "what is not there", said)


def what_is_no_files_to_read_is_refused(fixture, folder):
    line = rows({"text": "the fox sleeps"})
    for name, files, said in (("script", {"script.py": "raise SystemExit", "train.jsonl": line}, "no code that comes with a data set is run"),
                              ("saved", {"state.json": "{}", "dataset_info.json": "{}", "data-00000-of-00001.arrow": "x"}, "written by save_to_disk"),
                              ("empty", {"LICENSE": "x"}, "have no ending of data"), ("tables", {"train.arrow": "x"}, "mostly end in .arrow"),
                              ("mixed", {"train.jsonl": line, "test.csv": "text\na\n"}, "files of different kinds"),
                              ("broken", {"README.md": "---\nconfigs: [\n---\n", "train.jsonl": line}, "not valid YAML"),
                              ("options", {"README.md": "---\nconfigs:\n- config_name: x\n  data_files: a.csv\n  sep: ';'\n---\n", "a.csv": "text\na\n"}, "'sep'"),
                              ("outside", {"README.md": "---\nconfigs:\n- config_name: x\n  data_files: ../a.csv\n---\n"}, "leads out of the folder"),
                              ("described", {"train/a/1.png": "x", "train/metadata.jsonl": line}, "described by a file, which is not read"),
                              ("half", {"data/train-00000-of-00002.jsonl": line}, "there is no data/train-00001-of-00002")):
        write(os.path.join(folder, name), files)
        told = refused(fixture, folder, "--dataset_name", os.path.join(folder, name))
        expect(said in told, name, told)
    expect("is no name of the hub" in refused(fixture, folder, "--dataset_name", "./nowhere"), "a path", "")
    write(folder, {"set/train.jsonl": line})
    both = refused(fixture, folder, "--dataset_name", f"{folder}/set", "--train_file", f"{folder}/set/train.jsonl", code=2)
    expect("both name the data" in both, "files beside it", both)
    expect("none is named" in refused(fixture, folder, "--train_file", f"{folder}/set/train.jsonl", "--dataset_config_name", "x", code=2), "a configuration of none", "")


def splits_of_instruction_tuning(fixture, folder):
    def texts(count):
        return rows(*({"text": row["text"]} for row in made_rows("clm", count)))
    place = os.path.join(folder, "set")
    write(place, {f"data/{split}-00000-of-00001.jsonl": texts(count) for split, count in (("train", 60), ("test", 9), ("mine", 40), ("judged", 12))})
    chat = ["--pad_token", "<|endoftext|>", "--eos_token", "<|endoftext|>", "--max_length", "32"]
    paths = {split: f"{place}/data/{split}-00000-of-00001.jsonl" for split in ("train", "test", "mine", "judged")}

    def run(name, *more):
        output = os.path.join(folder, name)
        fixture.call(*[word if word != "clm" else "sft" for word in fixture.flags("clm", output, "--do_eval", *chat, *more)])
        return seen(output)
    plain = run("files", "--train_file", paths["train"], "--validation_file", paths["test"])
    expect(plain["samples"]["validation"] == 9, "the split test judges", plain)
    expect(plain == run("named", "--dataset_name", place), "train and test", plain)
    other = run("other-files", "--train_file", paths["mine"], "--validation_file", paths["judged"])
    expect(other != plain and other == run("other", "--dataset_name", place, "--dataset_train_split", "mine", "--dataset_test_split", "judged"), "splits by name", other)
    result = fixture.call(*[word if word != "clm" else "sft" for word in fixture.flags("clm", f"{folder}/none", "--do_eval", *chat, "--dataset_name", place,
                                                                                      "--dataset_test_split", "nothing")], expect=4)
    expect("has no split 'nothing'" in result.stderr, "a split that is not there", result.stderr)


SCENARIOS = [every_task_reads_a_folder, without_a_validation_split_some_rows_are_held_out, snapshots_of_the_hub_cache, what_is_no_files_to_read_is_refused,
             splits_of_instruction_tuning, links_to_folders_are_not_followed, a_run_in_the_folder_of_its_data_goes_on, both_sets_of_mnli_are_found_however_it_is_spelled,
             a_glue_task_without_data_names_its_own]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], TinyTasks)
