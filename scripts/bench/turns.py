"""Measuring sides by turns, for the scripts of this folder: what was measured is shown as it comes and kept, whatever happens later."""
import statistics
import sys


_interrupted = False


def unless_interrupted(items):
    """Those of `items` that are begun before somebody interrupts the measuring."""
    for item in items:
        if _interrupted:
            return
        yield item


class Unmeasured:
    """Why a side has no more measurements."""

    def __init__(self):
        self.reasons = {}

    def leave(self, name, reason):
        self.reasons[name] = str(reason).strip() or type(reason).__name__
        print(f"{name} is not measured any more: {self.reasons[name]}", file=sys.stderr, flush=True)


def take(sides, runs, show=str, warm_up=0, change_sides=False):
    """Calls each of {name: measure} in turn, `runs` times after `warm_up` that do not count; every other time in the opposite
    order with `change_sides`.

    Returns ({name: its results in turn}, True when no side failed). A side that fails is named with its reason and left out
    from there on; an interrupt (Ctrl-C) ends the measuring of all, and of what unless_interrupted() would go on with. What they have measured is returned in both cases."""
    taken, unmeasured = {name: [] for name in sides}, Unmeasured()
    try:
        for number in range(-warm_up, runs):
            order = list(sides.items())
            for name, measure in reversed(order) if change_sides and number % 2 else order:
                if name in unmeasured.reasons:
                    continue
                try:
                    result = measure()
                except (Exception, SystemExit) as failure:
                    unmeasured.leave(name, failure)
                    continue
                if number >= 0:
                    taken[name].append(result)
                    print(f"  run {number + 1} of {runs}, {name}: {show(result)}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        global _interrupted
        _interrupted = True
        unmeasured.leave("all", "interrupted")
    return taken, not unmeasured.reasons


def pairs(mine, theirs):
    """Of the turns in which both have a result."""
    return list(zip(mine, theirs))


def spread(values, digits=2):
    return (f"median {statistics.median(values):.{digits}f}, min {min(values):.{digits}f}, max {max(values):.{digits}f} over "
            f"{len(values)}")


def sides_text(taken, show):
    """The median of each side with its range, and the ratio of the first to each other one, pair by pair."""
    (mine, first), *others = taken.items()
    text = []
    for name, values in taken.items():
        text.append(f"{name} {show(statistics.median(values))} ({show(min(values))} to {show(max(values))})" if values else
                    f"{name} not measured")
    for name, values in others:
        if ratios := [a / b for a, b in pairs(first, values)]:
            text.append(f"{mine} / {name} {spread(ratios)} pairs")
    return "; ".join(text)
