"""How many cases a test goes through itself: of those that there are, `make test` keeps a part, the
same one at every run; of random ones, `make nightly-properties` draws many more."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")

# Set by conftest.py, for the processes of a run.
PART = "TILE_TEST_PART"
OPTIMISED = "TILE_TEST_OPTIMISED"
SHARE = 6
# Of one generated list never more than so many: cases of a matrix repeat themselves.
MOST = 64
# How many times more examples of a property are drawn, with random seeds; set by the Makefile.
PROPERTIES = "TILE_TEST_PROPERTIES"


def kept_number(number: int) -> int:
    """Of as many examples of no order."""
    return max(1, number // SHARE) if os.environ.get(PART) else number


def examples(number: int) -> int:
    """So many examples of a property, more of them at night."""
    return number * int(os.environ.get(PROPERTIES, "1"))


def kept(cases: Iterable[Case], least: int = 32) -> list[Case]:
    """A choice without a pattern, in the order of the cases."""
    listed = list(cases)
    number = kept_number(len(listed))
    count = max(least, min(number, MOST) if number < len(listed) else number)
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
