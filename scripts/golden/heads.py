"""Writes tests/golden/heads/*.safetensors: tiny random models with every head, padded batches, logits, loss and gradients.

Each file holds the parameters under their transformers names, "grad/<name>", the columns of the batch under their names,
"logits" (start and end of question answering side by side) and "loss"; its metadata holds "config" (the config.json to
read) and "head". Encoders also have "training_logits", with the dropout (and the noise, where the metadata say
"neftune_alpha") that torch draws on the CPU after manual_seed(11). Made with transformers 5.17.0 and torch 2.11.0 in float32.
Usage: python scripts/golden/heads.py [output folder [case…]]
"""

import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

ROWS, LENGTH, VOCABULARY = 3, 9, 32
TOKENS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0, vocab_size=VOCABULARY)
GPT2 = dict(TOKENS, model_type="gpt2", n_positions=16, n_embd=16, n_layer=2, n_head=2, embd_pdrop=0.0, attn_pdrop=0.0,
            resid_pdrop=0.0)
LLAMA = dict(TOKENS, model_type="llama", hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32)
ENCODER = dict(TOKENS, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2,
               max_position_embeddings=14)
BERT = dict(ENCODER, model_type="bert")
ROBERTA = dict(ENCODER, model_type="roberta", pad_token_id=1, bos_token_id=0)
DISTILBERT = dict(TOKENS, model_type="distilbert", dim=12, hidden_dim=20, n_layers=2, n_heads=3, max_position_embeddings=12)
VIT = dict(model_type="vit", hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, image_size=12,
           patch_size=4)
T5 = dict(vocab_size=VOCABULARY, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, model_type="t5", d_model=16, d_kv=8,
          num_heads=2, d_ff=24, num_layers=2, relative_attention_num_buckets=8, relative_attention_max_distance=16)
BART = dict(vocab_size=VOCABULARY, model_type="bart", d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=16, max_position_embeddings=10, bos_token_id=0,
            pad_token_id=1, eos_token_id=2, decoder_start_token_id=2)
AUTO = {"causal_lm": transformers.AutoModelForCausalLM,
        "masked_lm": transformers.AutoModelForMaskedLM,
        "sequence_classification": transformers.AutoModelForSequenceClassification,
        "token_classification": transformers.AutoModelForTokenClassification,
        "question_answering": transformers.AutoModelForQuestionAnswering,
        "image_classification": transformers.AutoModelForImageClassification,
        "seq2seq_lm": transformers.AutoModelForSeq2SeqLM}

