"""Writes tests/golden/reporting/*.json: what Python and the transformers Trainer print for given values.

    python scripts/golden/reporting.py        (needs torch 2.11 and transformers 5.17)

numbers.json   doubles as hexadecimal bits with repr(x), f"{x:.4g}" and repr(round(x, 4))
metrics.json   metrics of a split, the block log_metrics prints, and the files save_metrics writes
records.json   logged records and the line the Trainer prints for each
texts.json     values with repr(x) and json.dumps in three layouts
state.json     the text of a trainer_state.json
"""

import contextlib
import io
import json
import math
import pathlib
import random
import struct
import tempfile
import types

from transformers import TrainerState
from transformers.trainer_callback import PrinterCallback
from transformers.trainer_pt_utils import log_metrics, save_metrics

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "reporting"


def strict(value):
    """The value with floats that JSON cannot hold as texts "float:nan"; the tests turn them back."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float:{value}"
    if isinstance(value, dict):
        return {k: strict(v) for k, v in value.items()}
    return [strict(v) for v in value] if isinstance(value, list) else value


def bits(x):
    return struct.pack(">d", x).hex()


def numbers():
    chosen = [0.0, -0.0, 1.0, -1.5, 0.1, 0.2, 0.30000000000000004, 1e-4, 0.00012345, 9.9999e-5, 1e-5, 4.9e-05, 1e15, 1e16,
              123456789012345.6, 1234567890123456.7, 9999999999999998.0, 1e17, 1e22, 1e23, 1.7976931348623157e308, 5e-324,
              2.2250738585072014e-308, float("inf"), float("-inf"), float("nan"), 2.675, 0.00005, 0.00015, 1.00005,
              123.45675, 99999.5, 9999.5, 0.99995, 2.5e-310, 2.0**53, 2.0**60, 0.1 + 0.7, 100000.0, 123456.0]
    random.seed(5)
    for _ in range(150):
        chosen.append(random.uniform(-1, 1) * 10 ** random.randint(-8, 8))
    for _ in range(100):
        chosen.append(struct.unpack(">d", random.randbytes(8))[0])
    for _ in range(50):
        chosen.append(struct.unpack("f", struct.pack("f", random.random() * 12))[0])
    return [[bits(x), repr(x), f"{x:.4g}", repr(round(x, 4))] for x in chosen]


def printed(function, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*arguments)
    return out.getvalue()


def metrics():
    cases = [
        ["train", {"epoch": 3.0, "total_flos": 53687091200.0, "train_loss": 2.345678912, "train_runtime": 3725.4567,
                   "train_samples": 1234567, "train_samples_per_second": 12.345, "train_steps_per_second": 0.772}],
        ["eval", {"epoch": 1.23456789, "eval_loss": 0.00004, "eval_accuracy": 1.0, "eval_runtime": 0.999,
                  "eval_samples": 10, "perplexity": float("inf")}],
        ["predict", {"predict_runtime": 90061.019, "test_mem_cpu_alloc_delta": -1, "test_mem_cpu_peaked_delta": 1363148800,
                     "total_flos": 0.0, "x": float("nan")}],
        ["train", {"train_runtime": 59.999, "name": "ré sult", "a": 1e-5, "b": 1e20, "c": 123456789.123456}],
    ]
    golden = []
    for split, values in cases:
        with tempfile.TemporaryDirectory() as folder:
            trainer = types.SimpleNamespace(is_world_process_zero=lambda: True,
                                            args=types.SimpleNamespace(output_dir=folder))
            (pathlib.Path(folder) / "all_results.json").write_text('{"zebra": 1, "epoch": 0.5}')
            block = printed(log_metrics, trainer, split, values)
            save_metrics(trainer, split, values)
            read = lambda name: (pathlib.Path(folder) / name).read_text()
            golden.append({"split": split, "metrics": strict(values), "block": block, "results": read(f"{split}_results.json"),
                           "all_results": read("all_results.json")})
    return golden


def records():
    cases = [
        {"loss": 2.3456789, "grad_norm": 1.2345678, "learning_rate": 4.9e-05, "epoch": 0.12},
        {"loss": 12.0, "grad_norm": 0.0, "learning_rate": 0.0, "epoch": 1.0, "num_input_tokens_seen": 123456},
        {"eval_loss": 3.25, "eval_accuracy": 0.5, "eval_zeta": 7, "eval_runtime": 1.5, "eval_samples_per_second": 100.125,
         "eval_steps_per_second": 12345.678, "epoch": 2.0},
        {"train_runtime": 123.4567, "train_samples_per_second": 9.5, "train_steps_per_second": 1.25, "total_flos": 1e15,
         "train_loss": 2.5, "epoch": 3.0},
        {"loss": float("inf"), "grad_norm": float("nan"), "learning_rate": 1e-10, "note": "it's \"quoted\"", "epoch": 0.5},
    ]
    golden = []
    for values in cases:
        state = types.SimpleNamespace(is_local_process_zero=True)
        line = printed(PrinterCallback().on_log, None, state, None, dict(values))
        golden.append({"record": strict(values), "line": line.rstrip("\n")})
    return golden


def texts():
    values = [None, True, 0, -5, 1.0, 1e15, 1e16, float("nan"), float("-inf"), "plain", "é € 😀", "it's", 'say "x"',
              "both ' and \"", "line\nbreak\ttab\\ \x01\x7f", [], {}, [1, [2.5, {"a": None}], "b"],
              {"b": {"z": [], "y": {}}, "a": [True, False], "ü": 1e-7}]
    ascii_only = lambda x: all(ord(c) < 128 for c in json.dumps(x, ensure_ascii=False))
    return [{"value": strict(x), "repr": repr(x) if ascii_only(x) and not isinstance(x, dict) else None,
             "indent_2": json.dumps(x, indent=2, sort_keys=True), "indent_4": json.dumps(x, indent=4, sort_keys=True),
             "line": json.dumps(x, sort_keys=True)} for x in values]


def state():
    value = TrainerState(
        best_global_step=20, best_metric=0.1, best_model_checkpoint="out/checkpoint-20", epoch=1.5, eval_steps=10,
        global_step=30, logging_steps=5, max_steps=60, num_input_tokens_seen=7680, num_train_epochs=3, save_steps=10,
        total_flos=1234567890123456.0, train_batch_size=8,
        log_history=[{"epoch": 0.25, "grad_norm": 1.5, "learning_rate": 4.9e-05, "loss": 2.345678901234567, "step": 5},
                     {"epoch": 0.5, "eval_loss": 2.25, "eval_runtime": 0.5, "step": 10}],
        stateful_callbacks={"TrainerControl": {"args": {"should_epoch_stop": False, "should_evaluate": False,
                                                        "should_log": False, "should_save": True,
                                                        "should_training_stop": False}, "attributes": {}}})
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trainer_state.json"
        value.save_to_json(str(path))
        return {"text": path.read_text()}


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    for make in [numbers, metrics, records, texts, state]:
        (TARGET / f"{make.__name__}.json").write_text(json.dumps(make(), allow_nan=False) + "\n")
