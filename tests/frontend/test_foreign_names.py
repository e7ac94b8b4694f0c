"""What hints tell people to write exists, and takes what they are told to give it."""

import re

import pytest

import tile_frontend as T
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._dialects import foreign_names, triton_names
from tile_ir import OPS

NAMED = re.compile(r"T\.((?:tile\.)?[A-Za-z_]\w*)(?:\(([^()]*)\))?")
ADVICE = {
    **{n: foreign_names.written_here(n) for n in (*foreign_names.ALIASES, *foreign_names.PHRASES)},
    **{n: foreign_names.written_here(n) for n in OPS},
    **{n: foreign_names.reduced_here(n) for n in ("max", "min")},
    **{
        n: foreign_names.element_here(n)
        for n in (*foreign_names.ELEMENT_FUNCTIONS, "maximum", "where", "int", "fabs")
    },
    **{f"triton-{name}": text for name, text in triton_names.TRITON_NAMES.items()},
    **{
        f"{function}-{argument}": text
        for function, arguments in triton_names.TRITON_ARGUMENTS.items()
        for argument, text in arguments.items()
    },
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice_names_what_there_is(name: str) -> None:
    for path, arguments in NAMED.findall(ADVICE[name] or ""):
        function = T
        for part in path.split("."):
            function = getattr(function, part)
        if isinstance(function, OpFunction) and arguments:
            given = [a for a in arguments.split(", ") if "=" not in a]
            assert len(given) <= len(function.parameters)


def test_aliases_lead_to_operations() -> None:
    assert {name for name in foreign_names.ALIASES.values() if name not in OPS} == set()
    assert all(foreign_names.written_here(name) for name in foreign_names.ALIASES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log", "write T.tile.ln(dst, src)"),
        ("exp_", "write T.tile.exp(dst, src)"),
        ("Maximum", "write T.tile.max(dst, src0, src1)"),
        ("compare", "write T.tile.compare(dst, src0, src1, mode)"),
        ("cumsum", "write T.cumsum(src, dst)"),
        ("nothing_like_it", None),
    ],
)
def test_some_of_it(name: str, text: "str | None") -> None:
    assert foreign_names.written_here(name) == text
