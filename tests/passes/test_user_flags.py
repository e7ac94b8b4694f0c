"""Flags of the user's in automatic kernels: the pass leaves them alone, and what is surely wrong is
found by `check_sync` at its line. A program is a few words a line; s and w set and wait, from MTE2 to V."""

from __future__ import annotations

import pytest

import tile_ir
from tile_checkers import check_sync
from tile_ir import DEFAULT_TARGET
from tile_passes import apply_passes

HEAD = """func "k" phase planned @0:1:1 {
  scalar %n: int32
  launch blocks(1) %cid %vid threads any @0:1:1 {
    section vector @0:1:1 {
"""

# Lines are numbered from 1; the number is the line of the error.
WRONG = {
    "set twice": ("s 0\ns 0\nw 0", 2, "flag-set-twice"),
    "waited for twice": ("s 0\nw 0\nw 0", 3, "flag-not-set"),
    "waited for before it is set": ("w 0\ns 0", 1, "flag-not-set"),
    "never waited for": ("s 0", 1, "flag-left-set"),
    "never set": ("if %n > 0 {\nw 0\n}", 2, "flag-not-set"),
    "left set": ("s 0\nw 0\ns 0", 3, "flag-left-set"),
    "set on one side": (
        "if %n > 0 {\ns 0\n}\nw 0",
        4,
        "flag-not-set",
    ),
    "taken on one side": (
        "s 0\nif %n > 0 {\nw 0\n}",
        1,
        "flag-left-set",
    ),
    "set again after one side": (
        "s 0\nif %vid == 0 {\nw 0\n}\ns 0\nw 0",
        5,
        "flag-set-twice",
    ),
    "set again by the next round": (
        "for i n\ns 0\n}\nw 0",
        2,
        "flag-set-twice",
    ),
    "taken again by the next round": (
        "s 0\nfor i n\nw 0\n}",
        3,
        "flag-not-set",
    ),
    "one slot is not primed": (
        "s 0\nfor i n\nw %i % 2\ns %i % 2\n}\nw 0\nw 1",
        3,
        "flag-not-set",
    ),
    "four rounds leave it set": (
        "s 0\nfor i 4\nw 0\ns 0\n}",
        4,
        "flag-left-set",
    ),
    "three primed by a loop, two drained": (
        "for i 3\ns %i\n}\nfor j 2\nw %j\n}",
        2,
        "flag-left-set",
    ),
    "a slot primed by a loop is primed again": (
        "for i 2\ns %i\n}\nfor i n\ns %i % 2\nw %i % 2\n}\nfor i 2\nw %i\n}",
        5,
        "flag-set-twice",
    ),
    "fewer rounds than slots leave one": (
        "s 0\ns 2\nfor i 2\nw %i * 2 % 8\ns (%i + 3) * 2 % 8\n}\nw 6",
        5,
        "flag-left-set",
    ),
    "in a branch of each round": (
        "for i n\nif %vid == 0 {\nw 0\ns 0\n}\n}",
        3,
        "flag-not-set",
    ),
}

RIGHT = {
    "set and waited for": "s 0\nw 0\ns 0\nw 0",
    "both in one branch": "if %n > 0 {\ns 0\nw 0\n}",
    "branches with one condition": "if %n > 0 {\ns 0\n}\nif %n > 0 {\nw 0\n}",
    "set on both sides": "if %n > 0 {\ns 0\n} else {\ns 0\n}\nw 0",
    "primed and drained": "s 0\nfor i n\nw 0\ns 0\n}\nw 0",
    "two slots": "s 0\ns 1\nfor i n\nw %i % 2\ns %i % 2\n}\nw 0\nw 1",
    "two slots primed by a loop": (
        "for i 2\ns %i\n}\nfor j n\nw %j % 2\ns %j % 2\n}\nfor i 2\nw %i\n}"
    ),
    "one round ahead": "s 0\nfor i n\nif %i + 1 < %n {\ns (%i + 1) % 2\n}\nw %i % 2\n}",
    "not in the first round": ("for i n\nif %i > 0 {\nw 0\n}\ns 0\n}\nif %n > 0 {\nw 0\n}"),
    "all eight": "for i n\ns %i % 8\nw %i % 8\n}",
    "a slot in two loops": "for i n\nfor j n\ns (%i + %j) % 2\nw (%i + %j) % 2\n}\n}",
    "every other round": "for i n\nif %i % 2 == 0 {\ns 0\n} else {\nw 0\n}\n}",
    "left by a break": "for i n\ns 0\nif %i == 3 {\nw 0\nbreak\n}\nw 0\n}",
    "a slot that starts anywhere": "s 0\nfor i cid\nw %i % 2\ns (%i + 1) % 2\n}\nw 0",
    "fewer rounds than slots": "s 0\nfor i 1\nw %i % 2\n}",
    "fewer rounds than slots, one ahead": (
        "s 0\nfor i 2\nif %i + 1 < 2 {\ns (%i + 1) % 4\n}\nw %i % 4\n}"
    ),
    "fewer rounds in a branch than slots": (
        "for i 7\nif %i < 4 {\ns %i\n}\n}\nfor i 4\nw %i % 8\n}"
    ),
    "taken by the last of four": "for i 4\nif %i == 0 {\ns 0\n}\nif %i == 3 {\nw 0\n}\n}",
}


def program(text: str) -> tile_ir.Func:
    """The function with this section."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.partition(" ")
        at = f"@0:{number}:1"
        match word:
            case "s" | "w":
                name = "set_flag" if word == "s" else "wait_flag"
                lines.append(f'{name}({rest}) {{src_pipe="mte2", dst_pipe="v"}} {at}')
            case "for":
                var, stop = rest.split()
                first, stop = ("%cid", "%n") if stop == "cid" else ("0", stop)
                stop = stop if stop.isdigit() or stop == "%n" else f"%{stop}"
                lines.append(f"for %{var}: int32 in serial({first}, {stop}) {at} {{")
            case "if":
                lines.append(f"if {rest.removesuffix(' {')} {at} {{")
            case "break":
                lines.append(f"break {at}")
            case _:
                lines.append(line)
    return tile_ir.parse('file 0 "k.py"\n' + HEAD + "\n".join(lines) + "\n}\n}\n}\n")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.whole
def test_what_is_wrong_is_found_at_its_line(name: str) -> None:
    text, line, slug = WRONG[name]
    ordered = apply_passes(program(text), ["insert_sync"], DEFAULT_TARGET)
    found = {(d.slug, d.loc.line) for d in check_sync(ordered) if d.loc is not None}
    assert (slug, line) in found


@pytest.mark.parametrize("name", RIGHT)
def test_what_may_be_right_is_ordered(name: str) -> None:
    func = program(RIGHT[name])
    tile_ir.verify(func)
    apply_passes(func, ["insert_sync"], DEFAULT_TARGET)
