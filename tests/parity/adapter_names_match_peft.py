#!/usr/bin/env python3
"""Adapters of every family under the names of peft over the installed transformers, in both directions.

  adapter_names_match_peft.py [--cases FAMILY…]

Theirs: an adapter that peft made beside every projection of the blocks is trained on here at a rate of nothing, which saves it tensor for
tensor under its names, and is merged into the tensors of merge_and_unload(). Ours: a new adapter is opened by peft without a name that is
missing, and computes there what our merged model does. ViT's modules were renamed by transformers 5: adapters and words of flags in the names of
before are taken, and what is saved has those of now. Skipped by name without peft.
"""
import json
import os
import shutil
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures
from folders_open_in_transformers import CAUSAL, CLASSES, FAMILIES, IMAGES, TEXTS, input_of, logits_of

HEADS = {"bert": CLASSES, "roberta": CLASSES, "distilbert": CLASSES, "t5": TEXTS, "bart": TEXTS, "vit": IMAGES}  # of others CAUSAL
TASKS = {CLASSES: ("text-classification", "SEQ_CLS"), TEXTS: ("summarization", "SEQ_2_SEQ_LM"), IMAGES: ("image-classification", None), CAUSAL: ("clm", "CAUSAL_LM")}
CASES = [family for family in FAMILIES if family != "vit"] + ["vit", "vit-before"]
VOCABULARY = 300
BEFORE = ((".layers.", ".encoder.layer."), (".attention.q_proj.", ".attention.attention.query."), (".attention.v_proj.", ".attention.attention.value."))


def base_of(family, folder, tokenizer):
    import torch
    import transformers
    torch.manual_seed(2)
    ids = {} if family == "vit" else dict(vocab_size=VOCABULARY, pad_token_id=tokenizer.pad_token_id or 0, eos_token_id=tokenizer.eos_token_id)
    labels = dict(id2label={0: "a", 1: "b"}, label2id={"a": 0, "b": 1}) if HEADS.get(family, CAUSAL) in (CLASSES, IMAGES) else {}
    config = transformers.AutoConfig.for_model(family, **{**FAMILIES[family], **ids, **labels})
    model = getattr(transformers, HEADS.get(family, CAUSAL)).from_config(config).eval()
    model.save_pretrained(folder)
    if family != "vit":
        tokenizer.save_pretrained(folder)
    return model


def opened(family, folder):
    import transformers
    return getattr(transformers, HEADS.get(family, CAUSAL)).from_pretrained(folder).eval()


def projections(model):
    """Endings that name every matrix of a block, as all modules are called in memory."""
    import torch
    from transformers.pytorch_utils import Conv1D
    matrices = [name.split(".") for name, module in model.named_modules() if isinstance(module, (torch.nn.Linear, Conv1D))]
    return sorted({parts[-1] for parts in matrices if any(part.isdigit() for part in parts)})


def made_by_peft(family, base, out, targets):
    import torch
    from peft import LoraConfig, get_peft_model
    whole = dict(modules_to_save=["classifier"]) if family == "vit" else {}
    torch.manual_seed(3)
    model = get_peft_model(opened(family, base), LoraConfig(task_type=TASKS[HEADS.get(family, CAUSAL)][1], r=2, lora_alpha=6, target_modules=targets, **whole))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.1)
    model.save_pretrained(out)


def rows_of(scratch, head):
    """The flags that name a few rows for the head."""
    path = os.path.join(scratch, f"{head}.jsonl")
    if head == IMAGES:
        if not os.path.exists(path):
            fixtures.run([fixtures.HFTRAIN, "sample-data", "images", path, "--size", "60000", "--seed", "5"])
            for part in ("train", "validation"):  # two classes, as the models have
                for name in sorted(os.listdir(f"{path}/{part}"))[2:]:
                    shutil.rmtree(f"{path}/{part}/{name}")
        return ["--train_dir", f"{path}/train"]
    if head == CAUSAL:
        return ["--train_file", fixtures.sample_text(scratch), "--block_size", "16"]
    with open(fixtures.sample_text(scratch)) as text, open(path, "w") as file:
        lines = text.read().split("\n")[:64]
        for number, line in enumerate(lines):
            row = {"text": line[:40] or "a", "summary": line[:12] or "a"} if head == TEXTS else {"sentence": line[:40] or "a", "label": "ab"[number % 2]}
            file.write(json.dumps(row) + "\n")
    limits = ["--max_source_length", "16", "--max_target_length", "8"] if head == TEXTS else ["--max_seq_length", "16"]
    return ["--train_file", path, *limits]


def train(scratch, family, model, output, *more):
    head = HEADS.get(family, CAUSAL)
    fixtures.run([fixtures.HFTRAIN, "--task", TASKS[head][0], "--model_name_or_path", model, "--use_peft", *rows_of(scratch, head), "--do_train", "--use_cpu",
                  "--nproc_per_node", "1", "--output_dir", output, "--save_strategy", "no", "--per_device_train_batch_size", "4", "--report_to", "none", *more],
                 env={**os.environ, "OMP_NUM_THREADS": "1", "HFTRAIN_CACHE": os.path.join(scratch, "cache")})


def tensors(folder, name="adapter_model.safetensors"):
    from safetensors.torch import load_file
    return load_file(os.path.join(folder, name))


def same(mine, theirs, bar):
    if sorted(mine) != sorted(theirs):
        raise SystemExit(f"tensors differ: {sorted(set(mine) ^ set(theirs))}")
    return fixtures.largest((mine[name].float() - theirs[name].float()).abs().max().item() for name in mine) <= bar


