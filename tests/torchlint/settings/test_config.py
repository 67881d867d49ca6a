"""Settings: found, read, and mistakes in them named with their line; rules selected; torch releases inferred."""

from pathlib import Path

import pytest

from tests.torchlint.support import write
from torchlint.catalogue.pages import Catalogue, PageError, Rule, read_page
from torchlint.findings import Severity
from torchlint.settings.config import CACHE_FOLDER, DEFAULT_EXCLUDES, ConfigError
from torchlint.settings.keys import parse_version
from torchlint.settings.lookup import cache_folder, load
from torchlint.settings.reading import read_config
from torchlint.settings.requirements import lowest_releases
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import SelectorError, active, rules_of

FULL = """\
[project]
name = "x"

[tool.torchlint]
select = ["TL1", "performance"]
ignore = ["TL102"]
extend-select = ["TL2"]
exclude = ["old"]
extend-exclude = ["older/*.py"]
torch-version = "2.6"
cache-dir = "some/cache"

[tool.torchlint.per-file-ignores]
"tests/*" = ["TL101"]

[tool.torchlint.severity]
suspicious = "note"
"""


def config_error(tmp_path, text, name="pyproject.toml"):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_every_key(tmp_path):
    write(tmp_path, {"pyproject.toml": FULL})
    config = read_config(tmp_path / "pyproject.toml")
    assert config.root == tmp_path
    assert config.select == ("TL1", "performance")
    assert config.ignore == ("TL102",)
    assert config.extend_select == ("TL2",)
    assert config.exclude == ("old", "older/*.py")
    assert config.torch_version == (2, 6)
    assert config.cache_dir == cache_folder(config) == tmp_path / "some/cache"
    assert config.per_file_ignores == {"tests/*": ("TL101",)}
    assert config.severity == {"suspicious": Severity.NOTE}


def test_own_file_has_its_keys_at_the_top_and_goes_first(tmp_path):
    write(
        tmp_path,
        {"torchlint.toml": 'extend-exclude = ["x"]\n', "pyproject.toml": "[tool.torchlint]\nignore = ['TL1']\n"},
    )
    config = load([tmp_path])
    assert config.ignore == ()
    assert config.exclude == (*DEFAULT_EXCLUDES, "x")


def test_nearest_file_with_our_section_counts(tmp_path):
    write(
        tmp_path,
        {
            "pyproject.toml": "[tool.torchlint]\nignore = ['TL1']\n",
            "a/pyproject.toml": "[project]\ndescription = 'not torchlint'\n",
            "a/b/pyproject.toml": "[tool.torchlint]\nignore = ['TL2']\n",
            "a/b/x.py": "",
            "a/y.py": "",
        },
    )
    assert load([tmp_path / "a" / "b" / "x.py"]).ignore == ("TL2",)
    assert load([tmp_path / "a"]).ignore == ("TL1",)
    assert load([tmp_path / "a" / "b" / "x.py", tmp_path / "a" / "y.py"]).root == tmp_path
    assert load([tmp_path / "a"], isolated=True).ignore == ()
    assert load([tmp_path], tmp_path / "a/b/pyproject.toml").ignore == ("TL2",)


def test_project_without_settings(tmp_path, monkeypatch):
    write(tmp_path, {"setup.cfg": "[options]\ninstall_requires =\n  numpy\n  torch>=2.1\n", "src/x.py": ""})
    config = load([tmp_path / "src"])
    assert (config.root, config.path, config.torch_version) == (tmp_path, None, (2, 1))
    assert cache_folder(config) == tmp_path / CACHE_FOLDER


def test_no_project_has_its_cache_in_the_working_folder(tmp_path, monkeypatch):
    write(tmp_path, {"nobodys/x.py": "", "here/y": ""})
    monkeypatch.chdir(tmp_path / "here")
    config = load([tmp_path / "nobodys"])
    assert config.root == tmp_path / "nobodys"
    assert cache_folder(config) == tmp_path / "here" / CACHE_FOLDER


