#!/usr/bin/env python3
"""Adapters (LoRA) by whole runs: what is trained and saved, every strategy, resuming, merging, and what is refused.

  adapters.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from encoders import read_tensors
from errors_have_four_parts import parts_of
from opening import numbers_of, write
from runs import Fixture, expect, largest, read_json, records, run_scenarios
from text_classification import Rows, tensors_of

STRATEGIES = {  # name: (ranks, flags)
    "ddp": (2, []),
    "zero1": (2, ["--sharded_ddp", "simple"]),
    "zero2": (2, ["--fsdp", "shard_grad_op auto_wrap"]),
    "full_shard": (2, ["--fsdp", "full_shard auto_wrap"]),
    "full_shard-recomputed": (2, ["--fsdp", "full_shard auto_wrap", "--gradient_checkpointing"]),
    "offload": (2, ["--fsdp", "full_shard offload auto_wrap"]),
    "sharded-files": (2, ["--fsdp", "full_shard auto_wrap", "--fsdp_config", '{"state_dict_type": "SHARDED_STATE_DICT"}']),
    "zero3": (2, ["--deepspeed", '{"zero_optimization": {"stage": 3}}']),
}


BERT = "hidden_size=32,num_hidden_layers=2,num_attention_heads=4,intermediate_size=64,max_position_embeddings=64,vocab_size=512"


def rewrite(path, rename, first=None):
    """The tensors of a safetensors file under other names; those that `rename` gives none are left out, and one of integers may come first."""
    header, data = read_tensors(path)
    tensors = {first: ({"dtype": "I64", "shape": [1, 2]}, bytes(16))} if first else {}
    for name, tensor in header.items():
        if rename(name):
            begin, end = tensor["data_offsets"]
            tensors[rename(name)] = (tensor, data[begin:end])
    at, kept = 0, {}
    for name, (tensor, numbers) in tensors.items():
        kept[name] = dict(tensor, data_offsets=[at, at + len(numbers)])
        at += len(numbers)
    text = json.dumps(kept).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(numbers for _, numbers in tensors.values()))


def with_tensor(path, name, described, source):
    """Adds a tensor of another file, which `described` finds in `source`, to a safetensors file."""
    header, data = read_tensors(path)
    begin, end = described["data_offsets"]
    header[name] = dict(described, data_offsets=[len(data), len(data) + end - begin])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data + source[begin:end])


def one_name(adapter, **more):
    """Leaves the output matrix out, which is the embeddings."""
    saved = [name for name in read_json(adapter, "adapter_config.json")["modules_to_save"] if name != "lm_head"]
    change(adapter, "adapter_config.json", modules_to_save=saved, **more)
    rewrite(adapter + "/adapter_model.safetensors", lambda name: None if "lm_head" in name else name)


def saved_again_by_peft(adapter):
    """As peft 0.21 leaves one of ours under save_embedding_layers: what its wrappers hold stands beside the copies."""
    change(adapter, "adapter_config.json", ensure_weight_tying=False)
    path = adapter + "/adapter_model.safetensors"
    header, data = read_tensors(path)
    for name, described in header.items():
        if "lora_" in name:
            continue
        module = name.removesuffix(".weight")
        with_tensor(path, module + ".modules_to_save.weight", described, data)
        with_tensor(path, module + ".original_module.weight", described, bytes(len(data)))


def change(folder, name, **values):
    write(os.path.join(folder, name), json.dumps(read_json(folder, name) | values))


def losses(output):
    return [record["loss"] for record in records(output) if "loss" in record]


class Adapters(Fixture):
    """A base model that was trained for two steps."""

    def __init__(self, folder):
        super().__init__(folder)
        self.base = os.path.join(self.folder, "base")
        self.call(*self.flags(self.base, "--max_steps", 2, "--save_strategy", "no", ranks=1))

    def train(self, output, *more, model=None, ranks=1, steps=4, expect=0):
        return self.call("--model_name_or_path", model or self.base, "--use_peft", "--train_file", self.text, "--block_size", "64",
                         "--use_cpu", "--nproc_per_node", str(ranks), "--per_device_train_batch_size", str(8 // ranks),
                         "--logging_steps", "1", "--learning_rate", "1e-2", "--max_steps", str(steps), "--do_train", "--output_dir",
                         output, *map(str, more), expect=expect)


def an_adapter_alone_is_trained_and_saved(fixture, folder):
    output = os.path.join(folder, "run")
    said = fixture.train(output, "--save_steps", 2, "--lora_r", 4)
    expect("an adapter is trained" in said.stderr, "it is said", said.stderr)
    judged = fixture.call("--model_name_or_path", output, "--validation_file", fixture.text, "--block_size", "64", "--use_cpu", "--do_eval",
                          "--output_dir", output + "-judged")
    expect("is trained" not in judged.stderr, "an evaluation trains none", judged.stderr)
    for place in (output, output + "/checkpoint-2", output + "/checkpoint-4"):
        names = os.listdir(place)
        expect("adapter_model.safetensors" in names and "adapter_config.json" in names, "the adapter's files", names)
        expect("model.safetensors" not in names and "config.json" not in names, "and not the model's", names)
        expect("tokenizer.json" in names, "the tokenizer", names)
        shown = fixture.call("checkpoint", "inspect", place).stdout
        expect("weights: 4 tensors" in shown and "c_attn.lora_A.weight" in shown, f"inspect {place}", shown)
        exported = fixture.call("checkpoint", "export", place, output + "-exported", expect=4).stderr
        expect("holds an adapter and no model" in exported and "checkpoint merge" in exported, f"export {place}", exported)
    tensors = tensors_of(output + "/adapter_model.safetensors")
    wanted = {f"base_model.model.transformer.h.{layer}.attn.c_attn.lora_{half}.weight": shape
              for layer in (0, 1) for half, shape in (("A", [4, 32]), ("B", [96, 4]))}
    expect(tensors == wanted, "peft's names and shapes", tensors)
    config = read_json(output, "adapter_config.json")
    for key, value in dict(peft_type="LORA", r=4, lora_alpha=32, lora_dropout=0.05, target_modules=["c_attn"], task_type="CAUSAL_LM",
                           fan_in_fan_out=True, base_model_name_or_path=fixture.base, bias="none", modules_to_save=None).items():
        expect(config.get(key) == value, key, config)
    fell = losses(output)
    expect(fell[-1] < fell[0], "it learns", fell)
    numbers = sum(a * b for a, b in tensors.values())
    for dtype, width in (("float32", 4), ("bfloat16", 2)):
        plan = json.loads(fixture.train(output + "-plan", "--lora_r", 4, "--dtype", dtype, "--dry_run", "--json").stdout)
        model, memory = plan["plan"]["model"] if "plan" in plan else plan["model"], plan.get("plan", plan)["memory_per_rank"]
        expect(model["trainable_parameters"] == numbers, "trainable numbers", model)
        expect(memory["parameters"] == width * (model["parameters"] - numbers) + 4 * numbers, f"{dtype} beside float32", memory)
        expect(memory["gradients"] == 4 * numbers and 8 * numbers <= memory["optimizer"] <= 8 * numbers + 1024, "memory of training", memory)


def every_strategy_trains_the_same_adapter(fixture, folder):
    base = os.path.join(folder, "base")
    sizes = "n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0" + fixture.WITHOUT_DROPOUT
    fixture.call(*fixture.flags(base, "--config_overrides", sizes, "--max_steps", 1, "--save_strategy", "no", ranks=1))
    fixture.train(os.path.join(folder, "one"), "--lora_dropout", 0, "--lora_target_modules", "all-linear", model=base)
    first = losses(os.path.join(folder, "one"))
    seen = {}
    for name, (ranks, flags) in STRATEGIES.items():
        output = os.path.join(folder, name)
        fixture.train(output, *flags, "--lora_target_modules", "all-linear", "--lora_dropout", 0, "--save_strategy", "no",
                      model=base, ranks=ranks)
        seen[name] = losses(output)
        expect(largest(abs(a - b) / a for a, b in zip(first, seen[name])) < 1e-5, f"{name}: losses of one rank", (first, seen[name]))
        path = output + "/adapter_model.safetensors"
        expect(filecmp.cmp(path, os.path.join(folder, "ddp", "adapter_model.safetensors"), shallow=False), f"{name}: DDP's adapter", path)
    expect(all(found == seen["ddp"] for found in seen.values()), "DDP's losses", seen)


def a_resumed_adapter_is_the_same_run(fixture, folder):
    whole, part = os.path.join(folder, "whole"), os.path.join(folder, "part")
    common = ["--save_steps", 2, "--gradient_accumulation_steps", 2, "--bf16"]
    fixture.train(whole, *common)
    shutil.copytree(whole, part, ignore=shutil.ignore_patterns("checkpoint-4"))
    fixture.train(part, *common, "--resume_from_checkpoint", part + "/checkpoint-2")
    expect(losses(whole)[-2:] == losses(part)[-2:], "losses", (losses(whole), losses(part)))
    full = os.path.join(folder, "full")
    fixture.call(*fixture.flags(full, "--max_steps", 2, "--save_steps", 2, ranks=1))
    other = fixture.train(full + "-adapted", "--resume_from_checkpoint", full + "/checkpoint-2", expect=2)
    expect("the checkpoint holds no adapter" in other.stderr, "weights are no adapter", other.stderr)
    for flags, said in ((["--lora_alpha", 400], "lora_alpha: 32.0 there, 400.0 here"), (["--lora_target_modules", "c_proj"], "c_proj"),
                        (["--use_peft", "false"], "this run trains none")):
        for checkpoint in (part + "/checkpoint-2", "true"):
            other = fixture.train(part, *common, "--resume_from_checkpoint", checkpoint, *flags, steps=6, expect=2)
            expect("adapter is not that of this run" in other.stderr and said in other.stderr, f"{flags}: another adapter", other.stderr)
    expect(filecmp.cmp(whole + "/adapter_model.safetensors", part + "/adapter_model.safetensors", shallow=False), "the same bits", part)


def an_adapter_goes_on_from_its_folder_and_merges(fixture, folder):
    first, second, merged = (os.path.join(folder, name) for name in ("first", "second", "merged"))
    fixture.train(first, "--lora_dropout", 0)
    fixture.train(second, "--lora_dropout", 0, model=first, steps=2)
    expect(losses(second)[0] < losses(first)[0], "it goes on", (losses(first), losses(second)))
    kept = read_json(first, "adapter_config.json")
    for value, wanted in (((), kept["lora_dropout"]), ((0.5,), 0.5)):  # a flag of the run is what its adapter says it was trained with
        fixture.train(folder + "/dropout", *(["--lora_dropout", *value] if value else []), "--overwrite_output_dir", model=first, steps=1)
        expect(read_json(folder + "/dropout", "adapter_config.json") == {**kept, "lora_dropout": wanted}, f"lora_dropout {wanted}, and nothing else", kept)
    before, after = (numbers_of(place + "/adapter_model.safetensors", "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight")
                     for place in (first, second))
    expect(before != after, "and learns", before[:4])
    evaluated = ["--validation_file", fixture.text, "--block_size", "64", "--use_cpu", "--do_eval", "--do_train", "false"]
    fixture.call("checkpoint", "merge", second, merged)
    results = []
    for model in (second, merged, fixture.base):
        output = os.path.join(folder, "eval-" + os.path.basename(model))
        fixture.call("--model_name_or_path", model, *evaluated, "--output_dir", output)
        results.append(read_json(output, "eval_results.json")["eval_loss"])
    expect(abs(results[0] - results[1]) < 1e-6 * results[0], "merged as beside it", results)
    expect(abs(results[0] - results[2]) > 1e-3, "and not the base", results)
    expect(tensors_of(merged + "/model.safetensors") == tensors_of(fixture.base + "/model.safetensors"), "a plain model", merged)
    scores = [json.loads(fixture.call("generate", "--model_name_or_path", model, "--use_cpu", "--json", "--max_new_tokens", "8", "--eos_token_id",
                                      "null", "--num_beams", "2", "--prompt", "the old").stdout)["generations"][0]["score"]
              for model in (second, merged, fixture.base)]
    change(second, "adapter_config.json", nora_size=16)
    said = fixture.call("generate", "--model_name_or_path", second, "--use_cpu", "--max_new_tokens", "1", "--prompt", "the old").stderr
    expect(f"note: nora_size (16) of {second}/adapter_config.json has no effect" in said, "a key of another peft", said)
    change(second, "adapter_config.json", nora_size=None)
    expect(abs(scores[0] - scores[1]) < 1e-5 and abs(scores[0] - scores[2]) > 1e-2, "texts are scored as by the merged model", scores)
    refused = fixture.call("checkpoint", "merge", second, merged, expect=2)
    expect("not empty" in refused.stderr, "a folder that is there", refused.stderr)


def an_adapter_merges_with_a_revision_of_its_base(fixture, folder):
    """A base in the hub cache: the revision that the adapter names, unless another one is asked for."""
    adapter, home = (os.path.join(folder, name) for name in ("adapter", "home"))
    fixture.train(adapter, steps=1)
    weights = {}
    for revision in ("v1", "v2"):
        snapshot = os.path.join(home, "hub", "models--org--base", "snapshots", revision)
        shutil.copytree(fixture.base, snapshot)
        weights[revision] = os.path.join(snapshot, "model.safetensors")
    with open(weights["v2"], "r+b") as file:  # another number at the end of the last tensor
        file.seek(-4, os.SEEK_END)
        file.write(b"\0\0\x80\x3f")
    change(adapter, "adapter_config.json", base_model_name_or_path="org/base", revision="v1")
    fixture.environment = {**fixture.environment, "HF_HOME": home}

    def merged(name, *more, expect=0):
        out = os.path.join(folder, name)
        said = fixture.call("checkpoint", "merge", adapter, out, *more, expect=expect).stderr
        return said if expect else open(os.path.join(out, "model.safetensors"), "rb").read()
    own, asked = merged("own"), merged("asked", "--model_revision", "v2")
    expect(own == merged("same", "--model_revision", "v1") and own != asked, "the revision that was asked for wins", folder)
    absent = merged("absent", "--model_revision", "main", expect=4)
    expect("'org/base' is neither a folder" in absent and f"{home}/hub (by HF_HOME)" in absent, "main is a revision, too", absent)
    change(adapter, "adapter_config.json", base_model_name_or_path=fixture.base)
    refused = merged("folder", "--model_revision", "v1", expect=2)
    expect("has no revisions to choose from" in refused and fixture.base in refused, "a folder has no revisions", refused)
    told = fixture.call("checkpoint", "merge", adapter, os.path.join(folder, "elsewhere"), "--cache_dir", home).stderr
    expect("note: --cache_dir has no effect: the base model is a folder" in told, "a folder lies in no cache", told)


def an_adapter_of_a_model_of_the_hub_names_it(fixture, folder):
    """What is written of the base is its name and revision, and everything that opens the adapter finds it again by them."""
    output, cache = (os.path.join(folder, name) for name in ("tuned", "cache"))
    shutil.copytree(fixture.base, os.path.join(cache, "models--org--base", "snapshots", "c2"))
    os.makedirs(os.path.join(cache, "models--org--base", "refs"))
    write(os.path.join(cache, "models--org--base", "refs", "v2"), "c2")
    of_hub = ["--model_revision", "v2", "--cache_dir", cache]
    fixture.train(output, *of_hub, "--save_steps", 2, model="org/base")
    for place in (output, output + "/checkpoint-2"):
        config = read_json(place, "adapter_config.json")
        expect((config["base_model_name_or_path"], config["revision"]) == ("org/base", "v2"), "its name", config)
    with open(os.path.join(output, "README.md")) as file:
        card = file.read()
    for line in ("library_name: peft", "base_model: org/base", '- "base_model:adapter:org/base"', "- lora", "- transformers"):
        expect(line + "\n" in card, f"the card says {line}", card)
    shutil.rmtree(output + "/checkpoint-4")
    said = fixture.train(output, *of_hub, "--save_steps", 2, model="org/base").stderr
    expect("another run" not in said and os.path.exists(output + "/checkpoint-4"), "it is the same run", said)
    second = output + "-second"
    fixture.train(second, "--cache_dir", cache, model=output, steps=1)
    expect(read_json(second, "adapter_config.json")["base_model_name_or_path"] == "org/base", "trained on", second)
    fixture.call("generate", "--model_name_or_path", output, "--cache_dir", cache, "--use_cpu", "--max_new_tokens", "1", "--prompt", "the old")
    absent = fixture.call("checkpoint", "merge", output, output + "-absent", expect=4).stderr
    expect("'org/base' is neither a folder" in absent, "another cache does not hold it", absent)
    fixture.call("checkpoint", "merge", output, output + "-merged", "--cache_dir", cache)
    by_path = output + "-by-path"
    shutil.copytree(output, by_path)
    change(by_path, "adapter_config.json", base_model_name_or_path=fixture.base, revision=None)
    fixture.call("checkpoint", "merge", by_path, by_path + "-merged")
    expect(filecmp.cmp(output + "-merged/model.safetensors", by_path + "-merged/model.safetensors", shallow=False), "as with its folder", folder)
    slash = os.path.join(folder, "slash")
    fixture.train(slash, model=fixture.base + "/", steps=1)
    expect(read_json(slash, "adapter_config.json")["base_model_name_or_path"] == fixture.base, "without the slash", slash)
    with open(os.path.join(slash, "README.md")) as file:
        card = file.read()
    expect(f"Fine-tuned from `{os.path.basename(fixture.base)}`" in card and "base_model:" not in card, "a folder is none of the Hub's models", card)
    os.makedirs(os.path.join(folder, "rows"))
    shutil.copy(fixture.text, os.path.join(folder, "rows", "train.txt"))
    named = os.path.join(folder, "named")
    fixture.call("--model_name_or_path", fixture.base, "--dataset_name", os.path.join(folder, "rows") + "/", "--block_size", "64", "--use_cpu", "--max_steps", "1",
                 "--do_train", "--output_dir", named)
    with open(os.path.join(named, "README.md")) as file:
        expect(f"Fine-tuned from `{os.path.basename(fixture.base)}` on rows.\n" in file.read(), "the card names the data set", named)


def a_head_is_trained_whole_beside_the_adapter(fixture, folder):
    rows = Rows(os.path.join(folder, "rows"))
    output = os.path.join(folder, "classes")
    rows.call("--task", "text-classification", "--model_name_or_path", fixture.base, "--tokenizer_name", rows.tokenizer, "--use_peft", "--train_file", rows.train,
              "--max_seq_length", "48", "--use_cpu", "--max_steps", "2", "--output_dir", output, "--do_train")
    tensors = tensors_of(output + "/adapter_model.safetensors")
    expect("base_model.model.score.weight" in tensors, "the head's matrix", tensors)
    config = read_json(output, "adapter_config.json")
    expect(config["modules_to_save"] == ["score"] and config["task_type"] == "SEQ_CLS", "its name", config)
    said = rows.call("--task", "text-classification", "--model_name_or_path", output, "--validation_file", rows.valid, "--max_seq_length", "48",
                     "--use_cpu", "--do_eval", "--output_dir", output + "-judged")
    expect("eval_accuracy" in read_json(output + "-judged", "eval_results.json"), "it is opened alone, with its labels", said.stderr)
    rows.call("checkpoint", "merge", output, output + "-merged")
    merged = tensors_of(output + "-merged/model.safetensors")
    expect("score.weight" in merged and "lm_head.weight" not in merged and not any("lora" in name for name in merged), "a plain model with the head", merged)
    rows.call("--task", "text-classification", "--model_name_or_path", output + "-merged", "--validation_file", rows.valid, "--max_seq_length", "48",
              "--use_cpu", "--do_eval", "--output_dir", output + "-merged-judged")
    apart, whole = (read_json(output + place, "eval_results.json") for place in ("-judged", "-merged-judged"))
    expect(abs(apart["eval_loss"] - whole["eval_loss"]) < 1e-6 and apart["eval_accuracy"] == whole["eval_accuracy"], "it judges as beside it", (apart, whole))
    os.remove(output + "/config.json")
    refused = rows.call("checkpoint", "merge", output, output + "-nameless", expect=4)
    expect("there is no 'score.weight' in the model" in refused.stderr and "labels" in refused.stderr, "a head without labels", refused.stderr)
    expect(not os.path.exists(output + "-nameless"), "nothing is written", refused.stderr)


def what_the_base_lacks_is_in_the_adapter(fixture, folder):
    """A model of masked words as the first releases wrote them: no pooler, norms with gamma and beta, positions as integers first."""
    rows = Rows(os.path.join(folder, "rows"))
    base, output, merged = (os.path.join(folder, name) for name in ("base", "classes", "merged"))
    common = ["--task", "text-classification", "--max_seq_length", "48", "--use_cpu"]
    rows.call(*common, "--model_type", "bert", "--config_overrides", BERT, "--tokenizer_name", rows.tokenizer, "--train_file", rows.train, "--max_steps", "1",
              "--save_strategy", "no", "--output_dir", base, "--do_train")
    older = lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    rewrite(base + "/model.safetensors", lambda name: None if "pooler" in name or "classifier" in name else older(name), "bert.embeddings.position_ids")
    change(base, "config.json", architectures=["BertForMaskedLM"])
    said = rows.call(*common, "--model_name_or_path", base, "--use_peft", "--train_file", rows.train, "--max_steps", "2", "--save_strategy", "no",
                     "--output_dir", output, "--do_train").stderr
    expect("'bert.pooler.dense.weight' is not in" in said and "gamma" not in said, "a new pooler is told, and no norm", said)
    expect(sorted(read_json(output, "adapter_config.json")["modules_to_save"]) == ["classifier", "pooler"], "what is new is saved", output)
    rows.call("checkpoint", "merge", output, merged)
    tensors = tensors_of(merged + "/model.safetensors")
    expect("bert.pooler.dense.weight" in tensors and "classifier.weight" in tensors and not any("gamma" in name for name in tensors), "a plain model", tensors)
    found = []
    for name, model, seed in (("one", output, 1), ("two", output, 2), ("whole", merged, 3)):
        judged = os.path.join(folder, name)
        said = rows.call(*common, "--model_name_or_path", model, "--validation_file", rows.valid, "--do_eval", "--seed", str(seed), "--output_dir", judged).stderr
        expect("random numbers" not in said, f"{name}: nothing is drawn", said)
        found.append(read_json(judged, "eval_results.json")["eval_loss"])
    expect(found[0] == found[1] and abs(found[0] - found[2]) < 1e-6, "one model, whatever the seed", found)
    os.remove(output + "/config.json")
    change(base, "config.json", architectures=["BertForPreTraining"])
    refused = rows.call("checkpoint", "merge", output, merged + "-not", expect=4).stderr
    expect("write the config of the model" in refused and "--task" not in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "no class", refused)


def a_head_of_words_over_a_bare_body_is_trained_and_saved(fixture, folder):
    """Files of a body without the head that gives words: what starts from random numbers would be lost beside an adapter."""
    pieces = os.path.join(folder, "pieces")
    fixture.call("tokenizer", "train", "--kind", "wordpiece", "--vocab_size", "400", "--files", fixture.text, "--output", pieces)
    llama = "hidden_size=32,intermediate_size=64,num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,max_position_embeddings=64,vocab_size=512,tie_word_embeddings=false"
    ways = {  # name: (task, model_type, overrides, tokenizer, length flag, head, class of the body)
        "masked": ("mlm", "bert", BERT, pieces, "--max_seq_length", "cls", "BertModel"),
        "words": ("clm", "llama", llama, fixture.tokenizer, "--block_size", "lm_head", "LlamaModel"),
    }
    for name, (task, family, overrides, tokenizer, length, head, body) in ways.items():
        base, output, merged = (os.path.join(folder, f"{name}-{part}") for part in ("base", "adapter", "merged"))
        common = ["--task", task, length, "32", "--use_cpu", "--train_file", fixture.text]
        trained = [*common, "--nproc_per_node", "1", "--save_strategy", "no", "--do_train"]
        fixture.call(*trained, "--model_type", family, "--config_overrides", overrides, "--tokenizer_name", tokenizer, "--max_steps", "1", "--output_dir", base)
        rewrite(base + "/model.safetensors", lambda tensor: None if tensor.startswith(head + ".") else tensor)
        change(base, "config.json", architectures=[body])
        said = fixture.call(*trained, "--model_name_or_path", base, "--use_peft", "--max_steps", "3", "--learning_rate", "1e-2", "--output_dir", output).stderr
        expect(f"'{head}." in said and "starts from random numbers" in said, f"{name}: a new head is told", said)
        expect(read_json(output, "adapter_config.json")["modules_to_save"] == [head], f"{name}: and saved", output)
        copies = [tensor for tensor in tensors_of(output + "/adapter_model.safetensors") if ".predictions.decoder." in tensor]
        prefix = "base_model.model.cls.predictions.decoder."
        expect(sorted(copies) == ([prefix + "bias", prefix + "weight"] if name == "masked" else []), f"{name}: with the copies that peft looks for", copies)
        fixture.call("checkpoint", "merge", output, merged)
        found = []
        for model, seed in ((output, 1), (output, 2), (merged, 3)):
            judged = os.path.join(folder, f"{name}-judged-{seed}")
            said = fixture.call(*common[:-2], "--model_name_or_path", model, "--validation_file", fixture.text, "--do_eval", "--max_eval_samples", "20", "--data_seed", "5",
                                "--seed", str(seed), "--output_dir", judged).stderr
            expect("random numbers" not in said, f"{name}: nothing is drawn", said)
            found.append(read_json(judged, "eval_results.json")["eval_loss"])
        expect(found[0] == found[1] and abs(found[0] - found[2]) < 1e-5, f"{name}: one model, whatever the seed", found)
    a_copy_that_was_trained_apart_is_refused(fixture, os.path.join(folder, "masked-adapter"), os.path.join(folder, "apart"))


def a_copy_that_was_trained_apart_is_refused(fixture, adapter, apart):
    header, _ = read_tensors(adapter + "/adapter_model.safetensors")
    for part, said in (("weight", "peft trained a copy of it apart"), ("bias", "are tied but differ in the file")):
        shutil.rmtree(apart, ignore_errors=True)
        shutil.copytree(adapter, apart)
        with open(apart + "/adapter_model.safetensors", "r+b") as file:
            file.seek(8 + int.from_bytes(file.read(8), "little") + header[f"base_model.model.cls.predictions.decoder.{part}"]["data_offsets"][0])
            file.write(b"\0\0\x80\x3f")
        refused = fixture.call("--task", "mlm", "--max_seq_length", "32", "--use_cpu", "--model_name_or_path", apart, "--validation_file", fixture.text, "--do_eval",
                               "--output_dir", apart + "-judged", expect=4).stderr
        expect(said in refused and parts_of(refused) == [{"what", "where", "why", "try"}], f"{part}: trained apart", refused)
        merged = fixture.call("checkpoint", "merge", apart, apart + "-merged", expect=4).stderr
        expect("are trained apart" in merged, f"{part}: merging", merged)


def tied_embeddings_that_are_saved_whole_are_told_to_peft(fixture, folder):
    """peft finds the matrix under both names; and an adapter that it trained with two matrices is none for a model with one."""
    output = os.path.join(folder, "gpt2")
    fixture.train(output, "--lora_modules_to_save", "wte", "--save_steps", 2)
    kept = read_json(output + "/checkpoint-2", "manifest.json")["identity"]["adapter"]["modules_to_save"]
    expect(kept == ["wte"], "what was asked for is the run's, as it was before peft was told of both", kept)
    expect(read_json(output, "adapter_config.json")["modules_to_save"] == ["wte", "lm_head"], "both are named", output)
    header, data = read_tensors(output + "/adapter_model.safetensors")
    one, two = (data[slice(*header[f"base_model.model.{name}.weight"]["data_offsets"])] for name in ("transformer.wte", "lm_head"))
    expect(one == two, "and are the same", header)
    one_name(output)
    fixture.train(output + "-on", model=output)  # of before, with one name
    expect(read_json(output + "-on", "adapter_config.json")["modules_to_save"] == ["wte", "lm_head"], "both are named from now on", output)
    header, data = read_tensors(output + "-on/adapter_model.safetensors")
    one, two = (data[slice(*header[f"base_model.model.{name}.weight"]["data_offsets"])] for name in ("transformer.wte", "lm_head"))
    expect(one == two, "and held", header)
    base, known = os.path.join(folder, "base"), os.path.join(folder, "known")
    llama = "hidden_size=32,intermediate_size=64,num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,max_position_embeddings=64,vocab_size=512,tie_word_embeddings=true"
    common = ["--block_size", "32", "--use_cpu", "--nproc_per_node", "1", "--save_strategy", "no", "--train_file", fixture.text, "--do_train", "--max_steps", "2"]
    fixture.call(*common, "--model_type", "llama", "--config_overrides", llama, "--tokenizer_name", fixture.tokenizer, "--output_dir", base)
    fixture.call(*common, "--model_name_or_path", base, "--use_peft", "--lora_modules_to_save", "embed_tokens", "--output_dir", known)
    evaluated = ["--model_name_or_path", known, "--block_size", "32", "--use_cpu", "--validation_file", fixture.text, "--max_eval_samples", "4", "--do_eval"]
    fixture.call(*evaluated, "--output_dir", os.path.join(folder, "judged"))
    saved_again_by_peft(known)
    fixture.call(*evaluated, "--output_dir", os.path.join(folder, "again"))
    judged, again = (read_json(os.path.join(folder, place), "eval_results.json")["eval_loss"] for place in ("judged", "again"))
    expect(judged == again, "two equal copies are one matrix", (judged, again))
    fixture.call("generate", "--model_name_or_path", known, "--prompt", "the")
    fixture.call(*common, "--model_name_or_path", known, "--use_peft", "--output_dir", known + "-on")
    fixture.call("checkpoint", "merge", known, known + "-merged")
    path, name = known + "/adapter_model.safetensors", "base_model.model.lm_head.weight"
    header, data = read_tensors(path)
    rewrite(path, lambda each: None if each == name else each)
    with_tensor(path, name, header[name], data[4:] + data[:4])
    older = read_json(known, "adapter_config.json")
    del older["peft_version"], older["ensure_weight_tying"]
    write(known + "/adapter_config.json", json.dumps(older))  # as peft wrote it before it knew of either key
    refused = fixture.call("generate", "--model_name_or_path", known, "--prompt", "the", expect=4).stderr
    expect("two matrices where the model has one" in refused, "an older peft ties nothing", refused)
    change(known, "adapter_config.json", ensure_weight_tying=False, peft_version="0.21.2")
    for words in ([*evaluated, "--output_dir", os.path.join(folder, "apart")], ["generate", "--model_name_or_path", known, "--prompt", "the"]):
        refused = fixture.call(*words, expect=4).stderr
        expect("two matrices where the model has one" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "trained apart by peft", refused)


def tensors_of_an_adapter_that_have_no_place_are_refused(fixture, folder):
    """A head for classes under a language model: peft's file names it, and it would be gone from what is saved."""
    rows = Rows(os.path.join(folder, "rows"))
    output = os.path.join(folder, "classes")
    rows.call("--task", "text-classification", "--model_name_or_path", fixture.base, "--tokenizer_name", rows.tokenizer, "--use_peft", "--train_file", rows.train,
              "--max_seq_length", "48", "--use_cpu", "--max_steps", "1", "--output_dir", output, "--do_train")
    os.remove(output + "/config.json")  # as peft writes it
    change(output, "adapter_config.json", modules_to_save=["classifier", "score"])
    training = ["--task", "clm", "--train_file", fixture.text, "--block_size", "64", "--use_cpu", "--use_peft", "--max_steps", "1", "--do_train"]
    for words in (["plan", *training, "--output_dir", output + "-planned"], [*training, "--output_dir", output + "-on"],
                  ["generate", "--prompt", "the", "--use_cpu"]):
        refused = fixture.call(*words, "--model_name_or_path", output, expect=4).stderr
        expect("no place for 'score.weight' of the adapter" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "score", refused)


