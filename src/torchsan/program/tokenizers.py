"""The tokenizer that a program has: found in the frames that run, read without a change of its state.

Only what a known library made is taken: to call a function of the user's would not leave the run as it is. What is asked of
it is `decode` of a list and the names of its special tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, FunctionType, MethodType
from typing import Any

from torchsan.own import os, re
from torchsan.program.variables import variables
from torchsan.program.where import _OURS, _USER, kind_of

_LIBRARIES = frozenset(("transformers", "tokenizers", "tiktoken", "sentencepiece"))
_HOLDERS = frozenset(("transformers", "trl", "accelerate", "datasets", "torch", "lightning", "pytorch_lightning"))
_NAMES = ("processing_class", "tokenizer", "_tokenizer", "processor", "data_collator", "collate_fn", "dataset", "base_dataloader", "trainer")
_ROLES = ("bos", "eos", "pad", "unk", "mask", "sep", "cls")
_DEEP = 3  # a frame's `trainer`, its collator, the tokenizer there
_WIDE = 2000  # things looked at in all
_MARK = re.compile(r"<[|｜][^<>]{1,40}[|｜]>|<(?:start|end)_of_\w+>|\[/?INST\]|</?(?:s|think|tool_call)>")


def is_tokenizer(thing: Any) -> bool:
    """Whether a known library made this, or the user a class of theirs, and it can decode."""
    return any(cls.__module__.partition(".")[0] in _LIBRARIES for cls in type(thing).__mro__) and callable(
        getattr(type(thing), "decode", None)
    ) and any(hasattr(type(thing), name) for name in ("convert_ids_to_tokens", "id_to_token", "n_vocab", "id_to_piece"))


def find(frame: FrameType | None) -> Any:
    """The tokenizer that is nearest to a frame: a variable of it or of those that called it, an attribute of what they hold,
    or what a loader's collate function uses. None where there is none."""
    left = [_WIDE]
    modules: set[int] = set()
    while frame is not None:
        if kind_of(frame.f_code.co_filename) != _OURS:
            found = _among(variables(frame), left)
            if found is None and id(frame.f_globals) not in modules:
                modules.add(id(frame.f_globals))
                names = frame.f_code.co_names if frame.f_code.co_name != "<module>" else tuple(frame.f_globals)
                found = _among([frame.f_globals.get(name) for name in names], left)
            if found is not None:
                return found
        frame = frame.f_back
    return None


def _among(things: Iterable[Any], left: list[int]) -> Any:
    """The tokenizer among things, or in what they hold; of several, one that knows its special tokens."""
    seen: set[int] = set()
    now, best = list(things), None
    for _ in range(_DEEP):
        inside: list[Any] = []
        for thing in now:
            if id(thing) in seen or left[0] <= 0:
                continue
            seen.add(id(thing))
            left[0] -= 1
            if is_tokenizer(thing):
                if hasattr(type(thing), "all_special_ids"):
                    return thing
                best = thing if best is None else best
            else:
                inside.extend(held(thing))
        if best is not None:
            return best
        now = inside
    return None


def held(thing: Any) -> Iterator[Any]:
    """What may hold a tokenizer, by what is in it."""
    if isinstance(thing, MethodType):
        yield thing.__self__
    elif isinstance(thing, FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell))
    elif not isinstance(thing, (type, dict, list, tuple)):
        space = getattr(thing, "__dict__", None)
        if type(space) is dict:
            cls = type(thing)
            if any(base.__module__.partition(".")[0] in _HOLDERS for base in cls.__mro__):
                yield from (space[name] for name in _NAMES if space.get(name) is not None)
            elif kind_of(_file_of(cls)) == _USER:
                yield from list(space.values())


def _file_of(cls: type) -> str:
    function = next((f for f in vars(cls).values() if isinstance(f, FunctionType)), None)
    return "<none>" if function is None else function.__code__.co_filename


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


class Reader:
    """Reads ids: by a tokenizer, or as numbers where there is none or it cannot.

    Attributes:
        name: the tokenizer's class and what it was loaded by; "" for none.
        roles: what special ids are for ("bos", "eos and pad", "mark"), as far as the tokenizer or the model's config says.
    """

    def __init__(self, tokenizer: Any = None, config: Any = None):
        self._decode: Callable[..., str] | None = getattr(tokenizer, "decode", None)
        self.name = "" if tokenizer is None else type(tokenizer).__name__
        loaded = _asked(tokenizer, "name_or_path")
        if isinstance(loaded, str) and loaded:
            self.name += f" of {loaded.rstrip(os.sep).rpartition(os.sep)[2]}" if os.path.isabs(loaded) else f" of {loaded}"
        found: dict[int, list[str]] = {}
        for source in (tokenizer, config):
            for role in _ROLES if source is not None else ():
                for one in _ids(_asked(source, f"{role}_token_id")):
                    if role not in found.setdefault(one, []):
                        found[one].append(role)
            if found:
                break
        self.roles: dict[int, str] = {one: " and ".join(roles) for one, roles in found.items()}
        for one in self._marks(tokenizer):
            self.roles.setdefault(one, "mark")

    @staticmethod
    def _marks(tokenizer: Any) -> Iterator[int]:
        """Tokens that are no text: what a template puts around a turn, and other special ones."""
        yield from _ids(_asked(tokenizer, "all_special_ids"))
        added = _asked(tokenizer, "added_tokens_decoder")
        if isinstance(added, Mapping):
            yield from (one for one, token in added.items() if getattr(token, "special", False) or _MARK.fullmatch(str(token)))

    def text(self, ids: list[int]) -> str:
        """The text of ids."""
        if self._decode is not None and ids:
            for more in ({"skip_special_tokens": False, "clean_up_tokenization_spaces": False}, {"skip_special_tokens": False}, {}):
                try:
                    text = self._decode(ids, **more)
                except TypeError:  # not every library knows these
                    continue
                except Exception:
                    break  # an id that it does not know
                if isinstance(text, str):
                    return text
                break
        return " ".join(map(str, ids))


def _asked(source: Any, name: str) -> Any:
    try:
        return getattr(source, name, None)
    except Exception:
        return None


def _ids(value: Any) -> list[int]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in values if type(one) is int and one >= 0]
