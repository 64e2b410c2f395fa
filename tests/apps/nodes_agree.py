#!/usr/bin/env python3
"""One job of two front programs (--nnodes 2) on this machine, beside the same job of one.

  nodes_agree.py [--steps 12] [--modes ddp full_shard]

Losses equal those of one front program with as many ranks (1e-6 relative), the summary counts all ranks, one plan is
used by both. A killed launcher ends the other within 10 s (more on a busy machine) with code 9 and its node's name; an argument that differs is
refused by both with code 2; nothing is left running.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, InTime, Fixture, free_port, largest, records

BAR_SECONDS = 10
MODES = {"ddp": [], "full_shard": ["--fsdp", "full_shard auto_wrap"]}


def losses_of(folder):
    return [record["loss"] for record in records(folder) if "loss" in record]


class Nodes:
    """Front programs of one job, one per node."""

    def __init__(self, fixture, folder, *flags, ranks=1, own=({}, {}), folders=(None, None), gone=None):
        port = free_port()
        self.clock = InTime(BAR_SECONDS)  # of a start that is refused
        self.processes = []
        for node in (0, 1):
            own_flags = [word for pair in own[node].items() for word in pair]
            command = [HFTRAIN, *fixture.flags(folder, *flags, ranks=ranks), "--nnodes", "2", "--node_rank", str(node),
                       "--master_addr", "127.0.0.1", "--master_port", str(port), *own_flags]
            if node == gone:  # its folder, once it is there
                command = ["sh", "-c", 'rm -r "$PWD" && exec "$@"', "sh", *command]
            self.processes.append(subprocess.Popen(command, env=fixture.environment, text=True, stdout=subprocess.PIPE,
                                                   stderr=subprocess.PIPE, cwd=folders[node]))

    def workers(self, node):
        pid = self.processes[node].pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(text) for text in file.read().split()]

    def finish(self):
        self.errors = [process.communicate(timeout=300)[1] for process in self.processes]
        self.in_time = self.clock.stop()
        return [process.returncode for process in self.processes]


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, name, good, detail=""):
        print(f"{'ok      ' if good else 'FAILED  '}{name}" + (f": {detail}" if detail and not good else ""), flush=True)
        self.failed += not good


def is_running(pid):
    """A process that is dead and not yet reaped by whoever inherited it is not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for_losses(folder, count):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if os.path.exists(os.path.join(folder, "hftrain", "log.jsonl")) and len(losses_of(folder)) >= count:
            return
        time.sleep(0.05)
    raise SystemExit("the run did not come so far")


def agree(fixture, check, mode, steps):
    flags = ["--max_steps", steps, "--save_strategy", "no", "--per_device_train_batch_size", 4, "--ddp_backend", "gloo",
             *MODES[mode]]
    one = os.path.join(fixture.folder, mode + "-one")
    two = os.path.join(fixture.folder, mode + "-two")
    fixture.call(*fixture.flags(one, *flags, ranks=4))
    nodes = Nodes(fixture, two, *flags, ranks=2)
    codes = nodes.finish()
    check(f"{mode}: two nodes of two ranks train", codes == [0, 0], f"codes {codes}\n{nodes.errors[0]}{nodes.errors[1]}")
    if codes != [0, 0]:
        return
    here, there = losses_of(one), losses_of(two)
    worst = largest(abs(a - b) / abs(a) for a, b in zip(here, there))
    check(f"{mode}: losses of one front program with four ranks, worst difference {worst:.1e}",
          len(there) == steps and worst <= 1e-6)
    with open(os.path.join(two, "hftrain", "summary.json")) as file:
        ranks = json.load(file)["ranks"]
    check(f"{mode}: the summary counts all ranks",
          [r["rank"] for r in ranks] == [0, 1, 2, 3] and all(r["state_bytes"]["parameters"] > 0 for r in ranks))
    check(f"{mode}: logs of all ranks", all(os.path.exists(os.path.join(two, "hftrain", "ranks", "0", str(r), "stderr.log"))
                                            for r in range(4)))
    check(f"{mode}: the follower says no more than a line", len(nodes.errors[1].splitlines()) <= 2, nodes.errors[1])


