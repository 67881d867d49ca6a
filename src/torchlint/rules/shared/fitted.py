"""What a library's trainer is given to train on, and goes through once an epoch: `trainer.fit(model, loader)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.values import Event, Instance, Opaque, Value, real
from torchlint.rules.base import View


@dataclass(frozen=True)
class _Trainer:
    """Whose method it is, what the method is called, where the training data stand in a call, and what the call, or the one that
    made the trainer, says of the number of epochs."""

    made: re.Pattern[str]
    method: str
    place: int
    keywords: frozenset[str]
    one_epoch: re.Pattern[str]
    needs: re.Pattern[str] | None = None  # without it there is one epoch, or nobody trains


_TRAINERS = (
    _Trainer(
        re.compile(r"(?:^|\.)(?:pytorch_lightning|lightning)\..*\bTrainer(?:\.from_argparse_args)?$"), "fit", 1,
        frozenset({"train_dataloaders", "train_dataloader"}),
        re.compile(r"max_epochs\s*=\s*1\b|fast_dev_run\s*=\s*(?:True|\d)|overfit_batches"),
    ),
    _Trainer(
        re.compile(r"^ignite\.engine\..*\b(?:Engine|create_supervised_trainer)$"), "run", 0, frozenset({"data"}),
        re.compile(r"max_epochs\s*=\s*1\b"), re.compile(r"max_epochs\s*="),
    ),
    *(
        _Trainer(
            re.compile(r"^(?:poutyne|pytoune)\.(?:.*\.)?(?:Model|ModelBundle|Experiment)$"), method, 0, frozenset({"train_generator"}), re.compile(r"\bepochs\s*=\s*1\b"),
        )
        for method in ("fit_generator", "train")
    ),
    _Trainer(
        re.compile(r"^torchbearer\..*\bTrial$"), "with_train_generator", 0, frozenset({"generator"}), re.compile(r"\bepochs\s*=\s*1\b"),
    ),
    _Trainer(
        re.compile(r"^torchbearer\..*\bTrial$"), "with_generators", 0, frozenset({"train_generator"}), re.compile(r"\bepochs\s*=\s*1\b"),
    ),
)
_METHODS = frozenset(trainer.method for trainer in _TRAINERS)


def fitted(view: View) -> Iterator[tuple[Event, Instance]]:
    """The calls that give a trainer of a library a loader to train on for several epochs, and the loader."""
    for call in view.of("unknown"):
        name = call.get("name")
        if name not in _METHODS or call.site is None or not isinstance(call.site.node, cst.Call):
            continue
        owners = real(call.subject)
        for trainer in _TRAINERS:
            if trainer.method != name or not owners or not all(_for_epochs(trainer, owner, call) for owner in owners):
                continue
            loader = _loader(trainer, call)
            if loader is not None:
                yield call, loader


def _for_epochs(trainer: _Trainer, owner: Value, call: Event) -> bool:
    if not isinstance(owner, Opaque) or owner.source != "call" or owner.site is None or not trainer.made.search(owner.name):
        return False
    text = f"{owner.site.text()} {call.site.text()}"
    return not trainer.one_epoch.search(text) and (trainer.needs is None or trainer.needs.search(text) is not None)


def _loader(trainer: _Trainer, call: Event) -> Instance | None:
    given = call.get("args", ())
    for place, arg in enumerate(call.site.node.args):
        name = arg.keyword.value if arg.keyword is not None else ""
        if place < len(given) and (name in trainer.keywords or not name and not arg.star and place == trainer.place):
            alts = real(given[place])
            return alts[0] if len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].kind == "loader" else None
    return None
