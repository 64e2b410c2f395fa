#!/usr/bin/env python3
"""Token classification and masked language modelling over 50 steps against the Hugging Face Trainer: same folder, same rows, same seed,
shuffled; then the same evaluation.

  tokens_match_trainer.py [--cases NAME…] [--steps 50]

The Trainer's features are made by transformers after the rules of run_ner and run_mlm. Masks are random, and the Trainer's collator would
draw others: it gets one that computes the masks of lib/hftrain/data/masking.h, written down here a second time after that page. So the
losses show padding, labels, loss and order; that the draws are 15, 80, 10 and 10 % is shown by test_data. The bars are a relative
difference of 1e-4 in a loss and of 1e-6 in a metric.
"""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

SEED, BATCH, MASK64 = 7, 8, (1 << 64) - 1
ARGUMENTS = dict(learning_rate=1e-3, lr_scheduler_type="cosine", warmup_steps=5, weight_decay=0.1, seed=SEED, logging_steps=1,
                 per_device_train_batch_size=BATCH, per_device_eval_batch_size=BATCH, save_strategy="no")
GPT2 = dict(model_type="gpt2", n_positions=64, n_embd=64, n_layer=2, n_head=4, embd_pdrop=0, attn_pdrop=0, resid_pdrop=0,
            classifier_dropout=0)
LLAMA = dict(model_type="llama", hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, classifier_dropout=0)
BERT = dict(model_type="bert", hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
            hidden_dropout_prob=0, attention_probs_dropout_prob=0)
CASES = {
    "tags-gpt2": ("token-classification", GPT2, {}),
    "tags-llama-all-tokens": ("token-classification", LLAMA, dict(label_all_tokens=True, max_seq_length=12)),
    "tags-bert-entities": ("token-classification", BERT, dict(return_entity_level_metrics=True)),
    "masks-bert": ("mlm", BERT, dict(max_seq_length=32)),
    "masks-bert-lines": ("mlm", BERT, dict(line_by_line=True, max_seq_length=24, mlm_probability=0.3)),
    "masks-bert-whole-words": ("mlm", BERT, dict(whole_word_mask=True, max_seq_length=48)),
}


def split_mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK64
    return z ^ z >> 31


def mixed(z):
    return split_mix(z + 0x9E3779B97F4A7C15 & MASK64)


def mask(ids, roles, sample, epoch, case, tokenizer):
    """(what the model sees, labels); roles: 0 a token or the first of a word, 1 special, 2 goes with the one before."""
    state = mixed(mixed(mixed(SEED) + epoch & MASK64) + sample & MASK64)
    seen, labels, chosen = list(ids), [-100] * len(ids), False
    for place, role in enumerate(roles):
        draw = [split_mix(state + 0x9E3779B97F4A7C15 * (4 * place + k + 1) & MASK64) for k in range(4)]
        share = [(d >> 11) * 2.0 ** -53 for d in draw]
        if role != 2 or place == 0:
            chosen = role != 1 and share[0] < case.get("mlm_probability", 0.15)
        if not chosen:
            continue
        labels[place] = ids[place]
        if case.get("whole_word_mask") or share[1] < 0.8:
            seen[place] = tokenizer.mask_token_id
        elif share[2] < 0.5:
            seen[place] = draw[3] * len(tokenizer) >> 64
    return seen, labels


