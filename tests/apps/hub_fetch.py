#!/usr/bin/env python3
"""hftrain fetch, from a stand-in for the Hub that cuts connections, lies and refuses; the Python client finds what it fetched.

  hub_fetch.py [SCENARIO]…     all of them without a word
"""
import json
import os
import shutil
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hub_server import Server, git_hash, sha256
from runs import HFTRAIN, Fixture, expect, run_scenarios, skip

LONG = bytes(range(256)) * 4096  # 1 MiB
FILES = {"config.json": b'{"model_type": "gpt2"}', "model.safetensors": LONG, "README.md": b"# a model\n", "tokenizer.json": b"{}",
         "deep/er/notes.txt": b"", "pytorch_model.bin": b"a pickle", "training_args.bin": b"a pickle", "model.onnx": b"another's"}
TAKEN = sorted(set(FILES) - {"pytorch_model.bin", "training_args.bin", "model.onnx"})


def environment_of(fixture, folder, server, token=None):
    known = {name: value for name, value in fixture.environment.items() if not name.startswith(("HF_", "HUGGING"))}
    known.update(HF_HOME=os.path.join(folder, "home"), HF_ENDPOINT=server.address, HF_HUB_DOWNLOAD_TIMEOUT="60", HF_HUB_DISABLE_XET="1",
                 HF_HUB_DISABLE_TELEMETRY="1", no_proxy="*")
    return {**known, "HF_TOKEN": token} if token else known


def fetch(environment, *words, expect_code=0):
    result = subprocess.run([HFTRAIN, "fetch", *words], env=environment, text=True, capture_output=True)
    expect(result.returncode == expect_code, f"fetch {words} ended with {result.returncode}, not {expect_code}", result.stdout + result.stderr)
    return result


def cache_of(folder, name, kind="models"):
    return os.path.join(folder, "home", "hub", f"{kind}--{name.replace('/', '--')}")


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names)


def is_whole(folder, repository, name, taken, revision="main", kind="models"):
    """Links to blobs that have their hashes, a reference, and nothing else."""
    cache, commit = cache_of(folder, name, kind), repository.branches[revision]
    with open(os.path.join(cache, "refs", revision)) as file:
        expect(file.read() == commit, "the reference is the commit", commit)
    snapshot = os.path.join(cache, "snapshots", commit)
    expect(files_below(snapshot) == taken, "the files of the snapshot", files_below(snapshot))
    for path in taken:
        link, blob = os.path.join(snapshot, path), repository.files(revision)[path]
        with open(link, "rb") as file:
            expect(os.path.islink(link) and file.read() == blob.data, "a link to the bytes", path)
    names = os.listdir(os.path.join(cache, "blobs"))
    expect(set(names) == {repository.files(revision)[path].etag for path in taken}, "blobs, and nothing half-written", names)


def four_parts(said, *parts):
    expect(said.count("error:") == 1 and all(word in said for word in ("where:", "why:", "try:", *parts)), f"one error with {parts}", said)