def an_adapter_whose_embeddings_peft_ties_keeps_both_of_their_names(fixture, folder):
    """ensure_weight_tying: peft's file has the output matrix, too, and peft opens no other."""
    base, known, on = (os.path.join(folder, name) for name in ("base", "known", "on"))
    llama = "hidden_size=32,intermediate_size=64,num_hidden_layers=1,num_attention_heads=4,num_key_value_heads=2,max_position_embeddings=64,vocab_size=512,tie_word_embeddings=true"
    common = ["--block_size", "32", "--use_cpu", "--nproc_per_node", "1", "--save_strategy", "no", "--train_file", fixture.text, "--do_train", "--max_steps", "2"]
    fixture.call(*common, "--model_type", "llama", "--config_overrides", llama, "--tokenizer_name", fixture.tokenizer, "--output_dir", base)
    fixture.call(*common, "--model_name_or_path", base, "--use_peft", "--lora_modules_to_save", "embed_tokens", "--output_dir", known)
    shutil.copy(known + "/adapter_model.safetensors", known + "/kept")
    one_name(known, ensure_weight_tying=True)
    refused = fixture.call(*common, "--model_name_or_path", known, "--use_peft", "--output_dir", on, expect=4).stderr
    expect("two matrices where the model has one" in refused, "peft has written one of the two", refused)
    refused = fixture.call("checkpoint", "merge", known, on + "-merged", expect=4).stderr
    expect("are one matrix of the model" in refused, "nor is it merged", refused)
    os.replace(known + "/kept", known + "/adapter_model.safetensors")
    fixture.call(*common, "--model_name_or_path", known, "--use_peft", "--output_dir", on)
    header, data = read_tensors(on + "/adapter_model.safetensors")
    places = [header[f"base_model.model.{name}.weight"]["data_offsets"] for name in ("model.embed_tokens", "lm_head")]
    expect(data[slice(*places[0])] == data[slice(*places[1])], "both, and the same", header)
    fixture.call("checkpoint", "merge", on, on + "-merged")


