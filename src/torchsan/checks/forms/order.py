"""The `[[order]]` forms of rule pages, judged live: after A, B must not come without (or with) C between.

Pages whose pitfall a check of its own looks for are left to that check; so this one serves pages that users add and any
page whose order says it all. `live = "none"` on a page keeps it out.
"""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from torchlint.catalogue.pages import Rule
from torchsan.check import Check
from torchsan.checks import known
from torchsan.own import weakref
from torchsan.program.naming import name_of
from torchsan.report import wording
from torchsan.stream.events import Event


class _Form:
    """One form of one page, and for each subject how far along it is."""

    def __init__(self, rule: Rule, form: dict[str, Any]):
        self.rule = rule
        self.after, self.before = form["after"], form["before"]
        self.expect, self.forbidden = form.get("expect"), form.get("forbidden")
        self.subject = form.get("subject", "")
        self.armed: dict[int, Event] = {}
        self.between: dict[int, Event] = {}


class Order(Check):
    """Things of a training step happen in the wrong order."""

    serves_pages = True

    def __init__(self, watch: Any):
        super().__init__(watch)
        own = {number for cls in known() if cls is not Order for number in cls.numbers}
        self.forms = [
            _Form(rule, form)
            for rule in (*wording.rules(), *watch.pages.values())
            if rule.code not in own and rule.live != "none" and watch.wants(rule.code)
            for form in rule.forms.get("order", ())
            if "after" in form and "before" in form
        ]
        names = {name for f in self.forms for name in (f.after, f.before, f.expect, f.forbidden) if name}
        self.hears = {name: self._heard for name in names}
        self.alive: dict[int, Any] = {}  # weak references to the subjects, by id

    def _heard(self, event: Event) -> None:
        event.where()
        for form in self.forms:
            if event.name not in (form.after, form.before, form.expect, form.forbidden):
                continue
            for subject in self._subjects(form.subject, event):
                key = id(subject)
                if not self._same(key, subject):
                    for other in self.forms:  # a dead subject's id was given to this one
                        other.armed.pop(key, None)
                        other.between.pop(key, None)
                self._advance(form, key, event, subject)

    def _same(self, key: int, subject: Any) -> bool:
        """Whether `key` stood for this very object before; from now on it does."""
        known = self.alive.get(key)
        if known is not None and known() is subject:
            return True
        try:
            self.alive[key] = weakref.ref(subject)
        except TypeError:
            self.alive[key] = lambda: subject
        return False

    def _advance(self, form: _Form, key: int, event: Event, subject: Any) -> None:
        if event.name == form.before and key in form.armed:
            first, between = form.armed[key], form.between.get(key)
            wrong = event if form.expect and between is None else between if form.forbidden else None
            if wrong is not None:
                other = first if wrong is event else event
                name = name_of(subject)
                self.found(
                    form.rule.code,
                    wrong,
                    related=((other, f"the {other.name} it is about"),),
                    **({form.subject: name} if form.subject and name else {}),
                )
            form.between.pop(key, None)
            if form.forbidden or wrong is not None:
                form.armed.pop(key, None)
        if event.name in (form.expect, form.forbidden) and key in form.armed:
            form.between[key] = event
        if event.name == form.after:
            form.armed[key] = event
            form.between.pop(key, None)

    def _subjects(self, kind: str, event: Event) -> list[Any]:
        """The objects of `kind` that an event concerns."""
        if kind == "optimizer":
            if event.name == "optimizer.zero_grad":
                return [account.optimizer for account in self.ledger.touched(event.subject)]
            if event.name == "backward":
                return [account.optimizer for account in event.reached or ()]
            if event.name == "clip":
                return [account.optimizer for account in self.ledger.of(event.subject)]
            if isinstance(event.subject, Optimizer):
                return [event.subject]
            return [event.optimizer] if isinstance(event.optimizer, Optimizer) else []
        if kind == "scheduler":
            if event.name.startswith("scheduler."):
                return [event.subject]
            optimizer = event.subject if isinstance(event.subject, Optimizer) else event.optimizer
            subjects = [known() for known in self.alive.values()]
            return [s for s in subjects if optimizer is not None and getattr(s, "optimizer", None) is optimizer]
        if kind == "scaler" and event.name == "clip":  # whose gradients they are, no scaler knows before it unscales them
            alive = [known() for known in self.alive.values()]
            return [subject for subject in alive if hasattr(subject, "unscale_")]
        if kind:
            return [event.subject] if event.name.startswith(f"{kind}.") or kind in ("model", "module") else []
        return [self.watch]


CHECKS = (Order,)
