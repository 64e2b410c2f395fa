#!/usr/bin/env python3
"""--smoke with configurations of many kinds, and with a defect planted in the workers, which it has to find.

    smoke.py SCENARIO…        without one: all
"""
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import BUILD, HFTRAIN, PATIENCE, Fixture, expect

WORKER = str(BUILD / "bin" / "hftrain-worker")
CHECKS = 6


def smoke(fixture, *flags, program=HFTRAIN):
    environment = {**fixture.environment, "TMPDIR": fixture.folder}
    return subprocess.run([program, "--smoke", *map(str, flags)], env=environment, text=True, capture_output=True)


def passes(fixture, *flags):
    result = smoke(fixture, *flags)
    told = f"hftrain --smoke {' '.join(map(str, flags))}\nended with {result.returncode}\n{result.stdout}{result.stderr}"
    if result.returncode != 0 or result.stdout.count("ok      ") != CHECKS:
        raise SystemExit(told)
    left = [name for name in os.listdir(fixture.folder) if name.startswith("hftrain-smoke-")]
    if left:
        raise SystemExit(f"{told}it left {left}")
    return result


def scenario_restarts_and_silence(fixture):
    passes(fixture, "--max_restarts", 1, "--quiet")
    passes(fixture, "--max_restarts", 1, "--log_level", "error", "--save_total_limit", 1, "--async_save")
    # The best checkpoint is the only one that is left.
    passes(fixture, "--eval_strategy", "steps", "--load_best_model_at_end", "--save_total_limit", 1, "--metric_for_best_model", "loss",
           "--greater_is_better", "true", "--quiet")


