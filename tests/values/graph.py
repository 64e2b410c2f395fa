"""Where values go, as a graph. Its nodes are members (struct, name), parameters, variables and results of functions."""
import collections

DEPTH = 5  # of calls that are remembered
ACT = "acts"  # the node of every use that is not a copy
REFUSES = "refuses"  # the node of what decides, in a module that only carries values, whether a run is refused
SAID = "is said"  # the node of what people and files are told


class Graph:
    """`acts(file)`: whether a source belongs to a module that acts; others only carry values. `shown`: structs
    whose members are only looked at."""

    def __init__(self, sources, acts, shown):
        self.sources, self.acts, self.shown = sources, acts, shown
        self.edges = collections.defaultdict(set)  # node -> (node, ("in" or "out" of a function, call) or None)
        self.functions = collections.defaultdict(list)
        for function in sources.functions:
            self.functions[function.name].append(function)

    def add(self, froms, to, label=None):
        if self.is_shown(to):
            to, label = SAID, None
        for node in froms:
            if node != to:
                self.edges[node].add((to, label))

    def is_shown(self, node):
        if node[0] in self.shown:
            return True
        is_member = len(node) == 2 and node[0] in self.sources.structs
        return is_member and self.core(self.sources.structs[node[0]].fields.get(node[1], [])) in self.shown

    def fields(self, name):
        """The members of struct `name`, those of its bases first: name -> (struct that declares it, type)."""
        struct = self.sources.structs.get(name)
        found = {}
        for base in struct.bases if struct else ():
            found.update(self.fields(base))
        if struct:
            found.update({field: (name, kind) for field, kind in struct.fields.items()})
        return found

    def core(self, kind):
        """The struct that a type is, refers to or holds; the last one it names, which of a map is its value."""
        structs, aliases = self.sources.structs, self.sources.aliases
        named = [part for token in kind for part in ([token] if token in structs else aliases.get(token, []))]
        return next((token for token in reversed(named) if token in structs), None)

    def called(self, name, file, owner=None):
        """The functions that a call of `name` in `file` may mean. `owner`: the class of the object it is called on."""
        found = self.functions.get(name, ())
        if owner:
            found = [function for function in found if self.is_a(function.owner, owner) or self.is_a(owner, function.owner)]
        if not self.acts(file):  # what carries values knows nothing of what acts on them
            found = [function for function in found if not self.acts(function.file)]
        here = [function for function in found if function.file == file and function.body is not None]
        return here or found

    def is_a(self, name, other):
        struct = self.sources.structs.get(name)
        return name == other or any(self.is_a(base, other) for base in (struct.bases if struct else ()))

    def way(self, node, end=ACT):
        """A shortest way from `node` to `end`; None: there is none. Who enters a function by a call leaves it
        there again, and not by a call of another value."""
        start = node, ()
        before, queue = {start: None}, collections.deque([start])
        while queue:
            state = queue.popleft()
            here, entered = state
            if here == end:
                return self.back(state, before)
            for there, label in self.edges.get(here, ()):
                calls = self.calls_after(entered, label)
                if calls is None:
                    continue
                is_member = len(there) == 2  # wherever it is read next
                following = there, () if is_member else calls
                if following not in before:
                    before[following] = state
                    queue.append(following)
        return None

    @staticmethod
    def calls_after(entered, label):
        """The calls that one is in behind an edge, the innermost last; None: the edge leaves another call."""
        direction, call = label or (None, None)
        if direction == "in":
            return (*entered, call)[-DEPTH:]
        if direction == "out" and entered:
            return entered[:-1] if entered[-1] == call else None
        return entered

    @staticmethod
    def back(state, before):
        way = []
        while state is not None:
            way.append(state[0])
            state = before[state]
        return way[::-1]


class Showing:
    """The graph as it is seen from a source that shows values: each that is read there is said, and no more."""

    def __init__(self, graph):
        self.graph = graph

    def __getattr__(self, name):
        return getattr(self.graph, name)

    def add(self, froms, _to, _label=None):
        self.graph.add(froms, SAID)


def place_of(function):
    return function.file, function.owner, function.name


def parameter_node(function, place):
    return ("parameter", *place_of(function), place)


def result_node(function):
    return ("result", *place_of(function))


def inside_node(function):
    """What a function does, as a whole: conditions around a call of it flow here, and on to all that it assigns."""
    return ("inside", *place_of(function))