def what_an_adapter_holds_beside_its_config_is_held_against_it(fixture, folder):
    output = os.path.join(folder, "adapter")
    fixture.train(output, "--lora_target_modules", "attn.c_proj")
    kept = read_json(output, "adapter_config.json")
    for field, said in (({"r": kept["r"] * 2}, "another rank than its config says"), ({"target_modules": ["c_attn"]}, "do not name 'transformer.h.0.attn.c_proj'")):
        change(output, "adapter_config.json", **{**kept, **field})
        refused = fixture.call("checkpoint", "merge", output, output + "-merged", expect=4).stderr
        expect(said in refused and parts_of(refused) == [{"what", "where", "why", "try"}], said, refused)
    change(output, "adapter_config.json", **dict(kept, target_modules=["attn.c_proj", "lm_head"]))
    shutil.copy(output + "/adapter_model.safetensors", output + "/kept")
    rewrite(output + "/adapter_model.safetensors", lambda name: name.replace("transformer.h.0.attn.c_proj", "lm_head"))
    refused = fixture.call("checkpoint", "merge", output, output + "-merged", expect=4).stderr
    expect("an adapter of a tied matrix" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "of a tied matrix", refused)
    twice = shutil.copytree(fixture.base, os.path.join(folder, "twice"))
    described, numbers = read_tensors(twice + "/model.safetensors")
    with_tensor(twice + "/model.safetensors", "lm_head.weight", described["transformer.wte.weight"], numbers)
    change(output, "adapter_config.json", base_model_name_or_path=twice)
    refused = fixture.call("checkpoint", "merge", output, output + "-merged", expect=4).stderr
    expect("an adapter of a tied matrix" in refused, "which the file has twice", refused)
    os.replace(output + "/kept", output + "/adapter_model.safetensors")
    change(output, "adapter_config.json", **kept)
    fixture.call("checkpoint", "merge", output, output + "-one")
    base = "base_model.model.transformer.h.0.attn.c_proj.base_layer.weight"
    header, data = read_tensors(fixture.base + "/model.safetensors")
    for place, source in (("-two", data), ("-three", bytes(len(data)))):
        shutil.copy(output + "/adapter_model.safetensors", output + "/kept")
        with_tensor(output + "/adapter_model.safetensors", base, header["transformer.h.0.attn.c_proj.weight"], source)
        fixture.call("checkpoint", "merge", output, output + place)
        os.replace(output + "/kept", output + "/adapter_model.safetensors")
    one, two, three = (read_tensors(output + place + "/model.safetensors") for place in ("-one", "-two", "-three"))
    expect(one == two != three, "a copy of the base beside its adapter is what counts", output)
    rewrite(output + "/adapter_model.safetensors", lambda name: name.replace(".lora_A.weight", ".lora_embedding_A"))
    refused = fixture.call("checkpoint", "merge", output, output + "-merged", expect=4).stderr
    expect("an adapter of embeddings" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "of embeddings", refused)


