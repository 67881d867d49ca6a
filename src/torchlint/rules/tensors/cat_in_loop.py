"""421: a tensor grows by cat in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import children
from torchlint.rules.base import Report, View
from torchlint.rules.shared.surroundings import read

CODE = 421
CALLS = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.vstack"})


def check(view: View) -> Iterator[Report]:
    """`outputs = torch.cat([outputs, new])` in a loop."""
    for event in view.of("call"):
        node = event.site.node
        if event.name not in CALLS or not event.loops or not isinstance(node, cst.Call) or not node.args:
            continue
        around = tuple(event.site.parsed.around(event.site.node))
        statement = around[0] if around else None
        if not isinstance(statement, cst.Assign) or not isinstance(node.args[0].value, (cst.List, cst.Tuple)):
            continue
        target = statement.targets[0].target
        written = event.site.parsed.text
        parts = [written(element.value) for element in node.args[0].value.elements]
        loop = next((item for item in around if isinstance(item, (cst.For, cst.While, cst.FunctionDef))), None)
        if written(target) not in parts or not isinstance(loop, (cst.For, cst.While)):
            continue
        if not isinstance(target, (cst.Name, cst.Attribute)):  # x[k] may be another one in each iteration
            continue
        if _slides(loop, written(target), written):
            continue
        roles = {"call": view.call_text(event.site), "value": written(target)}
        yield Report(CODE, event.site, roles, [(event.loops[-1].site, "in every iteration of this loop")])


def _slides(loop: cst.For | cst.While, name: str, written) -> bool:
    """Whether the loop needs what has grown so far (decoding word by word), or begins it anew."""
    todo, uses = [loop.body], 0
    while todo:
        item = todo.pop()
        if isinstance(item, (cst.Name, cst.Attribute)) and written(item) == name:
            uses += 1
            continue
        todo.extend(children(item))
    return uses > 2 or name.split(".")[0] in read(loop.test if isinstance(loop, cst.While) else loop.iter)
