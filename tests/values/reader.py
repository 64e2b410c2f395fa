"""Reads functions into the graph.

A value flows into what is assigned from it, into parameters that it is passed as, into results, and into what is
assigned under a condition that reads it. In a module that acts, every other use of it is an act; in one that only
carries values there is none. Deciding whether a run is refused is told apart in both, for an option must do more where
it is not.
"""
import itertools
import re

from cpp_text import (KEYWORDS, QUALIFIERS, closing, controlled_by, end_of_simple, end_of_type, is_lambda, is_name,
                      lambda_parameters, split, statements_of)
from graph import ACT, REFUSES, SAID, Showing, inside_node, parameter_node, result_node
from values import Values

ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<="}
REFUSING = r"(?:throw\b|\bproblems_? \. (?:usage|add|environment|push_back) |refuse\w* \()"
REFUSAL = re.compile(rf"\b{REFUSING}")
ONLY_REFUSAL = re.compile(rf"(?:return )?(?:\w+ (?:\.|->|::) )*{REFUSING}")  # a whole statement
NEVER = re.compile(r"(?!)")
# Refuses a second value of the same setting, whatever becomes of the first.
DISAGREEMENT = "assign"


class Reader(Values):
    def __init__(self, graph, function):
        self.graph, self.function = graph, function
        self.acts = graph.acts(function.file)
        self.refusal = REFUSAL if function.name != DISAGREEMENT else NEVER
        self.members = graph.fields(function.owner) if function.owner else {}
        self.types, self.variables, self.lambdas = {}, set(), {}
        self.next_call = itertools.count().__next__
        self.returned, self.returned_core = result_node(function), graph.core(function.result)
        self.places = {name: place for place, (_, name) in enumerate(function.parameters) if name}
        for kind, name in function.parameters:
            if name:
                self.declare(name, graph.core(kind))

    def run(self):
        inside = inside_node(self.function)
        for member, tokens in self.function.initialisers:
            owner, kind = self.members.get(member, (None, []))
            if owner:
                self.assign(tokens, [(owner, member)], self.graph.core(kind), {inside})
        self.block(self.function.body, frozenset({inside}))

    def refuses(self, tokens):
        return self.refusal.search(" ".join(tokens)) is not None

    def here(self, name):
        if name in self.places:
            return parameter_node(self.function, self.places[name])
        return ("variable", self.function.file, self.function.owner, self.function.name, name)

    def declare(self, name, core):
        self.variables.add(name)
        self.types.pop(name, None)
        if core:
            self.types[name] = core

    # Statements. `under`: what the conditions around a statement read.

    def block(self, tokens, under):
        place = 0
        while place < len(tokens):
            place, under = self.statement(tokens, place, under)

    def statement(self, tokens, place, under):
        """Returns the place behind it, and what stands over the statements that follow."""
        token = tokens[place]
        if token == "{":
            end = closing(tokens, place)
            self.block(tokens[place + 1:end], under)
            return end + 1, under
        if token in {"if", "for", "while", "switch", "catch"}:
            return self.controlled(tokens, place, under)
        if token in {"else", "do", "try", ";"}:
            return place + 1, under
        end = end_of_simple(tokens, place)
        self.simple(tokens[place:end], under)
        return end + 1, under

    def controlled(self, tokens, place, under):
        opening = place + 1 + (tokens[place + 1] == "constexpr")
        end = closing(tokens, opening)
        read = self.condition(tokens[place], tokens[opening + 1:end], under)
        after = self.statement(tokens, end + 1, under | read)[0]
        while tokens[after:after + 1] == ["else"]:
            after = self.statement(tokens, after + 1, under | read)[0]
        refused = self.only_refuses(tokens[end + 1:after])
        if self.acts:
            self.graph.add(read, REFUSES if refused else ACT)
        leaves = not refused and {"return", "continue", "break"} & set(tokens[end + 1:after])
        return after, under | read if leaves else under

    def only_refuses(self, tokens):
        """Whether a run that comes into this block is refused there, or leaves it as if it were not there."""
        statements = list(statements_of(tokens))
        if any("else" in statement for statement in statements):
            return False
        if any(ONLY_REFUSAL.match(" ".join(statement)) for statement in statements):
            return self.refusal is not NEVER
        return bool(statements) and all(statement[0] == "if" and self.only_refuses(controlled_by(statement))
                                        for statement in statements)

    def condition(self, keyword, inside, under):
        """Takes in what a condition declares, and returns what it reads."""
        if keyword == "for" and ":" in inside and ";" not in inside:
            colon = inside.index(":")
            self.declaration(inside[:colon] + ["="] + inside[colon + 1:], under)
            return self.reads(inside[colon + 1:], under)
        read = set()
        for part in split(inside, ";"):
            if self.declaration(part, under):
                part = part[part.index("=") + 1:] if "=" in part else []
            read |= self.reads(part, under)
        return read

    def simple(self, tokens, under):
        if tokens[:1] in (["case"], ["default"]):
            tokens = tokens[tokens.index(":") + 1:] if ":" in tokens else []
        if not tokens or tokens[0] in {"using", "break", "continue"}:
            return
        if self.refuses(tokens):
            self.graph.add(under, REFUSES)
        if tokens[0] == "throw":
            return self.said(tokens[1:])
        if tokens[0] == "return":
            self.assign(tokens[1:], [self.returned], self.returned_core, under)
        elif not self.declaration(tokens, under) and not self.assignment(tokens, under):
            self.expression(tokens, under)

    def said(self, tokens):
        graph, self.graph = self.graph, Showing(self.graph)
        self.graph.add(self.reads(tokens, frozenset()), SAID)
        self.graph = graph

    def expression(self, tokens, under):
        """A call or an increment: what it reads goes into the object; conditions around it into what is called."""
        read = self.reads(tokens, under)
        chain = self.chain(tokens)
        if chain and chain.node and (chain.calls or chain.indices):
            self.graph.add(read | under, chain.node)
        for functions, _, _ in chain.calls if chain else ():
            for function in functions:
                self.graph.add(under, inside_node(function))
        if self.acts:
            self.graph.add(read | under, ACT)

    def assignment(self, tokens, under):
        place = 0
        while place < len(tokens) and tokens[place] not in ASSIGNMENTS:
            place = closing(tokens, place) + 1 if tokens[place] in {"(", "[", "{"} else place + 1
        if place >= len(tokens):
            return False
        chain = self.chain(tokens[:place])
        if chain:
            for index in chain.indices:
                self.reads(tokens[index + 1:closing(tokens, index)], under)
        self.assign(tokens[place + 1:], [chain.node] if chain and chain.node else [], chain.core if chain else None, under)
        return True

    def declaration(self, tokens, under):
        place = 0
        while place < len(tokens) and tokens[place] in QUALIFIERS:
            place += 1
        start, place = place, end_of_type(tokens, place)
        kind = tokens[start:place]
        while place < len(tokens) and tokens[place] in {"&", "*", "&&", "const"}:
            place += 1
        if not kind or place >= len(tokens):
            return False
        if tokens[place] == "[" and kind == ["auto"]:
            end = closing(tokens, place)
            for name in filter(is_name, tokens[place + 1:end]):
                self.declare(name, self.type_of(tokens[end + 2:]))
                self.assign(tokens[end + 2:], [self.here(name)], None, under)
            return True
        if not is_name(tokens[place]) or tokens[place] in KEYWORDS:
            return False
        if tokens[place + 1:place + 2] not in ([], ["="], ["{"], ["("], [","], ["["]):
            return False
        for part in split(tokens[place - (tokens[place - 1] in {"&", "*"}):]):
            refers = part[0] == "&" and "const" not in tokens[:place]
            self.declarator(part[part[0] in {"&", "*"}:], kind, under, refers)
        return True

    def declarator(self, part, kind, under, refers):
        name, value = part[0], part[2:] if part[1:2] == ["="] else part[1:]
        if not is_name(name):
            return
        core = self.graph.core(kind) or (self.type_of(value) if "auto" in kind else None)
        self.declare(name, core)
        if value[:1] == ["["] and is_lambda(value, 0):
            self.lambdas[name] = lambda_parameters(value)
        if value[:1] == ["("]:
            if core:
                self.arguments(self.constructors(core), value, under)
            value = value[1:-1]
        self.assign(value, [self.here(name)], core, under)
        chain = self.chain(value) if refers else None
        if chain and chain.node:  # what is written to a reference is written to what it refers to
            self.graph.add({self.here(name)}, chain.node)
