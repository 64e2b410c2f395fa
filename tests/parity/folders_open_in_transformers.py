#!/usr/bin/env python3
"""Folders of every family with every head, in both directions: what transformers has made and saved gives the same logits here, and
what ours save from_pretrained opens as the same model with the same config, no name missing and none unexpected.

  folders_open_in_transformers.py [--families bert …] [--parts heads odd words old runs]

heads: each head of each family, saved as 5.17 does, by shards with an index, in bfloat16, and with the config's keys of version 4.
odd: configs that are not the usual ones. words: a config.json that says in other words what transformers writes, or what it says of nothing.
old: a folder as releases of long ago wrote it (norms with gamma and beta, position numbers, the head
of pre-training) is opened by the built program for another task, and its body comes out as it was. runs: whole runs of T5 and BART,
evaluated by both.
"""
import argparse
import csv
import json
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import fixtures
from classified_rows import ClassifiedRows

ROWS, LENGTH, VOCABULARY = 3, 11, 64
LABELS = ["a", "b", "c", "d"]
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
               max_position_embeddings=24)
LLAMA = dict(ENCODER, num_key_value_heads=2, pad_token_id=0)
T5 = dict(vocab_size=VOCABULARY, d_model=16, d_kv=8, num_heads=2, d_ff=24, num_layers=2, decoder_start_token_id=0)
BART = dict(vocab_size=VOCABULARY, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=2,
            encoder_ffn_dim=24, decoder_ffn_dim=20, max_position_embeddings=24)
FAMILIES = {
    "bert": ENCODER,
    "roberta": dict(ENCODER, type_vocab_size=1, layer_norm_eps=1e-5),
    "distilbert": dict(vocab_size=VOCABULARY, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=24),
    "t5": T5,
    "bart": BART,
    "vit": dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, image_size=12, patch_size=4),
    "gpt2": dict(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=4, n_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "llama": LLAMA, "qwen2": LLAMA, "qwen3": dict(LLAMA, head_dim=8), "mistral": LLAMA, "gemma": dict(LLAMA, head_dim=8),
}
CLASSES, TAGS, ANSWERS = "AutoModelForSequenceClassification", "AutoModelForTokenClassification", "AutoModelForQuestionAnswering"
CAUSAL, MASKED, TEXTS, IMAGES = "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM", "AutoModelForImageClassification"
ENCODERS = [MASKED, CLASSES, TAGS, ANSWERS]
HEADS = {"bert": ENCODERS, "roberta": ENCODERS, "distilbert": ENCODERS, "t5": [TEXTS, CLASSES, TAGS, ANSWERS],
         "bart": [TEXTS, CLASSES, ANSWERS], "vit": [IMAGES], "gemma": [CAUSAL, CLASSES, TAGS]}  # and of all others:
DECODERS = [CAUSAL, CLASSES, TAGS, ANSWERS]
NUMBERS = {CLASSES: dict(num_labels=3), TAGS: dict(num_labels=5), IMAGES: dict(num_labels=4)}

