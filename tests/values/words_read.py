#!/usr/bin/env python3
"""Words that hold no member of their own are read by what makes members of them: flags that are imported, keys of
DeepSpeed's files and of options such as --lr_scheduler_kwargs, variables of the environment.

values_act.py follows members; what has none would be accepted and forgotten unseen. So each such word that counts as
implemented must be named, in quotes, by a source that reads it, beside the table that declares it.

Usage: words_read.py SOURCE_DIR [--planted]     the second form plants one forgotten word of each kind, and must find them
"""
import pathlib
import re
import sys

ROW = re.compile(r'\{\s*\.name = "(\w+)"((?:[^{}]|\{[^{}]*\})*)\}')
TABLE = re.compile(r"const (?:Section)?Key (k\w+)(?:\[\])? = (\{.*?\});\n", re.S)  # a table, or a row that tables share
GIVEN_BY = re.compile(r"std::span<const SectionKey> (\w+)\(\) \{\s*return (k\w+);")  # what hands a table to another file
WITHIN = re.compile(r"\.keys = (?:\w+::)*(\w+)")
VARIABLE = re.compile(r'\{"([A-Z][A-Z0-9_]+)", "([a-z][a-z0-9_]*)"\}')
LISTED = re.compile(r"constexpr std::array k(?:OthersOfLaunch|Announcing) = \{([^}]*)\}")
FEWEST = {"flags": 20, "keys": 130, "variables": 35}

FLAGS, IMPORT = "lib/hftrain/arguments/flags/", "lib/hftrain/arguments/import/"
OPTIM = "lib/hftrain/optim/"
KEYS, ENVIRONMENT = IMPORT + "deepspeed_keys.cpp", IMPORT + "environment.cpp"
OF_KEYS = re.compile(r"lib/hftrain/arguments/(?:import/deepspeed_(?:\w+_)?|option_)keys\.cpp")

PLANTED = {
    "flags": (FLAGS + "saving_flags.cpp", '\nFlag planted() { return {.name = "planted_flag", .imported = true}; }\n'),
    "keys": (KEYS, '\nconst SectionKey kPlanted[] = {\n    {.name = "planted_key", .type = Type::kBool},\n};\n'),
    "variables": (ENVIRONMENT, '\nconstexpr Variable kPlanted[] = {{"PLANTED_VARIABLE", "planted_nowhere"}};\n'),
}


def sources(root):
    return {str(path.relative_to(root)): path.read_text() for folder in ("lib/hftrain/arguments", "lib/hftrain/optim", "lib/hftrain/plan", "launcher")
            for path in sorted((root / folder).rglob("*.cpp"))}


def rows(text):
    """Name and the rest of each row of a table."""
    return ROW.findall(text)


def named(word, texts):
    """Whether a source has the word in quotes, alone, as the end of a JSON pointer or with more of one behind it."""
    return any(re.search(rf'"(?:[\w/]*/)?{word}(?:/[\w/]*)?"', text) for text in texts)


def unread_flags(texts):
    table = [row for path, text in texts.items() if path.startswith(FLAGS) for row in rows(text)]
    readers = [text for path, text in texts.items() if not path.startswith(FLAGS)]
    imported = [name for name, rest in table if ".imported = true" in rest and ".support" not in rest]
    return imported, [f"--{name} is imported and nothing reads it" for name in imported
                      if not named(name, readers) and not named(name.removeprefix("fsdp_"), readers)]


def idle_tables(tables, texts):
    """Those of sections that are accepted and have no effect as a whole: their keys are checked, and read by nobody."""
    given = dict(match for text in texts.values() for match in GIVEN_BY.findall(text))
    idle, rows_of_all = set(), [row for table in tables.values() for row in table]
    grown = {given.get(name, name) for _, rest in rows_of_all if ".support" in rest for name in WITHIN.findall(rest)}
    while grown - idle:
        idle |= grown
        grown = {given.get(name, name) for table in idle for _, rest in tables.get(table, []) for name in WITHIN.findall(rest)}
    return idle


def unread_keys(texts):
    readers = [text for path, text in texts.items() if path.startswith((IMPORT, OPTIM)) and not OF_KEYS.fullmatch(path)]
    tables = {}  # those of one name in several files as one
    for name, table in (found for path, text in texts.items() if OF_KEYS.fullmatch(path) for found in TABLE.findall(text)):
        tables.setdefault(name, []).extend(rows(table))
    idle = idle_tables(tables, texts)
    working = [table for table_name, table in tables.items() if table_name not in idle and not any(name == "enabled" and ".support" in rest for name, rest in table)]
    keys = [name for table in working for name, rest in table if ".support" not in rest and ".keys" not in rest]
    return keys, [f"the key {name} of DeepSpeed's files or of an option is accepted and nothing reads it" for name in dict.fromkeys(keys)
                  if not named(name, readers)]


def unread_variables(texts):
    flags = {name for path, text in texts.items() if path.startswith(FLAGS) for name in re.findall(r'"([a-z0-9_*]+)"', text)}
    patterns = tuple(name[:-1] for name in flags if name.endswith("*"))
    text = texts[ENVIRONMENT]
    pairs = VARIABLE.findall(text)
    found = [f"{name} stands for {flag}, which is no flag" for name, flag in pairs
             if flag not in flags and not flag.startswith(patterns)]
    listed = [name for part in LISTED.findall(text) for name in re.findall(r'"(\w+)"', part)]
    elsewhere = [other for path, other in texts.items() if path.startswith(IMPORT) and path != ENVIRONMENT]
    found += [f"{name} is listed and nothing reads it" for name in listed
              if text.count(f'"{name}"') < 2 and not named(name, elsewhere)]
    return [name for name, _ in pairs] + listed, found


def main():
    texts = sources(pathlib.Path(sys.argv[1]))
    planted = sys.argv[2:3] == ["--planted"]
    for path, text in PLANTED.values() if planted else ():
        texts[path] += text
    failures = 0
    for kind, unread in (("flags", unread_flags), ("keys", unread_keys), ("variables", unread_variables)):
        words, found = unread(texts)
        print(*found, f"{len(words)} {kind} were looked for", sep="\n")
        failures += "planted" not in " ".join(found).lower() if planted else len(found) + (len(words) < FEWEST[kind])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