def opens_in_peft(family, base, adapter, merged):
    """Peft only warns of names that it misses, and goes on with an adapter that says nothing."""
    import torch
    from peft import PeftModel
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(missing|unexpected).*")
        model = PeftModel.from_pretrained(opened(family, base), adapter).eval()
    torch.manual_seed(1)
    given = input_of(model.get_base_model().config)
    with torch.no_grad():
        plain, beside, within = (logits_of(each, given) for each in (opened(family, base), model.get_base_model(), opened(family, merged)))
    apart, learned = (beside - within).abs().max().item(), (beside - plain).abs().max().item()
    print(f"  in peft {apart:.1e} from the merged model, {learned:.1e} from the base", flush=True)
    return apart <= 1e-5 and learned > 1e-3


def theirs_is_ours(scratch, family, base, theirs, folder):
    train(scratch, family, theirs, f"{folder}/on", "--learning_rate", "0", "--max_steps", "1")
    kept = same(tensors(f"{folder}/on"), tensors(theirs), 0)
    fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", theirs, f"{folder}/of-theirs"])
    from peft import PeftModel
    PeftModel.from_pretrained(opened(family, base), theirs).merge_and_unload().save_pretrained(f"{folder}/by-peft")
    return kept and same(tensors(f"{folder}/of-theirs", "model.safetensors"), tensors(f"{folder}/by-peft", "model.safetensors"), 1e-6)


def ours_is_theirs(scratch, family, base, folder, *targets):
    train(scratch, family, base, f"{folder}/ours", "--lora_target_modules", *targets, "--lora_r", "2", "--lora_dropout", "0", "--learning_rate", "3e-2", "--max_steps", "4")
    fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", f"{folder}/ours", f"{folder}/merged"])
    return opens_in_peft(family, base, f"{folder}/ours", f"{folder}/merged")


def names_of_before(scratch, base, folder):
    """The same adapter as peft over transformers 4 would have saved it, and flags of that time."""
    from safetensors.torch import save_file
    now, before = f"{folder}/now", f"{folder}/before"
    made_by_peft("vit", base, now, ["q_proj", "v_proj"])
    shutil.copytree(now, before)
    old = {}
    for name, tensor in tensors(now).items():
        for present, then in BEFORE:
            name = name.replace(present, then)
        old[name] = tensor
    save_file(old, f"{before}/adapter_model.safetensors")
    with open(f"{before}/adapter_config.json") as file:
        config = json.load(file)
    with open(f"{before}/adapter_config.json", "w") as file:
        json.dump(config | {"target_modules": ["query", "value"]}, file)
    train(scratch, "vit", before, f"{folder}/on", "--learning_rate", "0", "--max_steps", "1")
    passed = [same(tensors(f"{folder}/on"), tensors(now), 0)]
    for adapter in (now, before, f"{folder}/on"):
        fixtures.run([fixtures.HFTRAIN, "checkpoint", "merge", adapter, f"{adapter}-merged"])
        passed.append(same(tensors(f"{adapter}-merged", "model.safetensors"), tensors(f"{now}-merged", "model.safetensors"), 0))
    passed.append(opens_in_peft("vit", base, f"{folder}/on", f"{before}-merged"))
    passed.append(ours_is_theirs(scratch, "vit", base, folder, "query", "value"))
    with open(f"{folder}/ours/adapter_config.json") as file:
        passed.append(json.load(file)["target_modules"] == ["q_proj", "v_proj"])
    # A run goes on from its checkpoint, whichever names the flags have.
    flags = ["--lora_r", "2", "--lora_dropout", "0", "--learning_rate", "3e-2", "--save_strategy", "steps", "--save_steps", "2"]
    train(scratch, "vit", base, f"{folder}/going", *flags, "--lora_target_modules", "q_proj", "v_proj", "--max_steps", "4")
    shutil.rmtree(f"{folder}/going/checkpoint-4")
    train(scratch, "vit", base, f"{folder}/gone", *flags, "--lora_target_modules", "query", "value", "--max_steps", "4", "--resume_from_checkpoint", f"{folder}/going/checkpoint-2")
    passed.append(same(tensors(f"{folder}/gone"), tensors(f"{folder}/going"), 0))
    print(f"  {passed}", flush=True)
    return all(passed)


def compare(name, _, scratch):
    from transformers import AutoTokenizer
    words = os.path.join(scratch, "tokenizer")
    if not os.path.exists(words):
        fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", "unigram", "--vocab_size", str(VOCABULARY), "--files", fixtures.sample_text(scratch), "--output", words])
    family, folder = name.removesuffix("-before"), os.path.join(scratch, name)
    base, theirs = f"{folder}/base", f"{folder}/theirs"
    model = base_of(family, base, AutoTokenizer.from_pretrained(words))
    if name == "vit-before":
        return names_of_before(scratch, base, folder)
    targets = ["q_proj", "k_proj", "v_proj", "fc1", "fc2", "self_attn.out_proj", "encoder_attn.out_proj"] if family == "bart" else projections(model)
    print(f"{family}: {' '.join(targets)}", flush=True)
    made_by_peft(family, base, theirs, targets)
    passed = [theirs_is_ours(scratch, family, base, theirs, folder), ours_is_theirs(scratch, family, base, folder, *targets)]
    print(f"  {passed}", flush=True)
    return all(passed)


def main():
    try:
        import peft  # noqa: F401
    except ImportError:
        print("SKIPPED: peft is not installed")
        sys.exit(77)
    fixtures.compare_cases(CASES, compare, steps=0)


if __name__ == "__main__":
    main()
