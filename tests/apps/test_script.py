#!/usr/bin/env python3
"""scripts/test from its first line to its last, in a copy whose tools are stand-ins: what they find is counted and said, and a line of
the script that is no command ends it. Builds nothing."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from runs import expect

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# What ctest leaves: one test that passed, one of $CTEST_STATUS, one that was skipped; of those that run alone, one that passed.
CTEST = """for word; do [[ $before == --output-junit ]] && file=$word; [[ $before == -L ]] && label=$word; before=$word; done
echo "$*" >> "$CALLS"
failures_of_old=$PWD/build/Testing/Temporary; mkdir -p "$failures_of_old"; rm -f "$failures_of_old/LastTestsFailed.log"
if [[ $label == '^alone$' ]]; then
  printf '<testsuite\\n\\ttests="1"\\n\\tfailures="0"\\n\\tdisabled="0"\\n\\tskipped="0">' > "$file"
  echo '<testcase name="lonely" status="run"/></testsuite>' >> "$file"
  exit 0
fi
failed=0; [[ $CTEST_STATUS == fail ]] && failed=1 && echo 2:second > "$failures_of_old/LastTestsFailed.log"
cat > "$file" <<END
<testsuite
\ttests="3"
\tfailures="$failed"
\tdisabled="0"
\tskipped="1">
<testcase name="good" status="run"/>
<testcase name="second" status="$CTEST_STATUS"/>
<testcase name="left out" status="notrun"><skipped/><system-out>SKIPPED: no such machine</system-out></testcase>
</testsuite>
END
[[ -n $UNSTEADY ]] && echo '2/3 Test #2: second ........***Failed'
exit $failed"""
LINT = 'echo "$LINT_SAYS"; exit "$LINT_STATUS"'


def write_program(path, text):
    path.write_text("#!/usr/bin/env bash\n" + text + "\n")
    path.chmod(0o755)


def make_tree(folder):
    """A checkout with the scripts as they are and nothing behind them."""
    shutil.copytree(SCRIPTS, folder / "scripts", ignore=shutil.ignore_patterns("bench"))
    write_program(folder / "scripts/setup", "exit 0")
    write_program(folder / "scripts/lint", LINT)
    tools = folder / "tools"
    tools.mkdir()
    for name in ("cmake", "ninja", "git"):
        write_program(tools / name, "exit 0")
    write_program(tools / "clang-format", 'exit "$FORMAT_STATUS"')
    write_program(tools / "ctest", CTEST)


def run(folder, *options, **environment):
    given = {"CTEST_STATUS": "run", "UNSTEADY": "", "LINT_SAYS": "nothing found", "LINT_STATUS": "0", "FORMAT_STATUS": "0", "CALLS": str(folder / "calls")}
    path = f"{folder}/tools:{os.environ['PATH']}"
    return subprocess.run([folder / "scripts/test", "--repeat", "until-pass:2", *options], text=True, capture_output=True, timeout=60,
                          env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(folder / "cache"), **given, **environment})


def expect_ending(result, status, count, *said):
    printed = result.stdout + result.stderr
    expect(result.returncode == status, f"ends with {status}", printed)
    expect(result.stdout.splitlines()[-1] == count, count, printed)
    expect("command not found" not in printed, "every line is a command", printed)
    for words in said:
        expect(words in printed, words, printed)


def expect_calls(folder, *calls):
    """So many calls of ctest, each with its words."""
    made = (folder / "calls").read_text().splitlines()
    expect(len(made) == len(calls), f"{len(calls)} passes", made)
    for line, words in zip(made, calls):
        expect(all(each in line + " " for each in words) and ("-LE ^alone$" in line) == ("-LE ^alone$" in words), words, line)


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-test-script-") as name:
        folder = pathlib.Path(name)
        make_tree(folder)
        skipped = "skipped: left out: no such machine"
        expect_ending(run(folder), 0, "5 passed, 0 failed", skipped, "check format: passed", "check lint: passed")
        expect_calls(folder, ("-LE ^alone$",), ("-j128 ", "-L ^alone$"))
        expect_ending(run(folder, CTEST_STATUS="fail"), 1, "4 passed, 1 failed", skipped, "failed: second: ")
        again = (folder / "build/Testing/Temporary/LastTestsFailed.log").read_text()
        expect(again == "2:second\n", "--rerun-failed finds what the first pass left", again)
        (folder / "calls").unlink()
        expect_ending(run(folder, "-LE", "slow"), 0, "4 passed, 0 failed", skipped)
        expect_calls(folder, ("-LE slow",))
        expect_ending(run(folder, UNSTEADY="1"), 0, "5 passed, 0 failed", "unsteady: second: ")
        expect_ending(run(folder, LINT_STATUS="1", LINT_SAYS="a finding"), 1, "4 passed, 1 failed", "check lint: FAILED; it found:", "a finding")
        expect_ending(run(folder, FORMAT_STATUS="1"), 1, "4 passed, 1 failed", "check format: FAILED")
        print("ok")


if __name__ == "__main__":
    main()
