"""Write the text of a random kernel line by line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class KernelText:
    """`depth` counts the blocks around the next line inside the launch; `count` names given so
    far."""

    r: random.Random
    lines: list[str] = field(default_factory=list, kw_only=True)
    count: int = field(default=0, kw_only=True)
    depth: int = field(default=0, kw_only=True)

    def put(self, *texts: str) -> None:
        self.lines += [" " * 4 * (self.depth + 2) + text for text in texts]

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        self.put(head)
        self.depth += 1
        yield
        self.depth -= 1

    def pick(self, *choices: str) -> str:
        return self.r.choice(choices)

    def often(self, share: float) -> bool:
        return self.r.random() < share
