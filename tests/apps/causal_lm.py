#!/usr/bin/env python3
"""Causal language modelling from sample text to a saved model, by the commands of its page: it learns what can be known.

  causal_lm.py [SCENARIO]…     all of them without a word
"""
import math
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, expect, read_json, run_scenarios

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "causal-language-modeling.md"
# Of the floor, which knows every sum: the model has to learn them by heart, and what it is above stands in their lines.
# Nothing is below it by more than the luck of the validation text (0.6 %).
BAR, LUCK = 1.36, 0.97


def the_run_of_the_page_comes_near_the_floor(fixture, folder):
    """Its commands as they stand there, in an empty folder."""
    commands = "".join(re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.S))
    where = {**fixture.environment, "PATH": os.path.dirname(HFTRAIN) + os.pathsep + os.environ["PATH"]}
    result = subprocess.run(["bash", "-euc", commands], cwd=folder, env=where, text=True, capture_output=True)
    expect(result.returncode == 0, "the page's commands end well", result.stdout + result.stderr)
    said = re.search(r"loss floor: ([\d.]+) nats", result.stdout + result.stderr)
    expect(said is not None, "the floor is told", result.stdout + result.stderr)
    output = os.path.join(folder, "causal")
    tokens = read_json(output, "hftrain", "plan.json")["data"]["train"]["tokens"]
    floor = float(said[1]) * os.path.getsize(os.path.join(folder, "text", "train.txt")) / tokens  # nats a token
    found = read_json(output, "eval_results.json")
    ratio = found["eval_loss"] / floor
    print(f"eval_loss {found['eval_loss']:.4f}, floor {floor:.4f}, ratio {ratio:.3f}, accuracy {found['eval_accuracy']:.3f}", flush=True)
    expect(LUCK < ratio < BAR, "near the floor", [floor, found])
    expect(abs(found["perplexity"] - math.exp(found["eval_loss"])) < 1e-9 * found["perplexity"], "perplexity", found)
    expect(read_json(output, "config.json")["architectures"] == ["GPT2LMHeadModel"], "its class", output)


SCENARIOS = [the_run_of_the_page_comes_near_the_floor]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
