#!/usr/bin/env python3
"""The pages of docs/ and README.md: links lead somewhere, files of the sources are there, command lines are understood or run, messages that are
quoted stand in the sources.

  documents.py [SCENARIO…]     all of them without a word
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, expect, run_scenarios
from tiny_tasks import write

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PAGES = {page.name: page.read_text() for page in [SOURCES / "README.md", *sorted((SOURCES / "docs").glob("*.md"))]}
# Each runs as it stands, in a folder with what the first commands of migration.md make.
RUN_HERE = ("accelerate.md", "callbacks.md", "checkpoints.md", "deepspeed.md", "fsdp.md", "launching.md", "sharded_ddp.md")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# What stands for a word of the reader's in a command; an empty text leaves it out.
STANDS_FOR = {"…": "", "FLAGS": "", "ARGS": "", "N": "0", "R": "0", "P": "29500", "G": "2", "A": "localhost", "HOST": "localhost", "N`": "0"}


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"`|\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()).replace(" ", "-")


def every_link_leads_somewhere(fixture, folder):
    anchors = {name: {anchor(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")} for name, text in PAGES.items()}
    linked, count = {"README.md"}, 0
    for name, text in PAGES.items():
        place = SOURCES if name == "README.md" else SOURCES / "docs"
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
            if "://" in target:
                continue
            file, _, section = target.partition("#")
            file = file or name
            expect((place / file).exists(), f"{name} links to {target}", "")
            page = pathlib.Path(file).name
            if page != name:
                linked.add(page)
            if section:
                expect(section in anchors[page], f"{name} links to a section: {target}", sorted(anchors[page]))
            count += 1
    expect(count > 100, "links are found", count)
    expect(linked == set(PAGES), "every page is linked from another one", set(PAGES) - linked)


def every_file_of_the_sources_that_is_named_is_there(fixture, folder):
    """By its path from the checkout or, of a module, from lib/hftrain. What is made (.so) and what stands for many names is not looked for."""
    places = (SOURCES, SOURCES / "lib" / "hftrain")
    known = {"lib", "launcher", "apps", "scripts", "tests", "configs"} | {module.name for module in places[1].iterdir()}
    seen = 0
    for name, text in PAGES.items():
        for path in re.findall(r"`([a-z][\w-]*(?:/[\w.{},*-]+)+)", text):
            if path.split("/")[0] not in known or path.endswith(".so") or re.search(r"[A-Z]{4}", path):
                continue
            braces = re.fullmatch(r"(.*)\{(.*)\}(.*)", path)
            for one in [braces[1] + part + braces[3] for part in braces[2].split(",")] if braces else [path]:
                expect(any(any(place.glob(one)) for place in places), f"{name} names a file that is there", one)
                seen += 1
    expect(seen > 200, "files are found", seen)


def command_lines(text):
    """Those that start hftrain: of indented blocks, and of tables and sentences between backticks."""
    block = re.sub(r" *\\\n *", " ", text)
    for line in block.splitlines():
        if line.startswith("    "):
            line = re.split(r" +# ", line.strip())[0]  # as a shell reads it
            if re.match(r"(mpirun|srun|torchrun|echo|hf|[A-Z_]+=\S+) .*\bhftrain ", line):
                yield line[re.search(r"\bhftrain ", line).start():]
            elif re.match(r"(\S*/)?hftrain +[^ ]", line):
                yield "hftrain " + line.split(None, 1)[1]
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"(?m)^    .*$", "", text)):
        found = re.match(r"(?:[A-Z_]+=\S+ |(?:mpirun|srun|torchrun)\b.* )?hftrain (.+)", code.replace("\\|", "|"))
        if found:
            yield "hftrain " + found[1]


def words_of(line):
    words = shlex.split(re.sub(r"[)>|].*$| &&.*$", "", line.replace("…", " … ")))[1:]
    return [word for word in (STANDS_FOR.get(word, word) for word in words) if word]


def every_command_line_is_understood(fixture, folder):
    """Its command is one, its flags are that command's, and of flags for a run, where no word of the reader's is missing, their values
    make a configuration."""
    os.chdir(folder)
    commands = re.findall(r"^  (\S+) +", fixture.call("--help").stdout.split("commands:\n")[1].split("\n\n")[0], re.M)
    expect("train" in commands and "report" in commands, "the commands", commands)
    commands.append("hosted")  # which --help leaves out, and launcher.md explains
    helps, seen = {}, 0
    for name, text in PAGES.items():
        if name in ("changelog.md", "arguments.md", "compatibility.md"):
            continue
        for line in command_lines(text):
            try:
                words = words_of(line)
            except ValueError as error:
                raise SystemExit(f"FAILED: {name}: {line}: {error}")
            command = [word for word in words[:2] if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")]
            command = command[:1] if command and command[0] in commands else []
            if words and not words[0].startswith("-") and not command:
                expect("." in words[0] or words[0].isupper(), f"{name}: a command of hftrain: {line}", commands)
                continue
            known = tuple(command + ([words[1]] if command and command[0] in ("tokenizer", "checkpoint", "cache") and len(words) > 1 else []))
            if known not in helps:
                helps[known] = subprocess.run([HFTRAIN, *known, "--help-all"], text=True, capture_output=True, env=fixture.environment)
                expect(helps[known].returncode == 0, f"{name}: {line}", helps[known].stderr)
            for word in words:
                flag = re.match(r"--([\w-]+)", word)
                if flag and flag[1] not in ("help", "help-all", "version"):
                    takes_flags = not known or known[0] in ("train", "plan", "prepare", "search", "generate")
                    good = re.search(rf"--{flag[1].replace('-', '_')}\b|--{flag[1]}\b", helps[known].stdout)
                    if not good and takes_flags:
                        good = fixture.call("explain", flag[1], expect=None).returncode == 0
                    expect(good, f"{name}: {word} is a flag of {' '.join(known) or 'hftrain'}", line)
            seen += 1
    expect(seen > 150, "command lines are found", seen)


def the_commands_of_the_pages_of_each_heading_run(fixture, folder):
    os.chdir(folder)

    def prepare(text):
        for name, content in re.findall(r"`([\w.]+)`:\n\n((?:    .*\n)+)", text):
            write(folder, {name: "".join(line[4:] + "\n" for line in content.splitlines())})
        return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.startswith("    hftrain ")]

    for command in prepare(PAGES["migration.md"])[:4]:
        fixture.call(*shlex.split(command)[1:])
    expect(os.path.exists("model/model.safetensors"), "the model of migration.md", os.listdir("."))
    for page in RUN_HERE:
        commands = prepare(PAGES[page])
        expect(len(commands) >= 1, f"{page} has commands", "")
        for command in commands:
            done = fixture.call(*shlex.split(command)[1:], expect=None)
            expect(done.returncode == 0, f"{page}: {command}", done.stderr)


def texts_of_sources():
    """What the literals of each source say, adjacent ones joined."""
    for file in SOURCES.glob("*/**/*.cpp"):
        if file.relative_to(SOURCES).parts[0] in ("lib", "launcher", "apps"):
            code = re.sub(r'"\s*\n\s*"', "", file.read_text())
            yield file, "\n".join(LITERAL.findall(code)).replace('\\"', '"')


def every_message_of_troubleshooting_stands_in_the_sources(fixture, folder):
    texts, text = dict(texts_of_sources()), PAGES["troubleshooting.md"]
    quoted = [match[1] for match in re.finditer(r"^\| `([^`]+)` \|", text, re.M)]
    expect(len(quoted) > 50, "messages are quoted", len(quoted))
    for message in quoted:
        parts = [part.strip() for part in message.split("…") if part.strip(" '")]
        expect(any(all(part in said for part in parts) for said in texts.values()), f"the sources say: {message}", parts)
    codes = (SOURCES / "lib/hftrain/base/exit_code.h").read_text()
    numbers = re.findall(r"= (\d+),", codes)
    expect(len(numbers) == 13, "the exit codes are found", numbers)
    for code in numbers:
        expect(code == "0" or re.search(rf"^## .*\b{code}\b", text, re.M), f"exit code {code} has a section", "")


def every_tracker_has_a_row(fixture, folder):
    text = PAGES["arguments.md"]
    words = set(re.search(r"^\| report_to \| list of none, all, ([\w, ]+?) \|", text, re.M)[1].split(", "))
    words -= set(re.findall(r"^\| report_to \| (\w+) \| refused", text, re.M))
    expect(len(words) > 5, "words of --report_to are found", words)
    table = PAGES["reporting.md"].split("| `--report_to` | written |")[1].split("\n\n")[0]
    told = {word for cell in re.findall(r"^\| ([^|]+) \|", table, re.M) for word in cell.split(", ")}
    expect(told >= words, "each of them has a row", sorted(words - told))


def the_page_of_contributors_is_short(fixture, folder):
    lines = len(PAGES["contributing.md"].splitlines())
    expect(lines <= 60, "contributing.md has 60 lines at most", lines)


SCENARIOS = [every_link_leads_somewhere, every_file_of_the_sources_that_is_named_is_there, every_command_line_is_understood,
             the_commands_of_the_pages_of_each_heading_run, every_message_of_troubleshooting_stands_in_the_sources,
             every_tracker_has_a_row, the_page_of_contributors_is_short]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
