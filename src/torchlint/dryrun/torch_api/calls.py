"""What calling something of torch does, or something else outside the project; objects of its classes."""

from __future__ import annotations

import libcst as cst

from torchlint.catalogue import effects
from torchlint.catalogue.apis import keywords
from torchlint.catalogue.protocols import made_by
from torchlint.dryrun.torch_api.arrays import ndarray
from torchlint.dryrun.torch_api.forwards import Forwards
from torchlint.dryrun.torch_api.frameworks import Frameworks
from torchlint.dryrun.torch_api.functions import TorchFunctions
from torchlint.dryrun.torch_api.images import numpy_image
from torchlint.dryrun.torch_api.indices import Indices
from torchlint.dryrun.torch_api.methods import Methods
from torchlint.dryrun.torch_api.names import kind_of
from torchlint.dryrun.torch_api.roles import Roles
from torchlint.dryrun.torch_api.shaped import Shaped
from torchlint.dryrun.torch_api.special_calls import SPECIAL
from torchlint.dryrun.values import FALSE, NOTHING, TRUE, Instance, Iter, Opaque, Ref, Tensor, Value, real


class TorchCalls(Shaped, Roles, Frameworks, Forwards, TorchFunctions, Indices, Methods):
    """The part of a run that knows torch's functions and classes. See `interpreter.Run` for the state it works on."""

    def tensor_method(self, owner: Tensor, name: str, args, kwargs, node) -> Value:
        """A method of a tensor, and what it makes of the sizes."""
        kwargs = _in_own_words(kwargs)
        made = super().tensor_method(owner, name, args, kwargs, node)
        if type(made) is Tensor and made is not owner and name not in effects.KEEPS_NUMBERS:
            made.traits.pop("number", None)
        self.sizes_asked(name, owner, args, kwargs, made, node)
        self.paired(name, [owner, *args], kwargs, node)
        return self.method_shape(name, owner, args, kwargs, made, node)

    def opaque_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """A method of something unknown, and what it tells of the sizes."""
        made = super().opaque_method(owner, name, args, kwargs, node)
        self.sizes_asked(name, owner, args, kwargs, made, node)
        self.note_table_method(owner, name, args, kwargs, made)
        self.note_pillow(name, owner, args, kwargs, made)
        self.paired(name, [owner, *args], kwargs, node)
        return self.seen_shape(name, owner, args, kwargs, made, node)

    # -- calls ----------------------------------------------------------------------------------------------------

    def call_ref(self, ref: Ref, args, kwargs, node: cst.CSTNode) -> Value:
        """Calls something outside the project."""
        name = ref.name
        self.emit_call(name, args, kwargs, node)
        kind = kind_of(name)
        if kind:
            return self.construct(ref, kind, args, kwargs, node)
        special = SPECIAL.get(name)
        if special is not None:
            return special(self, name, args, kwargs, node)
        hosted = self.hosted_call(name, args, kwargs, node)
        if hosted is not None:
            return hosted
        last = name.rsplit(".", 1)[-1]
        if name.startswith("torch."):
            kwargs = _in_own_words(kwargs)
            return self.function_shape(name, last, args, kwargs, self.torch_function(name, last, args, kwargs, node), node)
        if name.startswith(("numpy.", "random.", "math.", "os.", "time.", "logging.", "json.", "sys.")):
            for place, value in enumerate(args):
                self.emit("readout", value, node, name=name, place=place)
            image = numpy_image(name, args)
            made = Opaque(last, "call", None, NOTHING, NOTHING, args[0] if image else None, frozenset({"foreign"}) | ndarray(name, args, kwargs) | image)
            if name.startswith("numpy."):
                self.note_shape(made, self.array_shape(name, args, kwargs))
                self.table_call(name, args, kwargs, made)
            return made
        if last in effects.PASSES_ITEMS and args:
            return Iter("same", args[0], self.site(node))
        if name.startswith("copy."):
            if name == "copy.copy" and args and isinstance(args[0], Opaque) and "state_dict" in args[0].tags:
                return self.shallow_copy(args[0], node)
            return self.copied(args, node)
        made = self.unknown_call(name, args, kwargs, node)
        if name.startswith(("pandas.", "sklearn.")):
            self.table_call(name, args, kwargs, made)
        elif name.startswith("cv2."):
            self.note_shape(made, self.cv2_shape(name, args, kwargs))
        return made

    def emit_call(self, name: str, args, kwargs, node) -> None:
        if name in self.watched_calls:
            owner, home = (self.frame.self_value, self.frame.home) if self.frame is not None else (None, None)
            unit = self.frame.func.unit if self.frame is not None and self.frame.func is not None else None
            inside = isinstance(owner, Instance) and owner.kind == "module" and not (unit is not None and "classmethod" in unit.decorators)
            of_module = inside and home is not None and self.kind_of_class(home) == "module"  # not of a class that is mixed in
            self.emit("call", None, node, name=name, args=args, kwargs=kwargs, in_module=inside, of_module=of_module)
        if kwargs:
            self.emit_keywords(name, kwargs, node)

    def emit_keywords(self, name: str, kwargs, node) -> None:
        """Something of torch is called with keywords that it does not take."""
        known = keywords(name)
        if known is None or self.unsure:
            return
        unknown = [word for word in kwargs if word not in known and word[:1] != "*"]
        if unknown:
            self.emit("keywords", None, node, name=name, unknown=unknown)

    # -- objects --------------------------------------------------------------------------------------------------

    def construct(self, ref: Ref, kind: str, args, kwargs, node) -> Value:
        """An object of one of torch's classes."""
        if kind == "module" and args and args[0].flows and ref.name in effects.LAYER_ACTIVATIONS:
            return self.unknown_call(ref.name, args, kwargs, node)  # nn.ReLU(x), which was to be nn.ReLU()(x)
        made = Instance(ref, kind, self.site(node), args, kwargs)
        self.made_here(made)
        if kind in ("module", "wrapper", "loss"):
            known = made_by(ref.name)
            self.store.set(made, self.MODE, FALSE if known is not None and known.mode is False else TRUE)
            self.emit_module(made, node)
            self.check_heads(made, node)
            self.fill_container(made, args)
            for value in [*args, *kwargs.values()]:
                for alt in real(value):
                    if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"):
                        self.adopt(made, alt)
            if kind == "wrapper" and args:
                self.emit("wrap", made, node, module=args[0])
        elif kind == "optimizer":
            self.created_optimizer(made, node)
        elif kind == "scheduler":
            self.emit("scheduler.create", made, node, optimizer=made.arg(0, "optimizer"))
        elif kind == "sampler":
            self.emit("sampler.create", made, node)
        elif kind == "loader":
            sampler = made.arg(3, "sampler")
            made_of = made.arg(0, "dataset")
            self.emit("loader.create", made, node, sampler=sampler, dataset=made_of)
        elif kind == "dataset":
            self.emit("dataset.create", made, node)
        return made

    def made_here(self, made: Instance) -> None:
        """Notes which loops an object is made in: one that is made anew in each iteration has no past."""
        self.made_in[id(made)] = self.loops
        made.under = self.guards
        self.keep.append(made)

    def copied(self, args, node) -> Value:
        """copy.copy and copy.deepcopy: a new object that is what the old one was."""
        if not args:
            return Opaque("copy", "call")
        value = args[0]
        alts = real(value)
        if len(alts) == 1 and isinstance(alts[0], Instance):
            old = alts[0]
            new = Instance(old.cls, old.kind, self.site(node), old.args, old.kwargs)
            self.made_here(new)
            for key, found in list(self.attributes_of(old)):
                self.store.set(new, key, found)
            return new
        plain = len(alts) == 1 and type(alts[0]) is Opaque and not (alts[0].flows or alts[0].tags)  # settings, say: no tensor, and no state of anything
        return Opaque("copy", "call", self.site(node), value.flows, NOTHING, alts[0] if plain else None, frozenset({"copy"}))

    def shallow_copy(self, state: Value, node) -> Opaque:
        """A new dict around the same tensors: as live as the old one."""
        return Opaque("state_dict", "call", self.site(node), NOTHING, NOTHING, state.origin, state.tags)

    def attributes_of(self, owner: Value):
        seen = set()
        passed = []
        layer = self.store
        while layer is not None:
            for key, value in layer.data.items():
                if key[0] is owner and key[1] not in seen:
                    seen.add(key[1])
                    for through in passed:
                        through.add(key)
                    yield key[1], value
            if layer.through is not None:
                passed.append(layer.through)
            layer = layer.parent


_OF_NUMPY = {"axis": "dim", "keepdims": "keepdim"}


def _in_own_words(kwargs):
    """Arguments by torch's names: its functions take NumPy's for them, too."""
    return {_OF_NUMPY.get(key, key): value for key, value in kwargs.items()} if kwargs and _OF_NUMPY.keys() & kwargs.keys() else kwargs
