"""Functions of torch's replaced for a short time, such as one forward, and never where torch.compile would see that.

Compiled code asks, whenever it is called, whether the functions in it are still those that it was made of; if not, it
is compiled anew, with the replacements in it. So nothing is replaced while compiled code lives, and where some is made
meanwhile, everything is put back before the compiler looks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

from torchsan.program.compiled import compiled_frames
from torchsan.stream.patches import Patches


class Brief:
    """Replacements that one check of the process at a time has in place; `kind` parts those that replace other things,
    which may stand at the same time."""

    _standing: ClassVar[dict[str, Brief]] = {}

    def __init__(self, kind: str = "layers") -> None:
        self._kind = kind
        self._patches = Patches()
        self._told: Callable[..., Any] | None = None

    def begin(self, replace: Callable[[Patches], None]) -> bool:
        """Let `replace` put functions in place. False, and nothing is done, where that cannot be now."""
        handler = _handler()
        busy = getattr(handler, "_CompilationCallbackHandler__pending_callbacks_counter", 0)  # on another thread
        if self._kind in Brief._standing or busy or _compiled_code_lives():
            return False
        Brief._standing[self._kind] = self
        if handler is not None:
            self._told = handler.register_start_callback(lambda _: self.end())
        replace(self._patches)
        return True

    @property
    def stands(self) -> bool:
        """Whether they are in place: `begin` was called, `end` was not, and nothing was compiled since."""
        return Brief._standing.get(self._kind) is self

    def end(self) -> None:
        """Put back what was replaced. Does nothing where nothing is."""
        if not self.stands:
            return
        del Brief._standing[self._kind]
        told, self._told, handler = self._told, None, _handler()
        if told is not None and handler is not None:  # a list of its own: this may be a walk through the old one
            handler.start_callbacks = [one for one in handler.start_callbacks if one is not told]
        self._patches.undo()


def _handler() -> Any:
    """Where the compiler tells that it begins."""
    return getattr(sys.modules.get("torch._dynamo.callback"), "callback_handler", None)


def _compiled_code_lives() -> bool:
    """Whether there is code that torch.compile has compiled, or tried to, and that may still be called."""
    known = getattr(sys.modules.get("torch._dynamo.convert_frame"), "input_codes", None)
    if known is None:
        return compiled_frames() > 0
    return any(code() is not None for code in list(known.seen))
