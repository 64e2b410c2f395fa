#!/usr/bin/env python3
"""Two runs on one output folder: the second is refused while the first lives, and a killed run holds nobody off."""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture


def main():
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "out")
        flags = fixture.flags(output, "--save_strategy", "steps", "--save_steps", 5, "--save_total_limit", 2)
        first = subprocess.Popen([HFTRAIN, *flags, "--max_steps", "100000"], env=fixture.environment, text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            while "committed" not in (line := first.stderr.readline()):
                if not line:
                    raise SystemExit("the first run ended by itself")
            for more in ([], ["--overwrite_output_dir"]):
                second = fixture.call(*flags, "--max_steps", "5", *more, expect=2)
                if "another run is using the output folder" not in second.stderr or f"process {first.pid} " not in second.stderr:
                    raise SystemExit("the holder is not named:\n" + second.stderr)
        finally:
            first.send_signal(signal.SIGKILL)
            first.stderr.read()
            first.wait()
        with open(os.path.join(output, "hftrain", "lock")) as file:
            if f"process {first.pid} " not in file.read():
                raise SystemExit("the lock of the killed run does not name it")
        newest = fixture.checkpoints(output)[-1]
        third = fixture.call(*flags, "--max_steps", str(newest + 5))
        if f"at step {newest}" not in third.stderr:
            raise SystemExit("the run did not go on:\n" + third.stderr)
        print(f"refused while process {first.pid} lived, continued from step {newest} after it was killed")


main()