def a_model_comes_whole_and_without_pickles(fixture, folder):
    with Server() as server:
        repository = server.add("org/net", FILES)
        environment = environment_of(fixture, folder, server)
        result = fetch(environment, "org/net")
        is_whole(folder, repository, "org/net", TAKEN)
        expect(result.stdout.strip() == os.path.join(cache_of(folder, "org/net"), "snapshots", repository.branches["main"]), "where it is", result.stdout)
        expect("pickles are never fetched: pytorch_model.bin, training_args.bin" in result.stderr and "model.onnx" in result.stderr, "left out", result.stderr)
        expect(not any("bin" in path or "onnx" in path for _, path, _ in server.calls), "no request for them", server.calls)
        before = len(server.calls)
        expect("all there already" in fetch(environment, "org/net").stderr, "nothing new", server.calls[before:])
        expect(not any("resolve" in path for _, path, _ in server.calls[before:]), "no file comes twice", server.calls[before:])
        server.add("org/net", {**FILES, "config.json": b'{"model_type": "llama"}'}, branch="a/branch")
        found = json.loads(fetch(environment, "org/net", "--revision", "a/branch", "--json").stdout)
        expect((found["files"], found["received"]) == (len(TAKEN), 23), "one file is new", found)
        data = server.add("org/rows", {"train.parquet": LONG, "README.md": b"rows", "odd.pkl": b"x"}, kind="dataset")
        fetch(environment, "org/rows", "--dataset")
        is_whole(folder, data, "org/rows", ["README.md", "train.parquet"], kind="datasets")
    expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def connections_are_cut_at_every_request(fixture, folder):
    for cut in ("before", "after", "half"):
        place = os.path.join(folder, cut)
        with Server(cut=cut) as server:
            repository = server.add("org/net", FILES)
            fetch(environment_of(fixture, place, server), "org/net")
        is_whole(place, repository, "org/net", TAKEN)
        ranges = [headers["Range"] for _, path, headers in server.calls if "Range" in headers]
        expect(cut != "half" or f"bytes={len(LONG) // 2}-" in ranges, "it goes on in the middle", ranges)
        expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def a_killed_fetch_is_gone_on_from(fixture, folder):
    with Server() as server:
        repository = server.add("org/net", FILES)
        environment = environment_of(fixture, folder, server)
        server.hold = lambda method, path: path.startswith("/cdn/")
        process = subprocess.Popen([HFTRAIN, "fetch", "org/net"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        partial = os.path.join(cache_of(folder, "org/net"), "blobs", sha256(LONG) + ".incomplete")
        server.held.wait()
        while not os.path.exists(partial) or os.path.getsize(partial) == 0:
            expect(process.poll() is None, "it waits for the rest", process.poll())
        process.kill()
        process.communicate()
        kept = os.path.getsize(partial)
        expect(not os.path.exists(os.path.join(cache_of(folder, "org/net"), "snapshots")), "no snapshot of a part", partial)
        refused = subprocess.run([HFTRAIN, "--model_name_or_path", "org/net", "--train_file", fixture.text, "--do_train", "--use_cpu",
                                  "--output_dir", os.path.join(folder, "out")], env=environment, text=True, capture_output=True)
        expect(refused.returncode == 4 and "hftrain fetch org/net" in refused.stderr, "a part is no model", refused.stderr)
        server.hold = None
        server.go_on.set()
        fetch(environment, "org/net")
        is_whole(folder, repository, "org/net", TAKEN)
        expect(f"bytes={kept}-" in [headers.get("Range") for _, _, headers in server.calls], "the rest alone came", kept)


def a_fetch_that_is_killed_at_any_request_is_gone_on_from(fixture, folder):
    def killed(at):
        place = os.path.join(folder, f"place{at}")
        with Server() as server:
            repository = server.add("org/net", FILES)
            environment = environment_of(fixture, place, server)
            server.hold_at(at)
            process = subprocess.Popen([HFTRAIN, "fetch", "org/net"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not server.held.wait(0.02):
                if process.poll() is not None:
                    return False
            process.kill()
            process.wait()
            cache = cache_of(place, "org/net")
            expect(not any(os.path.exists(os.path.join(cache, name)) for name in ("snapshots", "refs")), "no snapshot of a part", files_below(place))
            blobs = os.path.join(cache, "blobs")
            there = {name for name in os.listdir(blobs) if "." not in name} if os.path.exists(blobs) else set()
            server.go_on.set()
            before = len(server.calls)
            fetch(environment, "org/net")
            again = [path for _, path, _ in server.calls[before:] for name, blob in repository.files().items()
                     if blob.etag in there and path.endswith("/" + name)]
            expect(not again, "what had come does not come again", (at, again))
            is_whole(place, repository, "org/net", TAKEN)
        return True

    at = 1
    while killed(at):
        at += 1
    expect(at > len(TAKEN) + 3, "requests at which it was killed", at)


def a_fetch_that_waits_for_another_says_so(fixture, folder):
    with Server() as server:
        repository = server.add("org/net", FILES)
        environment = environment_of(fixture, folder, server)
        server.hold = lambda method, path: path.startswith("/cdn/")
        programs = [subprocess.Popen([HFTRAIN, "fetch", "org/net"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)]
        server.held.wait()
        programs.append(subprocess.Popen([HFTRAIN, "fetch", "org/net"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        said = ""
        while "model.safetensors: another program is fetching it, and is waited for" not in said:
            line = programs[1].stderr.readline()
            expect(line and not said.count("another"), "the second says what it waits for, once", said)
            said += line
        server.hold = None
        server.go_on.set()
        ends = [(program.communicate(), program.returncode) for program in programs]
        expect(all(code == 0 for _, code in ends), "both have it", ends)
        expect(sum(path.startswith("/cdn/") for _, path, _ in server.calls) == 1, "and it comes once", server.calls)
    is_whole(folder, repository, "org/net", TAKEN)


def tokens_open_what_is_gated_and_are_nowhere(fixture, folder):
    secret = "hf_" + "SeCrEt" * 6
    with Server(token=secret) as server:
        server.add("org/gated", FILES).gated = True
        server.add("org/private", FILES).private = True
        environment = environment_of(fixture, folder, server)
        four_parts(fetch(environment, "org/gated", expect_code=4).stderr, "org/gated is gated", "HF_TOKEN", "must be authenticated")
        four_parts(fetch(environment, "org/private", expect_code=4).stderr, "is not there, or is private", "without a token")
        said = fetch({**environment, "HF_TOKEN": "hf_anotherone"}, "org/private", expect_code=4).stderr
        four_parts(said, "with a token")
        expect("anotherone" not in said, "no token in a message", said)
        stored = os.path.join(folder, "home", "token")
        os.makedirs(os.path.dirname(stored), exist_ok=True)
        with open(stored, "w") as file:
            file.write(secret + "\n")
        said = fetch(environment, "org/private").stderr
        four_parts(fetch({**environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}, "org/gated", expect_code=4).stderr, "is gated")
        shutil.move(stored, os.path.join(folder, "elsewhere"))
        four_parts(fetch(environment, "org/gated", expect_code=4).stderr, "is gated")
        said += fetch({**environment, "HF_TOKEN_PATH": os.path.join(folder, "elsewhere")}, "org/gated").stderr
        broken = fetch({**environment, "HF_TOKEN": secret + "\nHost: evil"}, "org/gated", expect_code=2).stderr
        four_parts(broken, "characters that no token has", "HF_TOKEN")
        expect(secret not in said + broken, "the token is not said", said)
    for path in files_below(os.path.join(folder, "home")):
        with open(os.path.join(folder, "home", path), "rb") as file:
            expect(secret.encode() not in file.read(), "the token is in no file", path)
    expect(not server.wrong, "no token to another address", server.wrong)


def what_cannot_be_is_told_in_four_parts(fixture, folder):
    with Server() as server:
        server.add("org/net", FILES)
        server.add("org/pickled", {"config.json": b"{}", "pytorch_model.bin": b"a pickle"})
        server.add("org/out", {"../../escape.txt": b"x"})
        environment = environment_of(fixture, folder, server)
        four_parts(fetch(environment, "org/net", "--revision", "v9", expect_code=4).stderr, "no revision 'v9'")
        four_parts(fetch(environment, "org/none", expect_code=4).stderr, "is not there, or is private")
        four_parts(fetch(environment, "org/pickled", expect_code=4).stderr, "no weights in safetensors", "pytorch_model.bin", "save_pretrained")
        four_parts(fetch(environment, "org/out", expect_code=4).stderr, "cannot be stored")
        four_parts(fetch(environment, "../up", expect_code=2).stderr, "is no name of the hub")
        four_parts(fetch({**environment, "HF_HUB_OFFLINE": "1"}, "org/net", expect_code=3).stderr, "HF_HUB_OFFLINE")
        four_parts(fetch({**environment, "HF_ENDPOINT": "hub.example"}, "org/net", expect_code=2).stderr, "HF_ENDPOINT is no address")
        server.fault = lambda method, path: 503 if "/resolve/" in path and path.endswith("config.json") else 0
        four_parts(fetch(environment, "org/net", expect_code=3).stderr, "HTTP 503: trouble here", "goes on where this one ended")
        server.fault = lambda method, path: 0
        server.lie = lambda path, data: data.replace(b"gpt2", b"gpt3")
        four_parts(fetch(environment, "org/net", expect_code=4).stderr, "is not the one of the repository", git_hash(FILES["config.json"]))
        cache = cache_of(folder, "org/net")
        expect(not os.path.exists(os.path.join(cache, "refs")) and not any(n.endswith("incomplete") for n in os.listdir(os.path.join(cache, "blobs"))),
               "nothing is kept of it", files_below(cache))
        expect(not any(name.endswith("escape.txt") for name in files_below(folder)), "nothing outside", files_below(folder))
        server.lie = lambda path, data: data[:-3]
        four_parts(fetch(environment, "org/net", expect_code=3).stderr, "it sent fewer bytes than the file has")
        server.lie = lambda path, data: b"x" + data
        four_parts(fetch(environment, "org/net", expect_code=4).stderr, "is not the one of the repository")
        server.lie = lambda path, data: data + b"again"  # what the hash is of has come
        fetch(environment, "org/net")
        server.lie = lambda path, data: data
        server.add("org/odd", {"a.pkl": b"x", "b.bin": b"x", "README.md": b"# rows", ".gitattributes": b""}, kind="dataset")
        four_parts(fetch(environment, "org/odd", "--dataset", expect_code=4).stderr, "org/odd has nothing but pickles", "refs/convert/parquet")
        server.add("org/fresh", FILES)
        server.same_page = True
        four_parts(fetch(environment, "org/fresh", expect_code=3).stderr, "the list of a repository's files has no end")
        server.same_page, server.names_commit = False, "e" * 40
        four_parts(fetch(environment, "org/fresh", "--revision", "d" * 40, expect_code=3).stderr, "the Hub names another commit than was asked for", "d" * 40)
        server.names_commit, server.endless_refusals = "", True
        server.fault = lambda method, path: 404 if "/resolve/" in path else 0
        four_parts(fetch(environment, "org/fresh", expect_code=4).stderr, "is not there, or is private")
        for call in ("/revision/", "/tree/"):
            server.fault = lambda method, path, call=call: 404 if call in path else 0
            four_parts(fetch(environment, "org/fresh", expect_code=4).stderr, "is not there, or is private")
        server.fault, server.endless_refusals = lambda method, path: 0, False
        expect(not os.path.exists(os.path.join(cache_of(folder, "org/fresh"), "snapshots")), "no snapshot of a part", files_below(folder))
    four_parts(fetch(environment, "org/net", expect_code=3).stderr, "the Hub cannot be reached")


def a_full_disk_is_told_and_gone_on_from(fixture, folder):
    disk = os.path.join(folder, "home")
    os.mkdir(disk)
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True, text=True)
    if mount.returncode != 0:
        skip(f"mounting a small file system is not allowed here ({mount.stderr.strip()})")
    try:
        with Server() as server:
            repository = server.add("org/net", FILES)
            environment = environment_of(fixture, folder, server)
            four_parts(fetch(environment, "org/net", expect_code=7).stderr, "there is no room", "--cache_dir")
            subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
            fetch(environment, "org/net")
            is_whole(folder, repository, "org/net", TAKEN)
    finally:
        subprocess.run(["umount", disk], check=False)


def certificate_of(folder):
    """Of the loopback address: the files of it and of its key."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj",
                           "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"openssl makes no certificate here ({made.stderr.strip()[-200:]})")
    return certificate, key


def tls_is_checked(fixture, folder):
    certificate, key = certificate_of(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Server(context=context) as server:
        repository = server.add("org/net", FILES)
        environment = environment_of(fixture, folder, server)
        four_parts(fetch(environment, "org/net", expect_code=3).stderr, "the Hub cannot be reached", "certificate")
        fetch({**environment, "SSL_CERT_FILE": certificate}, "org/net")
    is_whole(folder, repository, "org/net", TAKEN)


def python_of():
    python = os.environ.get("HFTRAIN_TEST_PYTHON")
    if not python or subprocess.run([python, "-c", "import huggingface_hub, transformers"], capture_output=True).returncode != 0:
        skip("python3 with huggingface_hub and transformers: set HFTRAIN_TEST_PYTHON")
    return python


def ask_python(environment, code, *words):
    result = subprocess.run([python_of(), "-c", code, *words], env=environment, text=True, capture_output=True)
    expect(result.returncode == 0, "the Python client", result.stdout + result.stderr)
    return result.stdout.strip()


def the_python_client_and_a_run_find_what_was_fetched(fixture, folder):
    python_of()
    made = os.path.join(folder, "made")
    fixture.call(*fixture.flags(made, "--max_steps", 2, "--save_strategy", "no", ranks=1))
    files = {}
    for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        if os.path.exists(os.path.join(made, name)):
            with open(os.path.join(made, name), "rb") as file:
                files[name] = file.read()
    with open(fixture.text, "rb") as file:
        rows = {"train.txt": file.read()}
    with Server() as server:
        server.add("org/tiny", files)
        server.add("org/rows", rows, kind="dataset")
        environment = environment_of(fixture, folder, server)
        theirs = os.path.join(folder, "theirs")
        code = "import sys, huggingface_hub; print(huggingface_hub.snapshot_download(sys.argv[1], repo_type=sys.argv[2]))"
        for name, kind in (("org/tiny", "model"), ("org/rows", "dataset")):
            there = ask_python({**environment, "HF_HOME": theirs}, code, name, kind)
            here = fetch(environment, name, *(["--dataset"] if kind == "dataset" else [])).stdout.strip()
            both = [sorted((os.path.relpath(os.path.join(place, each), root), os.readlink(os.path.join(place, each)))
                           for place, _, names in os.walk(root) for each in names) for root in (there, here)]
            expect(both[0] == both[1], "the same links to the same blobs", both)
        before = len(server.calls)
        expect("all there already" in fetch({**environment, "HF_HOME": theirs}, "org/tiny").stderr, "their cache serves", theirs)
        expect(not any("resolve" in path for _, path, _ in server.calls[before:]), "no file came again", server.calls[before:])
    offline = {**environment, "HF_HUB_OFFLINE": "1"}
    opened = "import transformers; m = transformers.AutoModelForCausalLM.from_pretrained('org/tiny'); t = transformers.AutoTokenizer.from_pretrained('org/tiny'); print(m.config.n_embd, len(t))"
    expect(ask_python(offline, opened) == "32 512", "transformers opens it", opened)
    run = subprocess.run([HFTRAIN, "--model_name_or_path", "org/tiny", "--dataset_name", "org/rows", "--block_size", "64", "--use_cpu", "--do_train",
                          "--max_steps", "1", "--save_strategy", "no", "--output_dir", os.path.join(folder, "out")], env=offline, text=True, capture_output=True)
    expect(run.returncode == 0, "a run takes both by their names", run.stdout + run.stderr)
    expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def what_the_python_client_pushed_is_fetched(fixture, folder):
    """Which shows, too, that the stand-in takes what the client sends."""
    made = os.path.join(folder, "made")
    os.makedirs(os.path.join(made, "sub"))
    files = {"config.json": FILES["config.json"], "model.safetensors": LONG, "sub/notes.txt": b"a note", "README.md": b"---\nlicense: mit\n---\n"}
    for path, data in files.items():
        with open(os.path.join(made, path), "wb") as file:
            file.write(data)
    code = ("import sys, huggingface_hub as hub; api = hub.HfApi(); name = api.create_repo('pushed', private=True, exist_ok=True).repo_id; "
            "api.upload_folder(repo_id=name, folder_path=sys.argv[1], commit_message='a push'); print(name)")
    for part_size in (None, 300000):
        place = os.path.join(folder, str(part_size))
        with Server(part_size=part_size) as server:
            environment = environment_of(fixture, place, server, token=server.token)
            name = ask_python(environment, code, made).splitlines()[-1]
            repository = server.of(name)
            expect((name, repository.messages, repository.private) == ("me/pushed", ["a push"], True), "one push to a private place", repository.messages)
            there = {path: blob.data for path, blob in repository.files().items() if path != ".gitattributes"}
            expect(there == files, "all files", sorted(there))
            expect(len(server.parts) == (part_size is not None), "a large file comes in parts where the store wants them", server.parts.keys())
            fetch(environment, name)
            is_whole(place, repository, name, sorted(repository.files()))
        expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def a_server_that_says_nothing_is_told_and_left(fixture, folder):
    with Server() as server:
        server.add("org/net", FILES)
        environment = {**environment_of(fixture, folder, server), "HF_HUB_DOWNLOAD_TIMEOUT": "1"}
        server.fault = lambda method, path: server.closing.wait(300) and 0
        silent = subprocess.run([HFTRAIN, "fetch", "org/net"], env=environment, text=True, capture_output=True, timeout=60)
        expect(silent.returncode == 3, "it is left", silent.stderr)
        expect(silent.stderr.startswith(f"asking {server.address} for org/net\n"), "what is waited for, at once", silent.stderr)
        expect("no whole answer of the Hub (Timeout was reached): fetching goes on at once\n" in silent.stderr, "and why it is asked again", silent.stderr)
        four_parts(silent.stderr, "the Hub cannot be reached", "Timeout was reached")
        expect(len(server.calls) == 2, "it is asked twice", server.calls)
    with Server(cut="half") as server:
        server.add("org/net", FILES)
        said = fetch(environment_of(fixture, folder, server), "org/net").stderr
        expect("no whole answer of the Hub (" in said and "takes no more requests" not in said, "a cut is no refusal", said)


SCENARIOS = [a_model_comes_whole_and_without_pickles, connections_are_cut_at_every_request, a_killed_fetch_is_gone_on_from,
             a_fetch_that_is_killed_at_any_request_is_gone_on_from, a_fetch_that_waits_for_another_says_so, tokens_open_what_is_gated_and_are_nowhere, what_cannot_be_is_told_in_four_parts, a_full_disk_is_told_and_gone_on_from,
             tls_is_checked, a_server_that_says_nothing_is_told_and_left, the_python_client_and_a_run_find_what_was_fetched, what_the_python_client_pushed_is_fetched]
if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
