"""An engine that finds what the test's text tells it to: for testing everything around the real one."""

import ast
import hashlib
import os
import signal
import time
from pathlib import Path

from torchlint.engine import Judged
from torchlint.findings import Finding, Location, Related, Severity


def finding(filename="train.py", row=1, column=1, end_column=None, code="TL101", **more):
    """A finding with as little said as possible."""
    at = Location(filename, row, column, row if end_column else None, end_column, more.pop("cell", None))
    fields = {
        "name": "missing-zero-grad",
        "message": "`loss.backward()` adds to the gradients of the last step",
        "group": "correctness",
        "severity": Severity.ERROR,
        "help": "call `optimizer.zero_grad()` once per step",
        "url": "https://torchlint.readthedocs.io/rules/101-missing-zero-grad",
        **more,
    }
    return Finding(code, location=at, **fields)


class FakeEngine:
    """Flags each call of `bad()`. Further names in the judged text make it do what engines should not, or need to:
    `die()` kills the process, `crash()` raises, `sleep()` takes a while, `elsewhere("x.py")` flags row 1 of x.py,
    `reads("x.py")` depends on x.py, `related(3)` flags itself with row 3 as the other line that matters. Every text
    judged is noted in the file that FAKE_ENGINE_LOG names.
    """

    def __init__(self, rules, torch_version, roots):
        self.rules = rules

    def look_again(self, digest):
        pass

    def check(self, filename, text):
        log = os.environ.get("FAKE_ENGINE_LOG")
        if log:
            with open(log, "a") as file:
                file.write(os.path.basename(filename) + "\n")
        findings, depends = [], {}
        for node in ast.walk(ast.parse(text)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            argument = node.args[0].value if node.args else None
            row, column, end = node.lineno, node.col_offset + 1, node.end_col_offset + 1
            match node.func.id:
                case "bad":
                    findings.append(finding(filename, row, column, end, url=""))
                case "related":
                    other = Related(Location(filename, argument, 1, argument, 4), "this one")
                    findings.append(finding(filename, row, column, end, url="", related=(other,)))
                case "elsewhere":
                    path = Path(filename).parent / argument
                    findings.append(finding(str(path), url=""))
                    depends[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
                case "reads":
                    path = Path(filename).parent / argument
                    depends[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
                case "crash":
                    raise RecursionError("maximum recursion depth exceeded\nand more")
                case "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "sleep":
                    time.sleep(argument)
        return Judged(tuple(findings), depends)
