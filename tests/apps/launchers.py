"""Ranks that another launcher starts on this machine give the losses of ranks that hftrain starts itself.

    launchers.py mpirun 2 4 8      mpirun --oversubscribe -n N, DDP and full_shard, over the default back end and over MPI
    launchers.py torchrun 2        python -m torch.distributed.run --no-python, both kinds of rendezvous
"""
import os
import subprocess
import sys
import tempfile

from machines import check, check_equal_losses, losses, no_mpi
from runs import HFTRAIN, Workplace

STRATEGIES = {"ddp": [], "full_shard": ["--fsdp", "full_shard"]}


def flags(place, output, strategy):
    words = place.flags(os.path.join(place.folder, output), "--max_steps", "6", "--save_strategy", "no",
                        "--per_device_train_batch_size", "2", *STRATEGIES[strategy])
    at = words.index("--nproc_per_node")  # the launcher says how many
    return words[:at] + words[at + 2:]


def starts(launcher, ranks):
    if launcher == "mpirun":
        mpirun = ["mpirun", "--oversubscribe", "-n", str(ranks), HFTRAIN]
        return {"mpirun": mpirun, "mpirun over mpi": mpirun + ["--ddp_backend", "mpi"]}
    torchrun = [os.environ["HFTRAIN_TEST_PYTHON"], "-m", "torch.distributed.run", "--nproc_per_node", str(ranks)]
    port = str(20000 + os.getpid() % 10000)
    return {"torchrun": torchrun + ["--master_port", port, "--no-python", HFTRAIN],
            "torchrun --standalone": torchrun + ["--standalone", "--no-python", HFTRAIN]}


def main():
    launcher, *sizes = sys.argv[1:]
    if launcher == "mpirun" and no_mpi():
        return print("SKIPPED:", no_mpi())
    if launcher == "torchrun" and not os.environ.get("HFTRAIN_TEST_PYTHON"):
        return print("SKIPPED: no Python with torch: set HFTRAIN_TEST_PYTHON")
    with tempfile.TemporaryDirectory(prefix="hftrain-launchers-") as folder:
        place = Workplace(folder)
        environment = {**place.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for ranks in map(int, sizes):
            for strategy in STRATEGIES:
                output = f"local-{strategy}-{ranks}"
                place.call(*flags(place, output, strategy), "--nproc_per_node", str(ranks))
                reference = losses(os.path.join(folder, output))
                for name, start in starts(launcher, ranks).items():
                    output = f"{name.split()[-1].strip('-')}-{strategy}-{ranks}"
                    run = subprocess.run(start + flags(place, output, strategy), env=environment, text=True,
                                         capture_output=True, timeout=300)
                    what = f"{ranks} ranks of {name}, {strategy}"
                    check(f"{what}: ends with 0", run.returncode == 0, run.stdout + run.stderr)
                    check_equal_losses(what, reference, os.path.join(folder, output), run.stderr)


if __name__ == "__main__":
    main()
