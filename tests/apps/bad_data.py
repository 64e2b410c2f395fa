#!/usr/bin/env python3
"""Data of every task that cannot be used: one message with what, where, why and what to do, the exit code of its kind, and no folder is
made. Data that are odd and right are taken.

  bad_data.py [SCENARIO]…     all of them without a word
"""
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import HFTRAIN, expect, run_scenarios
from tiny_tasks import TinyTasks, rows, write

LENGTHS = {"text-classification": ["--max_seq_length", 32], "mlm": ["--max_seq_length", 32], "clm": ["--block_size", 16],
           "question-answering": ["--max_seq_length", 32, "--doc_stride", 8], "sft": ["--max_length", 60]}


class Cases:
    """Runs of one task over files of a case, and what is said of them."""

    def __init__(self, fixture, folder, task, files=None):
        self.fixture, self.folder, self.task, self.files = fixture, folder, task, files or {}

    def run(self, files, *more, train=None, valid=None, test=None):
        place, output = os.path.join(self.folder, "data"), os.path.join(self.folder, "out")
        for path in (place, output):
            shutil.rmtree(path, ignore_errors=True)
        files = {**self.files, **files}
        write(place, files)
        named = ["--train_file", *(train or [next(iter(files))])] if train != () else []
        named += ["--validation_file", valid, "--do_eval"] if valid else []
        named += ["--test_file", test, "--do_predict"] if test else []
        arguments = [word if word.startswith("--") or not os.path.exists(os.path.join(place, word)) else os.path.join(place, word)
                     for word in map(str, (*named, *more))]
        return subprocess.run([HFTRAIN, *self.fixture.flags(self.task, output, *LENGTHS.get(self.task, []), *arguments)], cwd=place,
                              env=self.fixture.environment, text=True, capture_output=True, timeout=60)

    def refused(self, said, files, *more, code=4, **splits):
        result = self.run(files, *more, **splits)
        parts = parts_of(result.stderr)
        told = f"{self.task}: {sorted(files)} {more}\ncode {result.returncode}, parts {parts}\n{result.stderr}"
        expect(result.returncode == code, f"exit code {code}", told)
        expect(parts == [{"what", "where", "why", "try"}], "one message of four parts", told)
        expect(said in result.stderr, f"'{said}' is said", told)
        expect(not os.path.exists(os.path.join(self.folder, "out")), "no folder is made", told)

    def taken(self, files, *more, **splits):
        result = self.run(files, *more, **splits)
        expect(result.returncode == 0, f"{self.task}: it is taken", f"{sorted(files)} {more}\n{result.stderr}")
        return result