ODD = [  # (family, head, what is not as usual)
    ("bert", MASKED, dict(tie_word_embeddings=False, hidden_act="gelu_new")),
    ("bert", CLASSES, dict(num_labels=1, type_vocab_size=1, classifier_dropout=0.3, pad_token_id=None)),
    ("bert", CLASSES, dict(num_labels=2, id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1}, problem_type="multi_label_classification")),
    ("bert", ANSWERS, dict(hidden_act="quick_gelu", num_attention_heads=1, layer_norm_eps=1e-3)),
    ("roberta", MASKED, dict(tie_word_embeddings=False, pad_token_id=5, max_position_embeddings=20)),
    ("roberta", CLASSES, dict(pad_token_id=0, type_vocab_size=3, num_labels=1)),
    ("distilbert", MASKED, dict(sinusoidal_pos_embds=True, tie_word_embeddings=False, activation="relu")),
    ("distilbert", TAGS, dict(sinusoidal_pos_embds=True, id2label={0: "O", 1: "B"}, label2id={"O": 0, "B": 1})),
    ("t5", TEXTS, dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1)),
    ("t5", TEXTS, dict(feed_forward_proj="gated-silu", relative_attention_num_buckets=8, relative_attention_max_distance=9, d_kv=3)),
    ("t5", CLASSES, dict(feed_forward_proj="gelu", num_labels=1, classifier_dropout=0.2)),
    ("t5", TAGS, dict(num_decoder_layers=5, relative_attention_num_buckets=4, relative_attention_max_distance=6)),
    ("bart", TEXTS, dict(scale_embedding=True, activation_function="relu")),
    ("bart", CLASSES, dict(scale_embedding=True, num_labels=2, encoder_layers=1, decoder_layers=3)),
    ("bart", ANSWERS, dict(num_labels=5, activation_function="gelu_new")),
    ("vit", IMAGES, dict(image_size=[8, 14], patch_size=[4, 3], num_channels=1, qkv_bias=False)),
    ("vit", IMAGES, dict(num_labels=1, pooler_output_size=7, hidden_act="gelu_new", encoder_stride=4)),
    ("gpt2", CAUSAL, dict(tie_word_embeddings=False, scale_attn_by_inverse_layer_idx=True, activation_function="relu", n_inner=20)),
    ("gpt2", CLASSES, dict(scale_attn_weights=False, num_labels=1)),
    ("llama", CAUSAL, dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, head_dim=6)),
    ("llama", CAUSAL, dict(rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                               original_max_position_embeddings=8))),
    ("qwen2", CAUSAL, dict(rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=4.0, original_max_position_embeddings=8))),
    ("qwen3", CAUSAL, dict(rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=8.0, beta_fast=2.0, beta_slow=0.5, attention_factor=1.3, truncate=False,
                                               original_max_position_embeddings=16))),
    ("mistral", CLASSES, dict(head_dim=16, rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=2.0, mscale=0.7, mscale_all_dim=1.2,
                                                                original_max_position_embeddings=4096))),
    ("llama", CAUSAL, dict(rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=None, original_max_position_embeddings=8))),
    ("llama", CAUSAL, dict(rope_parameters=dict(rope_type="dynamic", rope_theta=500.0, factor=4.0))),
    ("qwen2", CAUSAL, dict(use_sliding_window=True, sliding_window=3, max_window_layers=1, tie_word_embeddings=True)),
    ("qwen3", TAGS, dict(attention_bias=True, rope_parameters=dict(rope_type="linear", rope_theta=1000.0, factor=2.0))),
    ("mistral", CLASSES, dict(sliding_window=4, head_dim=8, num_key_value_heads=1)),
    ("gemma", CAUSAL, dict(num_key_value_heads=1, attention_bias=True)),
    ("llama", CAUSAL, dict(initializer_range=0.0, rms_norm_eps=0.0)),
    ("bert", MASKED, dict(layer_norm_eps=0.0)),
    ("bert", CLASSES, dict(id2label={0: "no", 2: "yes", 7: "maybe"}, label2id={"no": 0, "yes": 2, "maybe": 7})),
    ("llama", CAUSAL, dict(rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=2.0, high_freq_factor=2.0,
                                               original_max_position_embeddings=8))),
    ("llama", CAUSAL, dict(rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=3.0, high_freq_factor=1.0,
                                               original_max_position_embeddings=8))),
    ("llama", CAUSAL, dict(limits={"most": float("inf"), "list": [float("nan"), -float("inf")]})),
]

