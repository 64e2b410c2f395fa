#!/usr/bin/env python3
"""Parquet files made by pyarrow, and the rows that the datasets package reads of them as JSON lines: tests/golden/data/parquet.

types.parquet has a column of every type that a record's value can have, refused.parquet one of each of the others, not_finite.parquet a number that is none and a column without a name, *classes.parquet
ClassLabels and none. Needs datasets, pyarrow
and numpy. The files are small: rows are few, and lie in groups of two.
"""
import datetime
import decimal
import json
import pathlib

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, Features, Value

OUTPUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/parquet"
TURN = pa.struct([("role", pa.string()), ("content", pa.large_string()), ("calls", pa.list_(pa.struct([("name", pa.string())])))])


def with_nulls(values, kind):
    """Five rows of which the second and the last are null."""
    return pa.array([values[0], None, values[1], values[2], None], type=kind)


def columns():
    texts = ["one", "zwei — два 🙂", ""]
    yield "text", pa.array(["first", "a\nb", "", "naïve", "last"], pa.string())
    for name, kind in (("text", pa.string()), ("large", pa.large_string()), ("view", pa.string_view())):
        yield f"{name}_with_nulls", with_nulls(texts, kind)
    yield "coded", with_nulls(["a", "b", "a"], pa.string()).dictionary_encode()
    yield "coded_numbers", with_nulls([7, 8, 7], pa.int64()).dictionary_encode()
    for bits in (8, 16, 32, 64):
        yield f"int{bits}", with_nulls([-2 ** (bits - 1), 0, 2 ** (bits - 1) - 1], getattr(pa, f"int{bits}")())
        yield f"uint{bits}", with_nulls([0, 1, 2**bits - 1], getattr(pa, f"uint{bits}")())
    yield "half", with_nulls(list(map(numpy.float16, (0.1, -2.5, 65504))), pa.float16())
    yield "single", with_nulls([0.1, -2.5, 3e38], pa.float32())
    yield "double", with_nulls([0.1, -2.5, 1e300], pa.float64())
    yield "flag", with_nulls([True, False, True], pa.bool_())
    yield "nothing", pa.nulls(5)
    yield "words", with_nulls([["a", None, "c"], [], ["d"]], pa.list_(pa.string()))
    yield "many", with_nulls([[1, 2], [], [3]], pa.large_list(pa.int16()))
    yield "pair", with_nulls([[1.5, 2], [3, 4], [5, None]], pa.list_(pa.float64(), 2))
    yield "deep", with_nulls([[[1], []], [], [None, [2, 3]]], pa.list_(pa.list_(pa.int64())))
    yield "translation", with_nulls([{"en": "a", "de": "b"}, {"en": "c", "de": None}, {"en": "d", "de": "e"}],
                                    pa.struct([("en", pa.string()), ("de", pa.string())]))
    yield "answers", with_nulls([{"text": ["a", "b"], "answer_start": [1, 2]}, {"text": [], "answer_start": []}, {"text": ["c"], "answer_start": [0]}],
                                pa.struct([("text", pa.list_(pa.string())), ("answer_start", pa.list_(pa.int32()))]))
    yield "messages", with_nulls([[{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "calls": [{"name": "f"}]}], [],
                                  [{"role": "user", "content": "bye"}]], pa.list_(TURN))


def others():
    when = datetime.datetime(2026, 1, 2, 3, 4, 5)
    yield "text", pa.array(["a"])
    yield "when", pa.array([when], pa.timestamp("us"))
    yield "zoned", pa.array([when], pa.timestamp("ms", tz="UTC"))
    yield "day", pa.array([when.date()], pa.date32())
    yield "clock", pa.array([when.time()], pa.time64("us"))
    yield "span", pa.array([datetime.timedelta(seconds=1)], pa.duration("ms"))
    yield "price", pa.array([decimal.Decimal("1.50")], pa.decimal128(10, 2))
    yield "bytes", pa.array([b"a"], pa.binary())
    yield "code", pa.array([b"abcd"], pa.binary(4))
    yield "pairs", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    yield "times", pa.array([[{"at": when}]], pa.list_(pa.struct([("at", pa.timestamp("s"))])))


def of_classes(names):
    features = {"text": Value("string"), "coarse": ClassLabel(names=["no", "yes"]), "label": ClassLabel(names=names)}
    values = {"text": ["a", "b", "c"], "coarse": [0, 1, 0], "label": [1, 0, -1]}
    return Dataset.from_dict(values, features=Features(features)) if names else Dataset.from_dict(values)


def without_nulls(value):
    """Fields of objects that are null are no fields: Parquet cannot tell."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    table = pa.table(dict(columns()))
    # A type that the format lacks (string_view, dictionaries) comes back by the schema that Arrow stores with the file.
    pq.write_table(table, OUTPUT / "types.parquet", row_group_size=2, compression="zstd", write_statistics=False)
    pq.write_table(pa.table(dict(others())), OUTPUT / "refused.parquet", compression="none")
    pq.write_table(pa.table({"score": [0.5, float("nan")], "": [0, 1]}), OUTPUT / "not_finite.parquet", compression="none")
    for name, classes in (("classes", ["zeta", "alpha"]), ("other_classes", ["zeta", "beta"]), ("no_classes", [])):
        of_classes(classes).to_parquet(OUTPUT / f"{name}.parquet")
    read = pq.read_table(OUTPUT / "types.parquet")
    # What the datasets package cannot hold (views, as of 5.2) is read as what it holds.
    plain = read.set_column(read.column_names.index("view_with_nulls"), "view_with_nulls", read["view_with_nulls"].cast(pa.string()))
    rows = [{name: without_nulls(value) for name, value in row.items()} for row in Dataset(plain).to_list()]
    (OUTPUT / "types.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    main()
