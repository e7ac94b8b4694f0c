"""Load developer tools, which are in a checkout of the sources and not in wheels."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tile_ir import BuildError

# The checkout that an editable installation lies in; any folder for a wheel.
CHECKOUT = Path(__file__).parents[6]


def checkout_module(name: str, what: str, hint: str, other: Path | None = None) -> Any:
    """Import a module of the folder `tests`, of this checkout or of the `other` one.

    Raises BuildError (`no-checkout`) that says `what` needs one.
    """
    for root in filter(None, (CHECKOUT, other)):
        folder = root / "tests"
        if folder.joinpath(*name.split(".")).with_suffix(".py").is_file():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return import_module(name)
    raise BuildError(
        "no-checkout",
        f"{what} needs a checkout of the sources, which this installation is not",
        hint=hint,
    )
