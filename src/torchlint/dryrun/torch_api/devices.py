"""Where tensors are: what says so, what moves them, where several meet."""

from __future__ import annotations

import re

from torchlint.catalogue import effects
from torchlint.dryrun.containers import BATCHY
from torchlint.dryrun.values import Const, Instance, Opaque, Ref, Seq, Tensor, Value, number, real

_DTYPE = re.compile(r"torch\.[a-z_]*\d*")  # torch.float32


class Devices:
    """The part of a run that knows devices. See `interpreter.Run` for the state it works on."""

    def device_of(self, value: Value | None):
        """What is known of a device argument: its text, or the value itself (two equal values are one device)."""
        alts = real(value)
        if len(alts) != 1:
            known = [self.device_of(alt) for alt in alts]
            return known[0] if known and isinstance(known[0], str) and known.count(known[0]) == len(known) else value
        alt = alts[0]
        if isinstance(alt, Const):
            if isinstance(alt.value, str):
                return alt.value.replace("cuda:0", "cuda")
            return f"cuda:{alt.value}" if isinstance(alt.value, int) else None
        if isinstance(alt, Instance) and alt.kind == "device":
            inner = alt.arg(0, "type")
            if isinstance(inner, Const):
                return self.device_of(inner)
            return alt
        return alt

    def note_moved(self, owner: Opaque, made: Opaque, method: str, args, kwargs) -> None:
        """Where something unknown is from now on, as far as the method says so that moves it: `x.cuda()`, `x.to(device)`."""
        named = type_name(args[0]) if args and method in ("to", "type") else ""
        only_cast = len(args) == 1 and _DTYPE.fullmatch(named) is not None and "device" not in kwargs or not args and kwargs.keys() == {"dtype"}
        if method in ("half", "float", "double", "bfloat16") or only_cast:
            if id(owner) in self.moved:
                self._moved_to(made, *self.moved[id(owner)])
            return
        if method == "type":
            device = "cuda" if named.startswith("torch.cuda.") else None
        elif method == "to":
            device = self.device_of(args[0] if args else kwargs.get("device"))
        else:
            device = method if method in ("cuda", "cpu") else None
        if device is not None:
            self._moved_to(made, device, made.site)

    def _moved_to(self, made: Opaque, device, site) -> None:
        """Known by its id, it must stay alive: what is made later would have the same id, and be taken for it."""
        self.keep.append(made)
        self.moved[id(made)] = (device, site)

    def default_device(self):
        """Where a tensor is made when nothing is said; None where that is not known."""
        for context in reversed(self.contexts):
            if context.kind == "device":
                return self.device_of(context.value)
            if context.kind == "unknown":
                return None
        return "default"

    def made_beside(self, last: str, given, named) -> bool:
        """Whether a tensor is made where those are that it is made of, as by torch.normal(mean, std)."""
        if last in ("normal", "complex"):
            of = [*given[:2], *(named[key] for key in ("mean", "std", "real", "imag") if key in named)]
            return any(not isinstance(alt, (Const, Seq)) for value in of for alt in real(value))
        if last != "tensor" or not given:
            return False
        alts = [alt for alt in real(given[0]) if isinstance(alt, Opaque)]
        return any(alt.flows or isinstance(alt, Tensor) and "made" not in alt.traits for alt in alts)

    def still_made(self, tensors, traits: dict, sites: dict) -> None:
        """What is computed from tensors made here alone was made here too."""
        if not all("made" in t.traits for t in tensors):
            return
        traits["made"] = tensors[0].traits["made"]
        sites.update({key: tensors[0].sites[key] for key in ("made", "device") if key in tensors[0].sites})
        if all(t.traits.get("dim0") for t in tensors):
            traits["dim0"] = True
        elif any(t.traits.get("maybe0") for t in tensors):
            traits["maybe0"] = True

    def lies_beside(self, made: Tensor, operands) -> Tensor:
        """Notes on what is computed from a model's output which call gave that: both are on one device, or the operation raises."""
        if "device" not in made.traits:
            near = [each.traits for each in operands if isinstance(each, Tensor) and "device" not in each.traits]
            calls = (traits.get("out_of") or traits.get("beside") for traits in near)
            call = next((call for call in calls if call is not None), None)
            if call is not None:
                made.traits["beside"] = call
            elif not any(isinstance(alt, Tensor) and "made" in alt.traits for each in operands for alt in real(each)):
                known = next((alt for alt in map(_known_by_another, operands) if alt is not None), None)
                if known is not None:
                    made.traits["lies_with"] = known.traits.get("lies_with") or known
        return made

    def typed(self, owner: Tensor, to: Value, site) -> Tensor:
        """x.type(...): a type of torch.cuda moves the tensor, one of torch brings it to the CPU; an unknown one may do either."""
        name = type_name(to)
        if _DTYPE.fullmatch(name):
            return owner.with_(site, layout=None, leaf=None)
        made = owner.with_(site, layout=None, leaf=None, made=None, out_of=None, beside=None, compared=None, lies_with=None)
        made.traits.pop("device", None)
        if name.startswith("torch.cuda."):
            made.traits["device"] = "cuda"
            made.sites["device"] = site
        elif OF_THE_CPU.fullmatch(name):
            made.traits["device"] = "cpu"
            made.sites["device"] = site
        return made

    def emit_mix(self, node, values, module: Value | None = None, chosen: bool = False) -> None:
        """Several tensors meet in one operation: of interest where the device of one of them is known, or is that of a model that
        gave it, and another one is out of a batch. `chosen`: one or another of them, not all."""
        if self.unsure:
            return
        alts = [alt for value in values for alt in real(value)]
        known = any(isinstance(alt, Tensor) and alt.traits.get("device") is not None for alt in alts)
        if known or any(map(_of_a_model, alts)) and any(map(_of_a_batch, alts)):
            self.emit("mix", module, node, values=values, chosen=chosen)

    def emit_taken(self, owner: Tensor, keys, node) -> None:
        """A tensor whose device may be known is indexed by what may be another one: places, or a mask."""
        if self.unsure or not owner.traits.keys() & _TELL_DEVICE:
            return
        places = [alt for key in keys if key is not None and len(real(key)) == 1 for alt in real(key) if isinstance(alt, Opaque)]
        if places:
            self.emit("taken", owner, node, values=places)

    def emit_taken_of_batch(self, owner: Opaque, keys, node) -> None:
        """The same of a part of a batch, whose device nobody knows, where the places are made of a part of a batch, too."""
        if self.unsure or type(owner) is not Opaque or not _of_a_batch(owner):
            return
        places = [alt for key in keys if key is not None and len(real(key)) == 1 for alt in real(key) if _of_a_batch(alt, _MOST_TO_PLACES)]
        if places:
            self.emit("taken", owner, node, values=places)


