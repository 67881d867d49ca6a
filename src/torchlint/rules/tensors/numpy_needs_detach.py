"""416: a tensor that needs gradients, or lies on a GPU, is turned into an ndarray."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.devices import on_gpu

CODE = 416
READS = frozenset(
    {"numpy", "numpy.array", "numpy.asarray", "numpy.append", "numpy.concatenate", "numpy.save", "numpy.savetxt"}
)

# A function that asks what it was given goes the one way or the other.
ASKS = frozenset({"requires_grad", "is_cuda", "grad_fn", "is_leaf"})


def check(view: View) -> Iterator[Report]:
    """`model(x).numpy()` where autograd records."""
    for event in view.of("readout"):
        if event.name not in READS or event.grad_on is not True:
            continue
        if any(context.kind == "unknown" for context in event.contexts) or event.site.parsed.unit.words & ASKS:
            continue
        if _in_module(view) or _kept(event):
            continue  # callers may have switched gradients off
        alts = real(event.subject)
        if not alts or not all(isinstance(alt, Tensor) for alt in alts):
            continue
        if all(_needs_grad(view, alt) for alt in alts):
            because = (alts[0].sites.get("graph"), "its graph begins here")
            yield _report(view, event, "it needs gradients", "detach()", because)
        elif all(on_gpu(alt.traits.get("device")) for alt in alts):
            because = (alts[0].sites.get("device"), "it is put there here")
            yield _report(view, event, "it is on the GPU", "cpu()", because)


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
