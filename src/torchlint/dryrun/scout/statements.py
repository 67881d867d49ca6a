"""Makes libcst's statements from those of Python's own tree."""

from __future__ import annotations

import ast

import libcst as cst

from torchlint.dryrun.scout.expressions import Expressions, annotation_of, from_of
from torchlint.dryrun.scout.makers import Odd, maker

_line = maker(cst.SimpleStatementLine, "body")
_block = maker(cst.IndentedBlock, "body")
_suite = maker(cst.SimpleStatementSuite, "body")
_expr = maker(cst.Expr, "value")
_assign = maker(cst.Assign, "targets", "value")
_target = maker(cst.AssignTarget, "target")
_annotated = maker(cst.AnnAssign, "target", "annotation", "value")
_augmented = maker(cst.AugAssign, "target", "operator", "value")
_return = maker(cst.Return, "value")
_raise = maker(cst.Raise, "exc", "cause")
_import = maker(cst.Import, "names")
_import_from = maker(cst.ImportFrom, "module", "names", "relative")
_alias = maker(cst.ImportAlias, "name", "asname")
_as_name = maker(cst.AsName, "name")
_global = maker(cst.Global, "names")
_nonlocal = maker(cst.Nonlocal, "names")
_item_name = maker(cst.NameItem, "name")
_assert = maker(cst.Assert, "test", "msg")
_del = maker(cst.Del, "target")
_if = maker(cst.If, "test", "body", "orelse")
_else = maker(cst.Else, "body")
_for = maker(cst.For, "target", "iter", "body", "orelse")
_while = maker(cst.While, "test", "body", "orelse")
_with = maker(cst.With, "items", "body")
_with_item = maker(cst.WithItem, "item", "asname")
_try = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_except = maker(cst.ExceptHandler, "type", "name", "body")
_finally = maker(cst.Finally, "body")
_function = maker(cst.FunctionDef, "decorators", "name", "params", "returns", "body", "asynchronous")
_class = maker(cst.ClassDef, "decorators", "name", "bases", "keywords", "body")
_decorator = maker(cst.Decorator, "decorator")
_pass, _break, _continue = maker(cst.Pass), maker(cst.Break), maker(cst.Continue)
_AUGMENTED = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(), ast.Div: cst.DivideAssign(),
    ast.FloorDiv: cst.FloorDivideAssign(), ast.Mod: cst.ModuloAssign(), ast.Pow: cst.PowerAssign(),
    ast.MatMult: cst.MatrixMultiplyAssign(), ast.LShift: cst.LeftShiftAssign(), ast.RShift: cst.RightShiftAssign(),
    ast.BitOr: cst.BitOrAssign(), ast.BitXor: cst.BitXorAssign(), ast.BitAnd: cst.BitAndAssign(),
}
_DOT = cst.Dot()


