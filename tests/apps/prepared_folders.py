#!/usr/bin/env python3
"""What prepare wrote, named in the place of the files that it was made of.

  prepared_folders.py [SCENARIO]…     all of them without a word
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import HFTRAIN, expect, records, run_scenarios
from tiny_tasks import TinyTasks

TEMPLATE = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
KINDS = {"sft": "instructions", "mlm": "text", "text-classification": "classification", "token-classification": "tags",
         "question-answering": "qa", "seq2seq": "seq2seq", "image-classification": "images", "clm": "text"}
LENGTHS = {"sft": ["--max_length", "48"], "mlm": ["--max_seq_length", "32"], "question-answering": ["--max_seq_length", "48", "--doc_stride", "8"],
           "seq2seq": ["--max_source_length", "32", "--max_target_length", "16"], "clm": ["--block_size", "32"],
           **dict.fromkeys(("text-classification", "token-classification"), ["--max_seq_length", "32"])}


class Prepared(TinyTasks):
    def __init__(self, folder):
        super().__init__(folder)
        self.template = os.path.join(self.folder, "template.jinja")
        with open(self.template, "w") as file:
            file.write(TEMPLATE)

    def words(self, task):
        """What decides the samples of a task."""
        chat = ["--chat_template_path", self.template] if task == "sft" else []
        return [*self.model(task), *LENGTHS.get(task, []), *chat]

    def files(self, task):
        """Data with as many rows for each split as a tiny run needs."""
        place = os.path.join(self.folder, "data-" + KINDS[task])
        if not os.path.exists(place):
            self.call("sample-data", KINDS[task], place, "--size", "60000")
        if task == "image-classification":
            return ["--train_file", os.path.join(place, "train"), "--validation_file", os.path.join(place, "validation")]
        ending = "txt" if KINDS[task] == "text" else "jsonl"
        return [word for split in ("train", "validation") for word in (f"--{split}_file", os.path.join(place, f"{split}.{ending}"))]

    def prepared(self, task, place, *more):
        """The folder that prepare makes for a run of that task, moved to where no cache is."""
        told = self.call("prepare", *self.words(task), *self.files(task), "--do_train", "--do_eval", "--json", *more)
        shutil.copytree(json.loads(told.stdout)["folder"], place)
        return place

    def train(self, task, output, *data, expect=0):
        return self.call(*self.words(task), "--do_train", "--use_cpu", "--max_steps", "2", "--per_device_train_batch_size", "2", "--logging_steps", "1",
                         "--save_strategy", "no", "--max_eval_samples", "300", "--output_dir", output, *data, expect=expect)

    def refused(self, code, said, task, *data):
        told = self.train(task, os.path.join(self.folder, "refused"), *data, expect=code).stderr
        expect(said in told and parts_of(told) == [{"what", "where", "why", "try"}], f"'{said}' is said in four parts", told)


def numbers_of(output):
    """All that a log says but how long it took."""
    timed = lambda name: name == "time" or "runtime" in name or "per_second" in name
    return [{name: value for name, value in record.items() if not timed(name)} for record in records(output)]


def samples_of_every_task_are_taken_as_they_are(fixture, folder):
    for task in KINDS:
        place = fixture.prepared(task, os.path.join(folder, task), "--max_eval_samples", "300")
        straight, taken, alone = (os.path.join(folder, f"{task}-{name}") for name in ("files", "folder", "alone"))
        fixture.train(task, straight, *fixture.files(task), "--do_eval")
        fixture.train(task, taken, "--train_file", place, "--validation_file", place, "--do_eval")
        expect(numbers_of(straight) == numbers_of(taken), f"{task} computes the same from the folder", (numbers_of(straight), numbers_of(taken)))
        if task == "clm":
            continue  # of whose tokens the first percents are held out
        told = fixture.train(task, alone, "--train_file", place, "--do_eval").stderr
        expect(numbers_of(alone) == numbers_of(taken) and "from the cache" in told, "its validation data are there unnamed, too", told)
        plan = json.loads(fixture.call("plan", "--json", *fixture.words(task), "--do_train", "--train_file", place, "--output_dir", alone + "-plan").stdout)
        expect(plan["data"]["train"]["exact"] and plan["data"]["train"]["cache_path"].startswith(place), "the plan has them", plan["data"])


def a_run_goes_on_with_the_files_or_with_the_folder(fixture, folder):
    place, output = fixture.prepared("text-classification", os.path.join(folder, "made")), os.path.join(folder, "out")
    files = fixture.files("text-classification")[:2]
    fixture.train("text-classification", output, *files, "--save_strategy", "steps", "--save_steps", "1")
    told = fixture.train("text-classification", output, "--train_file", place, "--save_strategy", "steps", "--save_steps", "1", "--max_steps", "3").stderr
    expect("resuming from" in told, "it is the same run", told)


def a_model_is_judged_on_the_folder_that_it_learnt_from(fixture, folder):
    place, model, judged = fixture.prepared("text-classification", os.path.join(folder, "made")), os.path.join(folder, "model"), os.path.join(folder, "judged")
    fixture.train("text-classification", model, "--train_file", place, "--validation_file", os.path.join(folder, ".", "made", ""), "--do_eval", "--max_steps", "20")
    fixture.call("--task", "text-classification", *LENGTHS["text-classification"], "--model_name_or_path", model, "--use_cpu", "--validation_file", place, "--do_eval",
                 "--output_dir", judged)
    expect(records(judged)[-1]["eval_loss"] == records(model)[-1]["eval_loss"], "the same loss", (records(judged)[-1], records(model)[-1]))


def pictures_of_which_none_was_held_out_are_those_of_any_seed(fixture, folder):
    place = fixture.prepared("image-classification", os.path.join(folder, "pictures"))
    fixture.train("image-classification", os.path.join(folder, "out"), "--train_file", place, "--validation_file", place, "--do_eval", "--seed", "7")


def other_samples_than_a_run_would_make_are_refused(fixture, folder):
    made = {task: fixture.prepared(task, os.path.join(folder, task)) for task in ("text-classification", "sft", "clm")}
    files, place = fixture.files("text-classification"), made["text-classification"]
    classify = lambda code, said, *data: fixture.refused(code, said, "text-classification", *data)
    classify(2, "max_length (32, here 16)", "--train_file", place, "--max_seq_length", "16")
    classify(2, 'task ("sft", here "text-classification")', "--train_file", made["sft"])
    classify(2, "cannot be mixed", "--train_file", place, files[1])
    classify(2, "cannot be mixed", "--train_file", place, "--validation_file", files[3], "--do_eval")
    classify(2, "cannot be mixed", "--train_file", place, made["sft"])
    classify(2, "--max_train_samples", "--train_file", place, "--max_train_samples", "3")
    classify(4, "has no test data", "--train_file", place, "--test_file", place, "--do_predict")
    fixture.train("text-classification", os.path.join(folder, "all"), "--train_file", os.path.join(folder, "text-cl*"), "--max_train_samples", "1000000")
    fixture.refused(2, "no stream", "sft", "--train_file", made["sft"], "--streaming")
    fixture.refused(2, "samples of another task", "clm", "--train_file", place)

    shared = os.path.join(folder, "held out")
    told = fixture.call("prepare", *fixture.words("text-classification"), *files[:2], "--do_train", "--do_eval", "--validation_split_percentage", "20", "--json")
    shutil.copytree(json.loads(told.stdout)["folder"], shared)
    classify(2, "holds out 20 %, and this run would 5 %", "--train_file", shared, "--do_eval")
    fixture.train("text-classification", os.path.join(folder, "share"), "--train_file", shared, "--do_eval", "--validation_split_percentage", "20")

    limited = fixture.prepared("text-classification", os.path.join(folder, "limited"), "--max_train_samples", "3")
    fixture.train("text-classification", os.path.join(folder, "three"), "--train_file", limited, "--max_train_samples", "3")
    classify(2, "--max_train_samples", "--train_file", limited, "--max_train_samples", "2")
    classify(2, "of the first 3 rows, and this run wants all", "--train_file", limited)

    record = os.path.join(limited, "meta.json")
    with open(record) as file:
        meta = json.load(file)
    del meta["recipe"]
    with open(record, "w") as file:
        json.dump(meta, file)
    classify(2, "an older hftrain", "--train_file", limited, "--max_train_samples", "3")
    os.truncate(os.path.join(place, "train.bin"), 1)
    classify(4, "is damaged", "--train_file", place)


def ids_of_another_vocabulary_are_refused(fixture, folder):
    other = os.path.join(folder, "other")
    fixture.call("tokenizer", "train", "--kind", "bpe", "--vocab_size", "450", "--files", fixture.text, "--output", other)
    place = fixture.prepared("clm", os.path.join(folder, "clm"))
    again = os.path.join(folder, "written again")
    shutil.copytree(fixture.tokenizer, again)
    with open(os.path.join(again, "tokenizer.json")) as file:
        written = json.load(file)
    with open(os.path.join(again, "tokenizer.json"), "w") as file:
        json.dump(written, file, indent=7)  # other bytes, the same tokenizer
    for flags in (["plan"], []):
        said = fixture.call(*flags, *fixture.words("clm"), "--do_train", "--train_file", place, "--tokenizer_name", other, "--output_dir", folder + "/out",
                            expect=4).stderr
        expect("made with another tokenizer" in said and fixture.tokenizer in said, "it is told, with the one that made it", said)
    fixture.train("clm", os.path.join(folder, "out"), "--train_file", os.path.join(folder, "cl*"), "--tokenizer_name", other, expect=4)
    fixture.train("clm", os.path.join(folder, "same"), "--train_file", place, "--tokenizer_name", again)


def prepare_says_that_a_length_is_cut(fixture, folder):
    short = os.path.join(folder, "short")
    shutil.copytree(fixture.tokenizer, short)
    with open(os.path.join(short, "tokenizer_config.json")) as file:
        settings = json.load(file)
    with open(os.path.join(short, "tokenizer_config.json"), "w") as file:
        json.dump({**settings, "model_max_length": 16}, file)
    words = [*fixture.model("clm"), *fixture.files("clm")[:2], "--do_train", "--block_size", "32", "--tokenizer_name", short]
    for command in ("prepare", "plan"):
        told = fixture.call(command, *words, "--output_dir", os.path.join(folder, "out"))
        expect("blocks of 16 tokens instead of 32" in told.stdout + told.stderr, f"{command} says it", told.stderr)


def no_samples_are_no_empty_data(fixture, folder):
    for flag in ("--max_train_samples", "--max_eval_samples"):
        for command in ("prepare", "plan"):
            told = fixture.call(command, *fixture.words("clm"), *fixture.files("clm"), "--do_train", "--do_eval", flag, "0", "--output_dir",
                                os.path.join(folder, "out"), expect=4).stderr
            expect(f"where: {flag}" in told and "it is 0" in told, f"{command} names the flag", told)


def what_is_no_file_is_refused(fixture, folder):
    pipe = os.path.join(folder, "pipe.txt")
    os.mkfifo(pipe)
    for command in ("prepare", "plan", "train"):
        run = subprocess.run([str(word) for word in (HFTRAIN, command, *fixture.model("clm"), "--do_train", "--train_file", pipe, "--output_dir",
                                                                    os.path.join(folder, "out"))], env=fixture.environment, text=True, capture_output=True, timeout=60)
        expect(run.returncode == 4 and "pipe.txt" in run.stderr and parts_of(run.stderr) == [{"what", "where", "why", "try"}], f"{command} does not wait", run.stderr)


SCENARIOS = [samples_of_every_task_are_taken_as_they_are, a_model_is_judged_on_the_folder_that_it_learnt_from, a_run_goes_on_with_the_files_or_with_the_folder,
             pictures_of_which_none_was_held_out_are_those_of_any_seed,
             other_samples_than_a_run_would_make_are_refused, ids_of_another_vocabulary_are_refused, prepare_says_that_a_length_is_cut, no_samples_are_no_empty_data,
             what_is_no_file_is_refused]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Prepared)
