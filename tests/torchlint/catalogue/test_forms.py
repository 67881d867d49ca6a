"""The forms of pages: what does not do what it says is refused when the page is read, with the place and what would be right."""

from pathlib import Path

import pytest

from torchlint.catalogue.apis import holds, names_in
from torchlint.catalogue.pages import PageError, catalogue, read_page

WRONG = sorted((Path(__file__).parents[3] / "fixtures/own_rules/wrong").glob("*.md"))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_page_is_refused_in_its_own_words(path):
    expected = path.read_text(encoding="utf-8").split("Refused with:")[1].strip()
    with pytest.raises(PageError) as caught:
        read_page(path)
    assert str(caught.value) == expected.replace("{path}", str(path))


def test_there_are_wrong_pages_of_every_form():
    assert {path.stem.partition("-")[0] for path in WRONG} >= {"call", "trait", "order", "form", "message"}


def test_names_of_torch():
    assert "Linear" in names_in("torch.nn") and "Liner" not in names_in("torch.nn")
    assert names_in("torch.nn.Linear") == frozenset()  # nothing is called on the class itself
    assert "from_pretrained" in names_in("torch.nn.Embedding")
    assert names_in("torch.package") is None  # is not read


def test_what_pages_of_ours_name_is_there():
    """All of them were read, so their names passed."""
    assert any("call" in rule.forms for rule in catalogue())


@pytest.mark.parametrize(
    ("limit", "version", "expected"),
    [("<2.6", (2, 5), True), ("<2.6", (2, 6), False), ("<=2.6", (2, 6), True), (">2.6", (2, 6), False), (">=2.6", (2, 6), True),
     (">2.6", (2, 10), True), ("<2.6", None, False)],
)
def test_bounds(limit, version, expected):
    assert holds(limit, version) is expected
