"""What other files of the project do around the function that a run begins with: each of them is judged, too, with what it hands
over, and knows more than the function by itself."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Opaque
from torchlint.rules.base import View
from torchlint.rules.shared.program_code import code_around

_OFF = re.compile(r"\b(?:no_grad|inference_mode|set_grad_enabled)\b")
_FROZEN = re.compile(r"\brequires_grad_?\b|freez", re.IGNORECASE)


def call_of_a_shared_helper(view: View, event: Event) -> Site | None:
    """Where an evaluation calls the function that its forward stands in, if the training goes through that forward as well: what is
    wrong is this call. None where it does not."""
    learns = [flow for step in view.of("backward") for flow in step.flows if flow.site == event.site]
    trains = {site for flow in learns for site in flow.calls}
    return next((site for site in reversed(event.calls) if site is not None and site not in trains), event.site) if learns else None


def chosen_without_graph(view: View, event: Event) -> bool:
    """Whether a model that cannot be seen is asked for what a flag chooses (`model(z=z, reverse=True)`), and a forward of the program that
    has such a flag stands in a file that switches gradients off: the model may be that one."""
    node = event.site.node
    given = node.args if isinstance(node, cst.Call) else ()
    flags = [arg.keyword.value for arg in given if arg.keyword is not None and isinstance(arg.value, cst.Name) and arg.value.value in ("True", "False")]
    if not flags:
        return False
    asked = re.compile(rf"def forward\([^)]*\b(?:{'|'.join(flags)})\b")
    return any(_OFF.search(code) and asked.search(code) for code in code_around(view, event.site.path).values())


def may_be_without_graph(view: View, event: Event) -> bool:
    """Whether a file that imports this one calls the function that the run began with, and may have switched gradients off, or have
    frozen the model that it hands over. Where it has not, its own run says so."""
    root = view.run.root
    if root is None or root.name.startswith("__"):
        return False
    if (view.run.orphan or view.run.spared) and any(map(_OFF.fullmatch, root.facts.words)):
        return True  # what calls it here could not be run
    project = view.run.world.project_of(root.facts.path)
    if project is None:
        return False
    called = re.compile(rf"(?<!def )\b{re.escape(root.name)}\s*\(")
    users = project.users(root.facts.path)
    if not any(called.search(user.code) for user in users):
        return False
    if any(_OFF.search(user.code) for user in users):
        return True
    handed = type(event.subject) is Opaque and event.subject.source == "param"
    return handed and (any(map(_FROZEN.search, root.facts.words)) or any(_FROZEN.search(user.code) for user in users))
