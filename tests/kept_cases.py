"""What `make test` keeps of the cases that a test goes through itself: the same ones at every run."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")

# Set by conftest.py, for the processes of a run.
PART = "TILE_TEST_PART"
SHARE = 6


def kept_number(number: int) -> int:
    """Of as many examples of no order."""
    return max(1, number // SHARE) if os.environ.get(PART) else number


def kept(cases: Iterable[Case], least: int = 32) -> list[Case]:
    """A choice without a pattern, in the order of the cases."""
    listed = list(cases)
    count = max(least, kept_number(len(listed)))
    if count >= len(listed):
        return listed
    return [listed[i] for i in sorted(random.Random(0).sample(range(len(listed)), count))]


def running(request: pytest.FixtureRequest, parameter: str) -> set[Any]:
    """The values of a parameter with which tests of this module run: what a fixture has to make."""
    return {
        item.callspec.params[parameter]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
        if hasattr(item, "callspec") and parameter in item.callspec.params
    }
