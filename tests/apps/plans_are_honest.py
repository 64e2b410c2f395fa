#!/usr/bin/env python3
"""What `hftrain plan` says is what the run would do: the machines of a host file, variables of a configuration file,
a folder that is in use, output that cannot be written; and what one launcher's processes say before they meet."""
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from machines import check
from runs import HFTRAIN, Fixture, free_port


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
    run = call(fixture, ["plan", *flags, "--full_determinism", "--json"])
    check("so are those of a deterministic run", [w["env"].get("CUDA_LAUNCH_BLOCKING") for w in json.loads(run.stdout)["workers"]] == ["1", "1"], run.stdout)
    run = call(fixture, ["plan", *flags], {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "lo"})
    check("variables of communication are named", "GLOO_SOCKET_IFNAME=lo, NCCL_DEBUG=INFO of the environment go to "
          "every rank" in run.stderr, run.stderr)
    run = call(fixture, ["plan", *flags, "--log_ranks", "1,9", "--local_ranks_filter", "0, 7"])
    check("ranks of --log_ranks that are not there are named", "log_ranks: there is no rank 9" in run.stderr, run.stderr)
    check("and those of --local_ranks_filter", "local_ranks_filter: there is no local rank 7" in run.stderr, run.stderr)


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
    no_plugin = ["--plugin", os.path.join(fixture.folder, "none.so"), "--task", "bogus", "--print_config"]
    for rank, lines in ((0, 1), (1, 0)):
        told = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        for command in ([], ["prepare"]):
            printed = call(fixture, [*command, *flags, "--print_config", "minimal"], told)
            check(f"rank {rank} prints {'the' if lines else 'no'} configuration", printed.returncode == 0 and
                  printed.stdout.count("block_size: 64") == lines, printed.stdout + printed.stderr)
            refused = call(fixture, [*command, *flags, *no_plugin], told)
            check(f"rank {rank} says {'once' if lines else 'nothing of'} what no plug-in can be asked", refused.returncode == 2 and
                  refused.stderr.count("error: ") == lines, refused.stderr)
        for command in ("plan", "prepare"):
            run = call(fixture, [command, *flags, "--lerning_rate", "1"], told)
            check(f"rank {rank} of two on a machine says {'what is' if lines else 'nothing of a'} mistyped flag",
                  run.returncode == 2 and run.stderr.count("--lerning_rate") == lines, run.stderr)
            alone = call(fixture, [command, *flags, "--standalone", "--lerning_rate", "1"], told)
            check(f"{command} that is told to stand alone says it whatever its rank", alone.returncode == 2 and "--lerning_rate" in alone.stderr, alone.stderr)
        noted = call(fixture, ["prepare", *flags, "--deepspeed", '{"zero_optimization": {"stage": 1}, "steps_per_print": 9}'], told)
        check(f"rank {rank} says {'once' if lines else 'nothing of'} what it notes and does", noted.returncode == 0 and
              bool(noted.stderr) == bool(lines) and noted.stderr.count("without effect here: steps_per_print") == lines, noted.stderr)
        for more in (["--json", "--dry_run"], ["--dry_run"], ["--json"]):
            prepared = call(fixture, ["prepare", *flags, *more], told)
            answers = [line for line in prepared.stdout.splitlines() if line.strip().startswith(("train:", '"train":'))]
            check(f"rank {rank} says {'once' if lines else 'nothing of'} what it prepares with {' '.join(more)}",
                  prepared.returncode == 0 and len(answers) == lines, prepared.stdout + prepared.stderr)


