"""Settings that come from several places: files that extend others, --config KEY=VALUE, options, a file for each folder."""

from pathlib import Path

import pytest

from tests.torchlint.support import write
from torchlint.findings import Severity
from torchlint.settings.config import DEFAULT_EXCLUDES, ConfigError
from torchlint.settings.layers import given
from torchlint.settings.lookup import Nearest, load
from torchlint.settings.overrides import Overrides, overrides_of
from torchlint.settings.reading import read_config
from torchlint.settings.rulebook import load_rules


def test_a_file_goes_on_from_the_one_that_it_extends(tmp_path):
    write(tmp_path, {
        "base.toml": "ignore = ['TL1']\nextend-exclude = ['x']\nfail-on = 'error'\nextend-rules = ['rules']\n"
                     "[per-file-ignores]\n'a.py' = ['TL2']\n[extend-per-file-ignores]\n'c.py' = ['TL4']\n",
        "one/torchlint.toml": "extend = '../base.toml'\nignore = ['TL3']\nextend-exclude = ['y']\nunfixable = ['TL9']\n"
                              "[per-file-ignores]\n'b.py' = ['TL5']\n[extend-per-file-ignores]\n'd.py' = ['TL6']\n",
        "two/torchlint.toml": "extend = '../base.toml'\nselect = ['TL5']\nfail-on = 'warning'\n",
    })
    one, two = read_config(tmp_path / "one/torchlint.toml"), read_config(tmp_path / "two/torchlint.toml")
    assert (one.root, one.ignore, one.exclude) == (tmp_path / "one", ("TL1", "TL3"), (*DEFAULT_EXCLUDES, "x", "y"))
    assert one.per_file_ignores == {"b.py": ("TL5",)} and one.extend_per_file_ignores == {"c.py": ("TL4",), "d.py": ("TL6",)}
    assert (one.fail_on, one.unfixable) == (Severity.ERROR, ("TL9",))
    assert [Path(entry).resolve() for entry in one.extend_rules] == [(tmp_path / "rules").resolve()]
    # A select of its own begins anew.
    assert (two.select, two.ignore, two.fail_on) == (("TL5",), (), Severity.WARNING)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a/torchlint.toml": "extend = '../b.toml'\n"}, "a/torchlint.toml:1: extend: there is no file '../b.toml'"),
        ({"a/torchlint.toml": "extend = 'torchlint.toml'\n"}, "a/torchlint.toml:1: extend: 'torchlint.toml' leads back to"),
        (
            {"a/torchlint.toml": "extend = '../b.toml'\n", "b.toml": "\nextend = 'a/torchlint.toml'\n"},
            "b.toml:2: extend: 'a/torchlint.toml' leads back to",
        ),
        ({"a/torchlint.toml": "extend = '../b.toml'\n", "b.toml": "\n\nslect = []\n"}, "b.toml:3: unknown key 'slect'"),
        ({"a/torchlint.toml": "extend = 1\n"}, "a/torchlint.toml:1: extend must be a string: the path of a settings file"),
        ({"a/torchlint.toml": "\nfail-on = 'eror'\n"}, "a/torchlint.toml:2: fail-on must be one of error, warning, note (did you mean 'error'?)"),
        ({"a/torchlint.toml": "unused-noqa = 1\n"}, "a/torchlint.toml:1: unused-noqa must be true or false"),
        ({"a/torchlint.toml": "output-format = 'xml'\n"}, "a/torchlint.toml:1: output-format must be one of full, concise"),
        ({"a/torchlint.toml": "extend = \"a\\u0000b\"\n"}, "a/torchlint.toml:1: extend: not a path"),
    ],
)
def test_mistakes_name_their_own_file_and_line(tmp_path, files, message):
    write(tmp_path, files)
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "a/torchlint.toml")
    assert str(caught.value).replace(f"{tmp_path}/", "").replace("a/../", "").startswith(message)


