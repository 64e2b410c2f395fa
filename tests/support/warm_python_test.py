#!/usr/bin/env python3
"""warm_python.py is a Python for whoever calls it: words, files, environment, folder, exit codes, signals, and what it cannot do."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

WARM = pathlib.Path(__file__).resolve().parent / "warm_python.py"
SAYS_ALL = """
import json, os, sys
json.dump([sys.argv[1:], sys.path[0], os.getcwd(), os.environ.get("WORD"), sys.stdin.read(), __name__, os.getppid()], sys.stdout)
print("to stderr", file=sys.stderr)
"""
PATIENCE = 240


def expect(holds, what, *more):
    if not holds:
        raise SystemExit(f"FAILED: {what}: {more}")


def wait_until(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        expect(time.monotonic() < end, what)
        time.sleep(0.05)


def lives(process):
    """A zombie, which nobody may reap in a container, does not."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Warm:
    def __init__(self, folder):
        self.folder = folder
        self.socket = folder / "warm-python.socket"
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith(("HF_", "XDG_", "PYTHON", "LD_", "CUDA_", "TORCH"))}

    def start(self, *words, **options):
        environment = {**self.environment, **options.pop("environment", {})}
        return subprocess.Popen([sys.executable, WARM, sys.executable, self.folder, *map(str, words)], env=environment, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def call(self, *words, text="", **options):
        job = self.start(*words, **options)
        out, errors = job.communicate(text, timeout=PATIENCE)
        return job.returncode, out, errors

    def is_warm(self, *words, **options):
        """Whether a call is the server's: its grandparent is no process of the caller."""
        code, out, errors = self.call("-c", "import os; print(os.getppid())", **options)
        expect(code == 0, "it ran", out, errors)
        return int(out) != os.getpid()


def all_is_passed_on(warm, folder):
    script = folder / "says.py"
    script.write_text(SAYS_ALL)
    code, out, errors = warm.call(script, "a", "b c", text="given", cwd="/", environment={"WORD": "ü"})
    expect(code == 0 and errors == "to stderr\n", "it ends well", code, out, errors)
    said = __import__("json").loads(out)
    expect(said[:6] == [["a", "b c"], str(folder), "/", "ü", "given", "__main__"] and said[6] != os.getpid(), "all of it", said)
    code, out, _ = warm.call("-c", "import sys; print(sys.argv)", "x")
    expect((code, out) == (0, "['-c', 'x']\n"), "code on the command line", code, out)


def exit_codes_are_pythons(warm, _):
    for code, text, said in ((0, "pass", ""), (77, "raise SystemExit(77)", ""), (1, "raise SystemExit('in words')", "in words"), (0, "raise SystemExit", ""),
                             (1, "1 / 0", "ZeroDivisionError"), (128 + 9, "import os; os.kill(os.getpid(), 9)", ""), (3, "import os; os._exit(3)", "")):
        got, _, errors = warm.call("-c", text)
        expect(got == code and said in errors, text, got, errors)
    code, out, _ = warm.call("-c", "import atexit; atexit.register(print, 'at the end')")
    expect((code, out) == (0, "at the end\n"), "what waits for the end", code, out)


def a_caller_that_is_killed_takes_it_along(warm, folder):
    mark = folder / "pid"
    job = warm.start("-c", f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    wait_until(lambda: mark.exists() and mark.read_text(), "it runs")
    child = int(mark.read_text())
    job.kill()
    job.wait()
    wait_until(lambda: not lives(child), "it is gone")


def calls_run_side_by_side(warm, folder):
    meet = ("import os, sys, time\nopen(sys.argv[1], 'w').close()\nend = time.monotonic() + 60\n"
            "while not os.path.exists(sys.argv[2]):\n assert time.monotonic() < end\n time.sleep(0.01)")
    jobs = [warm.start("-c", meet, folder / mine, folder / other) for mine, other in (("one", "two"), ("two", "one"))]
    expect([job.wait(PATIENCE) for job in jobs] == [0, 0], "each saw the other")


def what_is_read_while_loading_is_pythons_own(warm, _):
    expect(warm.is_warm() and warm.is_warm(environment={"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}), "the server's")
    for name, text in (("HF_HOME", "/nowhere"), ("CUDA_VISIBLE_DEVICES", "0")):
        expect(not warm.is_warm(environment={name: text}), name)
    code, out, _ = warm.call("-m", "json.tool", text="{}")
    expect((code, out) == (0, "{}\n"), "options of Python", code, out)
    code, out, _ = warm.call(text="print(5)")
    expect((code, out) == (0, "5\n"), "a script on standard input", code, out)


def the_end_of_who_started_it_ends_no_other(warm, folder):
    warm.socket.unlink()
    mark, go = folder / "runs", folder / "go"
    first = warm.start("-c", f"import time; open({str(mark)!r}, 'w').close(); time.sleep(600)", start_new_session=True)
    wait_until(mark.exists, "it runs")
    other = warm.start("-c", f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\nprint('whole')")
    server = int(warm.call("-c", "import os; print(os.getsid(os.getppid()))")[1])
    parent = int(pathlib.Path(f"/proc/{server}/stat").read_text().rsplit(")", 1)[1].split()[1])
    expect(parent not in (first.pid, os.getpid()), "the server is nobody's child", parent)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    go.touch()
    out, _ = other.communicate("", timeout=PATIENCE)
    expect((other.returncode, out) == (0, "whole\n"), "the other call ends well", other.returncode, out)


def without_a_place_it_is_plain(warm, folder):
    nowhere = Warm(folder / "nowhere")
    expect(not nowhere.is_warm(), "no folder for a socket")
    code, out, _ = warm.call("-c", "print(1)", cwd="/proc/self")
    expect((code, out) == (0, "1\n"), "a folder of its own kind", code, out)


def the_server_goes_and_comes(warm, _):
    server = int(warm.call("-c", "import os; print(os.getsid(os.getppid()))")[1])
    os.kill(server, signal.SIGKILL)
    expect(warm.is_warm(), "behind a socket that nobody hears there is a new one")
    server = int(warm.call("-c", "import os; print(os.getsid(os.getppid()))")[1])
    warm.socket.unlink()
    wait_until(lambda: not lives(server), "it goes with its socket")
    warm.environment["HFTRAIN_WARM_IDLE"] = "0.5"
    server = int(warm.call("-c", "import os; print(os.getsid(os.getppid()))")[1])
    wait_until(lambda: not lives(server) and not warm.socket.exists(), "it goes when nobody calls")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        warm = Warm(folder)
        try:
            for scenario in (all_is_passed_on, exit_codes_are_pythons, a_caller_that_is_killed_takes_it_along, calls_run_side_by_side,
                             what_is_read_while_loading_is_pythons_own, the_end_of_who_started_it_ends_no_other, without_a_place_it_is_plain,
                             the_server_goes_and_comes):
                scenario(warm, folder)
                print(scenario.__name__.replace("_", " "), flush=True)
        finally:
            warm.socket.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
