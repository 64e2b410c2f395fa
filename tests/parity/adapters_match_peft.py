#!/usr/bin/env python3
"""Adapters of decoders against peft: both go on from one adapter that peft made, over the same text.

  adapters_match_peft.py [--cases NAME…] [--steps 20]

Compared are the loss of every step, every tensor of the saved adapters, every tensor of the model into which `hftrain checkpoint merge`
merges ours against the one into which peft's merge_and_unload() merges theirs, and the loss that peft computes with our folder against that
of our merged model. Every bar is 1e-5 relative, of a tensor by its largest number; the Trainer clips by a norm summed in float64
(--exact_norm of peer_trainer.py), as hftrain does. Then folders that peft and hftrain make differently: embeddings that grew, and heads over
bodies without one. Skipped by name without peft.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures
import peers

ARGUMENTS = dict(per_device_train_batch_size=4, logging_steps=1, save_strategy="no", learning_rate=1e-3, seed=7,
                 lr_scheduler_type="cosine", warmup_steps=2, weight_decay=0.1, max_grad_norm=1.0)
CASES = {  # name: (model, ranks, LoraConfig)
    "gpt2": ("tiny-gpt2", 1, dict(r=8, lora_alpha=16)),
    "llama-all-linear": ("tiny-llama", 1, dict(r=4, lora_alpha=16, use_rslora=True, target_modules="all-linear")),
    "qwen3": ("tiny-qwen3", 1, dict(r=4, lora_alpha=8, target_modules="all-linear")),
    "gemma": ("tiny-gemma", 1, dict(r=4, lora_alpha=8, target_modules="all-linear")),
    "llama-two-ranks-embeddings": ("tiny-llama", 2, dict(r=4, lora_alpha=8, modules_to_save=["lm_head"])),
}


def first_adapter(model_folder, out, config):
    """With numbers in both halves, so that the adapter says something from the first step on."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM
    torch.manual_seed(3)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(model_folder), LoraConfig(task_type="CAUSAL_LM", **config))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.02)
    model.save_pretrained(out)
    return out


def losses(records):
    return {r["step"]: r["loss"] for r in records if "loss" in r}


def worst_tensor(mine, theirs):
    from safetensors.torch import load_file
    a, b = load_file(mine), load_file(theirs)
    if sorted(a) != sorted(b):
        raise SystemExit(f"tensors differ: {sorted(set(a) ^ set(b))}")
    return fixtures.largest(((a[k].float() - b[k].float()).abs().max() / b[k].float().abs().max().clamp_min(1e-12)).item() for k in a)


def loss_in_peft(model_folder, adapter, text):
    """Of our folder, opened as anybody would."""
    import torch
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer
    ids = AutoTokenizer.from_pretrained(model_folder)(open(text).read(4000), return_tensors="pt")["input_ids"][:, :128]
    with torch.no_grad():
        return AutoPeftModelForCausalLM.from_pretrained(adapter)(input_ids=ids, labels=ids).loss.item()


def merged_by_peft(model_folder, adapter, out):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model_folder), adapter).merge_and_unload().save_pretrained(out)
    return out


def merged_loss(model_folder, merged, text):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    ids = AutoTokenizer.from_pretrained(model_folder)(open(text).read(4000), return_tensors="pt")["input_ids"][:, :128]
    with torch.no_grad():
        return AutoModelForCausalLM.from_pretrained(merged)(input_ids=ids, labels=ids).loss.item()


