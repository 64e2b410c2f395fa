"""Faults of whole runs over machines that are network namespaces (machines.py): dead and stopped ranks, cut networks.

    machine_faults.py SCENARIO…      one or more of the functions below whose names begin with scenario_; without a name all
"""
import json
import os
import signal
import subprocess
import sys
import time

import faults
from machines import BAR_SECONDS, check, losses, processes_of, tell, timed
from node_folders import outputs
from runs import BUILD, InTime, free_port


class Disturbed:
    """A run of one rank per machine that trains."""

    def __init__(self, scenario, name, *more):
        self.output = os.path.join(scenario.folder, name)
        self.fronts = scenario.pair(name, *more)
        self.fronts[0].wait_for("loss")
        deadline = time.monotonic() + 60
        self.workers = {}
        while len(self.workers) < len(self.fronts) and time.monotonic() < deadline:
            self.workers = {rank: pid for pid, rank in faults.processes_of(self.output).items()}
        check(f"{name}: ranks train on both machines", len(self.workers) == len(self.fronts), self.text())

    def text(self):
        return "".join(front.text() for front in self.fronts)

    def codes(self, seconds=120):
        return [front.wait(seconds) for front in self.fronts]


def scenario_a_killed_rank_of_any_machine_starts_all_again(scenario):
    flags = [*faults.FLAGS, "--max_steps", "96"]  # so many that a rank is found before they are over
    straight = scenario.pair("straight", *flags)
    check("an undisturbed run ends with 0", [front.wait() for front in straight] == [0, 0], straight[0].text())
    expected = faults.losses(os.path.join(scenario.folder, "straight"))
    for rank in (0, 1):
        run = Disturbed(scenario, f"kill-{rank}", *flags, "--max_restarts", "1")
        faults.send(run.workers[rank], signal.SIGKILL)
        codes = run.codes()
        check(f"rank {rank} killed: both machines end with 0", codes == [0, 0], f"{codes}\n{run.text()}")
        said = f"error: rank {rank} was killed by SIGKILL" in run.text() and "restart 1 of 1" in run.text()
        check(f"rank {rank} killed: named, and all started again", said, run.text())
        same = faults.losses(run.output) == expected
        check(f"rank {rank} killed: the losses of the undisturbed run", same, run.text())


def scenario_a_killed_rank_leaves_no_part_of_a_save_on_any_machine(scenario):
    places, port = outputs(scenario, "unfinished"), free_port()
    fronts = [scenario.front(index, scenario.flags(place, *scenario.nodes(port, index), *faults.FLAGS, "--max_steps", "96", "--max_restarts", "1", "--save_on_each_node"), f"unfinished-{index}")
              for index, place in enumerate(places)]
    fronts[0].wait_for("loss")
    begun = [f"{place}/.checkpoint-7.tmp-1-1" for place in places]  # as a save that a rank did not finish
    for folder in begun:
        os.mkdir(folder)
    deadline = time.monotonic() + 60
    while not (workers := faults.processes_of(places[1])) and time.monotonic() < deadline:
        time.sleep(0.1)
    faults.send(next(iter(workers)), signal.SIGKILL)
    codes, text = [front.wait(120) for front in fronts], "".join(front.text() for front in fronts)
    check("a save that was not finished: both machines end with 0", codes == [0, 0] and "restart 1 of 1" in text, f"{codes}\n{text}")
    check("a save that was not finished: gone from both", all(f"removed {folder}, left behind by" in text and not os.path.exists(folder) for folder in begun), text)


