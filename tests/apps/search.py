#!/usr/bin/env python3
"""`hftrain search`: trials of runs, killed and gone on with, several at a time, stopped early.

  search.py [SCENARIO]…     all of them without a word
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, Fixture, expect, read_json, records, run_scenarios

EVALUATED = ["--eval_strategy", "steps", "--eval_steps", 2, "--validation_split_percentage", 10, "--save_strategy", "no", "--max_eval_samples", 8]


def words(fixture, output, text, *more):
    """A space that draws a flag of the fixture's has it in its place."""
    file = os.path.join(os.path.dirname(output), "search.yaml")
    with open(file, "w") as written:
        written.write(text)
    flags = fixture.flags(output, "--max_steps", 4, *EVALUATED, ranks=1, width=16)
    for name in ("learning_rate", "train_file", "block_size", "nproc_per_node", "max_steps"):
        if f"{name}:" in text or (name == "learning_rate" and "space:" not in text):
            at = flags.index(f"--{name}")
            del flags[at:at + 2]
    return [HFTRAIN, "search", *flags, *map(str, more), "--search", file]


def run(fixture, command, code=0):
    result = subprocess.run([*map(str, command)], env=fixture.environment, text=True, capture_output=True, timeout=PATIENCE)
    expect(result.returncode == code, f"ends with {code}", f"{result.returncode}\n{result.stdout}{result.stderr}")
    return result


def newest(folder, metric="eval_loss"):
    return [record[metric] for record in records(folder) if metric in record][-1]


