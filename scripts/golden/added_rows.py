"""Golden data of tests/checkpoint/added_rows_test.cpp, made by the real transformers: what resize_token_embeddings makes of weights that
follow a rule (which the test repeats), for one state of the generator.

Writes tests/golden/checkpoint/added_rows.json.
Usage: python scripts/golden/added_rows.py
"""

import json
import pathlib

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/checkpoint/added_rows.json"
SEED, WIDTH = 7, 6


def by_rule(rows, shift, flat):
    values = [[0.0 if flat and j == 0 else ((i * 37 + j * 11 + i * j + shift) % 29) / 29 - 0.4 for j in range(WIDTH)] for i in range(rows)]
    return torch.tensor(values, dtype=torch.float32)


def resized(model, before, after, flat):
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    tied = head.data_ptr() == embedding.data_ptr()
    with torch.no_grad():
        embedding.copy_(by_rule(before, 0, flat))
        if not tied:
            head.copy_(by_rule(before, 5, flat))
    torch.manual_seed(SEED)
    model.resize_token_embeddings(after)
    case = {"before": before, "after": after, "flat": flat, "embedding": model.get_input_embeddings().weight[before:].tolist()}
    if not tied:
        case["head"] = model.get_output_embeddings().weight[before:].tolist()
    return case


def main():
    cases = []
    for before, after, flat in ((24, 27, False), (24, 45, False), (24, 27, True)):
        tied = GPT2LMHeadModel(GPT2Config(vocab_size=before, n_embd=WIDTH, n_layer=1, n_head=2, n_positions=8))
        untied = LlamaForCausalLM(LlamaConfig(vocab_size=before, hidden_size=WIDTH, intermediate_size=8, num_hidden_layers=1,
                                              num_attention_heads=1, tie_word_embeddings=False))
        cases += [resized(model, before, after, flat) for model in (tied, untied)]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"transformers": transformers.__version__, "seed": SEED, "width": WIDTH, "cases": cases}, indent=1) + "\n")


main()
