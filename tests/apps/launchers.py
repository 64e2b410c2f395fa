"""Ranks that another launcher starts on this machine give the losses of ranks that hftrain starts itself.

    launchers.py mpirun 2 4 8      mpirun --oversubscribe -n N, DDP and full_shard, over the default back end and over MPI
    launchers.py torchrun 2        python -m torch.distributed.run --no-python, both kinds of rendezvous
    launchers.py environment 2     nothing but RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (PyTorchJob); 3 with LOCAL_RANK
"""
import os
import subprocess
import sys
import tempfile

from machines import check, check_equal_losses, losses, no_mpi
from runs import HFTRAIN, Fixture, free_port, skip

STRATEGIES = {"ddp": [], "full_shard": ["--fsdp", "full_shard"]}


def flags(fixture, output, strategy):
    words = fixture.flags(os.path.join(fixture.folder, output), "--max_steps", "6", "--save_strategy", "no",
                        "--per_device_train_batch_size", "2", *STRATEGIES[strategy])
    at = words.index("--nproc_per_node")  # the launcher says how many
    return words[:at] + words[at + 2:]


def starts(launcher, ranks):
    if launcher == "mpirun":
        mpirun = ["mpirun", "--oversubscribe", "-n", str(ranks), HFTRAIN]
        return {"mpirun": mpirun, "mpirun over mpi": mpirun + ["--ddp_backend", "mpi"]}
    torchrun = [os.environ["HFTRAIN_TEST_PYTHON"], "-m", "torch.distributed.run", "--nproc_per_node", str(ranks)]
    port = str(free_port())
    return {"torchrun": torchrun + ["--master_port", port, "--no-python", HFTRAIN],
            "torchrun --standalone": torchrun + ["--standalone", "--no-python", HFTRAIN]}


def by_environment(fixture, port, ranks, strategy):
    """One front program per rank, as scripts for torch's env:// start them. LOCAL_RANK is set for an odd number."""
    output = f"environment-{strategy}-{ranks}"
    processes = []
    for rank in range(ranks):
        told = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        if ranks % 2:
            told["LOCAL_RANK"] = rank
        environment = {**fixture.environment, **{name: str(value) for name, value in told.items()}}
        processes.append(subprocess.Popen([HFTRAIN] + flags(fixture, output, strategy), env=environment, text=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    said = [process.communicate(timeout=300)[1] for process in processes]
    codes = [process.returncode for process in processes]
    what = f"{ranks} ranks of the environment, {strategy}"
    check(f"{what}: all end with 0", codes == [0] * ranks, str(codes) + "".join(said))
    check(f"{what}: one job", f"as rank 0 of {ranks} (RANK=0, WORLD_SIZE={ranks}" in said[0], said[0])
    return what, output, said[0]


def two_jobs_of_one_torchrun(fixture, environment):
    """A script with two commands: rank 1 asks for the second job's address while rank 0 is not there yet."""
    first, second = (os.path.join(fixture.folder, name) for name in ("first-of-two", "second-of-two"))
    script = os.path.join(fixture.folder, "two.sh")
    with open(script, "w") as file:
        file.write('OUTPUTS="$1 $2"; shift 2\nfor output in $OUTPUTS; do\n'
                   '  [ "$output" = "${OUTPUTS#* }" ] && sleep $((2 - 2 * RANK))\n'
                   f'  {HFTRAIN} "$@" --output_dir "$output" || exit\ndone\n')
    start = starts("torchrun", 2)["torchrun"][:-1] + ["bash", script, first, second]
    run = subprocess.run(start + flags(fixture, "unused", "ddp"), env=environment, text=True, capture_output=True, timeout=300)
    check("two jobs of one torchrun end with 0", run.returncode == 0, run.stdout + run.stderr)
    check("they have the same losses", losses(first) == losses(second), (losses(first), losses(second)))


def main():
    launcher, *sizes = sys.argv[1:]
    if launcher == "mpirun" and no_mpi():
        skip(no_mpi())
    if launcher == "torchrun" and not os.environ.get("HFTRAIN_TEST_PYTHON"):
        skip("python3 with torch: set HFTRAIN_TEST_PYTHON")
    with tempfile.TemporaryDirectory(prefix="hftrain-launchers-") as folder:
        fixture = Fixture(folder)
        environment = {**fixture.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if launcher == "torchrun":
            two_jobs_of_one_torchrun(fixture, environment)
        for ranks in map(int, sizes):
            for strategy in STRATEGIES:
                output = f"local-{strategy}-{ranks}"
                fixture.call(*flags(fixture, output, strategy), "--nproc_per_node", str(ranks))
                reference = losses(os.path.join(folder, output))
                if launcher == "environment":
                    what, output, said = by_environment(fixture, free_port(), ranks, strategy)
                    check_equal_losses(what, reference, os.path.join(folder, output), said)
                    continue
                for name, start in starts(launcher, ranks).items():
                    output = f"{name.split()[-1].strip('-')}-{strategy}-{ranks}"
                    run = subprocess.run(start + flags(fixture, output, strategy), env=environment, text=True,
                                         capture_output=True, timeout=300)
                    what = f"{ranks} ranks of {name}, {strategy}"
                    check(f"{what}: ends with 0", run.returncode == 0, run.stdout + run.stderr)
                    check_equal_losses(what, reference, os.path.join(folder, output), run.stderr)


if __name__ == "__main__":
    main()
