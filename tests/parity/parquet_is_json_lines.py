#!/usr/bin/env python3
"""Parquet files that pyarrow writes give every task what the same rows give as JSON lines, in any compression, in bounded memory; what cannot
be read is refused in words.

  parquet_is_json_lines.py [SCENARIO]…     all of them without a word
"""
import glob
import json
import os
import pathlib
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
import runs
from errors_have_four_parts import parts_of
from runs import HFTRAIN, expect, records, run_scenarios
from task_flags import LENGTH as LENGTHS
from task_flags import made_rows, seen
from tiny_tasks import TinyTasks, rows, write

TASKS = ("clm", "mlm", "text-classification", "token-classification", "question-answering", "summarization", "translation", "image-classification", "sft")
LENGTH = {**LENGTHS, "question-answering": ("--max_seq_length", "60", "--doc_stride", "4")}
PEAK_OF = """import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)"""


def need_plugin():
    if not (runs.BUILD / "lib/libhftrain_parquet.so").exists():
        runs.skip("a build without pyarrow")


def table(records, path, **more):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path, **more)
    return path


def records_of(fixture, task, split, count):
    if task == "image-classification":
        return [{"image": path, "label": os.path.basename(os.path.dirname(path))} for path in sorted(glob.glob(f"{fixture.pictures}/{split}/*/*"))]
    if task == "sft":
        return [{"messages": [{"role": "user", "content": row["text"]}, {"role": "assistant", "content": row["summary"]}]} for row in made_rows("clm", count)]
    return list(made_rows(task, count))


def words_of(fixture, task, output, *more):
    extra = {"translation": ["--source_lang", "en", "--target_lang", "ro"],
             "sft": ["--pad_token", "<|endoftext|>", "--eos_token", "<|endoftext|>", "--max_length", 48, "--chat_template_path", f"{fixture.folder}/chat.jinja"]}
    words = fixture.flags("clm" if task == "sft" else task, output, *LENGTH.get(task, []), *extra.get(task, []), *more)
    return ["sft" if word == "clm" and task == "sft" else word for word in words]


def images_in_rows_are_those_of_files(fixture, folder):
    """Images as the package datasets embeds them, as bytes alone and as paths: the run of their folder, bit for bit."""
    import datasets
    paths = sorted(glob.glob(f"{fixture.pictures}/train/*/*"))
    names = sorted({os.path.basename(os.path.dirname(path)) for path in paths})
    classes = [os.path.basename(os.path.dirname(path)) for path in paths]
    held = []
    for path in paths:
        with open(path, "rb") as file:
            held.append(file.read())
    embedded = os.path.join(folder, "embedded.parquet")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
    datasets.Dataset.from_dict({"image": [{"bytes": data, "path": os.path.basename(path)} for path, data in zip(paths, held)], "label": [names.index(name) for name in classes]},
                               features=features).to_parquet(embedded)
    files = {"embedded": embedded,
             "alone": table([{"image": data, "label": name} for data, name in zip(held, classes)], f"{folder}/alone.parquet", row_group_size=5),
             "mixed": table([{"image": {"path": path, "bytes": data if i % 2 else None}, "label": name} for i, (path, data, name) in enumerate(zip(paths, held, classes))],
                            f"{folder}/mixed.parquet")}
    words = fixture.flags("image-classification", os.path.join(folder, "folder"), "--train_dir", f"{fixture.pictures}/train", "--train_val_split", "0.2", "--do_eval")
    words[words.index("--max_steps") + 1] = "6"
    fixture.call(*words)
    wanted = [{key: record[key] for key in ("loss", "eval_loss", "eval_accuracy") if key in record} for record in records(os.path.join(folder, "folder"))]
    expect(len(wanted) >= 7, "a run of the folder", wanted)
    at = words.index("--train_dir")
    for name, path in files.items():
        output = os.path.join(folder, name)
        own = [*words[:at], "--train_file", path, *words[at + 2:]]
        own[own.index("--output_dir") + 1] = output
        fixture.call(*own)
        found = [{key: record[key] for key in ("loss", "eval_loss", "eval_accuracy") if key in record} for record in records(output)]
        expect(found == wanted, f"{name}: the same numbers", [found, wanted])
    whole = [word for word in own if word not in ("--train_val_split", "0.2", "--do_eval")]  # in the order of the file
    whole[whole.index("--output_dir") + 1] = os.path.join(folder, "whole")
    fixture.call(*whole)
    held[2] = held[2][:200]
    broken = table([{"image": {"bytes": data, "path": "picture.png"}, "label": name} for data, name in zip(held, classes)], f"{folder}/broken.parquet")
    number = table([{"image": 7, "label": "a"}, {"image": 8, "label": "b"}], f"{folder}/number.parquet")
    texts = table([{"text": b"bytes", "label": "a"}, {"text": b"more", "label": "b"}], f"{folder}/texts.parquet")
    for task, path, part in (("image-classification", broken, "broken.parquet:3"), ("image-classification", number, "names no image"), ("text-classification", texts, "type binary")):
        refused = fixture.call(*fixture.flags(task, os.path.join(folder, "refused"), "--train_file", path), expect=4).stderr
        expect(part in refused and parts_of(refused) == [{"what", "where", "why", "try"}], part, refused)