def whole_tensors_of_a_family_that_is_not_known_are_merged_by_name(fixture, folder):
    known, output, other = (os.path.join(folder, name) for name in ("known", "adapter", "other"))
    fixture.train(output, "--lora_modules_to_save", "wte", "--lora_dropout", 0)
    fixture.call("checkpoint", "merge", output, known)
    one_name(output)
    shutil.copytree(fixture.base, other)
    change(other, "config.json", model_type="phi", architectures=["PhiForCausalLM"])
    os.remove(output + "/config.json")
    change(output, "adapter_config.json", base_model_name_or_path=other)
    fixture.call("checkpoint", "merge", output, other + "-merged")
    one, two = (read_tensors(place + "/model.safetensors") for place in (known, other + "-merged"))
    expect(one == two, "the same numbers", (one[0], two[0]))
    expect(one[1] != read_tensors(other + "/model.safetensors")[1], "and not the base", known)
    for ties in (False, True):  # the file has one of the two names
        change(output, "adapter_config.json", ensure_weight_tying=ties)
        refused = fixture.call("checkpoint", "merge", output, other + "-apart", expect=4).stderr
        expect("only matrix with a row for each token" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "perhaps tied", refused)
    change(output, "adapter_config.json", ensure_weight_tying=None)
    path = output + "/adapter_model.safetensors"
    shutil.copy(path, output + "/kept")
    rewrite(path, lambda name: name.replace("transformer.wte", "score"))
    refused = fixture.call("checkpoint", "merge", output, other + "-new", expect=4).stderr
    expect("no family that is known" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "a head of its own", refused)
    with open(output + "/kept", "rb") as kept, open(path, "wb") as file:
        file.write(kept.read().replace(b'"F32"', b'"I32"'))
    refused = fixture.call("checkpoint", "merge", output, other + "-integers", expect=4).stderr
    expect("type I32 cannot be computed" in refused and parts_of(refused) == [{"what", "where", "why", "try"}], "integers", refused)


