#!/usr/bin/env python3
"""--push_to_hub, to a stand-in for the Hub that cuts connections, refuses and says nothing; transformers opens what was pushed.

  hub_push.py [SCENARIO]…     all of them without a word
"""
import concurrent.futures
import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hub_fetch import ask_python, certificate_of, environment_of, files_below, four_parts, python_of
from hub_server import Server, sha256
from runs import HFTRAIN, PATIENCE, Fixture, expect, run_scenarios, skip

SECRET = "hf_" + "SeCrEt" * 6
STEPS = ["--max_steps", 4, "--save_strategy", "steps", "--save_steps", 2, "--push_to_hub"]
STRATEGIES = ("end", "every_save", "checkpoint", "all_checkpoints")
MODEL = ["config.json", "model.safetensors", "tokenizer.json"]


def words(fixture, out, *more):
    return [HFTRAIN, *fixture.flags(out, *STEPS, *more, ranks=1)]


def push(fixture, environment, out, *more, expect_code=0):
    result = subprocess.run(words(fixture, out, *more), env=environment, text=True, capture_output=True, timeout=PATIENCE)
    expect(result.returncode == expect_code, f"{more} ended with {result.returncode}, not {expect_code}", result.stdout + result.stderr)
    return result


def place(fixture, folder, server, token=SECRET):
    return environment_of(fixture, folder, server, token)


def is_model_of(repository, out, revision="main"):
    files = repository.files(revision)
    for name in MODEL:
        with open(os.path.join(out, name), "rb") as file:
            expect(name in files and files[name].data == file.read(), "the model is there, byte for byte", (name, sorted(files)))
    inside = [path for path in files if path.startswith(("hftrain", "_", "."))]
    expect(not inside, "nothing of the run's own", inside)


def nothing_half_written(server):
    """Every file of every commit is whole, a model has all its files, and nobody was asked for what is none of the Hub's interface."""
    for repository in server.repositories.values():
        for files in repository.commits.values():
            expect("config.json" not in files or set(MODEL) <= set(files), "a whole model", sorted(files))
            for path, blob in files.items():
                expect(not blob.large or sha256(blob.data) == blob.etag, "a whole file", path)
    expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def is_nowhere(secret, folder, *said):
    for path in files_below(folder):
        with open(os.path.join(folder, path), "rb") as file:
            expect(secret.encode() not in file.read(), "the token is in no file", path)
    expect(all(secret not in text for text in said), "the token is not said", said)


def commits_of(strategy):
    """What two saves and the end bring; the files of the end may have come with the last one."""
    saves = [f"Training in progress, step {step}" for step in (2, 4)]
    return {"end": [], "every_save": saves}.get(strategy, [each for save in saves for each in (save, save + ", checkpoint")])


def has_commits_of(repository, strategy):
    messages = commits_of(strategy)
    expect(repository.messages == messages + ["End of training"] or (messages and repository.messages == messages), "the commits",
           (strategy, repository.messages))


def each_strategy_pushes_what_it_says(fixture, folder):
    for strategy in STRATEGIES:
        out = os.path.join(folder, "a-" + strategy)
        with Server(token=SECRET) as server:
            environment = place(fixture, os.path.join(folder, "home-" + strategy), server)
            # Some files of a commit are large, and in parts.
            server.part_size = 20000 if strategy == "checkpoint" else None
            said = push(fixture, environment, out, "--hub_strategy", strategy, "--hub_always_push", "--hub_private_repo").stderr
            repository = server.of("me/a-" + strategy)
        expect(repository.private, "private", strategy)
        has_commits_of(repository, strategy)
        folders = {"end": [], "every_save": [], "checkpoint": ["last-checkpoint"], "all_checkpoints": ["checkpoint-2", "checkpoint-4"]}[strategy]
        there = {path.split("/")[0]: path for path in repository.files() if "/" in path and not path.startswith("runs/")}
        expect(sorted(there) == folders, "folders of checkpoints", (strategy, sorted(repository.files())))
        for name in folders:
            local = os.path.join(out, "checkpoint-4" if name == "last-checkpoint" else name)
            pushed = sorted(path[len(name) + 1:] for path in repository.files() if path.startswith(name + "/"))
            expect(pushed == files_below(local), "the whole checkpoint, and nothing older", pushed)
        for path in [path for path in repository.files() if path.split("/")[0] in folders]:
            del repository.files()[path]
        is_model_of(repository, out)
        expect("README.md" in repository.files(), "with its card", sorted(repository.files()))
        expect("pushed to me/a-" + strategy in said, "said", said)
        left = os.path.join(out, "hftrain", ".push")
        expect(not os.path.exists(left) or not os.listdir(left), "nothing is left over", left)
        is_nowhere(SECRET, out, said)
        nothing_half_written(server)