GATED = dict(feed_forward_proj="gated-gelu")
WORDS = [  # (family, head, what is not as usual, what its config.json says then)
    ("t5", TEXTS, GATED, dict(tie_word_embeddings=False, scale_decoder_outputs=True)),
    ("t5", TEXTS, GATED, dict(tie_word_embeddings=False, scale_decoder_outputs=False)),
    ("t5", TEXTS, GATED, dict(tie_word_embeddings=None)),
    ("t5", TEXTS, dict(num_decoder_layers=3), dict(num_layers=3, num_hidden_layers=2, num_decoder_layers=None)),
    ("llama", ANSWERS, {}, dict(id2label={"0": "a", "1": "b", "2": "c"}, label2id={"a": 0, "b": 1, "c": 2}, problem_type="regression")),
    ("gpt2", ANSWERS, {}, dict(id2label={"0": "a"}, label2id={"a": 0}, label_names=["x"])),
    ("bert", CLASSES, {}, dict(id2label={"00": "a", " 1": "b", "+2": "c"}, label2id={"a": 0, "b": 1, "c": 2})),
]


def logits_of(model, given):
    import torch
    name = model.main_input_name
    more = {"decoder_input_ids": given} if type(model).__name__.endswith("ForConditionalGeneration") else {}
    with torch.no_grad():
        output = model(**{name: given}, **more)
    return torch.stack([output.start_logits, output.end_logits], dim=-1) if hasattr(output, "start_logits") else output.logits


def input_of(config):
    import torch
    if config.model_type == "vit":
        height, width = config.image_size if isinstance(config.image_size, (list, tuple)) else (config.image_size, config.image_size)
        return torch.randn(ROWS, config.num_channels, height, width)
    ids = torch.randint(6, VOCABULARY, (ROWS, LENGTH))
    if config.is_encoder_decoder:
        ids[:, -1] = config.eos_token_id
    return ids


def random_model(family, head, more):
    import torch
    import transformers
    torch.manual_seed(len(family) + len(head) + len(more))
    config = transformers.AutoConfig.for_model(family, **{**FAMILIES[family], **NUMBERS.get(head, {}), **more})
    model = getattr(transformers, head).from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name == "final_logits_bias":
                buffer.copy_(torch.randn_like(buffer))
    return model


