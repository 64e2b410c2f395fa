#!/usr/bin/env python3
"""The packages that CPack makes, in a root folder that has never seen the build: installed by dpkg with nothing but what they depend on,
they train there, and the tarball does where it is unpacked. And hftrain-libtorch, over an index of its own.

  packages.py [SCENARIO…]     all of them without a word
"""
import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runs
from clean_root import CleanRoot
from errors_have_four_parts import parts_of
from runs import expect, skip

SOURCES = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = SOURCES / "scripts" / "hftrain-libtorch"
CONTAINER = SOURCES / "scripts" / "Containerfile"
FLAGS = ["--config", "configs/quickstart.yaml", "--max_steps", "2", "--save_steps", "2", "--eval_steps", "2", "--logging_steps", "1"]


class Packages:
    """What cpack makes of the build, made once."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @functools.cached_property
    def files(self):
        for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps"):
            if not shutil.which(tool):
                skip(f"there is no {tool}")
        out = self.folder / "packages"
        done = subprocess.run(["cpack", "--config", runs.BUILD / "CPackConfig.cmake", "-B", out], text=True, capture_output=True)
        expect(done.returncode == 0, "cpack", done.stdout + done.stderr)
        return {file.name.split("_")[0] if file.suffix == ".deb" else "tarball": file for file in out.iterdir() if file.is_file()}

    @functools.cached_property
    def site(self):
        """The folder that LibTorch lies in, which a user has in a Python environment."""
        cache = (runs.BUILD / "CMakeCache.txt").read_text()
        return pathlib.Path(re.search(r"^TORCH_WHEEL_DIR:PATH=(.+)$", cache, re.M)[1]).parent

    def root(self, name):
        root = CleanRoot(self.folder / name)
        root.mount(self.site, "/srv/site-packages")
        return root


def depends_of(package):
    return subprocess.run(["dpkg-deb", "-f", package, "Depends"], text=True, capture_output=True, check=True).stdout.strip()


def trains(root, program, folder, output):
    root.run(program, *FLAGS, "--output_dir", output, user=True, folder=folder, HFTRAIN_CACHE="/home/user/cache", OMP_NUM_THREADS="1")
    expect((root.root / output[1:] / "checkpoint-2/model.safetensors").exists(), f"{program} trains", output)


def steps_of_the_container_file(root, package):
    """Those that need no network run in the root; of the others what they name is there. The image itself is not built."""
    steps = re.findall(r"^(FROM|COPY|RUN|ENTRYPOINT) (.*)$", CONTAINER.read_text(), re.M)
    names = [name for name, _ in steps]
    expect(names == ["FROM", "COPY", "RUN", "RUN", "RUN", "ENTRYPOINT"], "the steps", steps)
    expect(package.match(steps[1][1].split()[0]), "it copies the package", package.name)
    expect(steps[2][1].startswith("apt-get update && apt-get install -y --no-install-recommends " + steps[1][1].split()[1]), "and installs it", steps[2])
    said = root.run("sh", "-c", steps[3][1], expect=3, KIND="--cpu", HFTRAIN_INDEX_URL="http://127.0.0.1:9")
    expect("the index has no page of torch" in said, "it asks the index for LibTorch", said)
    root.run("sh", "-c", steps[4][1])
    root.run("sh", "-c", " ".join(re.findall(r'"([^"]+)"', steps[5][1])) + " --version")


def the_debian_package_is_all_that_a_clean_root_needs(packages, folder):
    root, package = packages.root("root"), packages.files["hftrain"]
    from clean_root import names_in
    root.add(names_in(depends_of(package), root.installed))
    shutil.copy(package, root.root / "tmp/hftrain.deb")
    root.run("dpkg", "-i", "/tmp/hftrain.deb")
    expect(not (root.root / str(runs.BUILD)[1:]).exists(), "the root has not seen the build", runs.BUILD)
    said = root.run("hftrain", "doctor", user=True, expect=3)
    expect("hftrain-libtorch" in said, "without LibTorch doctor says where it comes from", said)
    said = root.run("hftrain-libtorch", "status", expect=3)
    expect(parts_of(said) == [{"what", "where", "why", "try"}], "a message of four parts", said)
    root.run("hftrain-libtorch", "link", "/srv/site-packages/torch")
    said = root.run("hftrain", "doctor", user=True)
    expect(re.search(r"^torch +2\.11\.0\S* in /srv/site-packages/torch$", said, re.M), "doctor finds LibTorch", said)
    trains(root, "hftrain", "/opt/hftrain/share/hftrain", "/home/user/run")
    for program in [*(root.root / "opt/hftrain/bin").glob("hftrain*"), *(root.root / "opt/hftrain/lib").glob("libhftrain*.so")]:
        dynamic = subprocess.run(["readelf", "-d", program], text=True, capture_output=True).stdout
        expect(str(packages.site) not in dynamic, f"{program.name} looks in no folder of the machine that built it", dynamic)
    steps_of_the_container_file(root, package)
    said = root.run("bash", "-c", "source /usr/share/bash-completion/completions/hftrain; COMP_WORDS=(hftrain --lr_sch); COMP_CWORD=1; _hftrain; "
                    "echo ${COMPREPLY[@]}")
    expect("--lr_scheduler_type" in said, "bash completes", said)
    if "man-db" in root.installed:
        root.add(["man-db"])
        said = root.run("man", "-P", "cat", "hftrain", user=True)
        expect("--learning_rate" in said and "EXIT STATUS" in said, "man shows the page", said[:400])
    root.run("dpkg", "-r", "hftrain")
    expect(not (root.root / "opt/hftrain").exists() and not os.path.lexists(root.root / "usr/bin/hftrain"), "nothing is left", list(root.root.glob("opt/*")))


def the_package_for_open_mpi_needs_the_other_one(packages, folder):
    if "hftrain-mpi" not in packages.files:
        skip("built without Open MPI")
    depends = depends_of(packages.files["hftrain-mpi"])
    expect(re.search(r"hftrain \(= [\d.]+\)", depends) and "libopenmpi3" in depends and "openmpi-bin" in depends, "what it depends on", depends)
    listed = subprocess.run(["dpkg-deb", "-c", packages.files["hftrain-mpi"]], text=True, capture_output=True, check=True).stdout
    expect("libhftrain_mpi.so" in listed and "bin/hftrain" not in listed, "its files", listed)
    depends = depends_of(packages.files["hftrain"])
    expect("openmpi" not in depends and "libc6" in depends and "libyaml-cpp" in depends, "what hftrain depends on", depends)


def the_tarball_trains_where_it_is_unpacked(packages, folder):
    root = packages.root("other-root")
    from clean_root import names_in
    root.add(names_in(depends_of(packages.files["hftrain"]), root.installed))
    shutil.copy(packages.files["tarball"], root.root / "home/user/hftrain.tar.gz")
    root.run("tar", "-xzf", "hftrain.tar.gz", user=True, folder="/home/user")
    tree, = (root.root / "home/user").glob("hftrain-*")
    there = "/home/user/" + tree.name
    root.run(f"{there}/bin/hftrain-libtorch", "link", "/srv/site-packages/torch", user=True)
    trains(root, f"{there}/bin/hftrain", f"{there}/share/hftrain", "/home/user/run")
    for file in ("share/man/man1/hftrain.1.gz", "share/bash-completion/completions/hftrain", "share/zsh/site-functions/_hftrain",
                 "share/fish/vendor_completions.d/hftrain.fish", "share/hftrain/docs/installation.md", "share/hftrain/configs/cluster"):
        expect((tree / file).exists(), f"the tarball has {file}", "")


class Index(http.server.SimpleHTTPRequestHandler):
    """An index of wheels. Of a name in `cut` it sends half, and nothing after that unless it is asked to go on from there."""
    cut, asked = set(), []

    def log_message(self, *words):
        pass

    def do_GET(self):
        path = pathlib.Path(self.directory) / self.path.strip("/")
        path = path / "index.html" if path.is_dir() else path
        if not path.exists():
            return self.send_error(404)
        data, name = path.read_bytes(), path.name
        begin = int(re.match(r"bytes=(\d+)-", self.headers["Range"])[1]) if self.headers["Range"] else 0
        self.asked.append((name, begin))
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        if name in self.cut:
            self.cut.discard(name)
            self.wfile.write(data[begin:len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(2)
        else:
            self.wfile.write(data[begin:])


def wheel(index, project, name, files):
    """A wheel of these files, and its line in the index."""
    folder = index / project
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    total = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    with open(folder / "index.html", "a") as page:
        page.write(f'<a href="{name}#sha256={total}">{name}</a><br/>\n')
    return folder / name


def small_index(index):
    """As the Python index has them, with a word in place of each library."""
    platform = "manylinux_2_28_" + os.uname().machine
    metadata = "Requires-Dist: cuda-toolkit[cublas,cudart,cupti]==13.0.2; platform_system == \"Linux\"\n" \
               "Requires-Dist: nvidia-nccl-cu13==2.28.9; platform_system == \"Linux\"\nRequires-Dist: triton==3.6.0\n"
    for python in ("cp310", "cp311", "cp314"):
        wheel(index, "torch", f"torch-2.11.0-{python}-{python}-{platform}.whl",
              {"torch/lib/libtorch_cpu.so": python * 5000, "torch/version.py": "__version__ = '2.11.0+cu130'\n", "torch/nn/functional.py": "",
               "torch-2.11.0.dist-info/METADATA": metadata})
    wheel(index, "torch", f"torch-2.12.0-cp311-cp311-{platform}.whl", {"torch/lib/libtorch_cpu.so": "newer"})
    parts = {"nvidia-cublas": ("cublas", "13.1.0.3", "13.1.0.*"), "nvidia-cuda-runtime": ("cudart", "13.0.96", "13.0.96.*"),
             "nvidia-cuda-cupti": ("cupti", "13.0.85", "13.0.85.*"), "nvidia-nccl-cu13": ("nccl", "2.28.9", "")}
    wheel(index, "cuda-toolkit", "cuda_toolkit-13.0.2-py2.py3-none-any.whl", {"cuda_toolkit-13.0.2.dist-info/METADATA": "".join(
        f"Requires-Dist: {name}=={asked}; (sys_platform == 'linux') and extra == '{extra}'\n" for name, (extra, _, asked) in parts.items() if asked)})
    for name, (extra, version, _) in parts.items():
        wheel(index, name, f"{name.replace('-', '_')}-{version}-py3-none-manylinux2014_{os.uname().machine}.{platform}.whl",
              {f"nvidia/{extra}/lib/lib{extra}.so": extra, f"nvidia/{extra}/include/{extra}.h": ""})
    wheel(index, "pyarrow", f"pyarrow-26.0.1-cp311-cp311-{platform}.whl", {"pyarrow/libarrow.so.2600": "arrow", "pyarrow/lib.pyx": ""})


def libtorch_is_fetched_whole_or_not_at_all(packages, folder):
    for tool in ("curl", "unzip"):
        if not shutil.which(tool):
            skip(f"there is no {tool}")
    folder = pathlib.Path(folder)
    tree, index = folder / "tree", folder / "index"
    (tree / "bin").mkdir(parents=True)
    (tree / "lib").mkdir()
    shutil.copy(SCRIPT, tree / "bin")
    small_index(index)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Index, directory=index))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "HFTRAIN_INDEX_URL": f"http://127.0.0.1:{server.server_port}", "no_proxy": "127.0.0.1"}

    def call(*words, code=0):
        done = subprocess.run([tree / "bin/hftrain-libtorch", *words], env=environment, text=True, capture_output=True)
        expect(done.returncode == code, f"{words} ends with {code}", done.stdout + done.stderr)
        if code:
            expect(parts_of(done.stderr) == [{"what", "where", "why", "try"}], "a message of four parts", done.stderr)
        return done.stdout + done.stderr

    torch = next((index / "torch").glob("torch-2.11.0-cp311*"))
    whole = torch.read_bytes()
    torch.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    said = call("fetch", "--cpu", code=3)
    expect("damaged" in said, "a checksum that is wrong is told", said)
    expect(not os.path.lexists(tree / "lib/torch"), "nothing is half there", os.listdir(tree / "lib"))
    torch.write_bytes(whole)
    Index.cut = {torch.name}
    call("fetch", "--cpu", "--parquet")
    expect((torch.name, len(whole) // 2) in Index.asked, "a cut download goes on where it stopped", Index.asked)
    expect((tree / "lib/torch/libtorch_cpu.so").read_text() == "cp311" * 5000, "the wheel that hftrain was built against", "")
    expect((tree / "lib/pyarrow/libarrow.so.2600").read_text() == "arrow", "Arrow", "")
    have = {str(path.relative_to(tree / "lib/libtorch-2.11.0")) for path in (tree / "lib").glob("libtorch-*/nvidia/**/*") if path.is_file()}
    expect(have == {"nvidia/cudart/lib/libcudart.so", "nvidia/cupti/lib/libcupti.so"}, "the companions of a CPU", have)
    expect("LibTorch 2.11.0" in call("status") and not (tree / "lib/.downloads").exists(), "no download is left", "")
    call("fetch", "--gpu")
    have = {path.name for path in (tree / "lib").glob("libtorch-*/nvidia/**/*") if path.is_file()}
    expect(have == {"libcublas.so", "libcudart.so", "libcupti.so", "libnccl.so"}, "the companions of a GPU", have)
    expect(not (tree / "lib/pyarrow").exists(), "what was not asked for is gone", "")
    # As the index of PyTorch itself writes a local version in its links.
    wheel(index / "plus", "torch", f"torch-2.11.0%2Bcpu-cp311-cp311-manylinux_2_28_{os.uname().machine}.whl",
          {"torch/lib/libtorch_cpu.so": "plus", "torch/version.py": "__version__ = '2.11.0+cpu'\n", "torch-2.11.0.dist-info/METADATA": ""})
    environment["HFTRAIN_INDEX_URL"] += "/plus"
    call("fetch", "--cpu")
    expect((tree / "lib/torch/libtorch_cpu.so").read_text() == "plus", "the wheel of another index", "")
    environment["HFTRAIN_INDEX_URL"] = environment["HFTRAIN_INDEX_URL"].removesuffix("/plus")
    shutil.rmtree(index / "nvidia-cuda-cupti")
    call("fetch", "--cpu", code=3)
    expect((tree / "lib/torch/libtorch_cpu.so").exists(), "a fetch that fails leaves what was there", "")
    call("link", folder / "absent", code=2)
    call("link", tree, code=2)
    other = folder / "other"
    (other / "lib").mkdir(parents=True)
    (other / "lib/libtorch_cpu.so").write_text("")
    expect("of a release that it does not name" in call("link", other, code=3), "a LibTorch without its release", "")
    (other / "version.py").write_text("__version__ = '2.11.0'\n")
    call("link", other)
    (tree / "lib/torch").unlink()
    (tree / "lib/torch").mkdir()
    expect("is no link" in call("link", other, code=3), "a folder in its place", "")
    (tree / "lib/torch").rmdir()
    call("link", other)
    (other / "version.py").write_text("__version__ = '2.12.0'\n")
    expect("hftrain has LibTorch 2.12.0" in call("status", code=3), "what a link leads to may change", "")
    call("poem", code=2)
    call("fetch", "--tpu", code=2)
    server.shutdown()
    pinned = (SOURCES / "scripts/environment.sh").read_text()
    for name in ("torch", "pyarrow"):
        version = re.search(rf"^{name}_version=(\S+)", pinned, re.M)[1]
        expect(f"{name}_version={version}" in SCRIPT.read_text(), f"{name} is the version of the build", version)


def the_wheel_that_hftrain_was_built_with_is_found(packages, folder):
    """As cmake --install leaves the tree: without a link, with the run paths of the build."""
    tree = pathlib.Path(folder) / "tree"
    for place in ("bin", "lib"):
        (tree / place).mkdir(parents=True)
    shutil.copy(SCRIPT, tree / "bin")

    def status(code):
        done = subprocess.run([tree / "bin/hftrain-libtorch", "status"], text=True, capture_output=True)
        expect(done.returncode == code, f"status ends with {code}", done.stdout + done.stderr)
        return done.stdout + done.stderr

    expect("hftrain has no LibTorch" in status(3), "without a program nothing is found", "")
    shutil.copy(runs.BUILD / "bin/hftrain-worker", tree / "bin")
    said = status(0)
    expect(said == f"LibTorch 2.11.0: {packages.site.resolve() / 'torch'}\n", "the wheel", said)
    (tree / "lib/torch").symlink_to("gone")
    expect(status(0) == said, "a link that leads nowhere hides nothing", said)


SCENARIOS = [the_debian_package_is_all_that_a_clean_root_needs, the_package_for_open_mpi_needs_the_other_one,
             the_tarball_trains_where_it_is_unpacked, libtorch_is_fetched_whole_or_not_at_all,
             the_wheel_that_hftrain_was_built_with_is_found]

if __name__ == "__main__":
    runs.run_scenarios(SCENARIOS, sys.argv[1:], Packages)
