"""What scripts/hftrain builds is all that a run loads: nothing else of the build is copied to an empty folder, and it trains there,
started by itself and by mpirun. A tree in which scripts/test has run holds more than a newcomer's."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import runs
from machines import check, no_mpi

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


def programs_target():
    script = f'source "{CHECKOUT}/scripts/environment.sh"; echo "$programs_target"'
    return subprocess.run(["bash", "-c", script], check=True, text=True, capture_output=True).stdout.strip()


def copy_programs(folder):
    """What the target is made of, at the places it has in the build."""
    query = subprocess.run(["ninja", "-C", runs.BUILD, "-t", "query", programs_target()], check=True, text=True,
                           capture_output=True).stdout
    names = query[query.index("  input:"):query.index("  outputs:")].split()[2:]
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(runs.BUILD / name, target)
    return names


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-programs-") as folder:
        copied = copy_programs(pathlib.Path(folder) / "build")
        print("copied:", " ".join(copied))
        runs.HFTRAIN = os.path.join(folder, "build", "bin", "hftrain")
        fixture = runs.Fixture(folder)
        flags = ["--max_steps", "3", "--save_strategy", "no"]
        fixture.call(*fixture.flags(os.path.join(folder, "alone"), *flags))
        print("ok: two ranks of its own")  # or call() has ended this
        if no_mpi():
            runs.skip(no_mpi())
        words = fixture.flags(os.path.join(folder, "mpi"), *flags)
        at = words.index("--nproc_per_node")  # mpirun says how many
        result = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", runs.HFTRAIN, *words[:at], *words[at + 2:],
                                 "--ddp_backend", "mpi"], text=True, capture_output=True,
                                env={**fixture.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        check("two ranks of mpirun, over MPI", result.returncode == 0, result.stdout + result.stderr)


if __name__ == "__main__":
    main()
