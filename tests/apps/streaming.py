#!/usr/bin/env python3
"""--streaming: rows are read and tokenised while the run trains, and it trains on just the samples of the same run with prepared data in the
order of the files; it needs no more memory for more data, goes on where it was stopped, and says what is wrong with rows when it comes to them.

  streaming.py [SCENARIO]…     all of them without a word
"""
import contextlib
import fcntl
import filecmp
import gzip
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import HFTRAIN, PATIENCE, InTime, expect, free_port, read_json, records, run_scenarios, skip
from tiny_tasks import TinyTasks, rows, write

STREAM, SEQUENTIAL = ["--streaming"], ["--train_sampling_strategy", "sequential"]
WHOLE = {"what", "where", "why", "try"}
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"


def lines(count, salt=""):
    return [f"row {i} {salt} the river runs by {'the old town ' * (i * 7 % 5)}" for i in range(count)]


def talks(count):
    return [{"messages": [{"role": "user", "content": f"what is {i} and {i}?"}, {"role": "assistant", "content": f"it is {2 * i} {'and so ' * (i % 4)}"}]}
            for i in range(count)]


def wait_for_line(fixture, text, run):
    deadline = time.monotonic() + PATIENCE
    while run.poll() is None and time.monotonic() < deadline:
        if text in fixture.said():
            return
        time.sleep(0.05)
    raise SystemExit(f"FAILED: '{text}' was not said")


class Streams(TinyTasks):
    def __init__(self, folder):
        super().__init__(folder)
        write(self.tokenizer, {"chat_template.jinja": TEMPLATE})
        self.texts = self.put("texts.txt", "".join(line + "\n" for line in lines(90)))
        self.talks = self.put("talks.jsonl", rows(*talks(60)))

    def put(self, name, content):
        write(self.folder, {name: content})
        return os.path.join(self.folder, name)

    def words(self, task, output, files, *more, steps=25, ranks=1):
        words = self.flags(task, output, *SHAPES.get(task, []), "--lr_scheduler_type", "constant", "--learning_rate", "1e-2",
                           "--per_device_train_batch_size", "3")
        for flag, value in (("--max_steps", steps), ("--nproc_per_node", ranks)):
            words[words.index(flag) + 1] = str(value)
        return [*words, "--train_file", *([files] if isinstance(files, str) else files), *map(str, more)]

    def run(self, task, output, files, *more, steps=25, ranks=1, expect=0, environment=None):
        words = self.words(task, output, files, *more, steps=steps, ranks=ranks)
        before, self.environment = self.environment, {**self.environment, **(environment or {})}
        try:
            return self.call(*words, expect=expect)
        finally:
            self.environment = before

    def start(self, output, *words):
        """Such a run under way; said() is what it has said."""
        self.words_of = output + ".said"
        with open(self.words_of, "w") as file:
            return subprocess.Popen([HFTRAIN, *words], env=self.environment, stdout=file, stderr=subprocess.STDOUT)

    def said(self):
        with open(self.words_of) as file:
            return file.read()

    def stop(self, run, bar, seconds=0):
        """Its exit code and what it said, when it is asked to stop; that takes no longer than the bar."""
        time.sleep(seconds)
        clock = InTime(bar)
        run.send_signal(signal.SIGTERM)
        code, said = run.wait(PATIENCE), self.said()
        expect(clock.stop(), "the signal is heard", f"{clock}\n{said}")
        return code, said


@contextlib.contextmanager
def held(path):
    """Whoever opens that file waits, as for a disk or a network that does not answer: until it is let go, and 45 s at most. Gives a function that
    waits until somebody does."""
    asked = []
    signal.signal(signal.SIGIO, lambda *_: asked.append(True))
    file = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        skip(f"files that can be held (F_SETLEASE): {error}")

    def wait(run):
        deadline = time.monotonic() + PATIENCE
        while not asked and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        expect(asked and run.poll() is None, "the file is opened", path)

    yield wait
    os.close(file)


SHAPES = {"clm": ["--block_size", "32"], "mlm": ["--max_seq_length", "32"], "sft": ["--max_length", "48"]}


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def same_weights(a, b):
    return filecmp.cmp(os.path.join(a, "model.safetensors"), os.path.join(b, "model.safetensors"), shallow=False)


