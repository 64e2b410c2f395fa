"""Machines that are network namespaces of this one, joined by a switch of the test's own: whole runs over them.

    machines.py SCENARIO…      one or more of the functions below whose names begin with scenario_; without a name all

Every scenario makes its namespaces and removes them. Without the right to make them it says SKIPPED and why.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import runs
from runs import BUILD, HFTRAIN, PATIENCE, InTime, Fixture, free_port, skip

BAR_SECONDS = 10  # from a fault on one machine to the end on the other; more on a busy machine


class Machines:
    """Namespaces with addresses[i] each, and a switch that joins them, a namespace too."""

    def __init__(self, count=2):
        mark = os.getpid() % 60000
        self.names = [f"hft{mark}m{i}" for i in range(count)]
        self.switch = f"hft{mark}s"
        self.cables = [f"hv{mark}m{i}" for i in range(count)]
        self.ports = [f"hv{mark}p{i}" for i in range(count)]  # the other ends, at the switch
        self.addresses = [f"10.{200 + mark // 256 % 50}.{mark % 256}.{i + 1}" for i in range(count)]

    def __enter__(self):
        probe = subprocess.run(["ip", "netns", "add", self.switch], capture_output=True, text=True)
        if probe.returncode != 0:
            skip(f"network namespaces cannot be made here: {probe.stderr.strip()}")
        self.ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", self.switch, "link", "set", "bridge", "up")
        for name, cable, port, address in zip(self.names, self.cables, self.ports, self.addresses):
            self.ip("netns", "add", name)
            self.ip("link", "add", cable, "type", "veth", "peer", "name", port)
            self.ip("link", "set", cable, "netns", name)
            self.ip("link", "set", port, "netns", self.switch)
            self.ip("-n", self.switch, "link", "set", port, "master", "bridge")
            self.ip("-n", self.switch, "link", "set", port, "up")
            self.ip("-n", name, "addr", "add", f"{address}/24", "dev", cable)
            self.ip("-n", name, "link", "set", cable, "up")
            self.ip("-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *unused):
        for name in [*self.names, self.switch]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def inside(self, index, argv):
        return ["ip", "netns", "exec", self.names[index], *argv]

    def remote_shell(self, folder, keeps_variables=True):
        """A program like ssh: SHELL HOST COMMAND…; without variables of here, where asked, as ssh has it."""
        begin = "" if keeps_variables else 'env -i PATH="$PATH" HOME="$HOME" '
        path = os.path.join(folder, "shell")
        lines = ["#!/bin/sh", "host=$1", "shift", "case $host in"]
        for name, address in zip(self.names, self.addresses):
            lines.append(f"  {address}) exec {begin}ip netns exec {name} sh -c \"$*\" ;;")
        lines += ["  *) echo \"no route to $host\" >&2; exit 255 ;;", "esac"]
        pathlib.Path(path).write_text("\n".join(lines) + "\n")
        os.chmod(path, 0o755)
        return path


class Front:
    """A front program whose output goes to a file."""

    def __init__(self, argv, environment, folder, name):
        self.path = os.path.join(folder, name + ".txt")
        with open(self.path, "w") as out:
            self.process = subprocess.Popen(argv, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def text(self):
        return pathlib.Path(self.path).read_text(errors="replace")

    def wait(self, seconds=120):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SystemExit(f"still running after {seconds} s:\n{self.text()}")

    def wait_for(self, text, seconds=120):
        deadline = time.monotonic() + seconds
        while text not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"never said '{text}':\n{self.text()}")
            time.sleep(0.05)


def losses(output):
    return [record["loss"] for record in runs.records(output) if "loss" in record]


def check(what, condition, text=""):
    if not condition:
        raise SystemExit(f"FAILED: {what}\n{text}")
    print(f"ok: {what}", flush=True)


def check_equal_losses(what, reference, output, text=""):
    found = losses(output)
    same = len(found) == len(reference) > 0 and all(abs(a - b) <= 1e-6 for a, b in zip(found, reference))
    check(f"{what}: {len(found)} losses equal to the local run", same, f"{found}\n{reference}\n{text}")


def no_mpi():
    """Why runs under mpirun cannot be tested; empty when they can."""
    if not shutil.which("mpirun"):
        return "there is no mpirun"
    missing = [name for name in ("libhftrain_pmix.so", "libhftrain_mpi.so") if not (BUILD / "lib" / name).exists()]
    return f"built without Open MPI: there is no {missing[0]}" if missing else ""


class Scenario:
    def __init__(self, machines, folder):
        self.machines = machines
        self.fixture = Fixture(folder)
        self.folder = str(folder)
        self.environment = {**self.fixture.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def flags(self, output, *more, ranks=1):
        return [HFTRAIN, *self.fixture.flags(os.path.join(self.folder, output), "--max_steps", "6", "--save_strategy",
                                           "no", *more, ranks=ranks)]

    def reference(self, ranks=2, *more):
        self.fixture.call(*self.flags("reference", *more, ranks=ranks)[1:])
        return losses(os.path.join(self.folder, "reference"))

    def front(self, machine, argv, name, **environment):
        return Front(self.machines.inside(machine, argv), {**self.environment, **environment}, self.folder, name)

    def nodes(self, port, index, count=2):
        return ["--nnodes", str(count), "--node_rank", str(index), "--master_addr", self.machines.addresses[0],
                "--master_port", str(port)]

    def pair(self, output, *more, count=2, ranks=1):
        self.port = port = free_port()
        return [self.front(index, self.flags(output, *self.nodes(port, index, count), *more, ranks=ranks),
                           f"{output}-{index}") for index in range(count)]


def scenario_nnodes_train_as_one_machine(scenario):
    reference = scenario.reference()
    first, second = scenario.pair("nnodes")
    codes = first.wait(), second.wait()
    check("--nnodes 2 ends with 0 on both machines", codes == (0, 0), first.text() + second.text())
    check_equal_losses("--nnodes 2", reference, os.path.join(scenario.folder, "nnodes"), first.text())


def scenario_gloo_takes_the_interface_that_each_machine_names(scenario):
    reference, cables = scenario.reference(), scenario.machines.cables

    def pair(output, names):
        port = free_port()
        fronts = [scenario.front(index, scenario.flags(output, *scenario.nodes(port, index)), f"{output}-{index}", GLOO_SOCKET_IFNAME=name)
                  for index, name in enumerate(names)]
        return [front.wait() for front in fronts], "".join(front.text() for front in fronts)

    codes, text = pair("named", cables)
    check("interfaces of different names end with 0 on both machines", codes == [0, 0], text)
    check_equal_losses("interfaces of different names", reference, os.path.join(scenario.folder, "named"), text)
    codes, text = pair("foreign", [cables[0], cables[0]])
    check("an interface that one machine lacks ends with 3 on both", codes == [3, 3], text)
    check("an interface that one machine lacks: named, with those that it has",
          f"there is no network interface '{cables[0]}'" in text and f"{cables[1]} ({scenario.machines.addresses[1]})" in text, text)


def scenario_an_adapter_is_trained_as_on_one_machine(scenario):
    base = os.path.join(scenario.folder, "base")
    scenario.fixture.call(*scenario.flags("base", ranks=1)[1:])
    words = ["--use_peft", "--lora_dropout", "0", "--lora_target_modules", "all-linear", "--save_strategy", "steps", "--save_steps", "3"]

    def flags(output, *more, ranks=1):
        given = scenario.flags(output, *words, *more, ranks=ranks)
        return [HFTRAIN, "--model_name_or_path", base, *given[given.index("--tokenizer_name"):]]

    for name, strategy in (("ddp", []), ("sharded", ["--fsdp", "full_shard auto_wrap"])):
        alone, both = (os.path.join(scenario.folder, f"{name}-{where}") for where in ("alone", "both"))
        scenario.fixture.call(*flags(alone, *strategy, ranks=2)[1:])
        port = free_port()
        pair = [scenario.front(index, flags(both, *scenario.nodes(port, index), *strategy), f"{name}-{index}") for index in range(2)]
        codes, text = [front.wait() for front in pair], "".join(front.text() for front in pair)
        check(f"{name}: an adapter over two machines ends with 0 on both", codes == [0, 0], text)
        check_equal_losses(f"{name}: an adapter over two machines", losses(alone), both, text)
        for place in ("", "checkpoint-3", "checkpoint-6"):
            one, two = (pathlib.Path(output, place, "adapter_model.safetensors").read_bytes() for output in (alone, both))
            check(f"{name}: the adapter {'in ' + place if place else 'at the end'} has the same bits", one == two, text)
        check(f"{name}: two machines had a part in it", "joined node 0" in pair[1].text(), text)


def scenario_mpirun_with_a_remote_agent(scenario):
    if no_mpi():
        skip(no_mpi())
    reference = scenario.reference()
    machines = scenario.machines
    argv = ["mpirun", "--host", ",".join(f"{address}:1" for address in machines.addresses), "-n", "2", "--mca",
            "plm_rsh_agent", machines.remote_shell(scenario.folder), "--mca", "oob_tcp_if_include",
            machines.addresses[0] + "/24", "--mca", "btl_tcp_if_include", machines.addresses[0] + "/24", "--mca", "btl",
            "tcp,self"]
    run = scenario.front(0, argv + scenario.flags("mpirun"), "mpirun")
    check("mpirun over two machines ends with 0", run.wait() == 0, run.text())
    check_equal_losses("mpirun over two machines", reference, os.path.join(scenario.folder, "mpirun"), run.text())


def host_file(scenario, text=None):
    path = os.path.join(scenario.folder, "hostfile")
    pathlib.Path(path).write_text(text or "".join(f"{address} slots=1\n" for address in scenario.machines.addresses))
    return path


def scenario_a_host_file_starts_both(scenario):
    reference = scenario.reference()
    shell = scenario.machines.remote_shell(scenario.folder, keeps_variables=False)
    for name, machine in (("from-first", 0), ("from-second", 1)):
        argv = scenario.flags(name, "--hostfile", host_file(scenario))
        # What counts for a flag here does so on every machine.
        variables = {"TRANSFORMERS_VERBOSITY": "info", "PET_MAX_RESTARTS": "1",
                     "TENSORBOARD_LOGGING_DIR": os.path.join(scenario.folder, "boards")}
        run = scenario.front(machine, argv, name, HFTRAIN_SSH=shell, **variables)
        check(f"a host file {name} ends with 0", run.wait() == 0, run.text())
        check_equal_losses(f"a host file {name}", reference, os.path.join(scenario.folder, name), run.text())


def processes_of(text):
    """Those whose command line holds the text."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if text in (entry / "cmdline").read_bytes().decode(errors="replace"):
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def scenario_a_starter_stops_and_takes_all_with_it(scenario):
    shell = scenario.machines.remote_shell(scenario.folder)
    for name, number in (("stopped", signal.SIGTERM), ("stopped-afar", signal.SIGTERM), ("killed", signal.SIGKILL)):
        # The host file begins with the other machine for one of them: the leader is reached by the shell.
        addresses = scenario.machines.addresses[::-1] if name == "stopped-afar" else scenario.machines.addresses
        text = "".join(f"{address} slots=1\n" for address in addresses)
        argv = scenario.flags(name, "--hostfile", host_file(scenario, text), "--max_steps", "100000")
        run = scenario.front(0, argv, name, HFTRAIN_SSH=shell)
        run.wait_for("loss")
        clock = InTime(BAR_SECONDS)
        run.process.send_signal(number)
        code = run.wait()
        if number == signal.SIGTERM:
            check(f"a starter {name} ends with 143", code == 143, f"{code}\n{run.text()}")
            check(f"a starter {name} has a checkpoint", bool(scenario.fixture.checkpoints(os.path.join(scenario.folder, name))))
        end = time.monotonic() + PATIENCE
        while (left := processes_of(os.path.join(scenario.folder, name))) and time.monotonic() < end:
            time.sleep(0.05)
        check(f"a starter {name} leaves no process", not left, str(left))
        in_time = clock.stop()
        check(f"a starter {name}: all gone within {clock}", in_time)


