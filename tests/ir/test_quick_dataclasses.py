"""Quick dataclasses differ from those of the standard library in how fast they are made and copied,
and in nothing that can be seen."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from tile_ir import quick_dataclasses as quick

T = TypeVar("T")
Maker = Callable[..., Any]
KINDS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "order": order}
    for frozen in (False, True)
    for slots in (False, True)
    for eq, order in ((True, False), (True, True), (False, False))
]


def pair_with(dataclass: Maker, **kind: bool) -> type:
    @dataclass(**kind)
    class Pair(Generic[T]):
        size: int
        name: str = "x"
        parts: list[int] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)
        width: T | None = field(default=None, kw_only=True)
        known: ClassVar[int] = 3

    return Pair


def seen(made: Callable[[], Any]) -> Any:
    """What it gives, or the kind of its error and what that says."""
    try:
        return made()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_all_that_can_be_seen(kind):
    quick_pair, plain = (pair_with(d, **kind) for d in (quick.dataclass, dataclasses.dataclass))

    def facts(cls: type) -> list[Any]:
        one, two = cls(1, "y", [3], width=2), cls(1, "y", [3], "other", width=2)
        more = cls(size=2)
        copied = quick.replace if cls is quick_pair else dataclasses.replace
        return [
            repr(one),
            (one == two, one != two, one == more, one == 1, one.__eq__(1)),
            seen(lambda: one < more),
            seen(lambda: one >= more),
            seen(lambda: one < 1),
            seen(lambda: hash(cls(1, width=2)) == hash(cls(1, width=2))),
            seen(lambda: hash(cls(1, parts=(), width=2)) == hash((1, "x", (), 2)))
            if kind["eq"]
            else None,
            cls(1).parts is cls(1).parts,
            seen(lambda: cls()),
            seen(lambda: cls(1, "a", [], "", 2)),
            seen(lambda: cls(1, height=3)),
            seen(lambda: setattr(cls(1), "size", 4)),
            seen(lambda: delattr(cls(1), "size")) if kind["frozen"] else None,
            hasattr(one, "__dict__"),
            cls.__match_args__,
            [f.name for f in dataclasses.fields(cls)],
            dataclasses.asdict(copied(one, name="z", width=5)),
            seen(lambda: copied(one, height=3)),
            dataclasses.asdict(copy.copy(one)),
            dataclasses.asdict(copy.deepcopy(one)),
            list(inspect.signature(cls).parameters),
        ]

    assert facts(quick_pair) == facts(plain)


@quick.dataclass(frozen=True, slots=True)
class Small:
    size: int
    name: str = "x"


def test_frozen_values_are_pickled():
    assert pickle.loads(pickle.dumps(Small(1))) == Small(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'size'"):
        Small(1).size = 2


@quick.dataclass(frozen=True)
class Kept:
    size: int

    @cached_property
    def double(self) -> int:
        return 2 * self.size


@quick.dataclass(frozen=True, slots=True)
class Larger(Small):
    """With more fields than its base."""

    depth: int = 0


@quick.dataclass(slots=True)
class Counted:
    start: int
    now: int = field(init=False)
    seen: list[int] = field(init=False, default_factory=list)
    steps: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.now = self.start


@quick.dataclass(frozen=True, slots=True)
class Own:
    size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


def test_bases_properties_and_what_a_class_sets_itself():
    assert Kept(2).double == 4
    assert repr(Larger(1, depth=2)) == "Larger(size=1, name='x', depth=2)"
    assert Larger(1) != Small(1) and Larger.__doc__ == "With more fields than its base."
    counted = Counted(3)
    assert (counted.now, counted.seen, counted.steps) == (3, [], 0)
    assert Counted(3) == counted and Counted.__hash__ is None
    with pytest.raises(TypeError):
        Counted(3, 4)
    assert Own(1) == Own(2) and hash(Own(1)) == 7 and repr(Own(1)) == "own"


def test_replace_of_other_dataclasses():
    plain = pair_with(dataclasses.dataclass)
    assert quick.replace(plain(1), size=2) == plain(2)
