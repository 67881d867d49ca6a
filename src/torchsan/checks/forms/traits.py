"""301, 302, 303 and every page with a `[[trait]]` form about a loss function: judged by the graph that made the
argument, and where the graph does not tell (compiled models, functions of one's own), by the numbers.
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks import known
from torchsan.own import torch
from torchsan.probes.losses import NAMES
from torchsan.program.autograd_graph import trait_of
from torchsan.program.lines import line_of
from torchsan.report import wording
from torchsan.stream.events import Event, rest

_ARGUMENTS = ("input", "target")
_LOOKS = 3  # calls of one line whose numbers are looked at; all must agree
_FIRST, _EVERY = 32, 16  # calls of a function that are looked at: the first ones, then one in so many
_CLASSES = {
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "BCELoss": "binary_cross_entropy",
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "KLDivLoss": "kl_div",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "SoftMarginLoss": "soft_margin_loss",
}
# What torch's own functions need, for as long as their pages are not there.
_BUILT_IN = {
    301: ("cross_entropy", "probabilities", "not have"),
    302: ("nll_loss", "log-probabilities", "have"),
    303: ("binary_cross_entropy_with_logits", "sigmoid", "not have"),
}


class Traits(Check):
    """The input of a loss has been through an activation that the loss applies itself, or lacks the one it needs."""

    numbers = (301, 302, 303)
    serves_pages = True

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.forms: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        others = {number for cls in known() if cls is not Traits for number in cls.numbers}
        paged = set()
        for rule in (*wording.rules(), *watch.pages.values()):
            if rule.code in others or rule.live == "none" or not watch.wants(rule.code):
                continue
            for form in rule.forms.get("trait", ()):
                for function in _functions(form.get("call", ())):
                    self.forms.setdefault(function, []).append((rule.code, form))
                    paged.add(rule.code)
        for number, (function, trait, must) in _BUILT_IN.items():
            if number not in paged and wording.rules().find(number) is None:
                form = {"argument": "input", "position": 0, "trait": trait, "must": must}
                self.forms.setdefault(function, []).append((number, form))
        self.looks: dict[Any, tuple[int, int]] = {}
        self.calls: dict[str, int] = {}

    def before_loss(self, event: Event) -> None:
        calls = self.calls[event.subject] = self.calls.get(event.subject, 0) + 1
        if calls > _FIRST and calls % _EVERY and not (self.thorough or rest.hears_few):
            return
        for number, form in self.forms.get(event.subject, ()):
            argument = form.get("argument", "input")
            position = _ARGUMENTS.index(argument)
            value = event.args[position] if len(event.args) > position else event.kwargs.get(argument)
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                continue
            if value.requires_grad or argument == "target":  # targets are data, mostly; without a graph, numbers tell
                self._judge(number, form["trait"], form.get("must", "not have") == "have", value, event, argument)

    def _judge(self, number: int, wanted: str, must: bool, value: torch.Tensor, event: Event, argument: str) -> None:
        trait = trait_of(value)
        if trait is None:
            if not self._by_numbers(number, wanted, must, value, event):
                return
            fact = f"seen in the values of {_LOOKS} calls"
        elif (trait == wanted) == must or (must and trait not in ("scores", "probabilities", "sigmoid")):
            return
        else:
            fact = ""
        self.found(number, event, loss=_loss_of(event), call=event.subject, name=argument, fact=fact)

    def _by_numbers(self, number: int, wanted: str, must: bool, value: torch.Tensor, event: Event) -> bool:
        """Whether the first calls of this line all show what is wrong. Numbers are looked at in these calls only."""
        place = event.where()
        key = (number, place and (place.code, place.line))
        seen, wrong = self.looks.get(key, (0, 0))
        if seen >= _LOOKS:
            return wrong == _LOOKS
        has = _has(wanted, value.detach())
        wrong += has is not None and has != must
        self.looks[key] = (seen + 1, wrong)
        return wrong == _LOOKS


def _has(trait: str, value: torch.Tensor) -> bool | None:
    """Whether the numbers show the trait along the class dimension; None where numbers cannot tell."""
    dim = 0 if value.dim() == 1 else 1
    if value.dim() == 0 or value.numel() == 0 or value.shape[dim] < 2:
        return None
    with torch.no_grad():
        value = value.float()
        if trait == "probabilities":
            return bool(value.min() >= 0) and bool(((value.sum(dim) - 1).abs() < 1e-3).all())
        if trait == "log-probabilities":
            # Only a positive value is proof: masked or unnormalised log-likelihoods are somebody's right.
            return None if bool(value.max() <= 1e-3) else False
    return None


def _functions(calls: Any) -> list[str]:
    """Names of torch's loss functions among the qualified names of a form."""
    names = [str(call).rsplit(".", 1)[-1] for call in ([calls] if isinstance(calls, str) else calls)]
    return list(dict.fromkeys(_CLASSES.get(name, name) for name in names if _CLASSES.get(name, name) in NAMES))


def _loss_of(event: Event) -> str:
    """What the user's line calls the loss: the function, if it stands there, or else the class that calls it."""
    place = event.where()
    line = line_of(place.code.co_filename, place.line) if place else ""
    return event.subject if event.subject in line else _class_of(event.subject)


def _class_of(function: str) -> str:
    return next((cls for cls, name in _CLASSES.items() if name == function), function)


CHECKS = (Traits,)
