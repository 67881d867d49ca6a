"""811: torch.distributed.launch, and the argument that it passed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Event, Seq
from torchlint.rules.base import Report, View, once
from torchlint.rules.mends.changes import Mend, replace
from torchlint.rules.mends.rows import beside
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
_OTHERWISE = re.compile(
    r"(?<![.\w])LOCAL_RANK|--local-rank|deepspeed|accelerat|transformers|horovod|lightning|megatron|spawn\(|SLURM|OMPI|mpi4py"
    r"|(?m:^\s*(?:\w+\.)*local_rank\s*=(?!=)(?!\s*(?:\w+\.)+local_rank\b))"
    r"|init_process_group\([^)]*\brank\s*=(?!\s*(?:\d|(?:int\(\s*)?os\.(?:environ|getenv)))"
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
    if view.torch_version is not None and view.torch_version < (2, 0):
        return
    for event in view.of("unknown"):
        if event.name == "add_argument" and _names_only_the_old(event) and _alone(event):
            given = event.site.node.args[0].value
            quote = given.value[0]
            parsed = event.site.parsed
            both = f"{quote}--local-rank{quote},{beside(parsed, parsed.location(given))}{given.value}"
            mend = Mend("take both spellings", [replace(event.site, both, given)])
            yield Report(CODE, event.site, {"problem": "torch 2's `torch.distributed.launch` passes `--local-rank`, with a hyphen, and `torchrun` passes neither: nobody gives `--local_rank`"}, mend=mend)


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


def _alone(event: Event) -> bool:
    """Whether the file starts a process group with this rank, and has no other way to learn it."""
    text = "".join(event.site.parsed.facts.lines)
    return "init_process_group" in text and ".local_rank" in text and not _OTHERWISE.search(re.sub(r"#.*", "", text))
