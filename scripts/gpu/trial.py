"""A step's folder, its rows, and training runs on the device that is tried or on the CPU beside it."""
import concurrent.futures
import contextlib
import csv
import json
import math
import os
import subprocess
import threading
import time

from heads_and_strategies import Heads
from runs import HFTRAIN, read_json, records
from strategies_agree import parameters_of

SMALL = "n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0"  # the model of runs.py
WITHOUT_DROPOUT = ",attn_pdrop=0,embd_pdrop=0,resid_pdrop=0"


class Trial:
    def __init__(self, folder, tree, device, deadline, rows=(), kept=None, save=lambda: None):
        """`rows` and `kept` are what a step that was cut short had come to; `save` is called whenever there is more."""
        self.folder, self.tree, self.device, self.deadline = folder, tree, device, deadline
        self.rows, self.kept, self.save = list(rows), dict(kept or {}), save
        # Rows that are tried at a time: most of a small run is its start, and a GPU has room for many.
        self.together = max(1, min(6, len(os.sched_getaffinity(0)) // 2)) if self.on_gpu else 1
        self._data, self._lock = None, threading.RLock()

    @property
    def on_gpu(self):
        return self.device == "cuda"

    def row(self, name, good, figure):
        """`good`: true, false, or None for what was not tried or is a figure alone."""
        with self._lock:
            self.rows = [row for row in self.rows if row["name"] != name]  # which a step that goes on says again
            self.rows.append({"name": name, "verdict": {True: "holds", False: "FAILED", None: "-"}[good], "figure": str(figure)})
            print("  {verdict:8}{name}: {figure}".format(**self.rows[-1]), flush=True)
            self.save()

    @contextlib.contextmanager
    def row_of(self, name):
        """What ends badly within, but by the time of the step, fails this row; the ones behind it are worth having."""
        try:
            yield
        except (TimeoutError, subprocess.TimeoutExpired):
            raise
        except Exception as failure:
            self.row(name, False, f"{type(failure).__name__}: {failure}")

    def each(self, rows):
        """Tries those {name: function that gives what row() takes} that the step lacks, several at a time."""
        self.data()  # which all read

        def tried(name, measure):
            with self.row_of(name):
                self.row(name, *measure())

        with concurrent.futures.ThreadPoolExecutor(self.together) as pool:
            ended = [pool.submit(tried, name, measure) for name, measure in rows.items() if not self.has(name)]
        for one in ended:
            one.result()  # raises that the time is over

    def has(self, name):
        """Whether the step left this row before it was cut short."""
        return any(row["name"] == name for row in self.rows)

    def once(self, name, measure):
        """What `measure` gives, or gave before the step was cut short."""
        if name not in self.kept:
            self.kept[name] = measure()
            self.save()
        return self.kept[name]

    def skip(self, name, reason):
        self.row(name, None, f"not tried: {reason}")

    def seconds_left(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time of the step is over")
        return left

    def data(self):
        """Sample data of every task with tokenizers, made when first asked for."""
        if self._data is None:
            self._data = Data(self)
        return self._data

    def text(self, size):
        """A file of made-up text of about that many bytes, made when first asked for."""
        path = os.path.join(self.folder, f"text-{size}.txt")
        if not os.path.exists(path):
            made = self.call("sample-data", "text", path, "--size", size)
            if made.returncode != 0:
                raise RuntimeError(f"sample-data ended with {made.returncode}:\n{made.stderr[-2000:]}")
        return path

    def call(self, *arguments, environment=None):
        """The ended program, its output as text."""
        return subprocess.run([HFTRAIN, *map(str, arguments)], env=environment or os.environ, text=True, capture_output=True,
                              timeout=self.seconds_left())

    def device_flags(self, device=None):
        return ["--tf32", "false"] if (device or self.device) == "cuda" else ["--use_cpu"]

    def planned(self, *more):
        """The bytes that a rank of the run needs by plan, of a GPU on which anything fits."""
        data = self.data()
        flags = [flag for flag in data.flags(os.path.join(self.folder, "planned"), ranks=1) if flag != "--use_cpu"]
        result = self.call("plan", *flags, "--tf32", "false", *more, "--machines", "1x100000GiB", "--json", environment=data.environment)
        if result.returncode != 0:
            raise RuntimeError(f"the plan ended with {result.returncode}:\n{result.stderr[-2000:]}")
        return json.loads(result.stdout)["memory_per_rank"]

    def train(self, name, *more, device=None, expect=0, model=None, measured=False, lacks=(), variables=None):
        """A small GPT-2 with dropout on made-up text, or the model of a folder, without the flags that it `lacks`, and with these variables of
        the environment besides. What is measured has all cores."""
        data, output = self.data(), os.path.join(self.folder, name)
        words = [flag for flag in data.flags(output, ranks=1) if flag != "--use_cpu"] + [*self.device_flags(device), *more]
        words = without(words, *lacks)
        if model:
            words = [*without(words, "--model_type", "--config_overrides", "--tokenizer_name"), "--model_name_or_path", model]
        environment = {key: value for key, value in data.environment.items() if not (measured and key == "OMP_NUM_THREADS")} | (variables or {})
        result = self.call(*words, environment=environment)
        if result.returncode != expect:
            raise RuntimeError(f"{name} ended with {result.returncode}, not {expect}:\n{result.stderr[-2000:]}")
        if (device or self.device) == "cuda":
            require_gpus(output)
        return Run(output, result)


def without(words, *flags):
    """Without these flags and the value behind each."""
    return [word for word, before in zip(words, [None, *words]) if word not in flags and before not in flags]


def require_gpus(output):
    """Ends badly where ranks of the run were on no GPU, by its own plan: beside the CPU such a run would hold every bar."""
    ranks = read_json(output, "hftrain", "plan.json")["ranks"]["ranks"]
    devices = sorted({rank["device"] for rank in ranks})
    if devices != ["cuda"]:
        raise RuntimeError(f"{os.path.basename(output)} was to be on the GPU and was on {' and '.join(devices) or 'nothing'}, by its plan.json: it shows nothing of one")


class Run:
    """What a run left."""

    def __init__(self, output, result):
        self.output, self.result = output, result

    def figures(self, key="loss"):
        return {r["step"]: r[key] for r in records(self.output) if key in r and "step" in r}

    def times(self):
        """Of the records of losses by step, in Unix seconds: the last step has another record, of the run."""
        return {r["step"]: r["time"] for r in records(self.output) if "loss" in r}

    def results(self):
        return read_json(self.output, "all_results.json")

    def weights(self):
        return parameters_of(self.output)


class Data(Heads):
    """The data of the tests, with runs on a device instead of the CPU."""

    def __init__(self, trial):
        self.trial, self._of_thread = trial, threading.local()
        super().__init__(os.path.join(trial.folder))
        self.numbers()

    @property
    def on_cpu(self):
        """Where the runs of this thread are."""
        return getattr(self._of_thread, "on_cpu", not self.trial.on_gpu)

    @on_cpu.setter
    def on_cpu(self, value):
        self._of_thread.on_cpu = value

    def call(self, *arguments, expect=0):
        if "--do_train" in arguments:
            flags = [flag for flag in arguments if flag != "--use_cpu"]
            output = flags[flags.index("--output_dir") + 1]
            arguments = [*flags, *self.trial.device_flags("cpu" if self.on_cpu else "cuda")]
        result = self.trial.call(*arguments, environment=self.environment)
        if result.returncode != expect:
            raise RuntimeError(f"hftrain {' '.join(map(str, arguments))}\nended with {result.returncode}\n{result.stderr[-2000:]}")
        if "--do_train" in arguments and not self.on_cpu:
            require_gpus(output)
        return result

    def trained(self, family, task, output, on_cpu):
        """Losses by step and the weights of a head, without dropout."""
        self.on_cpu = on_cpu
        return self.train(family, task, output, 1, 0, "--save_strategy", "no")

    def data_flags(self, task):
        if task != "numbers":
            return super().data_flags(task)
        return ["--task", "text-classification", "--train_file", self.numbers(), "--max_seq_length", 30]

    def numbers(self):
        """Texts for four updates, each with a number; that of one is so large that its gradient is none."""
        path = os.path.join(self.folder, "numbers.csv")
        if not os.path.exists(path):
            with open(self.text) as file:
                words = file.read().split()
            rows = [[" ".join(words[9 * row:9 * row + 9]), "3e38" if row == 1 else row / 8] for row in range(8)]
            with open(path, "w", newline="") as file:
                csv.writer(file).writerows([["sentence", "label"], *rows])
        return path

    def with_a_gap(self, output, on_cpu, *more):
        """By step the losses of an epoch in which one update has to be skipped, and the norms of its gradients."""
        self.on_cpu = on_cpu
        losses, _ = self.train("gpt2", "numbers", output, 1, 0, "--save_strategy", "no", *more)
        return losses, {r["step"]: r["grad_norm"] for r in records(output) if "grad_norm" in r}

    def padded(self, family, output, *more):
        """Losses by step of classified rows of many lengths, padded behind."""
        self.on_cpu = not self.trial.on_gpu
        return self.train(family, "classes", output, 1, 0, "--save_strategy", "no", *more)[0]


def apart(found, expected):
    """The largest relative difference of two series of figures by step; infinite where one has other steps or no number."""
    if not expected or found.keys() != expected.keys():
        return math.inf
    apart = [abs(found[step] - expected[step]) / max(abs(expected[step]), 1e-30) for step in expected]
    return max(apart) if all(map(math.isfinite, apart)) else math.inf  # max() passes over what is no number
