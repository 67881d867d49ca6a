"""107: a second backward through a graph that the first one has freed."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after, happens_after
from torchlint.dryrun.values import MOST, Class, Event, Instance, Ref, Tensor, boolean, real
from torchlint.rules.base import Report, View

CODE = 107
_MANY = 150  # of so many, all written by a machine, each is compared with those beside it alone


def check(view: View) -> Iterator[Report]:
    """Two backwards of one loss, of two losses of one output, or of one loss in every iteration of a loop that it was
    made before."""
    backwards = [event for event in view.of("backward") if event.get("framework") is None and event.site is not None]
    for at, first in enumerate(backwards):
        if _keeps(first):
            continue
        if _made_before_loop(view, first):
            yield Report(
                CODE,
                first.site,
                _roles(view, first),
                [
                    (first.loops[-1].site, "in each iteration of this loop"),
                    (_newest(view, first).site, "the graph is made once, here"),
                ],
            )
            continue
        for second in backwards if len(backwards) <= _MANY else backwards[max(0, at - 3) : at + 4]:
            shared = _shared(view, first, second) if second is not first else None
            if shared is None or first.loops != second.loops:
                continue
            head = first.loops[-1] if first.loops else None

            def stop(event: Event, second=second, shared=shared, head=head) -> bool:
                again = event.kind == "loop" and head is not None and event.get("loop") is head
                return event is second or again or event is shared or event.kind == "backward"

            found, _ = after(first, stop)
            if found == [second] and first.guards == second.guards:
                yield Report(
                    CODE,
                    second.site,
                    _roles(view, second),
                    [(first.site, "the graph is freed here"), (shared.site, "both go through this")],
                )
                break


def _roles(view: View, event: Event) -> dict[str, str]:
    return {"call": view.call_text(event.site), "loss": view.owner_text(event, "loss")}


def _keeps(event: Event) -> bool:
    """Whether a backward leaves the graph as it is."""
    given = event.kwargs
    if "*" in given or "**" in given or "inputs" in given:
        return True
    if any(
        boolean(given[name]) is not False
        for name in ("retain_graph", "create_graph", "retain_variables")
        if name in given
    ):
        return True
    node = event.site.node
    return len(getattr(node, "args", ())) > 1


def _newest(view: View, event: Event) -> Event:
    return max(_forwards(view, event.flows), key=lambda flow: (len(flow.loops), -flow.serial))


def _forwards(view: View, flows: frozenset[Event]) -> list[Event]:
    """The forwards among some events, in the order of the run."""
    known = view.among("forward", flows)
    return known or sorted(
        (flow for flow in flows if flow.kind == "forward"), key=lambda flow: (flow.site.location().row, flow.serial)
    )


def _made_before_loop(view: View, event: Event) -> bool:
    """Whether a backward is of a value that was finished before the loop began, and the loop comes round."""
    alts = real(event.subject)
    if not event.loops or len(alts) != 1 or not isinstance(alts[0], Tensor) or alts[0].site is None or event.guards:
        return False
    loop = event.loops[-1]
    if any(other.site == event.site and other.subject is not event.subject for other in view.of("backward")):
        return False  # what the loop makes anew may be meant as well
    flows = [flow for flow in event.flows if flow.kind == "forward"]
    if len(event.flows) >= MOST:
        return False
    if not flows or any(loop in flow.loops for flow in flows) or any(flow.get("grad") is not True for flow in flows):
        return False
    made = [other for other in view.of("loss") if other.site == alts[0].site]
    if not made or any(loop in other.loops for other in made):
        return False
    return happens_after(event, lambda other: other is event)


def _shared(view: View, first: Event, second: Event) -> Event | None:
    """A call whose one output both losses were computed from, by operations that are all known: of a layer that keeps
    its input, or of a model. A model's inner calls do not count: what it gave once is known the second time."""
    common = first.flows & second.flows
    for flow in _forwards(view, common) if common else ():
        if flow.get("grad") is not True or not isinstance(flow.subject, Instance):
            continue
        if flow.calls != first.calls or flow.calls != second.calls or getattr(flow.get("frozen"), "value", None):
            continue
        # What a model was given the first time stays in what is known of its output: no other model may come in
        # between.
        others = {
            event
            for event in first.flows | second.flows
            if isinstance(event.subject, Instance) and isinstance(event.subject.cls, Class)
        }
        if any(event is not flow and event.calls == flow.calls for event in others):
            continue
        if not isinstance(flow.subject.cls, Ref) or flow.subject.type in _LAYERS:
            if _output(flow, first) & _output(flow, second):
                return flow
    return None


def _output(flow: Event, backward: Event) -> set[int]:
    """The ids of tensors that a call gave, and that a loss was computed from."""
    return {
        id(part)
        for part in (*backward.parts, *real(backward.subject))
        if isinstance(part, Tensor)
        and part.traits.get("graph") is True
        and (part.site == flow.site or part.traits.get("out_of") is flow)
    }


_LAYERS = frozenset(
    f"torch.nn.{name}"
    for name in (
        "Linear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "Embedding",
        "LayerNorm",
        "BatchNorm1d",
        "BatchNorm2d",
        "Bilinear",
        "Sequential",
    )
)
