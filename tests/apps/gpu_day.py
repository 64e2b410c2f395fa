#!/usr/bin/env python3
"""scripts/gpu/day rehearsed on the CPU: what will be measured on the first machine with a GPU is known to run, to go on and to find a fault.

  gpu_day.py [SCENARIO]…     all of them without a word
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import BUILD, expect, run_scenarios

DAY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "gpu" / "day"


def day(folder, *words, tree=BUILD):
    return subprocess.run([sys.executable, DAY, "--device", "cpu", "--tree", tree, "--out", os.path.join(folder, "out"), *words],
                          text=True, capture_output=True)


def every_step_is_rehearsed_and_a_second_call_goes_on(_, folder):
    result = day(folder, "--families", "gpt2", "vit")
    expect(result.returncode == 0, "the rehearsal holds", result.stdout + result.stderr)
    report = pathlib.Path(folder, "out", "report.md").read_text()
    expect("A rehearsal: no GPU was used" in report, "the page says what it is", report)
    expect("Not run" not in report and "FAILED" not in report, "every step was through", report)
    for row in ("gpt2, tags", "vit, images", "zero3-offload", "bf16", "resumed at 6 of 12", "kill -9 of a rank", "SIGSTOP of a rank", "Ctrl-C"):
        expect(f"| {row} | holds |" in report, f"{row} was tried", report)
    turns = re.search(r"^\| a small model: ours / the Trainer \| - \| (\d+\.\d+) \(", report, re.M)
    if subprocess.run([sys.executable, "-c", "import accelerate, transformers"], capture_output=True).returncode == 0:
        expect(turns and float(turns[1]) > 0 and "| the Trainer |" not in report, "turns with the Trainer", report)
    else:
        missing = "| the Trainer | - | not tried: transformers and accelerate are not installed for this Python |"
        expect(missing in report and not turns, "why there are no turns with the Trainer", report)
    again = day(folder)
    steps = [line.split()[0] for line in day(folder, "--list").stdout.splitlines()]
    expect({"machine", "families", "faults", "peers"} <= set(steps), "the steps are listed", steps)
    expect(again.returncode == 0 and again.stdout.splitlines()[:-1] == [f"{step}: done before" for step in steps], "nothing is run twice", again.stdout)
    named = day(folder, "machine")
    expect("machine: what the machine is" in named.stdout and named.returncode == 0, "what is named is run again", named.stdout)


def a_run_that_differs_fails_its_row_and_the_day(_, folder):
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    planted = tree / "hftrain"
    planted.write_text(f"""#!/bin/sh
case " $* " in *" --bf16 "*) exec {BUILD}/bin/hftrain "$@" --learning_rate 0.3 ;; esac
exec {BUILD}/bin/hftrain "$@"
""")
    planted.chmod(0o755)
    result = day(folder, "precision", tree=tree.parent)
    expect(result.returncode == 1, "the day fails", result.stdout + result.stderr)
    rows = json.loads(pathlib.Path(folder, "out", "steps", "precision.json").read_text())["rows"]
    expect(rows[0]["verdict"] == "FAILED" and "apart" in rows[0]["figure"], "by the row of bfloat16", rows)


def a_step_that_ends_badly_is_a_row_and_a_word_that_is_none_is_refused(_, folder):
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    broken = tree / "hftrain"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    result = day(folder, "going-on", tree=tree.parent)
    expect(result.returncode == 1 and "FAILED" in result.stdout, "what ends badly is told", result.stdout + result.stderr)
    result = day(folder, "famlies")
    expect(result.returncode == 2 and "there is no step famlies" in result.stderr, "an unknown step is refused", result.stderr)


if __name__ == "__main__":
    run_scenarios([every_step_is_rehearsed_and_a_second_call_goes_on, a_run_that_differs_fails_its_row_and_the_day,
                   a_step_that_ends_badly_is_a_row_and_a_word_that_is_none_is_refused], sys.argv[1:], lambda folder: None)