def every_task_reads_parquet(fixture, folder):
    write(fixture.folder, {"chat.jinja": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"})
    codecs = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
    for number, task in enumerate(TASKS):
        place = os.path.join(folder, task)
        train, valid = records_of(fixture, task, "train", 61), records_of(fixture, task, "validation", 9)
        write(place, {"train.jsonl": rows(*train), "valid.jsonl": rows(*valid)})
        table(train[:2 * len(train) // 3], f"{place}/parts/a.parquet", row_group_size=7, compression=codecs[number % 6])
        table(train[2 * len(train) // 3:], f"{place}/parts/b.parquet", use_dictionary=False, data_page_version="2.0", compression=codecs[(number + 3) % 6])
        table(valid, f"{place}/valid.parquet", write_page_checksum=True)

        def run(name, training, evaluation):
            output = os.path.join(place, name)
            fixture.call(*words_of(fixture, task, output, "--do_eval", "--train_file", training, "--validation_file", evaluation))
            return seen(output)
        plain = run("lines", f"{place}/train.jsonl", f"{place}/valid.jsonl")
        read = run("parquet", f"{place}/parts/*.parquet", f"{place}/valid.parquet")
        expect(plain == read, f"{task}: the same run", f"{plain}\n{read}")
    mixed = os.path.join(folder, "mixed")
    write(mixed, {"a.jsonl": rows(*records_of(fixture, "clm", "train", 61)[:40])})
    table(records_of(fixture, "clm", "train", 61)[40:], f"{mixed}/b.parquet")
    fixture.call(*words_of(fixture, "clm", f"{mixed}/out", "--train_file", f"{mixed}/*.*"))
    plain = seen(os.path.join(mixed, "out"))
    expect(plain["losses"] == seen(os.path.join(folder, "clm", "lines"))["losses"], "JSON lines and Parquet by one pattern", plain)


def changed_files_are_prepared_again(fixture, folder):
    path = f"{folder}/train.parquet"
    counts = []
    for count in (60, 90):
        table(records_of(fixture, "clm", "train", count), path)
        os.utime(path, (1, 1))
        fixture.call(*words_of(fixture, "clm", f"{folder}/out{count}", "--train_file", path))
        counts.append(seen(f"{folder}/out{count}")["samples"]["train"])
    expect(counts[0] < counts[1], "the cache goes by contents", counts)


def what_cannot_be_read_is_said(fixture, folder):
    good = records_of(fixture, "clm", "train", 60)
    path = table(good, f"{folder}/good.parquet")
    whole = pathlib.Path(path).read_bytes()

    def refused(said, name, *more, code=4):
        result = subprocess.run([HFTRAIN, *words_of(fixture, "clm", f"{folder}/out", "--train_file", os.path.join(folder, name), *more)], text=True,
                                capture_output=True, env=fixture.environment, timeout=300)
        told = f"{name}: code {result.returncode}\n{result.stderr}"
        expect(result.returncode == code and said in result.stderr and name in result.stderr, f"'{said}' is said, with code {code}", told)
        expect(parts_of(result.stderr) == [{"what", "where", "why", "try"}], "one message of four parts", told)
        expect(not os.path.exists(f"{folder}/out"), "no folder is made", told)
    write(folder, {"text.parquet": "no table", "cut.parquet": whole[:-100], "start.parquet": whole[:50], "nothing.parquet": b"", "a.parquet.gz": whole,
                   "turned.parquet": whole[:300] + bytes(byte ^ 255 for byte in whole[300:320]) + whole[320:]})
    refused("Parquet magic bytes not found", "text.parquet")
    refused("Parquet magic bytes not found", "cut.parquet")
    refused("Parquet magic bytes not found", "start.parquet")
    refused("the training data is empty", "nothing.parquet")
    refused("the format of a data file is not known", "a.parquet.gz", code=2)
    refused("cannot read a data file", "turned.parquet")
    table([{"text": None}, {"text": "a"}], f"{folder}/null.parquet")
    refused("the field 'text' is null, not a string", "null.parquet")
    table([{"text": 5}], f"{folder}/number.parquet")
    refused("the field 'text' is a number, not a string", "number.parquet")
    table([{"text": b"\xff"}], f"{folder}/bytes.parquet")
    refused("the column 'text' holds values of the type binary", "bytes.parquet")
    pq.write_table(pa.table({"text": pa.Array.from_buffers(pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")])}),
                   f"{folder}/latin.parquet")
    refused("latin.parquet:2", "latin.parquet")
    table([], f"{folder}/empty.parquet")
    refused("there is no column 'text'", "empty.parquet")
    table([{"text": "the fox"}], f"{folder}/short.parquet")
    # With many columns the file is much larger than its text.
    table([{"text": "the fox", **{f"column{i}": str(i) for i in range(300)}}], f"{folder}/wide.parquet")
    refused("does not fill a single block", "short.parquet")
    refused("does not fill a single block", "wide.parquet")
    for footer in (False, True):
        keys = encryption.EncryptionConfiguration(footer_key="k1", column_keys={"k2": ["text"]}, plaintext_footer=footer)
        factory = encryption.CryptoFactory(lambda config: Keys())
        name = f"{folder}/secret{footer}.parquet"
        with pq.ParquetWriter(name, pa.schema([("text", pa.string())]), encryption_properties=factory.file_encryption_properties(encryption.KmsConnectionConfig(), keys)) as writer:
            writer.write_table(pa.table({"text": ["a"]}))
        refused("is encrypted", os.path.basename(name))


class Keys(encryption.KmsClient):
    """Keeps no secret."""

    def __init__(self):
        super().__init__()

    def wrap_key(self, key, name):
        return key.hex()

    def unwrap_key(self, wrapped, name):
        return bytes.fromhex(wrapped)


def memory_does_not_grow_with_the_file(fixture, folder):
    """A file of one row group whose text is 160 MB: the peak is that of the same rows as JSON lines and a few pages."""
    words = [row["text"] for row in made_rows("clm", 2000)]
    draw = random.Random(1)
    texts = [" ".join(draw.choice(words) for _ in range(25)) for _ in range(4000)]
    path, lines = f"{folder}/large.parquet", f"{folder}/large.jsonl"
    pq.write_table(pa.table({"text": texts * 40}), path, row_group_size=10**7, compression="snappy", use_dictionary=False)
    with open(lines, "w") as file:
        for _ in range(40):
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    peaks = {}
    for name in (lines, path):
        words_to_run = ["prepare", *words_of(fixture, "clm", f"{folder}/out", "--train_file", name, "--preprocessing_num_workers", 1)[1:]]
        # By a process that is small itself: what the kernel counts for a child begins with the size of who starts it.
        done = subprocess.run([sys.executable, "-c", PEAK_OF, HFTRAIN, *words_to_run], env=fixture.environment, text=True, capture_output=True)
        expect(done.returncode == 0, "it is prepared", done.stderr)
        peaks[name] = int(done.stdout.split()[-1]) * 1024
    print({os.path.basename(name): f"{peak / 1e6:.0f} MB" for name, peak in peaks.items()}, os.path.getsize(lines) // 10**6, "MB of lines")
    expect(peaks[path] < peaks[lines] + 120e6, "memory is bounded", peaks)


def a_tokenizer_learns_the_texts_and_not_the_bytes(fixture, folder):
    texts = [row["text"] for row in made_rows("clm", 200)]
    write(folder, {"lines.txt": "".join(text + "\n" for text in texts)})
    table([{"number": i, "text": text + "\n"} for i, text in enumerate(texts)], f"{folder}/rows.parquet")
    made = []
    for name in ("lines.txt", "rows.parquet"):
        fixture.call("tokenizer", "train", "--vocab_size", "400", "--files", f"{folder}/{name}", "--output", f"{folder}/of-{name}")
        made.append(pathlib.Path(folder, "of-" + name, "tokenizer.json").read_text())
    expect(made[0] == made[1], "the same vocabulary", made)
    said = fixture.call("doctor", "--json", folder, expect=None).stdout
    expect(json.loads(said)["parquet"] == pa.__version__, "doctor names the library", said)


def numbers_of_classes_have_the_names_of_the_file(fixture, folder):
    classed = {"text-classification": ("label", ["zeta", "alpha", "mid"], {"names": ["zeta", "alpha", "mid"], "_type": "ClassLabel"}),
               "token-classification": ("ner_tags", ["O", "B-ZOO", "I-ZOO", "B-ART"], {"feature": {"names": ["O", "B-ZOO", "I-ZOO", "B-ART"], "_type": "ClassLabel"}, "_type": "List"})}

    def declared(records, path, column, feature):
        made = pa.Table.from_pylist(records)
        pq.write_table(made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": {column: feature}}})}), path)
    for task, (column, names, feature) in classed.items():
        plain = list(made_rows(task, 60))
        texts = sorted({tag for row in plain for tag in row[column]} if isinstance(plain[0][column], list) else {row[column] for row in plain})
        number = {text: i % len(names) for i, text in enumerate(texts)}
        numbered = [{**row, column: [number[tag] for tag in row[column]] if isinstance(row[column], list) else number[row[column]]} for row in plain]
        path = f"{folder}/{task}.parquet"
        declared(numbered, path, column, feature)
        output = f"{folder}/{task}"
        fixture.call(*words_of(fixture, task, output, "--train_file", path, "--validation_file", path, "--do_eval"))
        config = json.loads(pathlib.Path(output, "config.json").read_text())
        expect([config["id2label"][str(i)] for i in range(len(names))] == names, f"{task}: all classes, in their order", config["id2label"])
        # The same rows with the names written out are known to that model, and have its metrics.
        write(folder, {f"{task}.jsonl": rows(*({**row, column: [names[tag] for tag in row[column]] if isinstance(row[column], list) else names[row[column]]} for row in numbered))})
        judged = {}
        for kind in ("parquet", "jsonl"):
            fixture.call("train", "--task", task, "--model_name_or_path", output, "--validation_file", f"{folder}/{task}.{kind}", "--do_eval", "--use_cpu", "--nproc_per_node",
                         "1", *LENGTH.get(task, []), "--output_dir", f"{output}-{kind}")
            judged[kind] = {key: value for key, value in json.loads(pathlib.Path(f"{output}-{kind}", "eval_results.json").read_text()).items() if not any(word in key for word in ("per_second", "runtime", "time"))}
        expect(judged["parquet"] == judged["jsonl"], f"{task}: names and numbers are one", judged)
    column, names, feature = classed["text-classification"]
    for value, said in ((7, "a value is 7, and there are 3 classes"), (-1, "it is null")):
        declared([*numbered[:0], *({"sentence": "the fox", column: i % 3} for i in range(9)), {"sentence": "a fox", column: value}], f"{folder}/odd.parquet", column, feature)
        told = fixture.call(*words_of(fixture, "text-classification", f"{folder}/odd", "--train_file", f"{folder}/odd.parquet"), expect=4).stderr
        expect(said in told and "odd.parquet:10" in told, f"{value}: no class", told)
    declared([{"sentence": "the fox", column: i % 2} for i in range(9)], f"{folder}/other.parquet", column, {"names": ["a", "b"], "_type": "ClassLabel"})
    told = fixture.call(*words_of(fixture, "text-classification", f"{folder}/odd", "--train_file", f"{folder}/other.parquet", f"{folder}/text-classification.parquet"), expect=4).stderr
    expect("declare different classes" in told, "files of other classes", told)
    for task in ("text-classification", "clm"):  # numbers of other columns are no texts
        declared([{"sentence": i % 2, "label": i % 2, "text": i % 2} for i in range(9)], f"{folder}/numbers.parquet", "text" if task == "clm" else "sentence",
                 {"names": ["a", "b"], "_type": "ClassLabel"})
        told = fixture.call(*words_of(fixture, task, f"{folder}/odd", "--train_file", f"{folder}/numbers.parquet"), expect=4).stderr
        expect("is a number" in told, f"{task}: numbers of classes are no texts", told)
    told = fixture.call("tokenizer", "train", "--vocab_size", "400", "--files", f"{folder}/numbers.parquet", "--output", f"{folder}/words", expect=4).stderr
    expect("is a number, not a string" in told, "a tokenizer learns no names of classes", told)


def parquet_is_streamed(fixture, folder):
    """Two files of Parquet, read while training, give what their rows give as prepared JSON lines."""
    write(fixture.folder, {"chat.jinja": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"})
    for task in ("clm", "mlm", "sft"):
        train = records_of(fixture, task, "train", 61)
        place = os.path.join(folder, task)
        write(place, {"train.jsonl": rows(*train)})
        table(train[:40], f"{place}/parts/a.parquet", row_group_size=7)
        table(train[40:], f"{place}/parts/b.parquet")
        losses = []
        for name, files, more in (("lines", "train.jsonl", ["--train_sampling_strategy", "sequential"]), ("parquet", "parts/*.parquet", ["--streaming"])):
            fixture.call(*words_of(fixture, task, f"{place}/{name}", "--train_file", f"{place}/{files}", *more, "--max_steps", 40))
            losses.append([record["loss"] for record in records(f"{place}/{name}") if "loss" in record])
        expect(len(losses[0]) == 40 and losses[0] == losses[1], f"{task}: the same losses", losses)


SCENARIOS = [every_task_reads_parquet, images_in_rows_are_those_of_files, parquet_is_streamed, changed_files_are_prepared_again, what_cannot_be_read_is_said, a_tokenizer_learns_the_texts_and_not_the_bytes, numbers_of_classes_have_the_names_of_the_file,
             memory_does_not_grow_with_the_file]

if __name__ == "__main__":
    need_plugin()
    run_scenarios(SCENARIOS, sys.argv[1:], TinyTasks)
