#!/usr/bin/env python3
"""`cmake --install` gives a tree that can be moved: the quickstart trains from there, with LibTorch and the plug-ins found, and nothing
of it points into the build."""
import os
import pathlib
import subprocess
import tempfile

import runs
from machines import check

FLAGS = ["--config", "configs/quickstart.yaml", "--max_steps", "4", "--save_steps", "4", "--eval_steps", "4", "--logging_steps", "1"]


def run(*words, **more):
    return subprocess.run([*map(str, words)], text=True, capture_output=True, **more)


def install(folder):
    """The installed tree, moved after it was installed."""
    first = folder / "installed"
    done = run("cmake", "--install", runs.BUILD, "--prefix", first)
    check("cmake --install", done.returncode == 0, done.stdout + done.stderr)
    return first.rename(folder / "moved")


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-install-") as name:
        folder = pathlib.Path(name)
        tree = install(folder)
        own = os.fsencode(os.path.realpath(runs.BUILD))
        for file in [*(tree / "bin").iterdir(), *(tree / "lib").glob("*.so")]:
            check(f"{file.relative_to(tree)} does not name the build's folder", own + b"/bin" not in file.read_bytes() and
                  own + b"/lib" not in file.read_bytes(), own)
        environment = {**os.environ, "HFTRAIN_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
        environment.pop("LD_LIBRARY_PATH", None)
        doctor = run(tree / "bin/hftrain", "doctor", cwd=folder, env=environment)
        check("doctor finds the worker and LibTorch", "hftrain-worker is missing" not in doctor.stdout + doctor.stderr,
              doctor.stdout + doctor.stderr)
        output = folder / "run"
        done = run(tree / "bin/hftrain", *FLAGS, "--output_dir", output, cwd=tree / "share/hftrain", env=environment)
        check("the quickstart trains", done.returncode == 0 and (output / "checkpoint-4/model.safetensors").exists(),
              done.stdout + done.stderr)
        for plugin in sorted((pathlib.Path(runs.BUILD) / "lib").glob("libhftrain_*.so")):
            check(f"{plugin.name} is installed", (tree / "lib" / plugin.name).exists(), plugin)


if __name__ == "__main__":
    main()
