"""Writes tests/golden/metrics/*.jsonl: what the reference packages make of random and nasty data of our own.

    python scripts/golden/metrics.py EVALUATE EXAMPLES

needs scikit-learn, scipy, seqeval, rouge-score and sacrebleu; EVALUATE is a checkout of the evaluate repository (its metrics
glue, exact_match, squad and squad_v2 are files there and not in the package) and EXAMPLES the folder
examples/pytorch/question-answering of transformers.

packages.jsonl    cases of metrics_cases.py
evaluate.jsonl    the metrics of evaluate as the example scripts use them
answers.jsonl     postprocess_qa_predictions of run_qa
"""
import importlib.util
import json
import pathlib
import random
import sys
import tempfile

import evaluate
import numpy as np

from metrics_cases import all_cases, altered, answer, case, text

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "metrics"


def write(name, cases):
    with open(TARGET / name, "w") as out:
        for made in cases:
            out.write(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")


def with_mean(result):
    """combined_score, as run_glue adds it."""
    result = {key: float(value) for key, value in result.items()}
    if len(result) > 1:
        result["combined_score"] = float(np.mean(list(result.values())))
    return result


def glue_cases(rng, folder):
    for task in ["cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte", "wnli"]:
        metric = evaluate.load(f"{folder}/metrics/glue", task)
        for n in [2, 7, 100]:
            if task == "stsb":
                references = [round(rng.uniform(0, 5) * 4) / 4 for _ in range(n)]
                predictions = [r + rng.choice([-0.5, 0.0, 0.25, 1.5]) for r in references]  # exact in float32
            else:
                classes = 3 if task == "mnli" else 2
                references = [i % classes if i < classes else rng.randrange(classes) for i in range(n)]
                predictions = [r if rng.random() < 0.7 else rng.randrange(classes) for r in references]
            out = with_mean(metric.compute(predictions=predictions, references=references))
            yield case("metric", {"name": f"glue/{task}", "predictions": predictions, "references": references}, out)


def exact_match_cases(rng, folder):
    metric = evaluate.load(f"{folder}/metrics/exact_match")
    for options in [{}, {"ignore_case": True}, {"ignore_punctuation": True}, {"ignore_numbers": True},
                    {"ignore_case": True, "ignore_punctuation": True, "ignore_numbers": True}]:
        references = [text(rng, 2) for _ in range(30)]
        predictions = [rng.choice([r, r.upper(), r.lower(), r + "!", r + "7", altered(rng, r)]) for r in references]
        out = metric.compute(predictions=predictions, references=references, **options)
        yield case("exact_match", {"predictions": predictions, "references": references, "options": options},
                   {"exact_match": float(out["exact_match"])})


def squad_cases(rng, folder):
    for name in ["squad", "squad_v2"]:
        metric = evaluate.load(f"{folder}/metrics/{name}")
        for n in [1, 2, 5, 60]:
            version_2 = name == "squad_v2"
            answers = [[answer(rng) for _ in range(rng.randint(0 if version_2 and n > 1 else 1, 3))] for _ in range(n)]
            texts = [altered(rng, rng.choice(a)) if a and rng.random() < 0.7 else answer(rng) for a in answers]
            silence = [rng.choice([0.0, 0.0, 0.3, 0.9]) for _ in range(n)]
            threshold = rng.choice([1.0, 0.5])
            predictions = [{"id": str(i), "prediction_text": t, **({"no_answer_probability": silence[i]} if version_2 else {})}
                           for i, t in enumerate(texts)]
            references = [{"id": str(i), "answers": {"text": a, "answer_start": [0] * len(a)}} for i, a in enumerate(answers)]
            options = {"no_answer_threshold": threshold} if version_2 else {}
            out = metric.compute(predictions=predictions, references=references, **options)
            yield case("questions", {"name": name, "predictions": texts, "no_answer": silence, "answers": answers,
                                     "threshold": threshold}, {key: float(value) for key, value in out.items()})


def answer_cases(rng, folder):
    spec = importlib.util.spec_from_file_location("utils_qa", folder + "/utils_qa.py")
    utils_qa = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utils_qa)
    numbers = np.random.default_rng(7)
    for i in range(40):
        context = text(rng, 20) or "x"
        rules = {"version_2_with_negative": i % 2 == 1, "n_best_size": rng.choice([1, 3, 20]),
                 "max_answer_length": rng.choice([1, 4, 30]), "null_score_diff_threshold": rng.choice([0.0, -2.0, 5.0])}
        if rules["version_2_with_negative"]:
            rules["n_best_size"] = max(rules["n_best_size"], 3)
        features, starts, ends = [], [], []
        for _ in range(rng.randint(1, 3)):
            n = rng.randint(4, 14)  # no ties, which numpy's sort leaves open
            spans = [None if at < 2 or rng.random() < 0.1 else sorted(rng.sample(range(len(context) + 1), 2)) if len(context) > 1 else [0, 1]
                     for at in range(n)]
            features.append({"example_id": "q", "offset_mapping": spans})
            starts.append(numbers.normal(0, 3, n).astype(np.float32))
            ends.append(numbers.normal(0, 3, n).astype(np.float32))
        examples = Examples([{"id": "q", "context": context}])
        with tempfile.TemporaryDirectory() as made:
            chosen = utils_qa.postprocess_qa_predictions(examples, features, (starts, ends), output_dir=made, **rules)
            files = {path.stem: json.loads(path.read_text())["q"] for path in pathlib.Path(made).iterdir()}
        out = {"text": chosen["q"], "n_best": files["nbest_predictions"]}
        if rules["version_2_with_negative"]:
            out["null_odds"] = files["null_odds"]
        pieces = [{"spans": [s or [-1, -1] for s in f["offset_mapping"]], "start_logits": [float(x) for x in s],
                   "end_logits": [float(x) for x in e]} for f, s, e in zip(features, starts, ends)]
        yield case("answer", {"context": context, "features": pieces, "rules": rules}, out)


class Examples(list):
    """Rows that also answer for a column, as a data set does."""

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def main():
    folder, examples = sys.argv[1:]
    TARGET.mkdir(parents=True, exist_ok=True)
    rng = random.Random(11)
    write("packages.jsonl", all_cases(3, 25))
    write("evaluate.jsonl", [*glue_cases(rng, folder), *exact_match_cases(rng, folder), *squad_cases(rng, folder)])
    write("answers.jsonl", answer_cases(rng, examples))


if __name__ == "__main__":
    main()
