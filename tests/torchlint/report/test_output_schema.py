"""The schema of the JSON output, which is shipped: what is printed fits it, and it names every key that is printed."""

import io
import json
from pathlib import Path

import pytest

import torchlint
from torchlint.findings import Edit, Finding, Fix, Location, Related, Severity
from torchlint.report import Context, Note, write

SCHEMA = json.loads((Path(torchlint.__file__).parent / "report/output_schema.json").read_text(encoding="utf-8"))
jsonschema = pytest.importorskip("jsonschema")

AT = Location("a.py", 3, 2, 4, 5)
FULL = Finding(
    "TS101", "n", "m", AT, "correctness", Severity.WARNING, "h", "u", (Related(Location("b.ipynb", 1, cell=2), "r"),),
    Fix("unsafe", "do", (Edit(AT, "x", "y"),)), 3, (0, 1), 7, {"loss": 1.5},
)


def printed(findings, notes=()):
    out = io.StringIO()
    write("json", findings, out, Context(version="1", lines=lambda at: "", rules={}, problems=[], notes=list(notes), files=1))
    return json.loads(out.getvalue())


def keys(schema):
    """All keys that a schema of an object names, and those of the objects in it."""
    found = set()
    for part in (schema, *schema.get("$defs", {}).values()):
        for name, inner in part.get("properties", {}).items():
            found |= {name} | keys(inner) | keys(inner.get("items", {}))
    return found


def keys_of(value):
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if isinstance(value, dict):
        return set(value) | set().union(*(keys_of(item) for key, item in value.items() if key != "details"))
    return set()


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("findings", [[], [FULL], [Finding("TL101", "n", "m", Location("a.py", 1), "opt-in")]])
def test_what_is_printed_fits(findings):
    told = printed(findings, [Note("judged-in-part", Location("a.py", 4), "x", "a.py:4: x")])
    jsonschema.validate(told, SCHEMA)
    assert len(told) == len(findings) + 1 and keys_of(told) <= keys(SCHEMA)


def test_all_keys_are_used():
    assert keys_of(printed([FULL])) == keys(SCHEMA)


def test_findings_of_real_code_fit():
    found = torchlint.check(Path(__file__).parents[3] / "examples/mistakes.py", isolated=True, cache=False)
    assert found and any(finding.fix for finding in found)
    jsonschema.validate(printed(found), SCHEMA)


@pytest.mark.parametrize("key", ["code", "location", "fingerprint"])
def test_what_lacks_a_key_does_not_fit(key):
    told = printed([FULL])
    del told[0][key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, SCHEMA)
