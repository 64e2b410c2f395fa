#!/usr/bin/env python3
"""Adapters of encoders with a head and of encoders with decoders against peft: both go on from one adapter that peft made, over the same rows.

  task_adapters_match_peft.py [--cases NAME…] [--steps 20]

Compared are the loss of every step, every tensor of the saved adapters, and every tensor of the model into which `hftrain checkpoint merge`
merges ours against those into which peft's merge_and_unload() merges theirs, and ours (there the bar is 1e-6). All other bars are 1e-5
relative, of a tensor by its largest number; no gradient is long enough to be clipped. BERT's adapters stand beside all that peft calls linear,
the pooler among it (of heads for answers peft's all-linear fails). Names of every family: adapter_names_match_peft.py. Skipped by name without peft.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures
import tasks_match_trainer as tasks

COMMON = tasks.COMMON | dict(max_grad_norm=1000.0)  # torch sums a norm in float32, hftrain in float64: neither clips
MODELS = {
    "bert": tasks.SMALL,
    "roberta": dict(tasks.SMALL, type_vocab_size=1, max_position_embeddings=98),
    "t5": tasks.MODELS["t5"],
    "distilbert": dict(vocab_size=512, dim=48, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=96, dropout=0.0, attention_dropout=0.0,
                       seq_classif_dropout=0.0, pad_token_id=0),
}
CASES = {  # name: (family, kind of rows, task, flags, peft's word for the task, LoraConfig)
    "bert-classes": ("bert", "classification", "text-classification", dict(max_seq_length=40), "SEQ_CLS",
                     dict(r=4, lora_alpha=16, target_modules="all-linear")),
    "roberta-answers": ("roberta", "qa", "question-answering", dict(max_seq_length=48, doc_stride=8), "QUESTION_ANS",
                        dict(r=4, lora_alpha=8, target_modules=["query", "key", "value", "dense"], use_rslora=True)),
    "t5-summaries": ("t5", "seq2seq", "summarization", dict(max_source_length=48, max_target_length=12, source_prefix="say: "), "SEQ_2_SEQ_LM",
                     dict(r=8, lora_alpha=16)),
    "distilbert-classes": ("distilbert", "classification", "text-classification", dict(max_seq_length=40), "SEQ_CLS",
                           dict(r=4, lora_alpha=8, target_modules=["q_lin", "v_lin", "lin1"])),
}


def class_of(task):
    import transformers
    return {"SEQ_CLS": transformers.AutoModelForSequenceClassification, "QUESTION_ANS": transformers.AutoModelForQuestionAnswering,
            "SEQ_2_SEQ_LM": transformers.AutoModelForSeq2SeqLM}[task]


def labels_of(rows):
    return sorted({row["label"] for row in rows}) if "label" in rows[0] else []


def make_base(folder, family, task, tokenizer, labels):
    import torch
    from transformers import AutoConfig
    torch.manual_seed(0)
    names = dict(id2label=dict(enumerate(labels)), label2id={name: i for i, name in enumerate(labels)}) if labels else {}
    class_of(task).from_config(AutoConfig.for_model(family, **MODELS[family], **names)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def first_adapter(base, out, task, config):
    """With numbers in both halves, so that the adapter says something from the first step on."""
    import torch
    from peft import LoraConfig, get_peft_model
    torch.manual_seed(3)
    model = get_peft_model(class_of(task).from_pretrained(base), LoraConfig(task_type=task, **config))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.1)
    model.save_pretrained(out)


def features_of(kind, tokenizer, rows, flags, family):
    if kind == "qa":
        features = tasks.question_features(tokenizer, rows, dict(flags, pad_to_max_length=True))[1]
    elif kind == "seq2seq":
        features = tasks.pair_features(tokenizer, rows, flags)
    else:
        names = labels_of(rows)
        features = [dict(tokenizer(row["sentence"], max_length=flags["max_seq_length"], padding="max_length", truncation=True), labels=names.index(row["label"]))
                    for row in rows]
    if family != "bert":
        for feature in features:
            feature.pop("token_type_ids", None)
    return features


def text_inputs(scratch, folder, name):
    """Makes the base model; gives the flags that name the rows, what the Trainer reads of them, and the tokenizer where batches are padded."""
    from transformers import AutoTokenizer
    family, kind, _, flags, task, _ = CASES[name]
    fixtures.run([fixtures.HFTRAIN, "sample-data", kind, folder, "--size", "60000", "--seed", "5"])
    path = os.path.join(folder, "train.jsonl")
    rows = tasks.rows_of(path)
    names = ["input_ids", "attention_mask"] if kind == "seq2seq" else ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer = AutoTokenizer.from_pretrained(tasks.tokenizer_folder(scratch, "seq2seq" if kind == "seq2seq" else "qa"), model_input_names=names)
    make_base(os.path.join(folder, "base"), family, task, tokenizer, labels_of(rows))
    return (["--train_file", path] + ["--pad_to_max_length"] * (kind == "classification"), features_of(kind, tokenizer, rows, flags, family),
            tokenizer if kind == "seq2seq" else None)


def peer(base, adapter, saved, task, features, tokenizer, steps):
    from peft import PeftModel
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments, default_data_collator
    model = PeftModel.from_pretrained(class_of(task).from_pretrained(base), adapter, is_trainable=True)
    arguments = TrainingArguments(output_dir=saved + "-peer", use_cpu=True, max_steps=steps, report_to=[], disable_tqdm=True, **COMMON)
    collator = DataCollatorForSeq2Seq(tokenizer, model=model.get_base_model()) if tokenizer else default_data_collator
    trainer = Trainer(model=model, args=arguments, train_dataset=features, data_collator=collator)
    trainer.train()
    trainer.save_model(saved)
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}


def worst_of(mine, theirs):
    # Added to the scores of all places, it changes no loss: its gradient is rounding alone, which AdamW makes steps of.
    mine, theirs = ({name: tensor for name, tensor in each.items() if not name.endswith("qa_outputs.bias")} for each in (mine, theirs))
    if sorted(mine) != sorted(theirs):
        raise SystemExit(f"tensors differ: {sorted(set(mine) ^ set(theirs))}")
    return fixtures.largest(((mine[k].float() - theirs[k].float()).abs().max() / theirs[k].float().abs().max().clamp_min(1e-12)).item() for k in mine)


def merged_by_peft(base, adapter, task):
    from peft import PeftModel
    merged = PeftModel.from_pretrained(class_of(task).from_pretrained(base), adapter).merge_and_unload()
    merged.save_pretrained(adapter + "-of-peft")
    return adapter + "-of-peft"


def compare(name, steps, scratch):
    from safetensors.torch import load_file
    _, _, task_name, flags, task, config = CASES[name]
    folder = os.path.join(scratch, name)
    base, adapter, ours, theirs = (os.path.join(folder, part) for part in ("base", "first", "ours", "theirs"))
    data, features, tokenizer = text_inputs(scratch, folder, name)
    first_adapter(base, adapter, task, config)
    given = [part for key, value in (COMMON | flags | {"max_steps": steps}).items() for part in (f"--{key}", str(value))]
    fixtures.run([fixtures.HFTRAIN, "--task", task_name, "--model_name_or_path", adapter, "--use_peft", *data, "--do_train", "--use_cpu",
                  "--nproc_per_node", "1", "--output_dir", ours, *given], env={**os.environ, "OMP_NUM_THREADS": "1"})
    peers = peer(base, adapter, theirs, task, features, tokenizer, steps)
    mine = fixtures.losses(fixtures.our_records(ours))
    if sorted(peers) != sorted(mine) or len(mine) != steps:
        raise SystemExit(f"{name}: steps differ: {sorted(mine)} against {sorted(peers)}")
    worst = fixtures.largest(abs(mine[s] - peers[s]) / peers[s] for s in peers)
    saved = worst_of(*(load_file(f"{place}/adapter_model.safetensors") for place in (ours, theirs)))
    fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", ours, f"{folder}/merged"])
    merged, of_theirs = (worst_of(*(load_file(f"{place}/model.safetensors") for place in (f"{folder}/merged", merged_by_peft(base, each, task))))
                         for each in (ours, theirs))
    with open(f"{ours}/adapter_config.json") as file:
        targets = sorted(json.load(file)["target_modules"])
    print(f"{name}: loss {peers[1]:.4f} -> {peers[steps]:.4f}, worst relative difference {worst:.2e}, of a saved tensor {saved:.2e}, of a merged one "
          f"{of_theirs:.2e}, where peft merges ours {merged:.2e}; {len(targets)} targets", flush=True)
    return fixtures.largest([worst, saved, of_theirs]) <= 1e-5 and merged <= 1e-6


def main():
    try:
        import peft  # noqa: F401
    except ImportError:
        print("SKIPPED: peft is not installed")
        sys.exit(77)
    fixtures.compare_cases(CASES, compare, steps=20)


if __name__ == "__main__":
    main()
