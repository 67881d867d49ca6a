"""902: the model object itself is pickled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Class, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.call import TEST_FILE

CODE = 902
_NEEDED = re.compile(r"script|trace|jit|quant|prun", re.I)  # models whose form is in no source


def check(view: View) -> Iterator[Report]:
    """`torch.save(model, path)`."""
    for event in view.of("save"):
        given = real(event.args[0]) if len(event.args) > 1 else ()
        if not given or not all(_is_module(value) for value in given) or TEST_FILE.search(event.site.path.replace("\\", "/")):
            continue
        text = event.site.parsed.text(event.site.node.args[0].value)
        if not _NEEDED.search(event.site.text()) and not any(_NEEDED.search(word) for word in event.site.parsed.facts.words) and not _NEEDED.search(event.site.path):
            yield Report(CODE, event.site, {"model": text if len(text) <= 40 else "model"})


def _is_module(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper") and not (isinstance(value.cls, Class) and "?" in value.cls.externals())
    return isinstance(value, Opaque) and type(value) is Opaque and "module" in value.tags and "copy" not in value.tags
