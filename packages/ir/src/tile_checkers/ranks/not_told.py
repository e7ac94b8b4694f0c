"""Define the exceptions that end the unrolling of a core of a rank.

The reasons are a value that is not in the text, a place that no rank has, and too many statements.
"""

from __future__ import annotations

from tile_ir import Loc, Stmt, Var


class NotTold(Exception):
    """The text does not determine the path of a core; the rank numbers in `parameters` would."""

    def __init__(self, loc: Loc, why: str, hint: str, parameters: tuple[Var, ...] = ()) -> None:
        super().__init__(why)
        self.loc = loc
        self.why = why
        self.hint = hint
        self.parameters = parameters


# The slug of a place outside of a tensor whose size goes with another number of ranks.
NOT_FOR_SO_MANY = "sync-unproved"


class OutOfPlace(Exception):
    """A place that no rank has, with a slug and the error in words."""

    def __init__(self, loc: Loc, slug: str, what: str, hint: str) -> None:
        super().__init__(what)
        self.loc = loc
        self.slug = slug
        self.what = what
        self.hint = hint


class StatementBudget:
    """How many statements may still be unrolled."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, stmt: Stmt) -> None:
        self.left -= 1
        if self.left < 0:
            raise NotTold(
                stmt.loc,
                "the cores of all ranks run too many statements to follow them all",
                "check a smaller size, or fewer blocks",
            )
