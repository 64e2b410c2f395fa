#!/usr/bin/env python3
"""A disk that fills up while saving: exit code 7, one message, earlier checkpoints intact, and the run goes on when there is
room again. With --async_save the save is one in the background. Needs root, for a small file system in memory; says SKIPPED without.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        disk = os.path.join(folder, "disk")
        os.mkdir(disk)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2600k", "tmpfs", disk], capture_output=True, text=True)
        if mount.returncode != 0:
            skip(f"mounting a small file system is not allowed here ({mount.stderr.strip()})")
        try:
            output = os.path.join(disk, "out")
            flags = fixture.flags(output, "--max_steps", 40, "--save_strategy", "steps", "--save_steps", 2, *sys.argv[1:])
            result = fixture.call(*flags, expect=7)
            kept = fixture.checkpoints(output)
            if not kept:
                raise SystemExit("no checkpoint was committed before the disk was full:\n" + result.stderr)
            for step in kept:
                fixture.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{step}"))
            if result.stderr.count("error:") != 1:
                raise SystemExit("expected one error:\n" + result.stderr)
            for part in (output, "where:", "why:", "try:"):
                if part not in result.stderr:
                    raise SystemExit(f"the error does not say {part!r}:\n" + result.stderr)
            if "could not save" in result.stderr.split("that failure ended")[0]:
                raise SystemExit("a rank that only heard of it is reported:\n" + result.stderr)
            subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)
            fixture.call(*flags)
            print(f"full after checkpoint-{kept[-1]}: code 7, {len(kept)} checkpoints intact, and the run finished later")
        finally:
            subprocess.run(["umount", disk], check=False)


main()
