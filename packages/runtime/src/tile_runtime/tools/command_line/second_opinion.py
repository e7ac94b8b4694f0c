"""`tile-ascend check --second-opinion`: what the vendor's open compiler makes of a kernel, beside
what the kernel has, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tile_checkers.second_opinion import PLANNER, SOLVERS, CountedOrder, Opinion
from tile_ir import Pipe
from tile_runtime.scripts.columns import columns

_OURS = "kernel"


def opinions_text(opinions: tuple[Opinion, ...]) -> str:
    """A table for each core. Rows that differ end with a star."""
    return "\n\n".join("\n".join(_parts(opinion)) for opinion in opinions)


def opinions_data(opinions: tuple[Opinion, ...]) -> list[dict[str, Any]]:
    """The same for JSON: one object a core."""
    return [
        {
            "core": opinion.core.value,
            "order": {
                _OURS: _order_data(opinion.own),
                **{solver: _order_data(order) for solver, order in opinion.solved.items()},
            },
            "peak_bytes": {
                _OURS: {m.value: size for m, size in opinion.own_peaks.items()},
                **({PLANNER: {m.value: s for m, s in opinion.peaks.items()}}
                   if PLANNER not in opinion.missing else {}),
            },
            "no_second_opinion": dict(opinion.missing),
            "left_out": dict(opinion.left_out),
            "seconds": round(opinion.seconds, 3),
        }
        for opinion in opinions
    ]  # fmt: skip


def _order_data(order: CountedOrder) -> dict[str, Any]:
    return {
        "flags": {_pair(pair): count for pair, count in order.flags.items()},
        "barriers": {pipe.value: count for pipe, count in order.barriers.items()},
    }


def _pair(pair: tuple[Pipe, Pipe]) -> str:
    return f"{pair[0].value} -> {pair[1].value}"


def _parts(opinion: Opinion) -> Iterator[str]:
    orders = {_OURS: opinion.own, **opinion.solved}
    rows = [("", f"{opinion.core.value} core", *orders, PLANNER, "")]
    flags = {name: {_pair(k): n for k, n in o.flags.items()} for name, o in orders.items()}
    barriers = {
        name: {f"barriers of {k.value}": n for k, n in o.barriers.items()}
        for name, o in orders.items()
    }
    for what, counted in (("flags", flags), ("barriers", barriers)):
        named = sorted({key for counts in counted.values() for key in counts})
        for key in named:
            prefix = "flags " if what == "flags" else ""
            rows.append(_row(prefix + key, [c.get(key, 0) for c in counted.values()], ("",)))
        sums = [sum(c.values()) for c in counted.values()]
        rows.append(_row(f"all {what}", sums, ("",)))
    blank = ("",) * len(opinion.solved)
    for memory, size in opinion.own_peaks.items():
        planned = opinion.peaks.get(memory)
        star = "*" if planned not in (None, size) else ""
        told = "-" if planned is None else str(planned)
        rows.append(("", f"bytes of {memory.value}", str(size), *blank, told, star))
    yield columns(rows, right=range(2, len(rows[0]) - 1))
    yield from _missing(opinion.missing)
    if opinion.left_out:
        names = ", ".join(f"{count} {name}" for name, count in opinion.left_out.items())
        yield f"left out, since it orders cores: {names}"


def _row(name: str, counts: list[int], after: tuple[str, ...]) -> tuple[str, ...]:
    star = "*" if len(set(counts)) > 1 else ""
    return ("", name, *map(str, counts), *after, star)


def _missing(missing: Mapping[str, str]) -> Iterator[str]:
    """Once for all that give the same reason."""
    asked = (*SOLVERS, PLANNER)
    for reason in dict.fromkeys(missing.values()):
        names = [name for name in asked if missing.get(name) == reason]
        who = "" if len(names) == len(asked) else f" of {', '.join(names)}"
        yield f"no second opinion{who}: {reason}"
