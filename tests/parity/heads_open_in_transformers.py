#!/usr/bin/env python3
"""Models of every head that transformers has made and saved: ours give the same logits, and what ours save from_pretrained opens
as the same model, with no name missing and none unexpected.

  heads_open_in_transformers.py [--families bert …]

A folder as releases of long ago wrote it (norms with gamma and beta, position numbers, the head of pre-training) is opened by the
built program for another task, and its body comes out as it was.
"""
import argparse
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

ROWS, LENGTH, VOCABULARY = 3, 11, 64
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
               max_position_embeddings=24)
FAMILIES = {
    "bert": ENCODER,
    "roberta": dict(ENCODER, type_vocab_size=1, layer_norm_eps=1e-5),
    "distilbert": dict(vocab_size=VOCABULARY, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=24),
}
HEADS = {"AutoModelForMaskedLM": {}, "AutoModelForSequenceClassification": dict(num_labels=3),
         "AutoModelForTokenClassification": dict(num_labels=5), "AutoModelForQuestionAnswering": {}}


def logits_of(model, ids):
    import torch
    with torch.no_grad():
        output = model(input_ids=ids)
    return torch.stack([output.start_logits, output.end_logits], dim=-1) if hasattr(output, "start_logits") else output.logits


def check(family, head, scratch):
    import numpy
    import torch
    import transformers
    torch.manual_seed(len(family) + len(head))
    config = transformers.AutoConfig.for_model(family, **FAMILIES[family], **HEADS[head])
    model = getattr(transformers, head).from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    theirs, ours = os.path.join(scratch, f"{family}-{head}"), os.path.join(scratch, f"{family}-{head}-ours")
    model.save_pretrained(theirs)
    os.mkdir(ours)
    ids = torch.randint(3, VOCABULARY, (ROWS, LENGTH))
    ids.numpy().tofile(os.path.join(scratch, "ids"))
    said = fixtures.run([str(fixtures.BUILD / "bin" / "folder_logits"), theirs, os.path.join(scratch, "ids"), str(ROWS),
                         os.path.join(scratch, "logits"), ours]).stderr
    expected = logits_of(model, ids)
    found = torch.from_numpy(numpy.fromfile(os.path.join(scratch, "logits"), dtype=numpy.float32)).reshape(expected.shape)
    again, notes = type(model).from_pretrained(ours, output_loading_info=True)
    differing = [kind for kind, names in notes.items() if names]
    apart = ((found - expected).abs().max() / expected.abs().max()).item()
    same = torch.equal(logits_of(again.eval(), ids), expected)
    print(f"{type(model).__name__}: logits within {apart:.1e} relative, ours opened {'as the same model' if same else 'as ANOTHER model'}"
          f"{', with ' + str(notes) if differing else ''}{', unused by ours: ' + said if said else ''}", flush=True)
    return apart <= 1e-5 and same and not differing and not said


def opens_an_old_folder(scratch):
    """BertForPreTraining of the first releases, for the classification of rows."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    text = fixtures.sample_text(scratch, 60_000)
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
    tokens = fixtures.tokenizer(scratch, text, 512)
    settings = os.path.join(tokens, "tokenizer_config.json")
    with open(settings) as file:
        config = json.load(file)
    with open(settings, "w") as file:
        json.dump(dict(config, pad_token=config["eos_token"]), file)
    rows = os.path.join(scratch, "rows.csv")
    with open(rows, "w") as file:
        file.write("sentence,label\n" + "she was late,bad\na quick day,good\n" * 8)
    said = fixtures.run([fixtures.HFTRAIN, "--task", "text-classification", "--model_name_or_path", folder, "--tokenizer_name", tokens,
                         "--train_file", rows, "--do_train", "--max_steps", "1", "--learning_rate", "0", "--use_cpu", "--output_dir",
                         out, "--nproc_per_node", "1", "--max_seq_length", "16"]).stderr
    opened, notes = transformers.BertForSequenceClassification.from_pretrained(out, output_loading_info=True)
    kept = {name: tensor for name, tensor in opened.state_dict().items() if name.startswith("bert.")}
    same = sorted(kept) == sorted(body) and all(torch.equal(kept[name], tensor) for name, tensor in body.items())
    unused = sorted(re.findall(r"'([\w.]+)' of .* is not used", said))
    new = sorted(re.findall(r"'([\w.]+)' is not in", said))
    expected = sorted(name for name in tensors if name.startswith("cls."))
    print(f"a folder of long ago: the body is {'the same' if same else 'ANOTHER'}, new {new}, unused {unused}", flush=True)
    return same and not any(notes.values()) and new == ["classifier.bias", "classifier.weight"] and unused == expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        passed = [check(family, head, scratch) for family in options.families for head in HEADS]
        if "bert" in options.families:
            passed.append(opens_an_old_folder(scratch))
    sys.exit(0 if all(passed) else 1)


main()