MISTAKES = [
    ("[tool.torchlint]\n\nigore = []\n", "3: unknown key 'igore' (did you mean 'ignore'?)"),
    ("[tool.torchlint]\nxyzzy = 1\n", "2: unknown key 'xyzzy'"),
    ("ignore = 1\n[tool.torchlint]\nignore = 'TL1'\n", "3: ignore must be a list of strings"),
    ("[tool.torchlint]\nselect = [1]\n", "2: select must be a list of strings"),
    (
        "[tool.torchlint]\nper_file_ignores = {}\n",
        "2: unknown key 'per_file_ignores' (did you mean 'per-file-ignores'?)",
    ),
    (
        "[tool.torchlint]\nper-file-ignores = []\n",
        "2: per-file-ignores must be a table from file pattern to list of codes",
    ),
    (
        "[tool.torchlint.per-file-ignores]\n'a.py' = 'TL1'\n",
        "2: per-file-ignores of 'a.py' must be a list of strings",
    ),
    ("[tool.torchlint]\nseverity = 'error'\n", "2: severity must be a table from group to severity"),
    (
        "[tool.torchlint.severity]\ncorectness = 'error'\n",
        "2: severity: 'corectness' is no group (did you mean 'correctness'?); groups are correctness, suspicious, "
        "performance, opt-in",
    ),
    (
        "[tool.torchlint]\nseverity.suspicious = 'warn'\n",
        "2: severity of suspicious must be error, warning or note, not 'warn' (did you mean 'warning'?)",
    ),
    (
        "[tool.torchlint]\ntorch-version = 2.6\n",
        '2: torch-version must be a string such as "2.6": write torch-version = "2.6"',
    ),
    (
        "[tool.torchlint]\ntorch-version = 'new'\n",
        "2: torch-version must be a string such as \"2.6\": 'new' is not",
    ),
    ("[tool.torchlint]\ncache-dir = 1\n", "2: cache-dir must be a string: the path of a folder"),
    ("[tool]\ntorchlint = 3\n", "2: [tool.torchlint] must be a table"),
    ("[tool.torchlint]\nselect = [\n", "2: not valid TOML: Invalid value"),
    ("[tool.torchlint]\nselect = ]\nignore = []\n", "2: not valid TOML: Invalid value"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_mistakes_are_named_with_their_line(tmp_path, text, message):
    assert config_error(tmp_path, text) == f"pyproject.toml:{message}"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="no.toml: cannot be read: no such file"):
        load([tmp_path], tmp_path / "no.toml")
    (tmp_path / "torchlint.toml").write_bytes(b"x = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load([tmp_path])
    (tmp_path / "torchlint.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\nselect = [\n")
    with pytest.raises(ConfigError, match="pyproject.toml:2: not valid TOML"):
        load([tmp_path])
    (tmp_path / "pyproject.toml").write_text("# torchlint\n[tool.black\n")
    assert load([tmp_path]).path is None


def test_releases():
    assert parse_version("2.6") == parse_version(" 2.6.1 ") == parse_version("2.6.0+cu118") == (2, 6)
    assert parse_version("2") is parse_version("x") is parse_version("2.6.1.dev") is None


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"requirements.txt": "numpy\ntorch==2.1.0\n"}, (2, 1)),
        ({"requirements.txt": "torch>=2.6\n"}, (2, 6)),
        ({"requirements.txt": "torch >= 1.13.1, != 2.0.0 , <3 ; python_version < '3.12'\n"}, (1, 13)),
        ({"requirements.txt": "torch==2.1.*\n"}, (2, 1)),
        ({"requirements.txt": "torch~=2.2\n"}, (2, 2)),
        ({"requirements.txt": "torch\ntorchvision==0.15\ntorch-scatter==2.0\n#torch==1.1\n"}, None),
        ({"requirements.txt": "torch<2.5\n"}, None),
        ({"requirements.txt": "torch[opt]==2.3.1+cu118\n"}, (2, 3)),
        ({"requirements-dev.txt": "torch==2.7\n", "requirements/base.txt": "torch>=2.2\n"}, (2, 2)),
        ({"pyproject.toml": "[project]\ndependencies = ['torch>=2.4', 'numpy']\n"}, (2, 4)),
        ({"pyproject.toml": "[project.optional-dependencies]\ngpu = ['torch>=2.0,>=2.2']\n"}, (2, 2)),
        ({"pyproject.toml": "[tool.poetry.dependencies]\ntorch = '^2.1'\n"}, (2, 1)),
        ({"pyproject.toml": "[tool.poetry.dependencies]\ntorch = {version = '2.3', source = 'x'}\n"}, (2, 3)),
        ({"pyproject.toml": "[project\n", "setup.cfg": "[options\n"}, None),
        ({"pyproject.toml": "project = 3\n"}, None),
        ({"setup.cfg": "[options]\ninstall_requires =\n    torch>=1.8\n    x\n"}, (1, 8)),
        ({"pyproject.toml": "[dependency-groups]\ntrain = ['torch>=2.5', {include-group = 'x'}]\n"}, (2, 5)),
        ({"pyproject.toml": "[tool.poetry.group.train.dependencies]\ntorch = '~2.2'\n"}, (2, 2)),
        ({"pyproject.toml": "[tool.poetry.group.train.dependencies]\ntorch = '>=2.2'\n"}, (2, 2)),
        ({"pyproject.toml": "x = " + "[" * 3000 + "]" * 3000}, None),
        ({"setup.py": "needs = ['numpy', 'torch>=1.10']\nsetup(install_requires=needs)\n"}, (1, 10)),
        ({"setup.py": "setup(install_requires=open('x').read(), description='torch>=1.0')\n"}, None),
        ({"setup.py": "setup(\n"}, None),
        ({"setup.py": "\0"}, None),
        ({"environment.yml": "dependencies:\n  - pytorch=1.9.0=py3.8_cuda\n  - pytorch-lightning=1.4\n"}, (1, 9)),
        ({"environment_gpu.yaml": "a:\n  - pytorch::pytorch>=2.1,<3\n  - pip:\n    - 'torch==2.3.0'\n"}, (2, 1)),
        ({"environment.yml": "dependencies: [pytorch]\n - : {\n"}, None),
        ({}, None),
    ],
)
def test_lowest_release_a_project_admits(tmp_path, files, version):
    assert lowest_releases(write(tmp_path, files)).get("torch") == version


