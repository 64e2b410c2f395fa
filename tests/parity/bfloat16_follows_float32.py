#!/usr/bin/env python3
"""50 losses of --bf16 beside those of float32: same weights, same text, same order, no dropout.

  bfloat16_follows_float32.py [--cases NAME…] [--steps 50]

Every loss lies within 2e-2 of float32's, relative to it; and somewhere they differ, or nothing was computed in bfloat16.
"""
import os

import fixtures

COMMON = dict(logging_steps=1, save_strategy="no", learning_rate=1e-3, seed=7, lr_scheduler_type="cosine", warmup_steps=5, weight_decay=0.1,
              max_grad_norm=1.0)
CASES = {  # shape, rows of 128 tokens in an update, what differs
    "tiny-gpt2": ("tiny-gpt2", 4, {}),
    "tiny-llama": ("tiny-llama", 4, {}),
    "gpt2-124m": ("gpt2-124m", 2, dict(learning_rate=1e-4)),
}
BOUND = 2e-2


def losses(name, steps, scratch, *more):
    shape, rows, differs = CASES[name]
    text = fixtures.sample_text(scratch)
    model = fixtures.model_folder(scratch, shape, fixtures.tokenizer(scratch, text))
    folder = os.path.join(scratch, "-".join((name, "run", *more)))
    flags = [part for key, value in {**COMMON, **differs}.items() for part in (f"--{key}", str(value))]
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", model, "--train_file", text, "--block_size", "128", "--do_train", "--use_cpu",
                  "--nproc_per_node", "1", "--max_steps", str(steps), "--per_device_train_batch_size", str(rows), "--output_dir", folder, *flags, *more],
                 env={**os.environ, "HFTRAIN_CACHE": os.path.join(scratch, "cache")})
    found = fixtures.losses(fixtures.our_records(folder))
    return [found[step] for step in sorted(found)]


def compare(name, steps, scratch):
    wide, narrow = losses(name, steps, scratch), losses(name, steps, scratch, "--bf16")
    apart = [abs(a - b) / abs(a) for a, b in zip(wide, narrow)]
    whole = len(wide) == len(narrow) == steps
    good = whole and 0 < fixtures.largest(apart) <= BOUND
    print(f"{name}: {len(apart)} losses, {wide[0]:.4f} -> {wide[-1]:.4f} in float32, {narrow[-1]:.4f} with --bf16; largest difference {fixtures.largest(apart):.1e}, "
          f"{sum(apart) / len(apart):.1e} on average{'' if good else ': FAILED'}", flush=True)
    return good


if __name__ == "__main__":
    fixtures.compare_cases(CASES, compare, 50)
