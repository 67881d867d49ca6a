"""What stands in the docs' blocks of code works: Python runs, settings are read, commands have the options that are written.

A block that cannot be run says so in the line above it: `<!-- not run: WHY -->`.
"""

import json
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from torchlint.cli import COMMANDS, arguments
from torchlint.cli import main as torchlint

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- not run: (?P<why>.+) -->\n)?^(?P<indent> *)```(?P<words>\w[^\n]*)\n(?P<code>.*?)^ *```", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "toml", "yaml", "json", "console", "text", "markdown", "vim", "lua", "lisp"}


def blocks(*languages):
    for path in DOCS:
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if block["words"].split()[0] in languages and not block["why"]:
                code = re.sub(rf"^{block['indent']}", "", block["code"], flags=re.MULTILINE)
                yield pytest.param(path.name, code, id=f"{path.name}:{text.count(chr(10), 0, block.start('words')) + 1}")


def test_every_language_is_known():
    found = {block["words"].split()[0] for path in DOCS for block in BLOCK.finditer(path.read_text(encoding="utf-8"))}
    assert found <= LANGUAGES, "say here how such a block is tested"


def stand_ins():
    """What the docs' examples call theirs: a model, its data, a function that trains it soundly."""
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(4, 2)

    def train(model, loader=()):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader or tiny_loader():
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

    def tiny_loader():
        torch.manual_seed(0)
        return [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(3)]

    return {"model": model, "train": train, "train_one_epoch": train, "tiny_loader": tiny_loader, "loader": tiny_loader(),
            "Net": lambda: torch.nn.Linear(4, 2)}


@pytest.mark.parametrize("page, code", blocks("python"))
def test_python(page, code, tmp_path, monkeypatch):
    """Those of docs/api.md run one after the other in tests/torchlint/test_api.py."""
    if page == "api.md":
        return
    monkeypatch.chdir(tmp_path)
    names = {}
    if "torchsan" in code:
        import torchsan

        names |= {**stand_ins(), "torchsan": torchsan}
    if "TensorBoard" in code:
        pytest.importorskip("tensorboard")
        code = code.split("\n\nwith torchsan.watch(model) as san, WeightsAndBiases")[0]  # that needs an account
    exec(compile(code, page, "exec"), names)
    if "def test_training_step" in code:
        import torchsan

        class Fixture:
            watch = staticmethod(lambda model: watching.append(torchsan.watch(model, on_finding="raise").start()))

        watching = []
        names["test_training_step"](Fixture)
        watching[0].stop()


def test_what_is_imported_is_there():
    """In blocks that are not run, too."""
    for path in DOCS:
        for module, names in re.findall(r"^ *from (torch(?:lint|san)[\w.]*) import ([\w, ]+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            if module.startswith("torchsan"):
                pytest.importorskip("torch")
            for name in names.split(", "):
                assert hasattr(import_module(module), name), f"{path.name}: {module}.{name}"


@pytest.mark.parametrize("page, code", [one for one in blocks("toml") if "[tool.torchlint]" in one.values[1]])
def test_settings(page, code, tmp_path, monkeypatch, capsys):
    (tmp_path / "project").mkdir()
    (tmp_path / "base.toml").write_text("", encoding="utf-8")
    (tmp_path / "project" / "lint" / "rules").mkdir(parents=True)
    own = (ROOT / "rules/gradients/101-missing-zero-grad.md").read_text(encoding="utf-8").replace("code = 101", "code = 970")
    page_of_theirs = tmp_path / "project" / "lint" / "rules" / "970-our-own.md"
    page_of_theirs.write_text(own.replace('name = "missing-zero-grad"', 'name = "our-own"'), encoding="utf-8")
    (tmp_path / "project" / "pyproject.toml").write_text(code, encoding="utf-8")
    (tmp_path / "project" / "train.py").write_text("import torch\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "project")
    assert torchlint(["--no-cache", "train.py"]) == 0, capsys.readouterr()


@pytest.mark.parametrize("page, code", blocks("yaml", "json"))
def test_settings_of_others(page, code):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(code) and (code[0] != "{" or json.loads(code))


def options_of(command):
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help", "-h", "--version"}


def commands_in(text):
    """The commands of a block of console: name and words, up to what is piped or follows."""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.lstrip("$ ").split("  #")[0]
        for part in re.split(r"&&|\|\||[|;{}]|\$\(", line):
            found = re.search(r"(?:^|\s|-m )(torchlint|torchsan)(?P<rest>\s.*|$)", part)
            if found and not re.search(r"\b(pip|docker|pipx|import)\b", part):
                yield found[1], shlex.split(found["rest"].strip().strip('"'))


@pytest.mark.parametrize("page, code", blocks("console"))
def test_commands_have_their_options(page, code):
    for name, words in commands_in(code):
        if name == "torchsan":
            from torchsan.run.cli import cli

            command, words = cli.commands[words[0]], words[1:]
        elif words and words[0] in COMMANDS:
            command, words = getattr(import_module(f"torchlint.cli.{COMMANDS[words[0]]}"), words[0]), words[1:]
        else:
            command = arguments.check
        program = next((at for at, word in enumerate(words) if word.endswith(".py")), len(words))
        written = {word.split("=")[0] for word in (words[:program] if name == "torchsan" else words) if re.match(r"--?[a-z]", word)}
        assert written <= options_of(command), (name, words)
