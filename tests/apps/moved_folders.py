#!/usr/bin/env python3
"""The output folder of a run that lives is moved or removed: the run stops where it would save next, says where its folder is, and writes
nothing under a name that is not its own any more."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, Fixture, expect, read_json, run_scenarios

WHAT = "the output folder is not the one that this run began in"


class Living:
    """A run that has begun to train, or has committed a checkpoint; what it says later comes from end()."""

    def __init__(self, fixture, output, *flags, until="committed"):
        command = [HFTRAIN, *fixture.flags(output, *flags, ranks=1)]
        self.process = subprocess.Popen(command, env=fixture.environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.said = ""
        while until not in self.said:
            line = self.process.stderr.readline()
            expect(line, "the run ended before its folder was moved", self.said)
            self.said += line

    def end(self, code, *parts):
        try:
            _, rest = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:  # it trains on
            self.process.kill()
            _, rest = self.process.communicate()
        text = self.said + rest
        expect(self.process.returncode == code, f"it ended with {self.process.returncode}", text)
        for part in parts:
            expect(part in text, part, text)


def a_run_whose_folder_is_moved_away_stops_and_says_where_it_is(fixture, folder):
    output, moved = os.path.join(folder, "out"), os.path.join(folder, "moved")
    flags = ("--save_strategy", "steps", "--save_steps", 50)
    run = Living(fixture, output, *flags, "--max_steps", 100000)
    os.rename(output, moved)
    run.end(7, WHAT, f"it was moved to {moved} while", f"--output_dir {moved} goes on")
    expect(not os.path.exists(output), "nothing is made under the old name", "")
    expect(read_json(moved, "hftrain", "summary.json")["exit_code"] == 7, "the summary is where the run is", "")
    newest = fixture.checkpoints(moved)[-1]
    again = fixture.call(*fixture.flags(moved, *flags, "--max_steps", newest + 2, ranks=1))
    expect(f"at step {newest}" in again.stderr, "the run goes on from there", again.stderr)


def the_run_that_has_taken_the_name_is_left_alone(fixture, folder):
    output, moved = os.path.join(folder, "out"), os.path.join(folder, "moved")
    first = Living(fixture, output, "--max_steps", 1000000, "--save_strategy", "steps", "--save_steps", 900000, "--log_level", "info",
                   until="'loss'")
    os.rename(output, moved)
    fixture.call(*fixture.flags(output, "--max_steps", 4, "--save_strategy", "steps", "--save_steps", 2, ranks=1))
    first.process.send_signal(signal.SIGTERM)
    first.end(7, WHAT, f"it was moved to {moved} while", "the folder of another run, of process ")
    expect(fixture.checkpoints(output) == [2, 4], "checkpoints", os.listdir(output))
    fixture.call("checkpoint", "verify", os.path.join(output, "checkpoint-4"))
    expect(read_json(output, "hftrain", "summary.json")["exit_code"] == 0, "its summary", "")
    expect(not os.path.exists(os.path.join(output, "hftrain", "ranks", "0", "0", "error.json")), "no record of the other's rank", "")


def a_folder_that_is_removed_is_not_made_again_for_the_last_model(fixture, folder):
    output = os.path.join(folder, "out")
    run = Living(fixture, output, "--max_steps", 600, "--save_strategy", "no", until="'loss'")
    shutil.rmtree(output)
    run.end(7, WHAT, "it was removed while the run was going on")
    expect(not os.path.exists(output), "nothing is made under the old name", "")


SCENARIOS = [a_run_whose_folder_is_moved_away_stops_and_says_where_it_is, the_run_that_has_taken_the_name_is_left_alone,
             a_folder_that_is_removed_is_not_made_again_for_the_last_model]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