def a_grid_is_tried_and_the_best_named(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space:\n  learning_rate: {choices: [1e-5, 1e-2]}\n  max_grad_norm: {choices: [1.0, 0.5]}\nmethod: grid\n")
    result = run(fixture, [*command, "--json"])
    found = json.loads(result.stdout)
    expect(found == read_json(output, "search.json"), "search.json is what --json says", result.stdout)
    trials = found["trials"]
    expect([trial["parameters"] for trial in trials] == [{"learning_rate": rate, "max_grad_norm": norm} for rate in (1e-5, 1e-2) for norm in (1.0, 0.5)],
           "every point once", trials)
    for number, trial in enumerate(trials):
        expect(trial["number"] == number and trial["state"] == "complete" and trial["folder"] == os.path.join(output, f"trial-{number}"), "a trial", trial)
        expect(trial["metric"] == newest(trial["folder"]), "the newest metric of its log", trial)
        state = read_json(trial["folder"], "trainer_state.json")
        expect((state["is_hyper_param_search"], state["trial_name"], state["trial_params"]) == (True, f"trial-{number}", trial["parameters"]),
               "its trainer_state.json says which trial it is", state)
        with open(os.path.join(trial["folder"], "hftrain", "arguments.yaml")) as file:
            expect(f"max_grad_norm: {trial['parameters']['max_grad_norm']}" in file.read(), "the values act", trial)
    expect(found["best"] == min(trials, key=lambda trial: trial["metric"]) and found["best"]["number"] in (2, 3), "the best", found["best"])
    again = run(fixture, command)
    expect("* %d  complete" % found["best"]["number"] in again.stdout and not again.stderr, "nothing is run twice, and a table is shown", again)
    expect(read_json(output, "search.json") == found, "nothing changed", "")
    page = subprocess.run([HFTRAIN, "report", output, "--output", "-"], env=fixture.environment, text=True, capture_output=True)
    expect(page.returncode == 0 and all(f"trial-{number}" in page.stdout for number in range(4)), "a report shows its trials", page.stderr)


def a_trial_runs(search, output):
    """Waits until one does, or until the search has ended."""
    file = os.path.join(output, "search.json")
    while search.poll() is None:
        if os.path.exists(file) and any(trial["state"] == "running" for trial in read_json(file)["trials"]):
            return True
        time.sleep(0.01)
    return False


def killed_at_random_no_trial_is_lost_or_run_twice(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space:\n  learning_rate: {low: 1e-5, high: 1e-1, log: true}\nmethod: random\ntrials: 5\nparallel: 2\n", "--max_steps", 8)
    chance, kills, ended = random.Random(7), 0, {}
    deadline = time.monotonic() + 3 * PATIENCE
    while True:
        expect(time.monotonic() < deadline, "the search comes to its end", "")
        search = subprocess.Popen([*map(str, command)], env=fixture.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kills < 4 and a_trial_runs(search, output):
            time.sleep(chance.uniform(0, 0.3))
            kills += search.poll() is None
            search.kill()
        search.wait(timeout=PATIENCE)
        if os.path.exists(os.path.join(output, "search.json")):
            for trial in read_json(output, "search.json")["trials"]:
                if trial["number"] in ended:
                    expect(ended[trial["number"]] == trial, "what has ended stays", trial)
                elif trial["state"] == "complete":
                    ended[trial["number"]] = trial
        if search.returncode == 0:
            break
    expect(sorted(ended) == [0, 1, 2, 3, 4] and kills >= 1, f"five trials after {kills} kills", ended)
    straight = os.path.join(folder, "straight")
    command[command.index(output)] = straight
    run(fixture, command)
    for trial in read_json(straight, "search.json")["trials"]:
        expect(trial["parameters"] == ended[trial["number"]]["parameters"] and abs(trial["metric"] - ended[trial["number"]]["metric"]) < 1e-6,
               "the same trials as without kills", [trial, ended])


def ctrl_c_lets_trials_save_and_the_same_command_goes_on(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {seed: {choices: [1, 2]}}\nmethod: grid\n", "--max_steps", 60, "--save_strategy", "steps", "--save_steps", 1000)
    search = subprocess.Popen([*map(str, command)], env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log = os.path.join(output, "trial-0", "hftrain", "log.jsonl")
    deadline = time.monotonic() + PATIENCE
    while not os.path.exists(log):
        expect(time.monotonic() < deadline and search.poll() is None, "a trial trains", "")
        time.sleep(0.02)
    search.send_signal(signal.SIGINT)
    text = search.communicate(timeout=PATIENCE)[1]
    expect(search.returncode == 130 and "the same command goes on" in text, "interrupted", [search.returncode, text])
    expect([trial["state"] for trial in read_json(output, "search.json")["trials"]] == ["running"], "to be gone on with", text)
    checkpoints = [name for name in os.listdir(os.path.join(output, "trial-0")) if name.startswith("checkpoint-")]
    expect(len(checkpoints) == 1, "the trial has saved", checkpoints)
    run(fixture, command)
    expect([trial["state"] for trial in read_json(output, "search.json")["trials"]] == ["complete", "complete"], "both are complete", "")
    steps = [record["step"] for record in records(os.path.join(output, "trial-0")) if "loss" in record]
    expect(steps == sorted(set(steps)) and steps[-1] == 60, "no step is done twice", steps)


def a_failed_trial_is_a_row_and_asha_stops_early(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {learning_rate: {choices: [1e-3, 5e-3, 1e-2, 1e-6, 1e-7, 1e-8]}}\nmethod: asha\ntrials: 8\nseed: 3\n",
                    "--max_steps", 400, "--eval_steps", 20)
    found = json.loads(run(fixture, [*command, "--json"]).stdout)
    states = [trial["state"] for trial in found["trials"]]
    expect("pruned" in states and found["best"]["state"] == "complete", "some are stopped, the best is not", found)
    pruned = [trial for trial in found["trials"] if trial["state"] == "pruned"]
    expect(all(max(record["step"] for record in records(trial["folder"])) < 400 for trial in pruned), "before their end", pruned)

    other = os.path.join(folder, "failing")
    command = words(fixture, other, "space: {train_file: {choices: [%s, /nowhere/text.txt]}}\nmethod: grid\n" % fixture.text)
    result = run(fixture, command)
    states = [trial["state"] for trial in read_json(other, "search.json")["trials"]]
    expect(states == ["complete", "failed"] and "trial-1.log" in result.stderr, "one fails, the search does not", [states, result.stderr])
    with open(os.path.join(other, "trial-1.log")) as file:
        expect("/nowhere/text.txt" in file.read(), "its log says why", "")


def a_quiet_search_stops_early_too_and_says_little(fixture, folder):
    """A quiet trial wakes nobody: its log is looked at now and then, when it has passed several rungs."""
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {learning_rate: {choices: [1e-3, 5e-3, 1e-2, 1e-6, 1e-7, 1e-8]}}\nmethod: asha\ntrials: 5\nseed: 3\n",
                    "--max_steps", 600, "--eval_steps", 10, "--quiet")
    result = run(fixture, [*command, "--json"])
    trials = json.loads(result.stdout)["trials"]
    expect("pruned" in [trial["state"] for trial in trials] and not result.stderr, "trials are stopped, without a word", [trials, result.stderr])
    pruned = [trial for trial in trials if trial["state"] == "pruned"]
    expect(all(max(record["step"] for record in records(trial["folder"])) < 600 for trial in pruned), "before their end", pruned)


def every_trial_is_told_when_it_begins(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {seed: {choices: [1, 2]}}\nmethod: grid\n", "--max_steps", 60)
    search = subprocess.Popen([*map(str, command)], env=fixture.environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    first = search.stderr.readline()
    states = [trial["state"] for trial in read_json(output, "search.json")["trials"]]
    rest = search.stderr.read()
    expect(search.wait(timeout=PATIENCE) == 0 and first == "trial 0 begins: --seed=1\n" and states == ["running"], "before it ends", [first, states])
    expect(rest.startswith("trial 0: complete") and "\ntrial 1 begins: --seed=2\n" in rest, "so is the next", rest)


def a_search_and_a_run_keep_to_folders_of_their_own(fixture, folder):
    output, run_folder = os.path.join(folder, "out"), os.path.join(folder, "run")
    text = "space: {seed: {choices: [1]}}\nmethod: grid\n"
    run(fixture, words(fixture, output, text))
    flags = fixture.flags(output, "--max_steps", 4, "--save_strategy", "no", ranks=1, width=16)
    for more in ((), ("--dry_run",)):
        said = run(fixture, [HFTRAIN, *flags, *more], code=2).stderr
        expect(f"error: {output} holds a search" in said and "where: --output_dir" in said and "try: another --output_dir, or --overwrite_output_dir" in said,
               "a run is refused", said)
    expect(not os.path.exists(os.path.join(output, "hftrain", "plan.json")), "nothing of it was written", os.listdir(output))
    run(fixture, words(fixture, output, text))
    flags[flags.index(output)] = run_folder
    run(fixture, [HFTRAIN, *flags])
    before = sorted(os.listdir(run_folder))
    said = run(fixture, words(fixture, run_folder, text), code=2).stderr
    expect(f"error: {run_folder} holds a run" in said and "try: another --output_dir, or move the run away" in said and
           sorted(os.listdir(run_folder)) == before, "a search is refused", said)


def a_report_shows_trials_that_failed_at_once(fixture, folder):
    output = os.path.join(folder, "out")
    run(fixture, words(fixture, output, "space: {train_file: {choices: [%s, /nowhere/text.txt]}}\nmethod: grid\n" % fixture.text))
    shown = subprocess.run([HFTRAIN, "report", output, "--output", "-"], env=fixture.environment, text=True, capture_output=True)
    expect(shown.returncode == 0 and "trial-1" in shown.stdout and "failed (exit code 4): " in shown.stdout, "it has a row, with its reason", shown)
    file = os.path.join(output, "search.json")
    written = read_json(file)
    written["trials"][0]["state"] = "pruned"
    with open(file, "w") as changed:
        json.dump(written, changed)
    shown = subprocess.run([HFTRAIN, "report", output, "--output", "-"], env=fixture.environment, text=True, capture_output=True)
    expect("pruned: the search stopped it early" in shown.stdout, "what was pruned is called so", shown.stderr)


def pipes_in_the_place_of_its_files_are_refused(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {seed: {choices: [1]}}\nmethod: grid\n")
    log, results = os.path.join(output, "trial-0.log"), os.path.join(output, "search.json")
    os.mkdir(output)
    os.mkfifo(log)
    said = run(fixture, command, 4).stderr
    expect("a file of the search is no regular file" in said and f"where: {log}" in said, "no trial waits for the reader of its log", said)
    os.remove(log)
    run(fixture, command)
    os.remove(results)
    os.mkfifo(results)
    for refused in (command, [HFTRAIN, "report", output, "--output", "-"]):
        said = run(fixture, refused, 4).stderr
        expect("it is a pipe" in said and f"where: {results}" in said, "nobody waits for a writer", said)


def trials_save_where_the_search_cannot_go_on(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {seed: {choices: [1, 2]}}\nmethod: grid\nparallel: 2\n", "--max_steps", 100000,
                    "--save_strategy", "steps", "--save_steps", 1000000)
    results, trials = os.path.join(output, "search.json"), [os.path.join(output, f"trial-{number}") for number in (0, 1)]
    search = subprocess.Popen([*map(str, command)], env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    logs = [os.path.join(trial, "hftrain", "log.jsonl") for trial in trials]
    # Before its first update a trial has nothing to save.
    while not all(os.path.exists(log) and '"loss"' in open(log).read() for log in logs):
        expect(time.monotonic() < deadline and search.poll() is None, "both train", search.poll())
        time.sleep(0.02)
    os.rename(results, results + ".kept")
    os.mkdir(results)  # nothing can be written there any more
    listed = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(search.pid)], text=True, capture_output=True).stdout
    (second,) = [int(line.split()[0]) for line in listed.splitlines() if f"--output_dir={trials[1]}" in line]
    os.kill(second, signal.SIGKILL)
    said = search.communicate(timeout=PATIENCE)[1]
    expect(search.returncode == 7 and "cannot rename to" in said and f"where: {results}" in said, "the search says what it cannot do",
           [search.returncode, said])
    saved = [name for name in os.listdir(trials[0]) if name.startswith("checkpoint-")]
    expect(len(saved) == 1, "the trial that ran has saved", [saved, said])
    os.rmdir(results)
    os.rename(results + ".kept", results)
    expect([trial["state"] for trial in read_json(output, "search.json")["trials"]] == ["running", "running"], "both are gone on with", said)


def mistakes_are_told_before_the_first_trial(fixture, folder):
    output = os.path.join(folder, "out")
    for text, says in (("space: {learning_rat: {choices: [1]}}", "learning_rate"), ("space: {max_steps: {choices: [a]}}", "max_steps"),
                       ("space: {bf16: {choices: [true, perhaps]}}", "bf16"), ("space: {}\n", "nothing to search"), ("space: [", "search.yaml")):
        result = run(fixture, words(fixture, output, text), code=2)
        expect(says in result.stderr and not os.path.exists(os.path.join(output, "search.json")), f"{text}: {says}", result.stderr)
    for name in ("push_to_hub", "smoke", "dry_run", "overwrite-output-dir", "help", "json"):
        said = run(fixture, words(fixture, output, "space: {%s: {choices: [true, false]}}\nmethod: grid\n" % name), code=2).stderr
        expect(f"{name} is not searched" in said and "search.yaml:1:" in said and not os.path.exists(os.path.join(output, "search.json")), name, said)
    for flag, text in (("--do_eval", "do_train: {choices: [false, true]}"), ("--push_to_hub", "seed: {choices: [1]}")):
        said = run(fixture, [word for word in words(fixture, output, "space: {%s}" % text, flag) if word != "--do_train"], code=2).stderr
        expect("a search trains" in said or "trials are not pushed" in said, f"no trial of {flag}, {text}", said)
    ranged = run(fixture, words(fixture, output, "space: {per_device_train_batch_size: {low: 2, high: 6}}\nmethod: random"), code=2).stderr
    expect("search.yaml:1:38: space.per_device_train_batch_size" in ranged and "step: 1" in ranged, "whole numbers have steps", ranged)
    elsewhere = run(fixture, words(fixture, output, "space: {seed: {choices: [1]}}", "--machines", "8x80GiB"), code=2)
    expect("--machines is for plans" in elsewhere.stderr, "trials run here", elsewhere.stderr)
    evaluating = words(fixture, output, "space: {seed: {choices: [1]}}", "--do_eval")
    alone = run(fixture, [word for word in evaluating if word != "--do_train"], code=2)
    expect("a search trains" in alone.stderr and "--do_train beside it" in alone.stderr, "an evaluation alone", alone.stderr)
    expect("--search names" in run(fixture, [HFTRAIN, "search", "--output_dir", output], code=2).stderr, "a file is wanted", "")
    unnamed = run(fixture, [HFTRAIN, "search", "--output_dir", output, "--search", "--json"], code=2).stderr
    expect("--search names" in unnamed, "a flag behind --search is no file", unnamed)
    run(fixture, words(fixture, output, "space: {seed: {choices: [1]}}\nmethod: grid\n"))
    expect("another search" in run(fixture, words(fixture, output, "space: {seed: {choices: [2]}}\nmethod: grid\n"), code=2).stderr, "another search", "")


def a_search_that_would_measure_nothing_is_refused_before_a_trial(fixture, folder):
    output = os.path.join(folder, "out")

    def unevaluated(text, *more):
        command = words(fixture, output, text, *more)
        at = command.index("--eval_strategy")
        return command[:at] + command[at + len(EVALUATED):]

    text = "space: {seed: {choices: [1]}}\nmethod: grid\nmetric: %s\n"
    for metric, name in (("eval_loss", "eval_loss"), ("loss", "eval_loss"), ("accuracy", "eval_accuracy")):
        said = run(fixture, unevaluated(text % metric), code=2).stderr
        expect(f"error: no trial would have the metric {name}\n" in said and "--eval_strategy steps or epoch" in said and not os.path.exists(output),
               f"{metric} is of evaluations", said)
    run(fixture, unevaluated(text % "eval_loss", "--do_eval", "--validation_split_percentage", 10))
    shutil.rmtree(output)
    run(fixture, unevaluated(text % "grad_norm"))
    logged = {name for record in records(os.path.join(output, "trial-0")) for name in record}
    expect("grad_norm" in logged and not any(name.startswith("eval_") for name in logged), "what training logs needs no evaluation", logged)


def mistakes_of_file_and_flags_are_told_at_once(fixture, folder):
    output = os.path.join(folder, "out")
    text = "space: {seed: {choices: [1]}}\nmethod: %s\nparallel: %s\n"
    said = run(fixture, words(fixture, output, text % ("gird", 0), "--seeed", 3, "--parallel", 2, "--trials=4"), code=2).stderr
    for told in ("unknown method 'gird'", "try: parallel: 1\n", "unknown flag --seeed", "try: parallel: … in", "try: trials: … in"):
        expect(told in said, "all of them", [told, said])
    said = run(fixture, words(fixture, output, text % ("grid", 1), "--seed", 3, "--push_to_hub", "--overwrite_output_dir", "--dry_run"), code=2).stderr
    for told in ("--seed counts for no trial", "trials are not pushed", "a trial that was interrupted goes on by itself", "a search trains"):
        expect(said.count(told) == 1, "all of those, each once", [told, said])
    drawn = "space: {fp16: {choices: [false, true]}, per_device_train_batch_size: {choices: [1, 2]}, max_steps: {choices: [0, 4]}}\nmethod: grid\n"
    said = run(fixture, words(fixture, output, drawn), code=2).stderr
    expect("fp16 does not work on the CPU" in said and "max_steps 0 trains nothing" in said, "at all places of the space", said)
    expect(not os.path.exists(output), "before the first trial", said)
    on_one_core = ["taskset", "-c", min(os.sched_getaffinity(0))]
    said = run(fixture, [*on_one_core, *words(fixture, output, text % ("grid", 3))]).stderr
    expect("at a time" not in said, "there is one trial", said)
    refused = os.path.join(folder, "refused")
    said = run(fixture, words(fixture, refused, text % ("grid", 1), "--nnodes", 2, "--node_rank", 0, "--master_addr", "127.0.0.1"), code=2).stderr
    expect("a search is started once" in said and "one of 2" in said and not os.path.exists(refused), "a search of several programs", said)
    two = os.path.join(folder, "two")
    said = run(fixture, [*on_one_core, *words(fixture, two, text.replace("[1]", "[1, 2]") % ("grid", 3))]).stderr
    expect("warning: 2 trials at a time on 1 core" in said and "try: parallel: 1 in" in said, "too many at a time are told", said)


def a_metric_is_found_without_its_prefix_and_missed_with_the_names_there_are(fixture, folder):
    output = os.path.join(folder, "out")
    text = "space: {seed: {choices: [1, 2]}}\nmethod: grid\nmetric: %s\n"
    run(fixture, words(fixture, output, text % "accuracy"))
    found = read_json(output, "search.json")
    expect(found["search"]["metric"] == "eval_accuracy" and found["search"]["greater_is_better"], "the metric of evaluations", found["search"])
    for trial in found["trials"]:
        expect(trial["state"] == "complete" and trial["metric"] == newest(trial["folder"], "eval_accuracy"), "its value in the log", trial)

    own = os.path.join(folder, "own")
    run(fixture, words(fixture, own, text % "grad_norm"))
    for trial in read_json(own, "search.json")["trials"]:
        expect(trial["metric"] == newest(trial["folder"], "grad_norm"), "what is logged under the bare name", trial)

    several = os.path.join(folder, "several")
    text_of_words = "space: {bf16: {choices: [false, true]}}\nmethod: grid\nmetric: acuracy\n"
    said = run(fixture, words(fixture, several, text_of_words), code=2).stderr
    expect(len(read_json(several, "search.json")["trials"]) == 2 and "no trial ended with a metric" in said,
           "a word may decide which metrics there are: every trial is tried", said)
    again = run(fixture, words(fixture, several, text_of_words), code=2).stderr
    expect("no trial ended with a metric" in again, "the same code where all trials are over", again)

    other = os.path.join(folder, "misspelt")
    said = run(fixture, words(fixture, other, text % "acuracy"), code=2).stderr
    expect("error: there is no metric 'eval_acuracy' in the log of a trial" in said and "eval_accuracy, eval_loss" in said and
           "did you mean eval_accuracy?" in said and f"where: {other}/trial-0/hftrain/log.jsonl" in said, "what is wrong, and what there is", said)
    expect([trial["state"] for trial in read_json(other, "search.json")["trials"]] == ["failed"], "no second trial is spent on it", said)


def a_search_goes_on_with_the_flags_that_it_began_with(fixture, folder):
    output = os.path.join(folder, "out")
    text = "space: {seed: {choices: [1, 2]}}\nmethod: grid\n"
    run(fixture, words(fixture, output, text))
    found = read_json(output, "search.json")
    expect(found["flags"]["max_steps"] == 4 and "seed" not in found["flags"] and "output_dir" not in found["flags"], "they are on record", found["flags"])
    for more, why in ((("--max_steps", 8), "max_steps: 4 there, 8 here"), (("--weight_decay", 0.1), "weight_decay: its default there, 0.1 here"),
                      (("--nproc_per_node", 2), 'nproc_per_node: "1" there, "2" here')):
        said = run(fixture, words(fixture, output, text, *more), code=2).stderr
        expect("error: the search in this folder began with other flags" in said and f"why: {why}\n" in said, why, said)
    run(fixture, words(fixture, output, text, "--dataloader_num_workers", 2, "--logging_steps", 2))
    expect(read_json(output, "search.json") == found, "what trials do not learn by may change", "")


def a_search_goes_on_from_any_folder_with_the_same_files(fixture, folder):
    output, other = os.path.join(folder, "out"), os.path.join(folder, "other")
    os.mkdir(other)
    shutil.copy(fixture.text, os.path.join(folder, "t.txt"))
    with open(os.path.join(other, "t.txt"), "w") as file:
        file.write("another text " * 500)
    text = "space: {seed: {choices: [1]}}\nmethod: grid\n"

    def at(place, file, code):
        command = words(fixture, output, text, "--train_file", file)
        return subprocess.run([*map(str, command)], env=fixture.environment, text=True, capture_output=True, timeout=PATIENCE, cwd=place), code

    for place, file, code in ((folder, "t.txt", 0), (folder, os.path.join(folder, "t.txt"), 0), (other, "../t.txt", 0), (other, "t.txt", 2)):
        said, code = at(place, file, code)
        expect(said.returncode == code, f"{file} in {place}: {code}", said.stderr)
    expect(f'train_file: ["{folder}/t.txt"] there, ["{other}/t.txt"] here' in said.stderr, "both files are named", said.stderr)


def a_trial_of_another_number_of_ranks_is_refused(fixture, folder):
    output = os.path.join(folder, "out")
    program = "space: {seed: {choices: [1, 2]}}\nmethod: grid\ntrials: %d\n"
    run(fixture, words(fixture, output, program % 1))
    written = read_json(output, "search.json")
    expect(written["world_size"] == 1, "of the first trial", written)
    file = os.path.join(output, "search.json")
    with open(file, "w") as changed:
        json.dump({**written, "world_size": 4}, changed)
    said = run(fixture, words(fixture, output, program % 2), code=2).stderr
    expect("error: trial 1 has another number of ranks than this search" in said and "why: world_size is 4 there, and 1 of this trial" in said and
           f"where: {file}" in said, "both numbers", said)
    expect([trial["state"] for trial in read_json(file)["trials"]] == ["complete", "running"], "it is to be gone on with", said)
    del written["world_size"]
    with open(file, "w") as changed:
        json.dump(written, changed)
    run(fixture, words(fixture, output, program % 2))
    expect(read_json(file)["world_size"] == 1, "an older search goes on, and has it from then on", "")
    drawn = os.path.join(folder, "drawn")
    run(fixture, words(fixture, drawn, "space: {nproc_per_node: {choices: [1, 2]}}\nmethod: grid\n"))
    expect([trial["state"] for trial in read_json(drawn, "search.json")["trials"]] == ["complete", "complete"], "what the space draws may differ", "")


def an_edit_of_the_configuration_ends_a_search_that_runs(fixture, folder):
    output, config = os.path.join(folder, "out"), os.path.join(folder, "run.yaml")
    with open(config, "w") as file:
        file.write("weight_decay: 0.1\n")
    command = words(fixture, output, "space: {seed: {choices: [1, 2, 3]}}\nmethod: grid\n", "--config", config)
    search = subprocess.Popen([*map(str, command)], env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(a_trial_runs(search, output), "a trial has begun", search.poll())
    deadline = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(output, "trial-0", "hftrain", "plan.json")):
        expect(time.monotonic() < deadline and search.poll() is None, "it has read the file", search.poll())
        time.sleep(0.01)
    with open(config, "w") as file:
        file.write("weight_decay: 0.2\n")
    said = search.communicate(timeout=PATIENCE)[1]
    expect(search.returncode == 2 and "error: the flags of this search have changed while it ran" in said and
           f"where: {output}/search.json" in said and "why: weight_decay: 0.1 there, 0.2 here" in said and "try: the flags as they were" in said,
           "what, where, why and what to do", [search.returncode, said])
    found = read_json(output, "search.json")
    expect([trial["state"] for trial in found["trials"]] == ["complete"] and found["flags"]["weight_decay"] == 0.1, "the trial that ran has ended", found)
    with open(config, "w") as file:
        file.write("weight_decay: 0.1\n")
    run(fixture, command)
    expect([trial["state"] for trial in read_json(output, "search.json")["trials"]] == ["complete"] * 3, "with the file as it was it goes on", "")


def trials_that_all_fail_end_the_search_with_the_code_of_the_first(fixture, folder):
    for name, text, more, code in (("data", "space: {train_file: {choices: [/nowhere/a.txt, /nowhere/b.txt]}}\nmethod: grid\n", [], 4),
                                   ("flags", "space: {block_size: {choices: [1024, 2048]}}\nmethod: grid\n", [], 2)):
        output = os.path.join(folder, name)
        said = run(fixture, words(fixture, output, text, *more), code=code).stderr
        trials = read_json(output, "search.json")["trials"]
        expect([(trial["state"], trial["exit_code"]) for trial in trials] == [("failed", code)] * 2 and "no trial ended with a metric" in said and
               "look into trial-0.log" in said, f"{name}: {code}", [trials, said])


def a_search_that_is_stopped_before_a_trial_saved_says_so(fixture, folder):
    output = os.path.join(folder, "out")
    command = words(fixture, output, "space: {seed: {choices: [1]}}\nmethod: grid\n")
    search = subprocess.Popen([*map(str, command)], env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(a_trial_runs(search, output), "a trial has begun", search.poll())
    search.send_signal(signal.SIGINT)
    text = search.communicate(timeout=PATIENCE)[1]
    expect(search.returncode == 10 and "trial 0: it was stopped before it had saved" in text, "10, not 130", [search.returncode, text])
    expect([trial["state"] for trial in read_json(output, "search.json")["trials"]] == ["running"], "to be gone on with", text)
    for form in ("--json=true", "--json"):
        found = json.loads(run(fixture, [*command, form]).stdout)
        expect([trial["state"] for trial in found["trials"]] == ["complete"], f"the same command with {form} goes on", found)
    shown = run(fixture, [*command, "--json=false"]).stdout
    expect("* 0  complete" in shown, "a table without it", shown)


def a_flag_that_the_space_draws_is_told(fixture, folder):
    output, config = os.path.join(folder, "out"), os.path.join(folder, "run.yaml")
    text = "space: {learning_rate: {choices: [0.1]}, per_gpu_train_batch_size: {choices: [2]}}\nmethod: grid\n"
    said = run(fixture, words(fixture, output, text, "--learning_rate", 3, "--per_device_train_batch_size", 4), code=2).stderr
    expect("--learning_rate counts for no trial" in said and "--per_device_train_batch_size counts for no trial" in said and "search.yaml draws learning_rate" in said,
           "both on the command line are refused", said)
    with open(config, "w") as file:
        file.write("per_device_train_batch_size: 4\nlearning_rate: 3\nseed: 42\n")
    said = run(fixture, words(fixture, output, text, "--config", config)).stderr
    expect(f"note: learning_rate of {config}:2:16 counts for no trial" in said and f"note: per_device_train_batch_size of {config}:1:30" in said and "seed" not in said,
           "those of a file are noted", said)
    without = run(fixture, words(fixture, os.path.join(folder, "without"), "method: random\ntrials: 1\n", "--seed", 5)).stderr
    expect("note: seed of --seed counts for no trial: the space of a file without one draws it" in without, "so are those of a space that nobody wrote", without)


def without_a_space_the_trainers_is_searched(fixture, folder):
    output = os.path.join(folder, "out")
    run(fixture, words(fixture, output, "method: random\ntrials: 2\n"))
    for trial in read_json(output, "search.json")["trials"]:
        found = trial["parameters"]
        expect(set(found) == {"learning_rate", "num_train_epochs", "per_device_train_batch_size", "seed"}, "the four flags", found)
        expect(1e-6 <= found["learning_rate"] <= 1e-4 and found["num_train_epochs"] in range(1, 6) and found["seed"] in range(1, 41) and
               found["per_device_train_batch_size"] in (4, 8, 16, 32, 64) and trial["state"] == "complete", "a trial of it", trial)


def each_trial_starts_the_machines_of_a_host_file(fixture, folder):
    """Over a stand-in for ssh, which starts what it is asked for on this machine and keeps a list."""
    output, shell, asked = (os.path.join(folder, name) for name in ("out", "shell", "asked"))
    with open(shell, "w") as file:
        file.write(f'#!/bin/sh\necho "$@" >> "{asked}"\nshift\nexec sh -c "$*"\n')
    os.chmod(shell, 0o755)
    hosts = os.path.join(folder, "hosts")
    with open(hosts, "w") as file:
        file.write("localhost slots=1\nelsewhere slots=1\n")
    command = words(fixture, output, "space:\n  learning_rate: {choices: [1e-5, 1e-2]}\nmethod: grid\n", "--hostfile", hosts, "--master_addr", "127.0.0.1")
    at = command.index("--nproc_per_node")
    del command[at:at + 2]
    fixture.environment["HFTRAIN_SSH"] = shell
    result = run(fixture, [*command, "--json"])
    trials = json.loads(result.stdout)["trials"]
    expect([trial["state"] for trial in trials] == ["complete", "complete"], "both trials end well", result.stdout + result.stderr)
    for trial in trials:
        ranks = read_json(trial["folder"], "hftrain", "plan.json")["ranks"]
        expect([rank["agent"] for rank in ranks["ranks"]] == [0, 1], "one rank of each machine's front program", ranks)
        expect(trial["metric"] == newest(trial["folder"]), "the metric of its log", trial)
    with open(asked) as file:
        lines = file.read().splitlines()
    starts = [line for line in lines if line.endswith(" hosted")]
    expect(len(starts) == 2 and all(line.startswith("elsewhere ") for line in lines), "the other machine is started once a trial", lines)


SCENARIOS = [a_grid_is_tried_and_the_best_named, killed_at_random_no_trial_is_lost_or_run_twice, ctrl_c_lets_trials_save_and_the_same_command_goes_on,
             a_failed_trial_is_a_row_and_asha_stops_early, a_quiet_search_stops_early_too_and_says_little, every_trial_is_told_when_it_begins,
             a_search_and_a_run_keep_to_folders_of_their_own, a_report_shows_trials_that_failed_at_once, pipes_in_the_place_of_its_files_are_refused, trials_save_where_the_search_cannot_go_on, mistakes_are_told_before_the_first_trial,
             a_metric_is_found_without_its_prefix_and_missed_with_the_names_there_are, without_a_space_the_trainers_is_searched,
             a_search_goes_on_with_the_flags_that_it_began_with, trials_that_all_fail_end_the_search_with_the_code_of_the_first,
             a_search_that_is_stopped_before_a_trial_saved_says_so, a_search_goes_on_from_any_folder_with_the_same_files,
             a_trial_of_another_number_of_ranks_is_refused, an_edit_of_the_configuration_ends_a_search_that_runs,
             a_flag_that_the_space_draws_is_told, a_search_that_would_measure_nothing_is_refused_before_a_trial,
             mistakes_of_file_and_flags_are_told_at_once, each_trial_starts_the_machines_of_a_host_file]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
