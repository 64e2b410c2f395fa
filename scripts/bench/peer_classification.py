#!/usr/bin/env python3
"""The peer: text classification with the Hugging Face Trainer, from files, after the rules of run_glue and in our own words.

  peer_classification.py --model DIR --validation_file F [--train_file F] [--test_file F] [--task_name T] --out RESULT.json
                         -- key=value …        TrainingArguments; values are JSON, or text when they do not parse

The labels are those of the model's config.json. The result holds the logged records, the metrics of the evaluation and, of each row of
the test file, what is predicted.
"""
import argparse
import json
import sys

import datasets
import numpy
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, mean_squared_error
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments)


def options_and_arguments():
    parser = argparse.ArgumentParser()
    for name, needed in (("model", True), ("validation_file", True), ("train_file", False), ("test_file", False), ("task_name", False),
                         ("out", True)):
        parser.add_argument("--" + name, required=needed)
    parser.add_argument("--max_seq_length", type=int, default=48)
    own, rest = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
    arguments = {}
    for pair in rest:
        key, value = pair.split("=", 1)
        try:
            arguments[key] = json.loads(value)
        except json.JSONDecodeError:
            arguments[key] = value
    return parser.parse_args(own), arguments


def metrics_of(task, problem, scores, labels):
    if problem == "regression":
        # scipy sums float32 in float32, which loses five digits where all predictions are about the same.
        scores, labels = scores.squeeze().astype(float), labels.astype(float)
        if task != "stsb":
            return {"mse": mean_squared_error(labels, scores)}
        found = {"pearson": pearsonr(scores, labels)[0], "spearmanr": spearmanr(scores, labels)[0]}
    elif problem == "multi_label_classification":
        return {"f1": f1_score(labels, (scores > 0).astype(int), average="micro")}
    elif task == "cola":
        return {"matthews_correlation": matthews_corrcoef(labels, scores.argmax(1))}
    else:
        found = {"accuracy": accuracy_score(labels, scores.argmax(1))}
        if task in ("mrpc", "qqp"):
            found["f1"] = f1_score(labels, scores.argmax(1))
    if len(found) > 1:
        found["combined_score"] = numpy.mean(list(found.values())).item()
    return found


def main():
    options, arguments = options_and_arguments()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForSequenceClassification.from_pretrained(options.model, dtype=torch.float32)
    problem, numbers = model.config.problem_type, model.config.label2id

    def rows(path):
        kind = "csv" if path.endswith(".csv") else "json"
        read = datasets.load_dataset(kind, data_files=path, split="train", cache_dir=options.out + ".cache")
        texts = [name for name in read.column_names if name != "label"][:2]
        made = []
        for row in read:
            one = dict(tokenizer(*[row[name] or "" for name in texts], truncation=True, max_length=options.max_seq_length))
            if row.get("label") is not None:
                one["label"] = (float(row["label"]) if problem == "regression" else
                                [float(name in map(str, row["label"])) for name in numbers]
                                if problem == "multi_label_classification" else numbers[str(row["label"])])
            made.append(one)
        return made

    trainer = Trainer(
        model=model, args=TrainingArguments(**{"report_to": "none", "disable_tqdm": True, **arguments}),
        train_dataset=rows(options.train_file) if options.train_file else None, eval_dataset=rows(options.validation_file),
        data_collator=DataCollatorWithPadding(tokenizer, padding="max_length", max_length=options.max_seq_length),
        compute_metrics=lambda given: metrics_of(options.task_name, problem, given.predictions, given.label_ids))
    result = {}
    if options.train_file:
        trainer.train()
    result["metrics"] = trainer.evaluate()
    result["log_history"] = trainer.state.log_history
    if options.test_file:
        test = [{key: value for key, value in row.items() if key != "label"} for row in rows(options.test_file)]
        result["scores"] = trainer.predict(test).predictions.tolist()
    with open(options.out, "w") as file:
        json.dump(result, file)


main()
