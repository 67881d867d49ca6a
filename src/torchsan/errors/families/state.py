"""Saving and loading: keys and shapes of a state dict, files, pickles."""

from __future__ import annotations

import pickle

from torchsan.errors.family import Family, Said, Seen
from torchsan.own import re

_KEYS = re.compile(r'"([^"]+)"')
_SIZE = re.compile(
    r"size mismatch for (\S+): copying a param with shape (?:torch\.Size\()?(\[.*?\])\)? from checkpoint, the shape in current model is "
    r"(?:torch\.Size\()?(\[.*?\])\)?\."
)
_STRANGER = re.compile(r'parameter named "([^"]+)", expected torch\.Tensor .*? but received <class \'([\w.]+)\'>')
_SHORT = 30  # an expression that is longer is no name
_CONTAINERS = ("state_dict", "model", "model_state_dict", "model_state", "net", "network", "weights", "ema", "module")


def _keys(seen: Seen) -> Said:
    """What is missing, what is too much, and the difference that explains both."""
    missing = _listed(seen.text, "Missing key(s)")
    unknown = _listed(seen.text, "Unexpected key(s)")
    sizes = _SIZE.findall(seen.text)
    facts = [f"`{name}` is {saved} in the file, {own} in the model" for name, saved, own in sizes[:4]]
    if len(sizes) > 4:
        facts.append(f"{len(sizes) - 4} more of other sizes")
    name = seen.arguments()[1].text if len(seen.arguments()) > 1 else "state"
    name = name if len(name) <= _SHORT else "state"
    strangers = _STRANGER.findall(seen.text)
    if strangers and not missing and not unknown and not sizes:
        return Said(
            (f"`{strangers[0][0]}` is of type {strangers[0][1]} in what is loaded",),
            None,
            "a state dict holds tensors by name: `torch.save(model.state_dict(), path)`",
        )
    if missing:
        facts.append(f"not in the file: {_some(missing)}")
    if unknown:
        facts.append(f"not in the model: {_some(unknown)}")
    return Said(tuple(facts), None, _mend(missing, unknown, sizes, name))


def _mend(missing: list[str], unknown: list[str], sizes: list, name: str) -> str:
    if unknown and missing:
        held = [key for key in unknown if key in _CONTAINERS]
        if held:
            return f'the file holds more than the weights: `{name}["{held[0]}"]`'
        prefix = _prefix(missing, unknown)
        if prefix and prefix[0] == "unknown":
            words = {
                "module.": "the model was saved inside of DataParallel or DDP",
                "_orig_mod.": "the model was saved compiled",
            }
            return (
                f'{words.get(prefix[1], "the keys have a prefix")}: `{{key.removeprefix("{prefix[1]}"): value for key, value in {name}.items()}}`; '
                f"save {_saved(prefix[1])} next time"
            )
        if prefix:
            wrapped = "model.module" if prefix[1] == "module." else "the inner model"
            return f"the keys of the model begin with `{prefix[1]}`, those of the file do not: load into {wrapped}"
        if all(len(key.split(".")) > 1 for key in unknown[:4]):
            return "the layers have other names than in the file: make the model as it was when it was saved, or rename the keys"
    if sizes:
        heads = {key.rpartition(".")[0] for key, _, _ in sizes}
        if len(heads) == 1 and not missing:
            head = heads.pop()
            what = f"`{head}`" if head else "the layer"
            return (
                f"make {what} as it was when it was saved, or leave it out, drop its keys and pass `strict=False` "
                f"(which does not forgive sizes by "
                "itself)"
            )
        return "make the model with the settings that it was saved with"
    if missing and not unknown:
        return "the model has layers that the file does not know: the same model as saved, or `strict=False` if they are to start anew"
    return "the file has layers that the model lacks: the same model as saved, or `strict=False` if they are not needed"


def _saved(prefix: str) -> str:
    return {"module.": "`model.module.state_dict()`", "_orig_mod.": "`model._orig_mod.state_dict()`"}.get(
        prefix, "the inner model's"
    )


def _prefix(missing: list[str], unknown: list[str]) -> tuple[str, str] | None:
    """A prefix that one side has and the other has not."""
    for side, longer, shorter in (("unknown", unknown, missing), ("missing", missing, unknown)):
        for key in shorter[:1]:
            for other in longer:
                if other.endswith(f".{key}") or (other.endswith(key) and other != key):
                    prefix = other[: len(other) - len(key)]
                    if prefix.endswith(".") and all(f"{prefix}{one}" in longer for one in shorter[:4]):
                        return side, prefix
    return None


