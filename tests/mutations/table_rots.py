#!/usr/bin/env python3
"""scripts/mutations notices a table that no longer fits the sources, and tells a red test from one that stays green, fails for
another reason or is skipped. Builds nothing."""
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = str(ROOT / "scripts" / "mutations")
GOOD = ("README.md", (ROOT / "README.md").read_text().splitlines()[0] + "\n", "")
ROTTEN = {  # what the table says of a fault -> what is said of the table
    "one text": ((*GOOD, "base: a", "x"), None),
    "a text that is not there": (("README.md", "no such words in it", "", "base: a", "x"), "0 times instead of once"),
    "a file that is gone": (("no/such/file", "text", "", "base: a", "x"), "0 times instead of once"),
    "a text that is there often": (("README.md", "e", "", "base: a", "x"), "times instead of once"),
    "a text that stays": (("README.md", GOOD[1], GOOD[1], "base: a", "x"), "changes nothing"),
}


def expect(condition, what, text=""):
    if not condition:
        raise SystemExit(f"FAILED: {what}\n{text}")
    print(f"ok: {what}", flush=True)


def check(folder, entries):
    with open(os.path.join(folder, "table.py"), "w") as table:
        for words, (file, old, new, test, says) in entries:
            table.write(f"fault({words!r}, {file!r}, {old!r}, {new!r}, tests=[{test!r}], says={says!r})\n")
    run = subprocess.run([sys.executable, TOOL, "--check", "--table", folder], text=True, stdout=subprocess.PIPE)
    return run.returncode, run.stdout


def load_tool():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("mutations", TOOL)
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutations", loader))
    loader.exec_module(tool)
    return tool


def main():
    with tempfile.TemporaryDirectory() as folder:
        for words, (entry, said) in ROTTEN.items():
            code, text = check(folder, [(words, entry)])
            expect((code, said is None or said in text) == (0 if said is None else 1, True), words, text)
        code, text = check(folder, [("twice", ROTTEN["one text"][0])] * 2)
        expect(code == 1 and "stands in the table 2 times" in text, "an entry that stands there twice", text)

    tool = load_tool()
    fault = tool.Fault("table", "words", [tool.Edit("README.md", "# hftrain", "b")], ["base: a"], r"limit < 3|ended with -6", 9)
    for status, text, verdict in ((0, "limit < 3", "STILL GREEN"), (1, "CHECK( limit < 3 )", tool.RED), (-6, "", tool.RED),
                                  (1, "another check", "FAILS, BUT NOT FOR THIS"), (tool.SKIPPED, "limit < 3", tool.SKIPPED)):
        expect(tool.judge(fault, status, text) == verdict, f"{status} {text!r}: {verdict}")
    expect(list(tool.unknown_tests([fault], {"base: b": {}})) and not list(tool.unknown_tests([fault], {"base: not built": {}})),
           "a test that is not there")
    other = fault._replace(edits=[tool.Edit("LICENSE", "a", "b")], tests=["base: b"])
    run, other_run = fault._replace(tests=["runs: a"]), other._replace(tests=["runs: b"])
    for one, two, together in ((fault, other, True), (run, other_run, True), (fault, other._replace(tests=fault.tests), False),
                               (fault, other._replace(edits=fault.edits), False), (run, other_run._replace(edits=run.edits), False),
                               (fault, other_run, False)):
        expect((len(tool.batches([one, two])) == 1) == together, f"{one.tests}, {two.tests}: {'one build' if together else 'two'}")
    slow = {"command": ["sleep", "60"], "properties": [{"name": "WORKING_DIRECTORY", "value": "/"}]}
    expect(tool.run_test(slow, 0.2)[0] == "lasts longer than 0.2 s", "a test that waits for ever")


if __name__ == "__main__":
    main()
