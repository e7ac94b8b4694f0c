"""Loops as they come out odd: no round or one, slots further apart than their number, a break, a
`while`, slots of two loops at once. All opinions on each, for every trip count from 0 to 4."""

from __future__ import annotations

import pytest

from fuzz.kernels import line_by_line
from fuzz.verdict import check, opinions
from tile_ir import Func

HEAD = """file 0 "k.py"
func "k" phase pipelined @0:1:1 {
  tensor $x: float32 [6, 64] @0:1:1
  tensor $y: float32 [6, 64] @0:1:1
  scalar %n: int32
  scalar %m: int32
  launch blocks(1) %cid %vid threads 1 @0:1:1 {
    alloc $u: ub float32 [5, 8] @0:1:1
    alloc $w: ub float32 [5, 8] @0:1:1
    alloc $c: var int32 [] @0:1:1
    section vector @0:1:1 {
"""


def load(slot: str, row: str) -> str:
    return f"copy_gm_ub($x[({row}) % 6:+1, 0:+8], $u[{slot}:+1, 0:+8]) {{pad_value=0.0}}\n"


def add(to: str, of: str, other: str = "0") -> str:
    return f"add($w[{to}:+1, 0:+8], $u[{of}:+1, 0:+8], $w[{other}:+1, 0:+8])\n"


def store(slot: str, row: str) -> str:
    return f"copy_ub_gm($w[{slot}:+1, 0:+8], $y[({row}) % 6:+1, 0:+8])\n"


def loop(var: str, stop: object, body: str, start: object = 0) -> str:
    return f"for %{var}: int32 in serial({start}, {stop}) {{\n{body}}}\n"


def branch(condition: str, body: str) -> str:
    return f"if {condition} {{\n{body}}}\n"


def counted(stop: str, body: str) -> str:
    """A `while` of so many rounds."""
    return f"store $c[] = 0\nwhile $c[] < {stop} {{\n{body}store $c[] = $c[] + 1\n}}\n"


def stages(read: str, used: str, kept: str, row: str = "%i") -> str:
    return load(read, row) + add(kept, used) + store(kept, row)


TWO = stages("%i % 2", "%i % 2", "%i % 2")
THREE = stages("(%i + 2) % 3", "%i % 3", "(%i + 1) % 3")
BOTH = load("%i % 2", "%i") + loop(
    "j", "%m", add("(%i + %j) % 3", "%i % 2", "%j % 2") + store("(%i + %j) % 3", "%j")
)
BREAK = branch("%i > %m", "break\n")
IN_WHILE = stages("$c[] % 2", "$c[] % 2", "($c[] + 1) % 2", "$c[]")

SHAPES = {
    "no round": loop("i", 0, TWO) + store("1", "0"),
    "one round": loop("i", 1, TWO) + store("1", "0"),
    "one round of three slots": loop("i", 1, THREE) + load("2", "1"),
    "one late round": loop("i", 6, THREE, 5),
    "some rounds": loop("i", "%n", TWO),
    "some rounds twice": loop("i", "%n", TWO) + loop("i", "%m", TWO),
    "from anywhere": loop("i", "%n", THREE, "%m"),
    "one more round": loop("i", "%n + 1", THREE, 1),
    "two slots, three apart": loop("i", "%n", stages("(%i + 3) % 2", "%i % 2", "%i % 2")),
    "three slots, two apart": loop("i", "%n", THREE),
    "four slots": loop("i", "%n", stages("%i % 4", "%i % 4", "%i % 4")),
    "four slots, three apart": loop("i", "%n", stages("(%i + 3) % 4", "%i % 4", "(%i + 1) % 4")),
    "five slots, three apart": loop("i", "%n", stages("(%i + 3) % 5", "%i % 5", "(%i + 1) % 5")),
    "backwards": loop("i", "%n", stages("(4 - %i) % 3", "(5 - %i) % 3", "%i % 2")),
    "by twos": loop("i", "%n", stages("%i * 2 % 5", "(%i * 2 + 1) % 5", "%i % 2")),
    "fifteen phases": loop("i", "%n", stages("%i % 3", "(%i + 2) % 5", "%i % 5")),
    "break first": loop("i", 5, BREAK + TWO),
    "break between": loop("i", 5, load("%i % 2", "%i") + BREAK + add("0", "%i % 2")) + store("0", "0"),
    "break last": loop("i", "%n", TWO + BREAK) + load("0", "0"),
    "break out of the inner loop": loop("j", "%n", loop("i", 5, BREAK + TWO) + load("%j % 2", "%j")),
    "inner break in phases": loop("i", "%n", load("%i % 2", "%i") + loop("j", 3, branch("%j > %m", "break\n") + add("%i % 2", "%i % 2")) + store("%i % 2", "%i")),
    "while": counted("%n", IN_WHILE) + store("0", "0"),
    "while with a break": counted("5", branch("$c[] > %m", "break\n") + IN_WHILE),
    "while around phases": counted("%n", loop("i", "%m", THREE)),
    "while in phases": loop("i", "%n", load("%i % 2", "%i") + counted("%m", add("%i % 2", "%i % 2", "1")) + store("%i % 2", "%i")),
    "slots of both loops": loop("i", "%n", BOTH),
    "slots of both, one round inside": loop("i", "%n", BOTH.replace("%m", "1")),
    "slots of both, the outer once": loop("i", 1, BOTH),
    "slots that go on counting": loop("j", "%n", loop("i", 3, stages("(%j * 3 + %i) % 2", "(%j * 3 + %i) % 2", "%i % 3"))),
    "a slot of the outer loop inside": loop("j", "%n", loop("i", "%m", stages("%j % 2", "(%j + 1) % 2", "%i % 2"))),
}  # fmt: skip


def program(body: str) -> Func:
    """The kernel, a line for each statement, all of its memory written first."""
    return line_by_line(HEAD, f"fill($u, 1.0)\nfill($w, 2.0)\n{body}", "}\n}\n}\n")


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_loop_shapes(shape: str, tight: bool) -> None:
    func = program(SHAPES[shape])
    failure = check(func, 0, opinions(), compared=5, tight=tight).failure
    assert failure is None, f"{failure.kind}: {failure.message}"
