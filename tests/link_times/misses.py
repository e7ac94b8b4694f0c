"""Why the model misses a published time of links by more than the limit, or says nothing of it.

A row is named by what its name begins with, and a blank or its end.
"""

from __future__ import annotations

from link_times.measured import Measured

LIMIT = 0.12

_SMALL = (
    "HCCL takes another algorithm below 8 MiB, of which nothing is published but its times; the "
    "head of the large ones is most of what is predicted"
)
_SERVERS = (
    "three ways between two servers differ by 1.8 among themselves, so that none fixes a constant; "
    "what is predicted is the link inside a server"
)
_EXPERTS = (
    "tokens go to experts row by row behind an exchange of counts; the page says neither kernel nor "
    "rows, and what is predicted is a link that is never idle"
)
_SUMS = (
    "its kernel sums at 74 GB/s out of a device, where seven links carry 142: what an addition to "
    "another device's memory costs is not published"
)
_READS = "reads of A3 rise to the rate of a link more slowly than writes; only a write calibrates"

_MISSED = (
    ("K4 read 64 KB", _READS),
    ("K4 read 256 KB", _READS),
    ("K5", _SERVERS),
    ("K7", _SMALL),
    ("K9", "the page's 1071 us of all-reduce are its own formula times its factor 1.15, and its code says K = 4096"),
    ("K10 in series", _SUMS),
    ("K10 pipelined", _SUMS),
    ("K12", "the smallest shape: launches, and the fixed cost that its page names, are not in the formula"),
    ("K20", _EXPERTS),
    ("K21", _EXPERTS),
    ("K22", _EXPERTS),
    ("K23", _EXPERTS),
    ("K24 dispatch", _EXPERTS),
    ("K25", _EXPERTS),
    ("K27", "the page has a range of a factor of two; the constant lies in it"),
)  # fmt: skip

_UNPREDICTED = (
    ("K11", "how much busy vector cores slow cube cores is a matter of HBM and L2, not of links"),
    ("K28", "of a scheduler on the AI CPU, which this project has not"),
    ("K29", "of a scheduler on the AI CPU, which this project has not"),
)


def reasons(row: Measured) -> list[str]:
    return [why for name, why in _MISSED if _begins(row, name)]


def reasons_for_silence(row: Measured) -> list[str]:
    return [why for name, why in _UNPREDICTED if _begins(row, name)]


def unused(rows: list[Measured]) -> list[str]:
    """Names that no row of these has."""
    return [name for name, _ in _MISSED if not any(_begins(row, name) for row in rows)]


def _begins(row: Measured, name: str) -> bool:
    return f"{row.row} ".startswith(f"{name} ")
