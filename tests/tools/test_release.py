"""What releases the package: the check of its files, the recipe, the workflows, the templates for CI services."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


check_package = load(ROOT / "tools/release/check_package.py")


def test_package(tmp_path):
    for needed in ("build", "twine", "hatchling"):
        pytest.importorskip(needed)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/release/check_package.py"), str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(line.split()[0].rpartition("-")[0] for line in done.stdout.splitlines()) == ["torchlint", "torchlint-0.1.0-py3-none"]


@pytest.mark.parametrize(
    ("version", "text", "tag", "wrong"),
    [
        ("0.2.0", "# Changelog\n\n## Unreleased\n", None, 0),
        ("0.2.0", "# Changelog\n\n## 0.2.0 (2027-01-01)\n", "v0.2.0", 0),
        ("0.2.0", "# Changelog\n\n## Unreleased\n", "v0.2.0", 1),
        ("0.2.0", "# Changelog\n\n## 0.1.0\n", None, 1),
        ("0.2.0", "# Changelog\n\n## 0.2.0\n", "v0.1.0", 1),
        ("0.2.0", "", None, 1),
    ],
)
def test_changelog_and_tag(version, text, tag, wrong):
    assert len(list(check_package.told_by_changelog(version, text, tag))) == wrong


def test_addresses_of_the_package():
    pytest.importorskip("hatchling")
    metadata = load(ROOT / "tools/release/package_metadata.py")
    text = "[a](docs/a.md) ![p](docs/p.png) [w](https://x.org) [h](#here)"
    assert metadata.urls("", "") == {} and metadata.linked(text, "") == text
    assert set(metadata.urls("https://s", "https://r")) == {"Documentation", "Source", "Issues", "Changelog"}
    assert metadata.linked(text, "https://r") == (
        "[a](https://r/blob/main/docs/a.md) ![p](https://r/raw/main/docs/p.png) [w](https://x.org) [h](#here)"
    )


def test_recipe_asks_for_what_the_package_asks_for():
    recipe = yaml.safe_load((ROOT / "tools/release/conda/recipe.yaml").read_text(encoding="utf-8"))
    plain = {re.sub(r"[; ].*|(?=[<>=])", "", one, count=1).split(">")[0]: one for one in PROJECT["dependencies"]}
    wanted = {re.match(r"[a-z0-9-]+", one)[0]: re.search(r">=([\d.]+)", one)[1] for one in plain.values()}
    asked = dict(re.match(r"([a-z0-9-]+) >=(\S+)", one).groups() for one in recipe["requirements"]["run"] if not one.startswith("python "))
    assert asked == wanted
    entries = dict(one.split(" = ") for one in recipe["build"]["python"]["entry_points"])
    assert entries == PROJECT["scripts"] and recipe["about"]["summary"] == PROJECT["description"]
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert recipe["context"]["version"] == load(ROOT / "src/torchlint/__init__.py").__version__


def test_workflows():
    tests, release = read(".github/workflows/tests.yml"), read(".github/workflows/release.yml")
    linter = tests["jobs"]["linter"]["strategy"]["matrix"]
    told = [re.search(r":: (3\.\d+)$", one)[1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    nox = re.search(r"PYTHONS = \((.*)\)", (ROOT / "noxfile.py").read_text(encoding="utf-8"))[1]
    assert linter["python"] == told == re.findall(r'"(.*?)"', nox)
    assert linter["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    for job in (*tests["jobs"].values(), *release["jobs"].values()):
        for step in job["steps"]:
            for script in re.findall(r"(?:python |^)(\S+\.py|\.ci/run)", step.get("run", "").replace("PYTHON=python ", ""), re.MULTILINE):
                assert (ROOT / script).is_file(), script
    assert release[True]["push"]["tags"] == ["v*"]  # YAML 1.1 reads `on` as a truth value


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_gitlab_job(tmp_path):
    job = read("tools/gitlab/torchlint.gitlab-ci.yml")["torchlint"]
    (tmp_path / "train.py").write_text("import torch\n\ntorch.no_grad()\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "torchlint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchlint "$@"\n')
    (tools / "torchlint").chmod(0o755)
    install, *steps = job["script"]
    assert install.startswith("python -m pip install")
    variables = {**job["variables"], "PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-ec", "\n".join(steps)], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
    report = tmp_path / job["artifacts"]["reports"]["codequality"]
    assert done.returncode == 1 and "TL134" in done.stdout, done.stderr
    assert [one["location"]["path"] for one in yaml.safe_load(report.read_text(encoding="utf-8"))] == ["train.py"]
    (tmp_path / "train.py").write_text("import torch\n")
    assert subprocess.run(["sh", "-ec", "\n".join(steps)], cwd=tmp_path, env=variables, capture_output=True, timeout=120).returncode == 0


def test_image_keeps_torch_out_and_finds_its_files():
    text = (ROOT / "tools/docker/Dockerfile").read_text(encoding="utf-8")
    assert 'ENTRYPOINT ["torchlint"]' in text and "TORCHLINT_NO_CACHE=1" in text
    assert not re.search(r"install.*\b(torch|san)\b", text)
