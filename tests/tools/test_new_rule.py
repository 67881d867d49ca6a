"""The script that begins a rule: what it writes can be read and loaded, and nothing is written over."""

import importlib.util
import sys
from pathlib import Path

import pytest

from torchlint.catalogue.pages import GROUPS, catalogue, read_page
from torchlint.rules.base import View  # noqa: F401  what a matcher is given

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import new_rule  # noqa: E402

FREE = next(code for code in range(199, 100, -1) if catalogue().find(code) is None)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_matcher_and_check(tmp_path):
    new_rule.write(new_rule.files(FREE, "drifting-statistics", "gradients", "suspicious"), tmp_path)
    page = read_page(tmp_path / f"rules/gradients/{FREE}-drifting-statistics.md")
    assert (page.code, page.name, page.lint, page.live) == (FREE, "drifting-statistics", "custom", "custom")
    assert [block.bad for block in page.examples()] == [True, False]
    matcher = load(tmp_path / "src/torchlint/rules/gradients/drifting_statistics.py")
    assert matcher.CODE == FREE and callable(matcher.check)
    pytest.importorskip("torch")
    (check,) = load(tmp_path / "src/torchsan/checks/gradients/drifting_statistics.py").CHECKS
    assert check.numbers == (FREE,) and check.__name__ == "DriftingStatistics"


@pytest.mark.parametrize("form", new_rule.FORMS)
def test_a_form_needs_a_page_alone(form, tmp_path):
    made = new_rule.files(FREE, "drifting-statistics", "gradients", next(iter(GROUPS)), form)
    new_rule.write(made, tmp_path)
    (path,) = made
    page = read_page(tmp_path / path)
    assert list(page.forms) == [form] and not page.lint


def test_parts_can_be_left_away():
    made = new_rule.files(FREE, "drifting-statistics", "gradients", "suspicious", None, ["check"])
    assert [path.suffix for path in made] == [".md", ".py"] and 'live = "none"' in next(iter(made.values()))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((101, "drifting", "gradients"), "is there already: rules/gradients/101"),
        ((FREE, "missing-zero-grad", "gradients"), "is there already: rules/gradients/101"),
        ((FREE, "drifting", "losses"), "numbers of losses are 300 to 399"),
        ((FREE, "drifting", "gradient"), "is none of finetuning, "),
        ((FREE, "Drifting", "gradients"), "small letters"),
        ((FREE, "../drifting", "gradients"), "small letters"),
    ],
)
def test_what_cannot_be_is_said(given, why, capsys):
    code, name, area = given
    assert new_rule.main([str(code), name, "--area", area]) == 2
    error = capsys.readouterr().err
    assert why in error and len(error.splitlines()) == 1


def test_nothing_is_written_over(tmp_path):
    made = new_rule.files(FREE, "drifting-statistics", "gradients", "suspicious")
    *_, last = made
    (tmp_path / last).parent.mkdir(parents=True)
    (tmp_path / last).write_text("mine")
    with pytest.raises(new_rule.Wrong, match="is there already"):
        new_rule.write(made, tmp_path)
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"]
