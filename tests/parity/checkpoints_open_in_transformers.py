#!/usr/bin/env python3
"""from_pretrained of the output folder and of every checkpoint: the loss transformers computes is the loss hftrain logged,
and every logit of some rows is the one that our models compute from the same folder.

  checkpoints_open_in_transformers.py [--shapes tiny-gpt2 tiny-llama]
"""
import argparse
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

BLOCK = 128
ROWS = 4  # whose logits are compared


def validation_blocks(cache):
    """Token blocks of the prepared split, from its .bin: unsigned 16-bit ids, all of one length."""
    import numpy
    return numpy.fromfile(cache + ".bin", dtype=numpy.uint16).reshape(-1, BLOCK).astype("int64")


def our_logits(folder, blocks, ours, scratch):
    import numpy
    ids, out = os.path.join(scratch, "ids"), os.path.join(scratch, "logits")
    blocks[:ROWS].tofile(ids)
    ours.write(folder, ids, ROWS, out)
    return numpy.fromfile(out, dtype=numpy.float32).reshape(ROWS, BLOCK, -1)


def loss_of(folder, blocks, ours, scratch):
    """The loss of all blocks by transformers, and the largest difference of a logit of the first from ours."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.from_numpy(blocks)
    with torch.no_grad():
        mean = model(input_ids=ids, labels=ids).loss.item()
        logits = model(input_ids=ids[:ROWS]).logits
    apart = (logits - torch.from_numpy(our_logits(folder, blocks, ours, scratch))).abs().max().item()
    # The Trainer divides by all labels of a row where it does not recognise a causal head by its class name.
    return (mean * (BLOCK - 1) / BLOCK if model.config.model_type == "gpt2" else mean), apart


def check(shape, ours, scratch):
    text = fixtures.sample_text(scratch, 200_000)
    model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, text))
    out = os.path.join(scratch, f"run-{shape}")
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", model, "--train_file", text, "--block_size", str(BLOCK),
                  "--output_dir", out, "--use_cpu", "--nproc_per_node", "1", "--do_train", "--max_steps", "6",
                  "--learning_rate", "1e-3", "--eval_strategy", "steps", "--eval_steps", "2", "--save_steps", "2"])
    with open(os.path.join(out, "hftrain", "plan.json")) as file:
        blocks = validation_blocks(json.load(file)["data"]["validation"]["cache_path"])
    logged = {r["step"]: r["eval_loss"] for r in fixtures.our_records(out) if "eval_loss" in r}
    folders = {int(re.fullmatch(r"checkpoint-(\d+)", name)[1]): os.path.join(out, name)
               for name in os.listdir(out) if name.startswith("checkpoint-")}
    if sorted(folders) != [2, 4, 6]:
        raise SystemExit(f"{shape}: checkpoints are {sorted(folders)}")
    worst = furthest = 0
    for step, folder in [*folders.items(), (6, out)]:
        loss, apart = loss_of(folder, blocks, ours, scratch)
        worst, furthest = fixtures.largest([worst, abs(loss - logged[step]) / logged[step]]), fixtures.largest([furthest, apart])
    print(f"{shape}: three checkpoints and the final folder, worst relative difference of the loss {worst:.1e}, of "
          f"{ROWS * BLOCK} rows of logits {furthest:.1e}")
    return worst <= 1e-5 and furthest <= 1e-5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="*", default=["tiny-gpt2", "tiny-llama"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        ours = fixtures.FolderLogits()
        passed = [check(shape, ours, scratch) for shape in options.shapes]
        ours.close()
    sys.exit(0 if all(passed) else 1)


main()
