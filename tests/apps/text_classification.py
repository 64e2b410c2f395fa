#!/usr/bin/env python3
"""Text classification from files of made-up rows to a saved model: it learns, evaluates, resumes with the same bits, and two ranks
compute what one does.

  text_classification.py [SCENARIO]…     all of them without a word
"""
import csv
import filecmp
import json
import os
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, expect, read_json, records

WORDS = {"bad": ["awful", "broken", "late"], "fair": ["plain", "usual", "so-so"], "good": ["bright", "quick", "lovely"]}
MODELS = {
    "gpt2": "n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0,"
            "resid_pdrop=0,embd_pdrop=0,attn_pdrop=0",
    "llama": "num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,hidden_size=32,intermediate_size=64,vocab_size=512,"
             "bos_token_id=0,eos_token_id=0",
}
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
        fixture.call(*fixture.flags(output, "--num_train_epochs", 10, "--save_strategy", "no", model=model))
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


def a_saved_classification_is_evaluated_alone(fixture, folder):
    output, again = os.path.join(folder, "trained"), os.path.join(folder, "evaluated")
    fixture.call(*fixture.flags(output, "--max_steps", 20, "--save_strategy", "no"))
    flags = ["--task", "text-classification", "--model_name_or_path", output, "--validation_file", fixture.valid, "--do_eval",
             "--max_seq_length", 48, "--use_cpu", "--output_dir", again]
    fixture.call(*map(str, flags))
    before, after = (read_json(place, "eval_results.json")["eval_loss"] for place in (output, again))
    expect(before == after, "the same loss", [before, after])


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
    for step, loss in losses(one).items():
        expect(abs(losses(two)[step] - loss) < 2e-4, f"loss of step {step}", [losses(one), losses(two)])


def wrong_rows_are_refused_and_nothing_is_written(fixture, folder):
    output, rows = os.path.join(folder, "refused"), os.path.join(folder, "wrong.csv")
    for text, code, said in (("sentence1,label\nshe was late,\nthe day,good\n", 4, "label"), ("words,mark\nlate,bad\n", 4, "label")):
        with open(rows, "w") as file:
            file.write(text)
        result = fixture.call(*fixture.flags(output), "--train_file", rows, expect=code)
        expect(said in result.stderr and not os.path.exists(output), "refused by the label", result.stderr)
    result = fixture.call(*fixture.flags(output, "--mlm_probability", 0.2), expect=2)
    expect("mlm_probability" in result.stderr, "a flag of another task", result.stderr)


SCENARIOS = [a_classification_learns_and_is_saved_under_its_class, a_saved_classification_is_evaluated_alone,
             a_resumed_classification_gives_the_same_bits, two_ranks_compute_what_one_does,
             wrong_rows_are_refused_and_nothing_is_written]


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-classification-") as folder:
        fixture = Rows(folder)
        for scenario in SCENARIOS:
            if sys.argv[1:] and scenario.__name__ not in sys.argv[1:]:
                continue
            place = os.path.join(folder, scenario.__name__)
            os.mkdir(place)
            scenario(fixture, place)
            print("ok:", scenario.__name__.replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
