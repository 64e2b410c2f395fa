"""Python scripts as ranks of one job, as torchrun would start them, forked from this process once it has loaded transformers: each of
them would take seven seconds of processor time for that by itself. To be imported before torch, whose threads a fork does not take along.
"""
import os
import runpy
import signal
import sys
import tempfile
import traceback

import fixtures  # noqa: F401, which knows where runs lies
from runs import free_port

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would be gone, too
os.environ.pop("MKL_NUM_THREADS", None)  # which torch asks first


def load_packages():
    import torch
    import transformers.trainer  # noqa: F401, what the first use of Trainer would load
    if torch.get_num_threads() != 1:
        raise SystemExit("peers was imported after torch, whose threads a fork would lose: import it first")


def become(script, words, output, variables):
    """What a forked process does, and how it ends; it never returns."""
    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(variables)
        sys.argv = [script, *words]
        sys.path[0] = os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def wait_for(ranks):
    """Exit codes; the first that fails takes the others along, which would wait for it. This process has no other children meanwhile."""
    codes = {}
    while len(codes) < len(ranks):
        pid, status = os.wait()
        if pid in ranks:
            codes[pid] = os.waitstatus_to_exitcode(status)
            if codes[pid] != 0:
                for other in ranks - codes.keys():
                    os.kill(other, signal.SIGKILL)
    return codes


def run(script, words, ranks=1, **variables):
    """Runs `script` as `ranks` processes; ends this one with what they said unless all end well."""
    load_packages()
    variables = {name: str(value) for name, value in variables.items()}
    if ranks > 1:
        variables |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    with tempfile.TemporaryFile() as output:
        started = set()
        for rank in range(ranks):
            own = variables | ({"RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {})
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                become(str(script), [str(word) for word in words], output.fileno(), own)
            started.add(pid)
        codes = wait_for(started)
        if any(codes.values()):
            output.seek(0)
            said = output.read().decode(errors="replace")
            raise SystemExit(f"{script} {' '.join(map(str, words))}\nended with {sorted(codes.values())}\n{said}")