def _listed(text: str, head: str) -> list[str]:
    at = text.find(head)
    line = "" if at < 0 else text[at:].split("\n", 1)[0]
    return _KEYS.findall(line)


def _some(keys: list[str]) -> str:
    more = f" and {len(keys) - 4} more" if len(keys) > 4 else ""
    return ", ".join(f"`{key}`" for key in keys[:4]) + more


def _refused(seen: Seen) -> Said | None:
    name = re.search(r"Unsupported global: GLOBAL (\S+) was not an allowed global", seen.text)
    fact = (f"it holds `{name[1]}`",) if name else ()
    if name and name[1].startswith(("torch.nn", "__main__", "torchvision")):
        return Said(
            fact,
            None,
            "the whole model was pickled: save `model.state_dict()` instead; for a file that you trust, "
            "`torch.load(path, weights_only=False)`",
        )
    if name and name[1].startswith("numpy"):
        return Said(
            fact,
            None,
            "save plain numbers, `float(x)`; for a file that you trust, `torch.load(path, weights_only=False)`",
        )
    if not name and re.search(r"Unsupported operand|invalid load key|Invalid magic", seen.text):
        return Said(
            (),
            None,
            "the file may be none that `torch.save` wrote: a page of a web server or a pointer of git LFS begins "
            "with text",
            "the file cannot be read",
        )
    return Said(fact)


def _thing(seen: Seen) -> Said:
    return Said((re.sub(r" at 0x[0-9a-f]+", "", seen.match["what"]),))


FAMILIES = (
    Family("state-dict-mismatch", r"Error\(s\) in loading state_dict for (?P<cls>\w+)", "the saved weights are not "
           "those of this model", "make the model as it was when it was saved", look=_keys),
    Family("state-dict-expected", r"Expected state_dict to be dict-like, got <class '(?P<type>[\w.]+)'>",
           "what is loaded is no state dict", "`torch.load(path)` for a path; `other.state_dict()` for a model",
           fact="it is of type {type}"),
    Family("load-refused", r"Weights only load failed", "the file holds more than tensors, and may run code when it "
           "is loaded", "for a file that you trust, `torch.load(path, weights_only=False)`; else "
           "`torch.serialization.add_safe_globals([...])`", look=_refused, kinds=(pickle.UnpicklingError,)),
    Family("load-on-other-device", r"Attempting to deserialize object on (?P<what>a CUDA device|CUDA device "
           r"(?P<n>\d+)) but torch\.cuda\.(?P<why>is_available\(\) is False|device_count\(\) is \d+)",
           "the weights were saved from a GPU that is not here", "`torch.load(path, map_location=\"cpu\")`",
           fact="torch.cuda.{why}"),
    Family("load-broken-file", r"PytorchStreamReader failed|unexpected EOF, expected|storage has wrong byte "
           r"size|invalid header or archive is corrupted|central directory", "the file is cut short or broken",
           "write it again: the program may have ended while it was saved; save to another name first, then rename"),
    Family("load-empty-file", r"^(Ran out of input)?$", "the file is empty", "write it again: the program may have "
           "ended while it was saved", inside=r"torch/(serialization|_weights_only_unpickler)\.py:", kinds=(EOFError,)),
    Family("load-no-checkpoint", r"^(Memo value not found at index \d+|invalid load key, .*|\d+|Unsupported operand "
           r"\d+)$", "the file is none that `torch.save` wrote", "look at what it holds: a page of a web server or a "
           "pointer of git LFS begins with text", inside=r"torch/(serialization|_weights_only_unpickler)\.py:",
           kinds=(pickle.UnpicklingError, KeyError)),
    Family("save-nowhere", r"Parent directory (?P<path>.+) does not exist", "the folder to save to is not there",
           "`os.makedirs(folder, exist_ok=True)` first", fact="{path}"),
    Family("save-full-disk", r"PytorchStreamWriter failed writing|No space left on device|unexpected pos \d+ vs \d+",
           "the file could not be written whole", "the disk is full or its quota used up: delete old checkpoints, or "
           "keep the last few"),
    Family("save-local", r"Can't (?:pickle|get local object) (?P<what>.*?)(: .*)?$", "something that is no value of a "
           "module's cannot be pickled", "save `model.state_dict()`; for workers that are spawned, define functions "
           "and classes on the level of the module (no lambda)", look=_thing,
           kinds=(pickle.PicklingError, AttributeError, TypeError)),
    Family("pickle-handle", r"cannot pickle '(?P<type>[\w.]+)' object", "something that lives in this process only is "
           "pickled", "leave it out of what is saved or given to workers: open files and connections there",
           fact="it is of type {type}", kinds=(TypeError,)),
)
