#!/usr/bin/env python3
"""Image classification from folders of drawn pictures to a saved model: it learns, evaluates, resumes with the same bits, every
strategy computes what one rank does, and what is no data is refused before anything is written.

  image_classification.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, expect, read_json, records, run_scenarios

VIT = ("num_hidden_layers=2,num_attention_heads=2,hidden_size=32,intermediate_size=64,image_size=16,patch_size=4,"
       "hidden_dropout_prob=0,attention_probs_dropout_prob=0")
CLASSES = ["blue", "green", "red"]
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/image-classification.md")
FLOOR = 0.394  # nats per image, as sample-data says


class Pictures:
    """Drawn pictures, and a cache of its own."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.environment = {**os.environ, "HFTRAIN_CACHE": os.path.join(self.folder, "cache"), "OMP_NUM_THREADS": "1"}
        self.data = os.path.join(self.folder, "pictures")
        said = self.call("sample-data", "images", self.data, "--size", "500000", "--seed", "3").stderr
        expect(f"loss floor: {FLOOR}" in said and "accuracy at most 0.9" in said, "the floor is told", said)

    def call(self, *arguments, expect=0):
        result = subprocess.run([HFTRAIN, *map(str, arguments)], env=self.environment, text=True, capture_output=True)
        if expect is not None and result.returncode != expect:
            raise SystemExit(f"hftrain {' '.join(map(str, arguments))}\nended with {result.returncode}, expected {expect}\n"
                             f"{result.stdout}{result.stderr}")
        return result

    def flags(self, output, *more, ranks=1, batch=8, model=("--model_type", "vit", "--config_overrides", VIT)):
        return ["--task", "image-classification", *model, "--train_dir", f"{self.data}/train", "--validation_dir",
                f"{self.data}/validation", "--use_cpu", "--do_train", "--nproc_per_node", ranks,
                "--per_device_train_batch_size", batch, "--output_dir", output, "--logging_steps", 1, "--learning_rate", "2e-3",
                "--lr_scheduler_type", "constant", *more]


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def same_losses(a, b, bar, what):
    expect(len(a) > 0 and sorted(a) == sorted(b) and all(abs(a[s] - b[s]) <= bar for s in a), what, [a, b])


def it_learns_to_its_floor_and_is_saved_with_its_processor(fixture, folder):
    output = os.path.join(folder, "out")
    fixture.call(*fixture.flags(output, "--do_eval", "--num_train_epochs", 6, "--save_strategy", "no"))
    result = read_json(output, "eval_results.json")
    expect(FLOOR - 0.25 < result["eval_loss"] < FLOOR + 0.3, "near the floor (chance: 1.10)", result)
    expect("perplexity" not in result, "it has no perplexity", result)
    config = read_json(output, "config.json")
    expect(config["architectures"] == ["ViTForImageClassification"] and config["label2id"] == {n: i for i, n in enumerate(CLASSES)}
           and config["id2label"] == {str(i): n for i, n in enumerate(CLASSES)} and config["use_cache"] is False, "labels, and use_cache as the Trainer sets it of every model", config)
    processor = read_json(output, "preprocessor_config.json")
    expect(processor["size"] == {"height": 16, "width": 16} and processor["image_mean"] == [0.5] * 3 and
           processor["image_processor_type"] == "ViTImageProcessor", "the processor of the model's size", processor)
    with open(os.path.join(output, "README.md")) as file:
        expect("pipeline_tag: image-classification" in file.read(), "the card names the task", output)
    summary = read_json(output, "hftrain", "summary.json")
    expect(abs(summary["tokens_per_second"] / summary["samples_per_second"] - 17) < 1e-6, "16 patches and a class token", summary)
    again = os.path.join(folder, "again")
    fixture.call("--task", "image-classification", "--model_name_or_path", output, "--validation_dir", f"{fixture.data}/validation",
                 "--do_eval", "--use_cpu", "--output_dir", again)
    expect(read_json(again, "eval_results.json")["eval_loss"] == result["eval_loss"], "the same alone", again)


