"""Equal expressions are one object, as long as somebody has it, whoever makes them."""

from __future__ import annotations

import copy
import gc
import inspect
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tile_ir.dtypes import BOOL, FLOAT32, INT32, INT64
from tile_ir.expr import ZERO, Binary, Buffer, Cast, Const, Var
from tile_ir.interned import Shared, interned
from tile_ir.location import Loc
from tile_ir.machine import Memory
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.regions import Region, Slice


@interned("number")
@dataclass(frozen=True, slots=True, eq=False)
class Value(Shared):
    number: float
    parts: tuple[object, ...] = ()


def test_equal_ones_are_one_object():
    assert Value(1) is Value(number=1, parts=()) and Value(1) is not Value(1, (2,))
    assert Var("i") + 1 is Var("i") + 1
    assert Binary("+", Var("i"), Const(1), INT32) is Var("i") + 1
    assert replace(Const(3), value=4) is Const(4)
    assert copy.copy(Value(1)) is Value(1) and copy.deepcopy(Value(1, (2,))) is Value(1, (2,))


@pytest.mark.parametrize(
    "one, other",
    [
        (Const(0.0, FLOAT32), Const(-0.0, FLOAT32)),
        (Const(1, BOOL), Const(True, BOOL)),
        (Const(1.0, INT32), Const(1, INT32)),
        (Const(1, INT32), Const(1, INT64)),
        (Var("i"), Var("i", INT64)),
        (Cast(Var("i"), FLOAT32), Cast(Var("i"), FLOAT32, True)),
    ],
    ids=str,
)
def test_what_means_something_else_is_another(one, other):
    assert one is not other and one != other and len({one, other}) == 2


def test_boxes_of_buffers_too():
    buffer = Buffer("b", Memory.UB, FLOAT32, (Const(8),), Loc("", 1, 1))
    assert Region(buffer, (Slice(ZERO, Const(8), 1),)) is Region.whole(buffer)


def test_nan_is_one_object():
    assert Const(float("nan"), FLOAT32) is Const(float("nan"), FLOAT32)


def test_what_nobody_has_is_forgotten():
    value = Value(12345, ("kept",))
    seen = weakref.ref(value)
    del value
    gc.collect()
    assert seen() is None
    assert Value(12345, ("kept",)).parts == ("kept",)


def test_arguments_are_those_of_the_dataclass():
    assert list(inspect.signature(Const).parameters) == ["value", "dtype"]
    for wrong in (lambda: Var(), lambda: Var("i", INT32, 3), lambda: Var(nam="i")):
        with pytest.raises(TypeError):
            wrong()


def test_threads_get_the_same():
    threads, rounds = 8, 300
    start = Barrier(threads)

    def make(_: int) -> list[Value]:
        start.wait()
        return [Value(number, ("shared",)) for number in range(rounds)]

    with ThreadPoolExecutor(threads) as pool:
        made = list(pool.map(make, range(threads)))
    assert all(len({id(found[i]) for found in made}) == 1 for i in range(rounds))