def as_prepared(fixture, folder, name, task, files, *more, streamed=(), prepared=(), steps=25, ranks=1):
    """Both runs; they must be the same bit for bit. Returns the folder of the streamed one."""
    one, other = (os.path.join(folder, name + way) for way in ("-streamed", "-prepared"))
    cache = os.path.join(folder, name + "-cache")
    fixture.run(task, one, files, *STREAM, *more, *streamed, steps=steps, ranks=ranks, environment={"HFTRAIN_CACHE": cache})
    fixture.run(task, other, files, *SEQUENTIAL, *more, *prepared, steps=steps, ranks=ranks)
    expect(not os.path.exists(os.path.join(cache, "tokens")), f"{name}: nothing is cached", cache)
    expect(len(losses(one)) == steps and losses(one) == losses(other), f"{name}: the same losses", [losses(one), losses(other)])
    expect(same_weights(one, other), f"{name}: the same weights", one)
    last = [r["epoch"] for r in records(other) if "loss" in r][-1]
    expect(last > 1, f"{name}: the second epoch was reached", last)
    return one


def every_task_trains_on_the_samples_of_prepared_data(fixture, folder):
    for name, task, files, more in (("blocks", "clm", fixture.texts, []), ("masked", "mlm", fixture.texts, []),
                                    ("by-line", "mlm", fixture.texts, ["--line_by_line", "--whole_word_mask"]), ("talks", "sft", fixture.talks, []),
                                    ("packed", "sft", fixture.talks, ["--packing"]), ("joined", "sft", fixture.talks, ["--packing", "--packing_strategy", "bfd_split", "--padding_free"]),
                                    ("first", "clm", fixture.texts, ["--max_train_samples", 20]), ("threads", "clm", fixture.texts, ["--dataloader_num_workers", 3])):
        as_prepared(fixture, folder, name, task, files, *more, steps=40)


def every_source_of_rows_is_streamed(fixture, folder):
    some = lines(90, "in some file")
    write(folder, {"a.jsonl": rows(*({"text": line} for line in some)), "a.json": json.dumps([{"text": line} for line in some]),
                   "a.csv": "text\n" + "".join(f'"{line}"\n' for line in some), "a.txt.gz": gzip.compress("\n".join(some).encode()),
                   "many/1.txt": "\n".join(some[:40]), "many/2.txt": "\n".join(some[40:]) + "\n", "set/train.jsonl": rows(*({"text": line} for line in some))})
    for name in ("a.jsonl", "a.json", "a.csv", "a.txt.gz", "many/*.txt"):
        as_prepared(fixture, folder, name.replace("/*", ""), "clm", os.path.join(folder, name), steps=40)
    one, other = (os.path.join(folder, name) for name in ("named", "a.jsonl-prepared"))
    words = fixture.flags("clm", one, *SHAPES["clm"], "--lr_scheduler_type", "constant", "--learning_rate", "1e-2", "--per_device_train_batch_size", "3")
    words[words.index("--max_steps") + 1] = "40"
    fixture.call(*words, "--dataset_name", os.path.join(folder, "set"), "--dataset_streaming")
    expect(losses(one) == losses(other), "a data set by name", losses(one))


def ranks_get_the_blocks_of_the_contract(fixture, folder):
    """Rank 0 sends, or every rank reads all: as with prepared data, with a last block that is completed from the first, or dropped."""
    sends, reads = ({"dispatch_batches": way} for way in (True, False))
    for name, more, config in (("sent", [], None), ("sent-asked", ["--gradient_accumulation_steps", 2], sends), ("read", [], reads),
                               ("read-dropped", ["--dataloader_drop_last", "--gradient_accumulation_steps", 2], reads),
                               ("sent-split", [], {"dispatch_batches": True, "split_batches": True}), ("read-split", [], {"dispatch_batches": False, "split_batches": True})):
        batch = ["--per_device_train_batch_size", 4] if config and config.get("split_batches") else []
        given = ["--accelerator_config", json.dumps(config)] if config else []
        there = ["--accelerator_config", json.dumps(config or sends)]
        for threads in (0, 2):
            out = as_prepared(fixture, folder, f"{name}-{threads}", "clm", fixture.texts, *more, *batch, "--dataloader_num_workers", threads, streamed=given, prepared=there, ranks=2)
        data = read_json(out, "hftrain", "plan.json")["data"]
        expect(data["dispatch_batches"] == (config or sends)["dispatch_batches"] and not data["stream"]["by_files"], "who reads", data)


