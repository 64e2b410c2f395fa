#!/usr/bin/env python3
"""Golden data of tests/plan/dataset_files_test.cpp: which files of a folder the real `datasets` package takes for which split.

Writes tests/golden/data/data_sets.json: a list of folders, each with its files, what they hold (only cards hold something), the
configuration that is asked for, and the files of each split, or null where the package refuses the folder or reads it with something that
hftrain has not. Some folders are the examples of the package's own documentation, most are drawn at random.
Usage: python scripts/golden/data_sets.py
"""
import json
import os
import pathlib
import random
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import datasets

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/data_sets.json"
READ = {"csv", "json", "parquet", "text"}
WORDS = ["train", "training", "Train", "val", "valid", "validation", "dev", "test", "testing", "eval", "evaluation", "other", "data", "en",
         "my-train", "train_0", "test.1", "dev 2", "notrain", "trainer", "pre_test_x", "train-test", "__extra", ".hidden", "10train", "a.b", "x"]
ENDINGS = [".jsonl"] * 5 + [".csv"] * 3 + [".parquet"] * 3 + [".txt"] * 3 + [".json", ".tsv", ".jsonl.gz", ".csv.zst", "", ".log", ".md", ".JSONL",
                                                                               ".arrow", ".txt.old"]
CARD = "---\npretty_name: X\n{}---\n# X\n\ntext\n---\nmore\n"


def card(configs):
    return CARD.format("configs:\n" + configs)


ONE = "- config_name: {}\n  data_files:\n"
SPLITS = "  - split: train\n    path: {}\n  - split: test\n    path: {}\n"
CARDS = [
    ("plain", None, CARD.format("")),
    ("one", None, card(ONE.format("main") + SPLITS.format("data/a*", "data/b.jsonl"))),
    ("listed", None, card(ONE.format("main") + SPLITS.format("\n    - data/a1.jsonl\n    - data/b.jsonl", "'**/c*.jsonl'"))),
    ("several, none named", None, card(ONE.format("x") + SPLITS.format("data/a*", "data/b*") + ONE.format("y") + SPLITS.format("data/b*", "data/a*"))),
    ("several, one named", "y", card(ONE.format("x") + SPLITS.format("data/a*", "data/b*") + ONE.format("y") + SPLITS.format("data/b*", "data/a*"))),
    ("several, a wrong one named", "z", card(ONE.format("x") + SPLITS.format("data/a*", "data/b*") + ONE.format("y") + SPLITS.format("data/b*", "data/a*"))),
    ("default by name", None, card(ONE.format("x") + SPLITS.format("data/a*", "data/b*") + ONE.format("default") + SPLITS.format("data/b*", "data/a*"))),
    ("default by key", None, card(ONE.format("x") + SPLITS.format("data/a*", "data/b*") + "- config_name: y\n  default: true\n  data_files: data/b.jsonl\n")),
    ("two defaults", None, card("- config_name: x\n  default: true\n  data_files: data/a1.jsonl\n- config_name: default\n  data_files: data/b.jsonl\n")),
    ("a path", None, card("- config_name: x\n  data_files: data/b.jsonl\n")),
    ("a list of paths", None, card("- config_name: x\n  data_files:\n  - data/b.jsonl\n  - data/a[12].jsonl\n")),
    ("a folder", None, card("- config_name: x\n  data_dir: deep\n")),
    ("a folder and files", None, card("- config_name: x\n  data_dir: deep\n  data_files: '**/c1.jsonl'\n")),
    ("a missing file", None, card("- config_name: x\n  data_files: data/nothing.jsonl\n")),
    ("no list", None, card("  x: y\n")),
    ("no name", None, card("- data_files: data/b.jsonl\n")),
    ("a split's name with a dash", None, card(ONE.format("x") + "  - split: a-b\n    path: data/b.jsonl\n")),
    ("a split of its own name", None, card(ONE.format("x") + "  - split: train_sft\n    path: data/b.jsonl\n")),
    ("hidden asked for", None, card("- config_name: x\n  data_files: .secret/d.jsonl\n")),
    ("hidden not asked for", None, card("- config_name: x\n  data_files: '**/d.jsonl'\n")),
    ("no block", None, "# configs\n"),
    ("not closed", None, "---\nconfigs:\n"),
]
CARD_FILES = ["data/a1.jsonl", "data/a2.jsonl", "data/b.jsonl", "deep/train/c1.jsonl", "deep/test/c2.jsonl", ".secret/d.jsonl", "LICENSE"]
DOCUMENTED = [
    ["dataset.csv"], ["train.csv", "test.csv"], ["data/train.csv", "data/test.csv"],
    [f"{split}_{i}.csv" for split in ("train", "test") for i in range(3)],
    [f"data/{split}/shard_{i}.csv" for split in ("train", "test") for i in range(2)],
    [f"data/{split}-0000{i}-of-00003.csv" for split in ("train", "test", "random", "validation") for i in range(3)],
    ["data/a.b_c-00000-of-00001-abc.parquet"], ["data/a-b-00000-of-00001.parquet"], ["data/x-00000-of-00001-of-00002.csv"],
    ["train-00000-of-00001.parquet", "other.parquet"], ["state.jsonl"], [], ["LICENSE"], ["config.json"], ["config.json", "a.json"],
    ["train/LICENSE", "test/a.jsonl"], ["a.jsonl", "b.csv"], ["a.csv", "b.parquet"], ["train.jsonl", "test.csv"],
    ["a.tar", "b.tar", "a.jsonl"], ["x.eval", "train.jsonl"], ["sub/task.toml", "train.jsonl"], ["train_train/a.jsonl"], ["metadata.jsonl"],
    ["train/train.jsonl", "train/a/b/c.jsonl", "valid/x.jsonl", "eval.jsonl"], ["deep/er/test/x.jsonl", "deep/train.jsonl"],
]


