"""The event graph and the questions asked of it."""

import pytest

from torchlint.dryrun.flow import Graph, after, before, common_loop, leading_to
from torchlint.dryrun.values import Event, Loop

from .support import events, runs


def event(kind, *loops):
    return Event(kind, None, None, tuple(loops), (), {"name": kind})


def line(*kinds):
    graph = Graph()
    return graph, [graph.add(event(kind)) for kind in kinds]


def is_kind(*kinds):
    return lambda event: event.kind in kinds


def test_events_follow_one_another():
    graph, (a, b, c) = line("a", "b", "c")
    assert graph.start.next == [a] and a.next == [b] and c.prev == [b] and graph.tails == [c]
    assert after(a, is_kind("c")) == ([c], False)
    assert after(a, is_kind("b", "c")) == ([b], False)
    assert after(c, is_kind("a")) == ([], True)
    assert before(c, is_kind("a")) == ([a], False)
    assert before(c, is_kind("x")) == ([], True)
    assert leading_to([c], is_kind("x")) == {graph.start, a, b}
    assert leading_to([c], is_kind("b")) == {b} and leading_to([b], is_kind("b")) == {graph.start, a}
    assert before(a, is_kind("c")) == ([], True)


def test_paths_part_and_meet():
    graph, (a, b) = line("a", "b")
    left = graph.tails
    graph.tails = [a]
    c = graph.add(event("c"))
    graph.tails = [*left, c]
    d = graph.add(event("d"))
    assert set(map(repr, after(a, is_kind("b", "d"))[0])) == {repr(b), repr(d)}
    assert after(a, is_kind("b", "c"))[1] is False
    assert before(d, is_kind("b")) == ([b], True)


def test_a_circle_ends():
    graph, (a, b, c) = line("a", "b", "c")
    graph.link(a, [c])
    assert after(b, is_kind("b")) == ([b], False)
    assert after(b, is_kind("x")) == ([], False)
    graph.link(a, [c])
    assert c.next == [a], "an edge is there once"


def test_within_a_loop_the_way_out_does_not_count():
    outer, inner = Loop("for", None, None), Loop("for", None, None)
    graph = Graph()
    head = graph.add(event("head", outer))
    a = graph.add(event("a", outer, inner))
    b = graph.add(event("b", outer))
    graph.link(head, [b])
    graph.tails = [b]
    c = graph.add(event("c"))
    assert after(a, is_kind("b", "c"), inner) == ([], False)
    assert after(a, is_kind("c"), outer) == ([], False)
    assert after(a, is_kind("c")) == ([c], False)
    assert after(a, is_kind("a"), outer) == ([a], False)


def test_the_common_loop_is_the_innermost():
    one, two, three = (Loop("for", None, None) for _ in range(3))
    assert common_loop(event("a", one, two), event("b", one, two)) is two
    assert common_loop(event("a", one, two), event("b", one, three)) is one
    assert common_loop(event("a", one), event("b", two)) is None
    assert common_loop(event("a", one, two), event("b", three, two)) is None
    assert common_loop(event("a"), event("b", one)) is None


def test_undo_takes_events_away():
    graph, (a, b) = line("a", "b")
    mark = graph.mark()
    graph.add(event("c"))
    graph.add(event("d"))
    graph.undo(mark)
    assert graph.events == [a, b] and graph.tails == [b] and b.next == []
    d = graph.add(event("e"))
    assert b.next == [d]


def test_an_event_tells_its_data_by_name():
    found = event("a")
    assert found.name == "a" and found.get("name") == "a" and found.get("other", 3) == 3
    with pytest.raises(AttributeError, match="other"):
        found.other  # noqa: B018
    assert repr(found) == "<a None line 0>"


def test_many_paths_are_gathered():
    """Sixteen ways to one event are an edge each, not sixteen times those of the event after it."""
    branches = "".join(f"    {'elif' if n else 'if'} y == {n}:\n        net.fc{n}(x)\n" for n in range(16))
    code = "def f(net: nn.Module, x, y):\n" + branches + "    net.train()\n    net.eval()\n"
    (run,) = (run for run in runs(code) if run.root is not None)
    (first,), (second,) = events(run, "module.train"), events(run, "module.eval")
    assert len(first.prev) < 16 and after(first, is_kind("module.eval"))[0] == [second]
    assert len(before(first, is_kind("forward", "unknown"))[0]) == 16
