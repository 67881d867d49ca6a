"""Files: what is imported is as well known as what stands in the file itself."""

import pytest

from tests.torchlint.support import write
from torchlint.dryrun.world import World
from torchlint.engine import Engine
from torchlint.files.modules import is_question
from torchlint.run.judge import Judge, Order

from .support import IMPORTS, RULES, found, marked

SOFT = "def soft(x):\n    return x.softmax(1)\n\n\ndef hard(x):\n    return x\n"
HEAD = IMPORTS + "class Head(nn.Module):\n    def forward(self, x):\n        return x.softmax(1)\n"

# Each case: the file that is judged, and all files. A mark in the judged file says what must be found there.
LAYOUTS = {
    "made where it is a program": ("main.py", {
        "main.py": IMPORTS + "from transformers import AutoModelForCausalLM\n\ndef measure(ids):\n    logits = model(ids).logits\n"
                   "    return F.cross_entropy(logits.view(-1, 9), ids.view(-1))  # <- 003\n\n"
                   "if __name__ == '__main__':\n    model = AutoModelForCausalLM.from_pretrained('gpt2')\n",
    }),
    "made where another file is a program": ("main.py", {
        "main.py": IMPORTS + "from heads import read\n\ndef measure(ids):\n"
                   "    return F.cross_entropy(read(ids).view(-1, 9), ids.view(-1))\n",
        "heads.py": "from transformers import AutoModelForCausalLM\n\ndef read(ids):\n    return model(ids).logits\n\n"
                    "if __name__ == '__main__':\n    model = AutoModelForCausalLM.from_pretrained('gpt2')\n",
    }),
    "beside": ("main.py", {
        "main.py": "from heads import soft, hard\ndef f(x, y):\n    F.cross_entropy(hard(x), y)\n"
                   "    F.cross_entropy(soft(x), y)  # <- 301\n",
        "heads.py": SOFT,
    }),
    "renamed": ("main.py", {
        "main.py": "from heads import soft as s\nimport heads as h\ndef f(x, y):\n"
                   "    F.cross_entropy(s(x), y)  # <- 301\n"
                   "    F.cross_entropy(h.soft(x), y)  # <- 301\n    F.cross_entropy(h.hard(x), y)\n",
        "heads.py": SOFT,
    }),
    "in a folder of the same name": ("soft/main.py", {
        "soft/__init__.py": "",
        "soft/main.py": "from soft import soft\ndef f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n",
        "soft/soft.py": SOFT,
    }),
    "in a folder of the same name, by way of its file": ("soft/main.py", {
        "soft/__init__.py": "",
        "soft/main.py": "from soft import other\ndef f(x, y):\n    F.cross_entropy(other.soft(x), y)  # <- 301\n",
        "soft/other.py": SOFT,
    }),
    "in a folder that the file adds": ("main.py", {
        "main.py": "import sys\nsys.path.append('lib')\nfrom heads import soft, hard\nfrom more import *\nimport deep.heads as d\ndef f(x, y):\n"
                   "    F.cross_entropy(hard(x), y)\n    F.cross_entropy(soft(x), y)  # <- 301\n    F.cross_entropy(softer(x), y)  # <- 301\n"
                   "    F.cross_entropy(d.soft(x), y)  # <- 301\n",
        "lib/heads.py": SOFT, "lib/deep/heads.py": SOFT, "lib/more.py": "from heads import soft\ndef softer(x):\n    return soft(x)\n",
    }),
    "in a folder that another file adds": ("main.py", {
        "main.py": "from heads import soft, hard\nfrom other import harder\ndef f(x, y):\n    F.cross_entropy(soft(x), y)\n",
        "lib/heads.py": SOFT, "other.py": "import sys\nsys.path.append('lib')\nfrom heads import hard as harder\n",
    }),
    "by their names": ("main.py", {
        "main.py": "import config\nimport heads as h\ndef f(x, y):\n"
                   "    F.cross_entropy(h.__dict__[config.name](x), y)  # <- 301\n"
                   "    F.cross_entropy(vars(h)['soft'](x), y)  # <- 301\n    F.cross_entropy(h.__dict__['hard'](x), y)\n",
        "heads.py": SOFT,
        "config.py": "name = 'soft'\n",
    }),
    "the one that a dict has": ("main.py", {
        "main.py": "from heads import soft, hard\nkinds = {'soft': [0, soft]}\nmore = {'soft': [0, soft], 'hard': [0, hard]}\n"
                   "def f(x, y, name):\n    F.cross_entropy(kinds[name][1](x), y)  # <- 301\n    F.cross_entropy(more[name][1](x), y)\n",
        "heads.py": SOFT,
    }),
    "dotted": ("main.py", {
        "main.py": "import lib.heads\nimport lib.heads as h\nfrom lib import heads\ndef f(x, y):\n"
                   "    F.cross_entropy(lib.heads.soft(x), y)  # <- 301\n    F.cross_entropy(h.soft(x), y)  # <- 301\n"
                   "    F.cross_entropy(heads.soft(x), y)  # <- 301\n",
        "lib/__init__.py": "", "lib/heads.py": SOFT,
    }),
    "relative": ("lib/sub/main.py", {
        "lib/sub/main.py": "from .heads import soft\nfrom ..more import soft as other\nfrom . import heads\n"
                           "from .. import more\n"
                           "def f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n"
                           "    F.cross_entropy(other(x), y)  # <- 301\n"
                           "    F.cross_entropy(heads.soft(x), y)  # <- 301\n    F.cross_entropy(more.hard(x), y)\n",
        "lib/__init__.py": "", "lib/more.py": SOFT, "lib/sub/__init__.py": "", "lib/sub/heads.py": SOFT,
    }),
    "exported_again": ("main.py", {
        "main.py": "from lib import soft\nimport lib\ndef f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n"
                   "    F.cross_entropy(lib.soft(x), y)  # <- 301\n",
        "lib/__init__.py": "from .inner import soft\n", "lib/inner/__init__.py": "from .heads import soft\n",
        "lib/inner/heads.py": SOFT,
    }),
    "star": ("main.py", {
        "main.py": "from lib import *\ndef f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n"
                   "    F.cross_entropy(hard(x), y)\n",
        "lib/__init__.py": "from .heads import *\n", "lib/heads.py": SOFT,
    }),
    "src_layout": ("scripts/train.py", {
        "scripts/train.py": "from lib.heads import soft\ndef f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n",
        "src/lib/__init__.py": "", "src/lib/heads.py": SOFT, "pyproject.toml": "",
    }),
    "absolute_from_inside": ("lib/deep/down/main.py", {
        "lib/deep/down/main.py": "from lib.heads import soft\ndef f(x, y):\n"
                                 "    F.cross_entropy(soft(x), y)  # <- 301\n",
        "lib/__init__.py": "", "lib/deep/__init__.py": "", "lib/deep/down/__init__.py": "", "lib/heads.py": SOFT,
    }),
    "namespace_package": ("main.py", {
        "main.py": "from lib.heads import soft\nimport lib.heads\nfrom lib import heads\n"
                   "from lib import nothing\ndef f(x, y):\n"
                   "    F.cross_entropy(soft(x), y)  # <- 301\n    F.cross_entropy(heads.soft(x), y)  # <- 301\n"
                   "    F.cross_entropy(nothing(x.softmax(1)), y)\n",
        "lib/heads.py": SOFT,
    }),
    "circular": ("one.py", {
        "one.py": "import two\nfrom two import soft\ndef f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n"
                  "    F.cross_entropy(two.nowhere(x), y)\n",
        "two.py": "import one\nfrom one import f, nowhere\nfrom one import *\n" + SOFT,
    }),
    "circular_stars": ("one.py", {
        "one.py": "from two import *\ndef f(x, y):\n    F.cross_entropy(nowhere(x.softmax(1)), y)\n",
        "two.py": "from one import *\n",
    }),
    "file_that_does_not_parse": ("main.py", {
        "main.py": "from broken import soft\nimport broken\nfrom binary import soft as other\ndef f(x, y):\n"
                   "    F.cross_entropy(soft(x), y)\n    F.cross_entropy(broken.soft(x), y)\n"
                   "    F.cross_entropy(other(x), y)\n"
                   "    F.cross_entropy(x.softmax(1), y)  # <- 301\n",
        "broken.py": "def soft(x:\n", "binary.py": b"\xff\xfe\x00def",
    }),
    "not_there": ("main.py", {
        "main.py": "from gone import soft\nfrom .gone import soft as other\nfrom . import gone\ndef f(x, y):\n"
                   "    F.cross_entropy(soft(x), y)\n    F.cross_entropy(other(x), y)\n"
                   "    F.cross_entropy(gone.soft(x), y)\n",
    }),
    "file_instead_of_torch": ("main.py", {  # a folder called torch does not hide the library: nobody means that
        "main.py": "def f(x, y):\n    F.cross_entropy(torch.softmax(x, 1), y)  # <- 301\n",
        "torch/__init__.py": "", "torch/nn.py": "",
    }),
    "class": ("main.py", {
        "main.py": "from heads import Head\nclass Own(Head):\n    pass\ndef f(x, y):\n"
                   "    F.cross_entropy(Head()(x), y)  # <- 301\n"
                   "    F.cross_entropy(Own()(x), y)  # <- 301\n",
        "heads.py": HEAD,
    }),
    "base_of_a_base": ("main.py", {
        "main.py": "import mid\nclass Own(mid.Mid):\n    def loss(self, x, y):\n"
                   "        return self.criterion(self(x), y)  # <- 301\n",
        "mid.py": "from heads import Head\nclass Mid(Head):\n    def __init__(self):\n        super().__init__()\n"
                  "        self.build()\n",
        "heads.py": HEAD + "    def build(self):\n        self.criterion = nn.CrossEntropyLoss()\n",
    }),
    "value_of_another_file": ("main.py", {
        "main.py": "from settings import criterion, NAME\nimport settings\ndef f(x, y):\n"
                   "    criterion(x.softmax(1), y)  # <- 301\n"
                   "    settings.criterion(x.softmax(1), y)  # <- 301\n    if NAME == 'soft':\n"
                   "        x = x.softmax(1)\n"
                   "    F.cross_entropy(x, y)  # <- 301\n",
        "settings.py": IMPORTS + "NAME = 'hard'\nNAME = 'soft'\ncriterion = nn.CrossEntropyLoss()\n",
    }),
    "inside_a_function": ("main.py", {
        "main.py": "def f(x, y):\n    from heads import soft as s\n    import lib.heads\n    import lib.heads as h\n"
                   "    F.cross_entropy(s(x), y)  # <- 301\n    F.cross_entropy(h.soft(x), y)  # <- 301\n",
        "heads.py": SOFT, "lib/__init__.py": "", "lib/heads.py": SOFT,
    }),
    "tried": ("main.py", {
        "main.py": "try:\n    from heads import soft\nexcept ImportError:\n    from .heads import soft\n"
                   "if True:\n    import heads as h\n"
                   "def f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n"
                   "    F.cross_entropy(h.soft(x), y)  # <- 301\n",
        "heads.py": SOFT,
    }),
    "defined_under_a_condition": ("main.py", {
        "main.py": "from heads import soft, Soft\n"
                   "def f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n"
                   "    F.cross_entropy(Soft()(x), y)  # <- 301\n",
        "heads.py": "import torch\ntry:\n    import fused\n    def soft(x):\n"
                    "        return torch.softmax(fused.go(x), dim=1)\n"
                    "except ImportError:\n    def soft(x):\n        return torch.softmax(x, dim=1)\n"
                    "if torch.cuda.is_available():\n    class Soft(torch.nn.Module):\n        def forward(self, x):\n"
                    "            return torch.softmax(x, dim=1)\n",
    }),
    "the_last_import_is_not_there": ("main.py", {
        "main.py": "from lib import soft\ndef f(x, y):\n    F.cross_entropy(soft(x), y)  # <- 301\n",
        "lib/__init__.py": "try:\n    from .heads import soft\nexcept ImportError:\n    from .slow import soft\n",
        "lib/heads.py": SOFT,
    }),
    "whole_module_with_registries": ("main.py", {
        "main.py": "from lib import registry\ndef f(x, y):\n    model = registry.model('soft')\n"
                   "    loss = registry.loss('ce')\n    return loss(model(x), y)  # <- 301\n",
        "lib/__init__.py": "",
        "lib/heads.py": "import torch\nclass Soft(torch.nn.Module):\n    def forward(self, x):\n"
                        "        return torch.softmax(x, dim=1)\n",
        "lib/registry.py": "import torch.nn as nn\nfrom .heads import Soft\nMODELS = {'soft': Soft}\n"
                           "LOSSES = {'ce': nn.CrossEntropyLoss}\ndef model(name):\n    return MODELS[name]()\n"
                           "def loss(name):\n    return LOSSES[name]()\n",
    }),
}  # fmt: skip


