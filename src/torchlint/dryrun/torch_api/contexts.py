"""What a `with` block opens, and whether autograd records inside: no_grad, autocast, a device."""

from __future__ import annotations

import re
import sys

import libcst as cst

from torchlint.dryrun.values import NOTHING, Func, Instance, Iter, Opaque, Ref, Value, real

# What knows nothing of autograd: progress bars, trackers of experiments, files, screens, microphones, other frameworks.
_WITHOUT_AUTOGRAD = frozenset(
    """numpy scipy pandas h5py lmdb zarr PIL cv2 imageio skvideo rasterio mss tqdm alive_progress rich click mlflow wandb neptune aim
    speech_recognition sounddevice pyaudio mediapipe depthai requests httpx aiohttp psutil yaml json jsonlines joblib tensorflow
    tensorboardX onnxruntime sqlalchemy pymongo filelock fsspec smart_open""".split()
)
_OF_CONTEXTLIB = frozenset({"contextlib.redirect_stdout", "contextlib.redirect_stderr", "contextlib.suppress", "contextlib.closing"})
_WRITERS = re.compile(r"^torch\.utils\.tensorboard\.(?:\w+\.)*SummaryWriter$")
_FARTHEST = 6  # `Console().status(...)`


class Contexts:
    """The part of a run that enters `with` blocks. See `interpreter.Run` for the state it works on."""

    def enter(self, value: Value, node: cst.CSTNode) -> Value:
        """Enters a `with` block; what `as` binds."""
        alts = real(value)
        alt = alts[0] if len(alts) == 1 else None
        if isinstance(alt, Instance) and alt.kind == "context":
            kind = self.store.get(alt, " kind", "other")
            known = self.store.get(alt, " value")
            if kind == "grad":
                self.pending_grad = None
            self.contexts.append(self.Context(kind, alt.site, known if kind == "grad" else alt))
            return self.base_store.get(alt, " binds", alt)
        if isinstance(alt, Instance) and alt.kind == "device":
            self.contexts.append(self.Context("device", self.site(node), alt))
            return alt
        if isinstance(alt, Ref):
            self.emit("enter.uncalled", alt, node)
        if isinstance(alt, Iter) and alt.kind == "generator" and alt.opens is not None:
            self.contexts.extend(alt.opens)
            return self.element(alt)
        if isinstance(alt, Iter) and alt.kind == "generator" or isinstance(alt, (Ref, Func)):
            self.contexts.append(self.Context("grad", self.site(node), None))
            return Opaque("context", "call")
        if isinstance(alt, Iter):  # `with tqdm(loader) as batches`: what shows how far it has come is gone through
            return alt
        if isinstance(alt, Opaque) and ("foreign" in alt.tags or "file" in alt.tags):
            return Opaque("file", "call", tags=frozenset({"foreign"}))
        if isinstance(alt, Opaque) and alt.source == "call" and re.search(r"tqdm|open|profile|timer|record|Pool|summary|progress", alt.name):
            return Opaque(alt.name, "call", tags=alt.tags)
        if alts and all(isinstance(a, Instance) and a.kind == "context" for a in alts):
            self.pending_grad = None
            settings = {(self.store.get(a, " kind", "other"), self.store.get(a, " value")) for a in alts}
            kinds = {kind for kind, _ in settings}
            if len(settings) == 1 or "grad" not in kinds:
                kind, setting = next(iter(settings))
                if "autocast" in kinds:  # where mixed precision is asked for, it is this one
                    kind, kinds = "autocast", {"autocast"}
                self.contexts.append(self.Context(kind if len(kinds) == 1 else "other", self.site(node), setting if kind == "grad" else None))
                return alts[0]
        if not alts or not all(map(_leaves_autograd_alone, alts)):
            self.contexts.append(self.Context("unknown", self.site(node), alt))
        return Opaque("context", "call", None, NOTHING, NOTHING, alt)

    def grad_state(self):
        """Whether autograd records here: (True, False or None where it is not known, the place that says so)."""
        for context in reversed(self.contexts):
            if context.kind == "grad":
                return context.value, context.site
            if context.kind == "unknown":
                return None, context.site
        switched = self.store.get(self.graph_key, "grad", (True, None))
        return switched if switched is not None else (None, None)  # switched on some paths only

    def context_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        if name == "enter_context" and args:
            return self.enter(args[0], node)
        if name == "__enter__":
            return self.enter(owner, node)
        return Opaque(name, "call")


def _leaves_autograd_alone(value: Value) -> bool:
    """Whether what a `with` enters is of a library that knows nothing of autograd, or was made by something of it."""
    for _ in range(_FARTHEST):
        if not isinstance(value, (Opaque, Instance)):
            return False
        name = value.type if isinstance(value, Instance) else value.name or ""
        package, _, rest = name.partition(".")
        if rest and (package in _WITHOUT_AUTOGRAD or package in sys.stdlib_module_names and package != "contextlib"):
            return True
        if name in _OF_CONTEXTLIB or _WRITERS.match(name):
            return True
        value = value.origin if isinstance(value, Opaque) else None
    return False
