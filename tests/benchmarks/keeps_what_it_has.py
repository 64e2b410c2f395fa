#!/usr/bin/env python3
"""Benchmarks by turns keep what they have: a side that fails in its second turn is named, what was measured before is shown,
and the script ends with 1. Sides are stand-ins here; what each script measures is not run.

  keeps_what_it_has.py [SCRIPT…]
"""
import contextlib
import importlib
import io
import os
import sys
import types
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts", "bench"))
REASON = "the second turn failed"


def steady(value):
    return lambda *_, **__: value


class FailsInTurn2:
    def __init__(self, value):
        self.value, self.calls = value, 0

    def __call__(self, *_, **__):
        self.calls += 1
        if self.calls == 2:
            raise SystemExit(REASON)
        return self.value


class FailsInTurn3(FailsInTurn2):
    def __call__(self, *_, **__):
        self.calls += 1
        if self.calls == 3:
            raise SystemExit(REASON)
        return self.value


def rows(value):
    return {("all_reduce", 1024): (value, value)}


def either(first, second, is_second):
    return lambda *words, **_: second() if is_second(words) else first()


def models(module):
    return {module: {"sample_text": steady("text"), "tokenizer": steady("folder"), "model_folder": steady("model")}}


def tokenizers():
    """The package, for the script to import."""
    package = mock.MagicMock()
    return {"tokenizers": package, "tokenizer_pipelines": mock.MagicMock()}


class Side:
    load_seconds = 0.001

    def __init__(self, measure):
        self.measure = measure


class RunningSide:
    """A run that is stopped and goes on; theirs fails in its second turn."""

    def __init__(self, name, *_):
        self.turn = steady((0.5, 0.25)) if name == "ours" else FailsInTurn2((1.0, 0.5))
        self.wait_for = self.signal_all = self.end = steady(None)
        self.peak = steady(2**20)


class PeerThatWrites:
    """The warm-up is its first turn."""

    def __init__(self):
        self.ask, self.end = FailsInTurn3((2.0, [[1]])), steady(None)


def told(text):
    """A process that says this."""
    return types.SimpleNamespace(stdout=text + "\n")