def open_pipe(path, seconds=60):
    """For writing, once somebody reads."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(descriptor, True)
            return os.fdopen(descriptor, "wb")
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nobody reads {path}")


def scenario_a_long_look_at_a_checkpoint_loses_no_machine(scenario):
    run = Disturbed(scenario, "look", "--max_steps", "600", "--save_strategy", "steps", "--save_steps", "300", "--max_restarts", "1")
    run.fronts[0].wait_for("checkpoint-300 ")
    manifest = os.path.join(run.output, "checkpoint-300", "manifest.json")
    os.rename(manifest, manifest + ".kept")
    os.mkfifo(manifest)
    faults.send(run.workers[1], signal.SIGKILL)
    with open_pipe(manifest) as pipe:  # the leader verifies what it goes on from
        os.rename(manifest + ".kept", manifest)
        time.sleep(BAR_SECONDS)  # a large checkpoint, or a slow disk
        with open(manifest, "rb") as file:
            pipe.write(file.read())
    codes = run.codes()
    check("a long look: both machines end with 0", codes == [0, 0], f"{codes}\n{run.text()}")
    check("a long look: started again from that checkpoint", "checkpoint-300 (restart 1 of 1)" in run.text(), run.text())


SLOW_SECONDS = 12  # longer than a silence that ends a job of two


def scenario_a_file_system_that_hangs_before_training_loses_no_machine(scenario):
    shim = BUILD / "lib" / "libslow_statvfs.so"
    slow = {"LD_PRELOAD": str(shim), "SLOW_PLACE": scenario.folder, "SLOW_SECONDS": str(SLOW_SECONDS)}
    port = free_port()
    flags = [scenario.flags("slow", *scenario.nodes(port, index)) for index in (0, 1)]
    begin = time.monotonic()
    fronts = [scenario.front(0, flags[0], "slow-0", **slow), scenario.front(1, flags[1], "slow-1")]
    codes = [front.wait() for front in fronts]
    text = "".join(front.text() for front in fronts)
    check("a file system that hangs: it did", time.monotonic() - begin > SLOW_SECONDS, text)
    check("a file system that hangs: both machines end with 0", codes == [0, 0], f"{codes}\n{text}")


def scenario_a_dead_machine_is_not_waited_for_by_a_restart(scenario):
    run = Disturbed(scenario, "dead", "--max_steps", "100000", "--max_restarts", "3")
    clock = InTime(BAR_SECONDS)
    run.fronts[1].process.send_signal(signal.SIGKILL)
    code = run.fronts[0].wait()
    in_time = clock.stop()
    text = run.fronts[0].text()
    check("a dead machine: the other ends with 9 whatever --max_restarts is", code == 9, f"{code}\n{text}")
    check(f"a dead machine: within {clock}", in_time, text)
    check("a dead machine: says why it does not start again",
          "error: node 1 (" in text and "not started again: a node is gone" in text, text)
    run.fronts[1].wait()


def scenario_a_stopped_rank_of_another_machine_is_found(scenario):
    run = Disturbed(scenario, "stopped", "--max_steps", "100000", "--ddp_timeout", "5", "--save_strategy", "no")
    faults.send(run.workers[1], signal.SIGSTOP)
    codes = run.codes()
    text = run.fronts[0].text()
    check("a stopped rank: both end with 9", codes == [9, 9], f"{codes}\n{run.text()}")
    check("a stopped rank: named with its node, state and update", all(part in text for part in (
        "error: rank 1 hangs: its process was stopped", "node 1 (", "stopped (state T)", "after update")), text)
    record = faults.newest_error(run.output)
    check("a stopped rank: error.json has both ranks' states and operations", record["rank"] == 1
          and record["ranks"][1]["process"] == "stopped (state T)"
          and all(rank["status"]["operations"] > 0 for rank in record["ranks"]), str(record))


def ends_on_both_sides(scenario, name, fault):
    run = Disturbed(scenario, name, "--max_steps", "100000")
    machines = scenario.machines
    clock = InTime(BAR_SECONDS + 2)
    machines.ip(*fault(machines))
    codes = run.codes()
    in_time = clock.stop()
    check(f"{name}: both end with 9", codes == [9, 9], f"{codes}\n{run.text()}")
    check(f"{name}: within {clock}", in_time, run.text())
    for here, there in ((0, 1), (1, 0)):
        check(f"{name}: machine {here} names the other", f"error: node {there} (" in run.fronts[here].text()
              and "was lost" in run.fronts[here].text(), run.fronts[here].text())
    left = processes_of(run.output)
    check(f"{name}: no process is left", not left, str(left))


def scenario_a_cut_cable_ends_both_sides(scenario):
    ends_on_both_sides(scenario, "cut", lambda m: ("-n", m.switch, "link", "set", m.ports[1], "down"))


def swallow(machines, index):
    """Nothing that this machine sends arrives any more; it still hears the others."""
    return ("netns", "exec", machines.names[index], "tc", "qdisc", "add", "dev", machines.cables[index], "root",
            "blackhole")


def scenario_a_machine_that_is_no_longer_heard_ends_both_sides(scenario):
    ends_on_both_sides(scenario, "mute", lambda m: swallow(m, 1))


def scenario_a_leader_that_is_no_longer_heard_ends_both_sides(scenario):
    ends_on_both_sides(scenario, "mute-leader", lambda m: swallow(m, 0))


LISTEN = "0A"  # a state of /proc/net/tcp


def listening_addresses(machines, index, port):
    """Where a port is open on a machine, as the kernel's tables have it: little-endian hexadecimal, zeros for everywhere."""
    addresses = []
    for table in ("tcp", "tcp6"):
        text = subprocess.run(machines.inside(index, ["cat", f"/proc/net/{table}"]), capture_output=True, text=True,
                              check=True).stdout
        for line in text.splitlines()[1:]:
            fields = line.split()
            address, number = fields[1].rsplit(":", 1)
            if fields[3] == LISTEN and int(number, 16) == port:
                addresses.append(address)
    return addresses