def texts_with_labels(fixture, folder):
    good = [{"sentence1": "the fox", "label": "a"}, {"sentence1": "the owl", "label": "b"}]
    case = Cases(fixture, folder, "text-classification")

    def after(said, record, where="t.jsonl:3"):
        case.refused(said, {"t.jsonl": rows(*good, record)})
        case.refused(where, {"t.jsonl": rows(*good, record)})
    case.refused("no column 'label'", {"t.jsonl": rows({"sentence1": "x"})})
    after("no field 'label'", {"sentence1": "x"})
    after("it is null", {"sentence1": "x", "label": None})
    after("'sentence1' is null", {"sentence1": None, "label": "a"})
    after("no string", {"sentence1": 5, "label": "a"})
    after("is a number, and a string before", {"sentence1": "x", "label": 3})
    after("is an array, and a string before", {"sentence1": "x", "label": ["a"]})
    after("is an object", {"sentence1": "x", "label": {"a": 1}})
    case.refused("'sentence2' is null", {"t.jsonl": rows(*({**row, "sentence2": "b"} for row in good), {**good[0], "sentence2": None})})
    case.refused("all rows have the label a", {"t.jsonl": rows(good[0], good[0])})
    case.refused("all rows have the label a", {"t.csv": "sentence1,label\nthe fox,a"})
    for name, text in (("t.csv", "sentence1,label\n"), ("t.jsonl", ""), ("t.json", "[]")):
        case.refused("there are no rows", {name: text})
        case.refused(f"where: {folder}/data/{name}\n", {name: text})
    case.refused("t.csv and 1 more", {"t.csv": "sentence1,label\n", "u.csv": "sentence1,label\n"}, train=["t.csv", "u.csv"])
    case.refused("the file is empty", {"t.csv": ""})
    case.refused("'zz'", {"t.jsonl": rows(*good), "v.jsonl": rows({"sentence1": "q", "label": "zz"})}, valid="v.jsonl")
    for empty in ("", "\n\n"):
        case.refused("the validation data is empty", {"t.jsonl": rows(*good), "v.jsonl": empty}, valid="v.jsonl")
    for said, text in (("ends before its column 'label'", "the owl\n"), ("3 fields", "the owl,b,c\n"), ("not closed", '"the owl,b\n'),
                       ("not valid UTF-8", b"the \xe9,b\n")):
        head = b"sentence1,label\nthe fox,a\n"
        case.refused(said, {"t.csv": head + (text if isinstance(text, bytes) else text.encode())})
    case.refused("two columns are called 'label'", {"t.csv": "sentence1,label,label\nthe fox,a,b\nthe owl,b,c\n"})
    case.refused("t.csv:4", {"t.csv": "sentence1,label\na,0.5\nb,1.5\nc,nan\n"})
    sums = rows({"sentence1": "a", "label": 0.5}, {"sentence1": "NaN \\\"", "label": 1.5})
    for number in ("NaN", "-Infinity"):
        for name, text in (("t.jsonl", sums + '{"sentence1": "c", "label": %s}\n'), ("t.json", "[" + ",\n".join(sums.splitlines()) + ',\n{"sentence1": "c", "label": %s}]')):
            case.refused(f"{number.lstrip('-')} is no JSON", {name: text % number})
            case.refused(name + ":3", {name: text % number})
    for name, text in (("t.csv", "sentence1,label\nthe fox,a\nthe owl,b\n"), ("t.jsonl", rows(*good)), ("t.json", json.dumps(good))):
        case.refused("not valid UTF-8", {name: text.encode("utf-16")})
        case.refused("convert the file to UTF-8", {name: text.encode("utf-16")})
    case.refused("two fields 'label'", {"t.jsonl": '{"sentence1": "x", "label": "a", "label": "b"}\n'})
    for text in (json.dumps({"rows": good}), "5", "[[1, 2]]", json.dumps(good)[:-5], json.dumps(good) + "x"):
        case.refused("t.json", {"t.json": text})
    case.refused("cannot decompress", {"t.csv.gz": "hello"})
    case.refused("not a data file", {"d/t.csv": "x"}, train=["d"])
    case.refused("does not exist", {"t.jsonl": rows(*good)}, train=["u.jsonl"])
    missing = case.run({"t.jsonl": rows(*good)}, train=["u.jsonl"], valid="w.jsonl")
    expect(missing.returncode == 4 and "where: u.jsonl\n" in missing.stderr and "where: w.jsonl\n" in missing.stderr, "files that are missing are told at once",
           missing.stderr)
    case.refused("no data file matches", {"t.jsonl": rows(*good)}, train=["*.csv"])
    case.refused("the format of a data file is not known", {"t.weird": "x"}, code=2)
    case.refused("no column 'premise'", {"t.jsonl": rows(*good)}, "--task_name", "mnli")
    case.refused("no GLUE task 'foo'", {"t.jsonl": rows(*good)}, "--task_name", "foo", code=2)
    case.refused("some labels are no numbers", {"t.jsonl": rows({"sentence1": "a", "sentence2": "b", "label": "x"})}, "--task_name", "stsb")
    case.refused("it is a string", {"t.csv": "sentence1,label\na,0.5\nb,1.5\n", "v.csv": "sentence1,label\na,x\n"}, valid="v.csv")
    case.refused("--max_seq_length", {"t.jsonl": rows(*good)}, "--max_seq_length", 1)
    case.refused("no train data to use", {"t.jsonl": rows(*good)}, "--max_train_samples", 0)
    case.refused("max_train_samples", {"t.jsonl": rows(*good)}, "--max_train_samples", -1, code=2)
    case.refused("no column with text", {"t.jsonl": rows({"label": "a"})})
    case.refused("no column 'sentence1'", {"t.jsonl": rows(*good), "x.jsonl": rows({"label": "a"})}, test="x.jsonl")
    case.taken({"t.jsonl": rows(*good, {"sentence1": "", "label": "a"})})
    case.taken({"t.csv": "\ufeffsentence1,label\r\nthe fox,a\r\nthe owl,b\r\n"})
    case.taken({"t.csv": "Überschrift,label\nthe fox,a\nthe owl,3\n"})
    case.taken({"t.json": json.dumps({"data": good})})
    case.taken({"t.jsonl": rows({"sentence1": "a", "label": -1}, {"sentence1": "b", "label": 7})})
    said = case.taken({"t.jsonl": rows(*good)}, train=["t.jsonl", "t.jsonl"]).stderr
    expect("t.jsonl is named 2 times" in said, "a file named twice is told", said)


