#!/usr/bin/env python3
"""Plug-ins of docs/plugins, built outside the sources against an installed tree, do in runs what their page says, and what is no plug-in
of this installation is refused before anything starts.

Usage: tests/apps/plugins.py [scenario…]
"""
import json
import math
import os
import pathlib
import random
import shutil
import sys

import installed
import runs
from installed import call
from runs import expect


class Plugins(runs.Fixture):
    """The plug-ins in `built`."""

    def __init__(self, folder):
        super().__init__(folder)
        tree = installed.tree()
        self.built = installed.built("plugins", tree / "share/hftrain/docs/plugins")
        runs.HFTRAIN = str(tree / "bin/hftrain")

    def flags(self, output, *more, **options):
        return [word + self.WITHOUT_DROPOUT if word.startswith("n_layer=") else word for word in super().flags(output, *more, **options)]

    def run(self, output, plugin, *more, code=0, ranks=2, **environment):
        self.environment.update(environment)
        try:
            done = self.call(*self.flags(output, "--plugin", plugin, "--save_strategy", "no", *more, ranks=ranks), expect=code)
        finally:
            for name in environment:
                del self.environment[name]
        return done.stdout + done.stderr


def a_callback_stops_the_run_and_is_saved(plugins, folder):
    output = os.path.join(folder, "run")
    text = plugins.run(output, plugins.built / "stop_below.so", "--max_steps", "60", STOP_BELOW="6.1")
    losses = [record["loss"] for record in runs.records(output) if "loss" in record]
    expect(losses[-1] < 6.1 and all(loss >= 6.1 for loss in losses[:-1]) and len(losses) < 60, "it stops below", text)
    expect(plugins.checkpoints(output) == [len(losses)], "it saves where it stops", text)
    state = runs.read_json(output, f"checkpoint-{len(losses)}", "trainer_state.json")
    kept = float(state["stateful_callbacks"]["StopBelow"]["attributes"]["state"])
    expect(abs(kept - losses[-1]) < 1e-3, "what it keeps stands in the checkpoint", json.dumps(state["stateful_callbacks"]))


def a_callback_that_ends_a_smoke_run_is_told(plugins, folder):
    """The rest is compared with what came of it, unless it was over before there was a checkpoint."""
    before = dict(plugins.environment)

    def smoke(bar, code):
        plugins.environment["STOP_BELOW"] = bar
        done = plugins.call("--smoke", "--plugin", plugins.built / "stop_below.so", "--learning_rate", "1e-3", "--use_cpu", expect=code)
        return done.stdout + done.stderr

    plugins.environment["TMPDIR"] = folder
    text = smoke("5.2", 0)
    expect("ok      the resumed run equals the straight one" in text, "it passes", text)
    runs.in_order(text, "note: it ended by itself after", " of 60 updates, and that is what is compared")
    text = smoke("100", 2)
    runs.in_order(text, "FAILED  a run of 60 steps", "it ended by itself after 1 of 60 updates, and its first checkpoint would come after 20")
    plugins.environment.clear()
    plugins.environment.update(before)  # of which others look for what is not set


def a_reporter_gets_every_record(plugins, folder):
    output = os.path.join(folder, "run")
    text = plugins.run(output, plugins.built / "lines.so", "--max_steps", "4", "--report_to", "none")
    lines = pathlib.Path(output, "lines.txt").read_text().splitlines()
    expect(lines.pop() == "finished", "it is told how the run ended", text)
    records = runs.records(output)
    expect([int(line.split()[1]) for line in lines] == [record["step"] for record in records], "a line for each record", lines)
    told = [(line.split(), record["loss"]) for line, record in zip(lines, records) if "loss" in record]
    expect(len(told) == 4, "an update each", lines)
    for words, loss in told:
        expect(abs(float(words[words.index("loss") + 1]) - loss) < 1e-3, "the loss", words)


def a_reporter_that_fails_costs_a_warning(plugins, folder):
    output = os.path.join(folder, "run")
    os.makedirs(os.path.join(output, "lines.txt"))  # where it wants to write a file
    text = plugins.run(output, plugins.built / "lines.so", "--max_steps", "3")
    expect("lines" in text and "the plug-in 'lines' has failed" in text, "a warning names it", text)
    expect(len([r for r in runs.records(output) if "loss" in r]) == 3, "the run goes on", text)