def listening_beside(pid):
    """(Address, port) of everything that any process of this one's machine listens at, as the kernel's tables have it."""
    found = set()
    try:
        if os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            return found  # `ip netns exec` is still on its way there
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}") as file:
                for fields in (line.split() for line in file.readlines()[1:]):
                    if fields[3] == LISTEN:
                        found.add(tuple(fields[1].rsplit(":", 1)))
    except OSError:
        pass  # it has ended
    return found


def scenario_without_a_secret_no_port_is_open_everywhere(scenario):
    machines = scenario.machines
    own = [''.join(f"{int(part):02X}" for part in reversed(address.split("."))) for address in machines.addresses]
    port = free_port()
    flags = [scenario.flags("doors", *scenario.nodes(port, index)) for index in (0, 1)]
    fronts, seen = [scenario.front(0, flags[0], "doors-0")], [set(), set()]
    begin = time.monotonic()
    while any(front.process.poll() is None for front in fronts) or len(fronts) < 2:
        for index, front in enumerate(fronts):
            seen[index] |= listening_beside(front.process.pid)
        waited = seen[0] and time.monotonic() - begin > 1  # for the other, with whatever it has open
        if len(fronts) == 1 and (waited or fronts[0].process.poll() is not None):
            fronts.append(scenario.front(1, flags[1], "doors-1"))
        time.sleep(0.001)
    text = "".join(front.text() for front in fronts)
    check("doors: both machines end with 0", [front.wait() for front in fronts] == [0, 0], text)
    check("doors: the port of the job was seen", (own[0], f"{port:04X}") in seen[0], str(seen))
    # Open as long as ranks run: their store, and the transport of each.
    check("doors: those of ranks too", len(seen[0]) > 2 and len(seen[1]) > 0, str(seen))
    for index in (0, 1):
        check(f"doors: machine {index} listens at its own address alone", {address for address, _ in seen[index]} <= {own[index]},
              str(seen))


def scenario_agents_of_one_machine_leave_no_port_of_the_test_open(scenario):
    port, output = free_port(), os.path.join(scenario.folder, "beside")
    fronts = [scenario.front(0, scenario.flags(output, *scenario.nodes(port, index), "--max_steps", "100000"), f"beside-{index}") for index in (0, 1)]
    fronts[0].wait_for("loss")
    listening = listening_beside(fronts[0].process.pid)
    for front in fronts:
        front.process.send_signal(signal.SIGTERM)
    text = "".join(front.text() for front in fronts)
    check("beside: both end with 143", [front.wait() for front in fronts] == [143, 143], text)
    check("beside: the port of the job and the store of the ranks are open, no other", len(listening) == 2, str(listening))


def another_network(machines, number):
    """Addresses of all machines on the same cables."""
    addresses = [f"172.{31 - number}.{os.getpid() % 256}.{index + 1}" for index in range(len(machines.names))]
    for name, cable, address in zip(machines.names, machines.cables, addresses):
        machines.ip("-n", name, "addr", "add", f"{address}/24", "dev", cable)
    return addresses