def compare(name, steps, scratch):
    shape, ranks, config = CASES[name]
    text = fixtures.sample_text(scratch)
    model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, text))
    folder = os.path.join(scratch, name)
    adapter = first_adapter(model, os.path.join(folder, "first"), config)
    arguments = {**ARGUMENTS, "max_steps": steps}
    out = os.path.join(folder, "peer.json")
    peers.run(fixtures.PEER, ["--model", model, "--adapter", adapter, "--train_file", text, "--block_size", "128", "--out", out,
                              "--save_model", f"{folder}/theirs", "--exact_norm", "--", f"output_dir={folder}/peer", "use_cpu=true"] +
              [f"{k}={json.dumps(v)}" for k, v in arguments.items()], ranks)
    flags = [part for k, v in arguments.items() for part in (f"--{k}", str(v))]
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", adapter, "--use_peft", "--train_file", text, "--block_size", "128",
                  "--output_dir", f"{folder}/ours", "--use_cpu", "--nproc_per_node", str(ranks), "--do_train"] + flags)
    with open(out) as file:
        theirs = losses(json.load(file)["log_history"])
    mine = losses(fixtures.our_records(f"{folder}/ours"))
    if sorted(theirs) != sorted(mine) or len(mine) != steps:
        raise SystemExit(f"{name}: steps differ: {sorted(mine)} against {sorted(theirs)}")
    worst = fixtures.largest(abs(mine[s] - theirs[s]) / theirs[s] for s in theirs)
    if worst > 1e-5:
        print({s: f"{abs(mine[s] - theirs[s]) / theirs[s]:.1e}" for s in theirs})
    saved = worst_tensor(f"{folder}/ours/adapter_model.safetensors", f"{folder}/theirs/adapter_model.safetensors")
    fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", f"{folder}/ours", f"{folder}/merged"])
    merged_apart = worst_tensor(f"{folder}/merged/model.safetensors", merged_by_peft(model, f"{folder}/theirs", f"{folder}/of-peft") + "/model.safetensors")
    opened, merged = loss_in_peft(model, f"{folder}/ours", text), merged_loss(model, f"{folder}/merged", text)
    print(f"{name}: loss {theirs[1]:.4f} -> {theirs[steps]:.4f}, worst relative difference {worst:.2e}, of a saved tensor "
          f"{saved:.2e}, of a merged one {merged_apart:.2e}; in peft {opened:.6f}, merged {merged:.6f}", flush=True)
    return fixtures.largest([worst, saved, merged_apart, abs(opened - merged) / opened]) <= 1e-5


def grown_as_peft_merges(scratch):
    """Eight more tokens than the base model has, which peft saves whole: its merge and ours give the same folder."""
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM
    passed = []
    # An output matrix of its own, a tied one, and one that has an adapter: peft saves what stands below that as a copy of the base.
    for shape, modules in (("tiny-llama", {}), ("tiny-gpt2", {}), ("tiny-llama", {"target_modules": ["q_proj", "lm_head"], "modules_to_save": ["embed_tokens"]})):
        model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, fixtures.sample_text(scratch)))
        adapter, ours, theirs = (os.path.join(scratch, f"{shape}-{part}-{len(modules)}") for part in ("grown", "ours", "theirs"))
        torch.manual_seed(5)
        base = AutoModelForCausalLM.from_pretrained(model)
        base.resize_token_embeddings(base.config.vocab_size + 8)
        grown = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False, **modules))
        grown.save_pretrained(adapter, save_embedding_layers=True)
        resized = AutoModelForCausalLM.from_pretrained(model)
        resized.resize_token_embeddings(resized.config.vocab_size + 8)
        PeftModel.from_pretrained(resized, adapter).merge_and_unload().save_pretrained(theirs)
        fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", adapter, ours])
        apart = worst_tensor(f"{ours}/model.safetensors", f"{theirs}/model.safetensors")
        same = [json.load(open(f"{place}/config.json"))["vocab_size"] for place in (ours, theirs)]
        print(f"grown {shape} {modules}: {len(load_file(f'{ours}/model.safetensors'))} tensors, worst {apart:.2e}, vocabularies {same}", flush=True)
        passed.append(apart <= 1e-6 and same[0] == same[1])
    return all(passed)


def tied_embeddings_saved_whole(scratch):
    """Trained as one with the output matrix, and saved under both names: peft computes with our folder what the merged model does."""
    text, passed = fixtures.sample_text(scratch), []
    for shape, module in (("tiny-gpt2", "wte"), ("tiny-gemma", "embed_tokens")):
        ours, merged = (os.path.join(scratch, f"tied-{shape}-{part}") for part in ("ours", "merged"))
        model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, text))
        fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", model, "--use_peft", "--lora_modules_to_save", module, "--train_file", text, "--block_size", "64", "--max_steps", "5",
                      "--learning_rate", "1e-2", "--use_cpu", "--nproc_per_node", "1", "--save_strategy", "no", "--do_train", "--output_dir", ours])
        fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", ours, merged])
        opened, whole = loss_in_peft(model, ours, text), merged_loss(model, merged, text)
        print(f"tied embeddings of {shape}: in peft {opened:.6f}, merged {whole:.6f}", flush=True)
        passed.append(abs(opened - whole) <= 1e-5 * whole)
    return all(passed)