@pytest.mark.parametrize(("name", "files"), list(LAYOUTS.values()), ids=list(LAYOUTS))
def test_imports(name, files, tmp_path):
    files = {**files, name: IMPORTS + files[name]}
    write(tmp_path, {".git/keep": "", **files})
    assert found(files[name], tmp_path / name, Engine(RULES)) == marked(files[name])


def test_a_mistake_in_a_helper_is_told_where_it_stands(tmp_path, monkeypatch):
    write(tmp_path, {
        ".git/keep": "",
        "main.py": IMPORTS + "from lib import loss\ndef f(x, y):\n    return loss(x.softmax(1), y)\n",
        "lib.py": IMPORTS + "def loss(p, y):\n    return F.cross_entropy(p, y)\n",
    })  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (finding,) = Engine(RULES).check("main.py", (tmp_path / "main.py").read_text()).findings
    assert (finding.location.filename, finding.location.row) == ("lib.py", 5)
    assert {item.location.filename for item in finding.related} == {"main.py"}


def depends(folder, name):
    judged = Engine(RULES).check(str(folder / name), (folder / name).read_text())
    return {
        path.removeprefix(str(folder)).replace("\\", "/"): digest for path, digest in judged.depends.items()
        if not is_question(path)
    }


def test_depends_names_what_was_read_and_what_could_not_be(tmp_path):
    write(tmp_path, {
        ".git/keep": "",
        "main.py": IMPORTS + "import one, broken\nfrom lib import soft\ndef f(x, y):\n    one.f(x); broken.f(x)\n"
                             "    return F.cross_entropy(soft(x), y)\n",
        "one.py": "def f(x):\n    return x\n",
        "broken.py": "def f(x:\n",
        "other.py": "",
        "lib/__init__.py": "from .heads import soft\n",
        "lib/heads.py": SOFT,
    })  # fmt: skip
    before = depends(tmp_path, "main.py")
    assert before.keys() == {"/one.py", "/broken.py", "/lib/__init__.py", "/lib/heads.py"}
    assert len(set(before.values())) == 4 and None not in before.values()
    (tmp_path / "lib/heads.py").write_text(SOFT + "\n")
    after = depends(tmp_path, "main.py")
    assert {name for name in before if before[name] != after[name]} == {"/lib/heads.py"}


