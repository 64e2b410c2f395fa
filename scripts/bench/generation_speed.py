#!/usr/bin/env python3
"""Tokens a second of `hftrain generate` against transformers' generate, by turns, on the same folder and prompts.

  generation_speed.py [--shapes tiny-gpt2 tiny-llama gpt2-124m] [--batches 1 8] [--tokens 64] [--prompt_tokens 16] [--beams 1] [--threads N]
                [--guesses N] [--draft_weights WORD] [--times 4] [--runs 5]

Both sides have opened the model when the clock starts; every text has as many tokens as it may, and a batch is asked for --times in a
turn. Ours is the built program, begun anew for each turn, whose own figure is taken (`seconds` of --json: from the first prompt read
to the last token, all that is done for the first time in a process included); theirs is a process that stays and has been asked
before, in evaluation and inference mode. Float32, without sampling; tokens are compared, too. --guesses: --prompt_lookup_num_tokens of
our side, whose gain is that of texts that repeat themselves; how often the model was called for a token is shown.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))
import fixtures
import turns

PEER = """
import json, sys, time, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
for line in sys.stdin:
    asked = json.loads(line)
    ids = torch.tensor([tokenizer(text)["input_ids"] for text in asked["prompts"]])
    found = []
    with torch.inference_mode():
        begin = time.perf_counter()
        for _ in range(asked["times"]):
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=asked["tokens"], min_new_tokens=asked["tokens"],
                                 num_beams=asked["beams"], do_sample=False, pad_token_id=0)
            found += out[:, ids.shape[1]:].tolist()
        seconds = time.perf_counter() - begin
    print(json.dumps([seconds, found]), flush=True)
"""


class Peer:
    def __init__(self, folder, threads):
        self.process = subprocess.Popen([sys.executable, "-c", PEER, folder, str(threads)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, prompts, options):
        asked = dict(prompts=prompts, tokens=options.tokens, beams=options.beams, times=options.times)
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process of transformers has ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ours(folder, prompts, options, calls):
    guesses = ["--prompt_lookup_num_tokens", str(options.guesses)] if options.guesses else []
    said = fixtures.run([fixtures.HFTRAIN, "generate", "--model_name_or_path", folder, "--use_cpu", "--json", *guesses, "--draft_weights",
                         options.draft_weights, "--max_new_tokens",
                         str(options.tokens), "--min_new_tokens", str(options.tokens), "--num_beams", str(options.beams),
                         "--batch_size", str(len(prompts)), "--prompt", *(prompts * options.times)],
                        env={**os.environ, "OMP_NUM_THREADS": str(options.threads)})
    document = json.loads(said.stdout)
    calls.append(document["steps"])
    return document["seconds"], [one["ids"] for one in document["generations"]]


def prompts_of(folder, text, count, tokens):
    """Texts of exactly so many tokens."""
    from transformers import AutoTokenizer
    tokenizer, found = AutoTokenizer.from_pretrained(folder), []
    with open(text) as file:
        ids = tokenizer(file.read()[:200_000])["input_ids"]
    for at in range(0, len(ids), tokens):
        words = tokenizer.decode(ids[at:at + tokens])
        if len(tokenizer(words)["input_ids"]) == tokens and "\n" not in words and not words.startswith("-"):
            found.append(words)
        if len(found) == count:
            return found
    raise SystemExit("the sample text is too short")


def measure(folder, text, batch, options):
    prompts = prompts_of(folder, text, batch, options.prompt_tokens)
    peer, seen, calls = Peer(folder, options.threads), {}, []

    def side(name, ask):
        def run():
            seconds, seen[name] = ask()
            return options.times * batch * options.tokens / seconds
        return run

    try:
        taken, whole = turns.take(
            {"ours": side("ours", lambda: ours(folder, prompts, options, calls)),
             "transformers": side("transformers", lambda: peer.ask(prompts, options))},
            options.runs, show=lambda value: f"{value:.1f} tokens/s", warm_up=1, change_sides=True)
    finally:
        peer.end()
    same = seen.get("ours") == seen.get("transformers")
    return taken, whole, same, calls[-1] / (options.times * options.tokens) if calls else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="+", default=["tiny-gpt2", "tiny-llama", "gpt2-124m"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompt_tokens", type=int, default=16)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--guesses", type=int, default=0)
    parser.add_argument("--draft_weights", default="auto", help="of our side: auto, int8 or none")
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    complete = True
    with tempfile.TemporaryDirectory(prefix="hftrain-generation-") as scratch:
        text = fixtures.sample_text(scratch, 400_000)
        words = fixtures.tokenizer(scratch, text)
        for shape in turns.unless_interrupted(options.shapes):
            folder = fixtures.model_folder(scratch, shape, words)
            for batch in turns.unless_interrupted(options.batches):
                taken, whole, same, calls = measure(folder, text, batch, options)
                complete = complete and whole
                print(f"{shape}, batch {batch}, {options.beams} beams: "
                      f"{turns.sides_text(taken, lambda value: f'{value:.0f} tokens/s')}; tokens {'agree' if same else 'differ'}, "
                      f"{calls:.2f} calls of our model a token of a text", flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