def grown_embeddings_are_merged_and_half_a_tied_matrix_is_not(fixture, folder):
    more = shutil.copytree(fixture.tokenizer, os.path.join(folder, "tokenizer"))
    described = read_json(more, "tokenizer.json")
    described["added_tokens"].append(dict(described["added_tokens"][0], id=len(described["model"]["vocab"]), content="<more>"))
    write(more + "/tokenizer.json", json.dumps(described))
    output = os.path.join(folder, "grown")
    said = fixture.train(output, "--tokenizer_name", more, expect=2).stderr
    expect("--lora_modules_to_save transformer.wte" in said, "rows that an adapter would not hold", said)
    fixture.train(output, "--tokenizer_name", more, "--lora_modules_to_save", "wte", "--lora_dropout", 0)
    fixture.call("checkpoint", "merge", output, output + "-merged")
    rows_of = {name: shape[0] for name, shape in tensors_of(output + "-merged/model.safetensors").items() if "wte" in name or "lm_head" in name}
    expect(rows_of == {"transformer.wte.weight": 513}, "the new row, and of tied matrices one", rows_of)
    evaluated = ["--validation_file", fixture.text, "--block_size", "64", "--use_cpu", "--do_eval", "--do_train", "false"]
    results = []
    for model in (output, output + "-merged"):
        fixture.call("--model_name_or_path", model, *evaluated, "--output_dir", model + "-judged")
        results.append(read_json(model + "-judged", "eval_results.json")["eval_loss"])
    expect(abs(results[0] - results[1]) < 1e-6 * results[0], "merged as beside it", results)
    one_name(output, ensure_weight_tying=False)
    refused = fixture.call("checkpoint", "merge", output, output + "-apart", expect=4)
    expect("a model whose tie_word_embeddings is false" in refused.stderr and "open the adapter" not in refused.stderr, "what may be done", refused.stderr)
    expect("are one matrix of the model" in refused.stderr and parts_of(refused.stderr) == [{"what", "where", "why", "try"}], "trained apart", refused.stderr)


