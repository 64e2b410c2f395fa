"""The installed tree that scripts build their examples against, and what was built: one for all tests of a build folder, for compiling
against LibTorch takes most of their time. What is there is brought up to date when a process asks for it first: the tree, and each
project, by one process at a time."""
import contextlib
import fcntl
import functools
import pathlib
import shutil
import subprocess

import runs
from runs import expect

PLACE = pathlib.Path(runs.BUILD, "installed-for-tests")


def call(*words, cwd):
    done = subprocess.run([*map(str, words)], cwd=cwd, text=True, capture_output=True)
    expect(done.returncode == 0, " ".join(map(str, words)), done.stdout + done.stderr)
    return done


@contextlib.contextmanager
def alone(with_what):
    PLACE.mkdir(exist_ok=True)
    with open(PLACE / f"{with_what}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def tree():
    """Where it lies: moved after it was installed, as users may."""
    place = PLACE / "tree"
    with alone("tree"):
        if not place.exists():
            call("cmake", "--install", runs.BUILD, "--prefix", PLACE / "first", cwd=PLACE)
            (PLACE / "first").rename(place)
        else:
            call("cmake", "--install", runs.BUILD, "--prefix", place, cwd=PLACE)
    return place


def compiler_cache():
    """As of hftrain's own build: what was compiled before is taken again, unless a header differs."""
    ccache = shutil.which("ccache")
    return [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if ccache else []


@functools.cache
def built(name, sources, *targets):
    """The folder in which the project of these sources is built against the tree: the targets, or all. Files with ATen's header share
    it, compiled (precompile_alike.cmake)."""
    folder = PLACE / name
    with alone(name):
        if not (folder / "build.ninja").exists():
            call("cmake", "-S", sources, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={PLACE / 'tree'}",
                 f"-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES={pathlib.Path(__file__).parent / 'precompile_alike.cmake'}",
                 "-DPRECOMPILED=<ATen/ATen.h>", *compiler_cache(), cwd=PLACE)
        call("cmake", "--build", folder, *(["--target", *targets] if targets else []), cwd=PLACE)
    return folder
