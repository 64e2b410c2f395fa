"""A stand-in for the built program, for can_fail.py: it "trains" by counting, takes signals, restarts and resumes as hftrain
says that it does, and has the one defect that STAND_IN_DEFECT names, if any. Fronts of one job meet in its output folder.

  hftrain sample-data… | tokenizer… | checkpoint verify FOLDER | FLAGS of a run
"""
import json
import os
import signal
import subprocess
import sys
import time

DEFECT = os.environ.get("STAND_IN_DEFECT", "")
STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
STOPPED = 143  # what a worker that was asked to stop ends with


def worker(output):
    """Waits to be asked to stop, and does not outlive its front."""
    front = os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(STOPPED))
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN if DEFECT == "ignores signals" else lambda *_: os._exit(STOPPED))
    while os.getppid() == front or DEFECT == "leaves workers behind":
        time.sleep(0.02)


class Flags:
    def __init__(self, words):
        self.words = words

    def get(self, name, default=None):
        """The last value of a flag."""
        values = [value for word, value in zip(self.words, self.words[1:]) if word == name]
        return values[-1] if values else default


class Front:
    def __init__(self, flags):
        self.output = flags.get("--output_dir")
        self.last = int(flags.get("--max_steps"))
        self.over_since = None
        self.restarts = int(flags.get("--max_restarts", 0))
        under_mpirun = "OMPI_COMM_WORLD_RANK" in os.environ
        self.number = int(os.environ["OMPI_COMM_WORLD_RANK"]) if under_mpirun else int(flags.get("--node_rank", 0))
        self.own_ranks = 1 if under_mpirun else int(flags.get("--nproc_per_node", 1))
        self.folder = os.path.join(self.output, "hftrain")
        os.makedirs(self.folder, exist_ok=True)
        self.stop_code = 0
        self.workers, self.attempt, self.step = {}, 0, 0

    def say(self, text):
        if self.number == 0:
            print(text, file=sys.stderr, flush=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def checkpoints(self):
        return sorted(int(name.split("-")[1]) for name in os.listdir(self.output) if name.startswith("checkpoint-"))

    def start_workers(self):
        plan = self.path("plan.json")
        for rank in range(self.number * self.own_ranks, (self.number + 1) * self.own_ranks):
            self.workers[rank] = subprocess.Popen(
                ["bash", "-c", 'exec -a hftrain-worker "$0" "$@"', os.readlink("/proc/self/exe"), __file__, "worker", plan],
                env={**os.environ, "RANK": str(rank)}, start_new_session=True)
        self.step = 0
        if self.checkpoints() and DEFECT != "starts from scratch":
            self.step = self.checkpoints()[-1]
            self.say(f"continuing from {self.output}/checkpoint-{self.step} at step {self.step}")

    def save(self, step):
        os.makedirs(os.path.join(self.output, f"checkpoint-{step}"), exist_ok=True)
        with open(os.path.join(self.output, f"checkpoint-{step}", "whole"), "w"):
            pass

    def train_one(self):
        self.step += 1
        loss = 1 / self.step + (self.attempt if DEFECT == "goes on with other losses" else 0)
        with open(self.path("log.jsonl"), "a") as file:
            file.write(json.dumps({"step": self.step, "loss": loss}) + "\n")
        self.say(f"{{'loss': {loss}}}")
        if self.step % 5 == 0:  # with that defect never of the last update
            self.save(self.step - (DEFECT == "saves nothing when it is stopped"))

    def killed(self):
        for rank, process in self.workers.items():
            code = process.poll()
            if code == -signal.SIGKILL and DEFECT != "does not notice a killed rank":
                return rank
            if code == STOPPED:
                self.stop_code = self.stop_code or STOPPED
        return None

    def name_killed(self, rank):
        rank = rank + 1 if DEFECT == "names another rank" else rank
        folder = self.path("ranks", str(self.attempt), str(rank))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "error.json"), "w") as file:
            json.dump({"rank": rank, "signal": 9, "last_seen": {"phase": "training"}}, file)
        print(f"error: rank {rank} was killed by SIGKILL", file=sys.stderr, flush=True)

    def tell(self, what, code):
        """The other fronts."""
        with open(self.path(f"{what}.{self.number}"), "w") as file:
            file.write(str(code))
        os.replace(self.path(f"{what}.{self.number}"), self.path(what))

    def told(self, what):
        if not os.path.exists(self.path(what)):
            return None
        with open(self.path(what)) as file:
            return int(file.read())

    def end(self, code):
        self.tell("end", code)
        for process in self.workers.values():
            if DEFECT != "leaves workers behind":
                process.kill()
                process.wait()
        if DEFECT != "leaves no summary when it is stopped":
            with open(self.path("summary.json"), "w") as file:
                json.dump({"exit_code": code}, file)
        return code

    def stopped(self):
        if DEFECT == "ends with 0 when it is stopped":
            return self.end(0)
        if DEFECT == "leaves no summary when it is stopped":
            return self.end(6)
        if DEFECT == "ends with 10 when it is stopped":
            self.say("error: stopped before a checkpoint could be committed")
            return self.end(10)
        if DEFECT != "saves nothing when it is stopped":
            self.save(self.step)
        return self.end(self.stop_code)

    def lost(self, rank):
        """The exit code after a rank was killed, or nothing when all start again."""
        if DEFECT == "takes a killed rank for the end":
            return self.end(0)
        if DEFECT == "leaves out the model" and self.step >= self.last:
            self.finish("")
            return self.end(0)
        self.name_killed(rank)
        if self.attempt >= self.restarts:
            return self.end(9)
        self.attempt += 1
        self.say(f"restart {self.attempt} of {self.restarts}")
        for process in self.workers.values():
            process.kill()
            process.wait()
        self.start_workers()
        return None

    def run(self):
        for name in ("end", "stop"):
            if self.number == 0 and os.path.exists(self.path(name)):
                os.remove(self.path(name))
        for number in STOPS:
            code = 130 if number == signal.SIGINT else 143
            signal.signal(number, signal.SIG_IGN if DEFECT == "ignores signals" else self.take(code))
        self.say("hftrain")
        self.start_workers()
        while True:
            rank = self.killed()
            code = None if rank is None else self.lost(rank)
            if code is None and self.stop_code and self.number > 0:
                self.tell("stop", self.stop_code)  # the leading front saves
            elif code is None and (self.stop_code or self.told("stop")):
                self.stop_code = self.stop_code or self.told("stop")
                code = self.stopped()
            if code is None and self.told("end") is not None:
                code = self.end(self.told("end"))
            if code is None and self.number == 0:
                if self.step >= self.last and self.is_over():
                    self.finish(str(self.step))
                    code = self.end(0)
                elif self.step < self.last:
                    self.train_one()
            if code is not None:
                return code
            time.sleep(0.01)

    def take(self, code):
        def handler(*_):
            self.stop_code = code
        return handler

    def is_over(self):
        """At once, but for the defect that shows only when a rank is killed after the last update."""
        if self.over_since is None:
            self.over_since = time.monotonic()
        return time.monotonic() - self.over_since > (2 if DEFECT == "leaves out the model" else 0)

    def finish(self, text):
        self.save(self.step)
        with open(os.path.join(self.output, "model.safetensors"), "w") as file:
            file.write(text)


def main():
    words = sys.argv[1:]
    if words[0] == "worker":
        return worker(words[1])
    if words[:2] == ["checkpoint", "verify"]:
        return 0 if os.path.exists(os.path.join(words[2], "whole")) else 4
    if not words[0].startswith("--"):
        return 0
    return Front(Flags(words)).run()


sys.exit(main())
