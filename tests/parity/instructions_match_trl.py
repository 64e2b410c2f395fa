#!/usr/bin/env python3
"""Losses of instruction data against the Hugging Face Trainer on what TRL's rules make of the same rows: same folder, same seed, shuffled.
The rules are TRL's in our own words; with the package trl its SFTTrainer is compared, too.

  instructions_match_trl.py [--cases NAME…] [--steps 20] [--trl]

The bar is a relative difference of 1e-4 in every loss.
"""
import argparse
import json
import os
import random
import shutil
import sys
import tempfile

import fixtures

TEMPLATE = ("{% for m in messages %}{{ m['role'] }}: {% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}{{ eos_token }}{% endgeneration %}"
            "{% else %}{{ m['content'] }}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")
COMMON = dict(per_device_train_batch_size=4, logging_steps=1, save_strategy="no", learning_rate=1e-3, seed=7, lr_scheduler_type="cosine", warmup_steps=5,
              weight_decay=0.1, max_grad_norm=1.0, gradient_accumulation_steps=2)
SHAPES = {
    "llama": dict(vocab_size=512, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256),
    "qwen3": dict(vocab_size=512, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=12,
                  max_position_embeddings=256),
    "gpt2": dict(vocab_size=512, n_positions=256, n_embd=48, n_layer=2, n_head=4, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0),
}
CASES = {
    "messages": ("llama", "messages", {}), "answers": ("qwen3", "messages", {"assistant_only_loss": True, "max_length": 40}),
    "completions": ("gpt2", "pairs", {"max_length": 256}), "pairs": ("llama", "talks", {"completion_only_loss": False}),
    "packed": ("llama", "messages", {"packing": True, "max_length": 96, "assistant_only_loss": True}),
    "dft": ("llama", "messages", {"loss_type": "dft", "assistant_only_loss": True}),
    "dft-packed": ("qwen3", "talks", {"loss_type": "dft", "packing": True, "max_length": 96}),
    "tokens": ("llama", "labels", {"max_length": 20}), "masked-tokens": ("qwen3", "masks", {"completion_only_loss": True}),
    "unmasked-tokens": ("gpt2", "masks", {}), "packed-tokens": ("llama", "masks", {"packing": True, "max_length": 64, "completion_only_loss": True}),
    "packed-gpt2": ("gpt2", "pairs", {"packing": True, "max_length": 64, "packing_strategy": "bfd_split"}),
    "wrapped": ("llama", "messages", {"packing": True, "max_length": 48, "packing_strategy": "wrapped", "assistant_only_loss": True}),
    "wrapped-gpt2": ("gpt2", "pairs", {"packing": True, "max_length": 24, "packing_strategy": "wrapped"}),
}
EVALUATED = {"evaluated-gpt2": ("gpt2", 1), "evaluated-llama": ("llama", 2), "evaluated-gpt2-apart": ("gpt2", 2)}  # family and ranks


def tokens_of(rng, kind):
    """A row that somebody else has tokenised; masks of both kinds, which overlap."""
    ids = [rng.randrange(60, 90) for _ in range(rng.randrange(6, 30))]
    if kind == "labels":
        return {"input_ids": ids, "labels": [-100 if rng.random() < 0.3 else token + 1 for token in ids]}
    return {"input_ids": ids, "completion_mask": [int(i > 2) for i in range(len(ids))], "assistant_masks": [int(rng.random() < 0.8) for _ in ids]}


