"""Writes tests/golden/storage/: a safetensors file and an index of shards as the real packages write them.

    python scripts/golden/storage.py        (needs torch 2.11, safetensors and transformers 5.17)

mixed.safetensors   every dtype that torch and the format share, a scalar, an empty tensor, names that need escapes;
                    the bytes of each tensor count up from 1
shards.json         a tiny GPT-2 saved with a small max_shard_size: the tensors in the order of its state dict, the
                    limit, and the text of model.safetensors.index.json
"""

import json
import pathlib
import tempfile

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "storage"


def counting(dtype, shape):
    tensor = torch.empty(shape, dtype=dtype)
    count = tensor.numel() * tensor.element_size()
    data = torch.arange(1, count + 1, dtype=torch.uint8)
    return data.view(dtype).reshape(shape) if count else tensor


def mixed():
    tensors = {
        "b.weight": counting(torch.float32, (2, 3)),
        "a.weight": counting(torch.float32, (3,)),
        "half": counting(torch.float16, (2,)),
        "brain": counting(torch.bfloat16, (3,)),
        "double": counting(torch.float64, (1,)),
        "scalar": counting(torch.int64, ()),
        "empty": counting(torch.float32, (0, 4)),
        "short": counting(torch.int16, (1,)),
        "int": counting(torch.int32, (2,)),
        "byte": counting(torch.uint8, (5,)),
        "signed": counting(torch.int8, (1,)),
        "flag": torch.tensor([True, False, True]),
        "e4m3": counting(torch.float8_e4m3fn, (2,)),
        "e5m2": counting(torch.float8_e5m2, (2,)),
        'quote"é\n': counting(torch.uint8, (1,)),
    }
    save_file(tensors, TARGET / "mixed.safetensors", metadata={"format": "pt"})


def shards():
    config = AutoConfig.for_model("gpt2", n_layer=2, n_embd=16, n_head=4, vocab_size=64, n_positions=32)
    model = AutoModelForCausalLM.from_config(config)
    limit = 5000
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size=limit)
        index = (pathlib.Path(folder) / "model.safetensors.index.json").read_text()
    saved = json.loads(index)["weight_map"]
    names = {torch.float32: "F32"}
    entries = [[k, names[v.dtype], list(v.shape)] for k, v in model.state_dict().items() if k in saved]
    golden = {"max_shard_bytes": limit, "entries": entries, "index": index}
    (TARGET / "shards.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    mixed()
    shards()
