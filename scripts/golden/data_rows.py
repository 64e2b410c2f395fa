"""Golden data of tests/data/row_source_test.cpp and prepare_test.cpp, made by the real `datasets` and `tokenizers`.

Writes tests/golden/data/rows.json: the rows that datasets reads from small files, the sizes of percent slices, and the
blocks of the causal-LM grouping (in our own words, after the rules of run_clm) over a byte tokenizer.
File contents are stored with one character per byte (latin-1).
Usage: python scripts/golden/data_rows.py
"""

import gzip
import json
import pathlib
import tempfile

import datasets
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/data/rows.json"
datasets.disable_progress_bars()
datasets.logging.set_verbosity(datasets.logging.CRITICAL)
folder = pathlib.Path(tempfile.mkdtemp())

TEXT = {
    "newlines.txt": b"one\r\ntwo\rthree\n\n\nfour\x0bfive\x0c\xc2\x85x\xe2\x80\xa8y\nlast",
    "byte order mark.txt": b"\xef\xbb\xbfhello\n",
    "nul and returns.txt": b"a\0b\r\n\r\r\n",
    "only newlines.txt": b"\n\n\n",
    "invalid.txt": b"hello\n\xff\xfe\n",
    "surrogate.txt": b"a\xed\xa0\x80\n",
    "cut off.txt": b"fine\nabc\xe2\x82",
    "members.txt.gz": gzip.compress(b"a\nb", mtime=0) + gzip.compress(b"c\nd\n", mtime=0),
}
JSON = {
    "fields.jsonl": b'{"a":1,"text":"x"}\n\n{"text":"y\\u00e9\\ud83d\\ude00\\n\\"q\\"","a":2}\n',
    "first field.jsonl": b'{"body":"x","b":2}\n{"b":3,"body":"y"}\n',
    "no newline.jsonl": b'{"text":"x"}\r\n{"text":"y"}',
    "two a line.jsonl": b'{"t":"x"} {"t":"y"}\n',
    "byte order mark.jsonl": b'\xef\xbb\xbf{"t":"x"}\n',
    "cut off.jsonl": b'{"text":"x"}\n{"text":\n',
    "invalid.jsonl": b'{"t":"\xff"}\n',
    "surrogate.jsonl": b'{"t":"\\ud800"}\n',
    "array.json": b' \n[{"text":"x"},\n{"text":"y]}"}]\n',
    "strings.json": b'["a","b"]',
    "records.json": b'{"text":"x"}\n{"text":"y"}\n',
    "pretty.json": b'{\n "text": "x"\n}\n',
}
CSV = {
    "quoted.csv": b'text,b\n"a ""q"" x\nnew",1\n\nplain,2\n',
    "loose quotes.csv": b'text\na"b"c\n"ab"cd\n',
    "line ends.csv": b'text\n"a\r\nb"\rc\r\nd',
    "first column.csv": b"body,b\nx,1\n",
    "byte order mark.csv": b"\xef\xbb\xbftext,b\n x , y\n",
    "blank lines.csv": b"\n\ntext,b\n   \nx,y\n",
    "open quote.csv": b'text\n"open\n',
    "invalid.csv": b"text\n\xff\n",
    "empty.csv": b"",
}


def rows(kind, name, content, **options):
    path = folder / name
    path.write_bytes(content)
    try:
        data = datasets.load_dataset(kind, data_files={"train": str(path)}, cache_dir=str(folder / "cache"), **options)["train"]
        column = "text" if "text" in data.column_names else data.column_names[0]
        return data[column][:]
    except Exception:  # what datasets refuses, we refuse
        return None


def row_cases():
    for name, content in TEXT.items():
        for keep in (True, False):
            yield {"file": name, "content": content.decode("latin-1"), "keep_linebreaks": keep,
                   "rows": rows("text", name, content, keep_linebreaks=keep)}
    for kind, files in (("json", JSON), ("csv", CSV)):
        for name, content in files.items():
            yield {"file": name, "content": content.decode("latin-1"), "keep_linebreaks": True, "rows": rows(kind, name, content)}


def percent_slices():
    for count in (7, 9, 10, 11, 13, 30, 50, 70, 90, 110, 130, 150, 170, 190, 310, 1000, 1001, 12345):
        data = datasets.Dataset.from_dict({"i": list(range(count))})
        path = folder / f"{count}.jsonl"
        data.to_json(str(path))
        for percent in (1, 5, 10, 33, 50, 95):
            try:
                part = datasets.load_dataset("json", data_files={"train": str(path)}, split=f"train[:{percent}%]",
                                             cache_dir=str(folder / "cache"))
                yield [percent, count, len(part)]
            except ValueError:  # an empty slice
                yield [percent, count, 0]


def byte_tokenizer():
    """ids 0..255 are bytes, 256 comes first in every row."""
    alphabet = {}
    shifted = 0
    for byte in range(256):
        printable = 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte
        alphabet[chr(byte) if printable else chr(0x100 + shifted)] = byte
        shifted += 0 if printable else 1
    tokenizer = Tokenizer(models.BPE(vocab={**alphabet, "<s>": 256}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    tokenizer.add_special_tokens(["<s>"])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def digest(values):
    state = 14695981039346656037
    for value in values:
        state = ((state ^ value) * 1099511628211) % 2**64
    return str(state)


def line(i):
    return f"row {i} " + "é" * (i * 7 % 23)


def grouped(block_size, split):
    path = folder / "lines.txt"
    path.write_text("".join(line(i) + "\n" for i in range(2350)), encoding="utf-8")
    data = datasets.load_dataset("text", data_files={"train": str(path)}, split=split, keep_linebreaks=True,
                                 cache_dir=str(folder / "cache"))
    tokenizer = byte_tokenizer()
    ids = data.map(lambda batch: {"input_ids": tokenizer(batch["text"])["input_ids"]}, batched=True, remove_columns=["text"])

    def cut(batch):
        joined = [token for row in batch["input_ids"] for token in row]
        usable = len(joined) // block_size * block_size
        return {"input_ids": [joined[at : at + block_size] for at in range(0, usable, block_size)]}

    blocks = ids.map(cut, batched=True)["input_ids"][:]
    flat = [token for block in blocks for token in block]
    return {"block_size": block_size, "split": split, "blocks": len(blocks), "digest": digest(flat),
            "first": blocks[0][:8], "last": blocks[-1][-8:]}


def main():
    record = {
        "datasets": datasets.__version__,
        "rows": list(row_cases()),
        "percent": list(percent_slices()),
        "grouped": [grouped(size, split) for size in (64, 1000, 4099)
                    for split in ("train", "train[:5%]", "train[5%:]", "train[:50%]", "train[50%:]")
                    if not (size == 4099 and split == "train[:5%]")],
    }
    OUT.write_text(json.dumps(record, indent=1) + "\n")


main()