def scenario_sharding_by_flags_and_files(fixture):
    passes(fixture, "--fsdp", "full_shard auto_wrap", "--max_restarts", 2, "--quiet")
    folder = pathlib.Path(fixture.folder)
    zero2 = {"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 2,
             "zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}}
    (folder / "zero2.json").write_text(json.dumps(zero2))
    passes(fixture, "--deepspeed", folder / "zero2.json", "--gradient_accumulation_steps", 2)
    (folder / "accelerate.yaml").write_text("distributed_type: FSDP\nmixed_precision: bf16\nuse_cpu: true\nnum_machines: 1\n"
                                            "num_processes: 8\nfsdp_config:\n  fsdp_version: 1\n"
                                            "  fsdp_sharding_strategy: FULL_SHARD\n"
                                            "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n")
    result = passes(fixture, "--config", folder / "accelerate.yaml")
    if "nproc_per_node" not in result.stderr and "num_processes" not in result.stderr:
        raise SystemExit("it does not say that 8 ranks have become 2:\n" + result.stderr)


def scenario_the_users_model_data_and_folders(fixture):
    folder = pathlib.Path(fixture.folder)
    output, logs = folder / "real run", folder / "real logs"
    output.mkdir()
    (output / "notes.txt").write_text("mine")
    (output / "checkpoint-9").mkdir()
    rows = "".join(json.dumps({"text": line}) + "\n" for line in pathlib.Path(fixture.text).read_text().splitlines(keepends=True))
    with open(folder / "large.jsonl", "w") as large:  # its first rows are taken: all of them could not be read
        large.writelines([rows] * 100)
        large.write('{"text": "cut')
    flags = fixture.flags(output, "--train_file", folder / "large.jsonl", "--overwrite_output_dir", "--log_dir", logs,
                        "--eval_strategy", "epoch", "--save_strategy", "epoch", "--load_best_model_at_end",
                        "--early_stopping_patience", 1, "--save_only_model", "--max_steps", 1000,
                        "--report_to", "wandb", "trackio", "mlflow", "csv")
    real = {"HFTRAIN_CACHE": folder / "real cache", "WANDB_DIR": folder / "real wandb", "TRACKIO_DIR": folder / "real trackio",
            "MLFLOW_TRACKING_URI": folder / "real mlruns"}
    fixture.environment.update((variable, str(place)) for variable, place in real.items())
    passes(fixture, *flags)
    if sorted(os.listdir(output)) != ["checkpoint-9", "notes.txt"] or any(place.exists() for place in (logs, *real.values())):
        raise SystemExit("it wrote where real runs are: " + str(os.listdir(folder)))


def scenario_a_configuration_that_cannot_run_fails_with_its_code(fixture):
    result = smoke(fixture, "--fp16", "--use_cpu")
    if result.returncode != 2 or "fp16 does not work on the CPU" not in result.stderr:
        raise SystemExit(f"ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    result = smoke(fixture, "--train_file", os.path.join(fixture.folder, "none.txt"))
    if result.returncode != 4 or "none.txt" not in result.stderr:
        raise SystemExit(f"missing data ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    result = subprocess.run([HFTRAIN, "--smoke", "--fp16", "--use_cpu"], env={**fixture.environment, "TMPDIR": ""}, text=True, capture_output=True)
    if result.returncode != 2:
        raise SystemExit(f"an empty TMPDIR ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    nowhere = os.path.join(fixture.folder, "nowhere")
    result = subprocess.run([HFTRAIN, "--smoke"], env={**fixture.environment, "TMPDIR": nowhere}, text=True, capture_output=True)
    if result.returncode != 3 or "environment TMPDIR" not in result.stderr or nowhere not in result.stderr:
        raise SystemExit(f"a folder for temporary files that is not there ended with {result.returncode}:\n{result.stdout}{result.stderr}")


def scenario_every_task(fixture):
    for task in ("mlm", "text-classification", "token-classification", "question-answering", "seq2seq", "translation", "image-classification"):
        passes(fixture, "--task", task, "--use_cpu")
        print("  ", task, flush=True)
    for task, *more in (["text-classification", "--task_name", "stsb", "--eval_strategy", "epoch", "--do_predict"], ["text-classification", "--task_name", "qqp"],
                        ["token-classification", "--text_column_name", "words", "--label_column_name", "tags"],
                        ["seq2seq", "--text_column", "article", "--summary_column", "highlights"], ["translation", "--source_lang", "en_XX", "--target_lang", "de"],
                        ["image-classification", "--image_column_name", "img", "--label_column_name", "kind", "--do_predict"]):
        passes(fixture, "--task", task, "--use_cpu", *more)
        print("  ", task, *more, flush=True)
    rows = pathlib.Path(fixture.folder) / "rows"
    fixture.call("sample-data", "classification", str(rows), "--size", "100000")
    passes(fixture, "--task", "text-classification", "--use_cpu", "--train_file", rows / "train.jsonl", "--validation_file", rows / "validation.jsonl",
           "--eval_strategy", "epoch", "--no_pad_to_max_length")


def scenario_an_adapter_and_predictions_without_a_model_and_data(fixture):
    for task, *more in (["clm"], ["text-classification"], ["image-classification", "--lora_target_modules", "all-linear"]):
        passes(fixture, "--task", task, "--use_peft", "--do_predict", "--use_cpu", *more)
        print("  ", task, flush=True)
    passes(fixture, "--task", "seq2seq", "--do_predict", "--predict_with_generate", "--use_cpu")


def scenario_conversations_only_for_a_model_that_can_chat(fixture):
    passes(fixture, "--task", "sft", "--use_cpu", "--tokenizer_name", fixture.tokenizer)
    passes(fixture, "--task", "sft", "--use_cpu")


def scenario_accumulation_does_not_make_it_long(fixture):
    result = passes(fixture, "--gradient_accumulation_steps", 64, "--use_cpu")
    if "a run of 15 steps" not in result.stdout or "gradient_accumulation_steps (command line) is 4 here" not in result.stderr:
        raise SystemExit(f"it is as long as it was, or does not say so:\n{result.stdout}{result.stderr}")
    folder = pathlib.Path(fixture.folder)
    (folder / "zero2.json").write_text(json.dumps({"gradient_accumulation_steps": 8, "zero_optimization": {"stage": 2}}))
    result = passes(fixture, "--deepspeed", folder / "zero2.json", "--gradient_accumulation_steps", 8, "--use_cpu")
    if "a run of 6 steps" not in result.stdout:
        raise SystemExit(f"DeepSpeed's accumulation is not counted:\n{result.stdout}")


def scenario_ranks_and_updates_that_a_file_has_more_of(fixture):
    folder = pathlib.Path(fixture.folder)
    schedule = {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 5, "warmup_max_lr": 1e-4, "total_num_steps": 10000}}
    (folder / "eight.json").write_text(json.dumps({
        "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}, "scheduler": schedule}))
    result = passes(fixture, "--deepspeed", folder / "eight.json", "--learning_rate", 1e-4, "--max_steps", 10000, "--use_cpu")
    for told in ("is 16 here: this check has 2 ranks, with micro-batches of 4, 2 an update", "is 30 here: this check has as many updates"):
        expect(told in result.stderr, told, result.stderr)
    (folder / "hybrid.yaml").write_text("distributed_type: FSDP\nuse_cpu: true\nnum_machines: 2\nnum_processes: 16\nmachine_rank: 0\n"
                                        "main_process_ip: 10.0.0.1\nmain_process_port: 29500\n"
                                        "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                                        "parallelism_config:\n  parallelism_config_dp_replicate_size: 2\n"
                                        "  parallelism_config_dp_shard_size: 8\n")
    result = passes(fixture, "--config", folder / "hybrid.yaml", "--nproc_per_node", 4)
    expect("the mesh is 2 x 2 (replicate x shard) here, not of 8 ranks" in result.stderr, "the mesh is told", result.stderr)


def scenario_a_run_that_diverges_says_so(fixture):
    """Too short for five updates in a row, with which a run ends: from the first update on, and behind a checkpoint."""
    model = "n_layer=1,n_embd=16,n_head=2,vocab_size=300"
    short = ("--model_type", "gpt2", "--block_size", 32, "--gradient_accumulation_steps", 4, "--use_cpu")
    result = smoke(fixture, *short, "--config_overrides", model + ",initializer_range=1e30")
    expect(result.returncode == 8 and "the gradients of its last 3 of 3 updates are not finite" in result.stderr, "it ends as diverged",
           f"{result.returncode}\n{result.stdout}{result.stderr}")
    shutil.rmtree(glob.glob(os.path.join(fixture.folder, "hftrain-smoke-*"))[0])
    result = passes(fixture, *short, "--config_overrides", model, "--learning_rate", 1e30)
    expect("the gradients of its last 2 of 3 updates are not finite" in result.stderr, "it is told", result.stderr)


# Stands for hftrain-worker; $2 is the plan, $PLAN a copy of it to spoil.
WRAPPER = """#!/bin/sh
PLAN="$2.$RANK"; cp "$2" "$PLAN"; RESUMES=no
grep -q '"resume_from": "/' "$2" && RESUMES=yes
{defect}
shift 2
exec {worker} --plan "$PLAN" "$@"
"""
DEFECTS = [
    ("starting again resumes", 'sed -i \'s/"resume_from": "[^"]*"/"resume_from": ""/\' "$PLAN"'),
    ("the resumed run equals the straight one",
     '[ $RESUMES = yes ] && sed -i \'s/"weight_decay": [0-9.e-]*/"weight_decay": 0.5/\' "$PLAN"'),
    ("the resumed run equals the straight one",  # which is gone
     '[ $RESUMES = yes ] && rm -rf "$(dirname "$(dirname "$(dirname "$PLAN")")")/straight"'),
    ("the checkpoint verifies", """if [ $RESUMES = yes ] && [ "$RANK" = 0 ]; then
  shift 2; {worker} --plan "$PLAN" "$@"; CODE=$?
  echo damage >> "$(dirname "$(dirname "$PLAN")")/checkpoint-60/trainer_state.json"; exit $CODE
fi"""),
    ("a run of 60 steps", '[ "$RANK" = 1 ] && exit 9'),
]


def scenario_a_signal_ends_it_and_nothing_is_left(fixture):
    """While the first run trains: its front program, its ranks and its folder are gone."""
    for number in (signal.SIGINT, signal.SIGTERM):
        job = subprocess.Popen([HFTRAIN, "--smoke"], env={**fixture.environment, "TMPDIR": fixture.folder}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect("ok" in job.stdout.readline(), "the data are made", number)
        plans = []
        while job.poll() is None and not plans:
            plans = glob.glob(os.path.join(fixture.folder, "hftrain-smoke-*", "straight", "hftrain", "plan.json"))
            time.sleep(0.01)
        job.send_signal(number)
        said = job.communicate(timeout=PATIENCE)[1]
        expect(job.returncode == 10 and "the check was stopped" in said, f"{number} ends with 10", f"{job.returncode}\n{said}")
        left = glob.glob(os.path.join(fixture.folder, "hftrain-smoke-*"))
        expect(plans and not left, "nothing is left", (plans, left))
        deadline = time.monotonic() + PATIENCE
        while alive := subprocess.run(["pgrep", "-f", plans[0]], text=True, capture_output=True).stdout:
            expect(time.monotonic() < deadline, "its ranks are gone", alive)
            time.sleep(0.05)


def scenario_a_planted_defect_is_found(fixture):
    for check, defect in DEFECTS:
        folder = pathlib.Path(tempfile.mkdtemp(dir=fixture.folder)) / "bin"
        folder.mkdir()
        shutil.copy2(HFTRAIN, folder / "hftrain")
        (folder / "hftrain-worker").write_text(WRAPPER.format(worker=WORKER, defect=defect.format(worker=WORKER)
                                                              if "{worker}" in defect else defect))
        (folder / "hftrain-worker").chmod(0o755)
        result = smoke(fixture, program=str(folder / "hftrain"))
        failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
        if result.returncode == 0 or len(failed) != 1 or check not in failed[0]:
            raise SystemExit(f"planted: {check}\nended with {result.returncode}\n{result.stdout}{result.stderr}")


def main():
    scenarios = sys.argv[1:] or [name for name in globals() if name.startswith("scenario_")]
    for scenario in scenarios:
        with tempfile.TemporaryDirectory() as folder:
            globals()[scenario](Fixture(folder))
        print(scenario.removeprefix("scenario_").replace("_", " "), "— ok")


main()