def test_an_unknown_rule_is_named_where_it_stands(tmp_path):
    write(tmp_path, {"base.toml": "\nignore = ['TL9999']\n", "torchlint.toml": "extend = 'base.toml'\nignore = ['TL101']\n"})
    with pytest.raises(ConfigError, match=r"base.toml:2: ignore: 'TL9999' is no rule"):
        load_rules(read_config(tmp_path / "torchlint.toml"))
    with pytest.raises(ConfigError, match=r"--config unfixable=\['x'\]: unfixable: 'x' is no rule"):
        load_rules(load([tmp_path], None, True, overrides=overrides_of(["unfixable=['x']"])))


def test_a_setting_on_the_command_line(tmp_path):
    write(tmp_path, {"torchlint.toml": "ignore = ['TL1']\ntorch-version = '2.1'\n"})
    config = load([tmp_path], overrides=overrides_of(["ignore = ['TL2']", 'severity.suspicious = "note"']))
    assert (config.ignore, config.severity, config.torch_version) == (("TL2",), {"suspicious": Severity.NOTE}, (2, 1))
    assert load([tmp_path], None, True, overrides_of(["select=['TL3']"])).select == ("TL3",)
    for text, message in (
        ("ignore", "--config ignore: not KEY=VALUE as TOML has it"),
        ("slect=[]", "--config slect=[]: unknown key 'slect' (did you mean 'select'?)"),
        ("ignore='TL1'", "--config ignore='TL1': ignore must be a list of strings"),
    ):
        with pytest.raises(ConfigError) as caught:
            given(text)
        assert str(caught.value).startswith(message)


def test_patterns_of_options_are_meant_from_the_working_folder(tmp_path, monkeypatch):
    write(tmp_path, {"torchlint.toml": "extend-exclude = ['old']\n", "sub/a.py": ""})
    monkeypatch.chdir(tmp_path / "sub")
    given = Overrides(extend_exclude=("gen", "gen/x.py", "**/y.py"), per_file_ignores={"!a/b.py": ("TL1",), "c.py": ("TL2",)})
    config = load([tmp_path / "sub"], overrides=given)
    assert config.exclude == (*DEFAULT_EXCLUDES, "old", "gen", "/sub/gen/x.py", "**/y.py")
    assert config.per_file_ignores == {"!/sub/a/b.py": ("TL1",), "c.py": ("TL2",)}
    with pytest.raises(ConfigError, match=r"--exclude: 'a\[' is no pattern"):
        overrides_of([], exclude=("a[",))


def test_each_folder_has_the_settings_that_are_nearest(tmp_path):
    write(tmp_path, {
        "torchlint.toml": "", "a/torchlint.toml": "select = ['TL1']\n", "a/b/pyproject.toml": "[tool.other]\n", "c/x.py": "",
        "a/b/c/pyproject.toml": "[tool.torchlint]\nselect = ['TL2']\n",
    })
    top = load([tmp_path])
    nearest = Nearest(top, [tmp_path], Overrides(fixable=("TL3",)))
    assert nearest(str(tmp_path)) is nearest(str(tmp_path / "c")) is nearest("/") is top
    assert nearest(str(tmp_path / "a/b")).select == ("TL1",) and nearest(str(tmp_path / "a/b")) is nearest(str(tmp_path / "a"))
    assert nearest(str(tmp_path / "a/b/c")).select == ("TL2",) and nearest(str(tmp_path / "a/b/c/d")).fixable == ("TL3",)


def test_requirements_alone_make_a_project_where_nothing_above_is_one(tmp_path):
    """A file is judged by the same torch beside files of other projects as by itself."""
    write(tmp_path, {"a/requirements.txt": "torch==1.13.1\n", "a/src/x.py": "", "b/requirements.txt": "torch==2.4\n", "b/y.py": "", "c/z.py": ""})

    def releases():
        nearest = Nearest(load([tmp_path]), [tmp_path])
        folders = [tmp_path / "a/src", tmp_path / "b", tmp_path / "c"]
        among_others = [nearest(str(folder)).torch_version for folder in folders]
        assert among_others == [load([folder]).torch_version for folder in folders]
        return among_others

    assert releases() == [(1, 13), (2, 4), None]
    (tmp_path / ".git").mkdir()
    assert releases() == [None, None, None]
