"""A frame's variables are read, and nothing of them stays with the frame."""

from __future__ import annotations

import sys
import weakref

from torchsan.program.variables import variables


class Thing:
    pass


def test_nothing_is_kept():
    thing = Thing()
    gone = weakref.ref(thing)
    assert thing in variables(sys._getframe())
    del thing
    assert gone() is None


def test_what_the_program_asked_for_is_left_alone():
    number = 5
    mine = locals()
    assert 5 in variables(sys._getframe()) and mine["number"] == number == 5
    assert locals()["number"] == 5


def test_a_module_keeps_its_names():
    space = {"sys": sys, "variables": variables}
    exec("number = 3\nfound = variables(sys._getframe())", space)
    assert 3 in space["found"] and space["number"] == 3
