"""811: torch.distributed.launch, and the argument that it passed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Event, Seq
from torchlint.rules.base import Report, View, once
from torchlint.rules.mends.changes import Mend, replace
from torchlint.rules.mends.rows import beside, tree_of
from torchlint.rules.shared.program_code import code_around
from torchlint.rules.shared.written_names import imports

CODE = 811
LAUNCH = "torch.distributed.launch"
WATCHED = frozenset(
    {
        "os.system",
        "os.popen",
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.Popen",
    }
)
_ARGUMENT = "--local_rank"
# What gives the local rank in another way, and launchers that are not torch's.
_LAUNCHERS = r"--local-rank|deepspeed|accelerat|horovod|lightning|megatron|spawn\("
_OTHERWISE = re.compile(
    rf"(?<![.\w])LOCAL_RANK|{_LAUNCHERS}|TrainingArguments|HfArgumentParser|SLURM|OMPI|mpi4py"
    r"|(?m:^\s*(?:\w+\.)*local_rank\s*=(?!=)(?!\s*(?:\w+\.)+local_rank\b))"
)
# Which process of all it is: a number, or what torchrun has put there, says nothing of who started it.
_OF_THE_RUN = r"\s*(?:\d|(?:int\(\s*)?os\.(?:environ|getenv))"
_RANKED = re.compile(rf"init_process_group\([^)]*\brank\s*=(?!{_OF_THE_RUN})\s*([^,)\s]*)")
# The argument itself is no other way to learn it, unless each process is started by hand, and told where they meet.
_ITSELF = re.compile(r"(?:\w+\.)+local_rank")
_BY_HAND = re.compile(r"tcp://|file://")
_ALONE = re.compile(r"init_process_group\((?:[^()]|\([^()]*\))*\bworld_size\s*=\s*1\b")
# What else may give it, and what lets arguments through that nobody has asked for.
_UNASKED = re.compile(rf"{_LAUNCHERS}|parse_known_args")
# Where an argument is asked for and explained, and what may read it, or give it, anywhere else.
_ASKED = re.compile(r"add_argument\(\s*[\"']--local_rank[\"']|\b(?:help|dest)\s*=\s*[\"']local_rank\b")
_READ = re.compile(r"\.local_rank|LOCAL_RANK|[\"']local_rank\b|--local_rank|\bvars\(|\*\*|__dict__|_get_kwargs|\bgetattr\(\w+,\s*\w")
_NOBODY = "torch 2's `torch.distributed.launch` passes `--local-rank`, with a hyphen, and `torchrun` passes neither: nobody gives `--local_rank`"
_DEAD = (
    "`--local_rank` is read nowhere: it is there for `torch.distributed.launch`, and torch 2's passes `--local-rank`, with a hyphen, which"
    " this program refuses"
)


def check(view: View) -> Iterator[Report]:
    """`os.system("python -m torch.distributed.launch ...")`, `parser.add_argument("--local_rank")` and nothing else."""
    yield from once(_reports(view))


def _reports(view: View) -> Iterator[Report]:
    for site, _ in imports(view, lambda name: name == LAUNCH or name.startswith(LAUNCH + ".")):
        yield Report(CODE, site, {"problem": f"`{LAUNCH}` is deprecated"})
    for event in view.of("call"):
        if event.name in WATCHED and _launches(view, event):
            yield Report(CODE, event.site, {"problem": f"`{LAUNCH}` is deprecated: this starts it"})
    if not view.admits((2, 0)):
        return
    for event in view.of("unknown"):
        problem = _of_the_argument(view, event) if event.name == "add_argument" and _names_only_the_old(event) else None
        if problem is not None:
            given = event.site.node.args[0].value
            quote = given.value[0]
            parsed = event.site.parsed
            both = f"{quote}--local-rank{quote},{beside(parsed, parsed.location(given))}{given.value}"
            mend = Mend("take both spellings", [replace(event.site, both, given)])
            yield Report(CODE, event.site, {"problem": problem}, mend=mend)


def _launches(view: View, event: Event) -> bool:
    """Whether a command names the launcher: as one text, or as a list of words."""
    first = event.args[0] if event.args else event.kwargs.get("args")
    words = view.run.known_items(first) if isinstance(first, Seq) else (first,)
    if any(isinstance(word, Const) and isinstance(word.value, str) and LAUNCH in word.value for word in words):
        return True
    node = event.site.node
    return isinstance(node, cst.Call) and bool(node.args) and LAUNCH in event.site.parsed.text(node.args[0].value)


def _names_only_the_old(event: Event) -> bool:
    node = event.site.node
    if not isinstance(node, cst.Call) or not node.args or not isinstance(node.args[0].value, cst.SimpleString):
        return False
    names = [
        arg.value.value.strip("\"'")
        for arg in node.args
        if arg.keyword is None and isinstance(arg.value, cst.SimpleString)
    ]
    return names == [_ARGUMENT]


def _of_the_argument(view: View, event: Event) -> str | None:
    """What is wrong with an argument of the old spelling alone, where the program starts a process group: nobody gives the rank
    that it reads and has no other way to learn, or nobody reads it, and the launcher that it is there for passes another."""
    facts = event.site.parsed.facts
    text = re.sub(r"#.*", "", "".join(facts.lines))
    here = _starts(text)
    if here and ".local_rank" in text:
        return None if _learnt_otherwise(text) else _NOBODY
    around = {path: code for path, code in code_around(view, facts.path).items() if path != facts.path}
    texts = [text, *around.values()]
    if not here and not any(_starts(code) for code in around.values()):
        return None
    if not any(_read(code) for code in texts):
        return None if any(_UNASKED.search(code) or _ranked_by_hand(code) for code in texts) else _DEAD
    if here:
        return None
    return _NOBODY if any(".local_rank" in code for code in texts) and not any(_learnt_otherwise(code) for code in texts) else None


def _learnt_otherwise(text: str) -> bool:
    """Whether a program has another way to learn its rank, or another launcher: `rank=args.rank` is one, `rank=args.local_rank` the argument."""
    if _OTHERWISE.search(text):
        return True
    return _ranked_by_hand(text)


def _ranked_by_hand(text: str) -> bool:
    """Whether a group is started with a rank that is neither the argument's nor the environment's."""
    ranks = (ranked[1] for ranked in _RANKED.finditer(text))
    return any(not _of_the_run(text, rank) and (_ITSELF.fullmatch(rank) is None or _BY_HAND.search(text)) for rank in ranks)


def _of_the_run(text: str, name: str) -> bool:
    """Whether a name stands for a number or an environment variable, wherever the text binds it."""
    if not name.isidentifier():
        return False
    try:
        nodes = list(ast.walk(tree_of(text)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    stores = sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)
    given = [ast.unparse(node.value) for node in nodes if isinstance(node, ast.Assign) and _binds_alone(node, name)]
    return 0 < stores == len(given) and all(re.match(_OF_THE_RUN, value) for value in given) and not any(
        isinstance(node, ast.arg) and node.arg == name for node in nodes)


def _binds_alone(node: ast.Assign, name: str) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name


def _starts(text: str) -> bool:
    """Whether a text starts a process group, and not only one of a single process."""
    return "init_process_group" in _ALONE.sub("", text)


def _read(text: str) -> bool:
    """Whether a text may read the argument, or give it: a variable of the same name that is set to something else does neither."""
    return _READ.search(_ASKED.sub("", text)) is not None
