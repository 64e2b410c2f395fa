"""Writes tests/golden/nn/*.safetensors: what transformers' building blocks compute, for the tests of nn.

attention: queries, keys, values, masks and biases; outputs of sdpa_attention_forward and gradients of its sum of
squares. positions: T5's buckets of relative positions, RoBERTa's position ids. activations: every activation that nn
names. losses: those of the Trainer's models with and without a divisor.
Made with transformers 5.17.0 and torch 2.11.0 in float32.
Usage: python scripts/golden/nn.py [output folder]
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers.activations import ACT2FN
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.loss.loss_utils import fixed_cross_entropy
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings
from transformers.models.t5.modeling_t5 import T5Attention

ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "silu", "swish", "relu", "quick_gelu", "tanh"]


class Module(torch.nn.Module):
    is_causal = False


def attention_cases():
    torch.manual_seed(1)
    keep = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).bool()
    blind = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0]]).bool()
    order = torch.ones(5, 5).tril().bool()
    wide = keep[:, None, None, :].expand(3, 1, 5, 5)
    bias = torch.randn(1, 4, 5, 5)
    cross = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [1] * 7, [1, 1, 0, 0, 0, 0, 0]]).bool()
    return {  # keys, mask, bias, what the mask is made of
        "plain": (5, None, None),
        "padded": (5, wide, None),
        "blind": (5, blind[:, None, None, :].expand(3, 1, 5, 5), None),
        "causal_padded": (5, wide & order, None),
        "biased": (5, None, bias),
        "biased_padded": (5, wide, bias),
        "biased_blind": (5, blind[:, None, None, :].expand(3, 1, 5, 5), bias),
        "biased_causal_padded": (5, wide & order, bias),
        "cross": (7, cross[:, None, None, :].expand(3, 1, 5, 7), None),
    }


def attention():
    tensors = {}
    for name, (keys, mask, bias) in attention_cases().items():
        torch.manual_seed(len(name))
        leaves = {"query": torch.randn(3, 4, 5, 8), "key": torch.randn(3, 4, keys, 8), "value": torch.randn(3, 4, keys, 8)}
        if bias is not None:
            leaves["bias"] = bias.clone()
        for leaf in leaves.values():
            leaf.requires_grad_(True)
        module = Module()
        output, _ = sdpa_attention_forward(module, leaves["query"], leaves["key"], leaves["value"], mask, scaling=0.3,
                                           position_bias=leaves.get("bias"))
        (output ** 2).sum().backward()
        for key, leaf in leaves.items():
            turn = (lambda t: t) if key == "bias" else (lambda t: t.transpose(1, 2).contiguous())  # ours is [B, T, H, d]
            tensors[f"{name}/{key}"] = turn(leaf.detach()).clone()
            tensors[f"{name}/grad/{key}"] = turn(leaf.grad).clone()
        tensors[f"{name}/output"] = output.detach().reshape(3, 5, -1)
        if mask is not None:
            tensors[f"{name}/keys"] = mask[:, 0, -1, :].long().contiguous()
    return tensors


def positions():
    def offsets(queries, keys):
        return torch.arange(keys)[None, :] - torch.arange(queries)[:, None]

    ids = torch.tensor([[5, 6, 1, 1], [1, 5, 1, 6], [7, 8, 9, 5], [1, 1, 1, 1]])
    tensors = {"roberta/ids": ids, "roberta/positions": RobertaEmbeddings.create_position_ids_from_input_ids(ids, 1)}
    for name, arguments in {"encoder": (True, 32, 128), "decoder": (False, 32, 128), "small": (True, 8, 20)}.items():
        tensors[f"{name}/later"] = T5Attention._relative_position_bucket(offsets(5, 180), *arguments)
        tensors[f"{name}/earlier"] = T5Attention._relative_position_bucket(offsets(180, 5), *arguments)
    return tensors


def activations():
    x = torch.cat([torch.linspace(-12, 12, 97), torch.tensor([-1e4, 1e4])])
    return {"x": x} | {name: ACT2FN[name](x.clone()) for name in ACTIVATIONS}


def losses():
    torch.manual_seed(3)
    logits, labels = torch.randn(6, 9, 11), torch.randint(11, (6, 9))
    labels[0] = -100
    labels[3, 4:] = -100
    scores, targets, several = torch.randn(7, 5), torch.randn(7, 5), torch.randint(2, (7, 5)).float()
    flat = (logits.view(-1, 11), labels.view(-1))
    return {"logits": logits, "labels": labels, "scores": scores, "targets": targets, "several": several,
            "cross_entropy": fixed_cross_entropy(*flat), "cross_entropy_17": fixed_cross_entropy(*flat, torch.tensor(17)),
            "squared": torch.nn.MSELoss()(scores, targets),
            "binary": torch.nn.BCEWithLogitsLoss()(scores, several)}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "tests/golden/nn")
    folder.mkdir(parents=True, exist_ok=True)
    for make in (attention, positions, activations, losses):
        save_file({name: tensor.contiguous() for name, tensor in make().items()}, folder / f"{make.__name__}.safetensors")
