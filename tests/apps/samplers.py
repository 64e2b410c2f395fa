#!/usr/bin/env python3
"""Runs whose order of samples looks at their lengths: each sampler has an order of its own, by flag, by YAML and by its old name;
lengths come from the column that is named; a run that stops in the middle of an epoch goes on with the same bits, and one that goes on
with other ranks keeps the order of its epoch.

  samplers.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import expect, read_json, records, run_scenarios
from text_classification import Rows, losses


class LongAndShort(Rows):
    """A hundred rows of one to forty words. `length` is that number from long to short, `same` is 1 in every row."""

    def __init__(self, folder):
        super().__init__(folder)
        numbers = random.Random(3)
        self.train = os.path.join(self.folder, "lengths.jsonl")
        with open(self.train, "w") as file:
            for _ in range(100):
                words = int(40 ** numbers.random())
                row = {"sentence1": " ".join(numbers.choice("abcdefgh") for _ in range(words)), "sentence2": "", "label": numbers.choice(["bad", "fair", "good"]),
                       "length": 41 - words, "same": 1, "note": "x"}
                file.write(json.dumps(row) + "\n")

    def run(self, output, *more, steps=5, **options):
        self.call(*self.flags(output, "--max_steps", steps, "--no_pad_to_max_length", "--include_num_input_tokens_seen", "all",
                              "--length_column_name", "null", *more, **options))
        return losses(output)

    def written(self, folder, name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text + "\n")
        return path


def every_sampler_has_an_order_of_its_own(fixture, folder):
    def run(name, *more):
        return fixture.run(os.path.join(folder, name), "--save_strategy", "no", *more)

    strategies = ["random", "sequential", "group_by_length", "batch_rebalance"]
    seen = {name: run(name, "--train_sampling_strategy", name) for name in strategies}
    for i, one in enumerate(strategies):
        for other in strategies[:i]:
            expect(seen[one] != seen[other], f"{one} is not {other}", seen)
    expect(run("default") == seen["random"], "random is the default", seen)
    grouped = seen["group_by_length"]
    yaml = fixture.written(folder, "new.yaml", "train_sampling_strategy: group_by_length")
    old = fixture.written(folder, "old.yaml", "group_by_length: true")
    for name, more in (("flag", ["--group_by_length"]), ("yaml", ["--config", yaml]), ("old", ["--config", old])):
        expect(run("grouped-" + name, *more) == grouped, f"grouped by {name}", grouped)


def batches_of_one_length_have_less_padding(fixture, folder):
    tokens = {}
    for strategy in ("random", "group_by_length", "batch_rebalance"):
        output = os.path.join(folder, strategy)
        fixture.run(output, "--save_strategy", "no", "--train_sampling_strategy", strategy, steps=12)
        tokens[strategy] = max(record.get("num_input_tokens_seen", 0) for record in records(output))
    expect(tokens["group_by_length"] < 0.8 * tokens["random"], "tokens of an epoch, padding included", tokens)


def lengths_come_from_the_column_that_is_named(fixture, folder):
    def run(name, *more):
        return fixture.run(os.path.join(folder, name), "--save_strategy", "no", *more)

    grouped = ["--train_sampling_strategy", "group_by_length"]
    counted, column = run("counted", *grouped), run("column", *grouped, "--length_column_name", "length")
    expect(column != counted, "from short to long is another order", [column, counted])
    same = fixture.written(folder, "same.yaml", "length_column_name: same")
    flags = [flag for flag in fixture.flags(os.path.join(folder, "same"), "--max_steps", 5, "--save_strategy", "no", "--config", same,
                                            "--no_pad_to_max_length", *grouped)]
    fixture.call(*flags)
    expect(losses(os.path.join(folder, "same")) == run("random"), "rows of one length come in the random order", counted)
    wrong = fixture.call(*flags, "--length_column_name", "note", expect=4)
    expect("lengths.jsonl:1, column note" in wrong.stderr, "a length is a number", wrong.stderr)


def a_run_that_stops_in_an_epoch_goes_on_with_the_same_bits(fixture, folder):
    for strategy in ("group_by_length", "batch_rebalance"):
        common = ["--train_sampling_strategy", strategy, "--save_strategy", "steps", "--save_steps", 3, "--gradient_accumulation_steps", 2]
        straight, parts = (os.path.join(folder, strategy + name) for name in ("-straight", "-parts"))
        for ranks in (1, 2):
            whole = fixture.run(f"{straight}-{ranks}", *common, steps=6, ranks=ranks, batch=4)
            fixture.run(f"{parts}-{ranks}", *common, steps=3, ranks=ranks, batch=4)
            rest = fixture.run(f"{parts}-{ranks}", *common, steps=6, ranks=ranks, batch=4)
            expect(whole == rest and len(rest) == 6, f"{strategy} on {ranks}", [whole, rest])
            same = filecmp.cmp(f"{straight}-{ranks}/model.safetensors", f"{parts}-{ranks}/model.safetensors", shallow=False)
            expect(same, "weights", strategy)


def a_grouped_order_may_be_drawn_from_the_random_numbers_of_the_run(fixture, folder):
    """On several ranks, as accelerate has it. Of thirty rows two ranks make five rounds of three each."""
    common = ["--train_sampling_strategy", "group_by_length", "--max_train_samples", 30, "--save_strategy", "steps", "--save_steps", 1]
    drawn = [*common, "--accelerator_config", '{"use_seedable_sampler": false}']

    def run(name, *more, ranks=2, steps=12, batch=3):
        return fixture.run(os.path.join(folder, name), *more, steps=steps, ranks=ranks, batch=batch)

    seeded, whole = run("seeded", *common), run("whole", *drawn)
    expect(seeded != whole, "another order", [seeded, whole])
    expect(whole == run("other", *drawn, "--data_seed", 5), "data_seed has no say", whole)
    for step in (3, 5, 10, 11):  # in an epoch and between two
        rest = run("whole", *drawn, "--resume_from_checkpoint", os.path.join(folder, "whole", f"checkpoint-{step}"))
        expect(rest == whole, f"a run that goes on at {step} takes the same samples", [whole, rest])
    moved = run("whole", *drawn, "--resume_from_checkpoint", os.path.join(folder, "whole", "checkpoint-6"), ranks=1, batch=6)
    expect(all(abs(whole[step] - moved[step]) < 2e-4 for step in range(7, 11)), "an epoch keeps its order on one rank", [whole, moved])
    expect(run("seeded-1", *common, ranks=1) == run("alone", *drawn, ranks=1), "one rank has the order of data_seed", whole)


def a_run_that_goes_on_with_other_ranks_keeps_the_order_of_its_epoch(fixture, folder):
    for strategy, group in (("group_by_length", 4), ("batch_rebalance", None)):
        common = ["--train_sampling_strategy", strategy, "--save_strategy", "steps", "--save_steps", 2]
        straight, moved = os.path.join(folder, strategy + "-straight"), os.path.join(folder, strategy + "-moved")
        whole = fixture.run(straight, *common, steps=4, ranks=4, batch=4)
        fixture.run(moved, *common, steps=2, ranks=4, batch=4)
        rest = fixture.run(moved, *common, steps=4, ranks=2, batch=4)
        for step in (3, 4):  # the same samples in the same order, and batch_rebalance makes the same groups of them
            expect(abs(whole[step] - rest[step]) < 2e-4, f"{strategy}: loss of step {step}", [whole, rest])
        position = read_json(moved, "checkpoint-4", "hftrain_state.json")["state"]["position"]
        expect(group is None or position["length_group"] == group, "the epoch keeps its groups", position)


def orders_that_do_not_go_together_are_refused(fixture, folder):
    output = os.path.join(folder, "refused")
    for flags, said in ((["--train_sampling_strategy", "batch_rebalance", "--accelerator_config", '{"split_batches": true}'], "split_batches"),
                        (["--sortish_sampler"], "sortish_sampler"), (["--train_sampling_strategy", "longest"], "group_by_length")):
        result = fixture.call(*fixture.flags(output), *flags, expect=2)
        expect(said in result.stderr and not os.path.exists(output), "refused", result.stderr)


SCENARIOS = [every_sampler_has_an_order_of_its_own, batches_of_one_length_have_less_padding, lengths_come_from_the_column_that_is_named,
             a_run_that_stops_in_an_epoch_goes_on_with_the_same_bits, a_grouped_order_may_be_drawn_from_the_random_numbers_of_the_run,
             a_run_that_goes_on_with_other_ranks_keeps_the_order_of_its_epoch, orders_that_do_not_go_together_are_refused]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], LongAndShort)