def as_version_4(folder):
    """The same config in the words of releases before 5."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.38.0"
    config["_name_or_path"] = "somewhere"
    rope = config.pop("rope_parameters", None)
    if rope:
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = None if rope == {"rope_type": "default"} else {"type" if k == "rope_type" else k: v for k, v in rope.items()}
    config.pop("layer_types", None)
    if config["model_type"] == "t5" and not config.pop("scale_decoder_outputs"):
        config["tie_word_embeddings"] = False
    with open(path, "w") as file:
        json.dump(config, file)


def in_other_words(folder, said):
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    with open(path, "w") as file:
        json.dump({**config, **said}, file)


def saved_in(form, model, folder):
    """The model as a folder of that form holds it."""
    import torch
    if isinstance(form, dict):
        model.save_pretrained(folder)
        in_other_words(folder, form)
        return type(model).from_pretrained(folder).eval()
    if form == "bfloat16":
        model = model.to(torch.bfloat16)
    model.save_pretrained(folder, **({"max_shard_size": "4KB"} if form == "sharded" else {}))
    if form == "version 4":
        as_version_4(folder)
    return model if form != "bfloat16" else type(model).from_pretrained(folder, dtype=torch.float32).eval()


def config_of(folder):
    with open(os.path.join(folder, "config.json")) as file:
        return json.load(file)


def differing_keys(ours, theirs):
    """But for what readers of version 4 look for beside rope_parameters."""
    return sorted(key for key in {*ours, *theirs} - {"transformers_version", "dtype", "rope_theta", "rope_scaling"} if ours.get(key) != theirs.get(key))


def check(family, head, more, form, ours_of, scratch):
    import numpy
    import torch
    model = random_model(family, head, more)
    place = tempfile.mkdtemp(dir=scratch)
    theirs, ours, given, found = (os.path.join(place, name) for name in ("theirs", "ours", "input", "logits"))
    model = saved_in(form, model, theirs)
    os.mkdir(ours)
    inputs = input_of(model.config)
    inputs.numpy().tofile(given)
    unused = ours_of.write(theirs, given, ROWS, found, ours)
    expected = logits_of(model, inputs)
    logits = torch.from_numpy(numpy.fromfile(found, dtype=numpy.float32)).reshape(expected.shape)
    again, notes = type(model).from_pretrained(ours, output_loading_info=True, dtype=torch.float32)
    wrong = {kind: sorted(names) for kind, names in notes.items() if names}
    keys = []
    if form == "usual" or isinstance(form, dict):
        keys = differing_keys(config_of(ours), json.loads(model.config.to_json_string()) if isinstance(form, dict) else config_of(theirs))
    apart = ((logits - expected).abs().max() / expected.abs().max()).item()
    weights = model.state_dict()  # bits of logits hang on where in memory a row of weights begins
    same = sorted(weights) == sorted(again.state_dict()) and all(torch.equal(weights[name], it) for name, it in again.state_dict().items())
    same = same and torch.allclose(logits_of(again.eval(), inputs), expected, rtol=1e-5, atol=1e-5)
    shards = len([name for name in os.listdir(theirs) if name.endswith(".safetensors")])
    passed = apart <= 1e-5 and same and not wrong and not unused and not keys and (shards > 1) == (form == "sharded")
    print(f"{type(model).__name__} {more or ''} {form}: logits within {apart:.1e} relative, ours opened as "
          f"{'the same' if same else 'ANOTHER'} model{', keys that differ: ' + ', '.join(keys) if keys else ''}"
          f"{', ' + str(wrong) if wrong else ''}{', unused: ' + ', '.join(unused) if unused else ''}{'' if passed else '  FAILED'}", flush=True)
    shutil.rmtree(place)
    return passed


class Rows:
    """Of two classes, with a tokenizer of 512 tokens that pads."""

    def __init__(self, scratch):
        self.tokens = fixtures.tokenizer(scratch, fixtures.sample_text(scratch, 60_000), 512)
        settings = os.path.join(self.tokens, "tokenizer_config.json")
        with open(settings) as file:
            config = json.load(file)
        with open(settings, "w") as file:
            json.dump(dict(config, pad_token=config["eos_token"]), file)
        self.rows = os.path.join(scratch, "rows.csv")
        with open(self.rows, "w") as file:
            file.write("sentence,label\n" + "she was late,bad\na quick day,good\n" * 8)

    def opened_by_us(self, folder, out):
        """What a run says that opens the folder for these rows and leaves it in `out` as it was."""
        return fixtures.run([fixtures.HFTRAIN, "--task", "text-classification", "--model_name_or_path", folder, "--tokenizer_name",
                             self.tokens, "--train_file", self.rows, "--do_train", "--max_steps", "1", "--learning_rate", "0", "--use_cpu",
                             "--output_dir", out, "--nproc_per_node", "1", "--max_seq_length", "16"]).stderr


def opens_an_old_folder(rows, scratch):
    """BertForPreTraining of the first releases, for the classification of rows."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    folder, out = os.path.join(scratch, "old"), os.path.join(scratch, "old-out")
    model = transformers.BertForPreTraining(transformers.BertConfig(**dict(ENCODER, vocab_size=512, max_position_embeddings=64)))
    body = {"bert." + name: tensor.clone() for name, tensor in model.bert.state_dict().items()}
    model.save_pretrained(folder)
    path = os.path.join(folder, "model.safetensors")
    tensors = {re.sub("LayerNorm.bias$", "LayerNorm.beta", re.sub("LayerNorm.weight$", "LayerNorm.gamma", name)): tensor
               for name, tensor in load_file(path).items()}
    tensors["bert.embeddings.position_ids"] = torch.arange(64).unsqueeze(0)
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone()
    save_file(tensors, path, metadata={"format": "pt"})
    said = rows.opened_by_us(folder, out)
    opened, notes = transformers.BertForSequenceClassification.from_pretrained(out, output_loading_info=True)
    kept = {name: tensor for name, tensor in opened.state_dict().items() if name.startswith("bert.")}
    same = sorted(kept) == sorted(body) and all(torch.equal(kept[name], tensor) for name, tensor in body.items())
    unused = sorted(re.findall(r"'([\w.]+)' of .* is not used", said))
    new = sorted(re.findall(r"'([\w.]+)' is not in", said))
    expected = sorted(name for name in tensors if name.startswith("cls."))
    print(f"a folder of long ago: the body is {'the same' if same else 'ANOTHER'}, new {new}, unused {unused}", flush=True)
    return same and not any(notes.values()) and new == ["classifier.bias", "classifier.weight"] and unused == expected


