"""Writes tests/golden/models/*.safetensors: tiny random models with their weights, inputs, logits, loss and gradients.

Each file holds the parameters under their transformers names, "grad/<name>", "input_ids", "labels", "logits" and
"loss"; its metadata holds "config" (the config.json to read). Made with transformers 5.17.0 and torch 2.11.0 in float32.
Usage: python scripts/golden/models.py [output folder]
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

GPT2 = dict(model_type="gpt2", vocab_size=64, n_positions=24, n_embd=16, n_layer=2, n_head=2,
            embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0, bos_token_id=1, eos_token_id=2)
LLAMA = dict(model_type="llama", vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)

CASES = {
    "gpt2": GPT2,
    "gpt2_inverse_layer": dict(GPT2, scale_attn_by_inverse_layer_idx=True, activation_function="gelu", n_inner=40),
    "gpt2_unscaled_untied": dict(GPT2, scale_attn_weights=False, tie_word_embeddings=False),
    "llama_untied": LLAMA,
    "llama_tied_head_dim": dict(LLAMA, tie_word_embeddings=True, head_dim=8),
    "llama_llama3_rope": dict(LLAMA, rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0,
                              low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    "llama_linear_rope_v4": dict(LLAMA, rope_theta=5000.0, rope_scaling=dict(type="linear", factor=4.0)),
    "llama_biases": dict(LLAMA, attention_bias=True, mlp_bias=True, num_key_value_heads=4),
    "qwen2": dict(LLAMA, model_type="qwen2", tie_word_embeddings=True, rope_theta=1000000.0),
    "qwen2_window": dict(LLAMA, model_type="qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "qwen3": dict(LLAMA, model_type="qwen3", head_dim=8),
    "mistral_window": dict(LLAMA, model_type="mistral", sliding_window=5, rms_norm_eps=1e-5),
    "gemma": dict(LLAMA, model_type="gemma", head_dim=8, hidden_act="gelu_pytorch_tanh", tie_word_embeddings=True),
    "mistral_full": dict(LLAMA, model_type="mistral", sliding_window=None),
}


def make(name, config, folder):
    torch.manual_seed(sum(map(ord, name)))
    fields = dict(config)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(fields.pop("model_type"), **fields),
                                             attn_implementation="sdpa").float().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # so that norms and biases matter
            parameter.add_(0.05 * torch.randn_like(parameter))
    ids = torch.randint(0, config["vocab_size"], (2, 12))
    labels = ids.clone()
    labels[0, :3] = -100
    labels[1, 9:] = -100
    output = model(input_ids=ids, labels=labels, use_cache=False)
    output.loss.backward()
    tensors = {"input_ids": ids, "labels": labels, "logits": output.logits, "loss": output.loss}
    for key, parameter in model.named_parameters():
        tensors[key] = parameter
        tensors["grad/" + key] = parameter.grad
    tensors = {key: value.detach().clone().contiguous() for key, value in tensors.items()}
    save_file(tensors, folder / f"{name}.safetensors", metadata={"config": json.dumps(config)})


def main():
    default = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/models"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, config in CASES.items():
        make(name, config, folder)


if __name__ == "__main__":
    main()
