#!/usr/bin/env python3
"""Runs that report to a tracking server of MLflow: a stand-in which looks at every request, and fails as it is told.

  tracking_server.py [SCENARIO]…     all of them without a word
"""
import base64
import http.server
import json
import math
import os
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, InTime, expect, records, run_scenarios

TOKEN = "verysecrettoken"


class Server(http.server.ThreadingHTTPServer):
    """What MLflow keeps of a run. `faults` says what happens to the next requests, one each, and the last to all that follow:
    "" (taken), a number (answered with it), "cut" (no answer), "sleep" (none for as long as the server lives)."""
    daemon_threads = True

    def __init__(self, faults=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.lock = list(faults), threading.Lock()
        self.experiments, self.runs, self.wrong, self.calls, self.closing = {"Default": "0"}, {}, [], [], threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def fault(self):
        with self.lock:
            if not self.faults:
                return ""
            return self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]

    def __exit__(self, *unused):
        self.closing.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        self.take(url.path, {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()})

    def do_POST(self):
        self.take(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def take(self, path, message):
        fault = self.server.fault()
        if fault == "cut":
            self.close_connection = True
            return None
        if fault == "sleep":
            self.server.closing.wait()
            self.close_connection = True
            return None
        if fault:
            return self.answer(int(fault), {"error_code": "TROUBLE", "message": "trouble here"})
        prefix = "/api/2.0/mlflow/"
        call = path[len(prefix):].replace("/", "_").replace("-", "_")
        with self.server.lock:
            self.server.calls.append((self.command, call, dict(self.headers)))
            if not path.startswith(prefix) or not hasattr(self, call):
                self.server.wrong.append((self.command, path))
                return self.answer(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": path})
            return self.answer(*getattr(self, call)(message))

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def only(self, message, **kinds):
        """Each member is of its kind, and there is no other."""
        for key, value in message.items():
            if key not in kinds or not isinstance(value, kinds[key]):
                self.server.wrong.append((self.path, key, value))

    def experiments_get_by_name(self, message):
        self.only(message, experiment_name=str)
        found = self.server.experiments.get(message["experiment_name"])
        if found is None:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such experiment"}
        return 200, {"experiment": {"experiment_id": found, "name": message["experiment_name"]}}

    def experiments_create(self, message):
        self.only(message, name=str)
        self.server.experiments[message["name"]] = str(len(self.server.experiments))
        return 200, {"experiment_id": self.server.experiments[message["name"]]}

    def runs_get(self, message):
        self.only(message, run_id=str)
        if message["run_id"] not in self.server.runs:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such run"}
        return 200, {"run": {"info": {"run_id": message["run_id"]}}}

    def runs_create(self, message):
        self.only(message, experiment_id=str, start_time=int, run_name=str, tags=list)
        name = f"run{len(self.server.runs)}"
        self.server.runs[name] = {**message, "status": "RUNNING", "metrics": [], "params": {}, "tags": {}}
        return 200, {"run": {"info": {"run_id": name}}}

    def runs_update(self, message):
        self.only(message, run_id=str, status=str, end_time=int)
        self.server.runs[message["run_id"]].update(message)
        return 200, {"run_info": {}}

    def runs_log_batch(self, message):
        self.only(message, run_id=str, metrics=list, params=list, tags=list)
        run = self.server.runs[message["run_id"]]
        if len(message.get("metrics", [])) > 1000 or len(message.get("params", [])) > 100 or len(message.get("tags", [])) > 100:
            self.server.wrong.append(("too much at once", message))
        for metric in message.get("metrics", []):
            self.only(metric, key=str, value=(int, float, str), timestamp=int, step=int)
            run["metrics"].append(metric)
        for kind in ("params", "tags"):
            for text in message.get(kind, []):
                self.only(text, key=str, value=str)
                run[kind][text["key"]] = text["value"]
        return 200, {}


def run_with(fixture, output, server, *more, expect=0, **variables):
    known = dict(fixture.environment)
    fixture.environment.update(MLFLOW_TRACKING_URI=server.address, **variables)
    try:
        return fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_strategy", "no", "--report_to", "mlflow", *more, ranks=1),
                            expect=expect).stderr
    finally:
        fixture.environment = known


def holds_every_record(run, output):
    """Sent once or, where an answer was lost, again with the same words."""
    found = {(m["key"], m["step"], m["timestamp"]): float(m["value"]) for m in run["metrics"]}
    wanted = {(key, record["step"], math.floor(record["time"] * 1000)): value
              for record in records(output) for key, value in record.items() if key not in ("step", "time")}
    expect(found == wanted, "the metrics are the records", [found, wanted])


def a_server_gets_every_record(fixture, folder):
    output = os.path.join(folder, "run")
    with Server() as server:
        said = run_with(fixture, output, server, "--run_name", "a-name", MLFLOW_EXPERIMENT_NAME="an experiment & more", MLFLOW_TRACKING_TOKEN=TOKEN,
                        MLFLOW_TAGS='{"release": "1", "who": "me"}')
    expect(not server.wrong, "every request is one of the interface", server.wrong)
    expect(server.experiments == {"Default": "0", "an experiment & more": "1"}, "the experiment was made", server.experiments)
    (run,) = server.runs.values()
    expect((run["experiment_id"], run["run_name"], run["status"]) == ("1", "a-name", "FINISHED") and run["end_time"] >= run["start_time"],
           "a run that has finished", run)
    holds_every_record(run, output)
    params = run["params"]
    expect((params["learning_rate"], params["n_layer"], params["use_cpu"], params["max_steps"]) == ("0.001", "2", "True", "6"),
           "arguments and the model's configuration", params)
    expect(run["tags"] == {"release": "1", "who": "me"}, "tags", run["tags"])
    expect(all(headers.get("Authorization") == f"Bearer {TOKEN}" for _, _, headers in server.calls), "the token goes with every request", server.calls)
    expect(TOKEN not in said, "the token is not said", said)
    for place, _, names in os.walk(output):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                expect(TOKEN.encode() not in file.read(), "the token is in no file", name)


def a_run_that_is_named_goes_on(fixture, folder):
    with Server() as server:
        first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
        run_with(fixture, first, server, MLFLOW_TRACKING_USERNAME="me", MLFLOW_TRACKING_PASSWORD="mine")
        before = json.dumps(server.runs["run0"]["params"])
        run_with(fixture, second, server, "--learning_rate", "2e-3", MLFLOW_RUN_ID="run0")
        said = run_with(fixture, os.path.join(folder, "none"), server, MLFLOW_RUN_ID="run7")
    expect(not server.wrong and list(server.runs) == ["run0"], "one run", server.wrong)
    expect(json.dumps(server.runs["run0"]["params"]) == before and server.runs["run0"]["status"] == "FINISHED", "it keeps its parameters", before)
    steps = [m["step"] for m in server.runs["run0"]["metrics"] if m["key"] == "loss"]
    expect(steps == [1, 2, 3, 4, 5, 6] * 2, "records of both", steps)
    basic = "Basic " + base64.b64encode(b"me:mine").decode()
    expect(server.calls[0][2].get("Authorization") == basic, "user and password", server.calls[0])
    expect(said.count("warning: mlflow gets no more records") == 1 and "no such run" in said, "a run that is not there is told", said)


def what_fails_for_a_while_is_sent_again(fixture, folder):
    output = os.path.join(folder, "run")
    with Server(["500", "cut", "", "503", "cut", "", "", "cut", "429", ""]) as server:
        said = run_with(fixture, output, server)
    expect("warning: mlflow" not in said, "no word", said)
    run = next(run for run in reversed(server.runs.values()) if run["metrics"])
    expect(not server.wrong and run["status"] == "FINISHED", "whole", [server.wrong, run])
    holds_every_record(run, output)


def a_server_that_fails_or_sleeps_for_ever_costs_a_warning(fixture, folder):
    alone = os.path.join(folder, "alone")
    fixture.call(*fixture.flags(alone, "--max_steps", 6, "--save_strategy", "no", ranks=1))
    losses = [record["loss"] for record in records(alone) if "loss" in record]
    for name, faults in (("error", ["500"]), ("sleep", ["sleep"]), ("later", ["", "", "", "", "", "", "sleep"]), ("no", ["403"])):
        output = os.path.join(folder, name)
        with Server(faults) as server:
            ends = InTime(60)
            said = run_with(fixture, output, server)
        early = said.count("takes nothing so far")  # of a run that lasts for some seconds
        expect(said.count("warning: mlflow gets no more records of this run: ") == 1 and said.count("warning:") == 1 + early and early <= 1,
               f"{name}: one warning", said)
        expect(ends.stop(), f"{name}: it ends", ends)
        expect([record["loss"] for record in records(output) if "loss" in record] == losses, f"{name}: the same training", losses)
        expect(name != "no" or "HTTP 403: trouble here" in said, "why it was refused", said)


run_scenarios([a_server_gets_every_record, a_run_that_is_named_goes_on, what_fails_for_a_while_is_sent_again,
               a_server_that_fails_or_sleeps_for_ever_costs_a_warning], sys.argv[1:], Fixture)