def made_rows(scratch, kind):
    source, path = os.path.join(scratch, "rows"), os.path.join(scratch, kind + ".jsonl")
    if not os.path.exists(source):
        fixtures.run([fixtures.HFTRAIN, "sample-data", "instructions", source, "--size", "20000", "--seed", "5"])
    with open(os.path.join(source, "train.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    if kind == "pairs":
        rows = [{"prompt": r["messages"][0]["content"], "completion": " " + r["messages"][1]["content"]} for r in rows]
    if kind == "talks":
        rows = [{"prompt": r["messages"][:1], "completion": r["messages"][1:]} for r in rows]
    if kind in ("labels", "masks"):
        rows = [tokens_of(random.Random(number), kind) for number in range(120)]
    with open(path, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path, rows


def model_folder(scratch, name, tokenizer_folder):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    folder = os.path.join(scratch, "model-" + name)
    config = AutoConfig.for_model(name, **SHAPES[name], bos_token_id=0, eos_token_id=0)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    for file in os.listdir(tokenizer_folder):
        shutil.copy(os.path.join(tokenizer_folder, file), folder)
    with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
        file.write(TEMPLATE)
    return folder


def features_of(tokenizer, row, flags):
    """input_ids and labels of one row."""
    def ids_of(talk, **more):
        return tokenizer.apply_chat_template(talk, tokenize=True, return_dict=True, **more)
    hidden = 0
    if "labels" in row:
        return row["input_ids"], row["labels"]
    if "input_ids" in row:
        masks = [row["assistant_masks"]] + ([row["completion_mask"]] if flags.get("completion_only_loss") else [])
        return row["input_ids"], [token if all(bits) else -100 for token, *bits in zip(row["input_ids"], *masks)]
    if "messages" in row:
        made = ids_of(row["messages"], return_assistant_tokens_mask=flags.get("assistant_only_loss", False))
        ids, counts = made["input_ids"], made.get("assistant_masks", [1] * len(made["input_ids"]))
    else:
        if isinstance(row["prompt"], list):
            prompt, ids = ids_of(row["prompt"], add_generation_prompt=True)["input_ids"], ids_of(row["prompt"] + row["completion"])["input_ids"]
        else:
            prompt, ids = tokenizer(row["prompt"])["input_ids"], tokenizer(row["prompt"] + row["completion"] + tokenizer.eos_token)["input_ids"]
        if flags.get("completion_only_loss", True):
            hidden = next((i for i, pair in enumerate(zip(prompt, ids)) if pair[0] != pair[1]), min(len(prompt), len(ids)))
        counts = [1] * len(ids)
    return ids, [label if count and i >= hidden else -100 for i, (label, count) in enumerate(zip(ids, counts))]


def packed_by_best_fit(samples, longest, splits):
    """Sequences of (ids, labels) with the lengths of what is in them; of few rows, so that nothing need be quick."""
    if splits:
        samples = [(ids[b:b + longest], labels[b:b + longest]) for ids, labels in samples for b in range(0, len(ids), longest)]
    else:
        samples = [(ids[:longest], labels[:longest]) for ids, labels in samples]
    bins = []  # [room, since when it has that room, members]
    for turn, sample in enumerate(sorted(samples, key=lambda s: -len(s[0]))):
        fitting = [b for b in bins if b[0] >= len(sample[0])]
        chosen = min(fitting, key=lambda b: (b[0], b[1])) if fitting else [longest, 0, []]
        if not fitting:
            bins.append(chosen)
        chosen[0], chosen[1] = chosen[0] - len(sample[0]), turn
        chosen[2].append(sample)
    return [members for _, _, members in bins]


def wrapped(samples, longest):
    """Rows of one stream of tokens."""
    ids, labels = ([value for sample in samples for value in sample[column]] for column in (0, 1))
    return [[(ids[b:b + longest], labels[b:b + longest])] for b in range(0, len(ids), longest)]


def by_best_fit(flags):
    return bool(flags.get("packing")) and flags.get("packing_strategy") != "wrapped"


def packed(samples, flags):
    if flags.get("packing_strategy") == "wrapped":
        return wrapped(samples, flags["max_length"])
    return packed_by_best_fit(samples, flags["max_length"], flags.get("packing_strategy") == "bfd_split")


class Collator:
    """Padded rows, each of which is one sample; of packed sequences every sample gets a row of its own, which is what packing must not change."""

    def __init__(self, pad):
        self.pad = pad

    def __call__(self, batch):
        import torch
        samples = [s for sequence in batch for s in sequence["samples"]]
        width = max(len(ids) for ids, _ in samples)

        def padded(values, filler):
            return torch.tensor([v + [filler] * (width - len(v)) for v in values])
        first = -100 if any(len(sequence["samples"]) > 1 or sequence["packed"] for sequence in batch) else None
        labels = [([first] + labels[1:]) if first is not None else labels for _, labels in samples]
        return {"input_ids": padded([ids for ids, _ in samples], self.pad), "labels": padded(labels, -100),
                "attention_mask": padded([[1] * len(ids) for ids, _ in samples], 0)}


def dynamic_loss(outputs, labels, num_items_in_batch):
    """-p log p of every token that counts, p a constant."""
    import torch
    counted = labels[:, 1:] != -100
    chosen = torch.log_softmax(outputs.logits[:, :-1].float(), -1).gather(-1, labels[:, 1:].clamp(min=0).unsqueeze(-1)).squeeze(-1)[counted]
    return -(chosen * chosen.detach().exp()).sum() / num_items_in_batch


def of_trainer(scratch, folder, rows, flags, steps):
    from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
    tokenizer = AutoTokenizer.from_pretrained(folder)
    samples = [features_of(tokenizer, row, flags) for row in rows]
    if flags.get("packing"):
        groups = [samples[b:b + 1000] for b in range(0, len(samples), 1000)]
        sequences = [s for group in groups for s in packed(group, flags)]
    else:
        longest = flags.get("max_length", 1024)
        cut = [(ids[:longest], labels[:longest]) for ids, labels in samples]
        sequences = [[s] for s in cut if any(label != -100 for label in s[1])]
    arguments = TrainingArguments(output_dir=os.path.join(scratch, "peer"), use_cpu=True, max_steps=steps, report_to=[], disable_tqdm=True,
                                  remove_unused_columns=False, **COMMON)
    trainer = Trainer(model=AutoModelForCausalLM.from_pretrained(folder), args=arguments, data_collator=Collator(tokenizer.eos_token_id),
                      compute_loss_func=dynamic_loss if flags.get("loss_type") == "dft" else None,
                      train_dataset=[{"samples": s, "packed": by_best_fit(flags)} for s in sequences])
    trainer.train()
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}


def of_trl(scratch, folder, rows, flags, steps):
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import SFTConfig, SFTTrainer
    arguments = SFTConfig(output_dir=os.path.join(scratch, "trl"), use_cpu=True, bf16=False, gradient_checkpointing=False, max_steps=steps, report_to=[],
                          disable_tqdm=True, **COMMON, **flags)
    trainer = SFTTrainer(model=AutoModelForCausalLM.from_pretrained(folder), args=arguments, train_dataset=Dataset.from_list(rows),
                         processing_class=AutoTokenizer.from_pretrained(folder))
    trainer.train()
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}


def of_hftrain(scratch, name, folder, path, flags, steps):
    out, given = os.path.join(scratch, "ours-" + name), []
    for key, value in (COMMON | flags | {"max_steps": steps}).items():
        given += ["--" + key, str(value).lower() if isinstance(value, bool) else str(value)]
    fixtures.run([fixtures.HFTRAIN, "--task", "sft", "--model_name_or_path", folder, "--train_file", path, "--do_train", "--use_cpu", "--nproc_per_node", "1",
                  "--output_dir", out, *given])
    return fixtures.losses(fixtures.our_records(out))


def judged_by_trl(folder, samples, batch):
    """The mean of the losses of batches, each over the labels that it predicts, whatever the family and other ranks count."""
    import torch
    from transformers import AutoModelForCausalLM
    model, losses = AutoModelForCausalLM.from_pretrained(folder).eval(), []
    for begin in range(0, len(samples), batch):
        made = Collator(0)([{"samples": [sample], "packed": False} for sample in samples[begin:begin + batch]])
        labels = made.pop("labels")
        with torch.no_grad():
            logits = model(**made).logits
        losses.append(torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()).item())
    return sum(losses) / len(losses)