def columns_of_the_first_file(fixture, folder):
    """What the training data call their columns the other data call so too: nothing else is read in their place."""
    def each(task, train, other, missing, *more):
        case = Cases(fixture, folder, task)
        train, other = rows(*train), rows(*other)
        for files, splits in (({"t.jsonl": train, "v.jsonl": other}, {"valid": "v.jsonl"}),
                              ({"t.jsonl": train, "u.jsonl": other}, {"train": ["t.jsonl", "u.jsonl"]})):
            case.refused(f"no column '{missing}'", files, *more, **splits)
            case.refused("columns are called as in", files, *more, **splits)
        return case
    pairs = [{"sentence1": "the fox", "sentence2": "an owl", "label": "a"}, {"sentence1": "the owl", "sentence2": "a fox", "label": "b"}]
    texts = [{"sentence": row["sentence1"], "label": row["label"]} for row in pairs]

    def without(name, records):
        return [{key: value for key, value in row.items() if key != name} for row in records]
    case = each("text-classification", pairs, without("sentence2", pairs), "sentence2")
    each("text-classification", texts, [{"note": "x", "text": "y", "label": "a"}], "sentence")
    case.refused("no column 'sentence2'", {"t.jsonl": rows(*pairs), "x.jsonl": rows(*without("sentence2", pairs))}, test="x.jsonl")
    case.refused("no column 'sentence1'", {"t.jsonl": rows(*pairs), "x.txt": "a line\n"}, test="x.txt")
    case.refused("where: " + folder + "/data/v.csv:1\n", {"t.jsonl": rows(*pairs), "v.csv": "sentence1,label\nthe fox,a\n"}, valid="v.csv")
    case.taken({"t.jsonl": rows(*pairs), "x.jsonl": rows(*without("label", pairs))}, test="x.jsonl")
    case.taken({"t.jsonl": rows(*texts), "x.txt": "a line\n"}, test="x.txt")
    more = [{"author": "me", **row, "year": 7} for row in texts]
    case.taken({"t.jsonl": rows(*texts), "v.jsonl": rows(*more), "x.csv": "label,year,sentence\na,7,x\n"}, valid="v.jsonl", test="x.csv")
    tags = [{"tokens": ["Ada", "sings"], "ner_tags": ["B-PER", "O"]}]
    case = each("token-classification", tags, [{"tokens": ["a", "b"], "pos_tags": ["O", "O"]}], "ner_tags")
    each("token-classification", [{"words": ["a", "b"], "ner_tags": ["O", "B-X"]}], [{"text": ["a"], "ner_tags": ["O"]}], "words")
    case.taken({"t.jsonl": rows(*tags), "x.jsonl": rows(*without("ner_tags", tags))}, test="x.jsonl")
    each("summarization", [{"text": "the fox", "summary": "fox"}], [{"summary2": "fox", "text2": "the fox"}], "text")
    asked = {"id": "1", "question": "who", "context": "the fox sleeps", "answers": {"text": ["fox"], "answer_start": [4]}}
    other = {"q": "who", "c": "the fox sleeps", "a": asked["answers"]}
    case = each("question-answering", [other], [asked], "q")
    case.taken({"t.jsonl": rows(other), "v.jsonl": rows({"id": "1", **other})}, valid="v.jsonl")
    line = "the fox sleeps and the owl sings " * 12
    for task in ("clm", "mlm"):
        case = each(task, [{"text": line}], [{"id": line, "body": line}], "text")
        each(task, [{"body": line}], [{"id": line, "text": line}], "body")
        each(task, [{"text": line}], [{"id": line, "body": line}], "text", "--streaming", "--max_steps", 1)
        case.taken({"t.jsonl": rows({"body": line}), "v.txt": line * 2, "u.txt": line}, train=["u.txt", "t.jsonl"], valid="v.txt")
        case.taken({"t.jsonl": rows({"body": line}), "v.csv": f"id,body\n1,{line}\n"}, "--streaming", "--max_steps", 1, valid="v.csv")


