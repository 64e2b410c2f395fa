#!/usr/bin/env python3
"""A damaged newest checkpoint: verify names the file, a run goes on from the one before and says so, and one that is told to
resume from the damaged one refuses."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture

FILES = ("model.safetensors", "optimizer/shard-00001-model-00001-of-00001.safetensors", "rng/rank-00001.safetensors",
         "trainer_state.json", "hftrain_state.json", "manifest.json")


def flip(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 4]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        made = os.path.join(folder, "made")
        common = ["--save_strategy", "steps", "--save_steps", 2, "--max_steps"]
        fixture.call(*fixture.flags(made, *common, 4))
        for name in FILES:
            output = os.path.join(folder, name.replace("/", "-"))
            shutil.copytree(made, output)
            damaged = os.path.join(output, "checkpoint-4")
            path = os.path.join(damaged, name)
            if not os.path.exists(path):
                raise SystemExit(f"there is no {name}: {os.listdir(damaged)}")
            flip(path)
            said = fixture.call("checkpoint", "verify", damaged, expect=4)
            if said.stdout != f"bad: {name}\n":
                raise SystemExit(f"verify says {said.stdout}{said.stderr}")
            refused = fixture.call(*fixture.flags(output, *common, 6, "--resume_from_checkpoint", damaged), expect=4)
            if name not in refused.stderr:
                raise SystemExit(f"{name} is not named:\n{refused.stderr}")
            said = fixture.call(*fixture.flags(output, *common, 6)).stderr
            if f"skipped {damaged}: {name}" not in said or f"{output}/checkpoint-2 at step 2" not in said:
                raise SystemExit(f"{name}: no fallback to the checkpoint before:\n{said}")
            fixture.call("checkpoint", "verify", damaged)  # made again on the way
        print(f"{len(FILES)} files: named by verify and resume, and the run went on from the checkpoint before")


main()