def lose(fixture, check, node):
    folder = os.path.join(fixture.folder, f"lose-{node}")
    nodes = Nodes(fixture, folder, "--max_steps", 100000, "--save_strategy", "no", ranks=2)
    wait_for_losses(folder, 3)
    workers = nodes.workers(0) + nodes.workers(1)
    clock = InTime(BAR_SECONDS)
    nodes.processes[node].send_signal(signal.SIGKILL)
    codes = nodes.finish()
    in_time = clock.stop()
    said = nodes.errors[1 - node]
    check(f"node {node}'s launcher killed: the other ends with code 9 and names it", codes[1 - node] == 9 and
          f"node {node} (" in said and "was lost" in said, f"codes {codes}\n{said}")
    check(f"node {node}'s launcher killed: over within {BAR_SECONDS} s", in_time, str(clock))
    check(f"node {node}'s launcher killed: four workers were there, none is left",
          len(workers) == 4 and not any(map(is_running, workers)), str(workers))


def stop(fixture, check):
    folder = os.path.join(fixture.folder, "stop")
    nodes = Nodes(fixture, folder, "--max_steps", 100000, "--save_strategy", "no", ranks=1)
    wait_for_losses(folder, 3)
    nodes.processes[1].send_signal(signal.SIGTERM)
    codes = nodes.finish()
    check("SIGTERM to one node's launcher saves and ends both with code 143",
          codes == [143, 143] and len(fixture.checkpoints(folder)) == 1, f"codes {codes}\n{nodes.errors[0]}")
    fixture.call("checkpoint", "verify", os.path.join(folder, f"checkpoint-{fixture.checkpoints(folder)[0]}"))


def refuse(fixture, check):
    folder = os.path.join(fixture.folder, "refuse")
    nodes = Nodes(fixture, folder, "--max_steps", 5, own=({}, {"--weight_decay": "0.5"}))
    codes = nodes.finish()
    check("an argument that differs is refused by both with code 2 and its name", codes == [2, 2] and
          "--weight_decay is not the same on all nodes" in nodes.errors[0], f"codes {codes}\n{nodes.errors[0]}")
    check(f"refused within {BAR_SECONDS} s", nodes.in_time, str(nodes.clock))
    # Equal arguments, but only node 0 works in the folder that has the tokenizer.
    nodes = Nodes(fixture, folder, "--max_steps", 5, "--tokenizer_name", "tokenizer", folders=(fixture.folder, "/"))
    codes = nodes.finish()
    check("what one node cannot open ends both with code 4 and is named with its node", codes == [4, 4] and
          "tokenizer" in nodes.errors[0] and "node 1 (" in nodes.errors[0], f"codes {codes}\n{nodes.errors[0]}")


def ends_both(check, what, nodes):
    codes = nodes.finish()
    check(f"{what} ends both with code 3", codes == [3, 3], f"codes {codes}\n{nodes.errors[0]}{nodes.errors[1]}")
    check(f"{what} is told to both", all("the current folder is gone" in text for text in nodes.errors), str(nodes.errors))
    check(f"{what}: within {BAR_SECONDS} s", nodes.in_time, str(nodes.clock))


def tell_of_surprises(fixture, check):
    """What the system refuses on one node alone, in a call whose failure is no error of this program's own: its working folder,
    which holds the tokenizer, has no path any more."""
    for node in (0, 1):
        places = [os.path.join(fixture.folder, f"words-{node}-{each}") for each in (0, 1)]
        for place in places:
            shutil.copytree(fixture.tokenizer, place)
        ends_both(check, f"a surprise on node {node}",
                  Nodes(fixture, os.path.join(fixture.folder, "surprise"), "--tokenizer_name", ".", folders=places, gone=node))
        # The output folder is looked for before there is a model.
        places = [tempfile.mkdtemp(dir=fixture.folder) for _ in (0, 1)]
        ends_both(check, f"a surprise on node {node} when it looks at itself", Nodes(fixture, "relative", folders=places, gone=node))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--modes", nargs="*", default=list(MODES))
    options = parser.parse_args()
    check = Checks()
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        for mode in options.modes:
            agree(fixture, check, mode, options.steps)
        for node in (0, 1):
            lose(fixture, check, node)
        stop(fixture, check)
        refuse(fixture, check)
        tell_of_surprises(fixture, check)
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