def make_folder(scratch, name, shape, text):
    import shutil
    import torch
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForTokenClassification
    kind = "wordpiece" if shape["model_type"] == "bert" else "bpe"
    words = os.path.join(scratch, kind)
    if not os.path.exists(words):
        fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", kind, "--vocab_size", "500", "--files", text, "--output", words])
        path = os.path.join(words, "tokenizer_config.json")
        with open(path) as file:
            config = json.load(file)
        config.setdefault("pad_token", config.get("eos_token"))
        with open(path, "w") as file:
            json.dump(config, file)
    folder, fields = os.path.join(scratch, name), dict(shape)
    fields.update(vocab_size=500, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    torch.manual_seed(0)
    masked = CASES[name][0] == "mlm"
    if not masked:
        fields.update(id2label=dict(enumerate(TAGS)), label2id={t: i for i, t in enumerate(TAGS)})
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    (AutoModelForMaskedLM if masked else AutoModelForTokenClassification).from_config(config).save_pretrained(folder)
    for file in os.listdir(words):
        shutil.copy(os.path.join(words, file), folder)
    return folder


TAGS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC"]  # not sorted: the model's own order stays


def tag_features(path, tokenizer, case):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    inner = [TAGS.index("I-" + t[2:]) if "I-" + t[2:] in TAGS and t[0] == "B" else i for i, t in enumerate(TAGS)]
    features = []
    for row in rows:
        encoded = tokenizer(row["tokens"], truncation=True, max_length=case.get("max_seq_length", 64), is_split_into_words=True)
        labels, before = [], None
        for word in encoded.word_ids():
            number = None if word is None else TAGS.index(row["ner_tags"][word])
            labels.append(-100 if word is None else number if word != before else inner[number] if case.get("label_all_tokens") else -100)
            before = word
        features.append({**encoded, "labels": labels})
    return features


def mask_features(path, tokenizer, case):
    import numpy as np
    from transformers import DataCollatorForLanguageModeling
    with open(path) as file:
        lines = file.read().splitlines()
    more = dict(return_special_tokens_mask=True, return_offsets_mapping=True)
    length = case["max_seq_length"]
    if case.get("line_by_line"):
        encoded = tokenizer(lines, truncation=True, max_length=length, **more)
    else:
        encoded = {}
        for begin in range(0, len(lines), 1000):
            for key, values in tokenizer(lines[begin:begin + 1000], **more).items():
                joined = [x for row in values for x in row]
                whole = len(joined) // length * length
                encoded.setdefault(key, []).extend(joined[i:i + length] for i in range(0, whole, length))
    features = []
    for i, (ids, special, offsets) in enumerate(zip(encoded["input_ids"], encoded["special_tokens_mask"], encoded["offset_mapping"])):
        roles = list(special)
        if case.get("whole_word_mask"):
            _, never = DataCollatorForLanguageModeling._calc_word_ids_and_prob_mask(np.array([offsets]), np.array([special]))
            roles = [1 if s else 2 if n else 0 for s, n in zip(special, never[0])]
        features.append({"input_ids": ids, "roles": roles, "sample": i})
    return features


class Masks:
    """A collator: batches of one epoch after another, as the loader asks for them."""

    def __init__(self, tokenizer, case, samples, epochs):
        self.tokenizer, self.case, self.epochs = tokenizer, case, epochs
        self.batches, self.asked = -(-samples // BATCH), 0

    def __call__(self, features):
        epoch = self.asked // self.batches if self.epochs else 0
        self.asked += 1
        rows = [mask(f["input_ids"], f["roles"], f["sample"], epoch, self.case, self.tokenizer) for f in features]
        batch = self.tokenizer.pad([{"input_ids": seen} for seen, _ in rows], return_tensors="pt")
        import torch
        width = batch["input_ids"].shape[1]
        batch["labels"] = torch.tensor([labels + [-100] * (width - len(labels)) for _, labels in rows])
        return dict(batch)


def tag_metrics(case):
    import numpy as np
    from seqeval.metrics import accuracy_score, classification_report

    def compute(output):
        best = np.argmax(output.predictions, axis=2)
        pairs = [[(TAGS[p], TAGS[l]) for p, l in zip(a, b) if l != -100] for a, b in zip(best, output.label_ids)]
        predicted, actual = [[p for p, _ in row] for row in pairs], [[l for _, l in row] for row in pairs]
        report = classification_report(actual, predicted, output_dict=True, zero_division=0)
        overall, names = report["micro avg"], {"precision": "precision", "recall": "recall", "f1": "f1-score"}
        found = {ours: overall[theirs] for ours, theirs in names.items()} | {"accuracy": accuracy_score(actual, predicted)}
        if not case.get("return_entity_level_metrics"):
            return found
        found = {"overall_" + key: value for key, value in found.items()}
        for kind in ("PER", "ORG", "LOC"):
            found |= {f"{kind}_{ours}": report[kind][theirs] for ours, theirs in (names | {"number": "support"}).items()}
        return found
    return compute


def token_metrics(output):
    counted = output.label_ids != -100
    return {"accuracy": float((output.predictions == output.label_ids)[counted].mean())}


def theirs(scratch, name, folder, files, steps):
    from transformers import (AutoModelForMaskedLM, AutoModelForTokenClassification, AutoTokenizer, DataCollatorForTokenClassification,
                              Trainer, TrainingArguments)
    task, shape, case = CASES[name]
    tokenizer = AutoTokenizer.from_pretrained(folder, **({"add_prefix_space": True} if shape["model_type"] == "gpt2" else {}))
    masked = task == "mlm"
    rows = [(mask_features if masked else tag_features)(path, tokenizer, case) for path in files]
    arguments = TrainingArguments(output_dir=os.path.join(scratch, name + "-peer"), use_cpu=True, max_steps=steps, report_to="none",
                                  disable_tqdm=True, remove_unused_columns=not masked, **ARGUMENTS)
    model = (AutoModelForMaskedLM if masked else AutoModelForTokenClassification).from_pretrained(folder)
    trainer = Trainer(model=model, args=arguments, train_dataset=rows[0], eval_dataset=rows[1], processing_class=tokenizer,
                      data_collator=Masks(tokenizer, case, len(rows[0]), True) if masked else DataCollatorForTokenClassification(tokenizer),
                      compute_metrics=token_metrics if masked else tag_metrics(case),
                      preprocess_logits_for_metrics=(lambda logits, _: logits.argmax(-1)) if masked else None)
    trainer.train()
    if masked:
        trainer.data_collator = Masks(tokenizer, case, len(rows[1]), False)
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}, trainer.evaluate()


def ours(scratch, name, folder, files, steps):
    task, _, case = CASES[name]
    out = os.path.join(scratch, name + "-ours")
    flags = [part for key, value in {**ARGUMENTS, **case}.items() for part in (f"--{key}", str(value))]
    fixtures.run([fixtures.HFTRAIN, "--task", task, "--model_name_or_path", folder, "--train_file", files[0], "--validation_file", files[1],
                  "--do_train", "--do_eval", "--max_steps", str(steps), "--use_cpu", "--output_dir", out, *flags])
    with open(os.path.join(out, "eval_results.json")) as file:
        return fixtures.losses(fixtures.our_records(out)), json.load(file)


def compare(scratch, name, steps):
    task, shape, _ = CASES[name]
    text = fixtures.sample_text(scratch, size=40_000)
    if task == "mlm":
        files = (text, fixtures.sample_text(scratch, size=10_000, seed=2))
    else:
        files = tuple(os.path.join(scratch, f"{part}.jsonl") for part in ("train", "valid"))
        for seed, (path, size) in enumerate(zip(files, (20_000, 9_000))):
            fixtures.run([fixtures.HFTRAIN, "sample-data", "tags", path, "--size", str(size), "--seed", str(seed + 1)])
    folder = make_folder(scratch, name, shape, text)
    their_losses, their_metrics = theirs(scratch, name, folder, files, steps)
    my_losses, my_metrics = ours(scratch, name, folder, files, steps)
    if sorted(their_losses) != sorted(my_losses) or len(my_losses) != steps:
        raise SystemExit(f"{name}: steps differ: {sorted(my_losses)} against {sorted(their_losses)}")
    worst = fixtures.largest(abs(my_losses[s] - their_losses[s]) / their_losses[s] for s in their_losses)
    keys = [k for k in their_metrics if k not in ("epoch",) and "_per_second" not in k and "runtime" not in k and k != "eval_loss"]
    apart = {k: (my_metrics.get(k), their_metrics[k]) for k in keys
             if k not in my_metrics or not abs(my_metrics[k] - their_metrics[k]) <= 1e-6}
    loss = abs(my_metrics["eval_loss"] - their_metrics["eval_loss"]) / their_metrics["eval_loss"]
    print(f"{name}: loss {their_losses[1]:.4f} -> {their_losses[steps]:.4f}, worst relative difference {worst:.2e}, eval_loss {loss:.2e}, "
          f"{len(keys)} metrics {'equal' if not apart else apart}", flush=True)
    return worst <= 1e-4 and loss <= 1e-4 and keys and not apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        passed = [compare(scratch, name, options.steps) for name in options.cases]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
