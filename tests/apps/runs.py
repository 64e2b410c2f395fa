"""Runs of the built program for the scripts in this folder: a tiny model on made-up text. Needs nothing but Python."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("HFTRAIN_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build"))
HFTRAIN = str(BUILD / "bin" / "hftrain")
PATIENCE = float(os.environ.get("HFTRAIN_TEST_PATIENCE", 120))  # seconds; only a hang takes them
SKIPPED = 77  # the exit status of a test that this machine cannot run, as in tests/support/skip.h


def skip(reason):
    """Leaves the test. ctest goes by the status: what has failed before stays failed."""
    print("SKIPPED:", reason, flush=True)
    raise SystemExit(SKIPPED)


def tell(scenarios, names, run):
    """Runs those scenarios {name: function}, or all; one that is skipped does not keep the others."""
    skipped = []
    for name in names or scenarios:
        try:
            run(name, scenarios[name])
        except SystemExit as end:
            if end.code != SKIPPED:
                raise
            skipped.append(name)
    sys.exit(SKIPPED if skipped else 0)


def run_scenarios(scenarios, names, make_fixture):
    """Runs those functions (fixture, folder), or all, each in a new folder; `make_fixture` gets the folder above them."""
    with tempfile.TemporaryDirectory(prefix="hftrain-scenarios-") as folder:
        fixture = make_fixture(folder)

        def run(name, scenario):
            place = os.path.join(folder, name)
            os.mkdir(place)
            scenario(fixture, place)
            print("ok:", name.replace("_", " "), flush=True)

        tell({scenario.__name__: scenario for scenario in scenarios}, names, run)


def slowness():
    """How many times longer than its own processor time a program takes just now: 1 on a machine that has nothing else to do."""
    before, begin = os.times(), time.monotonic()
    subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True)
    seconds, after = time.monotonic() - begin, os.times()
    return max(1.0, seconds / (after.children_user + after.children_system - before.children_user - before.children_system))


class InTime:
    """Measures what must take no longer than `bar` seconds on a machine with nothing else to do. The bar grows with the
    slowness of the machine before and after, and `allowed` says how long it became."""

    def __init__(self, bar):
        self.bar, self.slowness = bar, slowness()
        self.begin = time.monotonic()

    def stop(self, seconds=None):
        """Takes the time, or the seconds that somebody else took; true when they are in the bar."""
        self.seconds = time.monotonic() - self.begin if seconds is None else seconds
        self.slowness = max(self.slowness, slowness())
        self.allowed = self.bar * self.slowness
        return self.seconds <= self.allowed

    def __str__(self):
        return f"{self.seconds:.2f} s, {self.allowed:.2f} s allowed (slowness {self.slowness:.1f})"


RESERVED = []


def free_port():
    """Nobody else gets it while this process lives: it is bound and does not listen, so who is told its number may."""
    RESERVED.append(socket.socket())
    RESERVED[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    RESERVED[-1].bind(("", 0))
    return RESERVED[-1].getsockname()[1]


def expect(condition, what, text):
    if not condition:
        raise SystemExit(f"FAILED: {what}\n{text}")


def largest(differences):
    """Of numbers, the largest; infinite where one is no number, which max() passes over unless it comes first."""
    differences = list(differences)
    return max(differences) if all(each == each for each in differences) else float("inf")


def apart(found, wanted):
    """The largest difference of two series of losses by step; infinite where one has other steps, or none."""
    if not wanted or found.keys() != wanted.keys():
        return float("inf")
    return largest(abs(found[step] - wanted[step]) for step in wanted)


def in_order(text, *parts):
    """Each part stands in the text, behind the one before."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        expect(found >= 0, f"'{part}' is not there, or before the part before it", text)
        at = found + len(part)


def read_json(*path):
    with open(os.path.join(*path)) as file:
        return json.load(file)


def records(output):
    """All logged records, oldest first; of a run that goes on, those that are whole."""
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def working_values(fixture, flag):
    """Those of a flag that the program's own table does not refuse."""
    table = fixture.call("docs", "arguments").stdout
    offered = re.search(rf"^\| {flag} \| one of ([^|]*?) \|", table, re.M).group(1).split(", ")
    refused = set(re.findall(rf"^\| {flag} \| (\S+) \| refused", table, re.M))
    return [value for value in offered if value not in refused]


class Fixture:
    """A folder with text, a tokenizer and a cache of its own."""
    WITHOUT_DROPOUT = ",embd_pdrop=0,attn_pdrop=0,resid_pdrop=0"
    LAYER = "GPT2Block"

    def __init__(self, folder):
        self.folder = str(folder)
        self.environment = {**os.environ, "HFTRAIN_CACHE": os.path.join(self.folder, "cache"), "OMP_NUM_THREADS": "1"}
        self.text = os.path.join(self.folder, "text.txt")
        self.tokenizer = os.path.join(self.folder, "tokenizer")
        self.call("sample-data", "text", self.text, "--size", "100000", "--seed", "3")
        self.call("tokenizer", "train", "--kind", "bpe", "--vocab_size", "512", "--files", self.text,
                  "--output", self.tokenizer)

    def call(self, *arguments, expect=0):
        result = subprocess.run([HFTRAIN, *arguments], env=self.environment, text=True, capture_output=True)
        if expect is not None and result.returncode != expect:
            raise SystemExit(f"hftrain {' '.join(map(str, arguments))}\nended with {result.returncode}, expected {expect}\n"
                             f"{result.stdout}{result.stderr}")
        return result

    def flags(self, output, *more, ranks=2, width=32):
        return ["--model_type", "gpt2", "--config_overrides",
                f"n_layer=2,n_head=2,n_embd={width},n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0",
                "--tokenizer_name", self.tokenizer, "--train_file", self.text, "--block_size", "64", "--use_cpu",
                "--do_train", "--nproc_per_node", str(ranks), "--output_dir", str(output), "--logging_steps", "1",
                "--learning_rate", "1e-3", "--lr_scheduler_type", "cosine", *map(str, more)]

    def checkpoints(self, output):
        names = [n for n in os.listdir(output) if n.startswith("checkpoint-")] if os.path.isdir(output) else []
        return sorted(int(n.split("-")[1]) for n in names)
