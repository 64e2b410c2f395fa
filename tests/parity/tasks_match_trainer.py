#!/usr/bin/env python3
"""Question answering, summaries, translations and MNLI over 50 steps against the Hugging Face Trainer: same folder, same rows, same seed,
shuffled, no dropout. Features are made by the rules of the example scripts in our own words (scripts/golden).

  tasks_match_trainer.py [--cases NAME…] [--steps 50]

The bar is a relative difference of 1e-4 in every loss and 1e-6 in the metrics after the last step: SQuAD's of the answers, and of MNLI the
accuracy on both sets, with every key that run_glue writes of them.
"""
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts" / "golden")]
import fixtures

COMMON = dict(per_device_train_batch_size=8, per_device_eval_batch_size=16, logging_steps=1, save_strategy="no", learning_rate=1e-3, seed=7,
              lr_scheduler_type="cosine", warmup_steps=5, weight_decay=0.1, max_grad_norm=1.0)
SMALL = dict(vocab_size=512, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=96,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0)
MODELS = {
    "gpt2": dict(vocab_size=512, n_positions=96, n_embd=48, n_layer=2, n_head=4, bos_token_id=2, eos_token_id=3, pad_token_id=0, embd_pdrop=0.0,
                 attn_pdrop=0.0, resid_pdrop=0.0),
    "bert": SMALL,
    "t5": dict(vocab_size=512, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0,
               eos_token_id=1),
}
TIMED = re.compile("runtime|_per_second|preparation_time")
CASES = {
    "question-answering": ("bert", "qa", dict(max_seq_length=48, doc_stride=8)),
    "question-answering-decoder": ("gpt2", "qa", dict(max_seq_length=48, doc_stride=8, pad_to_max_length=False)),
    # The last micro-batch of an epoch has fewer rows than the one before it.
    "question-answering-accumulated": ("bert", "qa", dict(max_seq_length=48, doc_stride=8, gradient_accumulation_steps=7)),
    "question-answering-negative": ("bert", "qa", dict(max_seq_length=48, doc_stride=8, version_2_with_negative=True, n_best_size=7)),
    "summarization": ("t5", "seq2seq", dict(max_source_length=48, max_target_length=12, source_prefix="say: ")),
    "translation": ("t5", "seq2seq", dict(source_lang="plain", target_lang="cipher", max_source_length=10, max_target_length=9,
                                          pad_to_max_length=True)),
    "mnli": ("bert", "pairs", dict(task_name="mnli", max_seq_length=48)),
}
# The smoothed loss takes the place of the model's own, in evaluation too.
CASES |= {name + "-smoothed": (*CASES[name][:2], CASES[name][2] | dict(label_smoothing_factor=0.1)) for name in ("summarization", "mnli")}


def rows_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def sample_rows(scratch, kind, flags):
    folder = os.path.join(scratch, "rows-" + kind + str(flags.get("version_2_with_negative", "")))
    fixtures.run([fixtures.HFTRAIN, "sample-data", kind, folder, "--size", "400000" if kind == "pairs" else "60000", "--seed", "5"])
    paths = [os.path.join(folder, name + ".jsonl") for name in ("train", "validation")]
    if kind == "pairs":
        return mnli_rows(folder, paths)
    if flags.get("version_2_with_negative"):
        for path in paths:
            rows = rows_of(path)
            with open(path, "w") as file:
                for i, row in enumerate(rows):
                    file.write(json.dumps(row | ({"question": "Why was it?", "answers": {"text": [], "answer_start": []}} if i % 4 == 0 else {})) + "\n")
    return paths