def test_a_file_that_nothing_is_imported_into_depends_on_nothing(tmp_path):
    write(tmp_path, {"main.py": IMPORTS + "import os\n", "os.py": "", "other.py": ""})
    assert depends(tmp_path, "main.py") == {}


@pytest.mark.parametrize("text", [SOFT, b"# coding: latin-1\n# \xe9\n" + SOFT.encode(), SOFT.replace("\n", "\r\n")])
def test_a_file_is_the_same_to_its_importers_whether_it_was_judged_before_or_not(tmp_path, text):
    write(tmp_path, {
        ".git/keep": "", "lib.py": text,
        "main.py": IMPORTS + "from lib import soft\ndef f(x, y):\n    return F.cross_entropy(soft(x), y)\n",
    })  # fmt: skip
    order = Order(RULES)
    alone, judge = Judge(order).file(str(tmp_path / "main.py")), Judge(order)
    judge.file(str(tmp_path / "lib.py"))
    assert judge.file(str(tmp_path / "main.py")) == alone and len(alone.findings) == 1


def test_roots_are_looked_in(tmp_path):
    main = IMPORTS + "from heads import soft\ndef f(x, y):\n    return F.cross_entropy(soft(x), y)\n"
    write(tmp_path, {"code/.git/keep": "", "code/main.py": main, "elsewhere/heads.py": SOFT})
    assert found(main, tmp_path / "code/main.py", Engine(RULES)) == []
    assert found(main, tmp_path / "code/main.py", Engine(RULES, roots=[str(tmp_path / "elsewhere")])) == [(6, 301)]


