#!/usr/bin/env python3
"""Training speed and memory of the tasks against the Hugging Face Trainer, or against another build, by turns within two running runs.

  task_speed.py [--shapes bert-base t5-small vit-small …] [--ranks 1 2] [--threads 1] [--turns 8] [--steps 3] [--other FOLDER_OF_A_BUILD]
                [--bf16 [--other_in_float32]]

Both sides are started once, on the same model shape, the same data and the same batch, float32, with the dropout that the shapes have
by default. Then one side is stopped (SIGSTOP) while the other one trains: a step that is not counted, `--steps` that are, change. So
turns are short, a neighbour disturbs both, and neither side's start counts. Shown per pair of turns and as medians with their range:
tokens a second by the clock and by processor time (of all of a side's processes), theirs as parts of ours; at the end the peak resident
memory of each side's ranks. With `--other` the second side is that build's hftrain. With `--bf16` both sides compute in bfloat16, or with
`--other_in_float32` ours alone: with `--other` of the same build that is what bfloat16 is worth.
"""
import argparse
import glob
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))
import fixtures
import turns

HERE = os.path.dirname(os.path.abspath(__file__))
BERT = dict(model_type="bert", vocab_size=30522, pad_token_id=0)
VIT = dict(model_type="vit", image_size=224, patch_size=16)
NO_DROPOUT = dict(embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)
SHAPES = {  # name: (task, config, length, target length or none, rows a batch, tokens a row)
    "bert-base": ("mlm", BERT, 128, None, 8, 128),
    "bert-small": ("mlm", dict(BERT, hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048), 128, None, 8, 128),
    "t5-small": ("summarization", dict(model_type="t5", vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8,
                                       decoder_start_token_id=0, pad_token_id=0, eos_token_id=1), 128, 64, 8, 192),
    "vit-base": ("image-classification", VIT, 224, None, 8, 197),
    "vit-small": ("image-classification", dict(VIT, hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536), 224,
                  None, 8, 197),
    # Next to no model: what is measured is reading, cropping and resizing pictures.
    "pictures": ("image-classification", dict(VIT, patch_size=112, hidden_size=16, num_hidden_layers=1, num_attention_heads=1,
                                              intermediate_size=16), 224, None, 8, 5),
    "gpt2-124m": ("clm", dict(NO_DROPOUT, model_type="gpt2", vocab_size=50257), 128, None, 2, 128),
    "tiny-gpt2": ("clm", dict(NO_DROPOUT, model_type="gpt2", vocab_size=4096, n_positions=128, n_embd=128, n_layer=4, n_head=4), 128, None, 8, 128),
    "tiny-llama": ("clm", dict(model_type="llama", vocab_size=4096, hidden_size=128, intermediate_size=352, num_hidden_layers=4,
                               num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128), 128, None, 8, 128),
}
TOKENIZERS = {"clm": "bpe", "mlm": "wordpiece", "summarization": "unigram"}
MANY_STEPS = 1_000_000


def draw_pictures(folder, count=96, side=320):
    import numpy
    from PIL import Image
    draw = numpy.random.default_rng(0)
    for number in range(count):
        place = pathlib.Path(folder) / f"class{number % 4}"
        place.mkdir(parents=True, exist_ok=True)
        coarse = draw.integers(0, 256, (20, 20, 3), dtype=numpy.uint8)
        image = Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC)
        noise = draw.integers(-12, 13, (side, side, 3))
        Image.fromarray(numpy.clip(numpy.array(image) + noise, 0, 255).astype(numpy.uint8)).save(place / f"{number:03}.jpg", quality=90)
    return str(folder)


def long_pairs(scratch):
    """Texts and summaries that are longer than what is kept of them, so that nothing is padded."""
    path = os.path.join(scratch, "pairs.jsonl")
    with open(fixtures.sample_text(scratch, 1_500_000)) as file:
        text = " ".join(file.read().split())
    with open(path, "w") as file:
        for at in range(0, len(text) - 2000, 2000):
            file.write(json.dumps({"text": text[at:at + 1400], "summary": text[at + 1400:at + 2000]}) + "\n")
    return path


