#!/usr/bin/env python3
"""--auto_find_batch_size: a run that has no memory for its micro-batches starts again with smaller ones, by a tenth, until they fit, and is
then the run that was started with them; a run that goes on keeps what was found.

  batch_search.py [SCENARIO]…     all of them without a word

A limit of the address space, between what a small and what a large micro-batch need, takes the memory away.
"""
import os
import re
import resource
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, expect, read_json, run_scenarios

LARGE = 64
COUNTLESS = ("loss", "step", "grad_norm", "learning_rate")


def workers_of(pid):
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/status") as file:
                status = file.read()
        except OSError:
            continue
        if re.search(rf"^PPid:\s+{pid}$", status, re.M) and "hftrain-worker" in status:
            yield status


class Limited(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        self.limit = self.between()

    def between(self, *more, **options):
        """A limit where about half of the large micro-batch fits: runs of another kind, and of more ranks, have one of their own."""
        small, large = (self.peak(size, *more, **options) for size in (4, LARGE))
        expect(large - small > 100 << 20, "a large micro-batch takes far more memory than a small one", (small, large))
        return small + (large - small) // 2

    def words(self, output, *more, batch=LARGE, **options):
        return [HFTRAIN, *self.flags(output, "--per_device_train_batch_size", batch, "--max_steps", 2, "--save_strategy", "no", *more,
                                     **{"ranks": 1, "width": 256, **options})]

    def peak(self, batch, *more, ranks=1):
        """Address space of the worker at its largest, in bytes."""
        output = os.path.join(self.folder, f"peak-{batch}-{ranks}")
        process = subprocess.Popen(self.words(output, *more, batch=batch, ranks=ranks), env=self.environment, stderr=subprocess.PIPE, text=True)
        text = []
        reader = threading.Thread(target=lambda: text.append(process.stderr.read()))
        reader.start()
        most = 0
        while process.poll() is None:
            for status in workers_of(process.pid):
                found = re.search(r"VmPeak:\s+(\d+) kB", status)
                most = max(most, int(found.group(1)) << 10 if found else 0)
            time.sleep(0.005)
        reader.join()
        expect(process.returncode == 0 and most > 0, "a run without a limit works", text)
        return most

    def run(self, output, *more, limited=True, limit=None, **options):
        most = limit or self.limit
        take = (lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))) if limited else None
        return subprocess.run(self.words(output, *more, **options), env=self.environment, text=True, capture_output=True, preexec_fn=take)


def numbers(output):
    return [{key: record[key] for key in COUNTLESS if key in record} for record in read_json(output, "trainer_state.json")["log_history"]]


def found_by(fixture, output, *more, **options):
    """Runs with a limit; returns the micro-batch that was come to."""
    done = fixture.run(output, *more, **options)
    expect(done.returncode == 0, "a run that searches works", done.stderr)
    sizes = [LARGE] + [int(size) for size in re.findall(r"starting again from the beginning with (\d+) \(--auto_find_batch_size\)", done.stderr)]
    expect(len(sizes) > 1 and all(int(0.9 * one) == next_ for one, next_ in zip(sizes, sizes[1:])), "every size is 0.9 of the one before", done.stderr)
    expect("error:" not in done.stderr, "a size that did not fit is no error", done.stderr)
    state = read_json(output, "trainer_state.json")
    plan = read_json(output, "hftrain", "plan.json")
    expect(state["train_batch_size"] == plan["batch"]["per_device_train"] == sizes[-1], "the size that fits is that of the run", state)
    # log.jsonl also has what an attempt logged before it ran out of memory.
    expect(state["global_step"] == 2 and [r["step"] for r in state["log_history"] if "loss" in r] == [1, 2], "the run is whole", state)
    return sizes[-1]


def a_batch_that_does_not_fit_is_made_smaller_until_it_does(fixture, folder):
    output, plain = os.path.join(folder, "found"), os.path.join(folder, "plain")
    size = found_by(fixture, output, "--auto_find_batch_size")
    done = fixture.run(plain, batch=size, limited=False)
    expect(done.returncode == 0, "a run with that size works", done.stderr)
    same = [one for one in numbers(output) if "loss" in one] == [one for one in numbers(plain) if "loss" in one]
    expect(same, "it is the run that was started with that size", (numbers(output), numbers(plain)))


def without_the_flag_the_run_ends_with_its_reason(fixture, folder):
    done = fixture.run(os.path.join(folder, "plain"))
    expect(done.returncode == 6 and "out of memory" in done.stderr, "exit code 6", (done.returncode, done.stderr))


def ranks_of_a_sharded_run_agree_and_yaml_says_it_too(fixture, folder):
    config = os.path.join(folder, "search.yaml")
    with open(config, "w") as file:
        file.write("auto_find_batch_size: true\nfsdp: full_shard auto_wrap\n")
    limit = fixture.between("--fsdp", "full_shard auto_wrap", ranks=2)
    found_by(fixture, os.path.join(folder, "sharded"), "--config", config, ranks=2, limit=limit)


def a_run_that_goes_on_keeps_what_was_found(fixture, folder):
    output = os.path.join(folder, "run")
    saves = ["--auto_find_batch_size", "--save_strategy", "steps", "--save_steps", 1]
    done = fixture.run(output, *saves)
    expect(done.returncode == 0, "a run that searches works", done.stderr)
    size = read_json(output, "checkpoint-2", "trainer_state.json")["train_batch_size"]
    expect(size < LARGE, "a smaller size was found", size)
    again = fixture.run(output, *saves, "--max_steps", 3, "--resume_from_checkpoint", os.path.join(output, "checkpoint-2"), limited=False)
    expect(again.returncode == 0, "the run goes on", again.stderr)
    expect(read_json(output, "trainer_state.json")["train_batch_size"] == size, "with what was found", again.stderr)


SCENARIOS = [a_batch_that_does_not_fit_is_made_smaller_until_it_does, without_the_flag_the_run_ends_with_its_reason,
             ranks_of_a_sharded_run_agree_and_yaml_says_it_too, a_run_that_goes_on_keeps_what_was_found]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Limited)