# Script: (command line, {name to replace: stand-in}, replaced in other modules, what must be shown)
SCRIPTS = {
    "sharding": (["--peers", "--runs", "3", "--only", "zero3"],
                 {"Place": mock.MagicMock(), "ours": steady(2.0), "fsdp2": FailsInTurn2(4.0)}, {},
                 ["zero3    2.000 s, ddp 2.000 s", "FSDP2 4.000 s; ratio median 0.50"]),
    "training": (["--shapes", "tiny-gpt2", "--ranks", "1", "--runs", "3"],
                 {"ours": steady(200.0), "peer": FailsInTurn2(100.0)}, models("fixtures"),
                 ["ours 200 tokens/s", "Trainer 100 tokens/s", "ours / Trainer median 2.00", "over 1 pairs"]),
    "startup": (["--ranks", "1", "--runs", "3"],  # the first turn warms up
                {"ours": steady(1.0), "peer": FailsInTurn2(9.0), "front": steady(0.01)}, models("fixtures"),
                ["--help: median 10.0 ms", "ours 1.00 s", "peer not measured"]),
    "train_step": (["binary", "--shapes", "tiny_gpt2", "--threads", "1", "--runs", "3"],
                   {"run": either(steady(300.0), FailsInTurn2(150.0), lambda words: "--peer" in words[0])}, {},
                   ["hftrain 300 tokens/s", "transformers 150 tokens/s", "median 2.00"]),
    "barrier": (["--torchrun", "torchrun", "--runs", "3"],
                {"ours": steady((0.5, 0.6)), "torchrun": FailsInTurn2((5.0, 6.0))}, {},
                ["barrier median 0.500 s", "barrier median 5.000 s", "10.0 times ours"]),
    "collectives": (["binary", "--no-gloo", "--runs", "3"],
                    {"run": either(lambda: rows(10.0), FailsInTurn2(rows(20.0)), lambda words: words[0][0] == "mpirun"),
                     "subprocess": mock.MagicMock()}, {},
                    ["shm      10.0", "openmpi/shm 2.00"]),
    "nvme": (["binary", "--runs", "3"],
             {"ours": steady({"write": 500.0, "read": 600.0}), "shutil": mock.MagicMock(),
              "fio": either(steady(400.0), FailsInTurn2(400.0), lambda words: words[2] == "read")}, {},
             ["write of 512 MiB", "ours 500 MB/s", "fio 400 MB/s", "median 1.25"]),
    "nvme_offload": (["binary", "--runs", "3"],
                     {"run": either(lambda: dict(resident=900.0, peak=900.0, step=1.0, optimizer=0.1, loss="1"),
                                    FailsInTurn2(dict(resident=400.0, peak=400.0, step=2.0, optimizer=0.2, loss="1")),
                                    lambda words: words[1] != "-")}, {},
                     ["memory: resident 900 MB", "NVMe: resident 400 MB", "resident: saved 500 MB"]),
    "tokenizer": (["--bench", "bench", "--megabytes", "0.001", "--rounds", "3", "--pipelines", "one"],
                  {"Ours": lambda *_: Side(steady((0.1, 7))), "Package": lambda *_: Side(FailsInTurn2((0.2, 7))),
                   "PIPELINES": {"one": mock.MagicMock()}, "documentation": steady("text\n" * 1000)}, {},
                  ["hftrain", "package not measured"]),
    "preparation": (["--tasks", "mlm", "--turns", "3"],
                    {"prepare": steady(("folder", __file__)), "ours": steady((2.0, 1.0)),
                     "fixtures": mock.MagicMock(run=FailsInTurn2(told("[4.0, 2.0]")))}, {},
                    ["by the clock: ours", "ours / datasets median 2.00", "over 1 pairs"]),
    "packed_documents": (["--other", "build", "--documents", "short", "--runs", "3"],
                         {"prepare": steady(("folder", ["word"] * 2000)),
                          "measure": either(lambda: 10.0, FailsInTurn2(20.0), lambda words: words[0].startswith("build"))}, {},
                         ["short: ours 10.0 s", "other 20.0 s", "ours / other median 0.50"]),
    "task_speed": (["--shapes", "bert-base", "--ranks", "1", "--turns", "3"],
                   {"prepare": steady(("folder", "data")), "Side": RunningSide}, {},
                   ["by the clock: ours 2048 tokens/s", "ours / other median 2.00", "ours / other 1.00"]),
    "generation_speed": (["--shapes", "tiny-gpt2", "--batches", "8", "--runs", "3", "--times", "1"],
                   {"ours": steady((0.5, [[1]])), "prompts_of": steady(["a"]), "Peer": lambda *_: PeerThatWrites()},
                   models("fixtures"), ["ours 1024 tokens/s", "transformers 256 tokens/s", "ours / transformers median 4.00"]),
    "reporters": (["--runs", "3"],  # the first turn warms up
                  {"Fixture": mock.MagicMock(), "Server": mock.MagicMock(),
                   "step_seconds": either(steady(0.002), FailsInTurn3(0.003), lambda words: words[2] == "tensorboard")}, {},
                  ["none: 2.000", "all: 3.000"]),
    "async_save": (["--rounds", "3"],
                   {"Fixture": mock.MagicMock(), "measure_run": steady((1_000_000, 1.0)), "direct_write_seconds": steady(0.5),
                    "train": FailsInTurn2(([(2, 1.0, 0.1)], {}))}, {},
                   ["1 MB/s to the commit, 2 MB/s directly: 0.50"]),
}


def run(name):
    """(what main returned, what it said)."""
    words, replaced, elsewhere, _ = SCRIPTS[name]
    said = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(sys.modules, tokenizers() if name == "tokenizer" else {}))
        module = importlib.import_module(name)
        for part, value in replaced.items():
            stack.enter_context(mock.patch.object(module, part, value))
        for other, parts in elsewhere.items():
            for part, value in parts.items():
                stack.enter_context(mock.patch.object(sys.modules[other], part, value))
        stack.enter_context(mock.patch.object(sys, "argv", [name, *words]))
        stack.enter_context(contextlib.redirect_stdout(said))
        stack.enter_context(contextlib.redirect_stderr(said))
        return module.main(), said.getvalue()


def scripts_by_turns():
    """The scripts of the folder that measure by turns, so that none is left out here."""
    folder = sys.path[0]
    names = [name[:-3] for name in os.listdir(folder) if name.endswith(".py") and name != "turns.py"]
    return {name for name in names if "turns.take(" in open(os.path.join(folder, name + ".py")).read()}


def main():
    failed = 0
    if missing := scripts_by_turns() ^ set(SCRIPTS):
        print(f"FAILED  not tried, or no script by turns: {', '.join(sorted(missing))}")
        failed += 1
    for name in sys.argv[1:] or SCRIPTS:
        code, said = run(name)
        wanted = [REASON, *SCRIPTS[name][3]]
        absent = [text for text in wanted if text not in said]
        good = code == 1 and not absent
        print(f"{'ok      ' if good else 'FAILED  '}{name}", flush=True)
        if not good:
            print(f"ended with {code}, did not say {absent}:\n{said}")
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
