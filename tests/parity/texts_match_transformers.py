#!/usr/bin/env python3
"""`hftrain generate` writes the tokens that transformers' generate writes with the same folder: greedily, with 4 beams and with what
changes scores, in batches of prompts of unequal lengths and one by one, token by token, guessed ahead and foreseen by copies of the weights, for a tiny model of each family.

  texts_match_transformers.py [--families gpt2 llama qwen2 qwen3 mistral gemma t5 bart]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

VOCABULARY = 600
END = [1, *range(40, 60)]
LLAMA = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=128)
FAMILIES = {
    "gpt2": dict(n_embd=32, n_layer=2, n_head=4, n_positions=128),
    "llama": LLAMA, "qwen2": LLAMA, "qwen3": dict(LLAMA, head_dim=8), "mistral": dict(LLAMA, sliding_window=6),
    "gemma": dict(LLAMA, head_dim=8),
    "t5": dict(d_model=32, d_kv=8, num_heads=4, d_ff=48, num_layers=2, decoder_start_token_id=0),
    "bart": dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                 encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=128),
}
LONG = {"max_new_tokens": 64, "min_new_tokens": 64}  # enough to go round, so that ours guesses ahead
GUESSED, FORESEEN = ("--prompt_lookup_num_tokens", "9"), ("--draft_weights", "int8")
SETTINGS = [  # those of the command line; the folder has others
    {},
    {"num_beams": 4, "max_new_tokens": 12},
    {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 2.0, "early_stopping": True, "max_new_tokens": 16},
    {"max_new_tokens": 16, "repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
    LONG,
    {"max_new_tokens": 9, "min_new_tokens": 5, "suppress_tokens": [7, 8], "bad_words_ids": [[9], [10, 11]]},
]


def folder_of(scratch, family, words):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM
    fields = dict(FAMILIES[family], vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    config = AutoConfig.for_model(family, **fields)
    torch.manual_seed(len(family))
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model = kind.from_config(config).eval()
    with torch.no_grad():  # so that texts depend on all that was read
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() == 2 else 1)
    # What comes is not likely to end by itself: some more tokens stand for an end.
    model.generation_config.eos_token_id = END
    path = os.path.join(scratch, family)
    model.save_pretrained(path)
    for name in os.listdir(words):
        shutil.copy(os.path.join(words, name), path)
    return path


def old_folder(folder):
    """The same model as folders were before generation_config.json: config.json holds the settings."""
    path = folder + "-old"
    shutil.copytree(folder, path)
    os.remove(os.path.join(path, "generation_config.json"))
    with open(os.path.join(path, "config.json")) as file:
        config = json.load(file)
    config |= {"num_beams": 3, "length_penalty": 2.0, "no_repeat_ngram_size": 2, "max_length": 40, "eos_token_id": END,
               "force_bos_token_to_be_generated": True, "task_specific_params": {"summarization": {"num_beams": 1, "max_length": 9}}}
    with open(os.path.join(path, "config.json"), "w") as file:
        json.dump(config, file)
    return path


def theirs(folder, prompts, settings, end):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, PreTrainedTokenizerFast
    encodes = AutoConfig.from_pretrained(folder).is_encoder_decoder
    model = (AutoModelForSeq2SeqLM if encodes else AutoModelForCausalLM).from_pretrained(folder).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    texts, count = [], settings.get("num_return_sequences", 1)
    for prompt in prompts:  # alone, so that processors see no padding: what a row becomes must not depend on others
        ids = torch.tensor([tokenizer(prompt)["input_ids"]])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), **settings)
        rows = out[:, 1 if encodes else ids.shape[1]:].tolist()
        texts += [row[:next((k + 1 for k, x in enumerate(row) if x in end), len(row))] for row in rows]
        assert len(rows) == count
    return texts


def ways_of(family, settings):
    """Batch sizes, and how texts are drafted: what decoders write without beams is guessed ahead, the longest also foreseen and token by token."""
    if not settings:
        return [(2, ())]
    drafts = family not in ("t5", "bart") and "num_beams" not in settings
    alone = [()] * (not drafts or settings is LONG) + [GUESSED] * drafts + [FORESEEN] * (drafts and settings.get("max_new_tokens", 0) > 9 and has_vnni())
    return [(3, ())] + [(1, how) for how in alone]


def has_vnni():
    with open("/proc/cpuinfo") as file:
        return "avx512_vnni" in file.read()


def ours(folder, prompts, settings, batch, drafts):
    words = [fixtures.HFTRAIN, "generate", "--model_name_or_path", folder, "--json", "--use_cpu", "--batch_size", str(batch), *drafts]
    for name, value in settings.items():
        words += ["--" + name, *([json.dumps(value)] if isinstance(value, list) else [str(value).lower()])]
    said = subprocess.run([*words, "--prompt", *prompts], text=True, capture_output=True)
    if said.returncode != 0:
        raise SystemExit(f"{words} ended with {said.returncode}\n{said.stderr}")
    document = json.loads(said.stdout)
    if (drafts == FORESEEN) != (document["draft_steps"] > 0) and drafts in ((), FORESEEN):
        raise SystemExit(f"{words} read its copies {document['draft_steps']} times")
    return [one["ids"] for one in document["generations"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hftrain-texts-") as scratch:
        text = fixtures.sample_text(scratch, 60_000)
        words = fixtures.tokenizer(scratch, text, 500)
        with open(text) as file:
            line = " ".join(file.read().split())
        prompts = [line[:40], line[50:59], line[70:150]]
        for family in options.families:
            folder = folder_of(scratch, family, words)
            for place, settings in [*((folder, settings) for settings in SETTINGS), (old_folder(folder), {})]:
                expected = theirs(place, prompts, settings, END)
                for batch, drafts in ways_of(family, settings):
                    got = ours(place, prompts, settings, batch, drafts)
                    good = got == expected and any(expected)
                    failed += not good
                    what = settings or ("as the folder says" if place == folder else "as config.json says")
                    print(f"{'ok      ' if good else 'FAILED  '}{family}, {what}, batch {batch}{' '.join(('', *drafts))}", flush=True)
                    if not good:
                        print(f"  transformers {expected}\n  ours         {got}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
