"""Many agents on one machine: how long they take to meet, and what agent 0 needs while they run.

Every agent is build/bin/dummy_agent, a front program of a job of several with the whole of launcher/control, and starts
one build/bin/dummy_worker, which finishes an update every 100 ms. Agent 0 is looked at from outside: resident memory and
processor time by /proc, what it says by its output. A job in which an agent is lost ends by itself with code 9: that is a
failure, as is any other code than 143 after the SIGTERM at the end. Needs some 10 GB for 1,000 agents.

Usage: python3 scripts/bench/agents.py [--agents 1000] [--seconds 60] [--secret]
"""
import argparse
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ.get("HFTRAIN_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build")) / "bin"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Leader:
    """Agent 0 and the lines it has said, with the time of each."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), line.rstrip("\n")))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def time_of(self, count, start, seconds):
        """When so many lines beginning with `start` had been said."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                times = [when for when, line in self.lines if line.startswith(start)]
                if len(times) >= count:
                    return times[count - 1]
                left = deadline - time.monotonic()
                if left <= 0 or self.process.poll() is not None:
                    sys.exit(f"only {len(times)} of {count} lines '{start}':\n" + "\n".join(l for _, l in self.lines[-20:]))
                self.changed.wait(min(left, 0.5))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--secret", action="store_true", help="the agents prove to each other that they know a secret")
    options = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    environment = dict(os.environ)
    if options.secret:
        environment["HFTRAIN_JOB_SECRET"] = os.urandom(16).hex()
    port = str(free_port())
    with tempfile.TemporaryDirectory() as folder:
        def command(agent):
            return [str(BUILD / "dummy_agent"), str(BUILD / "dummy_worker"), folder, str(options.agents), str(agent), "127.0.0.1",
                    port, "600", "b1", "a=b", "each answer save-on-stop:143 ready steps:100"]
        begin = time.monotonic()
        leader = Leader(command(0), environment)
        followers = [subprocess.Popen(command(agent), env=environment, stdout=subprocess.DEVNULL)
                     for agent in range(1, options.agents)]
        started = time.monotonic()
        gathered = leader.time_of(1, "gathered", 600)
        print(f"{options.agents} agents were started in {started - begin:.1f} s", flush=True)
        print(f"meeting: {gathered - begin:.1f} s from the first start, {gathered - started:.1f} s from the last", flush=True)
        ready = leader.time_of(options.agents, "ready", 600)
        print(f"all ranks ready {ready - gathered:.1f} s later", flush=True)
        pid = leader.process.pid
        time.sleep(5)
        memory, cpu, at = [resident_mib(pid)], cpu_seconds(pid), time.monotonic()
        while time.monotonic() < at + options.seconds and leader.process.poll() is None:
            time.sleep(1)
            memory.append(resident_mib(pid))
        if leader.process.poll() is not None:
            sys.exit("agent 0 has ended:\n" + "\n".join(line for _, line in leader.lines[-20:]))
        seconds = time.monotonic() - at
        share = (cpu_seconds(pid) - cpu) / seconds
        print(f"agent 0 over {seconds:.0f} s: resident {memory[0]:.1f} MiB at first, {memory[-1]:.1f} at last, "
              f"{max(memory):.1f} at most; {share:.2f} of a core", flush=True)
        stopped = time.monotonic()
        leader.process.send_signal(signal.SIGTERM)
        codes = [leader.process.wait(timeout=120)] + [follower.wait(timeout=120) for follower in followers]
        print(f"ended {time.monotonic() - stopped:.1f} s after SIGTERM, {sum(code == 143 for code in codes)} of "
              f"{options.agents} with 143")
        lost = [line for _, line in leader.lines if "lost" in line]
        print(f"agents lost: {len(lost)}")
        if lost or any(code != 143 for code in codes):
            sys.exit(f"failed: codes {sorted(set(codes))}\n" + "\n".join(lost[:10]))


if __name__ == "__main__":
    main()
