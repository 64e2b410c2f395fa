"""Writes tests/golden/architectures/*.json: what transformers says about small models of every family.

    python scripts/golden/architectures.py [case…]       (needs torch 2.11 and transformers 5.17)

Each file holds the config given, the config.json that save_pretrained writes, names and shapes in the order of
named_parameters(), the parameters the Trainer does not decay, the embedding weights, and the parameter count.
"""

import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoConfig, Trainer

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "architectures"

GPT2 = dict(model_type="gpt2", n_layer=2, n_embd=16, n_head=4, vocab_size=64, n_positions=32)
LLAMA_LIKE = dict(
    num_hidden_layers=2, hidden_size=16, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
    vocab_size=64, max_position_embeddings=32,
)
ENCODER = dict(num_hidden_layers=2, hidden_size=16, num_attention_heads=4, intermediate_size=24, vocab_size=64,
               max_position_embeddings=32)
DISTILBERT = dict(model_type="distilbert", n_layers=2, dim=16, n_heads=4, hidden_dim=24, vocab_size=64,
                  max_position_embeddings=32)
T5 = dict(model_type="t5", d_model=16, d_kv=6, num_heads=2, d_ff=24, num_layers=2, vocab_size=64,
          relative_attention_num_buckets=8, relative_attention_max_distance=20)
BART = dict(model_type="bart", d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4,
            encoder_ffn_dim=24, decoder_ffn_dim=20, vocab_size=64, max_position_embeddings=12)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}

CASES = {
    "gpt2": GPT2,
    "gpt2_inner_untied": dict(GPT2, n_inner=24, tie_word_embeddings=False, activation_function="relu"),
    "gpt2_v4": dict(GPT2, torch_dtype="float32", n_ctx=32, task_specific_params={"text-generation": {"max_length": 50}},
                    resid_pdrop=0, architectures=["GPT2LMHeadModel"], transformers_version="4.30.0"),
    "llama": dict(LLAMA_LIKE, model_type="llama"),
    "llama_tied_biases": dict(LLAMA_LIKE, model_type="llama", tie_word_embeddings=True, attention_bias=True,
                              mlp_bias=True),
    "llama_v4_llama3": dict(LLAMA_LIKE, model_type="llama", head_dim=8, rope_theta=500000.0, rope_scaling=LLAMA3,
                            torch_dtype="bfloat16", eos_token_id=[2, 5]),
    "llama_v5_linear": dict(LLAMA_LIKE, model_type="llama",
                            rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 20000.0}),
    "llama_multi_head": {k: v for k, v in dict(LLAMA_LIKE, model_type="llama").items() if k != "num_key_value_heads"},
    "qwen2": dict(LLAMA_LIKE, model_type="qwen2", rope_theta=1000000.0, tie_word_embeddings=True),
    "qwen2_window": dict(LLAMA_LIKE, model_type="qwen2", use_sliding_window=True, sliding_window=8,
                         max_window_layers=1),
    "qwen3": dict(LLAMA_LIKE, model_type="qwen3", head_dim=8),
    "qwen3_bias": dict(LLAMA_LIKE, model_type="qwen3", attention_bias=True, tie_word_embeddings=True),
    "gemma": dict(LLAMA_LIKE, model_type="gemma", head_dim=8),
    "mistral": dict(LLAMA_LIKE, model_type="mistral", sliding_window=8),
    "mistral_full": dict(LLAMA_LIKE, model_type="mistral", sliding_window=None, head_dim=6, rms_norm_eps=1e-5),
}


CLASSES = {"causal_lm": transformers.AutoModelForCausalLM,
           "masked_lm": transformers.AutoModelForMaskedLM,
           "sequence_classification": transformers.AutoModelForSequenceClassification,
           "token_classification": transformers.AutoModelForTokenClassification,
           "question_answering": transformers.AutoModelForQuestionAnswering,
           "image_classification": transformers.AutoModelForImageClassification,
           "seq2seq_lm": transformers.AutoModelForSeq2SeqLM}
LABELS = {"id2label": {"0": "no", "1": "yes"}, "label2id": {"no": 0, "yes": 1}}
HEADS = {}  # name: (head, config)
for family, fields in (("gpt2", GPT2), ("llama", dict(LLAMA_LIKE, model_type="llama")),
                       ("qwen2", CASES["qwen2"]), ("qwen3", CASES["qwen3"]), ("mistral", CASES["mistral"]), ("gemma", CASES["gemma"])):
    HEADS[family + "_sequences"] = ("sequence_classification", dict(fields, num_labels=3))
    HEADS[family + "_tokens"] = ("token_classification", dict(fields, **LABELS))
    if family != "gemma":  # which has no such class
        HEADS[family + "_answers"] = ("question_answering", fields)
for family, fields in (("bert", dict(ENCODER, model_type="bert")), ("roberta", dict(ENCODER, model_type="roberta")),
                       ("distilbert", DISTILBERT)):
    HEADS[family + "_masked"] = ("masked_lm", fields)
    HEADS[family + "_masked_untied"] = ("masked_lm", dict(fields, tie_word_embeddings=False))
    HEADS[family + "_sequences"] = ("sequence_classification", dict(fields, num_labels=3))
    HEADS[family + "_tokens"] = ("token_classification", dict(fields, **LABELS))
    HEADS[family + "_answers"] = ("question_answering", fields)