def scenario_a_starter_that_stops_early_stops_machines_on_their_way(scenario):
    shell, slow = scenario.machines.remote_shell(scenario.folder), os.path.join(scenario.folder, "slow-shell")
    pathlib.Path(slow).write_text(f"#!/bin/sh\nsleep 2\nexec {shell} \"$@\"\n")
    os.chmod(slow, 0o755)
    argv = scenario.flags("early", "--hostfile", host_file(scenario), "--no_ssh_check", "--max_steps", "100000")
    run = scenario.front(0, argv, "early", HFTRAIN_SSH=slow)
    run.wait_for("machine 0 of 2")
    run.process.send_signal(signal.SIGINT)
    code = run.wait()
    check("a starter that is stopped while machines join ends with 10", code == 10, f"{code}\n{run.text()}")
    check("a machine that comes later hears of it", "stopped by SIGINT while looking for node 0" in run.text(), run.text())


def scenario_the_death_of_a_launcher_ends_the_other(scenario):
    for victim in (0, 1):
        pair = scenario.pair(f"death-{victim}", "--max_steps", "100000")
        pair[0].wait_for("loss")
        clock = InTime(BAR_SECONDS)
        pair[victim].process.send_signal(signal.SIGKILL)
        code = pair[1 - victim].wait()
        in_time = clock.stop()
        text = pair[1 - victim].text()
        check(f"with the launcher of machine {victim} killed the other ends with 9", code == 9, f"{code}\n{text}")
        check(f"within {clock}", in_time, text)
        check("and names the machine", f"node {victim} (" in text, text)
        pair[victim].wait()


