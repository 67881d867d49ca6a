"""While the project has no site nothing that is printed leads to one; once it has, everything leads to the same page."""

import io
import json

import pytest

import torchlint.addresses
from tests.torchlint.fake_engine import finding
from torchlint.catalogue.pages import catalogue
from torchlint.report import FORMATS, Context, rdjson, sarif, write

RULE = catalogue().rules[101]


def told(format, one, **context):
    out = io.StringIO()
    write(format, [one], out, Context(rules={101: RULE}, **context))
    return out.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_without_a_site_nothing_leads_to_one(format):
    assert torchlint.addresses.SITE == "", "once there is a site this test has had its time"
    text = told(format, finding(url=RULE.url))
    assert "readthedocs" not in text
    if format == "full":
        assert "see: torchlint explain TL101" in text


def test_own_rules_are_explained_by_the_command_too_and_unknown_ones_by_nothing():
    assert "see:" not in told("full", finding(code="TL998", url=""))


@pytest.fixture
def site(monkeypatch):
    for module in (torchlint.addresses, sarif, rdjson):
        monkeypatch.setattr(module, "SITE", "https://example.org")


def test_with_a_site_all_formats_lead_to_the_page(site):
    assert RULE.url == "https://example.org/rules/101-missing-zero-grad/"
    one = finding(url=RULE.url)
    assert f"see: {RULE.url}" in told("full", one)
    driver = json.loads(told("sarif", one))["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == "https://example.org" and driver["rules"][0]["helpUri"] == RULE.url
    assert json.loads(told("rdjson", one))["source"]["url"] == "https://example.org"


def test_sarif_and_rdjson_without_a_site_have_no_empty_addresses():
    driver = json.loads(told("sarif", finding(url="")))["runs"][0]["tool"]["driver"]
    assert "informationUri" not in driver and "helpUri" not in driver["rules"][0]
    assert "url" not in json.loads(told("rdjson", finding(url="")))["source"]