def evaluation_loss(folder, rows):
    """Mean loss over all rows, and what from_pretrained says of the keys."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, said = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    with open(rows, newline="") as file:
        read = list(csv.DictReader(file))
    batch = tokenizer([row["sentence"] for row in read], padding="max_length", truncation=True, max_length=LENGTH,
                      return_tensors="pt")
    labels = torch.tensor([LABELS.index(row["label"]) for row in read])
    with torch.no_grad():
        logits = model.eval()(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return torch.nn.functional.cross_entropy(logits, labels).item(), {key: list(value) for key, value in said.items() if value}


def evaluate(fixture, output, *model):
    fixture.call("--task", "text-classification", *model, "--validation_file", fixture.rows, "--do_eval", "--max_seq_length",
                 str(LENGTH), "--use_cpu", "--output_dir", output)
    with open(os.path.join(output, "eval_results.json")) as file:
        return json.load(file)["eval_loss"]


def from_transformers(fixture, family):
    """A folder that transformers saved, with every parameter moved so that norms and biases matter."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification
    fields = dict(pair.split("=") for pair in fixture.MODELS[family].format(32).split(","))
    config = AutoConfig.for_model(family, **{key: int(value) for key, value in fields.items()}, eos_token_id=1, pad_token_id=0,
                                  id2label=dict(enumerate(LABELS)), label2id={name: i for i, name in enumerate(LABELS)})
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    folder = os.path.join(fixture.folder, "theirs")
    model.save_pretrained(folder)
    for name in os.listdir(fixture.tokenizer):
        shutil.copy(os.path.join(fixture.tokenizer, name), os.path.join(folder, name))
    return folder


def runs_open(family):
    with tempfile.TemporaryDirectory() as scratch:
        fixture = ClassifiedRows(scratch, family)
        ours = os.path.join(scratch, "ours")
        fixture.call(*fixture.flags(ours, "--max_steps", 3, "--save_strategy", "no", ranks=1))
        passed = True
        for name, folder in (("ours", ours), ("theirs", from_transformers(fixture, family))):
            logged = evaluate(fixture, os.path.join(scratch, "evaluated-" + name), "--model_name_or_path", folder)
            loss, said = evaluation_loss(folder, fixture.rows)
            print(f"{family}, {name}: transformers {loss:.6f}, hftrain {logged:.6f}, keys {said}", flush=True)
            passed = passed and not said and abs(loss - logged) <= 1e-5 * loss
        return passed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parts = ["heads", "odd", "words", "old", "runs"]
    parser.add_argument("--parts", nargs="*", choices=parts, default=parts)
    options = parser.parse_args()
    cases = []
    if "heads" in options.parts:
        cases += [(family, head, {}, form) for family in FAMILIES for head in HEADS.get(family, DECODERS)
                  for form in ("usual", "sharded", "bfloat16", "version 4")]
    if "odd" in options.parts:
        cases += [(*case, "usual") for case in ODD]
    if "words" in options.parts:
        cases += WORDS
    with tempfile.TemporaryDirectory() as scratch:
        ours = fixtures.FolderLogits()
        passed = [check(*case, ours, scratch) for case in cases if case[0] in options.families]
        ours.close()
        if "old" in options.parts and "bert" in options.families:
            passed.append(opens_an_old_folder(Rows(scratch), scratch))
    if "runs" in options.parts:
        passed += [runs_open(family) for family in ClassifiedRows.MODELS if family in options.families]
    print(f"{len(passed)} checks, {passed.count(False)} failed", flush=True)
    sys.exit(0 if passed and all(passed) else 1)


if __name__ == "__main__":
    main()