def rows_of_tags(fixture, folder):
    good = {"tokens": ["Ada", "sings"], "ner_tags": ["B-PER", "O"]}
    case = Cases(fixture, folder, "token-classification")
    for said, row in (("it is null", {"tokens": ["a"], "ner_tags": None}), ("word 1 is null", {"tokens": [None], "ner_tags": ["O"]}),
                      ("tag 1 is null", {"tokens": ["a"], "ner_tags": [None]}), ("a number", {"tokens": ["a"], "ner_tags": [1]}),
                      ("tag 2 is a number", {"tokens": ["a", "b"], "ner_tags": ["O", 1]}), ("1 words, 2 tags", {"tokens": ["a"], "ner_tags": ["O", "O"]}),
                      ("no words", {"tokens": [], "ner_tags": []}), ("no JSON array", {"tokens": ["a"], "ner_tags": "O"}),
                      ("two fields 'tokens'", None)):
        text = rows(good) + (rows(row) if row else '{"tokens": ["a"], "ner_tags": ["O"], "tokens": ["b"]}\n')
        case.refused(said, {"t.jsonl": text})
        case.refused("t.jsonl:2", {"t.jsonl": text})
    case.refused("all words have the tag O", {"t.jsonl": rows({"tokens": ["a", "b"], "ner_tags": ["O", "O"]})})
    case.refused("there is no row with a word", {"t.jsonl": rows({"tokens": [], "ner_tags": []})})
    case.refused(f"where: {folder}/data/t.csv\n", {"t.csv": "tokens,ner_tags\n"})
    case.refused("'B-X'", {"t.jsonl": rows(good), "v.jsonl": rows({"tokens": ["a"], "ner_tags": ["B-X"]})}, valid="v.jsonl")
    case.refused("'5'", {"t.jsonl": rows({"tokens": ["a", "b"], "ner_tags": [0, 1]}), "v.jsonl": rows({"tokens": ["a"], "ner_tags": [5]})},
                 valid="v.jsonl")
    case.refused("99999999", {"t.jsonl": rows({"tokens": ["a"], "ner_tags": [99999999]})})
    case.refused("is a number", {"t.jsonl": rows({"tokens": ["a"], "ner_tags": [0.5]})})
    case.refused("no JSON array", {"t.csv": "tokens,ner_tags\nAda sings,B-PER O\n"})
    case.refused("no column with tags", {"t.txt": "Ada B-PER\n"})
    case.refused("no column 'words'", {"t.jsonl": rows(good)}, "--text_column_name", "words")
    case.refused("the validation data is empty", {"t.jsonl": rows(good), "v.jsonl": ""}, valid="v.jsonl")
    case.refused("--max_seq_length", {"t.jsonl": rows(good)}, "--max_seq_length", 1)
    case.taken({"t.csv": 'tokens,ner_tags\n"[""a"", ""b""]","[""O"", ""B-X""]"\n'})
    case.taken({"t.jsonl": rows({"tokens": ["a", "b"], "ner_tags": [0, 9]})})