def test_pictures_get_their_classes(fixture, folder):
    """Pictures of a folder, and rows of paths without classes in another order: those of the model, by one rank and by two."""
    model, rows = os.path.join(folder, "model"), os.path.join(folder, "rows.jsonl")
    fixture.call(*fixture.flags(model, "--do_eval", "--num_train_epochs", 3, "--save_strategy", "no"))
    valid = f"{fixture.data}/validation"
    paths = sorted(os.path.join(place, name) for place, _, names in os.walk(valid) for name in names)
    with open(rows, "w") as file:
        file.writelines(json.dumps({"image": path}) + "\n" for path in reversed(paths))

    def predicted(name, tested, *more):
        output = os.path.join(folder, name)
        fixture.call("--task", "image-classification", "--model_name_or_path", model, "--test_file", tested, "--do_predict", "--use_cpu",
                     "--per_device_eval_batch_size", 3, "--output_dir", output, *more)
        expect(not {"predict_loss", "predict_accuracy"} & set(read_json(output, "predict_results.json")), "nothing is judged", output)
        with open(os.path.join(output, "predict_results.txt")) as file:
            lines = [line.split("\t") for line in file.read().splitlines()]
        expect(lines[0] == ["index", "prediction"] and [line[0] for line in lines[1:]] == [str(i) for i in range(len(lines) - 1)], "numbered", lines)
        return [line[1] for line in lines[1:]]
    found = predicted("folder", valid)
    right = sum(os.path.basename(os.path.dirname(path)) == name for path, name in zip(paths, found)) / len(paths)
    accuracy = read_json(model, "eval_results.json")["eval_accuracy"]
    expect(len(found) == len(paths) and len(set(found)) > 1 and abs(right - accuracy) < 1e-9, "as many right as the accuracy says", [right, accuracy])
    expect(predicted("rows", rows, "--nproc_per_node", 2) == found[::-1], "rows of paths, by two ranks", found)
    expect(predicted("fewer", rows, "--max_predict_samples", 4) == found[::-1][:4], "the first of them", found)


