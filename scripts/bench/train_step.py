"""Tokens/s of a training step (forward, backward, clip, AdamW) on CPU, float32: hftrain against transformers.

Runs alternate, so that both see the same machine; prints the median of each and their ratio per shape and thread count.
Usage: <python with torch and transformers> scripts/bench/train_step.py <build>/bin/bench_train_step [--runs N]
       [--shapes tiny_gpt2,tiny_llama,gpt2_124m,tiny_bert,bert_base,bert_base_dropout] [--threads 1,2] [--cpu-time]
--cpu-time compares tokens per second of CPU time, which neighbours disturb least; use it with one thread on a busy
machine.
"""

import argparse
import os
import subprocess
import sys
import time

import turns

GPT2 = dict(embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)
BERT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
MASKED = 0.15  # of the tokens of an encoder, which is trained to find them
SHAPES = {  # name: (model_type, config, block, batch, steps)
    "tiny_gpt2": ("gpt2", dict(GPT2, n_layer=4, n_embd=128, n_head=4, vocab_size=4096, n_positions=128,
                               bos_token_id=0, eos_token_id=0), 128, 8, 40),
    "tiny_llama": ("llama", dict(num_hidden_layers=4, hidden_size=128, num_attention_heads=4, num_key_value_heads=4,
                                 intermediate_size=352, vocab_size=4096, max_position_embeddings=128), 128, 8, 40),
    "gpt2_124m": ("gpt2", GPT2, 128, 2, 6),
    "tiny_bert": ("bert", dict(BERT, num_hidden_layers=4, hidden_size=128, num_attention_heads=4, intermediate_size=512,
                               vocab_size=4096, max_position_embeddings=128), 128, 8, 40),
    "bert_base": ("bert", BERT, 128, 4, 6),
    "bert_base_dropout": ("bert", {}, 128, 4, 6),
}


def peer(shape, threads):
    """One run of the transformers loop in this process."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    model_type, config, block, batch, steps = SHAPES[shape]
    masked = model_type == "bert"
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    auto = AutoModelForMaskedLM if masked else AutoModelForCausalLM
    model = auto.from_config(AutoConfig.for_model(model_type, **config)).float().train()
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}],
                                  lr=1e-4, fused=True)
    ids = torch.randint(0, model.config.vocab_size, (batch, block))
    labels = torch.where(torch.rand(ids.shape) < MASKED, ids, -100) if masked else ids
    options = {} if masked else {"use_cache": False}
    for step in range(5 + steps):
        if step == 5:
            start, cpu_start = time.perf_counter(), time.process_time()
        loss = model(input_ids=ids, labels=labels, **options).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    tokens = steps * batch * block
    print(f"{tokens / seconds:.1f} {tokens / cpu_seconds:.1f} {value:.6f}")


def ours(binary, shape, threads):
    model_type, config, block, batch, steps = SHAPES[shape]
    overrides = ",".join(f"{key}={value}" for key, value in config.items())
    masked = [str(MASKED)] if model_type == "bert" else []
    return [binary, model_type, overrides, str(block), str(batch), str(threads), str(steps), *masked]


def run(command, threads, cpu_time):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TRANSFORMERS_VERBOSITY="error")
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    return float(result.stdout.split()[-2 if cpu_time else -3])


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--peer":
        return peer(sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--cpu-time", action="store_true")
    options = parser.parse_args()
    whole = True
    for shape in turns.unless_interrupted(options.shapes.split(",")):
        for threads in turns.unless_interrupted(map(int, options.threads.split(","))):
            commands = {"hftrain": ours(options.binary, shape, threads),
                        "transformers": [sys.executable, __file__, "--peer", shape, str(threads)]}
            sides = {name: lambda command=command: run(command, threads, options.cpu_time) for name, command in commands.items()}
            speeds, all_measured = turns.take(sides, options.runs, "{:.0f} tokens/s".format)
            whole &= all_measured
            print(f"{shape} threads={threads}: {turns.sides_text(speeds, '{:.0f} tokens/s'.format)}", flush=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