CASES = {  # name: (head, config)
    "gpt2_causal": ("causal_lm", GPT2),
    "gpt2_classes": ("sequence_classification", dict(GPT2, num_labels=3)),
    "gpt2_regression": ("sequence_classification", dict(GPT2, num_labels=1)),
    "gpt2_several_labels": ("sequence_classification", dict(GPT2, num_labels=4,
                                                            problem_type="multi_label_classification")),
    "gpt2_tokens": ("token_classification", dict(GPT2, num_labels=5)),
    "gpt2_answers": ("question_answering", GPT2),
    "llama_causal": ("causal_lm", LLAMA),
    "llama_classes": ("sequence_classification", LLAMA),
    "llama_two_numbers": ("sequence_classification", dict(LLAMA, problem_type="regression")),
    "llama_tokens": ("token_classification", dict(LLAMA, num_labels=5, classifier_dropout=0.3)),
    "llama_answers": ("question_answering", LLAMA),
    "qwen2_causal": ("causal_lm", dict(LLAMA, model_type="qwen2", tie_word_embeddings=True, use_sliding_window=True, sliding_window=3,
                                       max_window_layers=1)),
    "qwen3_causal": ("causal_lm", dict(LLAMA, model_type="qwen3", head_dim=8)),
    "mistral_causal": ("causal_lm", dict(LLAMA, model_type="mistral", sliding_window=4)),
    "gemma_causal": ("causal_lm", dict(LLAMA, model_type="gemma", head_dim=6, num_key_value_heads=1, tie_word_embeddings=True)),
    "qwen2_classes": ("sequence_classification", dict(LLAMA, model_type="qwen2", num_labels=3)),
    "qwen3_tokens": ("token_classification", dict(LLAMA, model_type="qwen3", head_dim=8, num_labels=3)),
    "qwen2_tokens": ("token_classification", dict(LLAMA, model_type="qwen2", num_labels=3, use_sliding_window=True, sliding_window=3,
                                                  max_window_layers=1)),
    "qwen2_answers": ("question_answering", dict(LLAMA, model_type="qwen2")),
    "qwen3_classes": ("sequence_classification", dict(LLAMA, model_type="qwen3", head_dim=8, num_labels=3)),
    "qwen3_answers": ("question_answering", dict(LLAMA, model_type="qwen3", attention_bias=True)),
    "mistral_classes": ("sequence_classification", dict(LLAMA, model_type="mistral", num_labels=1)),
    "mistral_tokens": ("token_classification", dict(LLAMA, model_type="mistral", num_labels=3, sliding_window=4)),
    "gemma_tokens": ("token_classification", dict(LLAMA, model_type="gemma", head_dim=6, num_key_value_heads=1, num_labels=3)),
    "gemma_classes": ("sequence_classification", dict(LLAMA, model_type="gemma", head_dim=8, num_labels=3)),
    "t5_texts": ("seq2seq_lm", T5),
    "t5_gated_texts": ("seq2seq_lm", dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1)),
    "t5_classes": ("sequence_classification", dict(T5, num_labels=3)),
    "t5_tokens": ("token_classification", dict(T5, num_labels=5, classifier_dropout=0.3)),
    "t5_answers": ("question_answering", T5),
    "bart_texts": ("seq2seq_lm", dict(BART, encoder_layerdrop=1e-9, decoder_layerdrop=1e-9, attention_dropout=0.2,
                                     activation_dropout=0.3)),
    "bart_scaled_texts": ("seq2seq_lm", dict(BART, scale_embedding=True, activation_function="relu", encoder_layerdrop=1e-9, decoder_layerdrop=1e-9)),
    "bart_classes": ("sequence_classification", BART),
    "bart_answers": ("question_answering", dict(BART, encoder_layerdrop=1e-9, decoder_layerdrop=1e-9)),
    "mistral_answers": ("question_answering", dict(LLAMA, model_type="mistral", sliding_window=4)),
    "bert_masked": ("masked_lm", BERT),
    "bert_masked_untied": ("masked_lm", dict(BERT, tie_word_embeddings=False, hidden_act="relu", layer_norm_eps=1e-5)),
    "bert_classes": ("sequence_classification", dict(BERT, num_labels=3)),
    "bert_regression": ("sequence_classification", dict(BERT, num_labels=1, pad_token_id=None)),
    "bert_several_labels": ("sequence_classification", dict(BERT, num_labels=4,
                                                            problem_type="multi_label_classification")),
    "bert_tokens": ("token_classification", dict(BERT, num_labels=5, hidden_act="gelu_new")),
    "bert_answers": ("question_answering", BERT),
    "roberta_masked": ("masked_lm", dict(ROBERTA, hidden_act="relu")),  # whose head has gelu all the same
    "roberta_masked_untied": ("masked_lm", dict(ROBERTA, tie_word_embeddings=False)),
    "roberta_classes": ("sequence_classification", dict(ROBERTA, num_labels=3, type_vocab_size=1, classifier_dropout=0.3)),
    "roberta_two_numbers": ("sequence_classification", dict(ROBERTA, problem_type="regression")),
    "roberta_tokens": ("token_classification", dict(ROBERTA, num_labels=5)),
    "roberta_answers": ("question_answering", ROBERTA),
    "distilbert_masked": ("masked_lm", dict(DISTILBERT, activation="relu")),
    "distilbert_masked_untied": ("masked_lm", dict(DISTILBERT, tie_word_embeddings=False)),
    "distilbert_classes": ("sequence_classification", dict(DISTILBERT, num_labels=3)),
    "distilbert_tokens": ("token_classification", dict(DISTILBERT, num_labels=5)),
    "distilbert_answers": ("question_answering", dict(DISTILBERT, sinusoidal_pos_embds=True)),
    "vit_classes": ("image_classification", dict(VIT, num_labels=3)),
    "vit_two_sides": ("image_classification", dict(VIT, image_size=[8, 14], patch_size=[4, 3], num_channels=1, qkv_bias=False,
                                                   hidden_act="gelu_new")),
    "vit_number": ("image_classification", dict(VIT, num_labels=1, layer_norm_eps=1e-5)),
    "vit_several_labels": ("image_classification", dict(VIT, num_labels=4, problem_type="multi_label_classification")),
}


def pixels(config):
    size = config["image_size"]
    height, width = size if isinstance(size, list) else (size, size)
    return torch.randn(ROWS, config.get("num_channels", 3), height, width)