def is_open(machines, index, address, port):
    program = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)"
    return subprocess.run(machines.inside(index, [sys.executable, "-c", program, address, port]), capture_output=True).returncode == 0


def scenario_ranks_that_meet_at_two_addresses_leave_a_third_closed(scenario):
    machines = scenario.machines
    first, second, third = machines.addresses, another_network(machines, 0), another_network(machines, 1)
    port, output = free_port(), os.path.join(scenario.folder, "addresses")
    fronts = []
    for index, leader in enumerate((first[0], first[0], second[0])):
        nodes = ["--nnodes", "3", "--node_rank", str(index), "--master_addr", leader, "--master_port", str(port)]
        flags = scenario.flags("addresses", *nodes, "--max_steps", "100000")
        fronts.append(scenario.front(index, flags, f"addresses-{index}", HFTRAIN_JOB_SECRET="which all of them know"))
    fronts[0].wait_for("loss")
    worker = next(pid for pid, rank in faults.processes_of(output).items() if rank == 0)
    with open(f"/proc/{worker}/environ", "rb") as file:
        store = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)[b"MASTER_PORT"].decode()
    text = "".join(front.text() for front in fronts)
    for index, address, expected in ((1, first[0], True), (2, second[0], True), (1, third[0], False), (0, "127.0.0.1", False)):
        check(f"two addresses: the store is {'open' if expected else 'closed'} at {address}",
              is_open(machines, index, address, store) == expected, text)
    fronts[0].process.send_signal(signal.SIGTERM)
    codes = [front.wait() for front in fronts]
    check("two addresses: all machines save and end with 143", codes == [143] * 3, f"{codes}\n{text}")


scenario_ranks_that_meet_at_two_addresses_leave_a_third_closed.machines = 3


def scenario_strangers_at_the_port_of_a_run_are_refused(scenario):
    machines = scenario.machines
    # Refused strangers are warnings: that level still tells of them.
    run = Disturbed(scenario, "strangers", "--max_steps", "100000", "--save_strategy", "no", "--log_level", "warning")
    host = machines.addresses[0]
    own = "".join(f"{int(part):02X}" for part in reversed(host.split(".")))
    open_at = listening_addresses(machines, 0, scenario.port)
    check("without a secret the port is open at the address of --master_addr alone", open_at == [own], str(open_at))
    hello = json.dumps({"message": "hello", "job_id": "", "agent": 1, "agents": 2, "host": "intruder", "version": "0",
                        "build": "0"})
    said = (f"hftrain 1 {'0' * 32} - {hello}", "[" * 100_000, "GET / HTTP/1.1", hello)
    # A stranger may be shut out before it has said all: that ends its visit, at whatever call it is.
    program = ("import json, socket, sys\nfor text in json.load(sys.stdin):\n" +
               "    s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.settimeout(20)\n"
               "    try:\n        s.recv(4096); s.sendall(text.encode() + b'\\n')\n"
               "        while s.recv(4096): pass\n    except ConnectionError: pass\n")
    subprocess.run(machines.inside(1, [sys.executable, "-c", program, host, str(scenario.port)]), check=True, timeout=120,
                   input=json.dumps(said), text=True)
    before = len(losses(run.output))
    deadline = time.monotonic() + 60
    while len(losses(run.output)) < before + 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    check("strangers: training goes on", len(losses(run.output)) >= before + 3, run.text())
    run.fronts[0].process.send_signal(signal.SIGTERM)
    codes = run.codes()
    text = run.fronts[0].text()
    check("strangers: both machines save and end with 143", codes == [143, 143], f"{codes}\n{run.text()}")
    check("strangers: refused and logged", f"refused a connection from {machines.addresses[1]}: all nodes of this job have come"
          in text, text)