def questions_and_answers(fixture, folder):
    good = {"id": "1", "question": "who", "context": "the fox sleeps", "answers": {"text": ["fox"], "answer_start": [4]}}
    case = Cases(fixture, folder, "question-answering", {"t.jsonl": rows(good)})

    def answers(text, start):
        return good | {"answers": {"text": text, "answer_start": start}}
    for said, row in (("an array", good | {"answers": ["fox"]}), ("null", good | {"answers": None}), ("answer_start is -1", answers(["fox"], [-1])),
                      ("no whole number", answers(["fox"], [4.5])), ("no whole number", answers(["fox"], ["4"])), ("outside its context", answers(["fox"], [99])),
                      ("not in its context", answers(["owl"], [4])), ("an answer is empty", answers([""], [4])), ("1 texts have 2 starts", answers(["fox"], [4, 5])),
                      ("the context of a row is empty", good | {"context": ""}), ("the context of a row is no string", good | {"context": None}),
                      ("the question of a row is empty", good | {"question": " "}), ("cannot be cut", good | {"question": "who " * 200}),
                      ("has no tokens", good | {"context": "\u200b", "answers": {"text": ["\u200b"], "answer_start": [0]}})):
        case.refused(said, {"t.jsonl": rows(good, row)})
        case.refused("t.jsonl:2", {"t.jsonl": rows(good, row)})
    for split in ({"valid": "v.jsonl"}, {"test": "v.jsonl"}):
        case.refused("two questions have the same id", {"v.jsonl": rows(good, good | {"id": "2"}, good)}, **split)
        case.refused("v.jsonl:3", {"v.jsonl": rows(good, good | {"id": "2"}, good)}, **split)
        case.refused("that of", {"v.jsonl": rows(good | {"id": 7}, good | {"id": "7"})}, **split)
        case.refused("no column 'id'", {"v.jsonl": rows({key: value for key, value in good.items() if key != "id"})}, **split)
        case.refused("the id of a row", {"v.jsonl": rows(good | {"id": None})}, **split)
    case.refused("a question has no answer", {"v.jsonl": rows(answers([], []))}, valid="v.jsonl")
    case.refused("the validation data is empty", {"v.jsonl": ""}, valid="v.jsonl")
    case.refused("a record for each question", {"t.json": json.dumps({"data": [{"title": "x", "paragraphs": []}]})}, train=["t.json"])
    case.refused("they are a string", {"t.csv": "id,question,context,answers\n1,who,the fox,x\n"}, train=["t.csv"])
    case.refused("cannot share", {}, "--doc_stride", 40, code=2)
    case.taken({"t.jsonl": rows(good, good, answers([], []), answers(["fox", "zebra"], [4, 5]))})


