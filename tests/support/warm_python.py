#!/usr/bin/env python3
"""Python with torch and transformers loaded: for a test it is `python SCRIPT…` or `python -c CODE…`, without the 10 to 29 s of
processor time that loading them takes on a slow machine, which some forty tests would each spend.

  warm_python.py PYTHON FOLDER SCRIPT…        what a test calls; the build makes a command of the first two words
  warm_python.py --serve FOLDER TELL LOCK     the process that has loaded them; the first call starts it

The server forks for each call. The child has the caller's words, environment, folder and open files, and goes when the caller goes; it
computes with one thread, as peers.py does. The server ends five minutes after the last call, and when its socket is gone (scripts/test removes it). What packages
read while they are loaded (HF_HOME and the like) cannot be set behind that: such calls, and those with options of Python, are PYTHON's.
"""
import array
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

IDLE_SECONDS = float(os.environ.get("HFTRAIN_WARM_IDLE", "300"))
START_SECONDS = 300
READ_WHEN_LOADED = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "DATASETS_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "PYTHON", "LD_PRELOAD", "LD_LIBRARY_PATH",
                    "XDG_CACHE_HOME", "CUDA_VISIBLE_DEVICES", "USE_", "ATEN_", "MKL_", "ONEDNN_", "DNNL_", "KMP_")
NO_MATTER = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
ALIKE = {("HF_HUB_OFFLINE", "1"), ("CUDA_VISIBLE_DEVICES", "")}  # the server's own
PACKAGES = ("numpy", "torch", "safetensors.torch", "tokenizers", "transformers.trainer", "transformers.models.auto.modeling_auto",
            "transformers.models.auto.tokenization_auto", "transformers.models.gpt2.modeling_gpt2", "transformers.models.llama.modeling_llama",
            "peft", "accelerate")


def names_of(folder):
    return (os.path.join(folder, f"warm-python.{end}") for end in ("socket", "lock"))


def connected(folder, path):
    """A socket, or None. By a relative name, for the names of sockets are short."""
    before = os.open(".", os.O_RDONLY)
    server = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(folder)
        server.connect(os.path.basename(path))
        return server
    except OSError:
        server.close()
        return None
    finally:
        os.fchdir(before)
        os.close(before)