def names_branches_and_tokens_are_found(fixture, folder):
    with Server(token=SECRET) as server:
        server.add("org/named", {"other.txt": b"kept"})
        server.of("org/named").branches["dev/a"] = server.of("org/named").branches["main"]
        environment = place(fixture, folder, server, None)
        home = os.path.join(folder, "home")
        os.makedirs(home)
        out = os.path.join(folder, "out")
        four_parts(push(fixture, environment, out, expect_code=2).stderr, "no access token", "hf auth login")
        said = push(fixture, environment, out, "--hub_token", "hf_another", expect_code=2).stderr
        four_parts(said, "does not take the access token")
        expect("hf_another" not in said and not os.path.exists(os.path.join(out, "checkpoint-2")), "before the training", said)
        four_parts(push(fixture, environment, out, "--hub_token", "hf_another", "--hub_model_id", "org/named", expect_code=2).stderr,
                   "does not take the access token")
        flags = ["--hub_strategy", "end", "--hub_model_id", "named", "--push_to_hub_organization", "org"]
        four_parts(push(fixture, environment, out, *flags, "--hub_token", SECRET, "--hub_revision", "none", expect_code=4).stderr, "no revision 'none'")
        four_parts(push(fixture, environment, out, "--hub_token", SECRET, "--hub_model_id", "fresh", "--hub_revision", "dev", expect_code=4).stderr,
                   "no revision 'dev'", "a new one has main alone")
        expect(("model", "me/fresh") not in server.repositories, "and nothing was made", server.repositories)
        four_parts(push(fixture, environment, out, "--hub_token", SECRET, "--hub_revision", "a" * 40, expect_code=2).stderr, "branches alone")
        four_parts(push(fixture, environment, out, "--hub_token", SECRET, "--hub_model_id", "a/b/c", expect_code=2).stderr, "no name of a repository")
        four_parts(push(fixture, environment, out, "--hub_token", SECRET, "--hub_model_id", "o2/x", "--push_to_hub_organization", "org", expect_code=2).stderr,
                   "has two owners", "org against o2/x")
        said = push(fixture, environment, out, *flags, "--hub_token", SECRET, "--hub_revision", "dev/a").stderr
        repository = server.of("org/named")
        is_model_of(repository, out, "dev/a")
        card = pathlib.Path(out, "README.md").read_text()
        expect("- name: named\n" in card and "\n# named\n" in card, "its card has its name, not the folder's", card)
        expect(repository.files("dev/a")["other.txt"].data == b"kept", "what else is there stays", sorted(repository.files("dev/a")))
        expect(sorted(repository.files()) == ["other.txt"], "main is as it was", sorted(repository.files()))
        is_nowhere(SECRET, out, said)
        with open(os.path.join(home, "token"), "w") as file:
            file.write(SECRET)
        push(fixture, environment, os.path.join(folder, "stored"), "--hub_strategy", "end")
        is_model_of(server.of("me/stored"), os.path.join(folder, "stored"))
        # Old names, of a token that is another one than the stored one.
        server.token = "hf_renewed"
        push(fixture, environment, os.path.join(folder, "old"), "--hub_strategy", "end", "--push_to_hub_model_id", "renamed", "--push_to_hub_token", "hf_renewed")
        is_model_of(server.of("me/renamed"), os.path.join(folder, "old"))
    nothing_half_written(server)


def connections_are_cut_at_every_request(fixture, folder):
    def pushed(strategy, cut):
        name = f"{strategy}-{cut}"
        out = os.path.join(folder, name)
        with Server(token=SECRET, cut=cut, part_size=20000) as server:
            said = push(fixture, place(fixture, os.path.join(folder, "home"), server), out, "--hub_strategy", strategy, "--hub_always_push").stderr
            expect("pushed to me/" + name in said and "warning: not" not in said, "pushed", said)
            has_commits_of(server.of("me/" + name), strategy)  # each once, though its answer was lost
            is_model_of(server.of("me/" + name), out)
            is_nowhere(SECRET, out, said)
            cuts = len(server.seen)
        nothing_half_written(server)
        return cuts

    ways = [(strategy, cut) for strategy in STRATEGIES for cut in ("during", "before", "after", "half")]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        cuts = dict(zip(ways, pool.map(lambda way: pushed(*way), ways)))
    expect(all(cuts[way] >= 10 for way in ways), "requests that were cut", cuts)


def writes_out(files, folder):
    for path, blob in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "wb") as file:
            file.write(blob.data)


