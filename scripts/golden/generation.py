"""Golden data of lib/hftrain/generation: what transformers makes of scores, and the texts that its generate writes.

The model of the texts is a table: the scores of the next token are those of the last two tokens and of how many there
are, so that the C++ tests have it too. Usage: scripts/golden/generation.py [--count N --seed S] > FILE
(the committed file: no options, tests/golden/generation/cases.json).
"""
import argparse
import json
import random
import sys

import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.generation import logits_process as processors
from transformers.modeling_outputs import CausalLMOutput

VOCABULARY, PLACES, PAD = 24, 5, 23


class TableConfig(PreTrainedConfig):
    model_type = "table"


class TableModel(PreTrainedModel, GenerationMixin):
    config_class = TableConfig

    def __init__(self, tables):
        config = TableConfig()
        config.vocab_size, config.is_encoder_decoder = VOCABULARY, False
        super().__init__(config)
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.last, self.second, self.place = (torch.tensor(table) for table in tables)
        self.last[:, PAD] = -50  # nobody's text: what is padding can be told from it

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(self, input_ids, attention_mask=None, **_):
        given = attention_mask.sum(1) if attention_mask is not None else torch.full((len(input_ids),), input_ids.shape[1])
        second = torch.where(given >= 2, input_ids[:, -2] if input_ids.shape[1] > 1 else 0, 0)
        before = self.second[second] * (given >= 2)[:, None]
        logits = self.last[input_ids[:, -1]] + before + self.place[given % PLACES]
        return CausalLMOutput(logits=logits[:, None, :])


def numbers(rng, rows):
    return [[round(rng.gauss(0, 1.5), 5) for _ in range(VOCABULARY)] for _ in range(rows)]


def settings_of_text(rng):
    s = {"eos_token_id": rng.choice([[3], [3, 7], [3, 7, 11]])}
    if rng.random() < 0.7:
        s["num_beams"] = rng.choice([2, 3, 4, 6])
        s["early_stopping"] = rng.choice([True, False, "never"])
        s["length_penalty"] = rng.choice([1.0, 0.0, -0.5, 2.0])
        s["num_return_sequences"] = rng.randint(1, s["num_beams"])
    s.update({rng.choice(["max_length", "max_new_tokens"]): rng.randint(8, 18)})
    for key, values in {"min_length": [6, 9], "min_new_tokens": [2, 5], "repetition_penalty": [1.3, 0.8],
                        "no_repeat_ngram_size": [1, 2, 3], "bad_words_ids": [[[5], [1, 2], [3]], [[4, 4]]],
                        "forced_eos_token_id": [3], "suppress_tokens": [[0, 1, 2]], "begin_suppress_tokens": [[8, 9]],
                        "exponential_decay_length_penalty": [[2, 1.2]], "renormalize_logits": [True],
                        "forced_bos_token_id": [6], "sequence_bias": [[[[2], 1.5], [[9, 4], -3.0]]]}.items():
        if rng.random() < 0.18:
            s[key] = rng.choice(values)
    if {"min_length", "min_new_tokens", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id"} & set(s):
        s.pop("exponential_decay_length_penalty", None)  # of an end that may not come it makes NaN there
    return s


def text_case(rng, tables, model):
    settings = settings_of_text(rng)
    alone = rng.random() < 0.6 or {"repetition_penalty", "no_repeat_ngram_size", "min_length", "max_length", "bad_words_ids",
                                   "forced_bos_token_id", "sequence_bias"} & set(settings)
    prompts = [[rng.randrange(VOCABULARY - 1) for _ in range(rng.randint(1, 5))] for _ in range(1 if alone else 3)]
    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    config = GenerationConfig(pad_token_id=PAD, use_cache=False, **settings)
    out = model.generate(ids, attention_mask=mask, generation_config=config, return_dict_in_generate=True, output_scores=True)
    returned = settings.get("num_return_sequences", 1)
    texts = [[] for _ in prompts]
    for i, row in enumerate(out.sequences.tolist()):
        new = row[width:]
        ends = [k for k, token in enumerate(new) if token in settings["eos_token_id"]]
        new = new[:ends[0] + 1] if ends else [t for t in new if t != PAD]
        text = {"ids": new}
        if "num_beams" in settings:
            text["score"] = out.sequences_scores[i].item()
        texts[i // returned].append(text)
    return {"prompts": prompts, "settings": {**settings, "pad_token_id": PAD}, "texts": texts}


def processor_case(rng):
    """One row's scores through one processor of transformers: the settings that make it, and what comes out."""
    ids = [rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 9))]
    source = [rng.randrange(VOCABULARY) for _ in range(rng.randint(3, 12))]
    if rng.random() < 0.5:
        ids[-2:] = source[:2]
    scores = [round(rng.gauss(0, 2), 3) for _ in range(VOCABULARY)]
    keep = 1
    settings = {"eos_token_id": [3], "do_sample": True, "top_k": 0}
    if rng.random() < 0.3:
        settings["num_beams"], keep = 2, 2
    made = rng.choice([
        ("temperature", lambda v: processors.TemperatureLogitsWarper(v), [0.5, 1.7]),
        ("top_k", lambda v: processors.TopKLogitsWarper(v, min_tokens_to_keep=keep), [1, 4, 100]),
        ("top_p", lambda v: processors.TopPLogitsWarper(v, min_tokens_to_keep=keep), [0.0, 0.3, 0.8, 0.999]),
        ("min_p", lambda v: processors.MinPLogitsWarper(v, min_tokens_to_keep=keep), [0.05, 0.5, 1.0]),
        ("typical_p", lambda v: processors.TypicalLogitsWarper(v, min_tokens_to_keep=keep), [0.1, 0.5, 0.95]),
        ("epsilon_cutoff", lambda v: processors.EpsilonLogitsWarper(v, min_tokens_to_keep=keep), [0.01, 0.2, 0.9]),
        ("eta_cutoff", lambda v: processors.EtaLogitsWarper(v, min_tokens_to_keep=keep), [0.01, 0.2, 0.9]),
        ("encoder_repetition_penalty", lambda v: processors.EncoderRepetitionPenaltyLogitsProcessor(
            v, torch.tensor([source])), [1.5, 0.7]),
        ("encoder_no_repeat_ngram_size", lambda v: processors.EncoderNoRepeatNGramLogitsProcessor(
            v, torch.tensor([source])), [1, 2, 3]),
        ("repetition_penalty", lambda v: processors.RepetitionPenaltyLogitsProcessor(v), [1.5, 0.7]),
        ("no_repeat_ngram_size", lambda v: processors.NoRepeatNGramLogitsProcessor(v), [1, 2, 3]),
        ("renormalize_logits", lambda v: processors.LogitNormalization(), [True]),
    ])
    value = rng.choice(made[2])
    out = made[1](value)(torch.tensor([ids]), torch.tensor([scores]))[0].tolist()
    return {"ids": ids, "encoder_ids": source, "scores": scores, "settings": {**settings, made[0]: value},
            "out": [None if x == -float("inf") else round(x, 6) for x in out]}


