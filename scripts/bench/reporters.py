#!/usr/bin/env python3
"""Steps of a run whose trackers hang, fail or write, against those of one without trackers, by turns.

  reporters.py [--steps 600] [--skip 50] [--runs 5] [--width 64] [--bar 1.02]

A tiny GPT-2 on made-up text that logs every update, which is more than any run does. Sides: none; sleeping (a tracking server of
MLflow that takes connections and never answers); failing (one that answers 500); full (trackers on a disk that fills up in the run);
all (every tracker that writes files). A run counts as the median time between updates behind the first --skip, when its trackers cost
the warnings that belong to its side. Prints each side with its range and the ratio to none, pair by pair, and ends with 1 when a
median ratio is above --bar, or a side failed; full needs root, or a kernel that gives users namespaces of their own. HFTRAIN_BUILD_DIR
names the build (default: build).
"""
import argparse
import http.server
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "apps"))
import turns
from runs import HFTRAIN, Fixture, records


NO_ROOM = "No space left on device"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, sleeps):
        super().__init__(("127.0.0.1", 0), Handler)
        self.sleeps, self.closing = sleeps, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *unused):
        self.closing.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *unused):
        pass

    def answer(self):
        if self.server.sleeps:
            self.server.closing.wait()
            return
        self.send_response(500)
        self.end_headers()

    do_GET = do_POST = answer


def on_a_small_disk(folder, kilobytes):
    """What a command line begins with that has a disk of its own in `folder`, which goes with it."""
    own = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
    return [*own, "sh", "-c", f'mount -t tmpfs -o size={kilobytes}k tmpfs "$0" && exec "$@"', folder]


def step_seconds(folder, options, *reporters, says=(), server=None, disk_kilobytes=0):
    """`says`: of warnings that trackers get no more records, the reasons, one each."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        output, disk = os.path.join(place, "run"), os.path.join(place, "disk")
        os.mkdir(disk)
        environment = {**options.fixture.environment, "TRACKIO_DIR": os.path.join(disk, "trackio"), "WANDB_DIR": disk}
        if server is not None:
            environment["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{server.server_port}"
        before = on_a_small_disk(disk, disk_kilobytes) if disk_kilobytes else []
        ended = subprocess.run([*before, HFTRAIN, *options.fixture.flags(output, "--max_steps", options.steps, "--save_strategy", "no", "--logging_dir",
                               os.path.join(disk, "board"), "--report_to", *reporters, ranks=1, width=options.width)],
                               env=environment, text=True, capture_output=True)
        warnings = [line for line in ended.stderr.splitlines() if "gets no more records of this run: " in line]
        wrong = ended.returncode != 0 or len(warnings) != len(says) or any(word not in line for word, line in zip(says, warnings))
        if wrong:
            raise RuntimeError(f"ended with {ended.returncode}, and trackers with {warnings} instead of {list(says)}:\n{ended.stderr[-2000:]}")
        times = [record["time"] for record in records(output) if "loss" in record][options.skip:]
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"steps": 600, "skip": 50, "runs": 5, "width": 64}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--bar", type=float, default=1.02)
    options = parser.parse_args()
    if options.runs < 1 or options.skip < 0 or options.steps < options.skip + 2:
        parser.error("--runs counts from 1, and two updates have to come behind those of --skip")
    with tempfile.TemporaryDirectory() as name, Server(sleeps=True) as sleeping, Server(sleeps=False) as failing:
        options.fixture = Fixture(name)
        sides = {"none": lambda: step_seconds(name, options, "none"),
                 "sleeping": lambda: step_seconds(name, options, "mlflow", server=sleeping, says=["does not come to an end"]),
                 "failing": lambda: step_seconds(name, options, "mlflow", server=failing, says=["does not come to an end"]),
                 # Those two write more than half a KiB an update, so that it is full before the end.
                 "full": lambda: step_seconds(name, options, "wandb", "tensorboard", says=[NO_ROOM] * 2, disk_kilobytes=options.steps // 2),
                 "all": lambda: step_seconds(name, options, "tensorboard", "wandb", "trackio", "csv", "prometheus")}
        taken, whole = turns.take(sides, options.runs, show=lambda seconds: f"{seconds * 1000:.3f} ms", warm_up=1, change_sides=True)
    worst = 0.0
    for side, values in taken.items():
        if not values:
            print(f"{side}: not measured")
            continue
        ratios = [value / alone for value, alone in turns.pairs(values, taken["none"])]
        worst = max(worst, statistics.median(ratios)) if ratios else worst
        print(f"{side}: {turns.spread([1000 * value for value in values], 3)} ms a step" +
              (f", {turns.spread(ratios, 4)} times that of none" if ratios and side != "none" else ""))
    return 0 if whole and worst <= options.bar else 1


if __name__ == "__main__":
    sys.exit(main())
