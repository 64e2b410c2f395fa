#!/usr/bin/env python3
"""What bash, zsh and fish offer behind `hftrain completion`, in shells that are there.

  completions.py [SCENARIO]…     all of them without a word
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, expect, run_scenarios, skip

# What is typed, what has to be offered, and what must not.
CASES = [
    ("hftrain ", ["fetch", "sample-data", "a b.txt"], ["list"]),
    ("hftrain --train_file a", ["a b.txt", "abc.txt"], ["b.txt", "a"]),
    ("hftrain --save_strategy ", ["epoch", "steps"], ["abc.txt"]),
    ("hftrain --bf16 ", ["true", "false"], ["abc.txt"]),
    ("hftrain plan --do_train --bf16 ", ["true", "false"], ["abc.txt"]),
    ("hftrain plan --bf16 --learn", ["--learning_rate"], []),
    ("hftrain plan --learn", ["--learning_rate"], []),
    ("hftrain search --sear", ["--search"], []),
    ("hftrain search --learn", ["--learning_rate"], []),
    ("hftrain fetch --", ["--revision", "--dataset", "--help"], ["--learning_rate"]),
    ("hftrain report --", ["--serve", "--output"], ["--learning_rate"]),
    ("hftrain checkpoint ", ["verify", "inspect", "export", "merge"], ["abc.txt"]),
    ("hftrain checkpoint merge --", ["--model_revision", "--cache_dir"], ["--model_name_or_path", "--learning_rate"]),
    ("hftrain checkpoint verify a", ["a b.txt", "abc.txt"], ["verify"]),
    ("hftrain cache ", ["list", "prune"], ["abc.txt"]),
    ("hftrain cache prune --", ["--older_than", "--max_size", "--dry_run"], []),
    ("hftrain tokenizer ", ["train", "encode", "decode"], []),
    ("hftrain tokenizer train --kind ", ["bpe", "unigram"], ["abc.txt"]),
    ("hftrain generate --", ["--prompt_file", "--num_beams"], ["--train_file"]),
    ("hftrain generate --dtype ", ["auto", "bfloat16"], []),
    ("hftrain sample-data ", ["text", "images"], []),
    ("hftrain completion ", ["bash", "zsh", "fish"], []),
    ("hftrain docs ", ["arguments", "man"], []),
    ("hftrain explain lear", ["learning_rate"], ["--learning_rate"]),
]


class Shells:
    def __init__(self, folder):
        self.environment = {**os.environ, "HOME": folder, "ZDOTDIR": folder, "XDG_CONFIG_HOME": folder, "TERM": "dumb"}

    def call(self, *words, cwd=None):
        return subprocess.run(words, env=self.environment, text=True, capture_output=True, timeout=PATIENCE, cwd=cwd)

    def script(self, shell, folder):
        """In a folder with files whose names have blanks."""
        if shutil.which(shell) is None:
            skip(f"there is no {shell} here")
        for name in ("a b.txt", "abc.txt"):
            open(os.path.join(folder, name), "w").close()
        said = self.call(HFTRAIN, "completion", shell)
        expect(said.returncode == 0 and not said.stderr, f"a script for {shell}", said.stderr)
        place = os.path.join(folder, ".script")
        with open(place, "w") as file:
            file.write(said.stdout)
        return place


def look(offers, cases=CASES):
    for typed, offered, others in cases:
        found = offers(typed)
        expect(set(offered) <= set(found) and not set(others) & set(found), f"behind '{typed}'", found)


def bash_offers_what_a_command_takes(shells, folder):
    script = shells.script("bash", folder)
    ask = ("source .script; COMP_WORDS=(\"$@\"); COMP_CWORD=$(( $# - 1 )); _hftrain hftrain; "
           "printf '%s\\n' \"${COMPREPLY[@]}\"")

    def offers(typed):
        words = re.findall(r"[^\s=]+|=", typed) + ([""] if typed.endswith(" ") else [])
        said = shells.call("bash", "--norc", "-c", ask, "bash", *words, cwd=folder)
        expect(said.returncode == 0 and not said.stderr, script, said.stderr)
        return said.stdout.splitlines()

    look(offers, [*CASES, ("hftrain --save_strategy=", ["epoch", "steps"], ["abc.txt"]), ("hftrain --save_strategy=e", ["epoch"], ["steps"])])


def fish_offers_what_a_command_takes(shells, folder):
    shells.script("fish", folder)

    def offers(typed):
        said = shells.call("fish", "--no-config", "-c", "source .script; complete -C $argv[1]", "--", typed, cwd=folder)
        expect(said.returncode == 0 and not said.stderr, typed, said.stderr)
        return [line.split("\t")[0].replace("\\ ", " ") for line in said.stdout.splitlines()]

    look(offers)


def zsh_completes_with_a_sourced_script(shells, folder):
    """On a terminal of its own, where alone its widgets run."""
    shells.script("zsh", folder)
    with open(os.path.join(folder, "start"), "w") as file:
        file.write("PS1='> '; unsetopt beep zle_bracketed_paste; bindkey -e; autoload -U compinit; compinit -u -D; "
                   f"source <('{HFTRAIN}' completion zsh); print registered $_comps[hftrain]; "
                   "zstyle ':completion:*' menu no; unsetopt auto_menu list_ambiguous; LISTMAX=0; stty cols 400\n")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], shells.environment)

    def wait_for(mark, text=""):
        deadline = time.monotonic() + PATIENCE
        while not re.search(mark, text):
            expect(time.monotonic() < deadline, f"zsh says {mark}", text)
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 1 << 16).decode(errors="replace")
        return text

    def completed(typed):
        """The line behind a TAB, which enter prints in the place of a call; zsh takes back the "=" behind a flag then."""
        os.write(terminal, typed.encode() + b"\t\n")
        return wait_for(r"called<[^>$]*>").rsplit("called<", 1)[1].split(">")[0]

    try:
        os.write(terminal, b"source ./start\n")
        wait_for("registered _hftrain")
        os.write(terminal, b"hftrain() { print -r -- \"called\"\"<${(j: :)${(q)@}}>\" }; print made\"\"it\n")
        wait_for("madeit")
        for typed, whole in (("hftrain fet", "fetch"), ("hftrain plan --learn", "plan --learning_rate"), ("hftrain fetch --rev", "fetch --revision"),
                             ("hftrain checkpoint ver", "checkpoint verify"), ("hftrain cache prune --older", "cache prune --older_than"),
                             ("hftrain tokenizer train --kind uni", "tokenizer train --kind unigram"), ("hftrain sample-data ima", "sample-data images"),
                             ("hftrain report --ser", "report --serve"), ("hftrain fetch --learn", "fetch --learn"),
                             ("hftrain explain learning_r", "explain learning_rate"), ("hftrain --train_file a\\ b", "--train_file a\\ b.txt"),
                             ("hftrain --save_strategy=ep", "--save_strategy=epoch"), ("hftrain --save_strategy ep", "--save_strategy epoch"),
                             ("hftrain --bf16 f", "--bf16 false"), ("hftrain plan --do_train --bf16 t", "plan --do_train --bf16 true"),
                             ("hftrain --bf16=f", "--bf16=false"), ("hftrain plan --bf16 --learn", "plan --bf16 --learning_rate"),
                             ("hftrain --bf16 true --learn", "--bf16 true --learning_rate"), ("hftrain search --bf16 f", "search --bf16 false")):
            found = completed(typed)
            expect(found == whole, f"'{typed}' becomes '{whole}'", found)
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(process, 0)


SCENARIOS = [bash_offers_what_a_command_takes, zsh_completes_with_a_sourced_script, fish_offers_what_a_command_takes]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Shells)
