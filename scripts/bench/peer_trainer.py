#!/usr/bin/env python3
"""The peer: a causal-LM run with the Hugging Face Trainer, for parity tests and paired benchmarks.

Reads a model folder (config.json; weights when they are there), a tokenizer folder and text files, groups text as the
run_clm example script does, trains, and writes every logged record with the seconds since this process started.

  peer_trainer.py --model DIR --train_file F --block_size 128 --out RESULT.json [--eval_file F [--evaluate_at_end]] -- key=value ...

What follows `--` are TrainingArguments as key=value pairs (values are JSON, or text when they do not parse).
"""
import time

START = time.time()
import argparse
import json
import os
import sys


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokenizer")
    parser.add_argument("--train_file", required=True)
    parser.add_argument("--eval_file", help="evaluated as the arguments say, with the accuracy of run_clm")
    parser.add_argument("--evaluate_at_end", action="store_true", help="and once more after training")
    parser.add_argument("--block_size", type=int, default=128)
    parser.add_argument("--out", required=True)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--save_model")
    parser.add_argument("--resume")
    parser.add_argument("--adapter", help="a folder with a peft adapter, which is trained in the place of the weights")
    parser.add_argument("--exact_norm", action="store_true",
                        help="clip by the norm of the gradients summed in float64 instead of torch's float32 sums")
    parser.add_argument("--seed_at_start", type=int,
                        help="seed torch once more before the first update, as hftrain does, so that both draw the same noise")
    own, rest = (sys.argv[1:], []) if "--" not in sys.argv else (
        sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:])
    options = parser.parse_args(own)
    arguments = {}
    for pair in rest:
        key, value = pair.split("=", 1)
        try:
            arguments[key] = json.loads(value)
        except json.JSONDecodeError:
            arguments[key] = value
    return options, arguments


def blocks(tokenizer, path, block_size):
    """Rows of 1000 lines joined, cut into blocks, the remainder of every group dropped."""
    with open(path, encoding="utf-8", newline="\n") as file:
        rows = file.read().split("\n")
    if rows and rows[-1] == "":
        rows.pop()
        rows = [row + "\n" for row in rows]
    else:
        rows = [row + "\n" for row in rows[:-1]] + rows[-1:]
    out = []
    for begin in range(0, len(rows), 1000):
        ids = [i for row in tokenizer(rows[begin:begin + 1000])["input_ids"] for i in row]
        for at in range(0, len(ids) // block_size * block_size, block_size):
            out.append(ids[at:at + block_size])
    return out


def best_tokens(logits, labels):
    return logits.argmax(dim=-1)


def accuracy(predictions):
    """Of every place but the last, whether it says the next one's token."""
    said, wanted = predictions.predictions[:, :-1], predictions.label_ids[:, 1:]
    return {"accuracy": float((said == wanted).mean())}


def sum_norms_in_float64(torch):
    """torch sums the squares of a tensor in float32, one after the other in each lane of a vector: 1e-6 to 1e-3 low."""
    def clip(parameters, max_norm, *_, **__):
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = sum(g.double().square().sum() for g in gradients).sqrt().float()
        torch.nn.utils.clip_grads_with_norm_([p for p in parameters if p.grad is not None], max_norm, norm)
        return norm
    torch.nn.utils.clip_grad_norm_ = clip


def main():
    options, arguments = parse()
    import torch
    if options.exact_norm:
        sum_norms_in_float64(torch)
    if options.threads:
        torch.set_num_threads(options.threads)
    from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer, Trainer, TrainerCallback,
                              TrainingArguments, default_data_collator)

    class Blocks(torch.utils.data.Dataset):
        def __init__(self, rows):
            self.rows = rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return {"input_ids": self.rows[index], "labels": self.rows[index]}

    class SeedAtStart(TrainerCallback):
        """Making the model and the loader draws numbers too."""
        def on_step_begin(self, args, state, control, **_):
            if state.global_step == 0:
                torch.manual_seed(options.seed_at_start)

    class Clock(TrainerCallback):
        def __init__(self):
            self.steps = []

        def on_step_end(self, args, state, control, **_):
            self.steps.append(time.time())

    tokenizer = AutoTokenizer.from_pretrained(options.tokenizer or options.model)
    config = AutoConfig.from_pretrained(options.model)
    has_weights = any(name.endswith(".safetensors") for name in os.listdir(options.model))
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32) if has_weights else \
        AutoModelForCausalLM.from_config(config)
    if options.adapter:
        from peft import PeftModel
        model = PeftModel.from_pretrained(model, options.adapter, is_trainable=True)
    clock = Clock()
    begin = time.time()
    training_rows = blocks(tokenizer, options.train_file, options.block_size)
    preparation_seconds = time.time() - begin
    trainer = Trainer(
        model=model,
        args=TrainingArguments(**{"report_to": "none", "disable_tqdm": True, **arguments}),
        train_dataset=Blocks(training_rows),
        eval_dataset=Blocks(blocks(tokenizer, options.eval_file, options.block_size)) if options.eval_file else None,
        data_collator=default_data_collator,
        compute_metrics=accuracy,
        preprocess_logits_for_metrics=best_tokens,
        callbacks=[clock] + [SeedAtStart()] * (options.seed_at_start is not None),
    )
    result = trainer.train(resume_from_checkpoint=options.resume)
    if options.evaluate_at_end:
        trainer.evaluate()
    if trainer.is_world_process_zero():
        if options.save_model:
            trainer.save_model(options.save_model)
        with open(options.out, "w") as file:
            json.dump({
                "log_history": trainer.state.log_history,
                "metrics": result.metrics,
                "samples": len(trainer.train_dataset),
                "step_seconds": [s - START for s in clock.steps],
                "preparation_seconds": preparation_seconds,
                "first_step_unix": clock.steps[0],
                "threads": torch.get_num_threads(),
            }, file)


if __name__ == "__main__":
    main()
