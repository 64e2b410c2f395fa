#!/usr/bin/env python3
"""Steps of a run whose trackers hang, fail or write, against those of one without trackers, by turns.

  reporters.py [--steps 600] [--skip 50] [--runs 5] [--width 64] [--bar 1.02]

A tiny GPT-2 on made-up text that logs every update, which is more than any run does. Sides: none; sleeping (a tracking server of
MLflow that takes connections and never answers); failing (one that answers 500); all (every tracker that writes files). A run
counts as the median time between updates behind the first --skip. Prints each side with its range and the ratio to none, pair by
pair, and ends with 1 when a median ratio is above --bar, or a side failed. HFTRAIN_BUILD_DIR names the build (default: build).
"""
import argparse
import http.server
import os
import pathlib
import statistics
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "apps"))
import turns
from runs import Fixture, records


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


def step_seconds(folder, options, *reporters, server=None):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        fixture, known = options.fixture, dict(options.fixture.environment)
        fixture.environment["TRACKIO_DIR"] = os.path.join(place, "trackio")
        if server is not None:
            fixture.environment["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{server.server_port}"
        try:
            output = os.path.join(place, "run")
            fixture.call(*fixture.flags(output, "--max_steps", options.steps, "--save_strategy", "no", "--report_to", *reporters, ranks=1,
                                        width=options.width))
            times = [record["time"] for record in records(output) if "loss" in record][options.skip:]
        finally:
            fixture.environment = known
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"steps": 600, "skip": 50, "runs": 5, "width": 64}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--bar", type=float, default=1.02)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Server(sleeps=True) as sleeping, Server(sleeps=False) as failing:
        options.fixture = Fixture(name)
        sides = {"none": lambda: step_seconds(name, options, "none"),
                 "sleeping": lambda: step_seconds(name, options, "mlflow", server=sleeping),
                 "failing": lambda: step_seconds(name, options, "mlflow", server=failing),
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
