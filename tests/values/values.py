"""What the expressions of a function read, and where they put it."""
from chain import Chain
from cpp_text import KEYWORDS, closing, is_lambda, is_name, parameters_of, split
from graph import ACT, parameter_node


class Values:
    """The part of a Reader that looks inside statements."""

    def assign(self, tokens, targets, core, under):
        """`tokens` go into `targets`, which are of struct `core` unless that is None."""
        if tokens[:1] == ["{"] and closing(tokens, 0) == len(tokens) - 1:
            if core:
                return self.braces(core, tokens, under)
            tokens = tokens[1:-1]
        read = self.reads(tokens, under)
        for target in targets:
            self.graph.add(read | set(under), target)
        if not targets and self.acts:
            self.graph.add(read | set(under), ACT)

    def braces(self, core, tokens, under):
        """An aggregate, each part into its member; or a constructor's arguments."""
        fields = self.graph.fields(core)
        constructors = [function for function in self.constructors(core) if function.parameters]
        if constructors:
            return self.arguments(constructors, tokens, under)
        for place, part in enumerate(split(tokens[1:-1])):
            name, value = list(fields)[place] if place < len(fields) else "", part
            if part[:1] == ["."]:
                name, value = part[1], part[3:] if part[2:3] == ["="] else part[2:]
            if name in fields:
                owner, kind = fields[name]
                self.assign(value, [(owner, name)], self.graph.core(kind), under)

    def constructors(self, core):
        return [function for function in self.graph.functions.get(core, ()) if function.owner == core]

    def arguments(self, functions, tokens, under, call=None):
        """"(…)" of a call: into the parameters, and into those arguments that the function may write to."""
        parts = split(tokens[1:-1])
        read = [self.reads(part, under) for part in parts]
        fitting = [function for function in functions if len(function.parameters) >= len(parts)]
        for function in fitting:
            for place, part in enumerate(parts):
                self.argument(function, place, part, read, under, call)
        if self.acts and not any(function.body is not None for function in fitting):
            for nodes in read:
                self.graph.add(nodes, ACT)

    def argument(self, function, place, part, read, under, call):
        kind, name = function.parameters[place]
        core = self.graph.core(kind)
        if part[:1] == ["{"] and core:
            self.braces(core, part, under)
        if function.body is not None and name:
            self.graph.add(read[place] | set(under), parameter_node(function, place), ("in", call) if call else None)
        if "&" in kind and "const" not in kind:
            chain = self.chain(part)
            if chain and chain.node:
                for other, nodes in enumerate(read):
                    if other != place:
                        self.graph.add(nodes | set(under), chain.node)

    def reads(self, tokens, under):
        """The nodes that an expression reads. What it calls, makes and defines on the way goes into the graph."""
        read, place = set(), 0
        while place < len(tokens):
            token = tokens[place]
            if token == "[" and is_lambda(tokens, place):
                node, place = self.lambda_from(tokens, place, under)
                read.add(node)
            elif is_name(token) and token not in KEYWORDS and (place == 0 or tokens[place - 1] not in {".", "->", "::"}):
                chain = Chain(self, tokens, place)
                read |= self.inside_of(chain, under) | ({chain.node} if chain.node else set())
                place = max(chain.end, place + 1)
            else:
                place += 1
        return read

    def inside_of(self, chain, under):
        """What the brackets of a chain read."""
        read = set(chain.passed)
        for name, place in chain.constructed:
            bracket = chain.tokens[place:closing(chain.tokens, place) + 1]
            if bracket[0] == "{":
                self.braces(name, bracket, under)
            else:
                self.arguments(self.constructors(name), bracket, under)
        for functions, place, call in chain.calls:
            bracket = chain.tokens[place:closing(chain.tokens, place) + 1]
            self.arguments(functions, bracket, under, call)
            if not any(function.body is not None for function in functions):
                read |= self.reads(bracket[1:-1], under)
        for place in chain.indices:
            inside = chain.tokens[place + 1:closing(chain.tokens, place)]
            read |= self.reads(inside, under)
            self.call_of_lambda(chain, inside, under)
        return read

    def call_of_lambda(self, chain, inside, under):
        name = chain.node[-1] if chain.node and chain.node[0] == "variable" else None
        for parameter, part in zip(self.lambdas.get(name, ()), split(inside)):
            self.graph.add(self.reads(part, under) | set(under), self.here(parameter))

    def lambda_from(self, tokens, place, under):
        """Reads a lambda where it stands. Returns the node of its results, and the place behind it."""
        node = ("lambda", self.function.file, self.function.owner, self.function.name, id(tokens), place)
        end = closing(tokens, place) + 1
        captured = tokens[place + 1:end - 1]
        if tokens[end] == "(":
            for kind, name in parameters_of(tokens[end + 1:closing(tokens, end)]):
                if name:
                    self.declare(name, self.graph.core(kind))
            end = closing(tokens, end) + 1
        while tokens[end] != "{":
            end += 1
        for part in split(captured):
            if "=" in part[1:]:
                self.declare(part[0], self.type_of(part[2:]))
                self.assign(part[2:], [self.here(part[0])], None, under)
        outer = self.returned, self.returned_core
        self.returned, self.returned_core = node, None
        shut = closing(tokens, end)
        self.block(tokens[end + 1:shut], under)
        self.returned, self.returned_core = outer
        return node, shut + 1

    def chain(self, tokens):
        place = 0
        while place < len(tokens) and tokens[place] in {"(", "*", "&", "++", "--"}:
            place += 1
        return Chain(self, tokens, place) if place < len(tokens) and is_name(tokens[place]) else None

    def type_of(self, tokens):
        chain = self.chain(tokens)
        return chain.core if chain else None
