#!/usr/bin/env python3
"""Folders of T5 and BART in both directions: transformers opens what a run saved without missing or unexpected keys and computes the
evaluation loss that hftrain logged, and hftrain opens what transformers saved and logs the loss that transformers computes.

  encoder_decoders_open_in_transformers.py [--families t5 bart]
"""
import argparse
import csv
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
from classified_rows import ClassifiedRows

LENGTH = 30
LABELS = ["a", "b", "c", "d"]


def transformers_loss(folder, rows):
    """Mean loss over all rows, and what from_pretrained says of the keys."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, said = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    with open(rows, newline="") as file:
        read = list(csv.DictReader(file))
    batch = tokenizer([row["sentence"] for row in read], padding="max_length", truncation=True, max_length=LENGTH,
                      return_tensors="pt")
    labels = torch.tensor([LABELS.index(row["label"]) for row in read])
    with torch.no_grad():
        logits = model.eval()(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return torch.nn.functional.cross_entropy(logits, labels).item(), {key: list(value) for key, value in said.items() if value}


def evaluate(fixture, output, *model):
    fixture.call("--task", "text-classification", *model, "--validation_file", fixture.rows, "--do_eval", "--max_seq_length",
                 str(LENGTH), "--use_cpu", "--output_dir", output)
    with open(os.path.join(output, "eval_results.json")) as file:
        return json.load(file)["eval_loss"]


def from_transformers(fixture, family):
    """A folder that transformers saved, with every parameter moved so that norms and biases matter."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification
    fields = dict(pair.split("=") for pair in fixture.MODELS[family].format(32).split(","))
    config = AutoConfig.for_model(family, **{key: int(value) for key, value in fields.items()}, eos_token_id=1, pad_token_id=0,
                                  id2label=dict(enumerate(LABELS)), label2id={name: i for i, name in enumerate(LABELS)})
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    folder = os.path.join(fixture.folder, "theirs")
    model.save_pretrained(folder)
    for name in os.listdir(fixture.tokenizer):
        shutil.copy(os.path.join(fixture.tokenizer, name), os.path.join(folder, name))
    return folder


def check(family):
    with tempfile.TemporaryDirectory() as scratch:
        fixture = ClassifiedRows(scratch, family)
        ours = os.path.join(scratch, "ours")
        fixture.call(*fixture.flags(ours, "--max_steps", 3, "--save_strategy", "no", ranks=1))
        passed = True
        for name, folder in (("ours", ours), ("theirs", from_transformers(fixture, family))):
            logged = evaluate(fixture, os.path.join(scratch, "evaluated-" + name), "--model_name_or_path", folder)
            loss, said = transformers_loss(folder, fixture.rows)
            print(f"{family}, {name}: transformers {loss:.6f}, hftrain {logged:.6f}, keys {said}", flush=True)
            passed = passed and not said and abs(loss - logged) <= 1e-5 * loss
        return passed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="*", default=list(ClassifiedRows.MODELS))
    sys.exit(0 if all([check(family) for family in parser.parse_args().families]) else 1)


if __name__ == "__main__":
    main()