def a_loss_takes_the_place_of_the_models(plugins, folder):
    plain, focal, one = (os.path.join(folder, name) for name in ("plain", "focal", "one"))
    flags = ("--max_steps", "8", "--per_device_train_batch_size", "2", "--do_eval", "--validation_split_percentage", "5")
    plugins.call(*plugins.flags(plain, "--save_strategy", "no", *flags))
    plugins.run(focal, plugins.built / "focal_loss.so", *flags)
    whole = ("--max_steps", "8", "--per_device_train_batch_size", "1", "--gradient_accumulation_steps", "4", *flags[4:])
    plugins.run(one, plugins.built / "focal_loss.so", *whole, ranks=1)
    losses = {name: [r["loss"] for r in runs.records(path) if "loss" in r]
              for name, path in (("plain", plain), ("focal", focal), ("one", one))}
    # -(1 - p)^2 log p of a model that knows nothing yet: a hair less than -log p.
    expect(0.9 < losses["focal"][0] / losses["plain"][0] < 0.9999, "the first loss is the focal one", losses)
    expect(losses["focal"][-1] < losses["focal"][0], "it is learned", losses)
    expect(all(abs(a - b) < 2e-3 for a, b in zip(losses["focal"], losses["one"])), "the same for any division of an update", losses)
    results = {name: runs.read_json(path, "eval_results.json")["eval_loss"] for name, path in (("plain", plain), ("focal", focal))}
    expect(results["focal"] < results["plain"], "evaluation has it, too", results)


def flags_that_it_would_ignore_are_refused(plugins, folder):
    text = plugins.run(os.path.join(folder, "run"), plugins.built / "focal_loss.so", "--max_steps", "2", "--label_smoothing_factor", "0.1",
                       code=2)
    runs.in_order(text, "the plug-in 'focal loss' cannot be used", "--label_smoothing_factor")


def what_it_throws_ends_the_run_in_words(plugins, folder):
    text = plugins.run(os.path.join(folder, "run"), plugins.built / "stop_below.so", "--max_steps", "2", code=1)
    runs.in_order(text, "the plug-in 'stop below' has failed", "the callback 'StopBelow'", "STOP_BELOW is not set")
    expect("crashed" not in text, "not as a crash", text)


TWIN = 'registry.callback("Twin", [](const hftrain::plugin::Run&) { return std::make_unique<hftrain::plugin::Callback>(); });'