def a_grown_model_with_a_bias_of_its_outputs_is_merged(fixture, folder):
    """BART's final_logits_bias: of new tokens it is zero."""
    pieces, more, base, output = (os.path.join(folder, name) for name in ("pieces", "more", "base", "grown"))
    fixture.call("tokenizer", "train", "--kind", "unigram", "--vocab_size", "256", "--files", fixture.text, "--output", pieces)
    shutil.copytree(pieces, more)
    described = read_json(more, "tokenizer.json")
    size = len(described["model"]["vocab"])
    described["added_tokens"].append(dict(described["added_tokens"][0], id=size, content="<more>"))
    write(more + "/tokenizer.json", json.dumps(described))
    rows = os.path.join(folder, "rows.jsonl")
    write(rows, "".join(json.dumps({"text": f"one two three {i}", "summary": f"three {i}"}) + "\n" for i in range(16)))
    sizes = f"d_model=16,encoder_layers=1,decoder_layers=1,encoder_attention_heads=2,decoder_attention_heads=2,encoder_ffn_dim=16,decoder_ffn_dim=16,vocab_size={size}"
    common = ["--task", "summarization", "--use_cpu", "--nproc_per_node", "1", "--save_strategy", "no", "--max_source_length", "16", "--max_target_length", "8"]
    trained = [*common, "--train_file", rows, "--do_train", "--max_steps", "1"]
    fixture.call(*trained, "--model_type", "bart", "--config_overrides", sizes, "--tokenizer_name", pieces, "--output_dir", base)
    fixture.call(*trained, "--model_name_or_path", base, "--tokenizer_name", more, "--use_peft", "--lora_modules_to_save", "shared", "--output_dir", output)
    fixture.call("checkpoint", "merge", output, output + "-merged")
    header, data = read_tensors(output + "-merged/model.safetensors")
    bias = header["final_logits_bias"]
    begin, end = bias["data_offsets"]
    expect(bias["shape"] == [1, size + 1] and data[begin:end] == bytes(4 * (size + 1)), "final_logits_bias: a zero more", bias)
    found = []
    for model in (output, output + "-merged"):
        fixture.call(*common, "--model_name_or_path", model, "--validation_file", rows, "--do_eval", "--output_dir", model + "-judged")
        found.append(read_json(model + "-judged", "eval_results.json")["eval_loss"])
    expect(abs(found[0] - found[1]) < 1e-5, "merged as beside it", found)


