"""Which wait took which set: a timeline has both as events, but not the pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_runtime.simulator.timeline import KINDS

SET, WAIT = KINDS.index("set"), KINDS.index("wait")
CROSS_SET, CROSS_WAIT = KINDS.index("cross set"), KINDS.index("cross wait")
RANK_WAITS = (KINDS.index("word wait"), KINDS.index("rank barrier"))


def flag_pairs(events: Any) -> Any:
    """Rows (index of the set, index of the wait) for flags and cross-core flags, by wait."""
    pairs = np.concatenate([_flags(events), _cross_flags(events)])
    return pairs[np.argsort(pairs[:, 1], kind="stable")]


def signal_pairs(events: Any) -> Any:
    """Rows (index of a signal, or of another rank's last event before a barrier; index of the wait
    that it has ended) of waits for other ranks that had to wait."""
    waits = np.flatnonzero(np.isin(events["kind"], RANK_WAITS) & (events["cause"] >= 0))
    pairs = np.stack([events["cause"][waits], waits], axis=1)
    first, last = events[pairs[:, 0]], events[pairs[:, 1]]
    return pairs[(first["block"] != last["block"]) | (first["core"] != last["core"])]


def _flags(events: Any) -> Any:
    """A flag is taken in the order it was set: the n-th wait of a flag takes its n-th set."""
    sets, waits = (np.flatnonzero(events["kind"] == kind) for kind in (SET, WAIT))

    def keys(which: Any, source: str, target: str) -> Any:
        e = events[which]
        core = e["block"].astype(np.int64) * 4 + e["core"]
        return ((core * 8 + e[source]) * 8 + e[target]) * 256 + e["flag"]

    return _by_turn(sets, keys(sets, "pipe", "source"), waits, keys(waits, "source", "pipe"))


def _by_turn(sets: Any, set_keys: Any, waits: Any, wait_keys: Any) -> Any:
    """Pairs the n-th of a key in `sets` with the n-th of the same key in `waits`."""
    names = np.unique(np.concatenate([set_keys, wait_keys]))
    turns = max(len(sets), len(waits)) + 1

    def ticket(keys: Any) -> Any:
        number = np.searchsorted(names, keys)
        return number * turns + _turns(number)

    _, first, second = np.intersect1d(
        ticket(set_keys), ticket(wait_keys), assume_unique=True, return_indices=True
    )
    return np.stack([sets[first], waits[second]], axis=1).astype(np.int64)


def _turns(keys: Any) -> Any:
    """The number of earlier occurrences of each element."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(keys)])
    turns = np.arange(len(keys))
    turns -= np.repeat(starts, np.diff(np.append(starts, len(keys))))
    found = np.empty(len(keys), np.int64)
    found[order] = turns
    return found


def _cross_flags(events: Any) -> Any:
    """A wait takes the n-th round of sets; the arrow comes from the set of a round that was last
    (docs/hardware/index.md#flags-between-cores, modes 0, 1 and 2)."""
    pairs: list[tuple[int, int]] = []
    sets, waits = (np.flatnonzero(events["kind"] == kind) for kind in (CROSS_SET, CROSS_WAIT))
    for flag in np.unique(events["flag"][waits]):
        of_flag = sets[events["flag"][sets] == flag]
        for vector in (False, True):
            waiting = waits[
                (events["flag"][waits] == flag) & ((events["core"][waits] > 0) == vector)
            ]
            if len(waiting):
                pairs += _of_waiters(events, of_flag, waiting, vector)
    return np.array(pairs, np.int64).reshape(-1, 2)


def _of_waiters(events: Any, sets: Any, waits: Any, vector: bool) -> list[tuple[int, int]]:
    """The pairs of the waits of all cube or of all vector cores for one flag."""
    own, everywhere = _who_sets(events, sets, vector)
    setting = sets[(events["core"][sets] > 0) == (vector if own else not vector)]
    # The n-th set of every core that takes part makes up the n-th round of a block, or of all.
    rounds: dict[tuple[int, int], list[int]] = {}
    cores: dict[int, set[int]] = {}
    turns = _turns(_core_of(events, setting))
    for index, core, turn in zip(setting, _core_of(events, setting), turns, strict=True):
        block = -1 if everywhere else int(core) // 4
        rounds.setdefault((block, int(turn)), []).append(int(index))
        cores.setdefault(block, set()).add(int(core))
    pairs = []
    turns = _turns(_core_of(events, waits))
    for index, core, turn in zip(waits, _core_of(events, waits), turns, strict=True):
        block = -1 if everywhere else int(core) // 4
        of_round = rounds.get((block, int(turn)), [])
        if of_round and len(of_round) == len(cores[block]):
            latest = max(of_round, key=lambda i: (float(events["complete"][i]), i))
            pairs.append((latest, int(index)))
    return pairs


def _core_of(events: Any, which: Any) -> Any:
    return events["block"][which].astype(np.int64) * 4 + events["core"][which]


def _who_sets(events: Any, sets: Any, vector: bool) -> tuple[bool, bool]:
    """Whether cores of the same kind set the flag (modes 0, 1; mode 2 joins the kinds), and
    whether those of all blocks do (mode 0)."""
    own = sets[(events["core"][sets] > 0) == vector]
    modes = set(events["mode"][own].tolist())
    return bool(modes & {0, 1}), 0 in modes