HEADS["bert_v4"] = ("sequence_classification", dict(
    ENCODER, model_type="bert", torch_dtype="float32", position_embedding_type="absolute", classifier_dropout=0.3,
    gradient_checkpointing=False, architectures=["BertForPreTraining"], transformers_version="4.6.0", hidden_dropout_prob=0))
HEADS["roberta_v4"] = ("masked_lm", dict(ENCODER, model_type="roberta", type_vocab_size=1, layer_norm_eps=1e-5,
                                         max_position_embeddings=34, bos_token_id=0, transformers_version="4.30.0"))
HEADS["distilbert_v4"] = ("masked_lm", dict(DISTILBERT, tie_weights_=True, sinusoidal_pos_embds=True, activation="relu",
                                            model_max_length=32))
HEADS["distilbert_aliases"] = ("question_answering", dict(
    {key: value for key, value in DISTILBERT.items() if key not in ("dim", "n_layers", "n_heads")},
    hidden_size=16, num_hidden_layers=3, num_attention_heads=2))

VIT = dict(model_type="vit", num_hidden_layers=2, hidden_size=16, num_attention_heads=4, intermediate_size=24,
           image_size=16, patch_size=4)
HEADS["vit"] = ("image_classification", dict(VIT, num_labels=3))
HEADS["vit_two_sides"] = ("image_classification", dict(VIT, **LABELS, image_size=[8, 12], qkv_bias=False, num_channels=1))
HEADS["vit_v4"] = ("image_classification", dict(
    VIT, torch_dtype="float32", transformers_version="4.20.0", architectures=["ViTForImageClassification"],
    id2label={"0": "cat", "1": "dog", "2": "fox"}, label2id={"cat": 0, "dog": 1, "fox": 2}, encoder_stride=4,
    hidden_dropout_prob=0.1, problem_type="single_label_classification"))
HEADS.update({
    "t5": ("seq2seq_lm", T5),
    "t5_v4": ("seq2seq_lm", dict(T5, decoder_start_token_id=0, torch_dtype="float32", n_positions=512, output_past=True,
                                 task_specific_params={"summarization": {"num_beams": 4}}, transformers_version="4.10.0",
                                 architectures=["T5WithLMHeadModel"])),
    "t5_gated": ("seq2seq_lm", dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1)),
    "t5_gated_silu": ("seq2seq_lm", dict(T5, feed_forward_proj="gated-silu", scale_decoder_outputs=False, dropout_rate=0)),
    "t5_sequences": ("sequence_classification", dict(T5, num_labels=3, classifier_dropout=0.2)),
    "t5_tokens": ("token_classification", dict(T5, **LABELS)),
    "t5_answers": ("question_answering", T5),
    "bart": ("seq2seq_lm", BART),
    "bart_v4": ("seq2seq_lm", dict(BART, torch_dtype="float32", scale_embedding=True, add_bias_logits=False, normalize_before=False,
                                   classif_dropout=0.1, num_hidden_layers=2, transformers_version="4.7.0", static_position_embeddings=False,
                                   id2label={"0": "a", "1": "b", "2": "c"}, label2id={"a": 0, "b": 1, "c": 2})),
    "bart_sequences": ("sequence_classification", BART),
    "bart_two_labels": ("sequence_classification", dict(BART, num_labels=2)),
    "bart_answers": ("question_answering", BART),
})


def stored_names(model, folder):
    """What save_pretrained calls each parameter, which is not always its name in memory. Values tell them apart."""
    stored = load_file(pathlib.Path(folder) / "model.safetensors")
    return {name: next((key for key, value in stored.items() if torch.equal(value, parameter)), name)
            for name, parameter in model.named_parameters()}


def describe(config_in, head="causal_lm"):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(config_in))
        config = AutoConfig.from_pretrained(folder)
    dtype = config.dtype or torch.float32
    model = CLASSES[head].from_config(config, dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():  # so that each is known by its values
            parameter.add_(torch.randn_like(parameter))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        stored = stored_names(model, folder)
        written = json.loads((pathlib.Path(folder) / "config.json").read_text())
    body = {name for name, _ in transformers.AutoModel.from_config(config).named_parameters()}
    decay = set(Trainer.get_decay_parameter_names(None, model))
    names = [name for name, _ in model.named_parameters()]
    return {
        "config": config_in,
        "head": head,
        "config_json": written,
        "parameters": [[stored[name], list(p.shape)] for name, p in model.named_parameters()],
        "no_decay": [stored[name] for name in names if name not in decay],
        "embeddings": [n + ".weight" for n, m in model.named_modules()
                       if isinstance(m, torch.nn.Embedding) and n + ".weight" in names],
        "head_parameters": [stored[name] for name in names if name.removeprefix(model.base_model_prefix + ".") not in body],
        "count": sum(p.numel() for p in model.parameters()),
        "count_non_embedding": model.num_parameters(exclude_embeddings=True),
        "layer_classes": sorted(model._no_split_modules),
    }


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1:]
    for name, config in CASES.items():
        if wanted and name not in wanted:
            continue
        (TARGET / f"{name}.json").write_text(json.dumps(describe(config), sort_keys=True) + "\n")
    for name, (head, config) in HEADS.items():
        if wanted and name not in wanted:
            continue
        (TARGET / f"{name}.json").write_text(json.dumps(describe(config, head), sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
