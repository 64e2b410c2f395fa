"""C++ as tokens, and the shapes that they make: as much of the language as this project's style uses."""
import functools
import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<raw>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")
  | (?P<text>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>->\*?|::|\.\.\.|<=>|<<=|[-+*/%&|^!=<>]=|&&|\|\||\+\+|--|<<|.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
NAME = re.compile(r"[A-Za-z_]\w*\Z")
QUALIFIERS = {"const", "static", "constexpr", "typename", "mutable", "thread_local"}
KEYWORDS = QUALIFIERS | {
    "if", "for", "while", "switch", "return", "throw", "else", "do", "case", "default", "break", "continue", "auto",
    "new", "delete", "sizeof", "true", "false", "nullptr", "operator", "using", "try", "catch", "static_cast", "goto"}


@functools.cache
def tokens_of(text):
    """Comments, preprocessor lines and blanks left out; every literal text is '""'."""
    tokens = []
    for match in TOKEN.finditer(text):
        if match["raw"] or match["text"]:
            tokens.append('""')
        elif not match["skip"]:
            tokens.append(match[0])
    return tokens


def is_name(token):
    return NAME.match(token) is not None


def closing(tokens, start):
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(tokens)):
        if tokens[place] in OPENING:
            depth += 1
        elif tokens[place] in CLOSING:
            depth -= 1
            if depth == 0:
                return place
    return len(tokens) - 1


def closing_angle(tokens, start):
    """The place of the > that closes the < at `start`, or None where < is a comparison."""
    depth, place = 0, start
    while place < len(tokens):
        token = tokens[place]
        if token == "<":
            depth += 1
        elif token == ">":
            depth -= 1
            if depth == 0:
                return place
        elif token in "([":
            place = closing(tokens, place)
        elif token in {";", "{", "}", "&&", "||", ")", "]"}:
            return None
        place += 1
    return None


def split(tokens, separator=","):
    """Parts between separators that stand in no bracket."""
    parts, part, place = [], [], 0
    while place < len(tokens):
        token = tokens[place]
        end = place
        if token in OPENING:
            end = closing(tokens, place)
        elif token == "<" and place and (is_name(tokens[place - 1])):
            end = closing_angle(tokens, place) or place
        if token == separator and end == place:
            parts.append(part)
            part = []
        else:
            part += tokens[place:end + 1]
        place = end + 1
    return parts + [part] if part or parts else []


def parameters_of(tokens):
    found = []
    for part in split(tokens):
        part = split(part, "=")[0] if "=" in part else part
        named = len(part) > 1 and is_name(part[-1]) and part[-2] not in {"::", "const"}
        found.append((part[:-1], part[-1]) if named else (part, ""))
    return found


def end_of_simple(tokens, place):
    while place < len(tokens) and tokens[place] != ";":
        place = closing(tokens, place) + 1 if tokens[place] in {"(", "[", "{"} else place + 1
    return place


def statements_of(tokens):
    """The statements of a block, or the one that stands without braces; each with all that its conditions stand over."""
    if tokens[:1] == ["{"] and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    place = 0
    while place < len(tokens):
        end = end_of_statement(tokens, place)
        yield tokens[place:end]
        place = end


def end_of_statement(tokens, place):
    if place >= len(tokens) or tokens[place] == "{":
        return closing(tokens, place) + 1
    if tokens[place] in {"else", "do", "try"}:
        return end_of_statement(tokens, place + 1)
    if tokens[place] in {"if", "for", "while", "switch", "catch"}:
        return end_of_statement(tokens, closing(tokens, tokens.index("(", place)) + 1)
    return end_of_simple(tokens, place) + 1


def controlled_by(statement):
    """What stands behind the bracket of an if."""
    return statement[closing(statement, statement.index("(")) + 1:]


def end_of_type(tokens, place):
    """Behind a type that begins at `place`; where none does, or none is followed by a name, some place or other."""
    while place < len(tokens) and is_name(tokens[place]) and tokens[place] not in KEYWORDS - {"auto"}:
        place += 1
        if tokens[place:place + 1] == ["<"]:
            end = closing_angle(tokens, place)
            if end is None:
                return place
            place = end + 1
        if tokens[place:place + 1] != ["::"]:
            return place
        place += 1
    return place


def is_lambda(tokens, place):
    before = tokens[place - 1] if place else ""
    if before in {")", "]"} or (is_name(before) and before != "return"):
        return False
    end = closing(tokens, place)
    return end + 1 < len(tokens) and tokens[end + 1] in {"(", "{"}


def lambda_parameters(tokens):
    end = closing(tokens, 0)
    if tokens[end + 1] != "(":
        return []
    return [name for _, name in parameters_of(tokens[end + 2:closing(tokens, end + 1)])]