def mnli_rows(folder, paths):
    """The pairs under MNLI's names; a third of the validation rows, with their texts shortened, are the mismatched set."""
    train, valid = map(rows_of, paths)
    other = [row | {"sentence1": row["sentence1"][: len(row["sentence1"]) // 2]} for row in valid[::3]]
    written = [os.path.join(folder, name + ".jsonl") for name in ("mnli-train", "mnli-matched", "mnli-mismatched")]
    for path, rows in zip(written, (train, [row for i, row in enumerate(valid) if i % 3], other)):
        with open(path, "w") as file:
            for row in rows:
                file.write(json.dumps({"premise": row["sentence1"], "hypothesis": row["sentence2"], "label": row["label"]}) + "\n")
    return written


def tokenizer_folder(scratch, kind):
    text, folder = fixtures.sample_text(scratch, 100_000), os.path.join(scratch, "tokenizer-" + kind)
    if not os.path.exists(folder):
        trained = {"qa": "wordpiece", "seq2seq": "unigram", "pairs": "wordpiece"}[kind]
        fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", trained, "--vocab_size", "512", "--files", text, "--output", folder])
    return folder


def labels_of(rows):
    return {name: number for number, name in enumerate(sorted({row["label"] for row in rows}))}


def model_folder(scratch, name, kind, tokenizer, labels=None):
    import torch
    from transformers import AutoConfig, AutoModelForQuestionAnswering, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification
    folder = os.path.join(scratch, f"{name}-{kind}")
    torch.manual_seed(0)
    maker = {"qa": AutoModelForQuestionAnswering, "seq2seq": AutoModelForSeq2SeqLM, "pairs": AutoModelForSequenceClassification}[kind]
    more = dict(label2id=labels, id2label={number: name for name, number in labels.items()}) if labels else {}
    model = maker.from_config(AutoConfig.for_model(name, **MODELS[name], **more))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, model


def question_features(tokenizer, rows, flags):
    from question_answering import windows_of
    case = {"records": rows, "pad_to_max_length": True} | flags
    windows = windows_of(case, tokenizer)
    features = []
    for w in windows:  # the collator pads again where the script does not
        size = len(w["ids"]) if case["pad_to_max_length"] else sum(w["mask"])
        features.append({"input_ids": w["ids"][:size], "attention_mask": w["mask"][:size], "token_type_ids": w["types"][:size],
                         "start_positions": w["start"], "end_positions": w["end"]})
    return windows, features


def pair_features(tokenizer, rows, flags):
    padding = "max_length" if flags.get("pad_to_max_length") else False
    features = []
    for row in rows:
        pair = (row["translation"][flags["source_lang"]], row["translation"][flags["target_lang"]]) if "source_lang" in flags else (
            row["text"], row["summary"])
        feature = dict(tokenizer(flags.get("source_prefix", "") + pair[0], max_length=flags["max_source_length"], padding=padding, truncation=True))
        labels = tokenizer(text_target=pair[1], max_length=flags["max_target_length"], padding=padding, truncation=True)["input_ids"]
        feature["labels"] = [-100 if padding and label == tokenizer.pad_token_id else label for label in labels]
        features.append({key: feature[key] for key in ("input_ids", "attention_mask", "labels")})
    return features


def class_features(tokenizer, rows, flags, labels):
    return [dict(tokenizer(row["premise"], row["hypothesis"], max_length=flags["max_seq_length"], padding="max_length", truncation=True)) |
            {"label": labels[row["label"]]} for row in rows]


def collator_of(kind, tokenizer, model, flags):
    from transformers import DataCollatorForSeq2Seq, DataCollatorWithPadding, default_data_collator
    if flags.get("pad_to_max_length", kind in ("qa", "pairs")):
        return default_data_collator
    return DataCollatorWithPadding(tokenizer) if kind == "qa" else DataCollatorForSeq2Seq(tokenizer, model=model)


def metrics_of_answers(trainer, rows, windows, features, flags):
    import numpy
    from question_answering import predict, scores_of
    starts, ends = trainer.predict(features).predictions[:2]
    logits = numpy.stack([starts, ends], axis=1)
    case = {"records": rows, "n_best_size": 20} | flags
    return scores_of(case, predict(case, windows, logits)[0])


def accuracy_of(given):
    return {"accuracy": float((given.predictions.argmax(1) == given.label_ids).mean())}


def mnli_peer(arguments, flags, paths, model, tokenizer):
    """What run_glue makes of both sets: the second under keys that end in _mm, in one file with the first."""
    from transformers import Trainer
    train, *evaluated = (class_features(tokenizer, rows_of(path), flags, model.config.label2id) for path in paths)
    trainer = Trainer(model=model, args=arguments, train_dataset=train, eval_dataset=evaluated[0],
                      data_collator=collator_of("pairs", tokenizer, model, flags), compute_metrics=accuracy_of)
    trainer.train()
    metrics = {}
    for features, suffix in zip(evaluated, ("", "_mm")):
        found = trainer.evaluate(eval_dataset=features) | {"eval_samples": len(features)}
        metrics |= {key + suffix: value for key, value in found.items()}
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}, metrics


def arguments_of(scratch, flags, steps):
    from transformers import TrainingArguments
    return TrainingArguments(output_dir=os.path.join(scratch, "peer"), use_cpu=True, max_steps=steps, report_to=[], disable_tqdm=True,
                             label_smoothing_factor=flags.get("label_smoothing_factor", 0.0),
                             gradient_accumulation_steps=flags.get("gradient_accumulation_steps", 1), **COMMON)


def peer(scratch, name, kind, flags, paths, model, tokenizer, steps):
    from transformers import Trainer
    arguments = arguments_of(scratch, flags, steps)
    if kind == "pairs":
        return mnli_peer(arguments, flags, paths, model, tokenizer)
    train, valid = map(rows_of, paths)
    if kind == "qa":
        length = {"max_seq_length": flags["max_seq_length"], "doc_stride": flags["doc_stride"], "pad_to_max_length": flags.get("pad_to_max_length", True)}
        (_, features), (windows, evaluated) = (question_features(tokenizer, rows, length) for rows in (train, valid))
    else:
        features, evaluated = (pair_features(tokenizer, rows, flags) for rows in (train, valid))
    if name != "bert":
        for feature in (*features, *evaluated):
            feature.pop("token_type_ids", None)
    trainer = Trainer(model=model, args=arguments, train_dataset=features, eval_dataset=evaluated,
                      data_collator=collator_of(kind, tokenizer, model, flags))
    trainer.train()
    metrics = {"eval_loss": trainer.evaluate()["eval_loss"]}
    if kind == "qa":
        metrics |= {"eval_" + key: value for key, value in metrics_of_answers(trainer, valid, windows, evaluated, flags).items()}
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}, metrics


def our_folder(scratch, task, flags):
    return os.path.join(scratch, "-".join(("ours", task, *flags)))


def ours(scratch, task, folder, flags, paths, steps):
    out = our_folder(scratch, task, flags)
    given = []
    for key, value in (COMMON | flags | {"max_steps": steps}).items():
        given += ["--no_" + key] if value is False else ["--" + key] if value is True else ["--" + key, str(value)]
    second = ["--validation_mismatched_file", paths[2]] if len(paths) > 2 else []
    fixtures.run([fixtures.HFTRAIN, "--task", task, "--model_name_or_path", folder, "--train_file", paths[0], "--validation_file", paths[1],
                  *second, "--do_train", "--do_eval", "--use_cpu", "--nproc_per_node", "1", "--output_dir", out, *given])
    with open(os.path.join(out, "eval_results.json")) as file:
        return fixtures.losses(fixtures.our_records(out)), json.load(file)


def compare(name, steps, scratch):
    from transformers import AutoTokenizer
    family, kind, flags = CASES[name]
    paths = sample_rows(scratch, kind, flags)
    names = ["input_ids", "attention_mask"] if kind == "seq2seq" else ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder(scratch, kind), model_input_names=names)
    folder, model = model_folder(scratch, family, kind, tokenizer, labels_of(rows_of(paths[0])) if kind == "pairs" else None)
    task = {"qa": "question-answering", "pairs": "text-classification"}.get(kind, name.split("-")[0])
    my_losses, mine = ours(scratch, task, folder, flags, paths, steps)
    their_losses, theirs = peer(scratch, family, kind, flags, paths, model, tokenizer, steps)
    if sorted(my_losses) != sorted(their_losses) or len(my_losses) != steps:
        raise SystemExit(f"{name}: steps differ: {sorted(my_losses)} against {sorted(their_losses)}")
    worst = fixtures.largest(abs(my_losses[s] - their_losses[s]) / their_losses[s] for s in their_losses)
    if kind == "pairs" and set(mine) != set(theirs):
        raise SystemExit(f"{name}: keys differ: {sorted(set(mine) ^ set(theirs))}")
    theirs = {key: value for key, value in theirs.items() if not TIMED.search(key)}
    apart = {key: abs(mine[key] - value) for key, value in theirs.items()}
    print(f"{name}: loss {their_losses[1]:.4f} -> {their_losses[steps]:.4f}, worst relative difference {worst:.2e}; "
          + ", ".join(f"{key} {value:.6g} (apart {apart[key]:.1e})" for key, value in theirs.items()), flush=True)
    return worst <= 1e-4 and all(gap <= (1e-4 * theirs[key] if "loss" in key else 1e-6) for key, gap in apart.items())


def main():
    fixtures.compare_cases(CASES, compare, steps=50)


if __name__ == "__main__":
    main()
