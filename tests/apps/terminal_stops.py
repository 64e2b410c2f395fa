#!/usr/bin/env python3
"""Ctrl-Z: a run, and what it has started, stands still until it is let go on.

  terminal_stops.py [SCENARIO]…     all of them without a word
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import last_step, processes_of
from runs import HFTRAIN, PATIENCE, Fixture, expect, run_scenarios
from search import a_trial_runs, words

STANDS = 4  # seconds: a launcher that was not run for 3 of them counts that as no silence of its workers


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def until(job, condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        expect(job.poll() is None and time.monotonic() < end, what, f"code {job.poll()}")
        time.sleep(0.02)


def start(fixture, command, **group):
    """A shell of the same session is its parent, and would let it go on; with start_new_session it has none."""
    return subprocess.Popen([*map(str, command)], env=fixture.environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            **(group or {"process_group": 0}))


def ends_well(job):
    try:
        text = job.communicate(timeout=PATIENCE)[1]
    finally:
        job.kill()
    expect(job.returncode == 0, "it ends with 0", f"{job.returncode}\n{text}")
    return text


def stands_still(job, output, ranks, last):
    """Stopped by Ctrl-Z, all of it, until it is let go on; the step that it stood at."""
    job.send_signal(signal.SIGTSTP)
    until(job, lambda: all(state(pid) == "T" for pid in [job.pid, *ranks]), "all of it stands still")
    step = last_step(output)
    time.sleep(STANDS)
    expect(last_step(output) == step < last, "nothing is done meanwhile", f"{step}, {last_step(output)}")
    job.send_signal(signal.SIGCONT)
    return step


def a_run_stands_still_with_its_ranks_and_goes_on(fixture, folder):
    output = os.path.join(folder, "out")
    job = start(fixture, [HFTRAIN, *fixture.flags(output, "--max_steps", 400, "--ddp_timeout", 5)])
    until(job, lambda: last_step(output) >= 3, "it trains")
    ranks = list(processes_of(output))
    for _ in range(2):
        step = stands_still(job, output, ranks, 400)
        until(job, lambda: last_step(output) > step, "it goes on")
    text = ends_well(job)
    expect("error" not in text and last_step(output) == 400, "as if nothing had been", text)


def a_run_that_nobody_could_let_go_on_does_not_stop(fixture, folder):
    output = os.path.join(folder, "out")
    job = start(fixture, [HFTRAIN, *fixture.flags(output, "--max_steps", 200)], start_new_session=True)
    until(job, lambda: last_step(output) >= 3, "it trains")
    job.send_signal(signal.SIGTSTP)
    ends_well(job)


def a_search_stands_still_with_its_trials(fixture, folder):
    output = os.path.join(folder, "out")
    space = "space:\n  learning_rate: {choices: [1e-3, 1e-2]}\n  max_steps: {choices: [200]}\nmethod: grid\n"
    job = start(fixture, words(fixture, output, space))
    expect(a_trial_runs(job, output), "a trial runs", job.poll())
    trial = os.path.join(output, "trial-0")
    until(job, lambda: last_step(trial) >= 3, "it trains")
    stands_still(job, trial, list(processes_of(trial)), 200)
    ends_well(job)


SCENARIOS = [a_run_stands_still_with_its_ranks_and_goes_on, a_run_that_nobody_could_let_go_on_does_not_stop, a_search_stands_still_with_its_trials]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