def summaries_and_translations(fixture, folder):
    good = {"text": "the fox sleeps", "summary": "fox"}
    case = Cases(fixture, folder, "summarization")
    for said, row in (("it is a number", good | {"summary": 3}), ("it is an array", good | {"text": ["a"]})):
        case.refused(said, {"t.jsonl": rows(good, row)})
        case.refused("t.jsonl:2", {"t.jsonl": rows(good, row)})
    for nothing in (None, ""):
        case.refused("the training data is empty", {"t.jsonl": rows(good | {"summary": nothing})})
    case.refused("no column beside", {"t.jsonl": rows({"text": "a"})})
    case.refused("no column beside", {"t.txt": "hello\n"})
    case.refused("two columns are called 'text'", {"t.csv": "text,text,summary\na,b,c\n"})
    case.refused("the same column 'text'", {"t.jsonl": rows(good)}, "--text_column", "text", "--summary_column", "text")
    case.refused("no column 'story'", {"t.jsonl": rows(good)}, "--text_column", "story")
    case.refused("the validation data is empty", {"t.jsonl": rows(good), "v.jsonl": ""}, valid="v.jsonl")
    for said, files in (("train.source", {"d/x": ""}), ("train.target", {"d/train.source": "a\n"}), ("train.source:2", {"d/train.source": "a\nb\n", "d/train.target": "x\n"}),
                        ("train.target:2", {"d/train.source": "a\n", "d/train.target": "x\ny\n"}),
                        ("train.target:2", {"d/train.source": "a\nb\n", "d/train.target": "x\n\n"})):
        case.refused(said, files, "--data_dir", "d", train=())
    pair = {"d/train.source": "a fox\n", "d/train.target": "bim\n", "t.jsonl": rows(good)}
    case.refused("both name training data", pair, "--data_dir", "d", train=["t.jsonl"], code=2)
    case.refused("no columns to choose from", pair, "--data_dir", "d", "--text_column", "text", train=(), code=2)
    case.taken(pair, "--data_dir", "d", train=())
    case.taken({"t.csv": "text,summary\nfoo,bar\n,baz\nfoo,\n"})
    case = Cases(fixture, folder, "translation")
    languages = ["--source_lang", "en", "--target_lang", "ro"]
    good = {"translation": {"en": "fox", "ro": "bim"}}
    case.refused("two fields 'en'", {"t.jsonl": rows(good) + '{"translation": {"en": "a", "ro": "b", "en": "c"}}\n'}, *languages)
    for said, row in (("it is null", {"translation": {"en": None, "ro": "b"}}), ("no text in 'ro'", {"translation": {"en": "a"}}),
                      ("it is a string", {"translation": "b"}), ("its translation is empty", {"translation": {}})):
        case.refused(said, {"t.jsonl": rows(good, row)}, *languages)
        case.refused("t.jsonl:2", {"t.jsonl": rows(good, row)}, *languages)
    case.refused("no column 'translation'", {"t.jsonl": rows({"en": "a", "ro": "b"})}, *languages)
    case.refused("--target_lang", {"t.jsonl": rows(good)}, *languages[:2], code=2)
    case.taken(pair, "--data_dir", "d", train=())
    case.taken(pair, train=["d/train.source"])
    for other in ("text-classification", "mlm"):
        case = Cases(fixture, folder, other)
        for files in (pair, {"d/x": ""}):
            case.refused(f"--task {other} does not read --data_dir", files, "--data_dir", "d", train=(), code=2)
        case.refused("--train_file FILE…, --validation_file and --test_file", pair, "--data_dir", "d", train=(), code=2)