CHAINED = {  # what may be asked for at once
    "temperature": [0.6, 1.4], "top_k": [0, 5, 12], "top_p": [0.4, 0.8, 0.95], "min_p": [0.02, 0.2], "typical_p": [0.4, 0.9],
    "epsilon_cutoff": [0.02, 0.1], "eta_cutoff": [0.02, 0.3], "repetition_penalty": [1.4, 0.7], "no_repeat_ngram_size": [1, 2],
    "encoder_repetition_penalty": [1.5, 0.8], "encoder_no_repeat_ngram_size": [1, 2], "bad_words_ids": [[[5], [1, 2], [3]], [[4], [9, 8]]],
    "sequence_bias": [[[[2], 1.5], [[9, 4], -3.0]], [[[10], -0.5], [[6], 2.0]]], "min_length": [4, 8], "min_new_tokens": [1, 4],
    "forced_bos_token_id": [6], "forced_eos_token_id": [3], "suppress_tokens": [[0, 1, 12]], "begin_suppress_tokens": [[8, 9, 10]],
    "exponential_decay_length_penalty": [[1, 1.3], [0, 0.8]], "remove_invalid_values": [True], "renormalize_logits": [True],
}


def chain_case(rng, model):
    """One row's scores through all that transformers makes of settings together. None where that is no number: an end that may not come and
    becomes likelier, or no token that may come."""
    prompt = [rng.randrange(8) for _ in range(rng.choice([1, 1, 2, 4]))]
    ids = prompt + [rng.randrange(12) for _ in range(rng.choice([0, 0, 1, 3, 6]))]
    source = [rng.randrange(VOCABULARY) for _ in range(rng.randint(3, 8))]
    scores = [round(rng.gauss(0, 2), 3) for _ in range(VOCABULARY)]
    settings = {"eos_token_id": rng.choice([[3], [3, 7]]), "do_sample": rng.random() < 0.85,
                "max_new_tokens": len(ids) - len(prompt) + rng.choice([1, 3, 9])}
    if rng.random() < 0.3:
        settings["num_beams"] = 2
    for key in rng.sample(sorted(CHAINED), rng.randint(2, 9)):
        settings[key] = rng.choice(CHAINED[key])
    config, _ = model._prepare_generation_config(GenerationConfig(pad_token_id=PAD, **settings))
    model._prepare_special_tokens(config, True)
    model._prepare_generated_length(config, "max_length" not in settings, "min_length" not in settings, "input_ids", len(prompt), torch.tensor([prompt]))
    chain = model._get_logits_processor(config, input_ids_seq_length=len(prompt), encoder_input_ids=torch.tensor([source]))
    out = chain(torch.tensor([ids]), torch.tensor([scores]))[0].tolist()
    if any(x != x for x in out):
        return None
    return {"ids": ids, "prompt": len(prompt), "encoder_ids": source, "scores": scores, "settings": settings,
            "out": [None if x == -float("inf") else round(x, 6) for x in out]}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    rng = random.Random(options.seed)
    tables = [numbers(rng, VOCABULARY), numbers(rng, VOCABULARY), numbers(rng, PLACES)]
    model = TableModel(tables)
    texts = [text_case(rng, tables, model) for _ in range(options.count)]
    parts = [processor_case(rng) for _ in range(options.count)]
    chains = []
    while len(chains) < options.count:
        chains += [case for case in [chain_case(rng, model)] if case]
    json.dump({"tables": tables, "texts": texts, "processors": parts, "chains": chains}, sys.stdout, separators=(",", ":"))
    print()


main()
