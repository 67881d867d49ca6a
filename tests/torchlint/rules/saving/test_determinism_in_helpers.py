"""932 where the race is asked for in one place of a file and determinism in another one."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
def seeded(seed):
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
{more}

{first}
seeded(1)
"""


def code(first, more="    print(seed)"):
    return CODE.format(first=first, more=more)


@table({
    "where cuDNN is on": code("if torch.backends.cudnn.enabled:\n    torch.backends.cudnn.benchmark = True  # <- 932"),
    "where there is a GPU": code("if torch.cuda.is_available():\n    torch.backends.cudnn.benchmark = True  # <- 932"),
    "always": code("torch.backends.cudnn.benchmark = True  # <- 932"),
    "the helper takes it back": code(
        "if torch.backends.cudnn.enabled:\n    torch.backends.cudnn.benchmark = True", "    torch.backends.cudnn.benchmark = False"),
    "an option of its own": code("import sys\nif len(sys.argv) > 1:\n    torch.backends.cudnn.benchmark = True"),
    "where cuDNN is off": code("if not torch.backends.cudnn.enabled:\n    torch.backends.cudnn.benchmark = True"),
})
def test_one_in_a_helper(code):
    holds(code)
