#!/usr/bin/env python3
"""Step time of the sharded strategies: against our own data parallelism, and against the peer of each kind.

  sharding.py [--shape gpt2-124m] [--ranks 2] [--runs 3] [--peers]

Whole runs by turns, fp32, no dropout, cores divided by the ranks; the median step after the warm-up counts. Peers:
plain FSDP2 (peer_fsdp2.py), and the Trainer with DeepSpeed ZeRO-2 and ZeRO-3 when `deepspeed` can be imported
(pip install deepspeed, DS_ACCELERATOR=cpu); without it they are left out, which is said. A side that fails is named and
left out from there on, and what was measured is shown: it ends with 1 then.
"""
import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))
import fixtures
import turns

WARM_UP, STEPS = 4, 14
LOADS = {"gpt2-124m": (128, 2), "tiny-gpt2": (128, 8)}  # block, batch per rank
OURS = {
    "ddp": [],
    "zero1": ["--sharded_ddp", "simple"],
    "zero2": ["--fsdp", "shard_grad_op auto_wrap"],
    "zero3": ["--fsdp", "full_shard auto_wrap"],
}


def step_seconds(times):
    gaps = [b - a for a, b in zip(times[WARM_UP:], times[WARM_UP + 1:])]
    return statistics.median(gaps)


def ours(fixture, flags):
    out = os.path.join(fixture.folder, "ours")
    fixtures.run([fixtures.HFTRAIN, "--model_name_or_path", fixture.model, "--train_file", fixture.text, "--block_size",
                  str(fixture.block), "--per_device_train_batch_size", str(fixture.batch), "--max_steps", str(STEPS),
                  "--logging_steps", "1", "--save_strategy", "no", "--output_dir", out, "--overwrite_output_dir",
                  "--use_cpu", "--do_train", "--nproc_per_node", str(fixture.ranks), *flags])
    return step_seconds([r["time"] for r in fixtures.our_records(out) if "loss" in r])


def torchrun(fixture, script, *arguments):
    out = os.path.join(fixture.folder, "peer.json")
    fixtures.run([sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={fixture.ranks}", script,
                  "--model", fixture.model, "--out", out, "--threads", str(fixture.threads), *arguments],
                 env={**os.environ, "OMP_NUM_THREADS": str(fixture.threads), "DS_ACCELERATOR": "cpu"})
    with open(out) as file:
        return step_seconds(json.load(file)["step_seconds"])


def fsdp2(fixture, reshard):
    here = os.path.dirname(os.path.abspath(__file__))
    return torchrun(fixture, os.path.join(here, "peer_fsdp2.py"), "--batch", str(fixture.batch), "--block", str(fixture.block),
                    "--steps", str(STEPS), "--reshard", reshard)


def deepspeed(fixture, stage):
    config = os.path.join(fixture.folder, f"ds{stage}.json")
    with open(config, "w") as file:
        json.dump({"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
                   "train_batch_size": "auto", "gradient_clipping": "auto",
                   "zero_optimization": {"stage": stage, "reduce_bucket_size": "auto"}}, file)
    return torchrun(fixture, fixtures.PEER, "--train_file", fixture.text, "--block_size", str(fixture.block), "--",
                    f"output_dir={fixture.folder}/peer", "use_cpu=true", f"per_device_train_batch_size={fixture.batch}",
                    f"max_steps={STEPS}", "logging_steps=1", "save_strategy=no", f"deepspeed={config}")


def compare(name, base_name, ours_runs, base_runs):
    pairs = turns.pairs(ours_runs, base_runs)
    if not pairs:
        print(f"{name:8} {text_of(ours_runs)}, {base_name} {text_of(base_runs)}", flush=True)
        return
    print(f"{name:8} {text_of(ours_runs)}, {base_name} {text_of(base_runs)}; ratio {turns.spread([a / b for a, b in pairs])}",
          flush=True)


def text_of(seconds):
    return f"{statistics.median(seconds):.3f} s" if seconds else "not measured"


def peers_of(fixture):
    """{title: (mode of ours, how it is measured)}."""
    peers = {"FSDP2 without resharding": ("zero2", lambda: fsdp2(fixture, "false")),
             "FSDP2": ("zero3", lambda: fsdp2(fixture, "true"))}
    if importlib.util.find_spec("deepspeed") is None:
        print("DeepSpeed is left out: it cannot be imported (pip install deepspeed)", file=sys.stderr, flush=True)
        return peers
    return {**peers, "DeepSpeed ZeRO-2": ("zero2", lambda: deepspeed(fixture, 2)),
            "DeepSpeed ZeRO-3": ("zero3", lambda: deepspeed(fixture, 3))}


class Place:
    def __init__(self, folder, shape, ranks):
        self.folder, self.ranks = folder, ranks
        self.block, self.batch = LOADS[shape]
        self.threads = max(1, len(os.sched_getaffinity(0)) // ranks)
        self.text = fixtures.sample_text(folder, 1_000_000)
        vocabulary = min(fixtures.SHAPES[shape]["vocab_size"], 4096)
        self.model = fixtures.model_folder(folder, shape, fixtures.tokenizer(folder, self.text, vocabulary))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="gpt2-124m", choices=LOADS)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(OURS))
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fixture = Place(folder, options.shape, options.ranks)
        peers = peers_of(fixture) if options.peers else {}
        peers = {title: peer for title, peer in peers.items() if peer[0] in options.only}
        modes = [name for name in OURS if name in options.only or name == "ddp"]
        sides = {name: lambda flags=OURS[name]: ours(fixture, flags) for name in modes}
        sides.update({title: measure for title, (_, measure) in peers.items()})
        times, whole = turns.take(sides, options.runs, "{:.3f} s a step".format)
    for name in modes:
        if name != "ddp" or len(modes) == 1:
            compare(name, "ddp", times[name], times["ddp"])
    for title, (mode, _) in peers.items():
        compare(mode, title, times[mode], times[title])
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
