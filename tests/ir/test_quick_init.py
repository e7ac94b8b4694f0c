"""`quick_init` changes how fast a frozen dataclass is made, and nothing that can be seen."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from tile_ir.quick_init import quick_init


@dataclass(frozen=True, slots=True)
class Plain:
    size: int
    name: str = "x"


@quick_init
@dataclass(frozen=True, slots=True)
class Quick:
    size: int
    name: str = "x"


@pytest.mark.parametrize(
    "args, named", [((1,), {}), ((1, "y"), {}), ((), {"name": "z", "size": 2})]
)
def test_fields_and_defaults(args, named):
    quick, plain = Quick(*args, **named), Plain(*args, **named)
    assert (quick.size, quick.name) == (plain.size, plain.name)


@pytest.mark.parametrize("args, named", [((), {}), ((1, 2, 3), {}), ((1,), {"width": 2})])
def test_wrong_arguments(args, named):
    for cls in (Quick, Plain):
        with pytest.raises(TypeError, match="__init__"):
            cls(*args, **named)


def test_what_dataclasses_give_stays():
    made = Quick(1)
    assert made == Quick(1, "x") and hash(made) == hash(Quick(1))
    assert replace(made, name="y") == Quick(1, "y")
    assert repr(made) == "Quick(size=1, name='x')"
    assert pickle.loads(pickle.dumps(made)) == made
    assert list(inspect.signature(Quick).parameters) == ["size", "name"]
    with pytest.raises(FrozenInstanceError):
        made.size = 2


def test_a_class_that_does_more_is_refused():
    @dataclass(frozen=True, slots=True)
    class Fresh:
        parts: list[int] = field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Checked:
        size: int

        def __post_init__(self) -> None:
            assert self.size

    for cls in (Fresh, Checked):
        with pytest.raises(AssertionError):
            quick_init(cls)