def texts_to_continue_and_to_fill_in(fixture, folder):
    case = Cases(fixture, folder, "mlm")
    line = "the fox sleeps\n"
    case.refused("the training data is empty", {"t.txt": ""})
    case.refused("the training data is empty", {"t.txt": "\n\n  \n"}, "--line_by_line")
    case.refused("a smaller --max_seq_length", {"t.txt": line})
    case.refused("t.txt:1", {"t.txt": b"the \xe9\n" * 30})
    case.refused("not a string", {"t.jsonl": rows({"n": 4})})
    case.refused("null", {"t.jsonl": rows({"text": "the fox"}, {"text": None})})
    case.refused("--max_seq_length", {"t.txt": line * 30}, "--max_seq_length", 1, "--line_by_line", code=2)
    for probability in (0, 1):
        case.refused("mlm_probability", {"t.txt": line * 30}, "--mlm_probability", probability, code=2)
    case.taken({"t.txt": "\ufeffthe fox sleeps\r\n" * 30})
    case = Cases(fixture, folder, "clm")
    case.refused("the training data is empty", {"t.txt": ""})
    case.refused("a smaller --block_size", {"t.txt": line})
    case.refused("the validation data is empty", {"t.txt": line * 30, "v.txt": ""}, valid="v.txt")
    case.refused("not a data file", {"d/t.txt": line * 30}, train=["d"])
    words = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
             "model": {"type": "WordLevel", "vocab": {"the": 0, "fox": 1}, "unk_token": "<unk>"}}
    tokenizer = {"t.txt": line * 30, "words/tokenizer.json": json.dumps(words)}
    # Found while all rows are encoded, when the run has its folder.
    result = case.run(tokenizer, "--tokenizer_name", "words")
    expect(result.returncode == 4 and "t.txt:1 on" in result.stderr, "the rows are named, and no length", result.stderr)
    expect(parts_of(result.stderr) == [{"what", "where", "why", "try"}], "one message of four parts", result.stderr)
    case.refused("is not known", {"t.txt": line * 30, "t.weird": "x"}, train=["t.txt", "t.weird"], code=2)
    case.taken({"t.txt": "the fox sleeps " * 30})


def conversations_and_completions(fixture, folder):
    write(folder, {"chat.jinja": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"})
    case = Cases(fixture, folder, "sft")
    more = ["--chat_template_path", os.path.join(folder, "chat.jinja"), "--eos_token", "<|endoftext|>"]
    talk = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "the fox"}]}
    pair = {"prompt": "hi", "completion": "the fox"}
    turn = talk["messages"]
    for good, said, row in ((talk, "is null", {"messages": None}), (talk, "are no list of messages", {"messages": "hi"}), (talk, "it is an object", {"messages": {}}),
                            (talk, "are empty", {"messages": []}), (talk, "message 1 of a row is no object", {"messages": ["hi"]}),
                            (talk, "message 1 of a row has no role", {"messages": [{"content": "hi"}]}), (talk, "no field 'messages'", {"note": "x"}),
                            (pair, "the prompt is a string, the completion an array", {"prompt": "hi", "completion": turn}),
                            (pair, "the prompt is an array, the completion a number", {"prompt": turn, "completion": 5}),
                            (pair, "the prompt of a row is empty", {"prompt": [], "completion": turn}), (pair, "the completion of a row is no string", pair | {"completion": 5}),
                            (pair, "no field 'completion'", {"prompt": "hi"})):
        case.refused(said, {"t.jsonl": rows(good, row)}, *more)
        case.refused("t.jsonl:2", {"t.jsonl": rows(good, row)}, *more)
    case.refused("two fields 'messages'", {"t.jsonl": json.dumps(talk)[:-1] + ', "messages": []}\n'}, *more)
    for nothing in ("", "\n"):
        case.refused("the training data is empty", {"t.jsonl": nothing}, *more)
    case.refused("the test data is empty", {"t.jsonl": rows(talk), "v.jsonl": ""}, *more, test="v.jsonl")
    case.refused("no columns of instruction data", {"t.jsonl": rows(talk), "v.jsonl": rows({"zzz": 1})}, *more, valid="v.jsonl")
    case.refused("no column 'completion'", {"t.jsonl": rows({"prompt": "hi"})}, *more)
    case.refused("which --task sft does not learn", {"t.jsonl": rows({"prompt": "a", "chosen": "b", "rejected": "c"})}, *more)
    case.refused("not valid UTF-8", {"t.jsonl": rows(talk).encode() + b'{"messages": "\xff"}\n'}, *more)
    case.refused("not a data file", {"d/t.jsonl": rows(talk)}, *more, train=["d"])
    case.taken({"t.jsonl": rows(talk)}, *more)
    case.taken({"t.jsonl": rows({"prompt": turn[:1], "completion": turn[1:]}, {"prompt": turn[:1], "completion": turn[1:]})}, *more)


