#!/usr/bin/env python3
"""Writes tests/golden/chat/*.jsonl: what transformers (with the Jinja package) renders from chat templates of our own.

    python scripts/golden/chat.py

conversations.jsonl   the templates in tests/golden/chat/templates with the conversations below
expressions.jsonl     small templates, each for one part of the language (chat_expressions.py)
A case is {"template": file or "source": text, "variables": {...}} and "text" with "generated" (ranges of characters), or
"error" where the package raises. A line of "variables" alone holds those of the cases behind it.
"""
import copy
import datetime
import json
import pathlib
import sys

from transformers.utils import chat_template_utils

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "chat"


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 3, 7, 14, 5, 9)


chat_template_utils.datetime = FixedTime


def outcome(source, variables):
    """The text and the assistant's ranges, or the error."""
    variables = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": False,
                 **copy.deepcopy(variables)}  # the filter indent adds to a list in place
    try:
        template = chat_template_utils._cached_compile_jinja_template(source)
        text, generated = chat_template_utils._render_with_assistant_indices(template, **variables)
    except Exception as error:  # whatever the template makes Python raise
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"text": text, "generated": [list(pair) for pair in generated]}


SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Looks a phrase up in “the index”.",
    "parameters": {"type": "object", "properties": {
        "phrase": {"type": "string", "description": "what to look for"},
        "limit": {"type": "integer", "default": 3},
        "kinds": {"type": "array", "items": {"type": "string", "enum": ["page", "image"]}},
        "range": {"type": "object", "properties": {"from": {"type": ["string", "null"]}, "to": {"type": "number"}}, "required": ["from"]}},
        "required": ["phrase"]},
    "return": {"type": "array"}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, identity="abcdefghi"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(role, content, **more):
    return {"role": role, "content": content, **more}


HELLO = [said("user", "Hello!")]
PLAIN = [said("system", "Be brief. "), said("user", " What is 2 + 2? <b>'\"</b>"), said("assistant", "4\n"), said("user", "é→漢字 🙂\n\nTwo lines")]
ANSWERED = [*PLAIN, said("assistant", "<think>\nhm\n</think>\n\nFine — done.")]
CALLING = [said("system", "Use tools."), said("user", "Find é"),
           said("assistant", None, tool_calls=[call("search", {"phrase": "é", "limit": 2, "kinds": ["page"], "range": {"from": None, "to": 1.5}})]),
           said("tool", '{"found": 2}', tool_call_id="abcdefghi", name="search"),
           said("assistant", "Two of them."), said("user", "And the time?")]
TWO_CALLS = [said("user", "Both"), said("assistant", "Yes", tool_calls=[call("search", "{\"phrase\": 1}"), call("clock", {}, "short")]),
             said("tool", "1"), said("tool", "2")]
PARTS = [said("user", [{"type": "text", "text": "look "}, {"type": "image"}, {"type": "text", "text": " there"}]), said("assistant", "I see")]
BAD_TURNS = [said("user", "a"), said("user", "b"), said("assistant", "c")]
ODD = [said("critic", "?"), said("assistant", ""), {"role": "user", "content": "x", "tools": "T"}]
THINKING = [said("user", "q"), said("assistant", "a", reasoning_content="\nbecause\n"), said("tool", {"deep": [1, True, None, 2.0]}),
            said("system", "later", tools="[]")]

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>"}
CONVERSATIONS = [HELLO, PLAIN, ANSWERED, CALLING, TWO_CALLS, PARTS, BAD_TURNS, ODD, THINKING]
EXTRAS = [{}, {"add_generation_prompt": True}, {"tools": [SEARCH, CLOCK], "add_generation_prompt": True},
          {"tools": [SEARCH], "tools_in_user_message": False, "enable_thinking": False,
           "documents": [{"title": "A", "text": "one\ntwo"}, {"text": "three"}]},
          {"builtin_tools": ["search", "code_interpreter"], "date_string": "today", "enable_thinking": False, "add_generation_prompt": True}]


def write(name, cases):
    with open(TARGET / name, "w") as out:
        for case in cases:
            out.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")


def conversations():
    for path in sorted((TARGET / "templates").glob("*.jinja")):
        source = path.read_text()
        for messages in CONVERSATIONS:
            for extra in EXTRAS:
                variables = {**SPECIALS, "messages": messages, **extra}
                yield {"template": path.name, "variables": variables, **outcome(source, variables)}


def main():
    from chat_expressions import VARIABLES, all_sources
    write("conversations.jsonl", conversations())
    cases = ({"source": source, **outcome(source, VARIABLES)} for source in all_sources())
    write("expressions.jsonl", [{"variables": VARIABLES}, *cases])


if __name__ == "__main__":
    sys.exit(main())
