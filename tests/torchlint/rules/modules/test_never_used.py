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
    "a list that the file reads": listed("self.exclusive = ['rows']", more="\ndef last(net):\n    return [net.get_submodule(one) for one in net.exclusive]"),
})
def test_listed_by_name(code):
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