def prepare(scratch, shape):
    """(folder with config.json and tokenizer, data) of a shape."""
    task, config = SHAPES[shape][:2]
    folder = os.path.join(scratch, shape)
    if task == "image-classification":
        data = os.path.join(scratch, "pictures")
        if not os.path.exists(data):
            draw_pictures(data)
        classes = sorted(os.listdir(data))
        config = dict(config, id2label=dict(enumerate(classes)), label2id={name: i for i, name in enumerate(classes)})
        os.makedirs(folder, exist_ok=True)
    else:
        text, words = fixtures.sample_text(scratch, 1_500_000), os.path.join(scratch, "words-" + task)
        if not os.path.exists(words):
            fixtures.run([fixtures.HFTRAIN, "tokenizer", "train", "--kind", TOKENIZERS[task], "--vocab_size", "4000", "--files", text,
                          "--output", words])
        shutil.copytree(words, folder, dirs_exist_ok=True)
        data = long_pairs(scratch) if task == "summarization" else text
        if task == "clm":
            config = dict(config, bos_token_id=0, eos_token_id=0)
    fields = dict(config)
    from transformers import AutoConfig
    AutoConfig.for_model(fields.pop("model_type"), **fields).save_pretrained(folder)
    return folder, data


def processes_below(root):
    parents = {}
    for entry in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(entry) as file:
                text = file.read()
        except OSError:
            continue
        parents[int(entry.split("/")[2])] = int(text[text.rindex(")") + 2:].split()[1])
    found, grown = {root}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found