def scenario_a_machine_is_reached_by_its_local_address(scenario):
    machines = scenario.machines
    first, second = machines.addresses, another_network(machines, 0)
    # Without the flag machine 0 would listen at first[0], and machine 1 would come from the network of second[0].
    listening, coming = free_port(), free_port()
    for what, port, known, ways in (
            ("of agent 0", listening, second, ((first[0], second[0]), (second[0], ""))),
            ("of a follower", coming, (second[0], first[1]), ((second[0], ""), (second[0], first[1])))):
        fronts = []
        for index, (leader, local) in enumerate(ways):
            nodes = ["--nnodes", "2", "--node_rank", str(index), "--master_addr", leader, "--master_port", str(port),
                     "--rdzv_conf", "join_timeout=60", *(["--local_addr", local] if local else [])]
            flags = scenario.flags(f"local-{port}", *nodes, "--max_steps", "3", "--save_strategy", "no")
            fronts.append(scenario.front(index, flags, f"local-{port}-{index}"))
        codes = [front.wait() for front in fronts]
        text = fronts[0].text()
        check(f"--local_addr {what}: both machines train", codes == [0, 0], text + fronts[1].text())
        check(f"--local_addr {what}: the machines are known by it", all(f"{address} on" in text for address in known), text)
    bad = scenario.front(1, scenario.flags("nowhere", "--nnodes", "2", "--node_rank", "1", "--master_addr", second[0],
                                     "--local_addr", "10.255.255.1", "--rdzv_conf", "join_timeout=1"), "nowhere")
    check("--local_addr of no interface: code 3", bad.wait() == 3 and "10.255.255.1" in bad.text(), bad.text())


def scenario_followers_that_cannot_reach_each_other_are_named(scenario):
    machines = scenario.machines
    for index in (1, 2):  # isolated ports of a bridge reach all but each other
        machines.ip("netns", "exec", machines.switch, "bridge", "link", "set", "dev", machines.ports[index],
                    "isolated", "on")
    text = timed("two machines apart", scenario.pair("apart", count=3), (3,))
    check("two machines apart: named as a pair", "error: node 1 (" in text and "and node 2 (" in text
          and "cannot reach each other" in text, text)
    check("two machines apart: with both addresses", f"from {machines.addresses[1]} on" in text
          and f"to {machines.addresses[2]} on" in text, text)


scenario_followers_that_cannot_reach_each_other_are_named.machines = 3


def scenario_an_output_folder_that_is_not_shared_is_refused(scenario):
    output = os.path.join(scenario.folder, "folder")
    os.mkdir(output)
    mine, other = (scenario.flags("folder", *scenario.nodes(29500, index), "--save_strategy", "steps") for index in (0, 1))
    alone = ["sh", "-c", f"mount -t tmpfs none {output} && exec \"$@\"", "sh", *other]
    fronts = [scenario.front(0, mine, "folder-0"), scenario.front(1, alone, "folder-1")]
    text = timed("an own output folder", fronts, (3,))
    check("an own output folder: named with its node", "the output folder is not one folder on all nodes" in text
          and output in text and "node 1 (" in text, text)


MISTAKES = {"an unknown flag": (["--learning_rat", "1"], 2, "--learning_rat"),
            "no configuration": (["--config", "/no/such/run.yaml"], 2, "/no/such/run.yaml"),
            "no tokenizer": (["--tokenizer_name", "/no/such/folder"], 4, "/no/such/folder")}


def scenario_an_invalid_machine_is_named_to_all(scenario):
    for invalid in ((0,), (1,), (0, 1)):
        for what, (flags, code, said) in MISTAKES.items():
            name = f"{what} on {' and '.join(map(str, invalid))}"
            more = [flags if index in invalid else [] for index in (0, 1)]
            fronts = [scenario.front(index, scenario.flags("invalid", *scenario.nodes(29500, index), *more[index]),
                                  f"invalid-{index}") for index in (0, 1)]
            text = timed(name, fronts, (code,), ("error: ",))
            check(f"{name}: the leader says it", said in fronts[0].text(), text)
            check(f"{name}: and of which node", 0 in invalid or "on node 1 (" in fronts[0].text(), text)
            what = next(line for line in fronts[invalid[0]].text().splitlines() if line.startswith("error: "))
            check(f"{name}: both say what", all(what in front.text() for front in fronts), text)


if __name__ == "__main__":
    tell(globals())
