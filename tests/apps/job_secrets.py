#!/usr/bin/env python3
"""The secret of a job of two front programs on this machine: who knows it takes part, who does not is refused.

The secret goes by HFTRAIN_JOB_SECRET, or by --rdzv_conf secret_file=PATH; a file that others may read is refused. It is in
no worker's environment, in no command line, in no file of the run and in no dry run.
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nodes_agree import Checks, wait_for_losses
from runs import HFTRAIN, Fixture, free_port

SECRET = "correct-horse-battery-staple"


class Node:
    def __init__(self, fixture, folder, port, number, *more, secret=None):
        environment = dict(fixture.environment, **({} if secret is None else {"HFTRAIN_JOB_SECRET": secret}))
        command = [HFTRAIN, *fixture.flags(folder, "--save_strategy", "no", "--nnodes", "2", "--node_rank", number, "--master_addr",
                                         "127.0.0.1", "--master_port", port, "--rdzv_conf", "join_timeout=60", *more, ranks=1)]
        self.process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self):
        self.text = "".join(self.process.communicate(timeout=300))
        return self.process.returncode

    def workers(self):
        pid = self.process.pid
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def through_the_environment(fixture, check):
    folder, port = os.path.join(fixture.folder, "environment"), free_port()
    leader = Node(fixture, folder, port, 0, "--max_steps", 100000, secret=SECRET)
    # Who has another secret cannot know whether it is node 0 that refuses it.
    for name, secret, code in (("no secret", None, 2), ("another one", "guess", 3)):
        stranger = Node(fixture, folder, port, 1, "--max_steps", 100000, secret=secret)
        check(f"{name}: code {code}", stranger.finish() == code, stranger.text)
        check(f"{name}: says why", "secret" in stranger.text and "node 0 did not take node 1" in stranger.text, stranger.text)
    follower = Node(fixture, folder, port, 1, "--max_steps", 100000, secret=SECRET)
    wait_for_losses(folder, 3)
    environments = [pathlib.Path(f"/proc/{pid}/environ").read_bytes() for node in (leader, follower) for pid in node.workers()]
    check("no worker has the secret", len(environments) == 2 and not any(SECRET.encode() in each for each in environments))
    leader.process.terminate()
    codes = [leader.finish(), follower.finish()]
    check("who knows it trains and stops", codes == [143, 143], f"{codes}\n{leader.text}{follower.text}")
    check("strangers are logged", leader.text.count("refused a connection from 127.0.0.1") == 2, leader.text)
    kept = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    check("no file of the run has the secret", not kept, str(kept))


def through_a_file(fixture, check):
    folder, port = os.path.join(fixture.folder, "file"), free_port()
    path = os.path.join(fixture.folder, "secret")
    pathlib.Path(path).write_text(SECRET + "\n")
    option = f"join_timeout=60,secret_file={path}"
    os.chmod(path, 0o644)
    open_file = Node(fixture, folder, port, 1, "--max_steps", 3, "--rdzv_conf", option)
    check("a file that others may read: code 2 and its name", open_file.finish() == 2 and path in open_file.text
          and "chmod 600" in open_file.text, open_file.text)
    os.chmod(path, 0o600)
    nodes = [Node(fixture, folder, port, 0, "--max_steps", 3, "--rdzv_conf", option),
             Node(fixture, folder, port, 1, "--max_steps", 3, secret=SECRET)]
    codes = [node.finish() for node in nodes]
    check("a file on one node and the variable on the other are one secret", codes == [0, 0], nodes[0].text + nodes[1].text)
    empty = Node(fixture, folder, port, 1, "--max_steps", 3, secret="")
    check("an empty secret: code 2", empty.finish() == 2 and "HFTRAIN_JOB_SECRET is empty" in empty.text, empty.text)


def through_a_configuration(fixture, check):
    folder, port = os.path.join(fixture.folder, "configured"), free_port()
    path = os.path.join(fixture.folder, "run.yaml")
    pathlib.Path(path).write_text(f"env:\n  HFTRAIN_JOB_SECRET: {SECRET}\n")
    leader = Node(fixture, folder, port, 0, "--max_steps", 100000, "--config", path)
    stranger = Node(fixture, folder, port, 1, "--max_steps", 100000)
    check("a node without the secret of env: is refused", stranger.finish() == 2 and "this job has a secret" in stranger.text,
          stranger.text)
    follower = Node(fixture, folder, port, 1, "--max_steps", 100000, "--config", path)
    wait_for_losses(folder, 3)
    environments = [pathlib.Path(f"/proc/{pid}/environ").read_bytes() for node in (leader, follower) for pid in node.workers()]
    check("no worker has the secret of env:", len(environments) == 2 and not any(SECRET.encode() in each for each in environments))
    leader.process.terminate()
    codes = [leader.finish(), follower.finish()]
    check("nodes with the same env: train and stop", codes == [143, 143], f"{codes}\n{leader.text}{follower.text}")


def in_a_dry_run(fixture, check):
    hosts = os.path.join(fixture.folder, "hosts")
    pathlib.Path(hosts).write_text(f"{socket.gethostname()} slots=1\nworker-1 slots=1\n")
    for secret in (None, SECRET):
        environment = dict(fixture.environment, **({} if secret is None else {"HFTRAIN_JOB_SECRET": secret}))
        plan = subprocess.run([HFTRAIN, "plan", *fixture.flags(os.path.join(fixture.folder, "dry"), "--hostfile", hosts, ranks=1),
                               "--json"], env=environment, text=True, capture_output=True, timeout=120)
        check("a dry run shows no secret", plan.returncode == 0 and SECRET not in plan.stdout + plan.stderr, plan.stderr)
        machines = json.loads(plan.stdout)["machines"]
        check("but that there is one", len(machines) == 2 and all(("HFTRAIN_JOB_SECRET" in machine["env"]) == (secret is not None)
                                           for machine in machines), str(machines))


def doctor(fixture, check):
    for secret in (None, SECRET):
        environment = dict(fixture.environment, **({} if secret is None else {"HFTRAIN_JOB_SECRET": secret}))
        told = subprocess.run([HFTRAIN, "doctor", fixture.folder, "--json"], env=environment, text=True, capture_output=True)
        check("doctor says whether there is one", json.loads(told.stdout)["job_secret"] == (secret is not None), told.stdout)


def main():
    check = Checks()
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        for scenario in (through_the_environment, through_a_file, through_a_configuration, in_a_dry_run, doctor):
            scenario(fixture, check)
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
