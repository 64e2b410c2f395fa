"""Golden data of tests/tasks/question_answering_test.cpp and answer_scorer_test.cpp, made by the real `tokenizers` and `transformers`.

Writes tests/golden/tasks/question_answering.json: for small files the windows that run_qa would make of every question (tokens, labels,
the characters of the context that tokens stand for) as padded batches, in our own words after its rules; logits made up, and the
answers, n-best lists and scores that its post-processing and SQuAD's metric give for them; and the tokenizer.
Labels differ from run_qa's on purpose where an answer starts with the last token of a window's context, or ends with its first one and no
special token stands before it: there the script walks out of the context.
Usage: python scripts/golden/question_answering.py
"""

import collections
import json
import pathlib
import re
import string

import numpy
from text_classification import make_tokenizer
from transformers import PreTrainedTokenizerFast

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tasks/question_answering.json"

STORY = "Ada went to the old mill. Boris – who was late – took none. Clara had hidden 3 coins; the owl knew. 日本 🙂 é stood there."
SHORT = "The fox sleeps in the barn."


def record(number, question, context, *answers):
    """Each answer is a text, at the first place where it stands, or (text, place)."""
    pairs = [answer if isinstance(answer, tuple) else (answer, context.index(answer)) for answer in answers]
    return {"id": f"q{number}", "title": "-", "context": context, "question": question,
            "answers": {"text": [text for text, _ in pairs], "answer_start": [start for _, start in pairs]}}


RECORDS = [
    record(0, "  Where did Ada go?", STORY, "the old mill", "mill"),
    record(1, "How many coins?", STORY, "3", "3 coins"),
    record(2, "What was written?", STORY, "日本 🙂"),
    record(3, "Who sleeps?", SHORT, "fox", "The fox"),
    record(4, "Where does it sleep?", SHORT, "in the barn"),
    record(5, "Who knew?", STORY, "the owl knew. 日本 🙂 é stood there."),
    record(6, "First word?", SHORT, "The"),
    record(7, "Everything?", SHORT, SHORT),
]
NEGATIVE = RECORDS[:5] + [record(8, "Why?", STORY), record(9, "Who flies?", SHORT)]

CASES = [
    {"name": "windows of a long context", "file": "a.json", "records": RECORDS, "n_best_size": 20, "max_seq_length": 48, "doc_stride": 16},
    {"name": "records under data", "file": "b.json", "wrapped": True, "records": RECORDS[:4], "max_seq_length": 80, "doc_stride": 0},
    {"name": "padded to the longest window", "file": "c.jsonl", "records": RECORDS[:5], "max_seq_length": 56, "doc_stride": 20, "pad_to_max_length": False},
    {"name": "the context comes first where padding is on the left", "file": "d.jsonl", "records": RECORDS, "max_seq_length": 48, "doc_stride": 16, "padding_side": "left"},
    {"name": "left, to the longest window", "file": "e.jsonl", "records": RECORDS[2:7], "max_seq_length": 56, "doc_stride": 16, "padding_side": "left", "pad_to_max_length": False},
    {"name": "questions without an answer", "file": "f.jsonl", "records": NEGATIVE, "max_seq_length": 48, "doc_stride": 16, "version_2_with_negative": True},
    {"name": "no special tokens, padded with the first token's id", "file": "g.jsonl", "version_2_with_negative": True, "records": NEGATIVE[3:], "max_seq_length": 40, "doc_stride": 8, "plain": True},
    {"name": "no special tokens, padded on the left", "file": "h.jsonl", "records": RECORDS[2:7], "max_seq_length": 40, "doc_stride": 8, "plain": True, "padding_side": "left"},
    {"name": "columns by their place", "file": "i.jsonl", "renamed": ["q", "c", "a"], "records": RECORDS[1:4], "max_seq_length": 160, "doc_stride": 60},
    {"name": "few candidates, short answers", "file": "j.jsonl", "records": RECORDS[:4], "max_seq_length": 48, "doc_stride": 16, "n_best_size": 3, "max_answer_length": 4},
    {"name": "a threshold for no answer", "file": "k.jsonl", "records": NEGATIVE, "max_seq_length": 48, "doc_stride": 16, "version_2_with_negative": True,
     "null_score_diff_threshold": -1.5, "n_best_size": 5},
]