def columns(head, config, labels):
    """One row without padding, one padded on the right, one on the left; labels on padding do not count."""
    if head == "image_classification":
        return {"pixel_values": pixels(config), "labels": row_labels(config, labels)}
    ids = torch.randint(3, VOCABULARY, (ROWS, LENGTH))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    mask[2, :2] = 0
    padding = config.get("pad_token_id")
    ids[mask == 0] = TOKENS["pad_token_id"] if padding is None else padding
    if head == "sequence_classification" and "decoder_start_token_id" in config:  # which looks at the ends of texts
        ids[[0, 1, 2], [LENGTH - 1, 5, LENGTH - 1]] = config["eos_token_id"]
    batch = {"input_ids": ids, "attention_mask": mask}
    if head == "causal_lm":
        batch["labels"] = ids.masked_fill(mask == 0, -100)
        batch["labels"][2, 2] = -100  # predicted by padding
    elif head == "masked_lm":
        batch["labels"] = torch.where(torch.rand(ids.shape) < 0.4, ids, -100).masked_fill(mask == 0, -100)
        batch["labels"][0, 1] = ids[0, 1]
    elif head == "seq2seq_lm":  # labels of another length, on either side of a padding
        batch["decoder_attention_mask"] = torch.ones(ROWS, LENGTH - 2, dtype=torch.int64)
        batch["decoder_attention_mask"][1, 4:] = 0
        batch["decoder_attention_mask"][2, :2] = 0
        batch["labels"] = torch.randint(3, VOCABULARY, (ROWS, LENGTH - 2)).masked_fill(batch["decoder_attention_mask"] == 0, -100)
        if config.get("num_decoder_layers"):
            batch["decoder_input_ids"] = torch.randint(3, VOCABULARY, (ROWS, LENGTH - 2))
    elif head == "token_classification":
        batch["labels"] = torch.randint(0, labels, ids.shape).masked_fill(mask == 0, -100)
    elif head == "question_answering":
        batch["start_positions"] = torch.tensor([1, 0, LENGTH + 3])  # the last one is outside and does not count
        batch["end_positions"] = torch.tensor([4, 5, LENGTH])
    else:
        batch["labels"] = row_labels(config, labels)
    if config["model_type"] == "bert":
        batch["token_type_ids"] = (torch.arange(LENGTH) > 4).long().expand(ROWS, -1).masked_fill(mask == 0, 0)
    return batch


def row_labels(config, labels):
    if labels == 1:
        return torch.randn(ROWS)
    if config.get("problem_type") == "regression":
        return torch.randn(ROWS, labels)
    if config.get("problem_type") == "multi_label_classification":
        return torch.randint(0, 2, (ROWS, labels)).float()
    return torch.randint(0, labels, (ROWS,))


def stored_names(model):
    """What save_pretrained calls each parameter, which is not always its name in memory. Values tell them apart."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        stored = load_file(pathlib.Path(folder) / "model.safetensors")
    return {name: next((key for key, value in stored.items() if torch.equal(value, parameter)), name)
            for name, parameter in model.named_parameters()}


NEFTUNE = {"bert_classes": 5.0, "roberta_masked": 5.0, "distilbert_tokens": 9.0}


def joined(output):
    return torch.stack([output.start_logits, output.end_logits], dim=-1) if hasattr(output, "start_logits") else output.logits


def training_logits(model, batch, alpha):
    """With the noise that the Trainer adds to what the token embeddings give."""
    def noise(_, __, output):
        bound = alpha / (output.size(1) * output.size(2)) ** 0.5
        return output + torch.zeros_like(output).uniform_(-bound, bound)
    hook = model.get_input_embeddings().register_forward_hook(noise) if alpha else None
    torch.manual_seed(11)
    with torch.no_grad():
        output = model.train()(**batch)
    if hook:
        hook.remove()
    return joined(output)


def make(name, head, config, folder):
    torch.manual_seed(sum(map(ord, name)))
    fields = dict(config)
    made = AutoConfig.for_model(fields.pop("model_type"), **fields)
    model = AUTO[head].from_config(made, attn_implementation="sdpa").float().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # so that norms and biases matter
            parameter.add_(0.05 * torch.randn_like(parameter))
    for buffer in (b for name, b in model.named_buffers() if name == "final_logits_bias"):
        buffer.copy_(torch.randn_like(buffer))
    batch = columns(head, config, made.num_labels)
    output = model(**batch, use_cache=False) if head == "causal_lm" else model(**batch)
    output.loss.backward()
    tensors = dict(batch, logits=joined(output), loss=output.loss)
    metadata = {"config": json.dumps(config), "head": head}
    names = stored_names(model)
    for key, parameter in model.named_parameters():
        tensors[names[key]] = parameter
        # An untied encoder has a bias that nobody uses.
        tensors["grad/" + names[key]] = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    tensors.update({key: value for key, value in model.named_buffers() if key == "final_logits_bias"})
    # Rows are classified by one place; here nothing is drawn for the others.
    two_stacks = config["model_type"] in ("t5", "bart") and head != "sequence_classification"
    if two_stacks or config["model_type"] in ("bert", "roberta", "distilbert"):
        alpha = NEFTUNE.get(name, 0)
        metadata.update({"neftune_alpha": str(alpha)} if alpha else {})
        tensors["training_logits"] = training_logits(model, batch, alpha)
    tensors = {key: value.detach().clone().contiguous() for key, value in tensors.items()}
    save_file(tensors, folder / f"{name}.safetensors", metadata=metadata)


def main():
    default = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/heads"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, (head, config) in CASES.items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        make(name, head, config, folder)


if __name__ == "__main__":
    main()
