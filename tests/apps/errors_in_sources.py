#!/usr/bin/env python3
"""Every error that the sources make has its four parts where it is made: what, where, why, what to do. Errors of a list of mistakes have them
in the list, internal ones (code 1) are nobody's mistake; ADDED names the errors whose missing parts a caller adds."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from runs import expect

SOURCES = pathlib.Path(__file__).resolve().parents[2]
MADE = re.compile(r"\bError(?:\s+(\w+))?\(\s*")
CODE = re.compile(r"ExitCode::\w+|(\w+\.)*\w*code_?(\([\w.]*\))?|static_cast<ExitCode>\(\w+\)|.*\? ExitCode::\w+ : .*", re.S)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|R"\((?:.|\n)*?\)"')
LISTS = re.compile(r"\s*(std::move\()?(problems_?|mistakes_?|found|diagnostics_|error\.diagnostics\(\))\)")
PARTS = ("where", "why", "hint")
COLUMNS = "column_choice.cpp adds the file and its columns", {"where", "why"}
ROWS = "split_builder and stream_reading add the file", {"where"}
TEXTS = "EncodePool adds the rows, `hftrain tokenizer` its words or its line", {"where"}
REPORT = "the launcher's report names the rank", {"where"}


def calls_of(function, *missing):
    """Each call of that function of the same file adds them, which is looked at; or it hands the error to check_compiled_for, which does."""
    return function, set(missing)


# A source, and what the first text of its error begins with.
ADDED = {
    ("lib/hftrain/tasks/image_classification.cpp", "there is no column '"): COLUMNS,
    ("lib/hftrain/tasks/image_classification.cpp", "the labels of the images are no classes"): ROWS,
    ("lib/hftrain/tasks/instruction_rows.cpp", "these are preferences"): COLUMNS,
    ("lib/hftrain/tasks/instruction_rows.cpp", "there is a column 'prompt', but no"): COLUMNS,
    ("lib/hftrain/tasks/instruction_rows.cpp", "there are no columns of instruction data"): COLUMNS,
    ("lib/hftrain/tasks/question_rows.cpp", "there is no column '"): COLUMNS,
    ("lib/hftrain/tasks/sequence_pairs.cpp", "there is no column '"): COLUMNS,
    ("lib/hftrain/tasks/sequence_pairs.cpp", "there is no column with texts"): COLUMNS,
    ("lib/hftrain/tasks/sequence_pairs.cpp", "two columns are called '"): COLUMNS,
    ("lib/hftrain/tasks/sequence_pairs.cpp", "texts and summaries are the same column"): COLUMNS,
    ("lib/hftrain/tasks/text_classification.cpp", "there is no column '"): COLUMNS,
    ("lib/hftrain/tasks/text_classification.cpp", "there is no column with text"): COLUMNS,
    ("lib/hftrain/tasks/token_classification.cpp", "there is no column '"): COLUMNS,
    ("lib/hftrain/tasks/token_classification.cpp", "there is no column with words"): COLUMNS,
    ("lib/hftrain/tasks/token_classification.cpp", "there is no column with tags"): COLUMNS,
    ("lib/hftrain/tasks/token_classification.cpp", "the column '"): COLUMNS,
    ("lib/hftrain/data/column_choice.cpp", "there is no column '"): ("chosen_columns adds the file", {"where"}),
    ("lib/hftrain/tasks/continuation_encoder.cpp", "no row has a token that is to follow"): ROWS,
    ("lib/hftrain/tasks/continuation_encoder.cpp", "no row has a text that is to follow"): ROWS,
    ("lib/hftrain/tasks/described_rows.cpp", "there is no column '"): COLUMNS,
    ("lib/hftrain/tasks/described_recipe.cpp", "the labels are not those that the plug-in describes"): ROWS,
    ("lib/hftrain/tasks/instruction_encoder.cpp", "no row has a token that counts"): ROWS,
    ("lib/hftrain/tasks/instruction_encoder.cpp", "a row is of tokens"): ROWS,
    ("lib/hftrain/tasks/instruction_encoder.cpp", "a row is a text"): ROWS,
    ("lib/hftrain/tasks/instruction_encoder.cpp", "the tokenizer has no end of text"): ROWS,
    ("lib/hftrain/tasks/instruction_encoder.cpp", "nothing of a row is marked"): ROWS,
    ("lib/hftrain/tasks/label_set.cpp", "the training data have no labels to learn"): ROWS,
    ("lib/hftrain/tasks/tag_set.cpp", "the training data have no tags to learn"): ROWS,
    ("lib/hftrain/nn/embedding.cpp", "a sequence of "): REPORT,
    ("lib/hftrain/nn/embedding.cpp", "token type "): REPORT,
    ("lib/hftrain/nn/loss.cpp", "label "): REPORT,
    ("launcher/ssh/hosted.cpp", "there is no folder "): ("the front program, which shows the last words of a machine, names the machine", {"where"}),
    ("launcher/control/follower.cpp", " ended the job"): ("node 0 has told all of it; of its words what and why are shown", {"where", "hint"}),
    ("lib/hftrain/chat/template_folder.cpp", "the tokenizer has no chat template"): ("who asks for a chat adds the folder", {"where"}),
    ("lib/hftrain/tokenizer/added_tokens.cpp", "a text cannot be cut at two added tokens"): TEXTS,
    ("lib/hftrain/tokenizer/aligned_text.cpp", "the tokenizer makes far too much"): TEXTS,
    ("lib/hftrain/tokenizer/decoders.cpp", "the tokenizer makes far too much"): TEXTS,
    ("lib/hftrain/tokenizer/model.cpp", "the text has something"): TEXTS,
    ("lib/hftrain/tokenizer/regex_pattern.cpp", "a pattern of the tokenizer gives up"): TEXTS,
    ("lib/hftrain/tokenizer/truncation.cpp", "this text cannot be cut"): TEXTS,
    ("lib/hftrain/tokenizer/unigram_model.cpp", "the text has a character"): TEXTS,
    ("lib/hftrain/architectures/architecture.cpp", "model family '"): calls_of("unknown_family", "where"),
    ("lib/hftrain/plan/plugin_file.cpp", "the plug-in cannot be used"): calls_of("not_usable", "why", "hint"),
    ("lib/hftrain/plan/program_file.cpp", "the program cannot be used"): calls_of("unusable_program", "why", "hint"),
    ("lib/hftrain/trainer/plugin.cpp", " cannot be used"): calls_of("unusable_plugin", "why", "hint"),
    ("lib/hftrain/checkpoint/collective_status.h", "rank "): ("check_collective_status, its one maker, adds why; the rank itself tells", set(PARTS)),
}


def statement_of(code, at):
    """Up to the semicolon outside brackets and texts, or the bracket that closes around it."""
    depth, i = 0, at
    while i < len(code) and depth >= 0 and not (code[i] == ";" and depth == 0):
        if text := TEXT.match(code, i):
            i = text.end()
            continue
        depth += (code[i] in "({[") - (code[i] in ")}]")
        i += 1
    return code[at:i]


def first_argument(code, at):
    """Where the comma behind it is; nothing where there is one argument alone."""
    depth, i = 0, at
    while i < len(code) and depth >= 0 and code[i] != ";":
        if text := TEXT.match(code, i):
            i = text.end()
            continue
        if code[i] == "," and depth == 0:
            return i
        depth += (code[i] in "({[") - (code[i] in ")}]")
        i += 1
    return None


def missing_in(statement):
    return {part for part in PARTS if not re.search(rf'(?:\.|->){part}\((?!\s*"")', statement)}


def errors_of(code):
    """Line, first text and missing parts of each error that the text of a source makes."""
    for made in MADE.finditer(code):
        comma = first_argument(code, made.end())
        if comma is None or not CODE.fullmatch(code[made.end():comma]):
            continue  # a copy, a declaration
        if code[made.end():comma] == "ExitCode::kInternal" or LISTS.match(code, comma + 1):
            continue
        if "//" in code[code.rfind("\n", 0, made.start()) + 1:made.start()]:
            continue
        statement = statement_of(code, made.start())
        if made[1]:  # a variable, which gets its parts until its function ends
            statement = re.sub(rf"\b{made[1]}\.", ".", code[made.start():code.find("\n}\n", made.start())])
        what = TEXT.search(code, comma)
        yield code.count("\n", 0, made.start()) + 1, what[0].strip('"') if what else "", missing_in(statement)


def calls_without(code, function, parts):
    """The lines of calls that do not add all of them."""
    for call in re.finditer(rf"(?<!Error )\b{function}\(", code):
        line_begin = code.rfind("\n", 0, call.start()) + 1
        handed_on = "check_compiled_for(" in code[code.rfind(";", 0, call.start()) + 1:call.start()]
        if not handed_on and "//" not in code[line_begin:call.start()] and missing_in(statement_of(code, call.start())) & parts:
            yield code.count("\n", 0, call.start()) + 1


def arguments_of(code, at):
    """Of a call whose bracket has just been opened; nothing where it is not closed."""
    arguments, begin, depth, i = [], at, 0, at
    while i < len(code):
        if text := TEXT.match(code, i):
            i = text.end()
            continue
        if depth == 0 and code[i] in ",)":
            arguments.append(code[begin:i].strip())
            begin = i + 1
            if code[i] == ")":
                return arguments
        depth += (code[i] in "({[") - (code[i] in ")}]")
        i += 1
    return []


def empty_parts(code):
    """The lines of calls that hand "" to a function of the same file that makes a part of an error of it."""
    for made in re.finditer(r"^\s*(?:\[\[noreturn\]\] )?\w+ (\w+)\(([^()]*)\)(?: const)? \{\n(.*?)^\s*\}\n", code, re.M | re.S):
        parts = set(re.findall(r"\.(?:where|why|hint)\((?:std::move\()?(\w+)\)", made[3])) if MADE.search(made[3]) else set()
        parameters = [re.sub(r".*[ &*]", "", each.split("=")[0].strip()) for each in made[2].split(",")]
        for call in re.finditer(rf"\b{made[1]}\(", code) if parts & set(parameters) else ():
            handed = zip(parameters, arguments_of(code, call.end()))
            if any(name in parts and argument == '""' for name, argument in handed):
                yield code.count("\n", 0, call.start()) + 1


PLANTED = {
    'void f() {\n  throw Error(ExitCode::kData, "no such folder").where(folder);\n}\n': {"why", "hint"},
    'void f() {\n  throw Error(\n      ExitCode::kData, "x").where(folder).why("y").hint("");\n}\n': {"hint"},
    'void f() {\n  Error error(ExitCode::kData, "x");\n  throw error.where(folder).hint("z");\n}\n': {"why"},
    'void f() {\n  if (a) { throw Error(ExitCode::kData, "x"); }\n  throw Error(ExitCode::kInternal, "x").where(a).why(b).hint(c);\n}\n': set(PARTS),
    'void f() {\n  failure = Error(ExitCode::kData, "x; y").where(a);  // why\n  g(b).why(c).hint(d);\n}\n': {"why", "hint"},
    'Error f(ExitCode code) {\n  return Error(code, "x").where(a);\n}\n': {"why", "hint"},
    'void f() {\n  throw Error(error.code(), "x").why(a);\n}\n': {"where", "hint"},
    'void f() {\n  throw Error(key ? ExitCode::kData : other, "x").where(a).hint(b);\n}\n': {"why"},
    'void f() {\n  throw Error(static_cast<ExitCode>(number), "x").where(a).hint(b);\n}\n': {"why"},
    'void f() {\n  throw Error(failure_code(a.exit_code), b + " x").why(c).hint(b);\n}\n': {"where"},
}
NO_ERRORS = "Error f(ExitCode code, const std::string& why);\nvoid g() { throw Error(code, std::move(problems)); }\nvoid h() { throw Error(*kept); }\n"


def main():
    for planted, missing in PLANTED.items():
        expect([parts for _, _, parts in errors_of(planted)] == [missing], f"what this lacks is found: {planted}", list(errors_of(planted)))
    expect(not list(errors_of(NO_ERRORS)), "declarations, lists and copies are none", list(errors_of(NO_ERRORS)))
    helper = 'Error f(ExitCode code) { return Error(code, "x"); }\nvoid g() { throw f(a).why(b); }\nvoid h() { throw f(a).why(b).hint(c); }\n'
    expect(list(calls_without(helper, "f", {"why", "hint"})) == [2], "a call that adds too little is found", list(calls_without(helper, "f", {"why", "hint"})))
    helper = ('Error f(const std::string& what, const std::string& where, int why) {\n  return Error(ExitCode::kData, what).where(where).why(why).hint("x");\n}\n'
              'void g() { throw f("a, (b", "", 1); }\nvoid h() { throw f("", "a", 1); }\nvoid i() { throw f("a", k("", 1), 1); }\n')
    expect(list(empty_parts(helper)) == [4], "a part that is handed over empty is found", list(empty_parts(helper)))
    found, used = 0, set()
    for top in ("lib", "launcher", "apps"):
        for file in sorted((SOURCES / top).rglob("*")):
            name = str(file.relative_to(SOURCES))
            if file.suffix not in (".cpp", ".h") or name == "lib/hftrain/base/error.h":
                continue
            code = file.read_text()
            expect(not list(empty_parts(code)), f"{name}: no part of an error is handed over empty", list(empty_parts(code)))
            for line, what, missing in errors_of(code):
                found += 1
                row = next((row for row in ADDED if row[0] == name and what.startswith(row[1])), None) if missing else None
                used |= {row} if row else set()
                by_callers = ADDED[row][1] if row else set()
                expect(missing <= by_callers, f"{name}:{line} has where, why and hint", f"missing: {', '.join(sorted(missing - by_callers))}")
                if row and re.fullmatch(r"\w+", ADDED[row][0]):
                    lacking = list(calls_without(code, *ADDED[row]))
                    expect(not lacking, f"{name}: each call of {ADDED[row][0]} adds {', '.join(sorted(missing))}", lacking)
    expect(found > 350, "errors are found", found)
    expect(used == set(ADDED), "the table of added parts has no row too many", sorted(set(ADDED) - used))
    print(f"{found} errors have their parts")


if __name__ == "__main__":
    main()
