"""The operations of `T.tile` as the first versions of the language have them: at `T` itself.

`T.exp(dst, src)` is the operation and `T.exp(x)` the number: a buffer where the result goes and all
that the operation must have besides tell them apart. Scripts of today need none of this, so these
names are not among those the language lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeAlias

from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._dialects.known import with_spellings
from tile_frontend._tracing.subscripts import View
from tile_frontend._tracing.values import Tile
from tile_ir import REQUIRED

Function: TypeAlias = "Callable[..., Any]"


def with_operations(names: Mapping[str, Any], tile: Any) -> dict[str, Any]:
    """The names of `T`, and behind them those of the module `tile`."""
    operations: dict[str, Any] = {
        name: getattr(tile, name)
        for name in with_spellings({name: name for name in tile.__all__}, "tile")
    }
    shared = {
        name: _beside_numbers(names[name], operation)
        for name, operation in operations.items()
        if name in names and operation is not names[name]
    }
    return {**operations, **names, **shared}


def _beside_numbers(numbers: Function, operation: OpFunction) -> Function:
    """A function of numbers that is the operation where it gets all that one needs, or more than
    the function of numbers takes."""
    least = sum(operation.default(name) is REQUIRED for name in operation.parameters)
    parameters = signature(numbers).parameters.values()
    most = least if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters)

    @wraps(numbers)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        enough = bool(args) and len(args) + len(kwargs) >= min(least, most + 1)
        is_operation = enough and isinstance(args[0], (Tile, View))
        return (operation if is_operation else numbers)(*args, **kwargs)

    return chosen
