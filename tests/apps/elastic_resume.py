#!/usr/bin/env python3
"""A run goes on with fewer and with more ranks: the global batch stays, and so do the losses; where it cannot, that is said.

  elastic_resume.py

Saved on 4 ranks, continued on 2, saved there, continued on 1, and from there on 4 again, always with the same flags but
--nproc_per_node. Dropout is off and the data ends its epoch on the way, so every loss must be within 1e-6 of the undisturbed
run: a sample seen twice or left out would show.
"""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, largest

STEPS, TOLERANCE = 16, 1e-6
ATTEMPTS = [(4, 4), (2, 8), (1, 12), (4, STEPS)]  # ranks, last step


def flags(fixture, output, ranks, *more):
    chosen = fixture.flags(output, "--max_steps", STEPS, "--per_device_train_batch_size", 2, "--max_train_samples", 40,
                         "--weight_decay", 0.1, "--save_strategy", "steps", "--save_steps", 1, *more, ranks=ranks)
    chosen[chosen.index("--config_overrides") + 1] += ",embd_pdrop=0,attn_pdrop=0,resid_pdrop=0"
    return chosen


def losses(output):
    """By step; a later attempt wins."""
    with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
        records = [json.loads(line) for line in file]
    return {record["step"]: record["loss"] for record in records if "loss" in record}


def expect(text, stderr):
    if text not in stderr:
        raise SystemExit(f"expected '{text}' on the terminal:\n{stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        straight, elastic = os.path.join(folder, "straight"), os.path.join(folder, "elastic")
        fixture.call(*flags(fixture, straight, 4))
        found, before = {}, 0
        for ranks, last in ATTEMPTS:
            said = fixture.call(*flags(fixture, elastic, ranks)).stderr
            if before:
                expect("keeps its global batch of 8", said)
            now = losses(elastic)
            found.update({step: now[step] for step in range(before + 1, last + 1)})
            for step in range(last + 1, STEPS + 1):  # as if it had been stopped there
                shutil.rmtree(os.path.join(elastic, f"checkpoint-{step}"))
            before = last
        expected = losses(straight)
        if sorted(found) != sorted(expected):
            raise SystemExit(f"steps {sorted(found)} instead of {sorted(expected)}")
        worst = largest(abs(found[step] / expected[step] - 1) for step in expected)
        if not worst <= TOLERANCE:
            raise SystemExit(f"losses differ by {worst:.1e}\nexpected {expected}\nfound    {found}")
        shutil.rmtree(os.path.join(elastic, f"checkpoint-{STEPS}"))
        said = fixture.call(*flags(fixture, elastic, 3)).stderr
        expect("3 ranks instead of 4 and a global batch of 6 instead of 8", said)
        shutil.rmtree(os.path.join(elastic, f"checkpoint-{STEPS}"))
        said = fixture.call(*flags(fixture, elastic, 2, "--gradient_accumulation_steps", 1)).stderr
        expect("a global batch of 4", said)
        print(f"4 -> 2 -> 1 -> 4 ranks: losses within {worst:.1e} of the undisturbed run; what could not be kept was said")


main()
