"""Begin a rule: the page, the matcher and the check, each in its area's folder, with what is left to be written marked TODO.

    python tools/new_rule.py 141 frozen-batchnorm-drifts --area gradients
    python tools/new_rule.py 142 step-before-clip --area gradients --form order     # a form judges it: a page is all it takes
    python tools/new_rule.py 143 drifting-ema --area gradients --without check      # the source shows it, a run does not

Nothing is written over, and nothing is written where anything is wrong. CONTRIBUTING.md leads on from here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from torchlint.catalogue.pages import AREAS, GROUPS, NAME, catalogue  # noqa: E402

FORMS = {  # each with values that the form takes, so that the page can be read from the start
    "order": '# TODO: events of torchlint.catalogue.vocabulary.EVENTS\n[[order]]\nafter = "optimizer.step"\nbefore = "backward"\n'
    'expect = "optimizer.zero_grad"\nsubject = "optimizer"\n',
    "trait": '# TODO: traits of torchlint.catalogue.vocabulary.TRAITS\n[[trait]]\ncall = ["torch.nn.functional.nll_loss"]\n'
    'argument = "input"\nmust = "not have"\ntrait = "probabilities"\n',
    "call": '# TODO: a qualified name, and what makes a call of it wrong\n[[call]]\nname = "torch.save"\nmissing = "f"\n',
}
JUDGED_LIVE = ("order", "trait")  # by both tools; a call is a matter of the source

PAGE = '''+++
code = {code}
name = "{name}"
summary = "TODO: what is wrong, in half a line"
group = "{group}"
since = "{since}"
message = "TODO: what happens, in the user's words; a word in braces, as {{loss}}, is filled in"
help = "TODO: what to type"
{judged}+++
## What goes wrong

TODO: for somebody who has just been told of a mistake that they do not believe in.

## Why

TODO: what PyTorch really does. A test in tests/facts/ asks it.

## Bad

```python bad run
import torch

# TODO: the mistake, as people make it
torch.zeros(1)  # <- {code:03d}
```

## Good

```python good run
import torch

# TODO: the same, right
torch.zeros(1)
```

## When it is right

TODO: code that looks like the mistake and is none, each with a good block.

## Known limitations

- TODO

## Sources

- TODO
'''

MATCHER = '''"""{code:03d}: TODO: what is wrong, in half a line."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View

CODE = {code}


def check(view: View) -> Iterator[Report]:
    """TODO: which events tell of it. The words fill the page's message."""
    for event in view.of("backward"):
        if False:  # TODO
            yield Report(CODE, event.site, {{"loss": view.call_text(event.site)}})
'''

CHECK = '''"""{code:03d}: TODO: what is wrong, in half a line."""

from __future__ import annotations

from torchsan.check import Check
from torchsan.stream.events import Event


class {cls}(Check):
    """TODO: how the run shows it."""

    numbers = ({code},)

    def on_backward(self, event: Event) -> None:
        if False:  # TODO
            self.found({code}, event, loss="loss")


CHECKS = ({cls},)
'''


class Wrong(Exception):
    """What was asked for cannot be made; the text says why."""


def files(
    code: int, name: str, area: str, group: str, form: str | None = None, without: Sequence[str] = (), since: str = "0.1"
) -> dict[Path, str]:
    """The files of a rule that is begun, by path from the top of the repository.

    Raises:
        Wrong: the number, the name or a part cannot be used.
    """
    if area not in AREAS.values():
        raise Wrong(f"--area {area}: is none of {', '.join(AREAS.values())}")
    if AREAS.get(code // 100) != area:
        its = next(digit for digit, known in AREAS.items() if known == area)
        raise Wrong(f"{code:03}: numbers of {area} are {its}00 to {its}99")
    if not NAME.fullmatch(name):
        raise Wrong(f"{name!r}: a name is made of small letters, digits and hyphens, as missing-zero-grad")
    if form and without:
        raise Wrong(f"--form {form}: a page with a form has neither a matcher nor a check to leave out")
    if set(without) >= {"matcher", "check"}:
        raise Wrong("--without matcher --without check: nobody would judge it")
    known = catalogue()
    for taken in (known.find(code), known.find(name)):
        if taken is not None:
            raise Wrong(f"{taken.code} {taken.name} is there already: {Path(taken.path).relative_to(ROOT)}")
    if form:
        judged = ("" if form in JUDGED_LIVE else 'live = "none"\n') + f"\n{FORMS[form]}"
    else:
        parts = {"lint": "matcher", "live": "check"}
        judged = "".join(f'{tool} = "{"none" if part in without else "custom"}"\n' for tool, part in parts.items())
    stem, folder = name.replace("-", "_"), area
    made = {Path("rules", folder, f"{code:03}-{name}.md"): PAGE.format(code=code, name=name, group=group, since=since, judged=judged)}
    if not form and "matcher" not in without:
        made[Path("src/torchlint/rules", folder, f"{stem}.py")] = MATCHER.format(code=code)
    if not form and "check" not in without:
        cls = re.sub(r"(?:^|_)(\w)", lambda letter: letter[1].upper(), stem)
        made[Path("src/torchsan/checks", folder, f"{stem}.py")] = CHECK.format(code=code, cls=cls)
    return made


def write(made: dict[Path, str], root: Path = ROOT) -> None:
    """Write all of them, or none.

    Raises:
        Wrong: one is there already.
    """
    for path in made:
        if (root / path).exists():
            raise Wrong(f"{path}: is there already")
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Begin a rule; the exit status is 2 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("code", type=int, help="its number: the first digit is the area's")
    parser.add_argument("name", help="its name, as missing-zero-grad")
    parser.add_argument("--area", required=True, help=f"the folder: {', '.join(AREAS.values())}")
    parser.add_argument("--group", default="suspicious", choices=GROUPS)
    parser.add_argument("--form", choices=FORMS, help="judged by a form in the page, so that no code is needed")
    parser.add_argument("--without", action="append", default=[], choices=("matcher", "check"),
                        help="what cannot tell it: the source (matcher) or the run (check)")
    asked = parser.parse_args(argv)
    try:
        made = files(asked.code, asked.name, asked.area, asked.group, asked.form, asked.without)
        write(made)
    except Wrong as error:
        print(f"new_rule.py: error: {error}", file=sys.stderr)
        return 2
    for path in made:
        print(path)
    print(f"next: the page's blocks, then python -m pytest tests/torchlint/test_pages.py tests/torchsan/test_pages.py -k {asked.code:03}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
