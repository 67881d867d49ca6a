"""What in a file can matter: one parse by the C parser and one flat walk over its tree."""

from __future__ import annotations

import ast

from torchlint.dryrun.facts import ClassFacts, FileFacts, Unit

# A file that has none of these words cannot make a torch event.
MARKS = (b"torch", b"lightning", b"accelerate", b"transformers", b"timm", b"ignite", b"fastai", b"deepspeed")


def may_matter(text: str) -> bool:
    """Whether the text names torch, or a library on top of it, at all."""
    data = text.encode("utf-8", "surrogatepass")
    return any(mark in data for mark in MARKS)


def read_facts(path: str, text: str) -> FileFacts:
    """The facts of one file.

    Raises:
        SyntaxError: the text does not parse (also for null bytes and for nesting past what the parser takes).
    """
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too deeply nested") from None
    facts = FileFacts(path, split_lines(text))
    everything: set[str] = set()
    run: list[ast.stmt] = []

    def flush() -> None:
        if run:
            unit = _unit("<module>", run[0], run[-1], run, indent=False)
            everything.update(unit.words)
            facts.body.append(unit)
            run.clear()

    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            flush()
            facts.functions[node.name] = unit = _function(node, indent=False)
            facts.body.append(node.name)
            everything.update(unit.words)
        elif isinstance(node, ast.ClassDef):
            flush()
            facts.classes[node.name] = _class(node, everything)
            facts.body.append(node.name)
        else:
            if run and not (_simple(node) and _simple(run[-1])):
                flush()
            run.append(node)
    flush()
    for node in tree.body:
        _imports(node, facts)
    facts.words = frozenset(everything)
    return facts


def split_lines(text: str) -> list[str]:
    """The text's lines with their ends, broken where Python's own parser breaks them (not at form feeds)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in lines]


def _simple(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.AugAssign))


def _imports(node: ast.stmt, facts: FileFacts) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            facts.imports[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                facts.stars.append(base)
            else:
                facts.imports[alias.asname or alias.name] = f"{base}.{alias.name}" if base.strip(".") else base + alias.name
    elif isinstance(node, (ast.If, ast.Try, ast.With)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ExceptHandler):
                for inner in child.body:
                    _imports(inner, facts)
            elif isinstance(child, ast.stmt):
                _imports(child, facts)


def _start(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", None)
    return min([node.lineno, *(d.lineno for d in decorators)]) if decorators else node.lineno


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):
        return _dotted(node.func) + "()" + "".join("." + part for part in reversed(parts))
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: bool) -> Unit:
    unit = _unit(node.name, node, node, [node], indent)
    args = node.args
    unit.params = tuple(arg.arg for arg in (*args.posonlyargs, *args.args))
    unit.is_async = isinstance(node, ast.AsyncFunctionDef)
    unit.decorators = tuple(_dotted(d) for d in node.decorator_list)
    return unit


def _unit(name: str, first: ast.stmt, last: ast.stmt, nodes: list, indent: bool) -> Unit:
    words: set[str] = set()
    sets: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is ast.Attribute:
            words.add(node.attr)
            if type(node.ctx) is not ast.Load and type(node.value) is ast.Name and node.value.id == "self":
                sets.add(node.attr)
        elif kind is ast.Name:
            words.add(node.id)
            continue
        elif kind is ast.Constant:
            continue
        elif kind is ast.Import or kind is ast.ImportFrom:
            words.update(alias.name for alias in node.names)
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                todo.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                todo.append(value)
    return Unit(name, _start(first), last.end_lineno, indent, words=frozenset(words), sets=frozenset(sets))


def _class(node: ast.ClassDef, everything: set[str]) -> ClassFacts:
    facts = ClassFacts(
        node.name,
        _start(node),
        node.end_lineno,
        node.lineno,
        tuple(_dotted(base) for base in node.bases),
        tuple(keyword.arg or "**" for keyword in node.keywords),
        tuple(_dotted(d) for d in node.decorator_list),
    )
    for item in node.body:
        if item.lineno == node.lineno:  # class A: pass
            continue
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            unit = _function(item, indent=True)
            if any(d.endswith((".setter", ".deleter")) for d in unit.decorators):
                continue
            facts.methods[item.name] = unit
        elif isinstance(item, ast.ClassDef):
            facts.classes[item.name] = _class(item, everything)
            continue
        else:
            unit = _unit("<class>", item, item, [item], indent=True)
            facts.body.append(unit)
        everything.update(unit.words)
    return facts
