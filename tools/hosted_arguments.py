"""Writes src/torchlint/catalogue/hosted_arguments.json: what transformers' trainers and accelerate take, by release.

    python tools/hosted_arguments.py WHEEL...

Each WHEEL is a release as `pip download --no-deps transformers==4.46.3` gives it; the more there are, the closer the table
says when a keyword came and went. Nothing of them is run. The newest release must be among them.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/torchlint/catalogue/hosted_arguments.json"
_CLASSES = {
    "transformers.TrainingArguments": ("training_args.py",),
    "transformers.Seq2SeqTrainingArguments": ("training_args_seq2seq.py", "training_args.py"),
    "transformers.Trainer": ("trainer.py",),
    "transformers.Seq2SeqTrainer": ("trainer_seq2seq.py",),
    "accelerate.Accelerator": ("accelerator.py",),
}
_SAYS = re.compile(r"`?(?:--)?(\w+)`? (?:argument |keyword )?is deprecated[^;]{0,140}?[Uu]se (?:`--)?`?(?:--)?(\w+)`?")


def taken(body: list[ast.stmt], name: str) -> set[str] | None:
    """The keywords of a class: of its `__init__`, or its fields; None where it takes any."""
    found = next((node for node in body if isinstance(node, ast.ClassDef) and node.name == name), None)
    if found is None:
        return set()
    init = next((node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
    if init is None:
        return {node.target.id for node in found.body if isinstance(node, ast.AnnAssign)}
    if init.args.kwarg is not None:
        return None
    return {arg.arg for arg in init.args.args[1:] + init.args.kwonlyargs} | _still(init)


def _still(init: ast.FunctionDef) -> set[str]:
    """The old keywords that transformers' `@deprecate_kwarg` still takes."""
    called = [node for node in init.decorator_list if isinstance(node, ast.Call)]
    return {node.args[0].value for node in called if getattr(node.func, "id", "") == "deprecate_kwarg"}


def read(wheel: Path) -> tuple[str, str, dict[str, set[str] | None], dict[str, str]]:
    """A package, its release, what its classes take, and the new names of keywords that it calls deprecated."""
    package, version = wheel.name.split("-")[:2]
    takes: dict[str, set[str] | None] = {}
    renamed: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as files:
        for full, paths in _CLASSES.items():
            if not full.startswith(package + "."):
                continue
            words: set[str] | None = set()
            for path in paths:
                text = files.read(f"{package}/{path}").decode()
                tree = ast.parse(text)
                name = full.rpartition(".")[2] if path == paths[0] else "TrainingArguments"
                own = taken(tree.body, name)
                words = None if own is None or words is None else words | own
                renamed.update(_renamed(tree))
            takes[full] = words
    return package, ".".join(version.split(".")[:2]), takes, renamed


def _renamed(tree: ast.AST) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(match.groups() for match in _SAYS.finditer(" ".join(node.value.split())))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "deprecate_kwarg":
            new = next((item.value for item in node.keywords if item.arg == "new_name"), None)
            if isinstance(new, ast.Constant):
                found[node.args[0].value] = new.value
    return found


def main(wheels: list[str]) -> None:
    """Writes the table."""
    known: dict[str, dict[str, dict[str, set[str] | None]]] = {}
    renamed: dict[str, str] = {}
    for wheel in wheels:
        package, release, takes, new = read(Path(wheel))
        known.setdefault(package, {})[release] = takes
        renamed.update(new)
    releases = {package: sorted(found, key=lambda text: tuple(map(int, text.split(".")))) for package, found in known.items()}
    keywords = {name: _spans(name, releases[name.partition(".")[0]], known[name.partition(".")[0]], renamed) for name in sorted(_CLASSES)}
    TARGET.write_text(json.dumps({"releases": releases, "keywords": keywords}, indent=1, sort_keys=True) + "\n")


def _spans(name: str, order: list[str], known: dict, renamed: dict[str, str]) -> dict[str, dict[str, str]]:
    """The keywords that came or went: the first and the last known release that takes each, and its new name."""
    if any(known[release][name] is None for release in order):
        return {}
    spans = {}
    for word in sorted(set().union(*(known[release][name] for release in order))):
        has = [release for release in order if word in known[release][name]]
        if len(has) < len(order) and word[0] != "_":
            new = renamed.get(word, "")
            spans[word] = {"first": has[0], "last": has[-1], "instead": new if new in known[order[-1]][name] else ""}
    return spans


if __name__ == "__main__":
    main(sys.argv[1:])
