"""The JSON schema of the settings: made of the types that check them, and of one mind with them."""

import json
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.torchlint.settings.test_config import FULL, MISTAKES
from torchlint.catalogue.pages import GROUPS, tomllib
from torchlint.settings.keys import KEYS, Settings

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
import settings_schema  # noqa: E402

SCHEMA = json.loads(settings_schema.PLACE.read_text(encoding="utf-8"))
VALIDATORS = [jsonschema.Draft7Validator(SCHEMA), jsonschema.Draft202012Validator(SCHEMA)]
WRONG_TYPES = [text for text, message in MISTAKES if "not valid TOML" not in message]


def admits(settings):
    """Whether the schema takes these settings, by each edition of JSON schema that editors go by."""
    (verdict,) = {validator.is_valid(settings) for validator in VALIDATORS}
    return verdict


def fits(settings):
    try:
        msgspec.convert(settings, Settings)
    except msgspec.ValidationError:
        return False
    return True


def section(text):
    return tomllib.loads(text)["tool"]["torchlint"]


def test_file_is_what_the_types_say():
    assert settings_schema.PLACE.read_text(encoding="utf-8") == settings_schema.text(), "run python tools/settings_schema.py"


def test_schema_is_one():
    for validator in VALIDATORS:
        validator.check_schema(SCHEMA)


def test_every_key_is_explained_with_an_example_that_holds():
    assert tuple(SCHEMA["properties"]) == KEYS
    for key, told in SCHEMA["properties"].items():
        assert told["description"].endswith(".")
        for value in (*told["examples"], *([told["default"]] if "default" in told else ())):
            assert admits({key: value}) and fits({key: value})


def test_good_settings_are_admitted():
    assert admits({}) and admits(section(FULL))


@pytest.mark.parametrize("text", WRONG_TYPES)
def test_mistakes_are_seen_by_the_schema_too(text):
    assert not admits(section(text))


words = st.sampled_from(["TL1", "error", "note", "2.6", " 2.6.1+cu118 ", "2", "2.6.1.dev", "", *GROUPS])
values = st.recursive(
    words | st.integers() | st.floats(allow_nan=False) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*KEYS, "per_file_ignores", "x"]), values, max_size=2))
@example({"severity": {"correctness": "error", "x": "error"}})
def test_schema_and_types_agree(settings):
    assert admits(settings) == fits(settings)