def written_plugin(folder, source):
    """The file of a plug-in that is built of that source."""
    place = pathlib.Path(folder, "written")
    place.mkdir()
    (place / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(written LANGUAGES CXX)\nfind_package(hftrain REQUIRED)\n"
        "add_library(written MODULE written.cpp)\ntarget_link_libraries(written PRIVATE hftrain::plugin)\n")
    (place / "written.cpp").write_text(
        f'#include "hftrain/plugin/plugin.h"\n#include <cstdlib>\n#include <fstream>\n#include <memory>\n{source}')
    call("cmake", "-S", place, "-B", place / "built", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={pathlib.Path(runs.HFTRAIN).parents[1]}", cwd=folder)
    call("cmake", "--build", place / "built", cwd=folder)
    return place / "built/libwritten.so"


def its_static_objects_are_destroyed(plugins, folder):
    last_words = os.path.join(folder, "last-words")
    plugin = written_plugin(folder, 'struct LastWords {\n  ~LastWords() { std::ofstream(std::getenv("LAST_WORDS")) << "so long"; }\n} last_words;\n'
                                    f'HFTRAIN_PLUGIN("last words") {{ {TWIN} }}\n')
    text = plugins.run(os.path.join(folder, "run"), plugin, "--max_steps", "2", ranks=1, LAST_WORDS=last_words)
    expect(os.path.exists(last_words) and pathlib.Path(last_words).read_text() == "so long", "its destructors run", text)


def others_are_refused_before_anything_starts(plugins, folder):
    def changed(name, before, after):
        path = os.path.join(folder, name)
        content = (plugins.built / "focal_loss.so").read_bytes()
        expect(content.count(before) == 1 and len(before) == len(after), "the note is there once", name)
        pathlib.Path(path).write_bytes(content.replace(before, after))
        return path

    torch = (plugins.built / "focal_loss.so").read_bytes().split(b"\ntorch=")[1].split(b"\n")[0]
    older = b"1" + torch[1:]
    for path, code, words in (
            (changed("interface.so", b"interface=3\n", b"interface=9\n"), 3, "it was built for plug-in interface 9, and this program has 3"),
            (changed("torch.so", b"\ntorch=" + torch, b"\ntorch=" + older), 3, f"it was built for LibTorch {older.decode()}"),
            (os.path.join(folder, "gone.so"), 2, "there is no such file"),
            (plugins.text, 2, "it is no shared library for this machine"),
            (next((pathlib.Path(runs.HFTRAIN).parents[1] / "lib").glob("libhftrain_*.so")), 2, "it is a shared library and no plug-in")):
        output = os.path.join(folder, "run")
        text = plugins.run(output, path, "--max_steps", "2", code=code)
        runs.in_order(text, "the plug-in cannot be used", str(path), words)
        expect(not os.path.exists(output), "nothing is written", text)
    twins = written_plugin(folder, f'HFTRAIN_PLUGIN("twins") {{ for (int i = 0; i < 2; ++i) {TWIN} }}\n')
    text = plugins.run(os.path.join(folder, "run"), twins, "--max_steps", "2", code=2)
    runs.in_order(text, "the plug-in 'twins' cannot be used", "a callback is called 'Twin', and checkpoints keep states by names")
    plan = plugins.call("plan", *plugins.flags(os.path.join(folder, "run"), "--plugin", plugins.built / "lines.so"))
    expect(f"lines, {plugins.built / 'lines.so'}" in plan.stdout, "a plan names it", plan.stdout)


def own_family(plugins, output, *more, ranks=1, plugin=None, model=("--model_type", "gated_mixer"), code=0):
    """A run of the family that a plug-in adds, of 4 samples an update."""
    done = plugins.call(*model, "--plugin", str(plugin or plugins.built / "gated_mixer.so"), "--tokenizer_name", plugins.tokenizer,
                        "--train_file", plugins.text, "--block_size", "32", "--use_cpu", "--do_train", "--nproc_per_node", str(ranks),
                        "--per_device_train_batch_size", str(4 // ranks), "--max_steps", "6", "--save_steps", "3", "--logging_steps", "1",
                        "--learning_rate", "1e-2", "--output_dir", output, *more, expect=code)
    return done.stdout + done.stderr


def losses_of(output):
    return [record["loss"] for record in runs.records(output) if "loss" in record]


def weights_of(*path):
    return pathlib.Path(*path, "model.safetensors").read_bytes()


def a_family_trains_alike_under_every_strategy(plugins, folder):
    path = lambda name: os.path.join(folder, name)
    own_family(plugins, path("one"))
    losses = losses_of(path("one"))
    expect(losses[-1] < losses[0] - 0.1, "it learns", losses)
    for name, ranks, flags in (("ddp", 2, ()), ("full_shard", 2, ("--fsdp", "full_shard auto_wrap")), ("grad_op", 2, ("--fsdp", "shard_grad_op")),
                               ("again", 1, ("--gradient_checkpointing",))):
        own_family(plugins, path(name), *flags, ranks=ranks)
        others = losses_of(path(name))
        expect(len(others) == 6 and all(abs(a - b) < 2e-4 for a, b in zip(losses, others)), f"{name}: the same losses", [losses, others])
    config = runs.read_json(path("one"), "config.json")
    expect((config["model_type"], config["architectures"]) == ("gated_mixer", ["GatedMixerForCausalLM"]), "config.json names it", config)
    header = weights_of(path("full_shard"))
    expect(b'"model.layers.1.mix.weight"' in header and b'"lm_head.weight"' in header, "names as described", header[:2000])


def a_family_goes_on_to_the_bit(plugins, folder):
    whole, broken = os.path.join(folder, "whole"), os.path.join(folder, "broken")
    own_family(plugins, whole, "--fsdp", "full_shard auto_wrap", ranks=2)
    shutil.copytree(whole, broken)
    shutil.rmtree(os.path.join(broken, "checkpoint-6"))
    os.remove(os.path.join(broken, "model.safetensors"))
    own_family(plugins, broken, "--fsdp", "full_shard auto_wrap", "--resume_from_checkpoint", os.path.join(broken, "checkpoint-3"), ranks=2)
    expect(weights_of(whole) == weights_of(broken), "the same weights to the bit", folder)
    text = own_family(plugins, os.path.join(folder, "opened"), model=("--model_name_or_path", whole))
    expect(losses_of(os.path.join(folder, "opened"))[0] < losses_of(whole)[0] - 0.1, "its folder is opened again", text)
    text = own_family(plugins, os.path.join(folder, "other"), "--config_overrides", "hidden_sizes=3", code=2)
    runs.in_order(text, "the gated_mixer config has no key 'hidden_sizes'", "hidden_size")
    changed = os.path.join(folder, "changed")
    shutil.copytree(whole, changed)
    config = runs.read_json(changed, "config.json")
    for infinite in ({"__float__": "Infinity"}, float("inf")):
        pathlib.Path(changed, "config.json").write_text(json.dumps({**config, "norm_eps": infinite}))
        own_family(plugins, os.path.join(folder, "infinite"), "--overwrite_output_dir", "--max_steps", "2", model=("--model_name_or_path", changed))
        losses = losses_of(os.path.join(folder, "infinite"))
        expect(all(abs(loss - math.log(512)) < 1e-5 for loss in losses), "norms that leave nothing: every token is as likely", losses)
    pathlib.Path(changed, "config.json").write_text(json.dumps({**config, "intermediate_size": 96}))
    text = own_family(plugins, os.path.join(folder, "run"), model=("--model_name_or_path", changed), code=4)
    runs.in_order(text, "model.layers.0.up.weight")


def a_family_writes_text(plugins, folder):
    model, plugin = os.path.join(folder, "model"), str(plugins.built / "gated_mixer.so")
    own_family(plugins, model)

    def written(*more, prompts=("the old", "a small child and the old")):
        done = plugins.call("generate", "--model_name_or_path", model, "--plugin", plugin, "--use_cpu", "--json", "--max_new_tokens", "6",
                            *more, "--prompt", *prompts)
        return [row["ids"] for row in json.loads(done.stdout)["generations"]]
    both = written()
    expect(len(both) == 2 and all(0 < len(ids) <= 6 for ids in both), "a text for each prompt", both)
    expect(written("--batch_size", "1") == both, "whatever stands beside it", both)
    expect(written("--num_beams", "1", prompts=("a small child and the old", "the old")) == both[::-1], "in whatever order", both)
    expect(len(written("--num_beams", "3", "--num_return_sequences", "2")) == 4, "beams are written, too", both)
    done = plugins.call("generate", "--model_name_or_path", model, "--prompt", "the old", expect=None)
    expect(done.returncode != 0, "without the plug-in nothing is known of the family", done.stderr)
    runs.in_order(done.stderr, "model family 'gated_mixer' is not implemented")
    gpt2 = os.path.join(folder, "gpt2")
    plugins.call(*plugins.flags(gpt2, "--max_steps", "1", "--save_strategy", "no", ranks=1))
    done = plugins.call("generate", "--model_name_or_path", gpt2, "--plugin", plugin, "--prompt", "the old", expect=2)
    runs.in_order(done.stderr, "--plugin does nothing here", "the model is a gpt2")
    done = plugins.call("generate", "--model_name_or_path", model, "--plugin", plugin, "--use_cpu", "--prompt", "the old",
                        "--prompt_lookup_num_tokens", "5", "--max_matching_ngram_size", "2")
    for name in ("prompt_lookup_num_tokens", "max_matching_ngram_size"):
        expect(f"note: --{name} has no effect: a family of a plug-in reads a text whole for each token" in done.stderr, "guesses save nothing", done.stderr)


def families_that_cannot_be_are_refused(plugins, folder):
    def described(name, before, after):
        path = os.path.join(folder, name)
        content = (plugins.built / "gated_mixer.so").read_bytes()
        expect(before in content and len(before) == len(after), "it is there", name)
        pathlib.Path(path).write_bytes(content.replace(before, after))
        return path

    output = os.path.join(folder, "run")
    for before, after, model, words in (
            (b'"model_type": "gated_mixer"', b'"model_type":        "gpt2"', "gpt2", "a family is called 'gpt2' already"),
            (b'"causal_lm":', b'"masked_lm":', "gated_mixer", "'masked_lm' is no head of a decoder"),
            (b'"kind": "norm"', b'"kind": "name"', "gated_mixer", "'name' is no kind of parameter"),
            (b'"config":', b'"confug":', "gated_mixer", "config")):
        path = described("changed.so", before, after)
        text = own_family(plugins, output, plugin=path, model=("--model_type", model), code=2)
        runs.in_order(text, "the plug-in describes no family that can be trained", path, words)
        expect(not os.path.exists(output), "nothing is written", text)
    text = own_family(plugins, output, plugin=described("renamed.so", b'"model_type": "gated_mixer"', b'"model_type": "gaped_mixer"'),
                      model=("--model_type", "gaped_mixer"), code=2)
    runs.in_order(text, "the plug-in 'gated mixer' cannot be used", "it registers the family 'gated_mixer', and does not describe it")
    text = plugins.call(*plugins.flags(output, "--model_type", "gated_mixer"), expect=2)
    runs.in_order(text.stdout + text.stderr, "model family 'gated_mixer' is not implemented")
    text = own_family(plugins, output, "--use_peft", "--lora_target_modules", "mix", code=2)
    runs.in_order(text, "gated_mixer takes no adapters")
    plan = own_family(plugins, output, "--dry_run")
    expect("gated_mixer, from scratch, 131,392 parameters" in plan, "a plan counts it", plan)


TOPICS = {"cats": ["whiskers", "purring"], "boats": ["sail", "harbour"], "bread": ["crust", "oven"]}


def write_tagged(path, seed, count):
    """Rows of a title and a body, which tells of one topic or two; the title may name another one."""
    numbers = random.Random(seed)
    with open(path, "w") as file:
        for _ in range(count):
            topics = sorted(numbers.sample(sorted(TOPICS), numbers.randrange(1, 3)))
            words = [numbers.choice(["the", "old", "a small", "day"]) for _ in range(4)] + [numbers.choice(TOPICS[topic]) for topic in topics]
            numbers.shuffle(words)
            file.write(json.dumps({"title": numbers.choice(["news", "a note"]), "body": " ".join(words), "topics": topics,
                                   "first": topics[0], "size": len(words) / 7, "count": len(topics)}) + "\n")


def of_task(plugins, output, *more, plugin=None, task="topic-tags", model=None, ranks=1, code=0, first=()):
    """A run of a plug-in's task over the same rows, of 8 samples an update."""
    rows = {name: os.path.join(plugins.folder, f"tagged-{name}.jsonl") for name in ("train", "valid", "test")}
    if not os.path.exists(rows["test"]):
        for seed, (name, path) in enumerate(rows.items()):
            write_tagged(path, seed, 160 if name == "train" else 40)
        path = os.path.join(plugins.tokenizer, "tokenizer_config.json")
        config = runs.read_json(path)
        pathlib.Path(path).write_text(json.dumps({**config, "pad_token": config["eos_token"]}))
    shape = ("n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0" + plugins.WITHOUT_DROPOUT)
    made = ["--model_name_or_path", model] if model else ["--model_type", "gpt2", "--config_overrides", shape, "--tokenizer_name", plugins.tokenizer]
    done = plugins.call(*first, "--task", task, *made, *(["--plugin", str(plugin or plugins.built / "topic_tags.so")] if plugin != "none" else []),
                        "--train_file", rows["train"], "--validation_file", rows["valid"], "--test_file", rows["test"], "--use_cpu",
                        "--nproc_per_node", str(ranks), "--per_device_train_batch_size", str(8 // ranks), "--logging_steps", "1",
                        "--learning_rate", "3e-3", "--output_dir", output, *map(str, more), expect=code)
    return done.stdout + done.stderr


def predictions_of(output):
    return pathlib.Path(output, "predict_results.txt").read_text().splitlines()[1:]


def a_task_is_learned_judged_and_predicted(plugins, folder):
    path = lambda name: os.path.join(folder, name)
    train = ("--do_train", "--do_eval", "--max_steps", 240, "--eval_strategy", "steps", "--eval_steps", 80, "--save_steps", 80)
    best = ("--load_best_model_at_end", "--metric_for_best_model", "all_found", "--greater_is_better", "true")
    text = of_task(plugins, path("two"), *train, *best, "--do_predict", ranks=2)
    results = runs.read_json(path("two"), "eval_results.json")
    expect(results["eval_all_found"] > 0.8 and results["eval_surest_is_right"] > 0.9 and results["eval_f1"] > 0.9, "it is learned", results)
    evaluated = {r["step"]: r["eval_all_found"] for r in runs.records(path("two")) if "eval_all_found" in r}
    expect(runs.read_json(path("two"), "trainer_state.json")["best_metric"] == max(evaluated.values()), "the best is that by its metric", text)
    config = runs.read_json(path("two"), "config.json")
    expect((config["problem_type"], list(config["label2id"])) == ("multi_label_classification", sorted(TOPICS)), "labels of the rows", config)
    said = predictions_of(path("two"))
    expect(len(said) == 40 and all(line.split("\t")[1].startswith("[") for line in said), "a line for each row of the test file", said)
    of_task(plugins, path("one"), *train, *best, "--do_predict")
    expect(runs.apart(*({r["step"]: r["loss"] for r in runs.records(path(name)) if "loss" in r} for name in ("one", "two"))) < 2e-4,
           "two ranks compute what one does", text)
    of_task(plugins, path("alone"), "--do_eval", "--do_predict", model=path("two"))
    alone = runs.read_json(path("alone"), "eval_results.json")
    expect(all(alone[key] == results[key] for key in results if key.endswith(("_loss", "_found", "_right", "_f1"))), "evaluated alone", [alone, results])
    expect(predictions_of(path("alone")) == said, "and predicted alone", said)
    with open(os.path.join(path("two"), "README.md")) as file:
        expect("pipeline_tag: text-classification" in file.read(), "the card names it", path("two"))


def a_task_goes_on_to_the_bit(plugins, folder):
    whole, broken = os.path.join(folder, "whole"), os.path.join(folder, "broken")
    flags = ("--do_train", "--max_steps", 8, "--save_steps", 4)
    of_task(plugins, whole, *flags, ranks=2)
    shutil.copytree(whole, broken)
    shutil.rmtree(os.path.join(broken, "checkpoint-8"))
    os.remove(os.path.join(broken, "model.safetensors"))
    of_task(plugins, broken, *flags, "--resume_from_checkpoint", os.path.join(broken, "checkpoint-4"), ranks=2)
    expect(weights_of(whole) == weights_of(broken), "the same weights to the bit", folder)


DESCRIBED_BYTES = 400  # of a description that is written here


def described_plugin(folder, name, description, body=""):
    os.mkdir(os.path.join(folder, name))
    source = f'HFTRAIN_TASK(R"({json.dumps(description).ljust(DESCRIBED_BYTES)})")\nHFTRAIN_PLUGIN("{name}") {{ (void)registry; {body} }}\n'
    return written_plugin(os.path.join(folder, name), source)


def redescribed(folder, name, plugin, before, after):
    """A copy of its file with another description, which is no longer than its own with the blanks behind."""
    content, old = pathlib.Path(plugin).read_bytes(), json.dumps(before).encode().ljust(DESCRIBED_BYTES)
    expect(content.count(old) == 1, "the description is there once", name)
    path = pathlib.Path(folder, f"{name}.so")
    path.write_bytes(content.replace(old, json.dumps(after).encode().ljust(DESCRIBED_BYTES)))
    return path


FIRST_TOPIC = {"name": "first-topic", "head": "sequence_classification", "text": ["title", "body"],
               "labels": {"column": "first", "kind": "name"}, "padding": "max_length", "max_length": 32}


def a_task_described_as_one_of_hftrain_gives_its_bits(plugins, folder):
    """Text classification, over files with nothing but its columns."""
    plugin = described_plugin(folder, "first", FIRST_TOPIC)
    flags = ("--do_train", "--do_eval", "--do_predict", "--max_steps", 12, "--save_strategy", "no", "--max_seq_length", 32)
    outputs = {task: os.path.join(folder, task) for task in ("first-topic", "text-classification")}
    of_task(plugins, outputs["first-topic"], *flags, plugin=plugin, task="first-topic", ranks=2)
    files = []
    for name in ("train", "validation", "test"):
        rows = [json.loads(line) for line in open(os.path.join(plugins.folder, f"tagged-{name[:5]}.jsonl"))]
        path = pathlib.Path(folder, f"{name}.jsonl")
        path.write_text("".join(json.dumps({"sentence1": row["title"], "sentence2": row["body"], "label": row["first"]}) + "\n" for row in rows))
        files += [f"--{name}_file", path]
    of_task(plugins, outputs["text-classification"], *flags, *files, plugin="none", task="text-classification", ranks=2)
    described, own = ([{key: value for key, value in record.items() if not key.endswith(("_runtime", "_per_second"))}
                       for record in runs.records(outputs[task])] for task in outputs)
    losses = lambda found: [record["loss"] for record in found if "loss" in record]
    expect(len(losses(own)) == 12 and losses(described) == losses(own), "the same losses to the bit", [described, own])
    results = [runs.read_json(output, "eval_results.json") for output in outputs.values()]
    expect(all(results[0][key] == results[1][key] for key in ("eval_loss", "eval_accuracy")), "the same evaluation", results)
    expect(weights_of(outputs["first-topic"]) == weights_of(outputs["text-classification"]), "the same weights", folder)
    expect(predictions_of(outputs["first-topic"]) == predictions_of(outputs["text-classification"]), "the same predictions", folder)


def a_task_streams_where_its_labels_are_described(plugins, folder):
    train = ("--do_train", "--streaming", "--max_steps", 6, "--save_strategy", "no")
    text = of_task(plugins, os.path.join(folder, "unknown"), *train, code=2)
    runs.in_order(text, "the rows of this task cannot be streamed", "whose labels nobody has to look for")
    known = {**FIRST_TOPIC, "padding": "longest", "labels": {**FIRST_TOPIC["labels"], "names": sorted(TOPICS)}}
    plugin = described_plugin(folder, "known", known)
    for name, more in (("stream", ()), ("judged", ("--do_eval",))):
        of_task(plugins, os.path.join(folder, name), *train, *more, plugin=plugin, task="first-topic", ranks=2)
    order = ("--do_train", "--max_steps", 6, "--save_strategy", "no", "--train_sampling_strategy", "sequential")
    of_task(plugins, os.path.join(folder, "prepared"), *order, plugin=plugin, task="first-topic", ranks=2)
    losses = [losses_of(os.path.join(folder, name)) for name in ("stream", "judged", "prepared")]
    expect(len(losses[0]) == 6 and losses[0] == losses[1] == losses[2], "the losses of the rows in their order", losses)
    for name, ranks, labels in (("names", 2, {"column": "topics", "kind": "names", "names": sorted(TOPICS)}),
                                ("number", 1, {"column": "size", "kind": "number"}), ("numbers", 1, {"column": ["size", "count"], "kind": "numbers"})):
        other = redescribed(folder, name, plugin, known, {**known, "labels": labels})
        for way, more in (("streamed", train), ("prepared", order)):
            of_task(plugins, os.path.join(folder, f"{name}-{way}"), *more, "--max_steps", 3, plugin=other, task="first-topic", ranks=ranks)
        losses = [losses_of(os.path.join(folder, f"{name}-{way}")) for way in ("streamed", "prepared")]
        expect(len(losses[0]) == 3 and losses[0] == losses[1], f"{name}: labels of floats are streamed", losses)
    plain = os.path.join(folder, "plain")
    plugins.call(*plugins.flags(plain, "--max_steps", "1", "--save_strategy", "no", ranks=1))
    for model, code in ((plain, 4), (os.path.join(folder, "stream"), 0)):
        done = plugins.call("--task", "first-topic", "--plugin", str(plugin), "--model_name_or_path", model, "--use_cpu", "--do_eval",
                            "--validation_file", os.path.join(plugins.folder, "tagged-valid.jsonl"), "--output_dir", os.path.join(folder, "judged-alone"),
                            expect=code)
        if code != 0:
            runs.in_order(done.stderr, "the model has no labels", "was not saved with the head of this task")


def other_kinds_of_labels_train(plugins, folder):
    """Several numbers, a text that follows, names of words: two updates and an evaluation of each."""
    rows = [{"text": f"{word} day", "x": i % 3, "y": i / 7, "words": [word, "day"], "tags": ["B-T", "O"], "answer": "the old"}
            for i, word in enumerate(["sail", "oven", "crust", "purring"] * 8)]
    path = pathlib.Path(folder, "rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ("--train_file", path, "--validation_file", path, "--test_file", path)
    for name, head, text, labels, metric in (("sizes", "sequence_classification", "text", {"column": ["x", "y"], "kind": "numbers"}, "eval_mse"),
                                             ("answers", "causal_lm", "text", {"column": "answer", "kind": "text"}, "eval_accuracy"),
                                             ("tags", "token_classification", "words", {"column": "tags", "kind": "names"}, "eval_f1")):
        plugin = described_plugin(folder, name, {"name": name, "head": head, "text": text, "labels": labels, "max_length": 32})
        output = os.path.join(folder, f"{name}-run")
        of_task(plugins, output, "--do_train", "--do_eval", "--do_predict", "--max_steps", 30, "--save_strategy", "no", *files, plugin=plugin, task=name,
                ranks=2)
        losses, results = losses_of(output), runs.read_json(output, "eval_results.json")
        expect(len(losses) == 30 and losses[-1] < losses[0], f"{name}: it learns", losses)
        expect(metric in results, f"{name}: it is judged", results)
        judged = metric.replace("eval", "predict") in runs.read_json(output, "predict_results.json")
        expect(judged == (name != "sizes"), f"{name}: predictions are judged where labels of test rows are read", output)
    said = predictions_of(os.path.join(folder, "sizes-run"))
    expect(len(said) == 32 and said[0].startswith("0\t[") and said[0].count(",") == 1, "two numbers a row", said)


def a_task_is_planned_and_checked(plugins, folder):
    output = os.path.join(folder, "run")
    plan = of_task(plugins, output, "--do_train", "--max_steps", 4, first=("plan",))
    runs.in_order(plan, "topic-tags")
    config = of_task(plugins, output, "--do_train", "--print_config")
    runs.in_order(config, "task: topic-tags")
    expect(not os.path.exists(output), "nothing is written", plan)
    text = of_task(plugins, output, "--smoke", "--do_eval")
    expect("FAILED" not in text and "ok      the checkpoint verifies" in text, "a smoke run of it passes", text)
    done = plugins.call("--task", "topic-tags", "--plugin", str(plugins.built / "topic_tags.so"), "--smoke", "--output_dir", output, expect=2)
    runs.in_order(done.stdout + done.stderr, "a smoke run makes up no rows for the task of a plug-in", "--train_file")


def tasks_that_cannot_be_are_refused(plugins, folder):
    def changed(before, after):
        path = os.path.join(folder, "changed.so")
        content = (plugins.built / "topic_tags.so").read_bytes()
        expect(before in content and len(before) == len(after), "it is there", before)
        pathlib.Path(path).write_bytes(content.replace(before, after))
        return path

    output = os.path.join(folder, "run")
    for before, after, words in (
            (b'"kind": "names"', b'"kind": "nouns"', "its key 'labels.kind' is \"nouns\""),
            (b'"max_length": 64', b'"max_length": 00', "it is no JSON"),
            (b'"truncation"', b'"truncating"', "there is no key 'truncating'"),
            (b'"head": "sequence_classification"', b'"head":      "question_answering"', "its key 'head' is \"question_answering\""),
            (b'"name": "topic-tags"', b'"name":        "clm"', "a task is called 'clm' already")):
        text = of_task(plugins, output, "--do_train", plugin=changed(before, after), code=2)
        runs.in_order(text, "the plug-in describes no task that can be trained", "changed.so", words)
        expect(not os.path.exists(output), "nothing is written", text)
    text = of_task(plugins, output, "--do_train", "--max_steps", 1, plugin=changed(b'"name": "topic-tags"', b'"name": "topic-tabs"'),
                   task="topic-tabs", code=2)
    runs.in_order(text, "the plug-in 'topic tags' cannot be used", "it registers metrics of the task 'topic-tags', and describes none of it")
    text = of_task(plugins, output, "--do_train", task="topic-tag", code=2)
    runs.in_order(text, "there is no task 'topic-tag'", "--task", "did you mean topic-tags?")
    text = of_task(plugins, output, "--print_config", task="topic-tag", code=2)
    runs.in_order(text, "there is no task 'topic-tag'", "--task", "did you mean topic-tags?")
    expect("task: topic-tag" not in text, "nothing is printed", text)
    text = of_task(plugins, output, "--print_config", task="bogus", plugin=plugins.built / "stop_below.so", code=2)
    runs.in_order(text, "there is no task 'bogus'", "neither hftrain has one nor does --plugin describe it")
    runs.in_order(of_task(plugins, output, "--print_config", task="translation_en_to_de"), "task: translation")
    text = of_task(plugins, output, "--do_train", plugin="none", code=2)
    runs.in_order(text, "'topic-tags' is not one of clm")
    text = of_task(plugins, output, "--do_train", "--do_eval", "--eval_strategy", "steps", "--save_strategy", "steps", "--load_best_model_at_end",
                   "--metric_for_best_model", "all_fund", code=2)
    runs.in_order(text, "there is no metric 'all_fund'", "all_found")
    text = of_task(plugins, output, "--do_train", "--mlm_probability", 0.2, code=2)
    runs.in_order(text, "--task topic-tags does not read --mlm_probability")
    wrong = described_plugin(folder, "wrong", {**FIRST_TOPIC, "labels": {"column": "topics", "kind": "name"}})
    text = of_task(plugins, output, "--do_train", plugin=wrong, task="first-topic", code=4)
    runs.in_order(text, "the labels are not those that the plug-in describes", "they are lists of classes")
    wrong = described_plugin(folder, "lacking", {**FIRST_TOPIC, "text": "headline"})
    text = of_task(plugins, output, "--do_train", plugin=wrong, task="first-topic", code=4)
    runs.in_order(text, "there is no column 'headline'", "tagged-train.jsonl")
    wrong = described_plugin(folder, "of-two", {**FIRST_TOPIC, "metric": "f1"})
    text = of_task(plugins, output, "--do_train", "--do_eval", plugin=wrong, task="first-topic", code=2)
    runs.in_order(text, "the metric f1 is of two classes", "there are 3 labels")
    unregistered = described_plugin(folder, "unregistered", {**FIRST_TOPIC, "metrics": ["mine"]})
    text = of_task(plugins, output, "--do_train", "--max_steps", 1, plugin=unregistered, task="first-topic", code=2)
    runs.in_order(text, "it describes metrics of the task 'first-topic' and does not register them")


SCENARIOS = [a_task_is_learned_judged_and_predicted, a_task_goes_on_to_the_bit, a_task_described_as_one_of_hftrain_gives_its_bits,
             a_task_streams_where_its_labels_are_described, other_kinds_of_labels_train, a_task_is_planned_and_checked,
             tasks_that_cannot_be_are_refused,
             a_family_trains_alike_under_every_strategy, a_family_goes_on_to_the_bit, a_family_writes_text, families_that_cannot_be_are_refused,
             a_callback_stops_the_run_and_is_saved, a_callback_that_ends_a_smoke_run_is_told, a_reporter_gets_every_record, a_reporter_that_fails_costs_a_warning,
             a_loss_takes_the_place_of_the_models, flags_that_it_would_ignore_are_refused, what_it_throws_ends_the_run_in_words,
             its_static_objects_are_destroyed, others_are_refused_before_anything_starts]

if __name__ == "__main__":
    runs.run_scenarios(SCENARIOS, sys.argv[1:], Plugins)
