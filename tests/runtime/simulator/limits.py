"""What an API refuses, as a table: a statement, and the error that it stops with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet


def limit_tests(
    errors: KernelSet,
    cases: Sequence[tuple[Any, ...]],
    parameters: str,
    body: Callable[[str], str],
    *arguments: int,
) -> Callable[..., None]:
    """The test of a table. A case is a name, a statement, arguments of its own before those of all,
    the slug of the error, and words of its text."""
    for name, statement, *_ in cases:
        errors.add(f"error_{name}", parameters, body(statement))

    @pytest.mark.parametrize("case", cases, ids=[case[0] for case in cases])
    def test(case: tuple[Any, ...]) -> None:
        name, _, *own, slug, words = case
        fault = errors.fault(f"error_{name}", np.zeros(64, np.float32), *own, *arguments)
        assert fault.kind == slug and all(word in fault.text for word in words), fault

    return test
