"""What is meant, not how it is written: a page's bad block that is written in another way is still found, and a good one stays
silent. A part of all that is drawn by a fixed seed; `python -m tests.torchlint.test_rewrites` tries everything."""

import ast
import copy
import random
import re
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest

from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue
from torchlint.engine import Engine

from .rewrites import of_batches, of_calls, of_classes, of_loops, of_programs

REWRITES = {
    name: function
    for module in (of_calls, of_classes, of_loops, of_batches, of_programs)
    for name, function in vars(module).items()
    if not name.startswith("_") and getattr(function, "__module__", "") == module.__name__ and name != "over_loops"
}
SEED, BAD_ONES, GOOD_ONES = 16, 14, 6
DEFAULT = {rule.code for rule in catalogue() if rule.group in DEFAULT_GROUPS}
_TEXT = "the rule reads the text, and that says it in another way now"
_SIZE = "the batch size is looked for in the call that makes the loader, and in the loop over it"
_ELSEWHERE = "what uses it stands in another file, or what it is built for does"
_CALLER = "what the step is given is with who calls it"
_MODULE = "a mixed-in class is of no module by itself"
# What is not seen through a rewrite, or said because of it: by rewrite, the numbers of the pages, and why.
NOT_YET = {
    "keywords": {310: _TEXT},
    "partial": {208: _SIZE},
    "options": {208: _SIZE},
    "another_name": dict.fromkeys((402, 605, 905, 908, 941), _TEXT),
    "star_import": dict.fromkeys((506, 522), _ELSEWHERE),
    "model_file": dict.fromkeys((506, 522), _ELSEWHERE),
    "in_two_files": dict.fromkeys((208, 502, 923, 933), _ELSEWHERE),
    "in_dict": {502: _TEXT},
    "in_dataclass": {603: _TEXT},
    "step_of_batch": {105: _CALLER, 430: _TEXT},
    "epoch_function": {904: "only reads behind the outermost loop count"},
    "grad_switched": {114: "where gradients are switched on, so is what is computed there"},
    "moved": {402: "the model is moved now, which was not said before"},
    "base_class": dict.fromkeys((208, 402, 503, 506), _ELSEWHERE),
    "mixin": dict.fromkeys((204, 402, 506), _MODULE),
    "wrapped_model": {522: "the attribute is that of the wrapper now"},
    "program_object": {110: "an attribute may be read anywhere", 208: _SIZE},
    "callbacks": {106: _TEXT, 905: _TEXT, 705: "the step stands in a loop of its own"},
    "generator": dict.fromkeys((208, 309, 310, 316, 603, 802), _SIZE),
    "yields_from": dict.fromkeys((208, 310, 316), _SIZE),
    "endless": {309: _SIZE, **dict.fromkeys((603, 611, 801, 802), "there is no loop over epochs any more")},
    "in_dicts": {502: _TEXT},
    "wrapped_loader": dict.fromkeys((208, 316), _SIZE),
    "step_function": {430: _TEXT, 904: "only reads behind the outermost loop count"},
    "unseen_step": {**dict.fromkeys((401, 603, 614, 801), _CALLER), **dict.fromkeys((123, 127), "a method is no program"), 310: _TEXT},
    "counted": dict.fromkeys((111, 122, 603, 611), "what counts epochs is known by its `for`"),
}


@lru_cache(maxsize=None)
def engine():
    return Engine(tuple(catalogue()))


@lru_cache(maxsize=None)
def blocks():
    """The blocks of all pages that parse: by number, "bad" if one is to be found, and place on the page."""
    found = {}
    for page in catalogue():
        for place, block in enumerate(page.examples()):
            bad = block.bad and re.search(rf"# <- [\d, ]*\b{page.code}\b", block.code) is not None
            if bad or block.good:
                try:
                    found[page.code, "bad" if bad else "good", place] = ast.parse(block.code)
                except SyntaxError:
                    pass
    return found


def codes(program, folder):
    """The numbers that are found in a program of one file or of several."""
    files = program if isinstance(program, dict) else {"train.py": program}
    texts = {name: ast.unparse(ast.fix_missing_locations(tree)) + "\n" for name, tree in files.items()}
    if len(texts) > 1:  # of a folder that was looked at before, the engine knows what lay there
        folder = Path(tempfile.mkdtemp(dir=folder))
        for name, text in texts.items():
            (folder / name).write_text(text)
    return {f.number for name, text in texts.items() for f in engine().check(str(folder / name) if len(texts) > 1 else name, text).findings}


@lru_cache(maxsize=None)
def as_it_stands(name):
    return frozenset(codes(copy.deepcopy(blocks()[name]), None))


def tried(rewrite, name, folder):
    """What is wrong with a block after a rewrite: "lost", "loud", "" where all is well; None where it cannot be rewritten."""
    tree = blocks()[name]
    code, kind, _ = name
    if kind == "bad" and code not in as_it_stands(name):
        return None
    new = rewrite(copy.deepcopy(tree))
    if new is None:
        return None
    found = codes(new, folder)
    if kind == "bad":
        return "" if code in found else "lost"
    return "loud" if (found - as_it_stands(name)) & DEFAULT else ""


def drawn(rewrite, kind, most):
    """Some blocks, to be tried until there are enough that a rewrite applies to; a new page changes little of which they are."""
    names = [name for name in blocks() if name[1] == kind]
    return sorted(names, key=lambda name: random.Random(f"{SEED} {rewrite} {name}").random())[: most * 3]


@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_rewrite_changes_nothing(rewrite, tmp_path):
    wrong = []
    for kind, most in (("bad", BAD_ONES), ("good", GOOD_ONES)):
        tries = 0
        for name in drawn(rewrite, kind, most):
            result = tried(REWRITES[rewrite], name, tmp_path)
            tries += result is not None
            if result and name[0] not in NOT_YET.get(rewrite, {}):
                wrong.append((result, *name))
            if tries == most:
                break
    assert not wrong


def test_there_are_enough():
    assert len(REWRITES) >= 20


def main():
    kept = wanted = noisy = 0
    with tempfile.TemporaryDirectory() as folder:
        for rewrite, function in REWRITES.items():
            if len(sys.argv) > 1 and rewrite not in sys.argv[1:]:
                continue
            results = {name: tried(function, name, Path(folder)) for name in blocks()}
            bad = [name for name, result in results.items() if result is not None and name[1] == "bad"]
            lost = [f"{name[0]}:{name[2]}" for name in bad if results[name] == "lost"]
            loud = [f"{name[0]}:{name[2]}" for name, result in results.items() if result == "loud"]
            kept, wanted, noisy = kept + len(bad) - len(lost), wanted + len(bad), noisy + len(loud)
            print(f"{rewrite:18} {len(bad) - len(lost):4} of {len(bad):4} found; lost: {' '.join(lost)}; loud: {' '.join(loud)}", flush=True)
    print(f"{kept} of {wanted} found = {100 * kept / max(wanted, 1):.1f} %, {noisy} good blocks with a new finding")


if __name__ == "__main__":
    main()