def tokenizer_of(case):
    raw = make_tokenizer()
    if case.get("plain"):  # as GPT-2: nothing around the texts, one special token for everything
        document = json.loads(raw.to_str())
        document["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        raw = raw.from_str(json.dumps(document))
        special = {"bos_token": "[PAD]", "pad_token": "[PAD]"}
    else:
        special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    side = case.get("padding_side", "right")
    config = {**special, "padding_side": side}
    return raw, config, PreTrainedTokenizerFast(tokenizer_object=raw, **special, padding_side=side, model_input_names=["input_ids", "token_type_ids", "attention_mask"])


def content_of(case):
    rows = case["records"]
    if "renamed" in case:
        keys = dict(zip(("question", "context", "answers"), case["renamed"]))
        rows = [{keys[key]: row[key] for key in keys} | {"id": row["id"]} for row in rows]
    if case.get("wrapped"):
        return json.dumps({"version": "1", "data": rows})
    return "".join(json.dumps(row) + "\n" for row in rows)


def windows_of(case, tokenizer):
    right, pad = tokenizer.padding_side == "right", case.get("pad_to_max_length", True)
    windows = []
    for row in case["records"]:
        question = row["question"].lstrip()
        texts = (question, row["context"]) if right else (row["context"], question)
        made = tokenizer(*texts, truncation="only_second" if right else "only_first", max_length=case["max_seq_length"],
                         stride=case["doc_stride"], return_overflowing_tokens=True, return_offsets_mapping=True,
                         padding="max_length" if pad else False)
        for i, ids in enumerate(made["input_ids"]):
            inside = [k for k, sequence in enumerate(made.sequence_ids(i)) if sequence == (1 if right else 0)]
            windows.append({"id": row["id"], "ids": ids, "mask": made["attention_mask"][i], "types": made["token_type_ids"][i],
                            "offsets": made["offset_mapping"][i], "inside": inside})
            label(windows[-1], row["answers"], tokenizer)
    if not pad:
        to_the_longest(windows, tokenizer)
    return windows


def label(window, answers, tokenizer):
    named = [token for token in (tokenizer.cls_token_id, tokenizer.bos_token_id) if token in window["ids"]]
    nothing = window["ids"].index(named[0]) if named else 0
    window["start"] = window["end"] = nothing
    window["is_nothing"] = True
    if not answers["text"]:
        return
    begin = answers["answer_start"][0]
    end = begin + len(answers["text"][0])
    inside, offsets = window["inside"], window["offsets"]
    if offsets[inside[0]][0] > begin or offsets[inside[-1]][1] < end:
        return
    window["start"] = max(k for k in inside if offsets[k][0] <= begin)
    window["end"] = min(k for k in inside if offsets[k][1] >= end)
    window["is_nothing"] = False


def to_the_longest(windows, tokenizer):
    """Left padding moves labels and offsets with the tokens; run_qa leaves them where they were."""
    longest = max(len(window["ids"]) for window in windows)
    for window in windows:
        more = longest - len(window["ids"])
        left = tokenizer.padding_side == "left"
        for key, filler in (("ids", tokenizer.pad_token_id), ("mask", 0), ("types", 0), ("offsets", (0, 0))):
            window[key] = [filler] * more + window[key] if left else window[key] + [filler] * more
        if left:
            window["inside"] = [k + more for k in window["inside"]]
            if not window["is_nothing"] or tokenizer.cls_token_id is not None:
                window["start"], window["end"] = window["start"] + more, window["end"] + more


def predict(case, windows, logits):
    """The answers of every question, by the rules of the script's post-processing."""
    best, longest = case["n_best_size"], case.get("max_answer_length", 30)
    negative, threshold = case.get("version_2_with_negative", False), case.get("null_score_diff_threshold", 0.0)
    answers, lists, odds = {}, {}, {}
    for row in case["records"]:
        found, null = [], None
        for window, (starts, ends) in zip(windows, logits):
            if window["id"] != row["id"]:
                continue
            if null is None or null[2] > starts[0] + ends[0]:
                null = (0, 0, starts[0] + ends[0], starts[0], ends[0])
            inside = set(window["inside"])
            for s in numpy.argsort(starts, kind="stable")[::-1][:best]:
                for e in numpy.argsort(ends, kind="stable")[::-1][:best]:
                    if s in inside and e in inside and 0 <= e - s < longest:
                        found.append((window["offsets"][s][0], window["offsets"][e][1], starts[s] + ends[e], starts[s], ends[e]))
        if negative:
            found.append(null)
        found = sorted(found, key=lambda one: one[2], reverse=True)[:best]
        if negative and not any(one[:2] == (0, 0) for one in found):
            found.append(null)
        rows = [[row["context"][a:b], score, s, e] for a, b, score, s, e in found]
        if not rows or (len(rows) == 1 and rows[0][0] == ""):
            rows.insert(0, ["empty", numpy.float32(0), numpy.float32(0), numpy.float32(0)])
        scores = numpy.array([one[1] for one in rows], dtype=numpy.float64)
        shares = numpy.exp(scores - scores.max())
        shares /= shares.sum()
        lists[row["id"]] = [{"text": t, "start_logit": float(s), "end_logit": float(e), "probability": round(float(p), 7)} for (t, _, s, e), p in zip(rows, shares)]
        answers[row["id"]] = rows[0][0]
        if negative:
            first = next(one for one in rows if one[0] != "")
            odds[row["id"]] = float(null[2] - first[2] - first[3])
            answers[row["id"]] = "" if odds[row["id"]] > threshold else first[0]
    return answers, lists, odds


def words(text):
    return re.sub(r"\b(a|an|the)\b", " ", "".join(c for c in text.lower() if c not in string.punctuation)).split()


def shared_f1(predicted, actual, negative):
    """Two texts without words agree in version 2 of the metric, and do not in version 1.1."""
    shared = sum((collections.Counter(predicted) & collections.Counter(actual)).values())
    if negative and (not predicted or not actual):
        return float(predicted == actual)
    return 0.0 if shared == 0 else 2 * shared / (len(predicted) + len(actual))


def scores_of(case, answers):
    exact, f1 = [], []
    for row in case["records"]:
        texts = row["answers"]["text"] or [""]
        exact.append(max(float(words(answers[row["id"]]) == words(text)) for text in texts))
        f1.append(max(shared_f1(words(answers[row["id"]]), words(text), case.get("version_2_with_negative", False)) for text in texts))
    name = "exact" if case.get("version_2_with_negative") else "exact_match"
    return {name: 100 * sum(exact) / len(exact), "f1": 100 * sum(f1) / len(f1)}


def logits_of(number, windows, length):
    """[windows, 2, length]; the test makes the same. Of every second case most answers are found."""
    places = numpy.arange(len(windows) * 2 * length, dtype=numpy.int64)
    logits = ((places * 7919 + 131 * number) % 100003 / 12500 - 4).astype(numpy.float32).reshape(len(windows), 2, length)
    for window, two in zip(windows, logits):
        if not window["is_nothing"] and number % 2 == 0:
            two[0, window["start"]] = two[1, window["end"]] = 9
    return logits


def result_of(number, case):
    raw, config, tokenizer = tokenizer_of(case)
    windows = windows_of(case, tokenizer)
    length = len(windows[0]["ids"])
    logits = logits_of(number, windows, length)
    answers, lists, odds = predict(case, windows, logits)
    spans = [[w["inside"][0], [x for k in w["inside"] for x in w["offsets"][k]]] for w in windows]  # first place, then begin, end, …
    return {"tokenizer": json.loads(raw.to_str()), "tokenizer_config": config, "content": content_of(case),
            "windows": [window["id"] for window in windows],
            "batch": {"input_ids": [w["ids"] for w in windows], "attention_mask": [w["mask"] for w in windows],
                      "token_type_ids": [w["types"] for w in windows], "start_positions": [w["start"] for w in windows],
                      "end_positions": [w["end"] for w in windows]},
            "spans": spans,
            "predictions": answers, "nbest": lists, "null_odds": odds, "metrics": scores_of(case, answers)}


def main():
    cases = []
    for number, case in enumerate(CASES):
        case = {"n_best_size": 4} | case
        flags = {key: value for key, value in case.items() if key not in ("records", "renamed", "wrapped", "plain", "padding_side")}
        cases.append(flags | result_of(number, case))
    tokenizers = []
    for case in cases:  # there are two of them
        text = case.pop("tokenizer")
        if text not in tokenizers:
            tokenizers.append(text)
        case["tokenizer"] = tokenizers.index(text)
    OUT.write_text(json.dumps({"tokenizers": tokenizers, "cases": cases}, separators=(",", ":")) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