def head_over_a_body(scratch):
    """A body without a head, under which an adapter of ours holds a new one: peft computes with it what the merged model does."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaModel
    folder = os.path.join(scratch, "headless")
    text, body, ours, merged = fixtures.sample_text(scratch), *(os.path.join(folder, part) for part in ("body", "ours", "merged"))
    torch.manual_seed(0)
    LlamaModel(LlamaConfig(vocab_size=512, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0,
                           tie_word_embeddings=False)).save_pretrained(body)
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", body, "--tokenizer_name", fixtures.tokenizer(scratch, text, 512), "--use_peft", "--train_file", text, "--block_size", "32",
                  "--max_steps", "5", "--learning_rate", "1e-2", "--use_cpu", "--nproc_per_node", "1", "--save_strategy", "no", "--do_train", "--output_dir", ours])
    fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", ours, merged])
    ids = torch.arange(40).reshape(2, 20)
    found = []
    with torch.no_grad():
        for seed in (1, 2):
            torch.manual_seed(seed)  # by which transformers draws the head that the body lacks
            found.append(PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(body), ours)(input_ids=ids).logits)
        found.append(AutoModelForCausalLM.from_pretrained(merged)(input_ids=ids).logits)
    apart = [((one - found[2]).abs().max() / found[2].abs().max()).item() for one in found[:2]]
    print(f"head over a body: peft and the merged model {apart[0]:.2e} and {apart[1]:.2e} apart", flush=True)
    return fixtures.largest(apart) <= 1e-5


def tied_head_over_a_body(scratch):
    """Bodies of encoders, whose head of words has the embeddings for its last matrix: peft opens our adapter, and we what peft saves of it."""
    import torch
    from peft import PeftModel
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM
    text, tokenizer, passed = fixtures.sample_text(scratch), os.path.join(scratch, "pieces"), []
    fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", "wordpiece", "--vocab_size", "400", "--files", text, "--output", tokenizer])
    for family in ("bert", "roberta"):
        body, ours, theirs, apart, merged = (os.path.join(scratch, f"tied-{family}", part) for part in ("body", "ours", "theirs", "apart", "merged"))
        torch.manual_seed(0)
        AutoModel.from_config(AutoConfig.for_model(family, vocab_size=520, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=80,
                                                   pad_token_id=0)).save_pretrained(body)
        common = ["--task", "mlm", "--max_seq_length", "32", "--use_cpu", "--nproc_per_node", "1"]
        fixtures.run([fixtures.HFTRAIN, *common, "--model_name_or_path", body, "--tokenizer_name", tokenizer, "--use_peft", "--train_file", text, "--max_steps", "5", "--learning_rate", "1e-2",
                      "--save_strategy", "no", "--do_train", "--output_dir", ours])
        fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", ours, merged])
        ids = torch.arange(5, 45).reshape(2, 20)
        opened = PeftModel.from_pretrained(AutoModelForMaskedLM.from_pretrained(body), ours)
        with torch.no_grad():
            found, wanted = opened(input_ids=ids).logits, AutoModelForMaskedLM.from_pretrained(merged)(input_ids=ids).logits
        worst = ((found - wanted).abs().max() / wanted.abs().max()).item()
        opened.save_pretrained(theirs)
        judged = []
        for place in (ours, theirs):
            fixtures.run([fixtures.HFTRAIN, *common, "--model_name_or_path", place, "--tokenizer_name", tokenizer, "--validation_file", text, "--max_eval_samples", "8", "--do_eval", "--output_dir",
                          place + "-judged"])
            with open(place + "-judged/eval_results.json") as file:
                judged.append(json.load(file)["eval_loss"])
        with torch.no_grad():
            next(parameter for name, parameter in opened.named_parameters() if name.endswith("decoder.weight") and "modules_to_save" in name).add_(0.5)
        opened.save_pretrained(apart)
        refused = subprocess.run([fixtures.HFTRAIN, *common, "--model_name_or_path", apart, "--tokenizer_name", tokenizer, "--validation_file", text, "--do_eval", "--output_dir", apart + "-judged"],
                                 capture_output=True, text=True)
        told = refused.returncode == 4 and "peft trained a copy of it apart" in refused.stderr
        print(f"tied head over a body of {family}: peft and the merged model {worst:.2e} apart; loss of ours {judged[0]:.6f}, of what peft saved of it {judged[1]:.6f}; trained apart refused: {told}",
              flush=True)
        passed.append(worst <= 1e-5 and judged[0] == judged[1] and told)
    return all(passed)


def main():
    try:
        import peft  # noqa: F401
    except ImportError:
        print("SKIPPED: peft is not installed")
        sys.exit(77)
    others = {"grown": grown_as_peft_merges, "tied": tied_embeddings_saved_whole, "headless": head_over_a_body, "tied-head": tied_head_over_a_body}
    fixtures.compare_cases(CASES | others, lambda name, steps, scratch: others[name](scratch) if name in others else compare(name, steps, scratch), steps=20)


if __name__ == "__main__":
    main()
