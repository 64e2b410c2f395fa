"""a.b->c(…)[…]: which variable, member or result an expression names."""
from cpp_text import closing, closing_angle, is_name
from graph import place_of, result_node

FOREIGN = {"std", "fs", "at", "torch", "c10", "c10d", "fmt", "YAML", "CLI", "Catch"}  # namespaces of others
MAKERS = {"make_unique", "make_shared", "emplace", "optional", "make_optional"}


class Chain:
    """node: what it names, or None. core: the struct that this is or holds. calls: (functions, place of the bracket, name
    of the call). constructed: (struct, place of the bracket). indices: places of other brackets. passed: objects of calls, results.
    end: the place behind it."""

    def __init__(self, reader, tokens, place):
        self.reader, self.tokens, self.graph = reader, tokens, reader.graph
        self.node, self.core = None, None
        self.calls, self.constructed, self.indices, self.passed = [], [], [], set()
        self.rest(self.root(place))

    def root(self, place):
        tokens, reader, structs = self.tokens, self.reader, self.graph.sources.structs
        foreign = tokens[place] in FOREIGN
        while place + 2 < len(tokens) and tokens[place + 1] == "::" and is_name(tokens[place + 2]):
            place += 2
        name, place = tokens[place], place + 1
        if place < len(tokens) and tokens[place] == "<":
            end = closing_angle(tokens, place)
            if end and tokens[end + 1:end + 2] in (["("], ["{"]):
                made = self.graph.core(tokens[place:end])
                name, place = made if made and name in MAKERS else name, end + 1
        bracket = tokens[place] if place < len(tokens) else ""
        if name in structs and bracket in {"(", "{"}:
            self.constructed.append((name, place))
            self.core = name
            return closing(tokens, place) + 1
        if name == "this":
            self.core = reader.function.owner or None
        elif name in reader.variables:
            self.node, self.core = reader.here(name), reader.types.get(name)
        elif name in reader.members:
            owner, kind = reader.members[name]
            self.node, self.core = (owner, name), self.graph.core(kind)
        elif bracket == "(":
            self.call([] if foreign else self.plainly_called(name), place)
            return closing(tokens, place) + 1
        return place

    def plainly_called(self, name):
        """The functions that name(…) without an object may mean: free ones, and those of the own class."""
        owner = self.reader.function.owner
        return [function for function in self.graph.called(name, self.reader.function.file)
                if not function.owner or (owner and self.graph.is_a(owner, function.owner))]

    def call(self, functions, place):
        call = (*place_of(self.reader.function), self.reader.next_call())
        self.calls.append((functions, place, call))
        cores = {self.graph.core(function.result) for function in functions}
        self.core = cores.pop() if len(cores) == 1 else None
        self.node = None
        if self.core is None:
            for function in functions:
                if function.body is not None:
                    self.graph.add({result_node(function)}, ("call", *call), ("out", call))
                    self.passed.add(("call", *call))

    def rest(self, place):
        tokens = self.tokens
        while place < len(tokens):
            if tokens[place] in {".", "->"} and place + 1 < len(tokens) and is_name(tokens[place + 1]):
                name, place = tokens[place + 1], place + 2
                fields = self.graph.fields(self.core) if self.core else {}
                if tokens[place:place + 1] == ["("] and name not in fields:
                    place = self.method(name, place)
                elif name in fields:
                    owner, kind = fields[name]
                    self.node, self.core = (owner, name), self.graph.core(kind)
                elif name == "origin":  # where a Sourced value was written is not its value
                    self.node = None
            elif tokens[place] in {"[", "("}:
                self.indices.append(place)
                place = closing(tokens, place) + 1
            else:
                break
        self.end = place

    def method(self, name, place):
        """Of a class of ours a call; of a container, an optional or a pointer a way to what it holds."""
        functions = self.graph.called(name, self.reader.function.file, self.core) if self.core else []
        if functions:
            if self.node:
                self.passed.add(self.node)
            self.call(functions, place)
        else:
            self.indices.append(place)
        return closing(self.tokens, place) + 1
