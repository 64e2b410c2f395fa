#!/usr/bin/env python3
"""What `hftrain explain` tells of checks outside the table of rules is what the program does: each has a command here that meets it.

Usage: tests/apps/explained_checks.py
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import runs
from machines import check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODEL = "n_layer=2,n_embd=16,n_head=2,vocab_size=1024,n_positions=64,bos_token_id=0,eos_token_id=0"
EVALUATES = ["--eval_strategy", "steps", "--eval_steps", "2", "--validation_file", "README.md"]
BEST = [*EVALUATES, "--load_best_model_at_end", "--save_strategy", "steps", "--save_steps", "2"]


def deepspeed(**sections):
    return ["--deepspeed", json.dumps({"zero_optimization": {"stage": 2}, **sections})]


def fsdp(**keys):
    return ["--fsdp", "full_shard", "--fsdp_config", json.dumps(keys)]


# How a sentence begins: what makes the check, and what is then said with code 2 (None: what the full configuration then is, with code 0).
MADE_BY = {
    "an eval_strategy other than no sets do_eval": (EVALUATES, r"^do_eval: true", None),
    "metric_for_best_model is loss": (BEST, r"^metric_for_best_model: loss", None),
    "greater_is_better is true": (["--metric_for_best_model", "accuracy"], r"^greater_is_better: true", None),
    "adafactor sets optim": (["--adafactor"], r"^optim: adafactor", None),
    "tf32 needs a GPU": (["--tf32", "true", "--use_cpu"], "tf32 needs a GPU", 2),
    "the flags fp16 and bf16 win over mixed_precision": (["--mixed_precision", "fp16", "--bf16", "--use_cpu"], "the flags fp16 and bf16 win over mixed_precision fp16", 0),
    "warmup_steps and warmup_ratio are refused": (["--warmup_steps", "2", "--warmup_ratio", "0.1"], "--warmup_steps and --warmup_ratio say two different things", 2),
    "fsdp and sharded_ddp": (["--fsdp", "full_shard", "--sharded_ddp", "simple"], "fsdp and sharded_ddp exclude each other", 2),
    "fsdp and deepspeed": (["--use_fsdp", *deepspeed()], "fsdp and deepspeed exclude each other", 2),
    "per_device_train_batch_size has another name of before": (["--per_gpu_train_batch_size", "3"], r"^per_device_train_batch_size: 3", None),
    "no_cuda is use_cpu": (["--no_cuda", "--xpu_backend", "gloo"], r"^use_cpu: true(.|\n)*^ddp_backend: gloo", None),
    "option words of fsdp": (["--fsdp", "full_shard"], "--fsdp with option words is the old form", 0),
    "a value of the DeepSpeed file": ([*deepspeed(optimizer={"type": "AdamW", "params": {"lr": 1}}), "--learning_rate", "2e-3"], "optimizer.params.lr and learning_rate differ", 2),
    "train_batch_size is the product": (deepspeed(train_batch_size=7, train_micro_batch_size_per_gpu=2, gradient_accumulation_steps=2), "train_batch_size", 2),
    "fp16 and bf16 exclude": ([*deepspeed(fp16={"enabled": True}), "--mixed_precision", "bf16"], "fp16 and bf16 exclude each other", 2),
    "a sharding strategy that is given twice": ([*deepspeed(), "--use_deepspeed", "--zero_stage", "3"], "the sharding strategy is given twice and differently", 2),
    "offload_param needs stage 3": (["--use_deepspeed", "--zero_stage", "2", "--offload_param_device", "cpu"], "offload_param_device needs ZeRO stage 3", 2),
    "a translation needs": (["--model_type", "t5", "--task", "seq2seq", "--source_lang", "en", "--train_file", "pairs.jsonl"], "target_lang", 2),
    "fsdp offload alone": (["--fsdp", "offload"], "--fsdp offload means full_shard with offload", 0),
    "fsdp names one way": (["--fsdp", "full_shard shard_grad_op"], "--fsdp names more than one way of sharding", 2),
    "min_num_params and transformer_layer_cls_to_wrap": (fsdp(min_num_params=9, transformer_layer_cls_to_wrap="GPT2Block"), "exclude each other", 2),
    "gradient_checkpointing and activation_checkpointing": ([*fsdp(activation_checkpointing=True), "--gradient_checkpointing"],
                                                            "gradient_checkpointing and activation_checkpointing exclude each other", 2),
    "sync_module_states false": (["--use_fsdp", "--fsdp_cpu_ram_efficient_loading", "true", "--fsdp_sync_module_states", "false"], "does not go with cpu_ram_efficient_loading", 2),
    "use_orig_params, sync_module_states": (fsdp(version=2, use_orig_params=True), "use_orig_params has no effect with version 2", 0),
    "transformer_layer_cls_to_wrap names": (fsdp(transformer_layer_cls_to_wrap="Nothing"), "the model has no layer class 'Nothing'", 2),
    "LOCAL_STATE_DICT": (["--use_fsdp", "--fsdp_version", "2", "--fsdp_state_dict_type", "LOCAL_STATE_DICT"], "LOCAL_STATE_DICT does not exist in version 2", 2),
    "dp_shard_size above 1": (["--parallelism_config", '{"dp_replicate_size": 2, "dp_shard_size": 2}'], "dp_shard_size above 1 needs --fsdp or --use_fsdp", 2),
    "activation_checkpointing_offload": (["--use_fsdp", "--fsdp_activation_checkpointing_offload", "true"], "does nothing without activation_checkpointing", 2),
    "multi_gpu needs": (["--multi_gpu", "--num_processes", "1"], "multi_gpu needs 2 ranks or more", 2),
    "num_processes is a multiple": (["--nnodes", "2", "--num_processes", "3"], "num_processes does not divide by num_machines", 2),
    "node_rank is one": (["--nnodes", "2", "--node_rank", "2", "--master_addr", "localhost", "--master_port", "29999"], "node_rank 2 is not one of 2 machines", 2),
    "no_ssh has no effect": (["--no_ssh"], "no_ssh has no effect without a host file", 0),
    "include, exclude": (["--hostfile", "hosts", "--include", "localhost", "--num_nodes", "1"], "include and num_nodes exclude each other", 2),
    "offload and auto_wrap of sharded_ddp": (["--sharded_ddp", "offload"], "need a word that shards", 2),
    "simple stands alone": (["--sharded_ddp", "simple auto_wrap"], "sharded_ddp: simple stands alone", 2),
    "zero_dp_2 and zero_dp_3": (["--sharded_ddp", "zero_dp_2 zero_dp_3"], "zero_dp_2 and zero_dp_3 exclude each other", 2),
    "sharded_ddp and deepspeed": (["--sharded_ddp", "simple", *deepspeed()], "sharded_ddp and deepspeed exclude each other", 2),
    "adafactor and an optimizer section": (["--adafactor", *deepspeed(optimizer={"type": "AdamW"})], "optimizer.type and optim differ", 2),
    "predict_with_generate is read": (["--predict_with_generate"], "--task clm does not read --predict_with_generate", 2),
}


def run(*words, folder="."):
    return subprocess.run([runs.HFTRAIN, *words], text=True, capture_output=True, cwd=folder)


def told_checks():
    """The sentences that explain tells of any flag; those of the table of rules among them."""
    sentences = set()
    for flag in json.load(open(os.path.join(ROOT, "tests/golden/arguments/flags.json"))):
        text = run("explain", flag).stdout.partition("\n  checks\n")[2]
        sentences.update(" ".join(row.split()).partition(" ")[2] for row in re.split(r"^    rule ", text, flags=re.M)[1:])
    return sentences


def main():
    source = open(os.path.join(ROOT, "lib/hftrain/arguments/rules/other_checks.cpp")).read()
    rows = ["".join(re.findall(r'"([^"]*)"', row)) for row in re.findall(r'\},\s*((?:"[^"]*"\s*)+)\}', source)]
    check("the table is read", len(rows) >= len(MADE_BY), rows)
    told = told_checks()
    with tempfile.TemporaryDirectory(prefix="hftrain-checks-") as folder:
        for name in ("README.md", "hosts"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("localhost slots=2\n" * 200 if name == "README.md" else "localhost slots=2\n")
        with open(os.path.join(folder, "pairs.jsonl"), "w") as file:
            file.write('{"translation": {"en": "a", "de": "b"}}\n' * 20)
        common = ["--tokenizer_name", os.path.join(ROOT, "configs/quickstart"), "--output_dir", "out", "--max_steps", "4"]
        causal = ["--model_type", "gpt2", "--config_overrides", MODEL, "--train_file", "README.md", "--block_size", "16"]
        for row in rows:
            check(f"explain tells: {row}", row in told, sorted(told))
            ways = [way for begin, way in MADE_BY.items() if row.startswith(begin)]
            check(f"one way leads there: {row}", len(ways) == 1, ways)
            words, said, code = ways[0]
            command = ["--print_config", "full"] if code is None else ["--dry_run"]
            done = run("train", *common, *(causal if "--model_type" not in words else []), *command, *words, folder=folder)
            text = done.stdout + done.stderr
            check(f"{' '.join(words)} ends with {code or 0}", done.returncode == (code or 0), text)
            check(f"{' '.join(words)}: {row}", re.search(said, text, re.M), text)


if __name__ == "__main__":
    main()
