"""What parity tests and benchmarks share: example text, a tokenizer and small model folders, made on the spot."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "apps"))
from runs import largest

BUILD = pathlib.Path(os.environ.get("HFTRAIN_BUILD_DIR", ROOT / "build"))
HFTRAIN = str(BUILD / "bin" / "hftrain")
PEER = str(ROOT / "scripts" / "bench" / "peer_trainer.py")

SHAPES = {
    "tiny-gpt2": dict(model_type="gpt2", vocab_size=4096, n_positions=128, n_embd=128, n_layer=4, n_head=4),
    "tiny-llama": dict(model_type="llama", vocab_size=4096, hidden_size=128, intermediate_size=352, num_hidden_layers=4,
                       num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128),
    "tiny-qwen3": dict(model_type="qwen3", vocab_size=4096, hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=2, head_dim=24, max_position_embeddings=128),
    "tiny-gemma": dict(model_type="gemma", vocab_size=4096, hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=1, head_dim=24, max_position_embeddings=128),
    "gpt2-124m": dict(model_type="gpt2", vocab_size=50257, n_positions=1024, n_embd=768, n_layer=12, n_head=12),
}


def run(command, **options):
    result = subprocess.run(command, text=True, capture_output=True, **options)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result


def compare_cases(cases, compare, steps):
    """A script that compares each of its cases, `compare(name, steps, scratch)`, or those of --cases; ends with 1 unless all are as they must be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", nargs="*", default=list(cases))
    parser.add_argument("--steps", type=int, default=steps)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        passed = [compare(name, options.steps, scratch) for name in options.cases]
    sys.exit(0 if passed and all(passed) else 1)


def sample_text(folder, size=400_000, seed=1):
    path = pathlib.Path(folder) / f"text-{size}-{seed}.txt"
    if not path.exists():
        run([HFTRAIN, "sample-data", "text", str(path), "--size", str(size), "--seed", str(seed)])
    return str(path)


def tokenizer(folder, text, vocab_size=4096):
    path = pathlib.Path(folder) / f"tokenizer-{vocab_size}"
    if not path.exists():
        run([HFTRAIN, "tokenizer", "train", "--kind", "bpe", "--vocab_size", str(vocab_size), "--files", text,
             "--output", str(path)])
    return str(path)


def model_folder(folder, shape, tokenizer_folder, dropout=0.0, seed=0, weights=True):
    """A transformers folder of that shape, weights drawn by transformers, with the tokenizer's files in it."""
    import shutil
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    path = pathlib.Path(folder) / shape
    if path.exists():
        return str(path)
    fields = dict(SHAPES[shape])
    if fields["model_type"] == "gpt2":
        fields.update(embd_pdrop=dropout, attn_pdrop=dropout, resid_pdrop=dropout)
    fields.update(bos_token_id=0, eos_token_id=0)
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    torch.manual_seed(seed)
    if weights:
        AutoModelForCausalLM.from_config(config).save_pretrained(path)
    else:
        config.save_pretrained(path)
    for name in os.listdir(tokenizer_folder):
        shutil.copy(os.path.join(tokenizer_folder, name), path / name)
    return str(path)


class FolderLogits:
    """One process of tests/models/folder_logits.cpp for many folders."""

    def __init__(self):
        self.process = subprocess.Popen([str(BUILD / "bin" / "folder_logits")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def write(self, folder, given, rows, out, *saved):
        """Leaves the logits of `rows` rows of the file `given` in the file `out`; the names in the folder that are not used."""
        print(folder, given, rows, out, *saved, sep="\t", file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"folder_logits ended with {self.process.wait()} at {folder}; what it said stands above")
        return answer.split()

    def close(self):
        """Lets it end, which it does well."""
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"folder_logits ended with {self.process.returncode}; what it said stands above")


def our_records(output_dir):
    with open(os.path.join(output_dir, "hftrain", "log.jsonl")) as file:
        return [json.loads(line) for line in file]


def losses(records):
    return {r["step"]: r["loss"] for r in records if "loss" in r}
