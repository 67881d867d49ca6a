"""What is gone back over, or cut, is the same in each run: addresses order nothing."""

import random

from torchlint.dryrun.values import MOST, Const, Opaque, Seq, parts_in_order, union_of
from torchlint.rules.shared.readouts import made_from


def _made(count: int) -> list[Opaque]:
    """So many values, the earlier ones at other addresses than their order says."""
    rooms = [Opaque(str(number)) for number in range(count)]
    random.Random(7).shuffle(rooms)
    for serial, value in enumerate(rooms):
        value.serial = serial
    return rooms


def test_parts_come_in_the_order_they_were_made():
    made = _made(60)
    assert parts_in_order(Opaque("sum", parts=frozenset(made))) == made


def test_who_goes_back_over_some_of_many_sees_the_newest():
    made = _made(60)
    middle = [Opaque("sum", parts=frozenset(made[at : at + 20])) for at in (0, 20, 40)]
    seen = list(made_from(Opaque("total", parts=frozenset(middle))))
    assert seen[:23] == [*middle, *made[40:]]


def test_what_is_cut_does_not_go_by_addresses():
    lists = [Seq("list", None) for _ in range(2 * MOST)]
    random.Random(3).shuffle(lists)
    for born, value in enumerate(lists):
        value.born = born
    numbers = [Const(number) for number in range(8)]
    first, rest = frozenset(numbers), frozenset(lists)
    assert union_of([first, rest]) == frozenset([*numbers, *lists[-(MOST - len(numbers)) :]])