def ranks_read_files_of_their_own(fixture, folder):
    """Rows of two pairs of files, and of one file with the same rows by turns. The second rank is through first and begins again until the other is."""
    own = [{"text": line} for line in lines(7, "of rank 0")], [{"text": line} for line in lines(5, "of rank 1")]
    write(folder, {f"{rank}{part}.jsonl": rows(*chosen) for rank in (0, 1) for part, chosen in (("a", own[rank][:3]), ("b", own[rank][3:]))})
    turns = [one for i in range(7) for one in (own[0][i], own[1][i % 5])]
    write(folder, {"turns.jsonl": rows(*turns)})
    files = [os.path.join(folder, name + ".jsonl") for name in ("0a", "0b", "1a", "1b")]
    apart, together = os.path.join(folder, "apart"), os.path.join(folder, "together")
    more = ["--per_device_train_batch_size", 1, "--accelerator_config", '{"dispatch_batches": false}']
    fixture.run("sft", apart, files, *STREAM, *more, steps=20, ranks=2)
    fixture.run("sft", together, os.path.join(folder, "turns.jsonl"), *SEQUENTIAL, *more, steps=20, ranks=2)
    expect(read_json(apart, "hftrain", "plan.json")["data"]["stream"]["by_files"], "every rank has files", "")
    expect(losses(apart) == losses(together), "rows by turns", [losses(apart), losses(together)])
    dropped = os.path.join(folder, "dropped")
    fixture.run("sft", dropped, files, *STREAM, *more, "--dataloader_drop_last", steps=8, ranks=2)
    seen = losses(dropped)
    expect([seen[i] for i in range(1, 6)] == [losses(apart)[i] for i in range(1, 6)] and seen[6] != losses(apart)[6], "all end with the first", seen)
    halves = os.path.join(folder, "halves")
    saving = ["--save_strategy", "steps", "--save_steps", 1]
    fixture.run("sft", halves, files, *STREAM, *more, *saving, steps=6, ranks=2)
    fixture.run("sft", halves, files, *STREAM, *more, *saving, steps=20, ranks=2)
    expect(losses(halves) == losses(apart), "resumed where a rank had begun again", losses(halves))
    said = fixture.run("sft", halves, files, *STREAM, *more, *saving, "--resume_from_checkpoint", os.path.join(halves, "checkpoint-6"), steps=20, ranks=3, expect=2).stderr
    expect("and here 3 ranks read files of their own" in said and WHOLE in parts_of(said), "files are not dealt out again in the middle of them", said)
    # What collators draw is that of rows by turns, too: no two ranks hide the same places.
    masked = [os.path.join(folder, "masked-" + name) for name in ("apart", "together")]
    for place, way, chosen in zip(masked, (STREAM, SEQUENTIAL), (files, os.path.join(folder, "turns.jsonl"))):
        fixture.run("mlm", place, chosen, *way, "--line_by_line", *more, steps=20, ranks=2)
    expect(losses(masked[0]) == losses(masked[1]), "masks by turns", [losses(place) for place in masked])


def rows_behind_a_checkpoint_are_passed_over_in_files_of_their_own(fixture, folder):
    """Each rank knows where it is, also one that has begun its files again; none of them encodes what lies behind."""
    files = [fixture.put(f"own{rank}.txt", "".join(line + "\n" for line in lines(count, f"of rank {rank}"))) for rank, count in enumerate((4200, 2300))]
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    more = [*STREAM, "--line_by_line", "--accelerator_config", '{"dispatch_batches": false}', "--per_device_train_batch_size", 30, "--save_strategy", "steps", "--save_steps", 10]
    fixture.run("mlm", straight, files, *more, steps=190, ranks=2)
    for stop, begun_again in ((50, 0), (110, 2300), (190, 0)):
        fixture.run("mlm", parts, files, *more, steps=stop, ranks=2)
        places = read_json(parts, f"checkpoint-{stop}", "hftrain_state.json")["places"]
        expect(len(places) == 2 and places[0]["rows"] >= 1000 and places[1]["begun_again"] == begun_again, f"{stop}: a place of each rank", places)
        expect(places[1]["rows"] >= 1000 or begun_again, f"{stop}: where rows need not be encoded", places)
    expect(losses(parts) == losses(straight) and same_weights(parts, straight), "the same bits", [losses(parts), losses(straight)])


