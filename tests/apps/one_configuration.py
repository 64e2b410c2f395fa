#!/usr/bin/env python3
"""scripts/hftrain, scripts/test and scripts/mutations configure alike, so that each takes what the others have built; and warnings are errors
with the compiler that CI has alone. A stand-in in the place of cmake and of the compiler says what they were called with."""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import expect

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def configured(folder, version, words="", **variables):
    """The words of cmake's command line, with a compiler `c++` of that version, which is missing without one."""
    places = pathlib.Path(tempfile.mkdtemp(dir=folder))
    if version:
        program(places / "c++", f"echo {version}\n")
    program(places / "cmake", "printf '%s\\n' \"$@\"\n")
    for name in ("uname", "bash", "realpath"):
        (places / name).symlink_to(next(path for path in (pathlib.Path("/usr/bin", name), pathlib.Path("/bin", name)) if path.exists()))
    program(places / "through", 'exec "$@"\n')
    environment = {"PATH": str(places), "HOME": folder, "HFTRAIN_TORCH_DIR": "/torch", **variables}
    command = f'source "{SCRIPTS}/environment.sh"; configure_build {words}'
    done = subprocess.run(["bash", "-euc", command], cwd=folder, env=environment, text=True, capture_output=True)
    expect(done.returncode == 0 and not done.stderr, "the build folder is configured", done.stderr)
    return done.stdout.splitlines()


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-configured-") as made:
        folder = os.path.realpath(made)
        here = "ON" if platform.machine() == "x86_64" else "OFF"
        for version, variables, errors in (("12.2.0", {}, here), ("12.3.0", {}, "OFF"), ("13.2.0", {}, "OFF"), ("", {}, "OFF"),
                                           ("12.2.0", {"CXX": "through c++"}, here), ("12.2.0", {"CXX": "another"}, "OFF")):
            told = [word for word in configured(folder, version, **variables) if word.startswith("-DHFTRAIN_WERROR=")]
            expect(told == ["-DHFTRAIN_WERROR=" + errors], f"compiler {version!r} with {variables}", told)
        whole = configured(folder, "12.2.0", '-DHFTRAIN_BUILD_TESTS=ON "-DNAMED=two words"')
        expect({"-DCMAKE_BUILD_TYPE=Release", "-DTORCH_WHEEL_DIR=/torch"} <= set(whole), "options of both", whole)
        expect(whole[-2:] == ["-DHFTRAIN_BUILD_TESTS=ON", "-DNAMED=two words"], "options of one of them come last", whole)
        there = configured(folder, "12.2.0", HFTRAIN_TORCH_DIR="here/../torch/")
        expect(f"-DTORCH_WHEEL_DIR={folder}/torch" in there, "a relative folder counts from where one is", there)
    for name in ("hftrain", "test", "mutations"):
        text = (SCRIPTS / name).read_text()
        expect("configure_build" in text, f"scripts/{name} configures as the others do", "")
        for option in ("HFTRAIN_WERROR", "CMAKE_BUILD_TYPE=Release"):
            expect(option not in text, f"scripts/{name} leaves {option} to configure_build", "")
    print("ok")


if __name__ == "__main__":
    main()
