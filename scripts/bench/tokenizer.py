#!/usr/bin/env python3
"""Tokenizing speed on one thread: hftrain against the PyPI `tokenizers` package, same vocabulary, same text, by turns.

    scripts/bench/tokenizer.py --bench build/bin/bench_tokenizer [--corpus prose|languages|nasty] [--text FILE…] [--offsets]
                               [--megabytes 8] [--vocab_size 16384] [--rounds 7] [--pipelines NAME…]

Prints both speeds in MB/s and their ratio (median, smallest and largest over the rounds) for each pipeline. The package
runs encode_batch_fast (no offsets), its fastest way, with its thread pool switched off; with --offsets both make whole
encodings (encode_batch there). Prose is the English one in the documentation of this machine; the vocabulary is made of
the text that is measured, of nasty text of that in languages. Token counts of the two must agree, or the row is void.
"""
import argparse
import math
import os
import subprocess
import sys
import tempfile
import time

import texts
import turns

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402
from charsmap import compatibility_map, compile_charsmap  # noqa: E402
from tokenizer_pipelines import BYTES, LLAMA3, MISTRAL, QWEN2  # noqa: E402


def documentation(limit):
    seen, parts, total = set(), [], 0
    for root in (sys.prefix, "/usr/share/doc", "/usr/share/perl", "/usr/lib/python3"):
        for folder, _, files in sorted(os.walk(root)):
            for name in sorted(files):
                if not name.endswith((".md", ".rst", ".txt", ".pod", "METADATA", "copyright")):
                    continue
                try:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text = file.read()
                except (OSError, UnicodeDecodeError):
                    continue
                if hash(text) in seen:
                    continue
                seen.add(hash(text))
                parts.append(text)
                total += len(text)
                if total >= limit:
                    return "\n".join(parts)[:limit]
    return "\n".join(parts)


def byte_level(lines, vocab_size, split, normalizer, ignore_merges):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        t.normalizer = normalizer
    if split:
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(split), "isolated"),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=["<|endoftext|>"],
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                     show_progress=False))
    return t


def space_marks(lines, vocab_size):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=["<unk>", "<s>", "</s>"] + BYTES,
                                                     show_progress=False))
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False)
    return t


def bert(lines, vocab_size):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=["[PAD]", "[UNK]"], show_progress=False))
    return t


def unigram(lines, vocab_size, normalizer):
    """A vocabulary in T5's manner. Unigram's own trainer takes minutes; the most frequent parts of words do."""
    t = Tokenizer(models.BPE())
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False))
    vocabulary = sorted(t.get_vocab().items(), key=lambda item: item[1])
    t.model = models.Unigram([("<unk>", 0.0)] + [(token, -math.log(2 + i)) for token, i in vocabulary], unk_id=0)
    return t


def word_level(lines, vocab_size):
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator(lines, trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=["<unk>"], show_progress=False))
    return t


def albert_normalizer():
    return normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
                                 normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Precompiled(CHARSMAP)])


CHARSMAP = compile_charsmap(compatibility_map())

PIPELINES = {
    "bert": bert,
    "words": word_level,
    "unigram": lambda lines, n: unigram(lines, n, None),
    "t5": lambda lines, n: unigram(lines, n, normalizers.Precompiled(CHARSMAP)),
    "albert": lambda lines, n: unigram(lines, n, albert_normalizer()),
    "gpt2": lambda lines, n: byte_level(lines, n, None, None, False),
    "llama3": lambda lines, n: byte_level(lines, n, LLAMA3, None, True),
    "qwen2": lambda lines, n: byte_level(lines, n, QWEN2, normalizers.NFC(), False),
    "mistral": lambda lines, n: byte_level(lines, n, MISTRAL, None, True),
    "llama2": space_marks,
}


class Ours:
    def __init__(self, bench, folder, text, offsets):
        self.process = subprocess.Popen([bench, folder, text] + ["offsets"] * offsets, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.load_seconds = float(self.process.stdout.readline().split()[1])

    def measure(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, _, tokens = self.process.stdout.readline().split()
        return float(seconds), int(tokens)


class Package:
    def __init__(self, file, lines, offsets):
        begin = time.perf_counter()
        self.tokenizer = Tokenizer.from_file(file)
        self.load_seconds = time.perf_counter() - begin
        self.lines = lines
        self.encode = self.tokenizer.encode_batch if offsets else self.tokenizer.encode_batch_fast

    def measure(self):
        tokens = 0
        begin = time.perf_counter()
        for i in range(0, len(self.lines), 1000):
            for encoding in self.encode(self.lines[i:i + 1000], add_special_tokens=False):
                tokens += len(encoding)
        return time.perf_counter() - begin, tokens


def compare(name, tokenizer, lines, folder, bench, rounds, offsets):
    file = os.path.join(folder, name, "tokenizer.json")
    os.makedirs(os.path.dirname(file))
    tokenizer.save(file)
    ours, package = Ours(bench, os.path.dirname(file), os.path.join(folder, "text"), offsets), Package(file, lines, offsets)
    size = sum(len(line.encode()) + 1 for line in lines) / 1e6
    taken, whole = turns.take({"hftrain": ours.measure, "package": package.measure}, rounds,
                              lambda result: f"{size / result[0]:.2f} MB/s", warm_up=1)  # warms both caches
    counts = {tokens for results in taken.values() for _, tokens in results}
    if len(counts) > 1:
        print(f"{name:8} VOID: token counts differ: {', '.join(map(str, sorted(counts)))}", flush=True)
        return False
    speeds = {side: [size / seconds for seconds, _ in results] for side, results in taken.items()}
    print(f"{name:8} {turns.sides_text(speeds, '{:.2f} MB/s'.format)}; load {ours.load_seconds * 1e3:.1f} ms / "
          f"{package.load_seconds * 1e3:.1f} ms", flush=True)
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--text", nargs="*")
    parser.add_argument("--corpus", choices=("prose", "languages", "nasty"), default="prose")
    parser.add_argument("--offsets", action="store_true")
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--vocab_size", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pipelines", nargs="*", default=list(PIPELINES))
    arguments = parser.parse_args()
    limit = int(arguments.megabytes * 1e6)
    if arguments.text:
        text = "\n".join(open(name, encoding="utf-8").read() for name in arguments.text)[:limit]
    else:
        text = {"prose": documentation, "languages": texts.languages, "nasty": texts.nasty}[arguments.corpus](limit)
    lines = text.replace("\r", "").split("\n")
    learned = texts.languages(limit).split("\n") if arguments.corpus == "nasty" else lines
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "text"), "w", encoding="utf-8", newline="") as out:
            out.write("\n".join(lines))
        print(f"{sum(len(line) for line in lines) / 1e6:.1f} MB in {len(lines)} lines, vocabulary {arguments.vocab_size}")
        whole = [compare(name, PIPELINES[name](learned, arguments.vocab_size), lines, folder, arguments.bench, arguments.rounds,
                         arguments.offsets)
                 for name in arguments.pipelines]
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