def locked(file):
    """False where somebody holds it longer than loading may take."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.1)


def started(python, folder):
    """The server's socket; None where it does not come up."""
    path, lock = names_of(folder)
    with open(lock, "w") as held:
        if not locked(held):  # others wait here until it has loaded: it holds the lock as well
            return None
        if server := connected(folder, path):
            return server
        environment = {name: os.environ[name] for name in ("HOME", "PATH", "LANG", "LC_ALL", "USER", "HFTRAIN_WARM_IDLE") if name in os.environ}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", **dict(ALIKE)}
        ready, tell = os.pipe()
        subprocess.Popen([python, os.path.abspath(__file__), "--serve", folder, str(tell), str(held.fileno())], env=environment, cwd="/",
                         pass_fds=(tell, held.fileno()), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()
        os.close(tell)
        came = select.select([ready], [], [], START_SECONDS)[0] and os.read(ready, 1)  # empty where it has died
        os.close(ready)
        return connected(folder, path) if came else None


def call(python, folder, words):
    """Becomes PYTHON where the server cannot help."""
    special = [name for name, text in os.environ.items()
               if name.startswith(READ_WHEN_LOADED) and name not in NO_MATTER and (name, text) not in ALIKE]
    code = words[:1] == ["-c"] and len(words) > 1
    if not special and (code or words and not words[0].startswith("-")):
        try:
            ask(python, folder, words)
        except OSError:
            pass  # nothing has happened yet
    os.execv(python, [python, *words])


def ask(python, folder, words):
    """Ends as what the server ran for these words; returns where there is no server."""
    server = connected(folder, next(names_of(folder))) or started(python, folder)
    if server is None:
        return
    request = json.dumps({"words": words, "environment": dict(os.environ), "folder": os.getcwd(), "mask": os.umask(os.umask(0o22))}).encode()
    server.settimeout(60)
    server.sendmsg([struct.pack("Q", len(request))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    server.sendall(request)
    if server.recv(1) != b"!":
        return
    server.settimeout(None)
    try:
        answer = server.recv(4)
    except OSError:
        answer = b""
    if len(answer) != 4:
        sys.exit("warm_python: what ran this ended without an exit code")
    sys.exit(struct.unpack("i", answer)[0])


def load_packages():
    import gc
    import importlib
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except Exception:  # one that is not there is missed by the test that wants it
            pass
    names = []
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/comm") as file:
            names.append(file.read().strip())
    if len(names) > 1 + names.count("jemalloc_bg_thd"):  # Arrow's allocator sees to forks itself
        raise SystemExit("a package has started a thread, which children would lose")
    gc.collect()
    gc.freeze()  # children share its pages


def received(connection):
    """The request and its three files."""
    head, rights, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(12))
    files = list(array.array("i", rights[0][2])) if rights else []
    size, body = struct.unpack("Q", head)[0], b""
    while len(body) < size:
        part = connection.recv(size - len(body))
        if not part:
            raise EOFError
        body += part
    return json.loads(body), files


def run(request, files):
    """What the child does; returns its exit code."""
    import atexit
    import runpy
    import threading
    import traceback
    for number, file in enumerate(files):
        os.dup2(file, number)
        if file > 2:
            os.close(file)
    os.umask(request["mask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.stdin = sys.__stdin__ = open(0, closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False, buffering=1)
    sys.stderr = sys.__stderr__ = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")
    words = request["words"]
    code = 0
    try:
        os.chdir(request["folder"])
        if words[0] == "-c":
            sys.argv, sys.path[0] = ["-c", *words[2:]], ""
            main = type(sys)("__main__")
            sys.modules["__main__"] = main
            exec(compile(words[1], "<string>", "exec"), main.__dict__)
        else:
            sys.argv, sys.path[0] = words, os.path.dirname(os.path.abspath(words[0]))
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # as Python ends: threads, then what waits for the end
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def keep(connection):
    """Serves one call, in a process of its own: the child's end goes to the caller, the caller's end to the child."""
    request, files = received(connection)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            connection.close()
            code = run(request, files)
        finally:
            os._exit(code & 0xFF)
    try:
        for file in files:
            os.close(file)
        connection.sendall(b"!")
        ended = os.pidfd_open(child)
        if ended in select.select([ended, connection], [], [])[0]:
            code, child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0
            connection.sendall(struct.pack("i", code if code >= 0 else 128 - code))
    finally:
        if child:
            for end in (os.killpg, os.kill):  # it may not have a group of its own yet
                try:
                    end(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            os.waitpid(child, 0)


def serve(folder, tell, lock):
    if os.fork():
        os._exit(0)  # no descendant of the caller's: who kills a test with its children must not kill this
    os.setsid()
    os.umask(0o077)  # the socket is its user's alone
    os.close(os.pidfd_open(os.getpid()))  # not everywhere: then there is no server
    os.chdir(folder)
    path = os.path.basename(next(names_of(folder)))
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)  # nobody is let in before it listens
    mine = os.stat(path).st_ino

    def is_ours():
        try:
            return os.stat(path).st_ino == mine
        except OSError:
            return False

    load_packages()
    listener.listen(64)
    try:
        os.write(tell, b"1")
    except OSError:
        pass  # who started it is gone
    os.close(tell)
    os.close(lock)
    keepers, last = set(), time.monotonic()
    while is_ours() and (keepers or time.monotonic() - last < IDLE_SECONDS):
        if select.select([listener], [], [], 1)[0]:
            connection, _ = listener.accept()
            keeper = os.fork()
            if keeper == 0:
                try:
                    listener.close()
                    keep(connection)
                finally:
                    os._exit(0)
            connection.close()
            keepers.add(keeper)
        for keeper in list(keepers):
            if os.waitpid(keeper, os.WNOHANG)[0]:
                keepers.discard(keeper)
                last = time.monotonic()
    if is_ours():
        os.unlink(path)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        call(sys.argv[1], sys.argv[2], sys.argv[3:])
