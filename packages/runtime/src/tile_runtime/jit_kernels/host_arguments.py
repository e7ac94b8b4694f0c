"""Report arguments that a function of scripts does not take, and the text to write instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tile_frontend._dialects.triton_names import argument_of_triton
from tile_ir import KernelError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def report_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with a KernelError in place of Python's TypeError for its arguments."""
    signature = inspect.signature(function)
    names = [n for n in signature.parameters if n != "func"]
    called = f"T.{function.__name__}"

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            takes = f"it takes {', '.join(names)}"
            wrong = next((k for k in kwargs if k not in signature.parameters), None)
            if wrong is None:
                raise KernelError("arity", f"{called}: {error}", hint=takes) from None
            hint = argument_of_triton(function.__name__, wrong) or did_you_mean(wrong, names)
            message = f"{called} has no argument `{wrong}`"
            raise KernelError("unknown-argument", message, hint=hint or takes) from None
        return function(*args, **kwargs)

    return checked
