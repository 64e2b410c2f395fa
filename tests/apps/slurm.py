#!/usr/bin/env python3
"""Runs under a real srun: a Slurm of one node, made for the test in a folder of its own and taken down after it.

  slurm.py [SCENARIO]…     all of them without a word

Needs root, and slurmctld, slurmd, srun and scancel (Debian: slurmctld, slurmd, slurm-client); says SKIPPED without. Nobody else is asked
for who he is (auth/none), so no munge has to run; the daemons listen at ports of their own and end with the test.
"""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import processes_of, send
from machines import check, check_equal_losses, losses
from runs import HFTRAIN, PATIENCE, Fixture, free_port, skip, tell

PROGRAMS = ("slurmctld", "slurmd", "srun", "scancel", "sinfo")
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
ReturnToService=2
FirstJobId={job}
KillWait=60
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """Its controller and its one node, of four cores whatever the machine has."""

    def __init__(self, folder):
        if missing := [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]:
            skip(f"there is no {missing[0]} (Debian: slurmctld, slurmd, slurm-client)")
        if os.getuid() != 0:
            skip("a Slurm of one's own needs root")
        self.folder = os.path.join(folder, "slurm")
        for name in ("state", "spool"):
            os.makedirs(os.path.join(self.folder, name))
        self.host = socket.gethostname().split(".")[0]
        path = os.path.join(self.folder, "slurm.conf")
        with open(path, "w") as file:
            file.write(CONFIGURATION.format(host=self.host, folder=self.folder, controller=free_port(), node=free_port(),
                                            job=os.getpid()))  # steps meet at a port made from its number
        self.environment = {"SLURM_CONF": path, "PATH": os.environ["PATH"] + ":/usr/sbin"}
        self.daemons = []

    def __enter__(self):
        for words in (["slurmctld", "-D", "-i"], ["slurmd", "-D", "-N", self.host]):
            self.daemons.append(subprocess.Popen(words, env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL, start_new_session=True))
        end = time.monotonic() + PATIENCE
        while self.asked("sinfo", "-h", "-o", "%t").split() != ["idle"]:  # "idle*" is a node that does not answer
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons):
                text = self.logs()
                self.__exit__()
                raise SystemExit(f"FAILED: the node does not come up\n{text}")
            time.sleep(0.1)
        return self

    def __exit__(self, *unused):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def asked(self, *words):
        return subprocess.run(words, env={**os.environ, **self.environment}, text=True, capture_output=True).stdout

    def logs(self):
        text = ""
        for path in glob.glob(os.path.join(self.folder, "*.log")):
            with open(path) as file:
                text += f"{path}:\n{file.read()[-3000:]}\n"
        return text


class Srun:
    """`srun -n TASKS hftrain`, with what it says in a file."""

    def __init__(self, fixture, slurm, name, tasks, *flags, srun=()):
        self.output = os.path.join(fixture.folder, name)
        words = fixture.flags(self.output, *flags)
        at = words.index("--nproc_per_node")  # srun says how many
        self.path = self.output + ".said"
        with open(self.path, "w") as said:
            self.process = subprocess.Popen(["srun", "-n", str(tasks), *srun, HFTRAIN, *words[:at], *words[at + 2:]], stdout=said, stderr=said,
                                            env={**fixture.environment, **slurm.environment}, stdin=subprocess.DEVNULL)

    def text(self):
        with open(self.path) as file:
            return file.read()

    def end(self):
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SystemExit(f"FAILED: srun did not end\n{self.text()}")

    def wait_for(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.text():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"FAILED: it never said {text!r}\n{self.text()}")
            time.sleep(0.05)


SHORT = ("--max_steps", 6, "--save_strategy", "no", "--per_device_train_batch_size", 2)
LONG = ("--max_steps", 100000, "--save_strategy", "no")


def scenario_tasks_are_ranks_of_one_job(fixture, slurm):
    for tasks, more in ((2, ()), (4, ()), (2, ("--fsdp", "full_shard"))):
        name = "-".join(["ranks", str(tasks), *more[1:]])
        fixture.call(*fixture.flags(os.path.join(fixture.folder, name + "-here"), *SHORT, *more, ranks=tasks))
        run = Srun(fixture, slurm, name, tasks, *SHORT, *more)
        code = run.end()
        check(f"srun -n {tasks} {' '.join(more)} ends with 0", code == 0, f"{code}\n{run.text()}\n{slurm.logs()}")
        check("as one job", f"as rank 0 of {tasks} " in run.text(), run.text())
        check_equal_losses(name, losses(os.path.join(fixture.folder, name + "-here")), run.output, run.text())


def scenario_a_cancelled_job_saves(fixture, slurm):
    run = Srun(fixture, slurm, "cancelled", 2, *LONG)
    run.wait_for("'loss'")
    slurm.asked("scancel", "--user=root")
    code = run.end()
    check("scancel saves and ends with 143", code == 143 and fixture.checkpoints(run.output), f"{code}\n{run.text()}")
    step = fixture.checkpoints(run.output)[-1]
    fixture.call("checkpoint", "verify", os.path.join(run.output, f"checkpoint-{step}"))
    check("no process is left", not processes_of(run.output), run.text())


def scenario_a_lost_rank_ends_the_job_and_is_named(fixture, slurm):
    run = Srun(fixture, slurm, "lost", 2, *LONG)
    run.wait_for("'loss'")
    workers = {rank: pid for pid, rank in processes_of(run.output).items()}
    send(workers[1], signal.SIGKILL)
    code = run.end()
    check("a killed rank: srun ends with 9", code == 9, f"{code}\n{run.text()}")
    check("and its rank is named", "error: rank 1 was killed by SIGKILL" in run.text(), run.text())
    check("no process is left", not processes_of(run.output), run.text())


def main():
    scenarios = {name.removeprefix("scenario_"): scenario for name, scenario in globals().items() if name.startswith("scenario_")}
    with tempfile.TemporaryDirectory(prefix="hftrain-slurm-") as folder, Slurm(folder) as slurm:
        fixture = Fixture(folder)
        tell(scenarios, sys.argv[1:], lambda name, scenario: scenario(fixture, slurm))


if __name__ == "__main__":
    main()