def _known_by_another(value: Value) -> Tensor | None:
    """An operand that lies where what it was computed from does, as far as that is known; a sum may be the number that it began with."""
    alts = [alt for alt in real(value) if number(alt) is None]
    told = _TELL_DEVICE | {"out_of", "beside", "lies_with"}
    return alts[0] if len(alts) == 1 and isinstance(alts[0], Tensor) and alts[0].traits.keys() & told and "device" not in alts[0].traits else None


def _of_a_model(value: Value) -> bool:
    return isinstance(value, Tensor) and bool(value.traits.keys() & {"out_of", "beside"})


def _of_a_batch(value: Value, most: int = 4) -> bool:
    """Whether a value is a part of a batch, or made of one by calls of its own: `y.view(-1)`."""
    for _ in range(most):
        if type(value) is not Opaque or value.source not in ("item", "call", "op"):
            return False
        if value.source == "item" and value.tags & BATCHY:
            return True
        value = value.origin
    return False


_MOST_TO_PLACES = 8  # `y.to(device).squeeze(1).sort()[1]`
# What is known of a tensor whose device is, or that of what it was computed from.
_TELL_DEVICE = frozenset({"device", "cut_of", "detached", "compared"})
# What names a type and a place at once: the CPU's.
OF_THE_CPU = re.compile(r"torch\.(?:Float|Double|Half|BFloat16|Long|Int|Short|Char|Byte|Bool)Tensor")


def type_name(to: Value) -> str:
    """What `x.type(...)` is given: a class of tensors, or its name."""
    return to.name if isinstance(to, Ref) else to.value if isinstance(to, Const) and isinstance(to.value, str) else ""


def on_cpu(item: Value) -> bool:
    """Whether something was brought to the CPU by name: `x.cpu()`."""
    if isinstance(item, Tensor):
        return item.traits.get("device") == "cpu"
    return isinstance(item, Opaque) and item.source == "call" and item.name == "cpu"


def reduced(made: Tensor, name: str) -> Tensor:
    """A result that may have no dimensions left: such a tensor meets those of any device."""
    if name in effects.REDUCES and "device" in made.traits:
        made.traits["maybe0"] = True
    return made
