"""What is known of models that predict the next token: whether they shift labels themselves, and what they are given."""

from __future__ import annotations

from torchlint.catalogue.protocols import SHIFTS_LABELS
from torchlint.dryrun.values import Class, Event, Instance, Value, real
from torchlint.rules.base import View


def shifts_labels(model: Value | None) -> bool:
    """Whether a model of transformers moves the labels by one itself."""
    alts = real(model)
    alt = alts[0] if len(alts) == 1 else None
    if not isinstance(alt, Instance):
        return False
    if alt.kind == "wrapper" and alt.args:
        return shifts_labels(alt.args[0])
    if isinstance(alt.cls, Class):
        return False
    names = alt.type.split(".")
    return names[0] in ("transformers", "peft") and any(SHIFTS_LABELS.search(name) for name in names[1:])


def reads_on(view: View, model: Value | None) -> bool:
    """Whether a model of the project is an embedding, one recurrent layer that reads from left to right, and what follows place
    by place: all of it seen, and nothing in its forward that moves anything."""
    alts = real(model)
    alt = alts[0] if len(alts) == 1 else None
    if not isinstance(alt, Instance) or not isinstance(alt.cls, Class) or set(alt.cls.externals()) != {"torch.nn.Module"}:
        return False
    forward = alt.cls.method("forward")
    parts = view.run.children.get(id(alt), ())
    if forward is None or not alt.complete or forward[1].words & _MOVES or not all(isinstance(part, Instance) for part in parts):
        return False
    kinds = [part.type.removeprefix("torch.nn.") for part in parts]
    rows = [part for part, kind in zip(parts, kinds) if kind in _RECURRENT]
    if len(rows) != 1 or kinds.count("Embedding") != 1 or not set(kinds) <= _RECURRENT | _EACH_PLACE:
        return False
    return not {"bidirectional", "**"} & rows[0].kwargs.keys() and getattr(rows[0].kwargs.get("batch_first"), "value", None) is True


_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_EACH_PLACE = frozenset("Embedding Linear Dropout LayerNorm ReLU GELU Tanh Identity".split())
_MOVES = frozenset("cat concat roll pad flip zeros zeros_like new_zeros stack gather pack_padded_sequence".split())


def inputs_of(forward: Event) -> Value | None:
    """The tokens that a model is given."""
    kwargs = forward.get("kwargs") or {}
    args = forward.get("args", ())
    return kwargs.get("input_ids", args[0] if args else None)
