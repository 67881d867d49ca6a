"""416: a tensor that needs gradients, or lies on a GPU, is turned into an ndarray."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.devices import on_gpu

CODE = 416
READS = frozenset(
    {"numpy", "numpy.array", "numpy.asarray", "numpy.append", "numpy.concatenate", "numpy.save", "numpy.savetxt"}
)
# What makes one array of a list, number by number, and asks each tensor in it for its own.
_OF_LISTS = frozenset(
    f"numpy.{name}" for name in "array asarray mean average sum std var median max min amax amin stack vstack hstack concatenate save savetxt".split()
)
_PLOTS = frozenset(f"matplotlib.pyplot.{name}" for name in "plot scatter semilogx semilogy loglog bar step fill_between".split())
_DEEPEST = 2

# A function that asks what it was given goes the one way or the other.
ASKS = frozenset({"requires_grad", "is_cuda", "grad_fn", "is_leaf"})


def check(view: View) -> Iterator[Report]:
    """`model(x).numpy()` where autograd records."""
    yield from _lists(view)
    for event in view.of("readout"):
        if event.name not in READS or not _may_raise(view, event) or _kept(event):
            continue
        alts = real(event.subject)
        if not alts or not all(isinstance(alt, Tensor) for alt in alts):
            continue
        if all(_needs_grad(view, alt) for alt in alts):
            because = (alts[0].sites.get("graph"), "its graph begins here")
            yield _report(view, event, "it needs gradients", "detach()", because)
        elif all(on_gpu(alt.traits.get("device")) for alt in alts):
            because = (alts[0].sites.get("device"), "it is put there here")
            yield _report(view, event, "it is on the GPU", "cpu()", because)


def _may_raise(view: View, event: Event) -> bool:
    """Whether autograd records for certain where a value is read, and nobody asks for it first."""
    if event.grad_on is not True or any(context.kind == "unknown" for context in event.contexts):
        return False
    return not event.site.parsed.unit.words & ASKS and not _in_module(view)  # whose callers may have switched gradients off


def _lists(view: View) -> Iterator[Report]:
    """`np.mean(losses)` and `plt.plot(losses)`, of losses that were put into a list as they were."""
    told = set()
    for event in view.of("readout", "unknown"):
        given = (event.subject,) if event.kind == "readout" else event.args
        if event.name not in (_OF_LISTS if event.kind == "readout" else _PLOTS) or event.site in told or not _may_raise(view, event):
            continue
        found = next((item for value in given for item in _graphs_in(view, event, value)), None)
        if found is not None:
            told.add(event.site)
            because = [(found.site, "this is in it, with its graph")] if found.site is not None else []
            mend = f"{found.name}.detach()" if found.name.isidentifier() else ".detach()"
            roles = {"call": view.call_text(event.site), "value": found.name or "a tensor in it", "why": "it needs gradients", "mend": mend}
            yield Report(CODE, event.site, roles, because)


def _graphs_in(view: View, event: Event, value: Value, depth: int = 0) -> Iterator[Tensor]:
    """The tensors with a graph that are in a list for certain, once it is read."""
    alts = real(value)
    if len(alts) != 1 or not isinstance(alts[0], Seq) or depth > _DEEPEST:
        return
    for item in view.run.known_items(alts[0]):
        tensors = real(item)
        if tensors and all(isinstance(alt, Tensor) and alt.serial < event.serial and _needs_grad(view, alt) for alt in tensors):
            yield tensors[0]
        else:
            yield from _graphs_in(view, event, item, depth + 1)


def _in_module(view: View) -> bool:
    """Whether a run begins in a method of a module, so that its callers, and their grad mode, are not seen."""
    root = view.run.root
    return root is not None and root.home is not None and "torch.nn.Module" in root.home.externals()


def _kept(event: Event) -> bool:
    """Whether what is read was put on an object, by whichever forward came last: `model.layer.embedding.numpy()`."""
    node = event.site.node
    read = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    return event.name == "numpy" and isinstance(read, cst.Attribute) and read.attr.value not in ("data", "T")


def _needs_grad(view: View, value: Tensor) -> bool:
    """Whether a tensor has a graph for certain: computed by a layer with autograd on, or a leaf that asks for one."""
    if value.traits.get("graph") is not True or value.traits.get("param"):
        return False
    if value.flows:
        forwards = [flow for flow in value.flows if flow.kind == "forward"]
        frozen = {id(getattr(event.subject, "origin", None)) for event in view.of("inplace.flag", "flag.set")}
        return all(
            flow.get("grad") is True and flow.get("frozen") is None and id(flow.subject) not in frozen
            for flow in forwards
        )
    return bool(value.traits.get("leaf"))


def _report(view: View, event: Event, why: str, mend: str, because: tuple[Site | None, str]) -> Report:
    site, words = because
    name = _name(view, event)
    related = [(site, words)] if site is not None and site.node is not event.site.node else []
    roles = {"call": view.call_text(event.site), "value": name or "the tensor", "why": why, "mend": f"{name}.{mend}" if name else f".{mend}"}
    return Report(CODE, event.site, roles, related)


def _name(view: View, event: Event) -> str:
    """What the tensor is called where it is read; "" where that is long, or it is one of several."""
    if event.name == "numpy":
        return view.owner_text(event, "")
    args = getattr(event.site.node, "args", ())
    given = args[1 if event.name in ("numpy.save", "numpy.savetxt") and len(args) > 1 else 0].value if args else None
    plain = isinstance(given, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
    text = event.site.parsed.text(given) if plain else ""
    return text if len(text) <= 40 and "\n" not in text else ""