def a_source_that_stalls_is_waited_for(fixture, folder):
    """A disk or a network that does not answer for longer than a job may be silent is no hang, whichever ranks read."""
    first, second = fixture.put("first.txt", "".join(line + "\n" for line in lines(3500))), fixture.put("second.txt", "".join(line + "\n" for line in lines(3000, "more")))
    more = [*STREAM, "--per_device_train_batch_size", 16]
    straight, output = os.path.join(folder, "straight"), os.path.join(folder, "stalled")
    fixture.run("clm", straight, [first, second], *more, steps=120, ranks=2)
    run = fixture.start(output, *fixture.words("clm", output, [first, second], *more, steps=120, ranks=2))
    wait_for_line(fixture, "{'loss'", run)  # the front program has looked at the files
    with held(second) as opened:
        opened(run)
        time.sleep(42)
        expect(run.poll() is None, "it waits", fixture.said()[-2000:])
    code, said = run.wait(PATIENCE), fixture.said()
    expect(code == 0 and losses(output) == losses(straight), "and goes on", said[-2000:])
    expect("no training data have come for 30 s" in said, "and says so", said[-2000:])


def a_stop_is_heard_while_data_do_not_come(fixture, folder):
    """While a file does not open: by one rank, by the one that sends, by ranks that read all and by those with files of their own."""
    texts = [fixture.put(f"{name}.txt", "".join(line + "\n" for line in lines(2000, name))) for name in "ab"]
    apart = {"dispatch_batches": False}
    for name, ranks, config, files in (("one", 1, {}, texts), ("sent", 2, {}, texts), ("read", 2, {**apart, "split_batches": True}, texts), ("own", 2, apart, texts * 2)):
        output = os.path.join(folder, name)
        run = fixture.start(output, *fixture.words("clm", output, files, *STREAM, "--accelerator_config", json.dumps(config), "--gradient_accumulation_steps", 2,
                                                   "--per_device_train_batch_size", 16, "--save_strategy", "steps", "--save_steps", 1000, steps=900, ranks=ranks))
        wait_for_line(fixture, "{'loss'", run)
        with held(texts[1]) as opened:
            opened(run)
            code, said = fixture.stop(run, 5, seconds=6)
        expect(code == 143, f"{name}: it ends", f"{code}\n{said[-2000:]}")
        expect(fixture.checkpoints(output) == [max(losses(output))], f"{name}: its state is saved where it stood", fixture.checkpoints(output))


def a_stop_is_heard_while_a_long_update_is_collected(fixture, folder):
    """Its tokens take a minute on the fastest machine, and the signal comes after two seconds. A file that is named often is told."""
    large = fixture.put("large.txt", "the river runs by the old town and the mill and the bridge\n" * 200_000)
    for ranks in (1, 2):
        output = os.path.join(folder, f"filled{ranks}")
        run = fixture.start(output, *fixture.words("clm", output, [large] * 40, *STREAM, "--gradient_accumulation_steps", 2_000_000, ranks=ranks))
        wait_for_line(fixture, "Running training", run)
        code, said = fixture.stop(run, 5, seconds=2)
        expect(code in (143, 10), f"{ranks}: heard before the first round is there", f"{code}\n{said}")
        expect(said.count("is named 40 times as train data") == 1, "a file that is named often is told", said)


def remarks_on_rows_are_told_when_they_arise(fixture, folder):
    long = {"prompt": "word " * 200, "completion": "end"}
    write(folder, {"rows.jsonl": rows(*([long] * 3 + [{"prompt": "what is it?", "completion": f"it is {i}"} for i in range(400)]))})
    said = fixture.run("sft", os.path.join(folder, "out"), os.path.join(folder, "rows.jsonl"), *STREAM, steps=3).stderr
    expect("the training data so far: " in said and "left out" in said, "though the epoch has no end", said)


def another_way_of_reading_is_told_when_a_run_goes_on(fixture, folder):
    """A stream that goes on as prepared data, and the reverse: the epoch is a mixture then."""
    saving = ["--save_strategy", "steps", "--save_steps", 2]
    for name, before, after, what in (("streamed", STREAM, [], "run that streamed its data, and this one prepares them"),
                                      ("prepared", [], STREAM, "run with prepared data, and this one streams them")):
        output = os.path.join(folder, name)
        fixture.run("clm", output, fixture.texts, *before, *saving, steps=4)
        said = fixture.run("clm", output, fixture.texts, *after, *saving, "--resume_from_checkpoint", "true", steps=8).stderr
        told = [line for line in said.splitlines() if what in line]
        expect(len(told) == 1 and "rows twice" in told[0], f"{name}: told in a sentence", said)
        expect(sorted(losses(output)) == list(range(1, 9)), f"{name}: and goes on", losses(output))


