"""Arguments of reductions as torch and NumPy call them: `axis` for `dim`, and `keepdim`, which the
shape of the result says here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import describe

P = ParamSpec("P")
R = TypeVar("R")
_KEEP = ("keepdim", "keepdims")


def accepting_torch_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which also takes these names as keywords."""

    @wraps(function)
    def accepting(*args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = dict(kwargs)
        name = function.__name__
        if "axis" in given:
            if "dim" in given:
                raise Fault("arity", f"{name} got `dim` twice, as dim and as axis", argument="axis")
            given["dim"] = given.pop("axis")
        for keyword in _KEEP:
            if keyword in given:
                _check_kept(name, keyword, given.pop(keyword), args, given)
        return function(*args, **given)

    return accepting


def _check_kept(
    name: str, keyword: str, value: Any, args: tuple[Any, ...], given: dict[str, Any]
) -> None:
    """A Fault where the result has not the shape that is asked for."""
    source = args[0] if args else given.get("buffer")
    out = args[1] if len(args) > 1 else given.get("out")
    if not isinstance(value, bool):
        found = describe(value)
        message = f"{name}: {keyword} is {found}, expected True or False"
        raise Fault("attribute-type", message, argument=keyword)
    before, after = (getattr(b, "shape", None) for b in (source, out))
    if before is None or (after is None and not value):
        return
    kept = after is not None and len(after) == len(before)
    if kept is not value and len(before) > 1:
        what = "out has no other shape" if after is None else f"out has shape {tuple(after)}"
        raise Fault(
            "reduce-shape",
            f"{name}: {keyword} is {value}, but {what}",
            f"leave {keyword} out: the shape of `out` says it, such as (rows, 1) or (rows,)",
            keyword,
        )