def timed(name, fronts, codes, parts=("error: ", "why: ", "try: ")):
    clock = InTime(BAR_SECONDS + 1)
    ended = [front.wait(60) for front in fronts]
    in_time = clock.stop()
    text = "".join(front.text() for front in fronts)
    check(f"{name}: ends with {ended}", all(code in codes for code in ended), text)
    check(f"{name}: within {clock}", in_time, text)
    check(f"{name}: says {', '.join(parts)}", all(part in text for part in parts), text)
    return text


def scenario_wrong_starts_are_named_in_time(scenario):
    addresses = scenario.machines.addresses
    port = free_port()
    flags = ["--nnodes", "2", "--node_rank", "1", "--master_port", str(port)]
    timed("a master that no name server knows",
          [scenario.front(1, scenario.flags("name", *flags, "--master_addr", "no-such-machine.invalid"), "name")], (3,))
    timed("node 0 under a name that nobody knows",
          [scenario.front(0, scenario.flags("own", "--nnodes", "2", "--node_rank", "0", "--master_port", str(port),
                                      "--master_addr", "no-such-machine.invalid"), "own")], (3,))
    timed("a master that is not there",
          [scenario.front(1, scenario.flags("dead", *flags, "--master_addr", addresses[0]), "dead")], (3,))
    holder = scenario.front(0, [sys.executable, "-c", "import socket,time; s=socket.socket(); "
                             f"s.bind(('', {port})); s.listen(); print('up', flush=True); time.sleep(600)"], "holder")
    holder.wait_for("up")
    text = timed("a port in use", [scenario.front(0, scenario.flags("port", *scenario.nodes(port, 0)), "port")], (3,))
    check("a port in use: named", f"cannot listen on port {port}" in text, text)
    holder.process.kill()
    holder.wait()

    port = free_port()
    pair = [scenario.front(0, scenario.flags("differ", *scenario.nodes(port, 0)), "differ-0"),
            scenario.front(1, scenario.flags("differ", *scenario.nodes(port, 1), "--seed", "7"), "differ-1")]
    text = timed("another argument on one machine", pair, (2,))
    check("another argument on one machine: named", "seed" in text, text)

    hosts = host_file(scenario, "".join(f"{address} slots=2\n" for address in addresses))
    started = ["--hostfile", hosts, "--no_ssh", "--include", f"{addresses[0]}:0@{addresses[1]}:0,1", "--gpu_ids", "1",
               "--master_port", str(free_port())]
    pair = []
    for index in range(2):
        argv = scenario.flags("slots", *started, "--node_rank", str(index))
        argv.remove("--use_cpu")
        ranks = argv.index("--nproc_per_node")
        pair.append(scenario.front(index, argv[:ranks] + argv[ranks + 2:], f"slots-{index}"))
    text = timed("a GPU that one machine's slots lack", pair, (2,))
    check("a GPU that one machine's slots lack: named", "there is no GPU '1'" in text, text)

    for name, numbers, said in (("ranks that one machine's slots contradict", (0, 1), "say two different things"),
                                ("a number that is not in the host file", (0, 2), "node_rank 2 is not in the host file")):
        started = ["--hostfile", hosts, "--no_ssh", "--master_port", str(free_port())]
        if numbers == (0, 1):
            started += ["--include", f"{addresses[0]}:0@{addresses[1]}:0,1"]
        pair = [scenario.front(index, scenario.flags("numbers", *started, "--node_rank", str(number)), f"numbers-{numbers[1]}-{index}")
                for index, number in enumerate(numbers)]
        text = timed(name, pair, (2,))
        check(f"{name}: named", said in text, text)

    shell = scenario.machines.remote_shell(scenario.folder)
    for name, content, codes, said in (("malformed", "worker-0 slots=four\n", (2,), "hostfile:1"),
                                       ("a dead machine", f"{addresses[0]} slots=1\n10.255.255.254 slots=1\n", (2, 3),
                                        "10.255.255.254")):
        argv = scenario.flags("hosts", "--hostfile", host_file(scenario, content))
        text = timed(f"host file, {name}", [scenario.front(0, argv, "hosts", HFTRAIN_SSH=shell)], codes)
        check(f"host file, {name}: named", said in text, text)


def tell(scenarios):
    """Those that the command line names, or all: functions whose names begin with scenario_, each on two machines or on as many
    as its attribute says."""
    def run(name, scenario):
        print(f"-- {name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="hftrain-machines-") as folder, \
                Machines(getattr(scenario, "machines", 2)) as machines:
            scenario(Scenario(machines, folder))

    runs.tell({name: value for name, value in scenarios.items() if name.startswith("scenario_")}, sys.argv[1:], run)


if __name__ == "__main__":
    tell(globals())