def evaluated(name, scratch):
    """Short rows of different lengths, of which every label counts, the never predicted first one of a row among them."""
    family, ranks = EVALUATED[name]
    folder = model_folder(scratch, family, fixtures.tokenizer(scratch, fixtures.sample_text(scratch, 60_000), 512))
    rng = random.Random(3)
    rows = [[rng.randrange(60, 90) for _ in range(rng.randrange(2, 9))] for _ in range(16)]
    path, out = os.path.join(scratch, name + ".jsonl"), os.path.join(scratch, "ours-" + name)
    with open(path, "w") as file:
        file.writelines(json.dumps({"input_ids": ids}) + "\n" for ids in rows)
    fixtures.run([fixtures.HFTRAIN, "--task", "sft", "--model_name_or_path", folder, "--validation_file", path, "--do_eval", "--use_cpu", "--nproc_per_node", str(ranks),
                  "--per_device_eval_batch_size", "2", "--max_length", "64", "--output_dir", out])
    with open(out + "/eval_results.json") as file:
        mine = json.load(file)["eval_loss"]
    wanted = judged_by_trl(folder, [(ids, ids) for ids in rows], 2)
    print(f"{name}: eval_loss {mine:.6f} beside {wanted:.6f}", flush=True)
    return abs(mine - wanted) <= 1e-5 * wanted


def worst_of(name, mine, theirs, steps):
    if sorted(mine) != sorted(theirs) or len(mine) != steps:
        raise SystemExit(f"{name}: steps differ: {sorted(mine)} against {sorted(theirs)}")
    return fixtures.largest(abs(mine[s] - theirs[s]) / theirs[s] for s in theirs)


def compare(name, options, scratch):
    if name in EVALUATED:
        return evaluated(name, scratch)
    family, kind, flags = CASES[name]
    text = fixtures.sample_text(scratch, 60_000)
    path, rows = made_rows(scratch, kind)
    folder = model_folder(scratch, family, fixtures.tokenizer(scratch, text, 512))
    mine = of_hftrain(scratch, name, folder, path, flags, options.steps)
    peers = {"the Trainer": of_trainer(scratch, folder, rows, flags, options.steps)}
    if options.trl and not by_best_fit(flags):  # TRL needs FlashAttention for it
        peers["TRL"] = of_trl(scratch, folder, rows, flags, options.steps)
    apart = {peer: worst_of(name, mine, losses, options.steps) for peer, losses in peers.items()}
    print(f"{name}: loss {mine[1]:.4f} -> {mine[options.steps]:.4f}; worst relative difference "
          + ", ".join(f"{gap:.2e} from {peer}" for peer, gap in apart.items()), flush=True)
    return all(gap <= 1e-4 for gap in apart.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", nargs="*", default=[*CASES, *EVALUATED])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--trl", action="store_true")
    options = parser.parse_args()
    try:
        __import__("trl" if options.trl else "transformers")
    except ImportError as error:
        print("SKIPPED:", error)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        passed = [compare(name, options, scratch) for name in options.cases]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
