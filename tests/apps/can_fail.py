#!/usr/bin/env python3
"""The scripts that disturb runs at random moments can fail: each is run over a stand-in for the built program (stand_in.py),
passes over one without a defect, and fails over one with a planted defect, for the reason that belongs to it.

  can_fail.py [SCRIPT…]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# What the scripts give a run that does not end, in seconds: one without a defect always ends, on a busy machine later.
PATIENCE, WITH_DEFECT = 120, 15
FINDS = {  # of a script: defect -> what it must say
    "terminate_anywhere.py": (["--rounds", "2", "--kills", "1", "--seed", "6"], {
        "ignores signals": "did not end within",
        "ends with 0 when it is stopped": "exit code 0",
        "saves nothing when it is stopped": "no checkpoint|the newest checkpoint is of",
        "ends with 10 when it is stopped": "which it could have saved",
        "starts from scratch": "did not go on from checkpoint-",
        "leaves workers behind": "were left behind|was killed and left",
    }),
    "kill_a_rank.py": (["--rounds", "1"], {
        "does not notice a killed rank": "did not end within",
        "takes a killed rank for the end": "was killed; exit code 0",
        "names another rank": "exit code 9",
        "goes on with other losses": "other losses than those of an undisturbed run",
        "leaves workers behind": "were left behind",
        "leaves out the model": "another model",
    }),
    "mpirun_anywhere.py": (["--stops", "1", "--kills", "1", "--seed", "5"], {
        "ignores signals": "mpirun did not end",
        "ends with 0 when it is stopped": "summary 0",
        "leaves no summary when it is stopped": "summary None",
        "saves nothing when it is stopped": "there is no checkpoint|the newest checkpoint is of",
        "ends with 10 when it is stopped": "which it could have saved",
        "does not notice a killed rank": "mpirun did not end",
        "takes a killed rank for the end": "summary 0",
        "names another rank": "the rank is not named",
    }),
}


def build_folder(folder):
    """With the stand-in where the built program is, under its name in /proc."""
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "lib"))
    program = os.path.join(folder, "bin", "hftrain")
    with open(program, "w") as file:
        file.write(f"#!/bin/bash\nexec -a hftrain '{sys.executable}' '{HERE}/stand_in.py' \"$@\"\n")
    os.chmod(program, 0o755)
    for name in ("libhftrain_pmix.so", "libhftrain_mpi.so"):
        open(os.path.join(folder, "lib", name), "w").close()


def call(build, script, words, defect):
    environment = {**os.environ, "HFTRAIN_BUILD_DIR": build, "HFTRAIN_TEST_PATIENCE": str(WITH_DEFECT if defect else PATIENCE), "STAND_IN_DEFECT": defect}
    run = subprocess.run([sys.executable, os.path.join(HERE, script), *words], env=environment, text=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.returncode, run.stdout


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hftrain-stand-in-") as folder:
        build_folder(folder)
        for script in sys.argv[1:] or FINDS:
            if script == "mpirun_anywhere.py" and not shutil.which("mpirun"):
                print("SKIPPED: there is no mpirun")
                sys.exit(77)
            words, defects = FINDS[script]
            for defect, said in {"": None, **defects}.items():
                code, text = call(folder, script, words, defect)
                good = code == 0 if said is None else code not in (0, 77) and re.search(said, text)
                print(f"{'ok      ' if good else 'FAILED  '}{script} over a program that {defect or 'has no defect'}", flush=True)
                if not good:
                    print(f"ended with {code}, expected {said or 0}:\n{text}")
                    failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
