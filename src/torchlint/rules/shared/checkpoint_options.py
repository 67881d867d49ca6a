"""Options of a program that name a checkpoint for its training to begin with, by what they are called and what their help says."""

from __future__ import annotations

import re

from torchlint.dryrun.source_text import Site
from torchlint.rules.shared.blocks import heads_of

# The data that weights come from which were trained for something else; its little sisters are data to train on.
IMAGENET = r"(?<!mini)(?<!mini[-_])(?<!tiny)(?<!tiny[-_])imagenet"
_ADDED = re.compile(r"add_(?:argument|option)\(.*?[\"']--([\w-]+)")
_ASKED = re.compile(r"\s*(?:el)?if\b[^#]*?(?<![\w.])(?:args?|opts?|options?|params|flags)\.(\w+)", re.IGNORECASE)
_ABSENT = re.compile(r"\bnot\s+(?!None\b)|\bis\s+None\b|==\s*(?:None\b|\"\"|'')")
_CHECKPOINT = re.compile(
    r"(?:(?:load|from|start|last|train|(?:\w+_)?(?:network|net|model|generator|discriminator))_)?"
    r"(?:checkpoint|ckpt|chkpt|snapshot)(?:_(?:path|file|name))?",
    re.IGNORECASE,
)
_LOAD = re.compile(r"load(?:_?(?:model|path|from|file))?", re.IGNORECASE)
_INTERRUPTED = re.compile(r"\s*except\b.*\bKeyboardInterrupt\b")
# What a file says of weights that something else is done with, or of parts of a model that are not trained.
_OTHERWISE = re.compile(
    r"add_(?:argument|option)\(\s*(?:[\"']-\w+[\"'],\s*)?[\"'](?:--)?(?:(?:do|is|only|run)[-_])?(?:"
    r"(?:test|eval(?:uate|uation)?|infer(?:ence)?|predict(?:ion)?|demo|play|render|show|watch"
    r"|mode|phase|stage|action|task|command|train(?:ing)?)"
    r"(?:[-_](?:only|mode|model))?[\"']"
    r"|pre-?_?train|fine-?_?tun|transfer)"
    r"|requires_grad\s*=\s*False|requires_grad_\(False|strict\s*=\s*False|\bargv\b",
    re.IGNORECASE,
)
_OTHER_WEIGHTS = re.compile(
    rf"pre-?_?train|fine-?_?tun|transfer|{IMAGENET}|coco|teacher|\binit|(?<!la)(?<!grea)test|eval|infer|predict", re.IGNORECASE
)
_GOES_ON = re.compile(r"to continue training|continu\w* (?:the )?(?:train|from|form)|resum|restart", re.IGNORECASE)
_TUNED = re.compile(rf"fine-?_?tun|transfer|{IMAGENET}", re.IGNORECASE)


def help_of(lines: list[str], option: str) -> str | None:
    """What is written of an option where it is added; None where that is in no line."""
    for row, line in enumerate(lines):
        added = _ADDED.search(line)
        if added is not None and added[1].replace("-", "_") == option:
            return " ".join((line, *_rest_of_call(lines[row + 1 : row + 4])))
    return None


def _rest_of_call(lines: list[str]) -> list[str]:
    """The lines of a call behind its first one, up to the next call."""
    until = next((at for at, line in enumerate(lines) if re.search(r"add_(?:argument|option)|parse", line)), len(lines))
    return lines[:until]


def helped(lines: list[str], asks: list[str]) -> bool:
    """Whether the help of an option that an `if` asks for says that a training goes on."""
    said = [help_of(lines, name) for line in asks for name in re.findall(r"\.(\w+)", line)]
    return any(text is not None and _GOES_ON.search(text) and not _TUNED.search(text) for text in said)


def goes_on_from_option(site: Site) -> bool:
    """Whether a load stands under an `if` that asks for an option that is called a checkpoint, in a program that does nothing but
    train: `if args.checkpoint: model.load_state_dict(torch.load(args.checkpoint))`; or for one to load, where the weights are
    saved when the training is interrupted."""
    lines, row = site.parsed.facts.lines, site.location().row
    asks = [line.split("#", 1)[0] for line in heads_of(lines, row) if line.lstrip().startswith(("if ", "elif "))]
    asked = _ASKED.match(asks[0]) if asks else None
    if asked is None or any(map(_ABSENT.search, asks)):
        return False
    if not _CHECKPOINT.fullmatch(asked[1]) and not (_LOAD.fullmatch(asked[1]) and _saves_when_interrupted(lines)):
        return False
    said = help_of(lines, asked[1])
    return said is not None and not _OTHER_WEIGHTS.search(said) and does_nothing_but_train(lines)


def does_nothing_but_train(lines: list[str]) -> bool:
    """Whether a file has no option to do something else with weights than to train all of them."""
    return not any(map(_OTHERWISE.search, lines))


def _saves_when_interrupted(lines: list[str]) -> bool:
    """Whether weights are written where somebody stops the training by hand."""
    caught = [row for row, line in enumerate(lines) if _INTERRUPTED.match(line)]
    return any("torch.save(" in line for row in caught for line in lines[row + 1 : row + 4])