def test_the_text_at_hand_counts_not_the_one_on_disk(tmp_path):
    write(tmp_path, {"main.py": IMPORTS})
    engine = Engine(RULES)
    bad = IMPORTS + "def f(x, y):\n    return F.cross_entropy(x.softmax(1), y)\n"
    assert found(bad, tmp_path / "main.py", engine) == [(5, 301)]
    assert found(IMPORTS, tmp_path / "main.py", engine) == []


@pytest.mark.parametrize("tried", ["def soft(x):\n    return x\n", "def soft(x:\n", ""])
def test_an_importer_sees_what_is_on_disk_and_not_what_was_tried(tmp_path, tried):
    write(tmp_path, {
        ".git/keep": "", "lib.py": SOFT + "import main\n",
        "main.py": IMPORTS + "from lib import soft\ndef f(x, y):\n    return F.cross_entropy(soft(x), y)\n",
    })  # fmt: skip
    order = Order(RULES)
    alone, judge = Judge(order).file(str(tmp_path / "main.py")), Judge(order)
    for _ in range(2):
        judge.content(str(tmp_path / "lib.py"), IMPORTS.encode() + tried.encode())
        assert judge.file(str(tmp_path / "main.py")) == alone and len(alone.findings) == 1


def test_what_was_used_last_is_forgotten_last(tmp_path, monkeypatch):
    write(tmp_path, {f"{name}.py": f"def {name}(x):\n    return x\n" for name in "abc"})
    world, parsed = World(), []
    monkeypatch.setattr("torchlint.dryrun.world.Parsed", lambda facts, unit: parsed.append(unit.name) or object())

    def use(names):
        for name in names:
            facts = world.facts(str(tmp_path / f"{name}.py"))
            world.parse(facts, facts.functions[name])
        world.forget()
        parsed_now = "".join(parsed)
        parsed.clear()
        return parsed_now

    monkeypatch.setattr("torchlint.dryrun.world.MOST_TEXT", 60)
    assert [use("ab"), use("ba"), use("ca"), use("abc")] == ["ab", "", "c", "b"]
    monkeypatch.setattr("torchlint.dryrun.world.MOST_FILES", 1)
    assert [use("abc"), use("ac"), use("c")] == ["a", "a", ""]
