#!/usr/bin/env python3
"""--push_to_hub, to a stand-in for the Hub that cuts connections, refuses and says nothing; transformers opens what was pushed.

  hub_push.py [SCENARIO]…     all of them without a word
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hub_fetch import ask_python, environment_of, files_below, four_parts, python_of
from hub_server import Server, sha256
from runs import HFTRAIN, Fixture, expect, run_scenarios

SECRET = "hf_" + "SeCrEt" * 6
STEPS = ["--max_steps", 4, "--save_strategy", "steps", "--save_steps", 2, "--push_to_hub"]
MODEL = ["config.json", "model.safetensors", "tokenizer.json"]


def words(fixture, out, *more):
    return [HFTRAIN, *fixture.flags(out, *STEPS, *more, ranks=1)]


def push(fixture, environment, out, *more, expect_code=0):
    result = subprocess.run(words(fixture, out, *more), env=environment, text=True, capture_output=True)
    expect(result.returncode == expect_code, f"{more} ended with {result.returncode}, not {expect_code}", result.stdout + result.stderr)
    return result


def place(fixture, folder, server, token=SECRET):
    return environment_of(fixture, folder, server, token)


def is_model_of(repository, out, revision="main"):
    files = repository.files(revision)
    for name in MODEL:
        with open(os.path.join(out, name), "rb") as file:
            expect(name in files and files[name].data == file.read(), "the model is there, byte for byte", (name, sorted(files)))
    inside = [path for path in files if path.startswith(("hftrain", "checkpoint-", "_", "."))]
    expect(not inside, "nothing of the run's own", inside)


def nothing_half_written(server):
    """Every file of every commit is whole, and nobody was asked for what is none of the Hub's interface."""
    for repository in server.repositories.values():
        for files in repository.commits.values():
            for path, blob in files.items():
                expect(not blob.large or sha256(blob.data) == blob.etag, "a whole file", path)
    expect(not server.wrong, "nothing but the Hub's interface", server.wrong)


def is_nowhere(secret, folder, *said):
    for path in files_below(folder):
        with open(os.path.join(folder, path), "rb") as file:
            expect(secret.encode() not in file.read(), "the token is in no file", path)
    expect(all(secret not in text for text in said), "the token is not said", said)


def each_strategy_pushes_what_it_says(fixture, folder):
    for strategy in ("end", "every_save", "checkpoint", "all_checkpoints"):
        out = os.path.join(folder, "a-" + strategy)
        with Server(token=SECRET) as server:
            environment = place(fixture, os.path.join(folder, "home-" + strategy), server)
            # Some files of a commit are large, and in parts.
            server.part_size = 20000 if strategy == "checkpoint" else None
            said = push(fixture, environment, out, "--hub_strategy", strategy, "--hub_always_push", "--hub_private_repo").stderr
            repository = server.of("me/a-" + strategy)
        expect(repository.private, "private", strategy)
        saves = [f"Training in progress, step {step}" for step in (2, 4)]
        messages = {"end": [], "every_save": saves}.get(strategy, [each for save in saves for each in (save, save + ", checkpoint")])
        # The files of the end may have come with the last checkpoint, which is then all.
        expect(repository.messages == messages + ["End of training"] or (messages and repository.messages == messages), "the commits",
               (strategy, repository.messages, said))
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
        flags = ["--hub_strategy", "end", "--hub_model_id", "named", "--push_to_hub_organization", "org"]
        four_parts(push(fixture, environment, out, *flags, "--hub_token", SECRET, "--hub_revision", "none", expect_code=4).stderr, "no revision 'none'")
        four_parts(push(fixture, environment, out, "--hub_token", SECRET, "--hub_revision", "a" * 40, expect_code=2).stderr, "branches alone")
        four_parts(push(fixture, environment, out, "--hub_token", SECRET, "--hub_model_id", "a/b/c", expect_code=2).stderr, "no name of a repository")
        said = push(fixture, environment, out, *flags, "--hub_token", SECRET, "--hub_revision", "dev/a").stderr
        repository = server.of("org/named")
        is_model_of(repository, out, "dev/a")
        expect(repository.files("dev/a")["other.txt"].data == b"kept", "what else is there stays", sorted(repository.files("dev/a")))
        expect(sorted(repository.files()) == ["other.txt"], "main is as it was", sorted(repository.files()))
        is_nowhere(SECRET, out, said)
        with open(os.path.join(home, "token"), "w") as file:
            file.write(SECRET)
        push(fixture, environment, os.path.join(folder, "stored"), "--hub_strategy", "end")
        is_model_of(server.of("me/stored"), os.path.join(folder, "stored"))
    nothing_half_written(server)


def connections_are_cut_at_every_request(fixture, folder):
    for cut in ("before", "after", "half"):
        out = os.path.join(folder, cut)
        with Server(token=SECRET, cut=cut, part_size=20000) as server:
            said = push(fixture, place(fixture, os.path.join(folder, "home"), server), out, "--hub_strategy", "end").stderr
            expect("pushed to me/" + cut in said, "pushed", said)
            expect(server.of("me/" + cut).messages == ["End of training"], "one commit, though its answer was lost", server.of("me/" + cut).messages)
            is_model_of(server.of("me/" + cut), out)
        nothing_half_written(server)


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
        expect("not pushed to the Hub: the model" in said and f"hf upload me/out {out}" in said, "what is missing, and what sends it", said)
        expect(list(server.of("me/out").files()) == [], "nothing of it", sorted(server.of("me/out").files()))
        is_nowhere(SECRET, out, said)
        offline = push(fixture, {**environment, "HF_HUB_OFFLINE": "1"}, os.path.join(folder, "off"), "--hub_strategy", "end").stderr
        expect("HF_HUB_OFFLINE" in offline and "not pushed to the Hub: the model" in offline and "hf upload off" in offline, "offline", offline)
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
                expect("not pushed to the Hub: the model (" in said and "hf upload me/out" in said, "what is missing", said)
        server.fault = lambda method, path: 0
        server.go_on.set()
        push(fixture, environment, out, "--hub_strategy", "end", "--overwrite_output_dir")
        is_model_of(server.of("me/out"), out)
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
             a_server_that_says_nothing_is_left_and_pushed_to_again, a_token_on_the_command_line_is_hidden, transformers_opens_what_was_pushed]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