def an_adapter_with_a_head_is_merged_as_its_base_is_stored(fixture, folder):
    base, output = os.path.join(folder, "base"), os.path.join(folder, "adapter")
    shutil.copytree(fixture.base, base)
    change(base, "config.json", dtype="bfloat16", use_cache=True)
    fixture.train(output, "--lora_modules_to_save", "ln_f", "--save_strategy", "no", model=base, steps=1)
    expect(read_json(output, "config.json")["dtype"] == "float32", "as it was trained", output)
    fixture.call("checkpoint", "merge", output, output + "-merged")
    config = read_json(output + "-merged", "config.json")
    expect((config["dtype"], config["use_cache"]) == ("bfloat16", True), "as the base: bfloat16", config)


def an_adapter_beside_an_output_matrix_of_its_own_is_merged_with_it(fixture, folder):
    base, output, merged = (os.path.join(folder, name) for name in ("base", "adapter", "merged"))
    shutil.copytree(fixture.base, base)
    header, data = read_tensors(base + "/model.safetensors")
    with_tensor(base + "/model.safetensors", "lm_head.weight", header["transformer.wte.weight"], data[4:] + data[:4])
    said = fixture.train(output, "--lora_modules_to_save", "ln_f", "--save_strategy", "no", model=base, steps=2).stderr
    expect("the output matrix is one of its own" in said, "told", said)
    fixture.call("checkpoint", "merge", output, merged)
    expect("lm_head.weight" in tensors_of(merged + "/model.safetensors"), "lm_head stays", merged)
    expect(read_json(merged, "config.json")["tie_word_embeddings"] is False, "and the config says it", merged)
    found = []
    for model in (output, merged):
        fixture.call("--model_name_or_path", model, "--validation_file", fixture.text, "--block_size", "64", "--use_cpu", "--do_eval", "--output_dir", model + "-judged")
        found.append(read_json(model + "-judged", "eval_results.json")["eval_loss"])
    expect(abs(found[0] - found[1]) < 1e-5, "merged as beside it", found)
    os.remove(output + "/config.json")  # peft writes none: the base model's says that the two are tied
    fixture.call("checkpoint", "merge", output, merged + "-by-base")
    expect("lm_head.weight" in tensors_of(merged + "-by-base/model.safetensors"), "lm_head stays beside the base model's config", merged)
    expect(read_json(merged + "-by-base", "config.json")["tie_word_embeddings"] is False, "and the merged one says it", merged)