def memory_and_the_first_update_do_not_depend_on_the_size(fixture, folder):
    found = {}
    line = "the river runs by the old town and the mill and the bridge of the village\n"
    for name, size in (("small", 2 << 20), ("large", 200 << 20)):
        write(folder, {name + ".txt": line * (size // len(line))})
        output, cache = os.path.join(folder, name), os.path.join(folder, name + "-cache")
        clock = InTime(30)
        fixture.run("clm", output, os.path.join(folder, name + ".txt"), *STREAM, steps=3, environment={"HFTRAIN_CACHE": cache})
        expect(clock.stop(), f"{name}: three updates take no time", clock)
        kept = sum(os.path.getsize(os.path.join(place, file)) for place, _, files in os.walk(cache) for file in files)
        found[name] = read_json(output, "hftrain", "summary.json")["ranks"][0]["peak_host_bytes"], kept
    (small, _), (large, kept) = found["small"], found["large"]
    expect(large < small + (16 << 20), "memory is that of a hundredth of the data", found)
    expect(kept < 1 << 20, "nothing is kept", found)
    print(f"peak of 2 MiB {small >> 20} MiB, of 200 MiB {large >> 20} MiB")


def a_resumed_stream_gives_the_same_bits(fixture, folder):
    """Stopped in the middle of an epoch, at its end, and in the second one; with threads, with packing, with ranks."""
    saving = ["--save_strategy", "steps", "--save_steps", 1]
    ways = {"blocks": ("clm", fixture.texts, [], 1), "threads": ("mlm", fixture.texts, ["--dataloader_num_workers", 2], 1),
            "packed": ("sft", fixture.talks, ["--packing", "--gradient_accumulation_steps", 2], 1), "sent": ("clm", fixture.texts, ["--dataloader_num_workers", 2], 2),
            "read": ("sft", fixture.talks, ["--accelerator_config", '{"dispatch_batches": false}'], 2)}
    for name, (task, files, more, ranks) in ways.items():
        straight = os.path.join(folder, name)
        fixture.run(task, straight, files, *STREAM, *more, steps=30, ranks=ranks)
        whole, parts = losses(straight), os.path.join(folder, name + "-parts")
        epochs = {r["step"]: int(r["epoch"]) for r in records(straight) if "loss" in r}
        end = max(step for step in epochs if epochs[step] == epochs[1])
        expect(end < 30, f"{name}: an epoch ends", epochs)
        for stop in sorted({2, end - 1, end, end + 1, end + 2, 30}):
            fixture.run(task, parts, files, *STREAM, *more, *saving, steps=stop, ranks=ranks)
        expect(losses(parts) == whole, f"{name}: losses", [losses(parts), whole])
        expect(same_weights(straight, parts), f"{name}: weights", parts)


def rows_behind_a_checkpoint_are_passed_over(fixture, folder):
    """A checkpoint knows which rows became whole samples: a run that goes on encodes none of them, on one rank and on two."""
    texts = fixture.put("many.txt", "".join(line + "\n" for line in lines(3500)))
    for ranks in (1, 2):
        straight, parts = (os.path.join(folder, f"{name}{ranks}") for name in ("straight", "parts"))
        saving = ["--save_strategy", "steps", "--save_steps", 50, "--per_device_train_batch_size", 24 // ranks]
        fixture.run("clm", straight, texts, *STREAM, *saving, steps=150, ranks=ranks)
        fixture.run("clm", parts, texts, *STREAM, *saving, steps=100, ranks=ranks)
        place = read_json(parts, "checkpoint-100", "hftrain_state.json")["state"]["position"]
        expect(place["rows"] >= 1000 and 0 < place["row_samples"] <= 24 * place["batch"], "a place to begin at", place)
        fixture.run("clm", parts, texts, *STREAM, *saving, steps=150, ranks=ranks)
        epochs = [r["epoch"] for r in records(straight) if "loss" in r]
        expect(losses(parts) == losses(straight) and same_weights(parts, straight), f"{ranks} ranks: the same bits", [losses(parts), losses(straight)])
        expect(int(epochs[100]) == 0, "in the first epoch", epochs)


def a_run_goes_on_with_other_ranks_and_batches(fixture, folder):
    """No sample is left out and none comes twice: two ranks with three each are one with six."""
    saving = ["--save_strategy", "steps", "--save_steps", 1, "--gradient_accumulation_steps", 1]
    one, two = os.path.join(folder, "one"), os.path.join(folder, "two")
    fixture.run("clm", one, fixture.texts, *STREAM, "--gradient_accumulation_steps", 2, steps=12)
    fixture.run("clm", two, fixture.texts, *STREAM, *saving, steps=4, ranks=2)
    fixture.run("clm", two, fixture.texts, *STREAM, "--save_strategy", "steps", "--save_steps", 1, "--gradient_accumulation_steps", 2, steps=12, ranks=1)
    a, b = losses(one), losses(two)
    expect(len(b) == 12 and all(abs(a[s] - b[s]) < 1e-5 * a[s] for s in a), "the same global batches", [a, b])
    # 10 samples, of which a last round of six has four: from there one rank with three is at the end of the epoch.
    few = ["--max_train_samples", 10, "--gradient_accumulation_steps", 1, "--save_strategy", "steps", "--save_steps", 2]
    end = os.path.join(folder, "end")
    fixture.run("clm", end, fixture.texts, *STREAM, *few, steps=2, ranks=2)
    fixture.run("clm", end, fixture.texts, *STREAM, *few, steps=6, ranks=1)
    expect(sorted(losses(end)) == [1, 2, 3, 4, 5, 6], "on from the end of an epoch", losses(end))


def a_saved_model_goes_on_behind_its_samples(fixture, folder):
    rate = ["--learning_rate", 0]  # losses are those of samples alone
    straight, model = os.path.join(folder, "straight"), os.path.join(folder, "model")
    fixture.run("clm", straight, fixture.texts, *STREAM, *rate, steps=9)
    fixture.run("clm", model, fixture.texts, *STREAM, *rate, "--save_strategy", "steps", "--save_steps", 2, "--save_only_model", steps=4)
    fixture.run("clm", model, fixture.texts, *STREAM, *rate, "--save_strategy", "no", steps=9)
    whole, seen = losses(straight), losses(model)
    expect(len(seen) == 9 and all(abs(seen[s] - whole[s]) < 1e-6 * whole[s] for s in whole), "no sample twice and none left out", [whole, seen])


def the_data_start_over_when_asked(fixture, folder):
    straight, again = os.path.join(folder, "straight"), os.path.join(folder, "again")
    rate = ["--learning_rate", 0]  # losses are those of samples alone
    fixture.run("clm", straight, fixture.texts, *STREAM, *rate, steps=8)
    fixture.run("clm", again, fixture.texts, *STREAM, *rate, "--save_strategy", "steps", "--save_steps", 3, steps=3)
    fixture.run("clm", again, fixture.texts, *STREAM, *rate, "--ignore_data_skip", steps=6)
    whole, seen = losses(straight), losses(again)
    expect([seen[s] for s in (4, 5, 6)] == [whole[s] for s in (1, 2, 3)], "from the beginning", [whole, seen])


def rows_are_held_out_by_the_hundred(fixture, folder):
    evaluated = ["--eval_strategy", "steps", "--eval_steps", 5, "--validation_split_percentage", 20]
    texts = fixture.put("held.txt", "".join(line + "\n" for line in lines(450)))
    every = open(texts).read().splitlines(keepends=True)
    write(folder, {"train.txt": "".join(row for i, row in enumerate(every) if i % 100 >= 20), "held.txt": "".join(row for i, row in enumerate(every) if i % 100 < 20)})
    one, other = os.path.join(folder, "one"), os.path.join(folder, "other")
    fixture.run("clm", one, texts, *STREAM, *evaluated, steps=10)
    fixture.run("clm", other, os.path.join(folder, "train.txt"), *SEQUENTIAL, *evaluated[:4], "--validation_file", os.path.join(folder, "held.txt"), steps=10)
    found = [[r["eval_loss"] for r in records(place) if "eval_loss" in r] for place in (one, other)]
    expect(losses(one) == losses(other) and found[0] == found[1] and len(found[0]) == 3, "as with the two parts as files", found)
    alone = os.path.join(folder, "alone")
    words = fixture.flags("clm", alone, *SHAPES["clm"], "--train_file", texts, *STREAM, "--validation_split_percentage", "20", "--model_name_or_path", one)
    words = [word for at, word in enumerate(words) if word not in ("--do_train",)]
    for flag in ("--model_type", "--config_overrides", "--config_name"):
        if flag in words:
            del words[words.index(flag):words.index(flag) + 2]
    fixture.call(*words, "--do_eval")
    judged = read_json(alone, "all_results.json")["eval_loss"]
    expect(abs(judged - found[0][-1]) < 1e-6 * judged, "an evaluation alone has the rows that were left out", [judged, found[0]])
    few = os.path.join(folder, "few")
    fixture.run("clm", few, texts, *STREAM, *evaluated, "--max_eval_samples", 3, "--max_train_samples", 6, steps=5)
    data = read_json(few, "hftrain", "plan.json")["data"]
    expect(data["validation"]["samples"] == 3 and data["stream"]["max_samples"] == 6, "samples", data)
    results = [read_json(place, "all_results.json") for place in (one, few)]
    expect("train_samples" not in results[0] and results[1]["train_samples"] == 6, "train_samples is what is known", results)


def a_broken_row_ends_the_run_where_it_stands(fixture, folder):
    texts = os.path.join(folder, "texts.jsonl")
    good = [json.dumps({"text": line}) + "\n" for line in lines(4000)]
    with open(texts, "w") as file:
        file.writelines(good[:3500] + ['{"text": 7}\n'] + good[3500:])
    output = os.path.join(folder, "out")
    saving = ["--save_strategy", "steps", "--save_steps", 50]
    for ranks in (1, 2):
        place = output + str(ranks)
        said = fixture.run("clm", place, texts, *STREAM, *saving, steps=100_000, ranks=ranks, expect=4).stderr
        expect(texts + ":3501" in said, f"{ranks}: the row is named", said)
        kept = fixture.checkpoints(place)
        expect(kept and kept[-1] >= 100, f"{ranks}: what was trained before is kept", kept)


def data_that_change_between_attempts_are_noticed(fixture, folder):
    texts, output = os.path.join(folder, "texts.txt"), os.path.join(folder, "out")
    write(folder, {"texts.txt": "".join(line + "\n" for line in lines(90))})
    more = [*STREAM, "--save_strategy", "steps", "--save_steps", 2]
    fixture.run("clm", output, texts, *more, steps=10)
    before = losses(output)
    os.utime(texts)
    said = fixture.run("clm", output, texts, *more, steps=12, expect=2).stderr
    expect("differs in training_data: " in said and WHOLE in parts_of(said), "the changed data are told", said)
    fixture.run("clm", output, texts, *more, "--resume_from_checkpoint", "true", steps=12)
    expect(len(losses(output)) == 12 and {s: losses(output)[s] for s in before} == before, "goes on when asked to", losses(output))
    write(folder, {"texts.txt": "the river runs by the old town and the mill\n" * 6})
    said = fixture.run("clm", output, texts, *more, "--resume_from_checkpoint", os.path.join(output, "checkpoint-4"), steps=14, expect=4).stderr
    expect("the training data end before the place" in said and WHOLE in parts_of(said), "data that are shorter than the place", said)
    os.remove(texts)
    said = fixture.run("clm", output, texts, *more, steps=14, expect=4).stderr
    expect(f"where: {texts}\n" in said and WHOLE in parts_of(said), "data that are gone", said)


def what_cannot_be_streamed_is_refused(fixture, folder):
    write(folder, {"empty.txt": "", "blank.txt": "\n" * 50, "few.txt": "a b\n", "labels.jsonl": rows(*({"sentence1": "a", "label": i % 2} for i in range(9))),
                   "nothing.jsonl": rows(*({"input_ids": [5, 6, 7], "labels": [-100] * 3} for _ in range(9)))})
    place = {name: os.path.join(folder, name) for name in os.listdir(folder)}
    unlimited = fixture.flags("clm", os.path.join(folder, "none"), "--train_file", fixture.texts, "--streaming", *SHAPES["clm"])
    at = unlimited.index("--max_steps")
    for code, what, done in (
            (2, "streaming needs max_steps", lambda: fixture.call(*unlimited[:at], *unlimited[at + 2:], expect=2)),
            (2, "the rows of this task cannot be streamed", lambda: fixture.run("text-classification", os.path.join(folder, "a"), place["labels.jsonl"], *STREAM, expect=2)),
            (2, "a stream is not shuffled", lambda: fixture.run("sft", os.path.join(folder, "b"), fixture.talks, *STREAM, "--shuffle_dataset", expect=2)),
            (2, "a stream is not prepared", lambda: fixture.call("prepare", *unlimited[1:], expect=2)),
            (4, "the training data is empty", lambda: fixture.run("clm", os.path.join(folder, "c"), place["empty.txt"], *STREAM, expect=4)),
            (4, "no batch", lambda: fixture.run("mlm", os.path.join(folder, "d"), place["blank.txt"], *STREAM, "--line_by_line", expect=4)),
            (4, "do not fill one sample", lambda: fixture.run("clm", os.path.join(folder, "e"), place["few.txt"], *STREAM, expect=4)),
            (4, "no row has a token that counts", lambda: fixture.run("sft", os.path.join(folder, "h"), place["nothing.jsonl"], *STREAM, "--max_length", "null", expect=4)),
            (4, "dataloader_drop_last", lambda: fixture.run("sft", os.path.join(folder, "f"), fixture.talks, *STREAM, "--dataloader_drop_last", "--max_train_samples", 2, expect=4))):
        said = done().stderr
        expect(what in said and WHOLE in parts_of(said), f"{code}: {what}", said)
    idle = fixture.run("clm", os.path.join(folder, "g"), fixture.texts, *STREAM, "--train_sampling_strategy", "group_by_length", "--data_seed", 3, "--accelerator_config",
                       '{"even_batches": false}').stderr
    expect("a stream has no use for train_sampling_strategy group_by_length, data_seed, accelerator_config.even_batches" in idle, "what does not act is told", idle)


def a_plan_a_smoke_run_and_the_searched_batch_know_of_it(fixture, folder):
    words = fixture.flags("clm", os.path.join(folder, "out"), *SHAPES["clm"], "--train_file", fixture.texts, *STREAM)
    told = fixture.call("plan", *words[1:], "--nproc_per_node", "2").stdout
    expect("streamed from 1 file" in told and "read by rank 0" in told and "when the stream ends" in told, "the plan says it", told)
    document = json.loads(fixture.call("plan", *words[1:], "--json").stdout)
    stream = document["data"]["stream"]
    expect(stream["files"][0]["path"] == fixture.texts and not stream["by_files"] and document["steps"]["max_steps"] == 2, "and its document", document["data"])
    expect(not os.path.exists(os.path.join(folder, "out")), "and nothing is made", folder)
    told = fixture.call(*words, "--smoke").stdout
    expect("FAILED" not in told and "resume" in told, "a smoke run", told)
    fixture.run("clm", os.path.join(folder, "searched"), fixture.texts, *STREAM, "--auto_find_batch_size", "--eval_strategy", "epoch", "--validation_file", fixture.texts, steps=30)
    found = [r["step"] for r in records(os.path.join(folder, "searched")) if "eval_loss" in r]
    expect(len(found) >= 2 and read_json(folder, "searched", "trainer_state.json")["num_train_epochs"] == sys.maxsize, "epochs end with the stream", found)


def two_machines_train_as_one(fixture, folder):
    straight, apart = os.path.join(folder, "straight"), os.path.join(folder, "apart")
    fixture.run("clm", straight, fixture.texts, *STREAM, steps=12, ranks=2)
    port = free_port()
    words = fixture.flags("clm", apart, *SHAPES["clm"], "--lr_scheduler_type", "constant", "--learning_rate", "1e-2", "--per_device_train_batch_size", "3", "--train_file",
                          fixture.texts, *STREAM, "--nnodes", 2, "--master_addr", "127.0.0.1", "--master_port", port)
    words[words.index("--max_steps") + 1] = "12"
    nodes = [subprocess.Popen([HFTRAIN, *words, "--node_rank", str(node)], env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for node in (0, 1)]
    said = [node.communicate(timeout=300)[1] for node in nodes]
    expect([node.returncode for node in nodes] == [0, 0], "both end well", said)
    expect(losses(apart) == losses(straight), "as on one machine", [losses(apart), losses(straight)])


SCENARIOS = [every_task_trains_on_the_samples_of_prepared_data, every_source_of_rows_is_streamed, ranks_get_the_blocks_of_the_contract, ranks_read_files_of_their_own,
             memory_and_the_first_update_do_not_depend_on_the_size, a_resumed_stream_gives_the_same_bits, rows_behind_a_checkpoint_are_passed_over, a_run_goes_on_with_other_ranks_and_batches,
             a_saved_model_goes_on_behind_its_samples, the_data_start_over_when_asked, rows_are_held_out_by_the_hundred, a_broken_row_ends_the_run_where_it_stands, data_that_change_between_attempts_are_noticed,
             rows_behind_a_checkpoint_are_passed_over_in_files_of_their_own, a_source_that_stalls_is_waited_for, a_stop_is_heard_while_data_do_not_come,
             a_stop_is_heard_while_a_long_update_is_collected, remarks_on_rows_are_told_when_they_arise, another_way_of_reading_is_told_when_a_run_goes_on,
             what_cannot_be_streamed_is_refused, a_plan_a_smoke_run_and_the_searched_batch_know_of_it, two_machines_train_as_one]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Streams)
