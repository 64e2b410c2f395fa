#!/usr/bin/env python3
"""Host memory of all ranks together while a model is loaded, against the bytes of its weights.

  load_memory.py [--ranks 4] [--strategy full_shard] [--width 768 --layers 12]

A model of this shape is made, exported as a folder of several files and loaded by every rank. What is counted is the
highest resident set of each rank until its model is loaded, mapped pages of the files included, less that of the same
run with a model of a few kilobytes: libraries and buffers that do not grow with the model.
"""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "apps"))
from runs import Fixture


def shape(width, layers, vocabulary):
    return (f"n_layer={layers},n_head=2,n_embd={width},n_positions=64,vocab_size={vocabulary},bos_token_id=0,"
            "eos_token_id=0")


def make_folder(fixture, name, width, layers, vocabulary):
    made, folder = os.path.join(fixture.folder, name + "-made"), os.path.join(fixture.folder, name)
    flags = fixture.flags(made, "--max_steps", 1, "--save_strategy", "no", ranks=1)
    flags[flags.index("--config_overrides") + 1] = shape(width, layers, vocabulary)
    fixture.call(*flags)
    fixture.call("checkpoint", "export", made, folder, "--max_shard_size", "100MB")
    return folder


def loading_peaks(fixture, folder, ranks, strategy):
    output = folder + "-loaded"
    flags = fixture.flags(output, "--max_steps", 1, "--per_device_train_batch_size", 1, "--save_strategy", "no",
                        "--model_name_or_path", folder, "--fsdp", f"{strategy} auto_wrap",
                        "--fsdp_transformer_layer_cls_to_wrap", "GPT2Block", ranks=ranks)
    for flag in ("--model_type", "--config_overrides"):
        at = flags.index(flag)
        del flags[at:at + 2]
    fixture.call(*flags)
    with open(os.path.join(output, "hftrain", "summary.json")) as file:
        return [rank["peak_host_bytes_loading"] for rank in json.load(file)["ranks"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--strategy", default="full_shard")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, default=50257)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        fixture = Fixture(scratch)
        small = make_folder(fixture, "small", 32, 1, 512)
        large = make_folder(fixture, "large", options.width, options.layers, options.vocabulary)
        weights = sum(os.path.getsize(os.path.join(large, n)) for n in os.listdir(large) if n.endswith(".safetensors"))
        rest = loading_peaks(fixture, small, options.ranks, options.strategy)
        print(f"{options.ranks} ranks, {options.strategy}, without a model: {sum(rest) / 1e6:.0f} MB over all ranks", flush=True)
        peaks = loading_peaks(fixture, large, options.ranks, options.strategy)
        grown = sum(peaks) - sum(rest)
        print(f"{options.ranks} ranks, {options.strategy}: weights {weights / 1e6:.0f} MB; loading takes "
              f"{grown / 1e6:.0f} MB over all ranks beside {sum(rest) / 1e6:.0f} MB without a model: "
              f"{100 * grown / weights:.1f} % of the weights")


main()
