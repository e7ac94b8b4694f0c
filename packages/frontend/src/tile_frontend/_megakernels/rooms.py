"""Which temporaries of a megakernel share memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_frontend._megakernels.dependences import TaskUse
from tile_frontend._megakernels.shapes import Shapes


def rooms_of(
    temporaries: Sequence[str],
    uses: Sequence[TaskUse],
    before: Mapping[int, frozenset[int]],
    shapes: Shapes,
) -> dict[str, str]:
    """For temporaries that lie where another one does: the name of that. Two of one size share
    memory if all tasks that use one surely come before all that use the other, so that nothing
    waits longer for it."""
    users = {t: [n for n, use in enumerate(uses) if t in use.all] for t in temporaries}
    held: dict[str, list[int]] = {}
    found: dict[str, str] = {}
    for tensor in sorted(temporaries, key=lambda t: users[t][0]):
        for room, earlier in held.items():
            free = all(old in before[new] for old in earlier for new in users[tensor])
            if free and shapes.same_room(room, tensor):
                found[tensor] = room
                earlier.extend(users[tensor])
                break
        else:
            held[tensor] = list(users[tensor])
    return found
