"""The structs, functions and aliases that sources declare."""
import dataclasses

from cpp_text import closing, closing_angle, is_name, parameters_of, split


@dataclasses.dataclass
class Function:
    file: str
    owner: str  # class, or ""
    name: str
    result: list
    parameters: list  # (type tokens, name)
    initialisers: list  # (member, tokens)
    body: list  # tokens; None for a declaration alone


@dataclasses.dataclass
class Struct:
    name: str
    file: str
    bases: list = dataclasses.field(default_factory=list)
    fields: dict = dataclasses.field(default_factory=dict)  # name -> type tokens, in order


@dataclasses.dataclass
class Sources:
    structs: dict = dataclasses.field(default_factory=dict)  # name -> Struct
    functions: list = dataclasses.field(default_factory=list)
    aliases: dict = dataclasses.field(default_factory=dict)  # name -> type tokens


def head_end(tokens, start):
    """Where a declaration that begins at `start` ends: the place of its ; or of the { of its body."""
    place = start
    while place < len(tokens):
        token = tokens[place]
        if token == ";" or token == "}":
            return place
        if token == "{":
            before = tokens[start:place]
            in_list = ")" in before and ":" in before[before.index(")"):]
            if not (in_list and is_name(before[-1]) and before[-1] not in {"const", "override", "noexcept"}):
                return place
            place = closing(tokens, place)
        elif token in "([":
            place = closing(tokens, place)
        elif token == "<" and place > start:
            place = closing_angle(tokens, place) or place
        place += 1
    return place


def read_declarations(tokens, file, sources, owner=""):
    place = 0
    while place < len(tokens):
        if tokens[place] in {";", "}"}:
            place += 1
        elif tokens[place] in {"public", "private", "protected"} and tokens[place + 1] == ":":
            place += 2
        else:
            place = read_declaration(tokens, place, file, sources, owner)


def read_declaration(tokens, start, file, sources, owner):
    """Reads one declaration and returns the place behind it."""
    of_any = tokens[start] == "template"
    if of_any:
        start = (closing_angle(tokens, start + 1) or start) + 1
    end = head_end(tokens, start)
    head = tokens[start:end]
    opened = end < len(tokens) and tokens[end] == "{"
    after = closing(tokens, end) + 1 if opened else end + 1
    inside = tokens[end + 1:after - 1] if opened else None
    if head[:1] == ["using"] and head[2:3] == ["="]:
        sources.aliases[head[1]] = head[3:]
    if head[:1] in (["using"], ["typedef"], ["friend"], ["enum"], ["static_assert"], ["extern"], []):
        return after
    if head[0] == "namespace" or (head[:2] == ["inline", "namespace"]):
        read_declarations(inside or [], file, sources)
    elif head[0] in {"struct", "class"} and "(" not in head and "=" not in head:
        if opened and not of_any:  # a template is what it holds
            read_struct(head, inside, file, sources)
    elif is_function(head):
        sources.functions.append(function_of(head, inside, file, owner))
    else:
        if opened:  # a variable with braces; what follows them up to the ;
            rest = head_end(tokens, after)
            head, after = head + tokens[end:rest], rest + 1
        if owner:
            read_fields(head, sources.structs[owner])
        elif opened:  # a table: what its lambdas do is a function's
            name = [token for token in head[:head.index("{")] if is_name(token)][-1:]
            sources.functions.append(Function(file, "", *name, [], [], [], ["return", *head[head.index("{"):], ";"]))
    return after


def read_struct(head, inside, file, sources):
    named, bases = (split(head, ":") + [[]])[:2]
    name = [token for token in named if is_name(token) and token != "final"][-1]
    struct = sources.structs.setdefault(name, Struct(name, file))
    named_bases = [[token for token in base if is_name(token)][-1] for base in split(bases)]
    struct.bases += [base for base in named_bases if base != name]  # one of LibTorch's may bear the same name
    read_declarations(inside, file, sources, owner=name)


def is_function(head):
    if "(" not in head:
        return False
    opening = head.index("(")
    before = head[:opening]
    return "=" not in before and "operator" not in before and bool(before) and is_name(before[-1])


def function_of(head, body, file, owner):
    opening = head.index("(")
    end = closing(head, opening)
    before, name = head[:opening - 1], head[opening - 1]
    if before[-2:-1] and before[-1] == "::":
        owner, before = before[-2], before[:-2]
    initialisers = []
    if ":" in head[end:]:
        for part in split(head[end + head[end:].index(":") + 1:]):
            initialisers.append((part[0], part[2:-1]))
    return Function(file, owner, name, before, parameters_of(head[opening + 1:end]), initialisers, body)


def read_fields(tokens, struct):
    parts = split(tokens)
    first = parts[0]
    for stop in ("=", "{"):
        if stop in first:
            first = first[:first.index(stop)]
    if len(first) < 2 or not is_name(first[-1]):
        return
    kind = first[:-1]
    if kind[0] == "static" or "constexpr" in kind:
        return
    struct.fields[first[-1]] = kind
    for part in parts[1:]:
        names = [token for token in part if is_name(token)]
        if names:
            struct.fields[names[0]] = kind
