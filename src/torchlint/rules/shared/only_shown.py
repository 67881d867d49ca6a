"""Whether a value is only looked at: printed, compared, made a number. Followed through a file by its names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.mends.rows import statement_at, text_of, tree_of


def only_shown(view: View, site: Site, name: str) -> bool:
    """Whether all that becomes of what a statement keeps under a name (`total`, `self.total`) is seen, and is no more than
    a number that somebody looks at: nothing that can tell a tensor from one without a graph."""
    place = statement_at(site)
    if place is None:
        return False
    paths = _Paths(view, site)
    if re.fullmatch(r"self\.\w+", name):
        return paths.attribute(name.removeprefix("self."))
    return name.isidentifier() and paths.name(paths.scope_of(place.statement), name)


class _Paths:
    """The ways that values take through one file."""

    def __init__(self, view: View, site: Site):
        self.view = view
        self.path = site.parsed.facts.path
        self.tree = tree_of(text_of(site.parsed))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.asked: set[tuple[ast.AST, str]] = set()

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function, class or file whose name a name in it is."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, _SCOPES):
                break
        return node

    def name(self, scope: ast.AST, name: str) -> bool:
        """Whether a scope's name is only looked at."""
        if (scope, name) in self.asked:
            return True  # it is being looked at
        self.asked.add((scope, name))
        nodes = list(ast.walk(scope))
        words = {node.id for node in nodes if isinstance(node, ast.Name)}
        if isinstance(scope, ast.ClassDef) or words & {"locals", "globals", "eval", "exec", "vars"}:
            return False
        if isinstance(scope, ast.Module):
            return not self.used_elsewhere(name) and self._all_shown(nodes, name)
        outside = (ast.Global, ast.Nonlocal)
        if any(isinstance(node, outside) and name in node.names for node in nodes):
            return self.name(self.tree, name)
        return self._all_shown(nodes, name)

    def _all_shown(self, nodes: list[ast.AST], name: str) -> bool:
        return all(
            self.shown(node) for node in nodes if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        )

    def attribute(self, name: str) -> bool:
        """Whether an attribute of that name, of whatever object, is only looked at."""
        if (self.tree, f".{name}") in self.asked:
            return True
        self.asked.add((self.tree, f".{name}"))
        nodes = list(ast.walk(self.tree))
        if any(isinstance(node, ast.Name) and node.id in ("vars", "getattr") for node in nodes):
            return False
        uses = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]
        if any(node.attr == "__dict__" for node in uses) or self.used_elsewhere(name):
            return False
        return all(self.shown(node) for node in uses if node.attr == name)

    def used_elsewhere(self, name: str) -> bool:
        """Whether a file that imports this one has a word, or may have it: a project that is too large is not read."""
        project = self.view.run.world.project_of(self.path)
        if project is None:
            return self.view.run.world.disk.is_file(self.path)
        wanted = re.compile(rf"\b{re.escape(name)}\b")
        return any(wanted.search(user.code) for user in project.users(self.path))

    def shown(self, node: ast.AST) -> bool:
        """Whether the value of an expression is only looked at where it stands."""
        over = self.parents[node]
        if isinstance(over, ast.Attribute):
            return self._asked_for(over)
        if isinstance(over, ast.Call):
            return self._given_to(over)
        if isinstance(over, ast.Subscript):
            return over.value is not node or not isinstance(over.ctx, ast.Load) or self.shown(over)
        if isinstance(over, (ast.For, ast.comprehension)):
            return over.iter is node and self._kept_in(over.target)
        if isinstance(over, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            kept = all(map(self._kept_in, over.targets if isinstance(over, ast.Assign) else [over.target]))
            return kept and (not isinstance(over, ast.NamedExpr) or self.shown(over))
        if isinstance(over, ast.Return):
            return self._returned(self.scope_of(over))
        if isinstance(over, _PASS_ON):
            return self.shown(over)
        return isinstance(over, _LOOK)

    def _asked_for(self, attribute: ast.Attribute) -> bool:
        """Whether an attribute or method of the value gives no more than its numbers."""
        call = self.parents[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return attribute.attr in ("data", "shape", "dtype", "device", "ndim")
        return attribute.attr in _GIVES_NUMBERS or attribute.attr in _COMPUTES and self.shown(call)

    def _given_to(self, call: ast.Call) -> bool:
        """Whether a call that is given the value shows it, or computes what is only shown."""
        func = call.func
        if isinstance(func, ast.Attribute):
            if func.attr == "append":
                return self._kept_in(func.value)
            root = func
            while isinstance(root, ast.Attribute):
                root = root.value
            of_numpy = isinstance(root, ast.Name) and root.id in ("np", "numpy", "math")
            return of_numpy or func.attr in _SHOWS or func.attr in _COMPUTES and self.shown(call)
        if not isinstance(func, ast.Name) or any(isinstance(n, _SCOPES[:2]) and n.name == func.id for n in ast.walk(self.tree)):
            return False
        return func.id in _SHOWING_BUILTINS or func.id in _PASSING_BUILTINS and self.shown(call)

    def _kept_in(self, target: ast.AST) -> bool:
        """Whether what is assigned to a target is only looked at from there on."""
        if isinstance(target, ast.Name):
            return self.name(self.scope_of(target), target.id)
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(map(self._kept_in, target.elts))
        if isinstance(target, (ast.Subscript, ast.Starred)):
            return self._kept_in(target.value)
        own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        return own and self.attribute(target.attr)

    def _returned(self, function: ast.AST) -> bool:
        """Whether all callers of a function only look at what it gives, and all of them are seen."""
        if not isinstance(function, ast.FunctionDef) or function.decorator_list or function.name.startswith("__"):
            return False
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)):
            return False
        if (function, "()") in self.asked:
            return True
        self.asked.add((function, "()"))
        if isinstance(self.parents[function], ast.ClassDef) and self.parents[function].bases:
            return False  # called by a base, it may be
        uses = list(self._named(function.name))
        calls = [self.parents[use] for use in uses]
        every = all(isinstance(call, ast.Call) and call.func is use for call, use in zip(calls, uses))
        return bool(uses) and every and not self.used_elsewhere(function.name) and all(map(self.shown, calls))

    def _named(self, name: str) -> Iterator[ast.AST]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == name or isinstance(node, ast.Attribute) and node.attr == name:
                yield node


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_PASS_ON = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred, ast.keyword,
    ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp,
)
_LOOK = (ast.Compare, ast.FormattedValue, ast.Expr, ast.If, ast.While, ast.Assert, ast.Delete)
_GIVES_NUMBERS = frozenset({
    "item", "tolist", "detach", "numpy", "size", "dim", "append", "extend", "clear", "index", "count", "reverse", "format",
})
_COMPUTES = frozenset({
    "mean", "sum", "cpu", "cuda", "to", "float", "double", "half", "clone", "abs", "sqrt", "exp", "log10", "stack", "cat",
    "tensor", "as_tensor", "max", "min", "median", "std", "squeeze", "view", "reshape", "pop", "get", "values", "items", "copy",
})
_SHOWS = frozenset({
    "info", "debug", "warning", "error", "log", "log_dict", "log_metric", "log_metrics", "add_scalar", "add_scalars", "write",
    "writerow", "set_postfix", "set_postfix_str", "set_description", "set_description_str", "format", "isnan", "isinf",
    "isfinite", "is_tensor", "allclose", "equal",
})
_SHOWING_BUILTINS = frozenset({"print", "float", "int", "str", "round", "len", "format", "bool", "isinstance"})
_PASSING_BUILTINS = frozenset({"sum", "min", "max", "abs", "list", "tuple", "sorted", "reversed", "enumerate", "zip", "dict"})