def a_run_that_is_killed_at_any_request_is_pushed_by_the_next(fixture, folder):
    """The Hub may do what it was asked for after the one who asked has gone."""
    flags = ["--hub_strategy", "checkpoint", "--max_steps", 2, "--overwrite_output_dir"]

    def count(name):
        with Server(token=SECRET) as server:
            push(fixture, place(fixture, folder, server), os.path.join(folder, name), *flags)
            return len(server.calls)

    def killed(at):
        out = os.path.join(folder, f"out{at}")
        with Server(token=SECRET) as server:
            environment = place(fixture, folder, server)
            server.hold_at(at)
            process = subprocess.Popen(words(fixture, out, *flags), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + PATIENCE
            while not server.held.wait(0.05) and process.poll() is None:
                expect(time.monotonic() < deadline, "it comes to that request", at)
            if not server.held.is_set():  # the end has no commit of its own where its files came with the last save
                expect(process.returncode == 0, "it ends well before that request", (at, process.returncode))
                return False
            process.kill()
            process.wait()
            server.go_on.set()
            there = set(server.large)
            before = len(server.calls)
            server.fault = lambda method, path: 0
            push(fixture, environment, out, *flags)
            again = [path for _, path, _ in server.calls[before:] if path.startswith("/lfs/put/") and path.split("/")[-1] in there]
            expect(not again, "what had come is not sent again", (at, again))
            repository = server.of(f"me/out{at}")
            is_model_of(repository, out)
        nothing_half_written(server)
        for number, files in enumerate(repository.commits.values()):
            checkpoint = {path: blob for path, blob in files.items() if path.startswith("last-checkpoint/")}
            if checkpoint:
                copy = os.path.join(folder, f"copy{at}-{number}")
                writes_out(checkpoint, copy)
                fixture.call("checkpoint", "verify", os.path.join(copy, "last-checkpoint"))
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        reached = list(pool.map(killed, range(1, count("whole") + 1)))
    expect(sum(reached) >= 15 and all(reached[:15]), "requests that a run was killed at", reached)


def is_refused(fixture, environment, server, out, *reasons):
    """A push of the end that this server does not let through."""
    said = push(fixture, environment, out, "--hub_strategy", "end", "--max_steps", 1).stderr
    expect(said.count("nothing could be pushed to the Hub") == 1 and all(reason in said for reason in reasons), f"refused for {reasons}", said)
    expect(server.of("me/" + os.path.basename(out)).messages == [], "no commit", server.of("me/" + os.path.basename(out)).messages)
    is_nowhere(SECRET, out, said)


def answers_that_are_none_push_nothing(fixture, folder):
    def leaves_out(path, body, _):
        if "/preupload/" in path:
            body["files"] = [each for each in body["files"] if not each["path"].endswith(".safetensors")]

    def another_mode(path, body, _):
        for each in body["files"] if "/preupload/" in path else []:
            each["uploadMode"] = "xet" if each["path"].endswith(".safetensors") else "regular"

    def no_receipt(path, _, headers):
        if path.startswith("/lfs/part/"):
            del headers["ETag"]

    def place(action, href):
        def change(path, body, _):
            for each in body["objects"] if path.endswith("/objects/batch") else []:
                each["actions"][action]["href"] = href
        return change

    refusals = [(leaves_out, "does not say how it wants model.safetensors"), (another_mode, "does not say how it wants model.safetensors"),
                (no_receipt, "no receipt for a part"), (place("verify", ""), "names no place"), (place("verify", "/lfs/verify"), "names no place"),
                (place("upload", f"file://{folder}/written"), "names no place")]
    with Server(token=SECRET, part_size=20000) as server:
        environment = environment_of(fixture, folder, server, SECRET)
        for number, (change, reason) in enumerate(refusals):
            server.change = change
            server.large.clear()  # of the run before
            is_refused(fixture, environment, server, os.path.join(folder, f"out{number}"), reason)
    expect(not os.path.exists(os.path.join(folder, "written")), "no file but those of the run", os.listdir(folder))
    nothing_half_written(server)


def what_is_secret_stays_secret(fixture, folder):
    """The Hub is spoken to over TLS: nothing goes where it would be read on the way. A server that repeats a token is not repeated."""
    certificate, key = certificate_of(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Server(token=SECRET, context=context) as server, Server(token=SECRET) as plain:
        environment = {**environment_of(fixture, folder, server, SECRET), "SSL_CERT_FILE": certificate}
        for action in ("upload", "verify"):
            def change(path, body, _, action=action):
                for each in body["objects"] if path.endswith("/objects/batch") else []:
                    each["actions"][action]["href"] = each["actions"][action]["href"].replace(server.store, plain.store).replace(server.address, plain.store)
            server.change = change
            is_refused(fixture, environment, server, os.path.join(folder, action), "without TLS")
        expect(plain.calls == [], "nothing went there", plain.calls)
        server.change = lambda path, body, headers: None
        server.trouble = "bad token: Bearer " + SECRET
        server.fault = lambda method, path: 403 if "/commit/" in path else 0
        is_refused(fixture, environment, server, os.path.join(folder, "echo"), "bad token: Bearer")


def a_refusal_without_end_holds_nothing(fixture, folder):
    with Server(token=SECRET) as server:
        environment = environment_of(fixture, folder, server, SECRET)
        server.endless_refusals = True
        for number, call in enumerate(("/lfs/put/", "/commit/", "/objects/batch")):
            server.fault = lambda method, path, call=call: 403 if call in path else 0
            is_refused(fixture, environment, server, os.path.join(folder, f"out{number}"), "HTTP 403")
    nothing_half_written(server)


def the_model_there_is_one_model(fixture, folder):
    """Weights of a model that was saved in other files do not stay beside it, nor does anything else go."""
    files = {"model.safetensors.index.json": b"{}", "model-00001-of-00002.safetensors": b"old", "model-00002-of-00002.safetensors": b"old",
             "other.safetensors": b"kept", "sub/model-00001-of-00002.safetensors": b"kept", "model.safetensors": b"older", "notes.txt": b"kept"}
    kept = ["notes.txt", "other.safetensors", "sub/model-00001-of-00002.safetensors"]
    out = os.path.join(folder, "out")
    with Server(token=SECRET) as server:
        server.add("me/out", files)
        push(fixture, environment_of(fixture, folder, server, SECRET), out, "--hub_strategy", "end", "--max_steps", 1)
        there = server.of("me/out").files()
        expect(sorted(path for path in there if "safetensors" in path or path in files) == sorted(["model.safetensors", *kept]), "one model", sorted(there))
        expect(all(there[path].data == files[path] for path in kept), "what is not of it stays", sorted(there))
        is_model_of(server.of("me/out"), out)
    nothing_half_written(server)


def a_public_repository_is_told_where_a_private_one_is_asked_for(fixture, folder):
    with Server(token=SECRET) as server:
        environment = environment_of(fixture, folder, server, SECRET)
        flags = ["--hub_strategy", "end", "--max_steps", 1, "--hub_private_repo"]
        for name, private, told in (("open", False, True), ("closed", True, False)):
            server.add("me/" + name, {}).private = private
            said = push(fixture, environment, os.path.join(folder, name), *flags).stderr
            expect(("warning: me/" + name + " is there and public" in said) == told, f"told: {told}", said)
            expect(server.of("me/" + name).private == private, "and it is as it was", name)
        expect("is there and public" not in push(fixture, environment, os.path.join(folder, "new"), *flags).stderr, "of a new one nothing is told", server.calls)
        expect(server.of("me/new").private, "it is private", server.calls)
        flags[-1:] = ["--hub_private_repo", "false"]
        expect("is there and public" not in push(fixture, environment, os.path.join(folder, "open"), *flags, "--overwrite_output_dir").stderr, "nor where it is wanted", flags)
    nothing_half_written(server)


def what_the_hub_ignores_stays_as_it_is(fixture, folder):
    out = os.path.join(folder, "out")
    with Server(token=SECRET) as server:
        server.add("me/out", {"last-checkpoint/trainer_state.json": b"theirs", "last-checkpoint/old.txt": b"old"})

        def change(path, body, _):
            for each in body["files"] if "/preupload/" in path else []:
                each["shouldIgnore"] = each["path"].endswith("trainer_state.json")
        server.change = change
        push(fixture, environment_of(fixture, folder, server, SECRET), out, "--hub_strategy", "checkpoint", "--hub_always_push")
        there = server.of("me/out").files()
    pushed = sorted(path.split("/", 1)[1] for path in there if path.startswith("last-checkpoint/"))
    expect(pushed == files_below(os.path.join(out, "checkpoint-4")), "the checkpoint, and no older file", pushed)
    expect(there["last-checkpoint/trainer_state.json"].data == b"theirs", "what is ignored is as it was", pushed)
    nothing_half_written(server)


NUMBER = "[0-9]" * 5
GOES = ("--delete model.safetensors --delete model.safetensors.index.json "
        f"--delete 'model-{NUMBER}-of-{NUMBER}.safetensors' --delete adapter_config.json --delete adapter_model.safetensors --delete adapter_model.bin")
STAYS = f"--exclude 'checkpoint-*' --exclude 'hftrain/*' --exclude '_*' --exclude '.*' {GOES}"
ENDLESS = ["--max_steps", 1000000, "--save_steps", 20, "--save_total_limit", 2]


def what_fails_costs_a_warning(fixture, folder):
    with Server(token=SECRET) as server:
        environment = place(fixture, folder, server)
        server.fault = lambda method, path: 403 if path.endswith("/preupload/main") else 0
        four_parts(push(fixture, environment, os.path.join(folder, "denied"), expect_code=4).stderr, "may not be used so by this account")
        expect(not os.path.exists(os.path.join(folder, "denied", "checkpoint-2")), "before the training", files_below(folder))
        server.fault = lambda method, path: 403 if "/commit/" in path else 0
        out = os.path.join(folder, "out")
        said = push(fixture, environment, out).stderr
        expect(said.count("nothing could be pushed to the Hub") == 1, "one warning", said)
        expect("not pushed to the Hub: the model" in said and f"hf upload me/out {out} {STAYS}" in said, "what is missing, and what sends it", said)
        expect(list(server.of("me/out").files()) == [], "nothing of it", sorted(server.of("me/out").files()))
        is_nowhere(SECRET, out, said)
        offline = push(fixture, {**environment, "HF_HUB_OFFLINE": "1"}, os.path.join(folder, "off"), "--hub_strategy", "end").stderr
        expect("HF_HUB_OFFLINE" in offline and "not pushed to the Hub: the model" in offline and "hf upload off" in offline, "offline", offline)
        out = os.path.join(folder, "a b")
        offline = push(fixture, {**environment, "HF_HUB_OFFLINE": "1"}, out, "--hub_strategy", "checkpoint", "--hub_model_id", "x", "--hub_private_repo",
                       "--hub_revision", "dev").stderr
        expect(f"hf upload x '{out}/checkpoint-4' last-checkpoint --revision dev --private --delete '*'" in offline, "the checkpoint, too", offline)
        expect(f"hf upload x '{out}' --revision dev --private {STAYS}" in offline, "privately, as one word", offline)
    with Server(token=SECRET) as server:
        environment = place(fixture, folder, server)
        failures = []

        def twice(method, path):  # each request is refused twice
            failures.append((method, path))
            return (500, 429)[failures.count((method, path)) - 1] if failures.count((method, path)) < 3 else 0
        server.fault = twice
        environment["HF_HUB_DOWNLOAD_TIMEOUT"] = "10"
        out = os.path.join(folder, "again")
        push(fixture, environment, out, "--hub_strategy", "end")
        is_model_of(server.of("me/again"), out)
    nothing_half_written(server)


def a_commit_that_came_first_is_gone_beside(fixture, folder):
    """The Hub answers a commit with 412 when the branch has moved meanwhile: what somebody else has put there stays."""
    out = os.path.join(folder, "out")
    with Server(token=SECRET) as server:
        def moves(method, path):
            if "/commit/" not in path or "theirs.txt" in server.of("me/out").files():
                return 0
            server.add("me/out", {"theirs.txt": b"kept"})
            return 412
        server.fault = moves
        said = push(fixture, place(fixture, folder, server), out, "--hub_strategy", "end").stderr
        is_model_of(server.of("me/out"), out)
        server.fault = lambda method, path: 412 if "/commit/" in path else 0
        again = push(fixture, place(fixture, folder, server), os.path.join(folder, "always"), "--hub_strategy", "end").stderr
        tries = sum("/commit/" in path and "always" in path for _, path, _ in server.calls)
    expect("could be pushed" not in said and "not pushed" not in said, "nothing is missing", said)
    expect("not pushed to the Hub: the model (" in again and "HTTP 412" in again and tries == 5, "it is not asked for ever", (tries, again))
    nothing_half_written(server)


class Endless:
    """A run that goes on until it is stopped, and what it says."""

    def __init__(self, fixture, environment, out, *more):
        self.process = subprocess.Popen(words(fixture, out, *ENDLESS, *more), env=environment, text=True, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.said = ""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()

    def until(self, *parts):
        while not any(part in self.said for part in parts):
            line = self.process.stderr.readline()
            expect(line, f"it says one of {parts}", self.said)
            self.said += line

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def ends_with(self, code):
        self.said += self.process.communicate(timeout=PATIENCE)[1]
        expect(self.process.returncode == code, f"ended with {code}", (self.process.returncode, self.said))
        return self.said


def folder_of_hf():
    folder = ask_python(os.environ, "import sysconfig; print(sysconfig.get_path('scripts'))")
    if not os.path.exists(os.path.join(folder, "hf")):
        skip("the command hf of huggingface_hub")
    return folder


def sends_by_hand(environment, said, folder):
    """What the run advises, as a user copies it into a shell."""
    expect(said.count("this sends it: ") == 1, "a command is advised", said)
    command = said.split("this sends it: ")[1].splitlines()[0]
    path = folder_of_hf() + os.pathsep + environment["PATH"]
    result = subprocess.run(command, shell=True, cwd=folder, env={**environment, "PATH": path, "HF_HUB_DISABLE_UPDATE_CHECK": "1"}, text=True,
                            capture_output=True)
    expect(result.returncode == 0, f"it works: {command}", result.stdout + result.stderr)


OLDER = {"model-00001-of-00002.safetensors": b"old", "model-00002-of-00002.safetensors": b"old", "model.safetensors.index.json": b"{}",
         "adapter_config.json": b"{}", "adapter_model.safetensors": b"old"}
THEIRS = {"theirs.txt": b"kept", "sub/model.safetensors": b"kept"}


def has_exactly(repository, wanted, what):
    """`wanted`: path -> the file that it is."""
    there = {path: blob.data for path, blob in repository.files().items()}
    expect(sorted(there) == sorted([*wanted, *THEIRS]), what, (sorted(there), sorted(wanted)))
    for path, local in wanted.items():
        expect(there[path] == pathlib.Path(local).read_bytes(), f"{what}, byte for byte", path)


def what_is_advised_leaves_what_a_push_would(fixture, folder):
    folder_of_hf()
    out = os.path.join(folder, "a [1]*")
    with Server(token=SECRET) as server:
        server.add("me/x", {**OLDER, **THEIRS})
        environment = place(fixture, folder, server)
        server.fault = lambda method, path: 403 if "/commit/" in path else 0
        said = push(fixture, environment, out, "--hub_strategy", "checkpoint", "--hub_model_id", "x").stderr
        server.fault = lambda method, path: 0
        sends_by_hand(environment, said, folder)
        own = {path: os.path.join(out, path) for path in files_below(out) if not path.startswith(("hftrain/", "checkpoint-", "_", "."))}
        newest = os.path.join(out, "checkpoint-4")
        state = {"last-checkpoint/" + path: os.path.join(newest, path) for path in files_below(newest)}
        expect("model.safetensors" in own and not any("/" in path for path in own), "the model of the end", sorted(own))
        has_exactly(server.of("me/x"), {**own, **state}, "the model of the end and the newest checkpoint")
    expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def a_stopped_run_advises_to_send_its_newest_checkpoint(fixture, folder):
    """Of a run that was stopped the output folder holds no model; the one of before that may lie there is not sent, nor what is like it."""
    folder_of_hf()
    out = os.path.join(folder, "b[1]")
    os.mkdir(out)
    for name in ("notes[1].txt", "old[1].safetensors", "old1.safetensors.txt", "adapter_config.json"):
        pathlib.Path(out, name).write_text(name)
    with Server(token=SECRET) as server:
        server.add("me/x", {**OLDER, **THEIRS})
        environment = place(fixture, folder, server)
        server.fault = lambda method, path: 403 if "/commit/" in path else 0
        with Endless(fixture, environment, out, "--hub_model_id", "x", "--hub_strategy", "checkpoint") as run:
            run.until("nothing could be pushed")
            run.stop()
            said = run.ends_with(130)
        server.fault = lambda method, path: 0
        sends_by_hand(environment, said, folder)
        newest = os.path.join(out, f"checkpoint-{fixture.checkpoints(out)[-1]}")
        files = files_below(newest)
        state = {"last-checkpoint/" + path: os.path.join(newest, path) for path in files}
        model = {path: os.path.join(newest, path) for path in files if "/" not in path and path not in
                 ("trainer_state.json", "hftrain_state.json", "manifest.json")}
        expect("model.safetensors" in model and "config.json" in model, "a whole model", sorted(model))
        rest = {name: os.path.join(out, name) for name in ("notes[1].txt", "old1.safetensors.txt")}
        has_exactly(server.of("me/x"), {**state, **model, **rest}, "the model of the newest checkpoint, and what lies beside it")
    with Server(token=SECRET) as server:
        out = os.path.join(folder, "parts")
        server.fault = lambda method, path: 403 if "/commit/" in path else 0
        flags = ["--hub_strategy", "checkpoint", "--fsdp", "full_shard", "--fsdp_state_dict_type", "SHARDED_STATE_DICT"]
        with Endless(fixture, place(fixture, folder, server), out, *flags) as run:
            run.until("nothing could be pushed")
            run.stop()
            said = run.ends_with(130)
        newest = os.path.join(out, f"checkpoint-{fixture.checkpoints(out)[-1]}")
        expect(f"this sends it: hf upload me/parts {newest} last-checkpoint --delete '*'\n" in said, "the checkpoint alone", said)
    expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def a_server_that_says_nothing_is_left_and_pushed_to_again(fixture, folder):
    out = os.path.join(folder, "out")
    with Server(token=SECRET) as server:
        environment = place(fixture, folder, server)

        def silent(method, path):
            if path.startswith("/lfs/put/"):
                server.held.set()
                server.go_on.wait()
                return 500
            return 0
        server.fault = silent
        for end in (signal.SIGINT, signal.SIGKILL):
            server.held.clear()
            process = subprocess.Popen(words(fixture, out, "--hub_strategy", "end", "--overwrite_output_dir"), env=environment, text=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            said = ""
            while "Ctrl-C leaves it" not in said:
                line = process.stderr.readline()
                expect(line, "it waits for the push", said)
                said += line
            server.held.wait()
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                expect(SECRET.encode() not in file.read(), "not in the list of processes", end)
            process.send_signal(end)
            said += process.communicate()[1]
            expect(list(server.of("me/out").files()) == [], "nothing half-written", sorted(server.of("me/out").files()))
            if end == signal.SIGINT:
                expect(process.returncode == 0, "the run is done", (process.returncode, said))
                expect("not pushed to the Hub: the model (the last push was stopped)" in said and "hf upload me/out" in said, "what is missing", said)
                expect("the training goes on" not in said and "cannot be reached" not in said, "it was the user, at the end", said)
        server.fault = lambda method, path: 0
        server.go_on.set()
        push(fixture, environment, out, "--hub_strategy", "end", "--overwrite_output_dir")
        is_model_of(server.of("me/out"), out)
    nothing_half_written(server)


def a_file_is_not_hashed_to_its_end_when_the_push_is_left(fixture, folder):
    out = os.path.join(folder, "out")
    os.mkdir(out)
    with open(os.path.join(out, "large.bin"), "wb") as file:
        file.truncate(1 << 42)  # hours of hashing
    with Server(token=SECRET) as server:
        process = subprocess.Popen(words(fixture, out, "--hub_strategy", "end"), env=place(fixture, folder, server), text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = ""
        while "Ctrl-C leaves it" not in said:
            line = process.stderr.readline()
            expect(line, "it waits for the push", said)
            said += line
        process.send_signal(signal.SIGINT)
        try:
            said += process.communicate(timeout=PATIENCE)[1]
        finally:
            process.kill()
        expect(process.returncode == 0 and "not pushed to the Hub: the model (" in said, "left", (process.returncode, said))
        expect(not any("/lfs/" in path or "/commit/" in path for _, path, _ in server.calls), "and nothing was sent", server.calls)


def holds_a_commit(server):
    """The first commit gets no answer before `go_on`."""
    def hold(method, path):
        if "/commit/" in path and not server.held.is_set():
            server.held.set()
            server.go_on.wait()
        return 0
    server.fault = hold


def the_checkpoint_of_a_stop_is_pushed(fixture, folder):
    """A push is going on while the run is stopped, so that the last checkpoint is left out at first."""
    def stopped(name, number, code, strategy="every_save"):
        out = os.path.join(folder, name)
        with Server(token=SECRET) as server:
            holds_a_commit(server)
            with Endless(fixture, place(fixture, folder, server), out, "--hub_strategy", strategy) as run:
                expect(server.held.wait(PATIENCE), "a push is going on", run.said)
                run.stop(number)
                run.until("Ctrl-C leaves it")
                server.go_on.set()
                said = run.ends_with(code)
            newest = fixture.checkpoints(out)[-1]
            messages = server.of("me/" + name).messages
            expect(messages[0] != messages[-1] and messages[-1].startswith(f"Training in progress, step {newest}"), "the last checkpoint", (newest, messages))
            is_model_of(server.of("me/" + name), os.path.join(out, f"checkpoint-{newest}"))
            expect("not pushed" not in said or f"checkpoint-{newest}" not in said.split("not pushed", 1)[1], "and it is not said to be missing", said)
        nothing_half_written(server)

    stopped("interrupted", signal.SIGINT, 130)
    stopped("terminated", signal.SIGTERM, 143, "all_checkpoints")
    out = os.path.join(folder, "left")
    with Server(token=SECRET) as server:
        holds_a_commit(server)
        with Endless(fixture, place(fixture, folder, server), out) as run:
            expect(server.held.wait(PATIENCE), "a push is going on", run.said)
            run.stop()
            run.until("Ctrl-C leaves it")
            run.stop()
            said = run.ends_with(130)
        newest = os.path.join(out, f"checkpoint-{fixture.checkpoints(out)[-1]}")
        expect("not pushed to the Hub: the model (the last push was stopped)" in said and f"this sends it: hf upload me/left {newest} " in said,
               "what is missing, and what sends it", said)


def a_second_signal_leaves_the_pushes_too(fixture, folder):
    out = os.path.join(folder, "out")
    with Server(token=SECRET) as server:
        holds_a_commit(server)
        # An update takes longer than ranks are given at a second signal, of which a busy machine may make one with the first.
        with Endless(fixture, place(fixture, folder, server), out, "--save_steps", 1, "--gradient_accumulation_steps", 1000, "--per_device_train_batch_size", 1,
                     "--block_size", 8) as run:
            expect(server.held.wait(PATIENCE), "a push is going on", run.said)
            run.stop()
            run.until("stopping after this update")
            run.stop()
            said = run.ends_with(10)
        expect("again: stopping now" in said and "not pushed to the Hub: the model (the last push was stopped)" in said, "it stops at once", said)


def pushes_that_wait_are_few(fixture, folder):
    """The first commit is answered when the training is over, which has saved twelve times by then and deleted eleven of those."""
    out = os.path.join(folder, "out")
    held = []
    with Server(token=SECRET) as server:
        def slow(method, path):
            begin = time.monotonic()
            while "/commit/" in path and not held and not os.path.exists(os.path.join(out, "hftrain", "summary.json")):
                expect(time.monotonic() - begin < PATIENCE, "the training ends beside the push", path)
                time.sleep(0.02)
            if "/commit/" in path:
                held.append(len(os.listdir(os.path.join(out, "hftrain", ".push"))))
            return 0
        server.fault = slow
        said = push(fixture, place(fixture, folder, server), out, "--hub_strategy", "all_checkpoints", "--hub_always_push", "--max_steps", 12,
                    "--save_steps", 1, "--save_total_limit", 1).stderr
        repository = server.of("me/out")
    expect(held[0] <= 2 * 4 + 1, "folders of what waits: a model and a checkpoint each, and the end", held)
    messages = [f"Training in progress, step {step}{more}" for step in range(1, 5) for more in ("", ", checkpoint")] + ["End of training"]
    expect(repository.messages == messages, "the first ones, whose checkpoints are gone, and the end", repository.messages)
    left_out = ", ".join(sorted(f"checkpoint-{step}" for step in range(5, 13)))
    expect(f"not pushed, for 4 pushes were on their way: {left_out}\n" in said, "the others are named", said)
    nothing_half_written(server)


def a_token_on_the_command_line_is_hidden(fixture, folder):
    out = os.path.join(folder, "out")
    with Server(token=SECRET) as server:
        environment = place(fixture, folder, server, None)
        seen = []

        def look(method, path):
            if path == "/api/whoami-v2":
                for number in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        with open(f"/proc/{number}/cmdline", "rb") as file:
                            text = file.read()
                    except OSError:
                        continue
                    if out.encode() in text and b"hub_token" in text:
                        seen.append(SECRET.encode() in text)
            return 0
        server.fault = look
        said = push(fixture, environment, out, "--hub_strategy", "end", "--hub_token", SECRET).stderr
        expect(seen == [False], "the list of processes", seen)
        is_nowhere(SECRET, out, said)
        server.fault = lambda method, path: 403 if "/commit/" in path else 0
        for flag in ("--hub_token", "--token"):
            said = push(fixture, environment, os.path.join(folder, flag[2:]), "--hub_strategy", "end", flag, SECRET).stderr
            expect(f"this sends it with the token of {flag} in HF_TOKEN, or after `hf auth login`: hf upload me/" in said, "what it needs", said)
        config = os.path.join(folder, "exports.yaml")
        with open(config, "w") as file:
            file.write(f"env:\n  HF_TOKEN: {SECRET}\n")
        said = push(fixture, environment, os.path.join(folder, "exported"), "--hub_strategy", "end", "--config", config).stderr
        expect("this sends it with the token of env: HF_TOKEN in HF_TOKEN, or after `hf auth login`: hf upload me/" in said, "what it needs", said)
        said = push(fixture, {**environment, "HF_TOKEN": SECRET}, os.path.join(folder, "variable"), "--hub_strategy", "end").stderr
        expect("this sends it: hf upload me/variable" in said, "hf has that one, too", said)


def transformers_opens_what_was_pushed(fixture, folder):
    python_of()
    out = os.path.join(folder, "tiny")
    with Server(token=SECRET) as server:
        environment = place(fixture, folder, server)
        push(fixture, environment, out)
        code = ("import sys, json, transformers as t; m = t.AutoModelForCausalLM.from_pretrained(sys.argv[1]); "
                "k = t.AutoTokenizer.from_pretrained(sys.argv[1]); print(json.dumps([m.num_parameters(), len(k)]))")
        there = ask_python(environment, code, "me/tiny").splitlines()[-1]
        expect(json.loads(there) == json.loads(ask_python(environment, code, out).splitlines()[-1]), "the model and its tokenizer", there)
    nothing_half_written(server)


SCENARIOS = [each_strategy_pushes_what_it_says, names_branches_and_tokens_are_found, connections_are_cut_at_every_request, what_fails_costs_a_warning,
             a_commit_that_came_first_is_gone_beside,
             answers_that_are_none_push_nothing, what_is_secret_stays_secret, a_refusal_without_end_holds_nothing, the_model_there_is_one_model,
             a_public_repository_is_told_where_a_private_one_is_asked_for, what_the_hub_ignores_stays_as_it_is, a_run_that_is_killed_at_any_request_is_pushed_by_the_next,
             what_is_advised_leaves_what_a_push_would, a_stopped_run_advises_to_send_its_newest_checkpoint,
             the_checkpoint_of_a_stop_is_pushed, a_second_signal_leaves_the_pushes_too,
             a_file_is_not_hashed_to_its_end_when_the_push_is_left, pushes_that_wait_are_few, a_server_that_says_nothing_is_left_and_pushed_to_again, a_token_on_the_command_line_is_hidden, transformers_opens_what_was_pushed]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