def images_with_classes(fixture, folder):
    def of(kind, colour="red"):
        with open(sorted(glob.glob(f"{fixture.pictures}/train/{colour}/*.{kind}"))[0], "rb") as file:
            return file.read()
    png, jpeg = of("png"), of("jpg")
    case = Cases(fixture, folder, "image-classification",
                 {"t/a/1.png": png, "t/a/2.jpg": jpeg, "t/b/1.png": of("png", "blue"), "t/b/2.jpg": of("jpg", "blue")})

    pixels = png.index(b"IDAT") + 12
    flipped = png[:pixels] + bytes([png[pixels] ^ 1]) + png[pixels + 1:]

    def refused(said, files, *more, **how):
        case.refused(said, files, "--train_dir", "t", *more, train=(), **how)
    for said, name, content in (("0 bytes", "z.png", b""), ("ends too early", "z.jpg", jpeg[:len(jpeg) // 2]), ("ends too early", "z.jpg", jpeg[:10]),
                                ("ends too early", "z.png", png[:len(png) // 2]), ("is damaged", "z.png", png[:16] + b"\x7f\xff\xff\xff" * 2 + png[24:]),
                                ("IDAT is damaged", "z.png", flipped), ("neither a PNG nor a JPEG", "z.png", b"hello"), ("PNG and JPEG are", "z.gif", b"GIF89a")):
        refused(said, {"t/a/" + name: content})
        refused("t/a/" + name, {"t/a/" + name: content})
    refused("an image lies beside the folders of the classes", {"t/z.png": png})
    refused("'zz'", {"v/a/1.png": png, "v/zz/1.png": png}, "--validation_dir", "v", "--do_eval")
    refused("no column 'label'", {"v/1.png": png}, "--validation_dir", "v", "--do_eval")
    refused("the validation data is empty", {"v/readme.txt": "x"}, "--validation_dir", "v", "--do_eval")
    refused("would be held out", {}, "--train_val_split", 0.9, "--do_eval")
    refused("no train data to use", {}, "--max_train_samples", 0)
    refused("both name training data", {"x.jsonl": rows({"image": "t/a/1.png", "label": "a"})}, "--train_file", "x.jsonl", code=2)
    case.refused("does not exist", {}, "--train_dir", "nowhere", train=())
    case.refused("name the folder", {}, "--train_dir", "t/a/1.png", train=(), code=2)

    def listed(said, *records):
        case.refused(said, {"x.jsonl": rows(*records)}, train=["x.jsonl"])
    one, other = {"image": "t/a/1.png", "label": "a"}, {"image": "t/b/1.png", "label": "b"}
    listed("t/a/22.png", one, other | {"image": "t/a/22.png"})
    listed("x.jsonl:2", one, other | {"image": None})
    listed("x.jsonl:2", one, other | {"label": None})
    listed("numbers with a fraction", one | {"label": 0.5}, other | {"label": 1.5})
    listed("lists", one | {"label": ["a"]}, other | {"label": ["b"]})
    listed("it is an object", one | {"image": {"path": "t/a/1.png"}}, other)
    listed("all rows have the label a", one, one)
    case.taken({"x.csv": "file_name,label\nt/a/1.png,a\nt/b/1.png,b\n"}, train=["x.csv"])
    case.taken({"t/ünicode ☃/1.png": png, "t/a/.DS_Store": "x", "t/__MACOSX/a/z.png": "x", "t/a/z.jpg": png}, "--train_dir", "t", train=())


SCENARIOS = [texts_with_labels, columns_of_the_first_file, rows_of_tags, questions_and_answers, summaries_and_translations, texts_to_continue_and_to_fill_in,
             conversations_and_completions, images_with_classes]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], TinyTasks)
