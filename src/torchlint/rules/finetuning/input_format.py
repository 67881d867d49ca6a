"""012: an image array of height, width, channels goes to a convolution as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Opaque, Ref, Value, number, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.read_images import image_as_read, written_input
from torchlint.rules.shared.reached import may_be_dead

CODE = 12
_MODELS = re.compile(r"^(?:torchvision\.models\.(?!detection|video)[\w.]+|timm\.(?:models\.)?create_model)$")


def check(view: View) -> Iterator[Report]:
    """`conv(torch.from_numpy(cv2.imread(path)).float()[None])`."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    for event in view.of("forward"):
        if not event.get("args") or not _takes_images(view, event.subject) or may_be_dead(event):
            continue
        image = image_as_read(event)
        if image is None or image.site is None:
            continue
        reader = image.name if image.name.startswith(("cv2.", "PIL.")) else image.name.rpartition(".")[2] or "its reader"
        roles = {"call": view.call_text(event.site), "reader": f"`{reader}`", "name": _name(event)}
        yield Report(CODE, event.site, roles, [(image.site, "the image is read here")])


def _takes_images(view: View, subject: Value | None) -> bool:
    """Whether this is a convolution over images of one, three or four channels, or a model that begins with one."""
    if isinstance(subject, Opaque):
        return bool(_MODELS.match(subject.name or ""))
    if not isinstance(subject, Instance) or not isinstance(subject.cls, Ref):
        return False
    if subject.type == "torch.nn.Sequential":
        first = real(subject.args[0]) if subject.args else ()
        return len(first) == 1 and _takes_images(view, first[0])
    if subject.type == "torch.nn.Conv2d":
        channels = subject.arg(0, "in_channels")
        return number(channels) in (1, 3, 4) if channels is not None else False
    return bool(_MODELS.match(subject.type))


def _name(event: Event) -> str:
    written = written_input(event)
    return written if written.isidentifier() else "image"