class Statements(Expressions):
    """Makes statements, and the expressions in them."""

    def statements(self, nodes: list[ast.stmt]) -> list[cst.BaseStatement]:
        """The nodes for some statements that stand one after the other."""
        made: list[cst.BaseStatement] = []
        small: list[cst.BaseSmallStatement] = []
        line, last = None, None
        for node in nodes:
            make = _SMALL.get(type(node))
            if make is None:
                line = None
                made.append(self.compound(node))
                continue
            one = make(self, node)
            self.places[id(one)] = node
            if line is not None and node.lineno == last.end_lineno:
                small.append(one)
            else:
                small = [one]
                line = _line(small)
                self.places[id(line)] = node
                made.append(line)
            last = node
        return made

    def compound(self, node: ast.stmt) -> cst.BaseCompoundStatement:
        make = _COMPOUND.get(type(node))
        if make is None:
            raise Odd
        made = make(self, node)
        self.places[id(made)] = node
        return made

    def block(self, nodes: list[ast.stmt]) -> cst.BaseSuite:
        """What stands behind a colon: a block, or statements on the same row."""
        first = nodes[0]
        if type(first) in _SMALL and self.rows.before(first).strip():
            made = []
            for node in nodes:
                one = _SMALL[type(node)](self, node)
                self.places[id(one)] = node
                made.append(one)
            return _suite(made)
        return _block(self.statements(nodes))

    def otherwise(self, nodes: list[ast.stmt]) -> cst.Else | None:
        return _else(self.block(nodes)) if nodes else None

    # -- small statements -----------------------------------------------------------------------------------------

    def expr(self, node: ast.Expr) -> cst.Expr:
        return _expr(self.expression(node.value))

    def assign(self, node: ast.Assign) -> cst.Assign:
        targets = []
        for target in node.targets:
            made = _target(self.expression(target))
            self.places[id(made)] = target
            targets.append(made)
        return _assign(targets, self.expression(node.value))

    def annotated(self, node: ast.AnnAssign) -> cst.AnnAssign:
        return _annotated(self.expression(node.target), annotation_of(self.expression(node.annotation)), self.maybe(node.value))

    def augmented(self, node: ast.AugAssign) -> cst.AugAssign:
        return _augmented(self.expression(node.target), _AUGMENTED[type(node.op)], self.expression(node.value))

    def returned(self, node: ast.Return) -> cst.Return:
        return _return(self.maybe(node.value))

    def raised(self, node: ast.Raise) -> cst.Raise:
        exc = self.maybe(node.exc)
        return _raise(exc, None if node.cause is None else from_of(self.expression(node.cause)))

    def imported(self, node: ast.Import) -> cst.Import:
        return _import([self.alias(alias) for alias in node.names])

    def imported_from(self, node: ast.ImportFrom) -> cst.ImportFrom:
        names = cst.ImportStar() if node.names[0].name == "*" else [self.alias(alias) for alias in node.names]
        return _import_from(self.dotted(node.module) if node.module else None, names, [_DOT] * node.level)

    def alias(self, node: ast.alias) -> cst.ImportAlias:
        made = _alias(self.dotted(node.name), _as_name(self.named(node.asname)) if node.asname is not None else None)
        self.places[id(made)] = node
        return made

    def made_global(self, node: ast.Global) -> cst.Global:
        return _global([_item_name(self.named(name)) for name in node.names])

    def made_nonlocal(self, node: ast.Nonlocal) -> cst.Nonlocal:
        return _nonlocal([_item_name(self.named(name)) for name in node.names])

    def asserted(self, node: ast.Assert) -> cst.Assert:
        return _assert(self.expression(node.test), self.maybe(node.msg))

    def deleted(self, node: ast.Delete) -> cst.Del:
        if len(node.targets) > 1:
            first = node.targets[0]
            inner = ast.Tuple(elts=node.targets, lineno=first.lineno, col_offset=first.col_offset,
                              end_lineno=node.end_lineno, end_col_offset=node.end_col_offset)
            return _del(self.expression(inner))
        return _del(self.expression(node.targets[0]))

    # -- compound statements --------------------------------------------------------------------------------------

    def branch(self, node: ast.If) -> cst.If:
        test, body = self.expression(node.test), self.block(node.body)
        other = node.orelse
        if len(other) == 1 and type(other[0]) is ast.If and self.rows.begins_with(other[0], "elif"):
            return _if(test, body, self.compound(other[0]))
        return _if(test, body, self.otherwise(other))

    def loop(self, node: ast.For | ast.AsyncFor) -> cst.For:
        target, over = self.expression(node.target), self.expression(node.iter)
        return _for(target, over, self.block(node.body), self.otherwise(node.orelse))

    def repeated(self, node: ast.While) -> cst.While:
        return _while(self.expression(node.test), self.block(node.body), self.otherwise(node.orelse))

    def context(self, node: ast.With | ast.AsyncWith) -> cst.With:
        items = []
        for item in node.items:
            name = item.optional_vars
            made = _with_item(self.expression(item.context_expr), None if name is None else _as_name(self.expression(name)))
            self.places[id(made)] = item.context_expr
            items.append(made)
        return _with(items, self.block(node.body))

    def tried(self, node: ast.Try) -> cst.Try:
        body = self.block(node.body)
        handlers = [self.handler(item) for item in node.handlers]
        last = _finally(self.block(node.finalbody)) if node.finalbody else None
        return _try(body, handlers, self.otherwise(node.orelse), last)

    def handler(self, node: ast.ExceptHandler) -> cst.ExceptHandler:
        name = None if node.name is None else _as_name(self.named(node.name))
        made = _except(self.maybe(node.type), name, self.block(node.body))
        self.places[id(made)] = node
        return made

    def function_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> cst.FunctionDef:
        if getattr(node, "type_params", None):
            raise Odd
        params = self.parameters(node.args)
        returns = None if node.returns is None else annotation_of(self.expression(node.returns))
        asynchronous = cst.Asynchronous() if type(node) is ast.AsyncFunctionDef else None
        return _function(self.decorators(node), self.named(node.name), params, returns, self.block(node.body), asynchronous)

    def class_def(self, node: ast.ClassDef) -> cst.ClassDef:
        if getattr(node, "type_params", None):
            raise Odd
        bases = [self.argument(base) for base in node.bases]
        keywords = [self.argument(keyword) for keyword in node.keywords]
        return _class(self.decorators(node), self.named(node.name), bases, keywords, self.block(node.body))

    def decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[cst.Decorator]:
        found = []
        for item in node.decorator_list:
            made = _decorator(self.expression(item))
            self.places[id(made)] = item
            found.append(made)
        return found


_SMALL = {
    ast.Expr: Statements.expr,
    ast.Assign: Statements.assign,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Return: Statements.returned,
    ast.Raise: Statements.raised,
    ast.Import: Statements.imported,
    ast.ImportFrom: Statements.imported_from,
    ast.Global: Statements.made_global,
    ast.Nonlocal: Statements.made_nonlocal,
    ast.Assert: Statements.asserted,
    ast.Delete: Statements.deleted,
    ast.Pass: lambda self, node: _pass(),
    ast.Break: lambda self, node: _break(),
    ast.Continue: lambda self, node: _continue(),
}
_COMPOUND = {
    ast.If: Statements.branch,
    ast.For: Statements.loop,
    ast.AsyncFor: Statements.loop,
    ast.While: Statements.repeated,
    ast.With: Statements.context,
    ast.AsyncWith: Statements.context,
    ast.Try: Statements.tried,
    ast.FunctionDef: Statements.function_def,
    ast.AsyncFunctionDef: Statements.function_def,
    ast.ClassDef: Statements.class_def,
}