def a_square_matrix_is_merged_as_its_model_stores_it(fixture, folder):
    """GPT-2 has the input first; a fan_in_fan_out of a config that says otherwise means nothing to peft, and no shape would tell."""
    output = os.path.join(folder, "square")
    fixture.train(output, "--lora_target_modules", "attn.c_proj")
    expect(read_json(output, "adapter_config.json")["fan_in_fan_out"] is True, "as peft writes it", output)
    fixture.call("checkpoint", "merge", output, output + "-merged")
    change(output, "adapter_config.json", fan_in_fan_out=False)
    fixture.call("checkpoint", "merge", output, output + "-again")
    one, two, base = (read_tensors(place + "/model.safetensors")[1] for place in (output + "-merged", output + "-again", fixture.base))
    expect(one == two and one != base, "merged alike", output)


def what_cannot_be_is_refused(fixture, folder):
    output = os.path.join(folder, "run")
    adapter = os.path.join(folder, "adapter")
    fixture.train(adapter, steps=1)
    kept = os.path.join(folder, "kept")
    fixture.train(kept, "--save_steps", 1, steps=1)
    pissa = shutil.copytree(adapter, os.path.join(folder, "pissa"))
    dora = shutil.copytree(adapter, os.path.join(folder, "dora"))
    config = read_json(adapter, "adapter_config.json")
    write(dora + "/adapter_config.json", json.dumps(dict(config, use_dora=True)))
    write(pissa + "/adapter_config.json", json.dumps(dict(config, init_lora_weights="pissa")))
    lost = shutil.copytree(adapter, os.path.join(folder, "lost"))
    write(lost + "/adapter_config.json", json.dumps(dict(config, base_model_name_or_path=folder + "/nowhere")))
    cases = [  # flags, model, exit code, parts of the message
        (["--lora_target_modules", "q_prj"], None, 2, ["'q_prj'", "c_attn, c_proj, c_fc"]),
        (["--lora_target_modules", ".*attn[.]c_attn"], None, 2, ["no module of the model is called '.*attn[.]c_attn'", "names or endings of modules"]),
        (["--lora_target_modules", "wte"], None, 2, ["'wte'", "--lora_modules_to_save"]),
        (["--lora_modules_to_save", "no_such"], None, 2, ["'no_such'"]),
        (["--lora_task_type", "SEQ_CLS"], None, 2, ["lora_task_type", "CAUSAL_LM"]),
        (["--lora_r", "0"], None, 2, ["lora_r"]),
        (["--lora_alpha", "0"], None, 2, ["lora_alpha"]),
        (["--lora_modules_to_save", "wte"], adapter, 2, ["lora_modules_to_save is not what the adapter has", "[]"]),
        (["--lora_task_type", "SEQ_CLS"], adapter, 2, ["lora_task_type is not what the adapter has", "CAUSAL_LM"]),
        (["--lora_r", "8"], adapter, 2, ["lora_r", "16"]),
        (["--use_peft", "false"], adapter, 2, ["the folder holds an adapter", "--use_peft"]),
        ([], dora, 4, ["use_dora"]),
        ([], pissa, 4, ["pissa"]),
        ([], lost, 4, ["nowhere"]),
    ]
    wide = os.path.join(folder, "wide")
    fixture.train(wide, "--lora_target_modules", "c_attn", "c_proj", steps=1)
    write(wide + "/adapter_config.json", json.dumps(dict(read_json(wide, "adapter_config.json"), task_type=None)))
    fixture.train(os.path.join(folder, "again"), "--lora_target_modules", "c_proj", "c_attn", "--lora_task_type", "CAUSAL_LM", model=wide, steps=1)
    for flags, model, code, parts in cases:
        refused = fixture.train(output, *flags, model=model, expect=code)
        for part in parts:
            expect(part in refused.stderr, f"{flags}: {part}", refused.stderr)
        expect(not os.path.exists(output), "nothing is written", flags)
    for flags, said in ((["--lora_alpha", "400"], "lora_alpha"), (["--use_peft", "false"], "adapter")):
        other = fixture.call("--model_name_or_path", fixture.base, "--use_peft", "--train_file", fixture.text, "--block_size", "64", "--use_cpu",
                             "--max_steps", "2", "--save_steps", "1", "--do_train", "--output_dir", kept, *flags, expect=2)
        expect("holds another run" in other.stderr and said in other.stderr, f"another run than {flags}", other.stderr)
    for flags, part in ((["--freeze_embeds"], "freeze_embeds"), (["--output_dir", fixture.base], "holds the weights")):
        refused = fixture.train(output, *flags, expect=2)
        expect(part in refused.stderr, part, refused.stderr)
    scratch = fixture.call("--model_type", "gpt2", "--config_overrides", "n_layer=1,n_embd=8,n_head=1", "--tokenizer_name", fixture.tokenizer,
                           "--use_peft", "--train_file", fixture.text, "--block_size", "64", "--output_dir", output, "--use_cpu", expect=2)
    expect("an adapter needs a model" in scratch.stderr, "from scratch", scratch.stderr)
    idle = fixture.call(*fixture.flags(os.path.join(folder, "idle"), "--lora_r", 8, "--max_steps", 1, ranks=1))
    expect("lora_r has no effect" in idle.stderr, "without --use_peft it is said", idle.stderr)
    none = fixture.call("checkpoint", "merge", fixture.base, output, expect=4)
    expect("holds no adapter" in none.stderr, "merge", none.stderr)


SCENARIOS = [an_adapter_alone_is_trained_and_saved, every_strategy_trains_the_same_adapter, a_resumed_adapter_is_the_same_run,
             an_adapter_goes_on_from_its_folder_and_merges, an_adapter_merges_with_a_revision_of_its_base, an_adapter_of_a_model_of_the_hub_names_it,
             a_head_is_trained_whole_beside_the_adapter, what_the_base_lacks_is_in_the_adapter,
             a_head_of_words_over_a_bare_body_is_trained_and_saved, tied_embeddings_that_are_saved_whole_are_told_to_peft,
             tensors_of_an_adapter_that_have_no_place_are_refused,
             an_adapter_whose_embeddings_peft_ties_keeps_both_of_their_names, what_an_adapter_holds_beside_its_config_is_held_against_it,
             whole_tensors_of_a_family_that_is_not_known_are_merged_by_name, grown_embeddings_are_merged_and_half_a_tied_matrix_is_not,
             a_grown_model_with_a_bias_of_its_outputs_is_merged, an_adapter_with_a_head_is_merged_as_its_base_is_stored, an_adapter_beside_an_output_matrix_of_its_own_is_merged_with_it,
             a_square_matrix_is_merged_as_its_model_stores_it, what_cannot_be_is_refused]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Adapters)
