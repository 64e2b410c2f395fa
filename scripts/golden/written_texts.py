"""Writes tests/golden/generation/models.json: what transformers' generate writes with the tiny models of
tests/golden/models and heads, greedily and with beams, for prompts of unequal lengths in one batch.

Made with transformers 5.17.0. Usage: python scripts/golden/written_texts.py > tests/golden/generation/models.json
"""
import json
import pathlib
import random
import sys

import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden"
SETTINGS = [{}, {"num_beams": 4, "num_return_sequences": 2}, {"num_beams": 3, "length_penalty": 2.0, "early_stopping": True},
            {"no_repeat_ngram_size": 2, "repetition_penalty": 1.2}]


def opened(path):
    with safe_open(path, "pt") as file:
        fields = json.loads(file.metadata()["config"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model = kind.from_config(config).eval()
    missing = model.load_state_dict({k: v for k, v in tensors.items() if k in model.state_dict()}, strict=False).missing_keys
    model.tie_weights()
    with torch.no_grad():  # so that texts depend on all that was read
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() == 2 else 1)
    assert all("embed_tokens" in key or "lm_head" in key for key in missing), missing
    return model


def cases_of(path, rng):
    model = opened(path)
    encodes, vocabulary = model.config.is_encoder_decoder, model.config.vocab_size
    for settings in SETTINGS:
        lengths = (3, 3, 3) if "repetition_penalty" in settings else (5, 2, 7)
        prompts = [[rng.randrange(3, vocabulary) for _ in range(length)] for length in lengths]
        if "repetition_penalty" in settings:
            prompts = prompts[:1]
        # What comes is not likely to end by itself: a token that many come by stands for an end.
        end = {"eos_token_id": [rng.randrange(3, vocabulary) for _ in range(3)], "pad_token_id": 0, "max_new_tokens": 8}
        width = max(map(len, prompts))
        rows = [p + [0] * (width - len(p)) if encodes else [0] * (width - len(p)) + p for p in prompts]
        mask = [[int(i < len(p)) if encodes else int(i >= width - len(p)) for i in range(width)] for p in prompts]
        start = {"decoder_start_token_id": model.config.decoder_start_token_id} if encodes else {}
        if model.generation_config.forced_eos_token_id is not None:  # what a config leaves open is the model's
            start["forced_eos_token_id"] = model.generation_config.forced_eos_token_id
        config = GenerationConfig(**end, **settings, **start)
        out = model.generate(torch.tensor(rows), attention_mask=torch.tensor(mask), generation_config=config)
        out = out[:, 1 if encodes else width:].tolist()
        count = settings.get("num_return_sequences", 1)
        texts = [out[i:i + count] for i in range(0, len(out), count)]
        cut = [[t[:next((k + 1 for k, x in enumerate(t) if x in end["eos_token_id"]), len(t))] for t in group] for group in texts]
        yield {"model": f"{path.parent.name}/{path.stem}", "prompts": prompts, "settings": {**end, **settings, **start}, "texts": cut}


def main():
    rng = random.Random(3)
    paths = sorted((GOLDEN / "models").glob("*.safetensors")) + sorted((GOLDEN / "heads").glob("*_texts.safetensors"))
    print("[" + ",\n".join(json.dumps(case, separators=(",", ":")) for path in paths for case in cases_of(path, rng)) + "]")


if __name__ == "__main__":
    sys.exit(main())