def rule(code, name, group):
    return Rule(code, name, "s", group, "0.1", "", "", "", "", "", {}, "", "")


KNOWN = Catalogue(
    [
        rule(101, "missing-zero-grad", "correctness"),
        rule(102, "zero-grad-before-step", "suspicious"),
        rule(110, "slow-thing", "performance"),
        rule(201, "missing-eval", "correctness"),
        rule(942, "old-thing", "opt-in"),
    ]
)


def codes(*args, **more):
    return [rule.code for rule in active(KNOWN, *args, **more)]


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        ("ALL", {101, 102, 110, 201, 942}),
        ("all", {101, 102, 110, 201, 942}),
        ("TL", {101, 102, 110, 201, 942}),
        ("TL1", {101, 102, 110}),
        ("TL10", {101, 102}),
        ("TS101", {101}),
        ("tl101", {101}),
        ("101", {101}),
        ("missing-eval", {201}),
        ("correctness", {101, 201}),
        ("opt-in", {942}),
    ],
)
def test_selectors(selector, meant):
    assert rules_of(selector, KNOWN)[0] == meant


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("TL5", "'TL5' is no rule, prefix or group"),
        ("corectness", "did you mean 'correctness'?"),
        ("TL103", "'TL103' is no rule, prefix or group"),
        ("missing-evil", "did you mean 'missing-eval'?"),
        ("", "is no rule"),
        ("1", "is no rule"),
    ],
)
def test_selectors_that_mean_nothing(selector, hint):
    with pytest.raises(SelectorError, match="is no rule") as caught:
        rules_of(selector, KNOWN)
    assert hint in str(caught.value)


