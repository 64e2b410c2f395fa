#!/usr/bin/env python3
"""What `hftrain plan` says is what the run would do: the machines of a host file, variables of a configuration file,
a folder that is in use, output that cannot be written; and what one launcher's processes say before they meet."""
import fcntl
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from machines import check
from runs import HFTRAIN, Fixture


def call(fixture, words, environment=(), **streams):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run([HFTRAIN, *words], env={**fixture.environment, **dict(environment)}, text=True, timeout=300,
                          **streams)


def host_file(fixture, flags):
    path = os.path.join(fixture.folder, "hosts")
    with open(path, "w") as file:
        file.write("worker-0 slots=3\nworker-1 slots=2\n")
    words = [word for word in flags if word not in ("--nproc_per_node", "2")]
    run = call(fixture, ["plan", *words, "--hostfile", path, "--json"])
    check("the plan of a host file is one JSON document", run.returncode == 0, run.stdout + run.stderr)
    document = json.loads(run.stdout)
    check("it has a schema, all ranks and the machines", "schema" in document and document["world_size"] == 5 and
          len(document["workers"]) == 5 and [m["host"] for m in document["machines"]] == ["worker-0", "worker-1"] and
          "--json" not in document["machines"][1]["argv"], run.stdout)
    text = call(fixture, ["plan", *words, "--hostfile", path])
    check("for people it shows plan and machines", text.returncode == 0 and "5 ranks on 2 nodes" in text.stdout and
          "worker-1:" in text.stdout, text.stdout + text.stderr)
    wrong = call(fixture, ["plan", *words, "--hostfile", path, "--block_size", "4096"])
    check("it is refused where the run would be", wrong.returncode == 2 and "larger than the model's 64 positions" in wrong.stderr,
          wrong.stdout + wrong.stderr)


def variables(fixture, flags):
    path = os.path.join(fixture.folder, "env.yaml")
    with open(path, "w") as file:
        file.write("env:\n  MY_VARIABLE: from-the-file\n")
    run = call(fixture, ["plan", "--config", path, *flags, "--json"])
    workers = json.loads(run.stdout)["workers"]
    check("variables of `env:` are in the plan", len(workers) == 2 and all(w["env"].get("MY_VARIABLE") == "from-the-file" for w in workers),
          run.stdout)
    run = call(fixture, ["plan", *flags], {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "lo"})
    check("variables of communication are named", "GLOO_SOCKET_IFNAME=lo, NCCL_DEBUG=INFO of the environment go to "
          "every rank" in run.stderr, run.stderr)
    run = call(fixture, ["plan", *flags, "--log_ranks", "1,9"])
    check("ranks of --log_ranks that are not there are named", "there is no rank 9" in run.stderr, run.stderr)


def folder_in_use(fixture, flags, output):
    os.makedirs(os.path.join(output, "hftrain"))
    with open(os.path.join(output, "hftrain", "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        plan, run = call(fixture, ["plan", *flags]), call(fixture, flags)
        check("a folder in use ends plan and run with 2", (plan.returncode, run.returncode) == (2, 2) and
              "another run is using the output folder" in plan.stderr, plan.stderr + run.stderr)
    plan = call(fixture, ["plan", *flags])
    check("a lock that nobody holds is no obstacle", plan.returncode == 0, plan.stderr)


def full(fixture, flags):
    with open("/dev/full", "w") as device:
        run = call(fixture, ["plan", *flags], stdout=device)
    check("a result that cannot be written is code 7 with a message", run.returncode == 7 and
          "the result could not be written" in run.stderr, f"{run.returncode} {run.stderr}")


def once(fixture, flags):
    for rank, lines in ((0, 1), (1, 0)):
        run = call(fixture, ["plan", *flags, "--lerning_rate", "1"],
                   {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"})
        check(f"rank {rank} of two on a machine says {'what is' if lines else 'nothing of a'} mistyped flag",
              run.returncode == 2 and run.stderr.count("--lerning_rate") == lines, run.stderr)


def data_that_cannot_be_used(fixture, output):
    """plan and run end alike, and so do they with data that is fine."""
    def write(name, content):
        path = os.path.join(fixture.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    empty, binary = write("empty.txt", b""), write("binary.txt", b"\x80\xff\x00\n" * 20_000)
    short, numbers = write("short.txt", b"too short\n"), write("numbers.jsonl", b'{"text": 5}\n' * 5)
    rows = [(4, ["--train_file", empty]), (4, ["--train_file", short]), (4, ["--train_file", binary]),
            (4, ["--train_file", numbers]), (4, ["--max_train_samples", "0"]),
            (4, ["--validation_file", empty, "--eval_strategy", "steps"]),
            (2, ["--optim", "sgd", "--optim_args", "nesterov=true"]), (0, ["--max_train_samples", "8"])]
    for number, (code, more) in enumerate(rows):
        words = [*fixture.flags(f"{output}-{number}"), *more]
        plan, run = call(fixture, ["plan", *words]), call(fixture, words)
        check(f"plan and run with {' '.join(map(os.path.basename, more))} both end with {code}",
              (plan.returncode, run.returncode) == (code, code),
              f"{plan.returncode} and {run.returncode}\n{plan.stderr}{run.stderr}")
    place = os.path.join(fixture.folder, "temporary")
    os.mkdir(place)
    smoke = call(fixture, ["plan", "--smoke"], {"TMPDIR": place})
    check("a plan of --smoke needs no model and no data, as the check itself", smoke.returncode == 0 and
          "from scratch" in smoke.stdout, smoke.stdout + smoke.stderr)
    check("it leaves nothing behind", not os.listdir(place), str(os.listdir(place)))


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-plans-") as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "out")
        flags = fixture.flags(output)
        host_file(fixture, flags)
        variables(fixture, flags)
        full(fixture, flags)
        once(fixture, flags)
        folder_in_use(fixture, flags, output)
        data_that_cannot_be_used(fixture, output)


if __name__ == "__main__":
    main()