def processor_seconds(pids):
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as file:
                text = file.read()
        except OSError:
            continue
        ticks += sum(map(int, text[text.rindex(")") + 2:].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_resident(pids):
    """Of the largest of these processes, bytes: a rank's."""
    peaks = [0]
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                peaks += [int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")]
        except OSError:
            continue
    return max(peaks)


class Side:
    """A run that goes on as long as it is let, and is stopped otherwise. Tells of each step by a line in a file."""

    def __init__(self, name, command, steps_file, scratch, threads):
        self.name, self.steps_file, self.position, self.pids = name, steps_file, 0, set()
        self.output = open(os.path.join(scratch, f"output-{name}.txt"), "w+")
        self.process = subprocess.Popen(command, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True,
                                        env={**os.environ, "OMP_NUM_THREADS": str(threads), "TRANSFORMERS_VERBOSITY": "error",
                                             "HFTRAIN_CACHE": os.path.join(scratch, "cache-" + name)})

    def signal_all(self, number):
        for pid in processes_below(self.process.pid):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def steps(self):
        try:
            with open(self.steps_file) as file:
                return sum('"loss"' in line or '"step"' in line[:7] for line in file)
        except FileNotFoundError:
            return 0

    def wait_for(self, steps):
        """Until that many steps are told of; (clock, processor seconds) then."""
        while self.steps() < steps:
            if self.process.poll() is not None:
                self.output.seek(0)
                raise SystemExit(f"{self.name} ended with {self.process.returncode}:\n{self.output.read()[-3000:]}")
            time.sleep(0.005)
        return time.monotonic(), processor_seconds(self.pids or processes_below(self.process.pid))

    def turn(self, steps):
        """(seconds, processor seconds) of a step."""
        self.signal_all(signal.SIGCONT)
        first = last = (0, 0)
        while any(b <= a for a, b in zip(first, last)):  # who looks at the file may be held up longer than the steps took
            begin = self.steps() + 2  # the one that was under way when we were stopped, and one more
            self.pids = processes_below(self.process.pid)
            first = self.wait_for(begin)
            last = self.wait_for(begin + steps)
        self.signal_all(signal.SIGSTOP)
        return tuple((b - a) / steps for a, b in zip(first, last))

    def peak(self):
        return peak_resident(processes_below(self.process.pid))

    def end(self):
        self.signal_all(signal.SIGKILL)
        self.process.wait()
        self.output.close()


def our_command(shape, prepared, scratch, ranks, threads, folder, name, bf16):
    task, _, length, target, batch, _ = SHAPES[shape]
    model, data = prepared
    out = os.path.join(scratch, "out-" + name)
    shutil.rmtree(out, ignore_errors=True)  # steps of a run before would be taken for this one's
    command = [os.path.join(folder, "bin", "hftrain"), "train", "--do_train", "--use_cpu", "--config_name", model, "--output_dir", out,
               "--overwrite_output_dir", "--save_strategy", "no", "--logging_steps", "1", "--max_steps", str(MANY_STEPS), "--disable_tqdm",
               "--nproc_per_node", str(ranks), "--num_cpu_threads_per_process", str(threads), "--per_device_train_batch_size", str(batch)]
    command += ["--bf16"] * bf16
    if task != "clm":
        command += ["--task", task]
    if task == "image-classification":
        command += ["--train_dir", data]
    else:
        command += ["--tokenizer_name", model, "--train_file", data]
    command += {"clm": ["--block_size", str(length)], "mlm": ["--max_seq_length", str(length)],
                "summarization": ["--max_source_length", str(length), "--max_target_length", str(target)],
                "image-classification": []}[task]
    return command, os.path.join(out, "hftrain", "log.jsonl")


def their_command(shape, prepared, scratch, ranks, threads, bf16):
    task, _, length, target, batch, _ = SHAPES[shape]
    launcher = [sys.executable] if ranks == 1 else [
        sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    steps_file = os.path.join(scratch, "peer-steps.jsonl")
    if os.path.exists(steps_file):
        os.remove(steps_file)
    return launcher + [os.path.join(HERE, "peer_tasks.py"), "--task", task, "--folder", prepared[0], "--data", prepared[1], "--length",
                       str(length), *(["--target_length", str(target)] if target else []), "--threads", str(threads), "--steps_file",
                       steps_file, "--", f"output_dir={scratch}/peer", f"per_device_train_batch_size={batch}",
                       f"max_steps={MANY_STEPS}"] + ["bf16=true"] * bf16 + ["remove_unused_columns=false"] * (task == "image-classification"), steps_file


def measure(shape, ranks, options, scratch):
    prepared, threads = prepare(scratch, shape), options.threads
    per_step = SHAPES[shape][4] * SHAPES[shape][5] * ranks
    sides, theirs_bf16 = {}, options.bf16 and not options.other_in_float32
    try:
        commands = {"ours": our_command(shape, prepared, scratch, ranks, threads, str(fixtures.BUILD), "ours", options.bf16)}
        commands["other"] = (
            our_command(shape, prepared, scratch, ranks, threads, options.other, "other", theirs_bf16) if options.other else
            their_command(shape, prepared, scratch, ranks, threads, theirs_bf16))
        for name, command in commands.items():
            sides[name] = Side(name, *command, scratch, threads)
            sides[name].wait_for(options.warm_up)
            sides[name].signal_all(signal.SIGSTOP)
        taken, whole = turns.take({name: lambda side=side: side.turn(options.steps) for name, side in sides.items()}, options.turns,
                                  lambda t: f"{per_step / t[0]:.0f} tokens/s, {per_step / t[1]:.0f} per processor second", change_sides=True)
        peaks = {name: side.peak() for name, side in sides.items()}
    finally:
        for side in sides.values():
            side.end()
    for at, what in enumerate(("by the clock", "by processor time")):
        print(f"{shape}, {ranks} rank(s), {threads} thread(s), {what}: "
              f"{turns.sides_text({n: [per_step / t[at] for t in all] for n, all in taken.items()}, '{:.0f} tokens/s'.format)}", flush=True)
    print(f"{shape}, {ranks} rank(s), peak resident memory of a rank: " + ", ".join(f"{n} {p / 2**20:.0f} MiB" for n, p in peaks.items()) +
          (f", ours / other {peaks['ours'] / peaks['other']:.2f}" if all(peaks.values()) else ""), flush=True)
    return whole


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="*", choices=list(SHAPES), default=["bert-base", "t5-small", "vit-small"])
    parser.add_argument("--ranks", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--threads", type=int, default=1, help="of a rank")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--steps", type=int, default=3, help="that count in a turn")
    parser.add_argument("--warm_up", type=int, default=2, help="steps before the first turn")
    parser.add_argument("--other", metavar="FOLDER", help="a build whose hftrain is the second side")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--other_in_float32", action="store_true", help="with --bf16: the second side stays in float32")
    options = parser.parse_args()
    # So that no stopped run is left behind; as Ctrl-C, for a SystemExit would be taken for the failure of one side.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="hftrain-task-speed-") as scratch:
        results = [measure(shape, ranks, options, scratch) for shape in turns.unless_interrupted(options.shapes)
                   for ranks in turns.unless_interrupted(options.ranks)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