def of_one_alone(fixture, flags):
    """The first process waits for the other one, which alone was given what is wrong."""
    port = str(free_port())
    told = [{"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": port} for rank in (0, 1)]
    first = subprocess.Popen([HFTRAIN, *flags], env={**fixture.environment, **told[0]}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for command in ("plan", "prepare"):
            run = call(fixture, [command, *flags, "--lerning_rate", "1"], told[1])
            check(f"{command}: what only rank 1 was given is said by it, with its rank", run.returncode == 2 and
                  run.stderr.count("--lerning_rate") == 1 and "while: reading what rank 1 of 2, started by " in run.stderr, run.stderr)
            other = call(fixture, [command, *flags, "--lerning_rate", "1"], {**told[1], "MASTER_PORT": str(free_port())})
            check(f"{command}: the first process of another job is not asked", other.returncode == 2 and not other.stderr, other.stderr)
        check("the first process still waits", first.poll() is None, str(first.returncode))
    finally:
        first.kill()
        first.wait()


def of_one_beside_one_that_ends_soon(fixture, flags):
    """The first process is killed within the second in which another one would wait for its end. A busy machine may be too slow
    to look at it while it is there, so three tries."""
    mistaken = ["prepare", *flags, "--lerning_rate", "1"]
    for _ in range(3):
        port = str(free_port())
        told = [{"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port} for rank in (0, 1)]
        begin = time.monotonic()
        call(fixture, mistaken, told[0])
        takes = time.monotonic() - begin
        with subprocess.Popen([HFTRAIN, *flags], env={**fixture.environment, **told[0]}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as first:
            end = threading.Timer(takes + 0.5, first.kill)
            end.start()
            run = call(fixture, mistaken, told[1])
            end.join()
        if run.stderr:
            break
    check("what only rank 1 was given is said by it also where rank 0 ends soon", run.returncode == 2 and
          run.stderr.count("--lerning_rate") == 1, run.stderr)


def given_port(fixture, flags):
    plan = call(fixture, ["plan", *flags, "--json", "--master_port", "29555"])
    ports = [worker["env"]["MASTER_PORT"] for worker in json.loads(plan.stdout)["workers"]] if plan.returncode == 0 else []
    check("a port that is given is that of every worker", ports == ["29555", "29555"], plan.stdout[-600:] + plan.stderr)
    first = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    several = call(fixture, ["plan", *flags, "--json", "--master_addr", "127.0.0.1", "--master_port", "29555"], first)
    found = [worker["env"]["MASTER_PORT"] for worker in json.loads(several.stdout)["workers"]] if several.returncode == 0 else []
    check("where several programs meet there it is not the ranks'", found and "29555" not in found, several.stdout[-600:] + several.stderr)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        at = ["--master_addr", "127.0.0.1", "--master_port", port]
        plan = call(fixture, ["plan", *flags, "--json", "--master_port", port])
        ports = [worker["env"]["MASTER_PORT"] for worker in json.loads(plan.stdout)["workers"]] if plan.returncode == 0 else []
        check("a plan says that its port is taken, and that ranks meet elsewhere", ports == ["0", "0"] and
              f"warning: cannot listen on port {port}: it is in use by pid {os.getpid()}" in plan.stderr and
              "the ranks meet at a free port instead" in plan.stderr, plan.stdout[-600:] + plan.stderr)
        for name, words, told in (("started by ranks", at, first), ("of several machines", [*at, "--nnodes", "2", "--node_rank", "0"], {})):
            ends = [call(fixture, [*command, *flags, *words], told) for command in (["plan"], [])]
            check(f"plan and run of a job {name} are refused a port that is taken", all(
                end.returncode == 3 and f"error: cannot listen on port {port}\n  where: --master_port" in end.stderr for end in ends),
                "".join(f"{end.returncode} {end.stderr}" for end in ends))
        other = call(fixture, ["plan", *flags, *at, "--nnodes", "2", "--node_rank", "1"])
        check("another machine than the first listens at no port", other.returncode == 0, other.stderr)


def of_launcher(rank):
    """The environment of a process of two machines with two each."""
    return {"RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_RANK": str(rank % 2), "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def beside_the_first(fixture, flags):
    """The first process of all shows the plan, that of another machine what would end the run there; those beside them leave it
    to these: they would read all data again, and a launcher that sees one fail ends the others."""
    for more, code in (([], 0), (["--block_size", "4096"], 2), (["--tokenizer_name", os.path.join(fixture.folder, "none")], 4)):
        runs = [call(fixture, ["plan", *flags, *more], of_launcher(rank)) for rank in range(4)]
        texts = [run.stdout + run.stderr for run in runs]
        check(f"the first process of each machine ends a plan with {code}",
              [runs[0].returncode, runs[2].returncode] == [code, code], "\n".join(texts))
        check("those beside it leave the plan to it", [runs[1].returncode, runs[3].returncode] == [0, 0] and
              texts[1] + texts[3] == "", texts[1] + texts[3])
        check("the plan is shown once", texts[0] != "" and runs[2].stdout == "", texts[2])
        check("each machine says what would end the run there", ("error: " in runs[2].stderr) == (code != 0), texts[2])


def secret_and_token(fixture, flags):
    """What a run opens before it begins, and no plan is made of."""
    secret = os.path.join(fixture.folder, "secret")
    with open(secret, "w") as file:
        file.write("open to all\n")
    os.chmod(secret, 0o644)
    nodes = [*flags, "--nnodes", "2", "--node_rank", "0", "--master_addr", "127.0.0.1", "--master_port", str(free_port()),
             "--rdzv_conf", f"join_timeout=1,secret_file={secret}"]
    for name, words in (("plan", ["plan", *nodes]), ("run", nodes)):
        refused = call(fixture, words)
        check(f"{name} with a secret that others may read ends with 2", refused.returncode == 2 and
              "the file of the job's secret cannot be used" in refused.stderr, f"{refused.returncode} {refused.stderr}")
    os.chmod(secret, 0o600)
    plan = call(fixture, ["plan", *nodes])
    check("one that nobody else may read is fine", plan.returncode == 0, plan.stderr)
    alone = call(fixture, ["plan", *flags, "--rdzv_conf", f"secret_file={secret}.gone"])
    check("who is alone needs none", alone.returncode == 0 and "is not used" in alone.stderr, alone.stderr)

    nobody = {"HF_HOME": os.path.join(fixture.folder, "home"), "HF_TOKEN": "", "HF_ENDPOINT": "http://127.0.0.1:9"}
    for name, words in (("plan", ["plan", *flags, "--push_to_hub"]), ("run", [*flags, "--push_to_hub"])):
        refused = call(fixture, words, nobody)
        check(f"{name} with --push_to_hub and without a token ends with 2", refused.returncode == 2 and
              "there is no access token to push with" in refused.stderr, f"{refused.returncode} {refused.stderr}")
    second = [*nodes, "--node_rank", "1", "--push_to_hub"]
    plan = call(fixture, ["plan", *second], nobody)
    launched = call(fixture, ["plan", *flags, "--push_to_hub"], {**nobody, **of_launcher(2)})
    check("a node that does not push needs none", (plan.returncode, launched.returncode) == (0, 0), plan.stderr + launched.stderr)
    hosts = os.path.join(fixture.folder, "elsewhere")
    with open(hosts, "w") as file:
        file.write("192.0.2.1 slots=1\n192.0.2.2 slots=1\n")
    plan = call(fixture, ["plan", *fixture.flags(os.path.join(fixture.folder, "out"), ranks=1), "--hostfile", hosts,
                          "--push_to_hub", "--rdzv_conf", f"secret_file={secret}.gone"], nobody)
    check("what a host file's first machine has is not looked for here", plan.returncode == 0, plan.stderr)
    plan = call(fixture, ["plan", *flags, "--push_to_hub"], {**nobody, "HF_TOKEN": "hf_anything"})
    check("with one it is made, and the Hub is not asked", plan.returncode == 0, plan.stderr)
    plan = call(fixture, ["plan", *flags, "--push_to_hub", "--machines", "1x4cores-16GiB"], nobody)
    check("other machines may have one", plan.returncode == 0, plan.stderr)
    judged = [word for word in flags if word != "--do_train"]
    plan = call(fixture, ["plan", *judged, "--do_eval", "--validation_file", fixture.text, "--push_to_hub"],
                {**nobody, "HF_TOKEN": "hf_anything"})
    check("a run that does not train says that it pushes nothing", plan.returncode == 0 and
          "nothing is pushed to the Hub" in plan.stderr, plan.stderr)


def own_address(fixture, flags):
    """--local_addr: where node 0 is, and refused where a run would be."""
    def nodes(number, address):
        return ["plan", *flags, "--nnodes", "2", "--node_rank", str(number), "--master_addr", "192.0.2.1", "--local_addr", address]

    first, second = call(fixture, nodes(0, "127.0.0.2")), call(fixture, nodes(1, "127.0.0.2"))
    for number, plan in enumerate((first, second)):
        check(f"the plan of machine {number} says where it is", plan.returncode == 0 and
              f"machine {number} of 2, at 127.0.0.2 (--local_addr)" in plan.stderr, plan.stdout + plan.stderr)
    check("ranks are told node 0's own address", "MASTER_ADDR=127.0.0.2" in first.stdout, first.stdout)
    check("on another machine it is that of --master_addr", "MASTER_ADDR=192.0.2.1" in second.stdout, second.stdout)
    for address in ("192.0.2.7", "no-such-host.invalid"):
        refused = call(fixture, nodes(0, address))
        check(f"{address} is no address of this machine", refused.returncode == 3 and
              f"this machine cannot listen at {address}" in refused.stderr, f"{refused.returncode} {refused.stderr}")
    others = call(fixture, ["plan", *flags, "--machines", "2x4cores-16GiB", "--local_addr", "192.0.2.7"])
    check("a plan for other machines says that it is not looked at", others.returncode == 0 and
          "--local_addr 192.0.2.7 is not looked at" in others.stderr, others.stderr)


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
        of_one_alone(fixture, flags)
        of_one_beside_one_that_ends_soon(fixture, flags)
        given_port(fixture, flags)
        beside_the_first(fixture, flags)
        secret_and_token(fixture, flags)
        own_address(fixture, flags)
        folder_in_use(fixture, flags, output)
        data_that_cannot_be_used(fixture, output)


if __name__ == "__main__":
    main()