def drawn(random):
    files = set()
    for _ in range(random.randint(1, 7)):
        folders = [random.choice(WORDS) for _ in range(random.choice([0, 0, 1, 1, 2]))]
        name = random.choice(WORDS) + random.choice(["", "", "_1", "-b", "2"]) + random.choice(ENDINGS)
        files.add("/".join([*folders, name]))
    # No file is a folder too.
    return sorted(file for file in files if not any(other.startswith(file + "/") for other in files))


def splits(folder, config):
    try:
        builder = datasets.load_dataset_builder(str(folder), config, cache_dir=str(folder) + ".cache")
    except Exception:
        return None
    if builder.__class__.__module__.split(".")[-1] not in READ:
        return None
    return {str(split): [os.path.relpath(file, folder.resolve()) for file in files] for split, files in builder.config.data_files.items()}


def case(name, files, config=None, texts={}):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "set"
        folder.mkdir()
        for file in [*files, *texts]:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(texts.get(file, ""))
        return {"name": name, "files": sorted([*files, *texts]), "texts": texts, "config": config, "splits": splits(folder, config)}


def main():
    datasets.disable_progress_bars()
    draw = random.Random(5)
    cases = [case(f"documented {i}", files) for i, files in enumerate(DOCUMENTED)]
    cases += [case("a configuration of none", ["train.csv"], "x"), case("the configuration default", ["train.csv"], "default")]
    cases += [case(name, CARD_FILES, config, {"README.md": text}) for name, config, text in CARDS]
    cases.append(case("the other card", CARD_FILES, None, {"README.md": CARDS[1][2], ".huggingface.yaml": "configs:\n- config_name: x\n  data_files: data/b.jsonl\n"}))
    cases += [case(f"drawn {i}", drawn(draw)) for i in range(250)]
    taken = sum(each["splits"] is not None for each in cases)
    print(f"{len(cases)} folders, {taken} of them are taken")
    OUT.write_text("[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases) + "\n]\n")


if __name__ == "__main__":
    main()
