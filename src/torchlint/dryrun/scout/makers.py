"""Makes single nodes of libcst's classes past their own checks, which take ten times as long."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

NOTHING = ()
PARENTHESES = (cst.LeftParen(),)  # that a node stands in some is all that is asked of them
_new = object.__new__


class Odd(Exception):
    """Something that is not made here: libcst parses the unit."""


def maker(kind: type[cst.CSTNode], *names: str) -> Callable[..., cst.CSTNode]:
    """What makes nodes of a kind by the values of some of its fields. An expression stands in no parentheses, at first."""
    sets = [getattr(kind, name).__set__ for name in names]
    if hasattr(kind, "lpar") and issubclass(kind, cst.BaseExpression):
        return _expression(kind, sets, kind.lpar.__set__)
    if len(sets) == 1:
        (set_only,) = sets

        def make_one(only):
            node = _new(kind)
            set_only(node, only)
            return node

        return make_one
    if len(sets) == 2:
        set_first, set_second = sets

        def make_two(first, second):
            node = _new(kind)
            set_first(node, first)
            set_second(node, second)
            return node

        return make_two
    if len(sets) == 3:
        set_first, set_second, set_third = sets

        def make_three(first, second, third):
            node = _new(kind)
            set_first(node, first)
            set_second(node, second)
            set_third(node, third)
            return node

        return make_three

    def make(*values):
        node = _new(kind)
        for set_value, value in zip(sets, values):
            set_value(node, value)
        return node

    return make


def _expression(kind: type[cst.CSTNode], sets: list[Callable], set_lpar: Callable) -> Callable[..., cst.CSTNode]:
    if len(sets) == 1:
        (set_only,) = sets

        def make_one(only):
            node = _new(kind)
            set_only(node, only)
            set_lpar(node, NOTHING)
            return node

        return make_one
    if len(sets) == 2:
        set_first, set_second = sets

        def make_two(first, second):
            node = _new(kind)
            set_first(node, first)
            set_second(node, second)
            set_lpar(node, NOTHING)
            return node

        return make_two
    if len(sets) == 3:
        set_first, set_second, set_third = sets

        def make_three(first, second, third):
            node = _new(kind)
            set_first(node, first)
            set_second(node, second)
            set_third(node, third)
            set_lpar(node, NOTHING)
            return node

        return make_three

    def make(*values):
        node = _new(kind)
        for set_value, value in zip(sets, values):
            set_value(node, value)
        set_lpar(node, NOTHING)
        return node

    return make


def put_in_parentheses(node: cst.BaseExpression) -> cst.BaseExpression:
    """Notes that a node stands in parentheses of its own."""
    type(node).lpar.__set__(node, PARENTHESES)
    return node
