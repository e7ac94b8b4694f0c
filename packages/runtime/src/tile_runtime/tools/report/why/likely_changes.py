"""Which kinds of change are likely to help against a cause: these are tried first."""

from __future__ import annotations

# By what a verdict says a run is bound by: kinds of `tuning.advice`, the likeliest first.
_LIKELY = {
    "block starts": ("option", "size"),
    "no overlap": ("stages", "size", "option"),
    "turns of cores": ("stages", "size", "option"),
    "latency": ("formula", "option", "size", "stages"),
    "vector pipe": ("formula", "option", "size"),
    "bank conflicts": ("option", "formula", "size"),
    "one lane": ("lanes", "size"),
    "scalar": ("size", "option", "lanes"),
}
_USUAL = ("size", "stages", "option", "formula", "lanes")


def likely_changes(bound: str) -> tuple[str, ...]:
    """The kinds in the order to try them."""
    return tuple(dict.fromkeys((*_LIKELY.get(bound, ()), *_USUAL)))