def test_default_groups_and_what_changes_them():
    assert codes() == [101, 102, 201]
    assert codes(None, ["TL1"]) == [201]
    assert codes(None, (), ["performance"]) == [101, 102, 110, 201]
    assert codes(["TL2", "TL942"]) == [201, 942]
    assert codes(["ALL"], ["suspicious"]) == [101, 110, 201, 942]


def test_more_specific_selectors_win_and_ties_are_ignored():
    assert codes(["TL1"], ["TL101"]) == [102, 110]
    assert codes(["TL101"], ["TL1"]) == [101]
    assert codes(["TL101"], ["TL101"]) == []
    assert codes(["ALL"], ["TL1"], ["TL102"]) == [102, 201, 942]


def test_second_layer_starts_from_the_first():
    first = active(KNOWN, ["TL1"])
    assert codes(start=first) == [101, 102, 110]
    assert codes(None, ["TL110"], ["TL201"], start=first) == [101, 102, 201]


PAGE = """\
+++
code = 777
name = "our-own"
summary = "ours"
group = "correctness"

[[call]]
name = "torch.load"
+++
## What goes wrong
"""


def test_own_rules(tmp_path):
    write(
        tmp_path,
        {
            "pyproject.toml": "[tool.torchlint]\nextend-rules = ['lint/rules']\nselect = ['TL777']\n",
            "lint/rules/area/777-our-own.md": PAGE,
        },
    )
    known = load_rules(load([tmp_path]))
    assert known.find("our-own").code == 777
    assert known.find("TL101") is not None


@pytest.mark.parametrize(
    ("settings", "files", "error", "words"),
    [
        ("extend-rules = ['no']", {}, ConfigError, r"pyproject.toml:2: extend-rules: 'no' is no folder"),
        ("extend-rules = ['empty']", {"empty/x": ""}, ConfigError, r":2: extend-rules: 'empty' holds no rule pages"),
        ("extend-rules = ['r']", {"r/1.md": "hello"}, PageError, r"1\.md: no front matter"),
        ("extend-rules = ['r']", {"r/1.md": b"\xff"}, PageError, r"1\.md: not UTF-8"),
        ("extend-rules = ['r']", {"r/1.md": PAGE.replace("[[call]]\nname = \"torch.load\"\n", "")}, PageError, r"1\.md: nothing judges this"),
        ("ignore = ['TL1',\n 'TL9999']", {}, ConfigError, r"pyproject.toml:3: ignore: 'TL9999' is no rule"),
        ("[tool.torchlint.per-file-ignores]\n'x' = ['TL000']", {}, ConfigError, r":3: per-file-ignores: 'TL000' is no"),
    ],
)
def test_rules_that_cannot_be_used(tmp_path, settings, files, error, words):
    write(tmp_path, {"pyproject.toml": f"[tool.torchlint]\n{settings}\n", **files})
    with pytest.raises(error, match=words):
        load_rules(load([tmp_path]))


def test_rules_of_installed_packages(tmp_path, monkeypatch):
    from torchlint.settings import rulebook

    write(
        tmp_path,
        {
            "lintpages/__init__.py": "raise SystemExit('rules are read, not run')",
            "lintpages/777-our-own.md": PAGE,
            "lintpages-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: lintpages\nVersion: 1\n",
            "lintpages-1.dist-info/entry_points.txt": "[torchlint.rules]\nours = lintpages\n",
        },
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    rulebook._from_packages.cache_clear()
    try:
        assert load_rules(load([Path("/")])).find("our-own")
        write(tmp_path, {"lintpages-1.dist-info/entry_points.txt": "[torchlint.rules]\nours = nowhere_at_all\n"})
        rulebook._from_packages.cache_clear()
        with pytest.raises(PageError, match="nowhere_at_all: rules of an installed package cannot be found"):
            load_rules(load([Path("/")]))
    finally:
        monkeypatch.undo()
        rulebook._from_packages.cache_clear()


def test_page_helper_reads_what_it_should(tmp_path):
    write(tmp_path, {"777-our-own.md": PAGE})
    assert read_page(tmp_path / "777-our-own.md").name == "our-own"
