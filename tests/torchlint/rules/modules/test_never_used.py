"""506: layers of the project's own classes that are built and never used."""

from tests.torchlint.dryrun.support import IMPORTS, holds, table
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine

NET = """
class Rows(nn.Module):
    def __init__(self, layer=None):
        super().__init__()
        {inside}

    def forward(self, x):
        return torch.relu(self.layer(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.rows = {made}{mark}

    def forward(self, x):
        return {used}
"""


@table({
    "one that holds a layer": NET.format(inside="self.layer = layer", made="Rows(nn.Linear(4, 1))", mark="  # <- 506", used="self.body(x)"),
    "one that makes a layer": NET.format(inside="self.layer = nn.Linear(4, 1)", made="Rows()", mark="  # <- 506", used="self.body(x)"),
    "one without parameters": NET.format(inside="self.layer = nn.ReLU()", made="Rows()", mark="", used="self.body(x)"),
    "one that is used": NET.format(inside="self.layer = layer", made="Rows(nn.Linear(4, 1))", mark="", used="self.rows(self.body(x))"),
})
def test_never_used(code):
    holds(code)


LISTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.rows = nn.Linear(4, 4){mark}
        {kept}

    def forward(self, x):
        return self.body(x)
{more}
"""


def listed(kept, mark="", more=""):
    return LISTED.format(kept=kept, mark=mark, more=more)


READ = """
    def groups(self, rate):
        return [{"params": self.get(name), "lr": rate} for name in self.exclusive]
"""


@table({
    "in a list for the optimizer": listed("self.__setattr__('exclusive', ['body', 'rows'])", "  # <- 506"),
    "over several lines": listed("self.exclusive = ['body',\n                          'rows',\n        ]", "  # <- 506"),
    "a list that the class reads": listed("self.exclusive = ['body', 'rows']", more=READ),
    "a table": listed("self.exclusive = {'body': 'rows'}"),
    "a name by itself": listed("self.last = 'rows'"),
    "a list that the file reads": listed(
        "self.exclusive = ['rows']", more="\ndef last(net):\n    return [net.get_submodule(one) for one in net.exclusive]"
    ),
})
def test_listed_by_name(code):
    holds(code)


BY_NAME = """
from torchvision import models

class Net(nn.Module):
    def __init__(self, act):
        super().__init__()
        {made}
        self.norm2 = nn.BatchNorm2d(4){mark}
        self.down = nn.ModuleList([nn.Conv2d(4, 4, 3)])

    def forward(self, x):
        for i in (1, 3):
            x = self.down[0]({asked}(x))
        return x
"""


def by_name(asked, mark="", made="self.norm1 = nn.BatchNorm2d(4); self.norm3 = nn.BatchNorm2d(4)"):
    return BY_NAME.format(asked=asked, mark=mark, made=made)


@table({
    "one name alone": by_name("getattr(self, f'norm1')", "  # <- 506").replace("; self.norm3 = nn.BatchNorm2d(4)", ""),
    "names of another kind": by_name("getattr(self, f'conv{i}')", "  # <- 506", "self.conv1 = nn.Conv2d(4, 4, 3)"),
    "set by such names, too": by_name("getattr(self, 'conv_%d' % i)", "  # <- 506", "setattr(self, 'conv_%d' % act, nn.Conv2d(4, 4, 3))"),
    "put together with a plus": by_name("getattr(self, 'conv' + str(i))", "  # <- 506", "self.conv1 = nn.Conv2d(4, 4, 3)"),
    "by format": by_name("getattr(self, 'conv{}'.format(i))", "  # <- 506", "self.conv1 = nn.Conv2d(4, 4, 3)"),
    "of a module of another library": by_name("getattr(models, act)()", "  # <- 506", "pass"),
    "names of its kind": by_name("getattr(self, f'norm{i}')"),
    "its name by format": by_name("getattr(self, 'norm{}'.format(i))"),
    "its name with a per cent": by_name("getattr(self, 'norm%d' % i)"),
    "its name with a plus": by_name("getattr(self, 'norm' + str(i))"),
    "any name": by_name("getattr(self, act)"),
    "any name, in a text": by_name("getattr(self, f'{act}')"),
    "of something else": by_name("getattr(x, 'conv1')"),
    "among all": by_name("list(self.children())[i]"),
})
def test_asked_by_name(code):
    holds(code)


HOSTED = """
from transformers import BertModel, BertPreTrainedModel

class Rows(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 2)

    def forward(self, x):
        return torch.relu(self.layer(x))

class Net({base}):
    def __init__(self, config):
        super().__init__({config})
        self.bert = BertModel(config)
        self.{name} = {made}{mark}

    def forward(self, ids):
        '''
        return self.{name}(self.bert(ids)[0])
        '''
        return {used}
"""
BAD = "  # <- 506"


def hosted(mark="", **other):
    parts = {"base": "BertPreTrainedModel", "config": "config", "name": "rows", "made": "Rows(config.hidden_size)", "used": "self.bert(ids)[0]"}
    return HOSTED.format(mark=mark, **(parts | other))


@table({
    "a layer of torch": hosted(BAD, made="nn.Linear(config.hidden_size, 2)"),
    "one of the project's": hosted(BAD),
    "of a module": hosted(BAD, base="nn.Module", config=""),
    "used": hosted(used="self.rows(self.bert(ids)[0])"),
    "what the base asks for": hosted(name="lm_head"),
    "a model, which uses its own": hosted(base="BertModel"),
})
def test_of_models_of_transformers(code):
    holds(code)


def test_it_is_found_where_no_other_rule_is_asked(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(IMPORTS + hosted(BAD, base="nn.Module", config=""))
    rules = tuple(rule for rule in catalogue() if rule.code == 506)
    assert [finding.number for finding in Engine(rules).check(str(path), path.read_text()).findings] == [506]
