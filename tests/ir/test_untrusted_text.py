"""A text from anyone is read or refused, at a place in it: 2,000 mutants of the texts of the tests,
and what is nested or written far beyond what anybody writes."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from kept_cases import kept_number

import tile_ir
from tile_ir import DEFAULT_TARGET, IRError, TileError
from tile_passes import PIPELINE, PassOptions, run_passes

TESTS = Path(__file__).parents[1]
HEAD = """file 0 "k.py"
func "k" phase typed @0:1:1 {
  scalar %n: int32
  launch blocks(2) %cid %vid threads any @0:1:1 {
"""
TOKEN = re.compile(r"\s+|\w+|.", re.S)
WORDS = (
    "-1", "0", "2147483648", "9" * 30, "1e400", "nan", "%cid", "$ub", '"x"', *"{}()[],+/%:", "for",
    "if", "let", "//", "alloc", "\x00", "é", "", "@0:1:1", "true", "float32", "1.0:ub", "ub", "gm",
)  # fmt: skip
NUMBERS = ("0", "1", "-1", "7", "65536", "4294967296", "1000000000000", "10" * 200)


def texts() -> list[str]:
    """Inputs of goldens and what the fuzzer found, as far as they are functions."""
    sources = (p.read_text().partition("# ---- expected")[0] for p in sorted(TESTS.rglob("*.tir")))
    return [text for text in sources if readable(text)]


def readable(text: str) -> bool:
    try:
        tile_ir.parse(text)
    except IRError:
        return False
    return True


def mutant(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        numbers = [n for n, token in enumerate(tokens) if token.isdigit()]
        names = [n for n, token in enumerate(tokens) if token[:1].isalpha()]
        match rng.choice("ddwiscncnN"):
            case "d":
                del tokens[at : at + rng.choice((1, 1, 2, 5))]
            case "w":
                tokens[at] = rng.choice(WORDS)
            case "i":
                tokens.insert(at, rng.choice(WORDS))
            case "s":
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case "c":
                tokens[at:at] = tokens[at : at + rng.randrange(1, 40)]
            case "n" if numbers:
                tokens[rng.choice(numbers)] = rng.choice(NUMBERS)
            case "N" if names:
                tokens[rng.choice(names)] = tokens[rng.choice(names)]
    return "".join(tokens)


def test_mutants() -> None:
    """Read, verified and lowered, or refused with a place: nothing else comes of them."""
    rng = random.Random(0)
    known = texts()
    lowered = 0
    for number in range(kept_number(2000)):
        text = mutant(rng.choice(known), rng)
        try:
            func = tile_ir.parse(text, "mutant.tir")
            tile_ir.verify(func)
            left = [p for p in PIPELINE if p.gives is None or p.gives > func.phase]
            run_passes(func, left, DEFAULT_TARGET, PassOptions(skip=("check_written",)))
            lowered += 1
        except TileError as error:
            assert error.loc is not None, (number, str(error))
    assert lowered >= kept_number(2000) // 12  # of all 2,000 an eighth


@pytest.mark.parametrize(
    "body, told",
    [
        ("let %x: int32 = " + "(" * 50_000 + "%n" + ")" * 50_000, None),
        ("let %x: int32 = " + "%n + " * 5_000 + "%n", "200 levels"),
        ("let %x: int32 = " + "-" * 5_000 + "%n", "200 levels"),
        ("if %n > 0 @0:2:1 {" * 3_000 + "}" * 3_000 + "let %x: int32 = 1", "200 levels"),
        ("let %x: int32 = " + "9" * 6_000, "20 digits"),
        ("let %x: int32 = 1 @0:" + "9" * 6_000, ""),
        ("alloc $u: ub float32 [" + "9" * 6_000 + "]", "20 digits"),
        ("let %x: float32 = 1.0:o0", "unknown type `o0`"),
    ],
    ids=["brackets", "sum", "signs", "branches", "number", "line", "size", "type"],
)
def test_extremes(body: str, told: str | None) -> None:
    text = f"{HEAD}    {body} @0:2:1\n  }}\n}}\n"
    if told is None:
        tile_ir.verify(tile_ir.parse(text))
        return
    with pytest.raises(IRError) as error:
        tile_ir.parse(text)
    assert told in error.value.message and error.value.loc is not None


def test_what_fits_no_memory_is_told_with_its_size() -> None:
    """More than any address, as buffer of a pipelined loop and of a kernel that does nothing."""
    for inside in ("for %i: int32 in pipelined(0, 8) stages 2 @0:3:1 {{ {0} }} @0:3:1", "{0}", ""):
        fill = "fill($u, 1.0) @0:4:1"
        body = inside.format(fill).removesuffix(" @0:3:1")
        text = f"{HEAD}    alloc $u: ub float32 [{'9' * 20}] @0:2:1\n{body}\n  }}\n}}\n"
        with pytest.raises(TileError) as error:
            run_passes(tile_ir.parse(text), PIPELINE, DEFAULT_TARGET)
        assert error.value.loc is not None


@pytest.mark.parametrize("name", ["", "a b", "k\\nint x;", "k(", "1k"])
def test_a_function_has_a_name_for_its_entry(name: str) -> None:
    text = HEAD.replace('"k" phase', f'"{name}" phase') + "  }\n}\n"
    with pytest.raises(IRError, match="no name of a function"):
        tile_ir.parse(text)
