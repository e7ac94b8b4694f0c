"""Random programs of three ranks that store, signal and wait, and all moments that their runs can
be in: what surely comes before what is read from these."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

RANKS, PLACES, WORDS = 3, 2, 2


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a rank: `put` to a place of a rank, `get` from there, `tell` a word of a rank a
    value, `add` to it, `wait` for an own word, `quiet`, or `meet`."""

    kind: str
    rank: int = 0
    place: int = 0
    value: int = 0


Program = tuple[tuple[Step, ...], ...]
# How far each rank is, which of its stores are there, and what the words hold.
Moment = tuple[tuple[int, ...], tuple[frozenset[int], ...], tuple[int, ...]]


def drawn(rng: random.Random) -> Program:
    """A program in which most signals have somebody who waits."""
    steps: list[list[Step]] = [[] for _ in range(RANKS)]
    kinds = {(r, w): rng.choice(("tell", "add")) for r in range(RANKS) for w in range(WORDS)}
    for _ in range(rng.randint(2, 4)):
        one, two = rng.sample(range(RANKS), 2)
        place, word = rng.randrange(PLACES), rng.randrange(WORDS)
        kind = kinds[two, word] if rng.random() < 0.95 else "tell"
        value = rng.choice((1, 1, 2))
        sent = [Step("put", two, place), Step("quiet"), Step(kind, two, word, value)]
        heard = [Step("wait", two, word, value), Step("get", two, place)]
        if rng.random() < 0.3:
            heard.append(Step("put", one, place))
        steps[one] += [s for s in sent if rng.random() < 0.93]
        steps[two] += [s for s in heard if rng.random() < 0.93]
    if rng.random() < 0.2:
        for mine in steps:
            if rng.random() < 0.95:
                mine.insert(rng.randint(0, len(mine)), Step("meet"))
    return tuple(tuple(mine[:8]) for mine in steps)


def moments(program: Program) -> tuple[set[Moment], bool]:
    """All moments that runs come to, and whether one of them is the end of no rank's text."""
    start: Moment = (
        (0,) * RANKS,
        (frozenset(),) * RANKS,
        (0,) * (RANKS * WORDS),
    )
    seen, waiting, hangs = {start}, [start], False
    while waiting:
        now = waiting.pop()
        nexts = list(_after(program, now))
        ended = all(at == len(mine) for at, mine in zip(now[0], program, strict=True))
        hangs |= not nexts and not ended
        for then in nexts:
            if then not in seen:
                seen.add(then)
                waiting.append(then)
    return seen, hangs


def _after(program: Program, now: Moment) -> Iterator[Moment]:
    at, there, words = now
    meets = (p < len(mine) and mine[p].kind == "meet" for p, mine in zip(at, program, strict=True))
    for rank, mine in enumerate(program):
        for i in _under_way(mine, at[rank], there[rank], rank):
            yield at, _with(there, rank, there[rank] | {i}), words
        if at[rank] == len(mine):
            continue
        step = mine[at[rank]]
        on = _with(at, rank, at[rank] + 1)
        word = step.rank * WORDS + step.place
        match step.kind:
            case "put" | "get":
                yield on, there, words
            case "tell":
                yield on, there, _with(words, word, step.value)
            case "add":
                yield on, there, _with(words, word, words[word] + step.value)
            case "wait" if words[word] >= step.value:
                yield on, there, words
            case "quiet" if not _under_way(mine, at[rank], there[rank], rank):
                yield on, there, words
    if all(meets) and not any(
        _under_way(mine, at[rank], there[rank], rank) for rank, mine in enumerate(program)
    ):
        yield tuple(p + 1 for p in at), there, words


def _under_way(mine: tuple[Step, ...], at: int, there: frozenset[int], rank: int) -> list[int]:
    """Stores to other ranks that have begun and are not there."""
    return [
        i for i, s in enumerate(mine[:at]) if s.kind == "put" and s.rank != rank and i not in there
    ]


def _with(items: tuple, i: int, item: object) -> tuple:  # type: ignore[type-arg]
    return (*items[:i], item, *items[i + 1 :])


def races(program: Program, reached: set[Moment]) -> set[frozenset[tuple[int, int]]]:
    """Pairs of steps, by rank and number, that touch one place, one of them storing, and neither of
    which surely ends before the other begins."""
    touching = [
        (rank, i, s)
        for rank, mine in enumerate(program)
        for i, s in enumerate(mine)
        if s.kind in ("put", "get")
    ]
    found = set()
    for n, (a, i, s) in enumerate(touching):
        for b, j, t in touching[:n]:
            if (s.rank, s.place) != (t.rank, t.place) or s.kind == t.kind == "get":
                continue
            if not _surely(program, reached, (a, i), (b, j)) and not _surely(
                program, reached, (b, j), (a, i)
            ):
                found.add(frozenset({(a, i), (b, j)}))
    return found


def _surely(
    program: Program, reached: set[Moment], one: tuple[int, int], two: tuple[int, int]
) -> bool:
    """Whether a step has always ended where another has begun. For its own core a store has ended
    with the barrier of pipes behind it."""
    (a, i), (b, j) = one, two
    if a == b:
        return i < j
    step = program[a][i]
    late = step.kind == "put" and step.rank != a
    return not any(
        at[b] > j and not (i in there[a] if late else at[a] > i) for at, there, _ in reached
    )


def text_of(program: Program) -> str:
    """The program as textual IR: step i of rank r is in line 100 * r + i + 10."""
    lines = []
    for rank, mine in enumerate(program):
        lines.append(f"if %own_rank == {rank} @0:5:7 {{")
        for i, step in enumerate(mine):
            lines += [f"{x} @0:{100 * rank + i + 10}:9" for x in _instructions(step)]
        lines.append("}")
    body = "\n".join(lines)
    return f"""file 0 "k.py"
func "k" phase synced @0:1:1 {{
  tensor $y: float32 [%all_ranks, {PLACES}, 8] @0:1:1
  tensor $w: int32 [%all_ranks, {WORDS}, 16] @0:1:1
  launch blocks(1) %cid %vid threads 1 @0:1:1 {{
    alloc $u: ub float32 [1, 8] address 0 @0:2:5
    section vector @0:4:5 {{
{body}
    }}
  }}
}}
"""


def _instructions(step: Step) -> list[str]:
    place = f"$y[{step.rank}:+1, {step.place}:+1, 0:+8]"
    word = f"$w[{step.rank}:+1, {step.place}:+1, 0:+1]"
    behind = 'pipe_barrier() {pipe="all"}'
    return {
        "put": [f"copy_ub_gm($u, {place})", behind],
        "get": [f"copy_gm_ub({place}, $u) {{pad_value=0.0}}", behind],
        "tell": [f'signal({word}, {step.value}, none) {{op="set"}}'],
        "add": [f'signal({word}, {step.value}, none) {{op="add"}}'],
        "wait": [f'wait_signal({word}, {step.value}) {{until="ge"}}'],
        "quiet": ["quiet()"],
        "meet": ["barrier()"],
    }[step.kind]