def validation_images_are_held_out_and_fewer_are_taken(fixture, folder):
    def plan(*more):
        flags = fixture.flags(os.path.join(folder, "out"), "--do_eval", *more)
        at = flags.index("--validation_dir")
        return json.loads(fixture.call("plan", *flags[:at], *flags[at + 2:], "--json").stdout)["data"]
    count = sum(len(files) for _, _, files in os.walk(f"{fixture.data}/train"))
    held = -(-count * 15 // 100)
    whole = plan()
    expect(whole["validation"]["samples"] == held and whole["train"]["samples"] == count - held, "15 % are held out", whole)
    more = plan("--train_val_split", 0.5, "--max_train_samples", 20, "--max_eval_samples", 10)
    expect(more["validation"]["samples"] == 10 and more["train"]["samples"] == 20, "fewer", more)
    flags = fixture.flags(os.path.join(folder, "out"), "--do_eval", "--train_val_split", 0)
    at = flags.index("--validation_dir")
    said = fixture.call(*flags[:at], *flags[at + 2:], expect=2).stderr
    expect("no validation data" in said, "nothing to evaluate with", said)


def a_resumed_run_gives_the_same_bits(fixture, folder):
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    common = ["--save_strategy", "steps", "--save_steps", 4, "--dataloader_num_workers", 2]
    fixture.call(*fixture.flags(straight, "--max_steps", 8, "--save_strategy", "no"))
    fixture.call(*fixture.flags(parts, "--max_steps", 4, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 8, *common))
    expect(losses(straight) == losses(parts) and len(losses(parts)) == 8, "losses", [losses(straight), losses(parts)])
    expect(filecmp.cmp(f"{straight}/model.safetensors", f"{parts}/model.safetensors", shallow=False), "weights", parts)


def every_strategy_computes_what_one_rank_does(fixture, folder):
    one = os.path.join(folder, "one")
    fixture.call(*fixture.flags(one, "--max_steps", 6, "--save_strategy", "no"))
    recomputing = '{"activation_checkpointing": true}'
    for name, ranks, more in (("ddp", 2, []), ("zero1", 2, ["--sharded_ddp", "simple"]),
                              ("zero2", 2, ["--fsdp", "shard_grad_op auto_wrap"]),
                              ("zero3", 2, ["--fsdp", "full_shard auto_wrap"]),
                              ("zero3-recomputing", 4, ["--fsdp", "full_shard auto_wrap", "--fsdp_config", recomputing]),
                              ("recomputing", 4, ["--gradient_checkpointing"])):
        output = os.path.join(folder, name)
        fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_strategy", "no", *more, ranks=ranks, batch=8 // ranks))
        same_losses(losses(one), losses(output), 2e-4, name)
    parts = os.path.join(folder, "parts")
    save = ["--save_strategy", "steps", "--save_steps", 3]
    fixture.call(*fixture.flags(parts, "--max_steps", 3, *save, "--fsdp", "full_shard auto_wrap", ranks=4, batch=2))
    fixture.call(*fixture.flags(parts, "--max_steps", 6, *save, ranks=1, batch=8))
    same_losses(losses(one), losses(parts), 2e-4, "saved at 4, resumed at 1")


def wrong_folders_are_refused_and_nothing_is_written(fixture, folder):
    output, data = os.path.join(folder, "refused"), os.path.join(folder, "data")

    def refused(spoil, said, code=4, more=()):
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(fixture.data, data)
        spoil()
        flags = [part.replace(fixture.data, data) if isinstance(part, str) else part for part in fixture.flags(output, "--do_eval", *more)]
        result = fixture.call(*flags, expect=code)
        expect(said in result.stderr and not os.path.exists(output), said, result.stderr)

    def first(suffix):
        red = os.path.join(data, "train", "red")
        return os.path.join(red, sorted(name for name in os.listdir(red) if name.endswith(suffix))[0])

    def write(path, content):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def cut():
        path = first(".jpg")
        with open(path, "rb") as file:
            content = file.read()
        write(path, content[:-40])

    refused(lambda: write(first(".png"), b""), "0 bytes")
    refused(cut, "ends too early")
    refused(lambda: write(os.path.join(data, "train/red/notes.png"), b"hello"), "neither a PNG nor a JPEG")
    refused(lambda: write(os.path.join(data, "train/red/x.gif"), b"GIF89a"), "x.gif")
    refused(lambda: os.rename(f"{data}/validation/red", f"{data}/validation/violet"), "violet")
    refused(lambda: (shutil.rmtree(f"{data}/train"), write(f"{data}/train/1.png", b"")), "no column 'label'")
    refused(lambda: (shutil.rmtree(f"{data}/train/red"), shutil.rmtree(f"{data}/train/blue")), "green")
    refused(lambda: shutil.rmtree(f"{data}/train"), "does not exist")
    refused(lambda: None, "does not read --block_size", 2, ["--block_size", 8])
    refused(lambda: None, "both name training data", 2, ["--train_file", "x.csv"])


def an_image_that_breaks_after_the_preparation_ends_the_run(fixture, folder):
    data, output = os.path.join(folder, "data"), os.path.join(folder, "out")
    shutil.copytree(fixture.data, data)
    flags = [part.replace(fixture.data, data) if isinstance(part, str) else part
             for part in fixture.flags(output, "--max_steps", 400, "--save_strategy", "no")]
    fixture.call("prepare", *flags)
    for name in os.listdir(f"{data}/train/red"):
        path = os.path.join(data, "train/red", name)
        size = os.path.getsize(path)
        with open(path, "r+b") as file:  # of the same size, so that the folder looks as it did
            file.seek(size // 2)
            file.write(bytes(size - size // 2))
    result = fixture.call(*flags, expect=4)
    expect("an image cannot be read" in result.stderr and "train/red" in result.stderr, "told by its path", result.stderr)


def images_in_the_old_run_are_not_moved_aside(fixture, folder):
    output, rows = os.path.join(folder, "out"), os.path.join(folder, "rows.csv")
    shutil.copytree(f"{fixture.data}/train", os.path.join(output, "pictures"))
    with open(rows, "w") as file:
        file.write("image,label\n")
        for label in CLASSES:
            file.writelines(f"out/pictures/{label}/{name},{label}\n" for name in sorted(os.listdir(f"{output}/pictures/{label}")))
    flags = fixture.flags(output, "--max_steps", 2, "--save_strategy", "no", "--overwrite_output_dir")
    at = flags.index("--train_dir")
    flags[at:at + 4] = ["--train_file", rows]
    said = fixture.call(*flags, expect=2).stderr
    expect("what the run reads lies in the folder that is moved aside" in said and f"{output}/pictures/" in said
           and "(an image of the data)" in said, "it is refused, with an image", said)
    said = fixture.call(*flags, "--streaming", expect=2).stderr  # whose rows nobody would have looked at
    expect("the rows of this task cannot be streamed" in said, "images are not streamed", said)
    expect(sorted(os.listdir(folder)) == ["out", "rows.csv"] and os.listdir(output) == ["pictures"], "nothing is moved", os.listdir(folder))


def the_page_does_what_it_says(fixture, folder):
    with open(PAGE) as file:
        lines = [line for line in file.read().replace(" \\\n", " ").splitlines() if line.startswith("    hftrain ")]
    expect(len(lines) == 3, "three commands", lines)
    for line in lines:
        subprocess.run([HFTRAIN, *shlex.split(line)[1:]], cwd=folder, env=fixture.environment, check=True, capture_output=True)
    trained, judged = (read_json(folder, name, "eval_results.json")["eval_loss"] for name in ("colours", "judged"))
    expect(trained == judged and trained < FLOOR + 0.3, "one loss, near the floor", [trained, judged])


SCENARIOS = [it_learns_to_its_floor_and_is_saved_with_its_processor, test_pictures_get_their_classes, validation_images_are_held_out_and_fewer_are_taken,
             a_resumed_run_gives_the_same_bits, every_strategy_computes_what_one_rank_does,
             wrong_folders_are_refused_and_nothing_is_written, an_image_that_breaks_after_the_preparation_ends_the_run,
             images_in_the_old_run_are_not_moved_aside, the_page_does_what_it_says]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Pictures)
