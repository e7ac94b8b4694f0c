"""Which configuration is tried next: in order, or as Optuna proposes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from tile_ir import KernelError
from tile_runtime.tuning.trial import Config

SAMPLERS = ("optuna",)
# Of all configurations a sampler tries this part, unless it is told how many.
_PART = 4
# It gives up when so many proposals one after another were known already.
_KNOWN = 100


class Proposals(Protocol):
    """Propose one configuration after the other, and receive the result of each."""

    def ask(self) -> Config | None: ...
    def tell(self, config: Config, milliseconds: float | None) -> None: ...


def proposals(configs: Sequence[Config], sampler: str | None, most: int | None) -> Proposals:
    """KernelError for a sampler that does not exist, or is not installed."""
    if most is not None and most < 1:
        raise KernelError("tuning-option", f"most is {most}: a tuner tries at least one")
    if sampler is None:
        return InOrder(configs[:most])
    if sampler not in SAMPLERS:
        raise KernelError(
            "tuning-option", f"sampler {sampler!r} is not one a tuner has",
            hint="leave it out to try them in order, or take 'optuna'",
        )  # fmt: skip
    if find_spec("optuna") is None:
        raise KernelError(
            "tuning-option", "sampler 'optuna' is not installed",
            hint="pip install 'tile-runtime[optuna]'",
        )  # fmt: skip
    return Sampled(configs, most or -(-len(configs) // _PART))


class InOrder:
    """The configurations as they stand. One that can not be as fast as the fastest so far, by the
    least time it has (`T.recommend_configs`), is left out."""

    def __init__(self, configs: Sequence[Config]) -> None:
        self._left = list(reversed(configs))
        self._best = float("inf")

    def ask(self) -> Config | None:
        while self._left:
            config = self._left.pop()
            if getattr(config, "least_microseconds", 0.0) < 1e3 * self._best:
                return config
        return None

    def tell(self, config: Config, milliseconds: float | None) -> None:
        if milliseconds is not None:
            self._best = min(self._best, milliseconds)


class Sampled:
    """So many of the configurations, as a tree-structured Parzen estimator proposes; the same ones
    at every run if one is tried at a time."""

    def __init__(self, configs: Sequence[Config], most: int) -> None:
        self._optuna: Any = import_module("optuna")
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._names = list(dict.fromkeys(name for config in configs for name in config))
        self._untried = {self._values(c): c for c in configs}
        self._choices = [list(dict.fromkeys(c)) for c in zip(*self._untried, strict=True)]
        self._left = min(most, len(self._untried))
        self._asked: dict[tuple[str, ...], Any] = {}
        sampler = self._optuna.samplers.TPESampler(seed=0)
        self._study = self._optuna.create_study(sampler=sampler)

    def ask(self) -> Config | None:
        """A configuration that was not tried; the first of these if only others are proposed."""
        if not self._left:
            return None
        self._left -= 1
        for _ in range(_KNOWN):
            trial = self._study.ask()
            pairs = zip(self._names, self._choices, strict=True)
            values = tuple(trial.suggest_categorical(name, choices) for name, choices in pairs)
            if values in self._untried:
                self._asked[values] = trial
                return self._untried.pop(values)
            self._failed(trial)
        return self._untried.pop(next(iter(self._untried)))

    def tell(self, config: Config, milliseconds: float | None) -> None:
        trial = self._asked.pop(self._values(config), None)
        if trial is None:
            return  # it was none of the sampler's
        if milliseconds is None:
            self._failed(trial)
        else:
            self._study.tell(trial, milliseconds)

    def _failed(self, trial: Any) -> None:
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)

    def _values(self, config: Config) -> tuple[str, ...]:
        """Return the values as text, as Optuna receives them."""
        return tuple(json.dumps(config.get(name), default=repr) for name in self._names)
