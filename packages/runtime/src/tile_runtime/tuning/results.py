"""Store and export the results of tuners: a row in SQLite for each configuration as it ends.

A row stands under everything its time depends on, so a tuner that was killed, or that is given more
configurations, does only what is missing. Not here: pictures, which `chart` makes.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from tile_ir import Diagnostic, KernelError, warn
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import switch
from tile_runtime.cache.kernel_cache import get_cache_dir
from tile_runtime.tuning.trial import LOST, RIGHT, TIMED_OUT, Config

# Raise it when the meaning of a column changes: older files are put aside.
_VERSION = 1
_BUSY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A configuration that was tried. `key` stands for all that its time depends on, `study` for
    the call it was a configuration of, which `factory` and `arguments` show; `config` is JSON.
    `reference` are the milliseconds of the reference, `given` the seconds it might take, `ended` is
    in seconds since 1970."""

    key: str
    study: str
    factory: str
    arguments: str
    chip: str
    objective: str
    config: str
    state: str
    milliseconds: float | None
    reference: float | None
    problem: str | None
    slug: str
    seconds: float
    given: float
    ended: float

    @property
    def values(self) -> Config:
        """The configuration as a dictionary."""
        found: Config = json.loads(self.config)
        return found


_COLUMNS = tuple(f.name for f in fields(TrialRow))
_TABLE = f"create table if not exists rows ({', '.join(_COLUMNS)}, primary key (key))"
_INSERT = f"insert or replace into rows values ({', '.join('?' * len(_COLUMNS))})"


class ResultStore:
    """Rows on disk, if the cache is used; several processes may write."""

    def __init__(self) -> None:
        self.path = get_cache_dir() / "tuning.sqlite"
        self._used = bool(switch("cache"))

    def read(self, key: str, seconds: float) -> TrialRow | None:
        """The stored row of a configuration; None if its time was up and it may take longer now."""
        found = self._rows("select * from rows where key = ?", key)
        if found and found[0].state == TIMED_OUT and found[0].given < seconds:
            return None
        return found[0] if found else None

    def write(self, row: TrialRow) -> None:
        """Keep a row; what an executor lost is missing, not known."""
        if self._used and row.state != LOST:
            with self._opened() as database:
                database.execute(_INSERT, tuple(asdict(row).values()))

    def studies(self) -> list[TuningResults]:
        """All that is there, that which was worked at last first."""
        found: dict[str, list[TrialRow]] = {}
        for row in self._rows("select * from rows order by ended"):
            found.setdefault(row.study, []).append(row)
        by_time = sorted(found.values(), key=lambda rows: -rows[-1].ended)
        return [TuningResults(tuple(rows)) for rows in by_time]

    def _rows(self, query: str, *values: object) -> list[TrialRow]:
        if not self._used or not self.path.is_file():
            return []
        with self._opened() as database:
            return [TrialRow(*found) for found in database.execute(query, values)]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open one transaction. A file that is no database, or of another version, is put aside."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            database = self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise self._unwritable(error) from None
            aside = self.path.with_suffix(f".{time.time_ns()}.damaged")
            self.path.rename(aside)
            what = f"the results of tuners {self.path} can not be read ({error}): they begin anew"
            warn([Diagnostic("tuning-damaged", what, None, f"they are kept as {aside}", "warning")])
            database = self._connect()
        try:
            with closing(database), database:
                yield database
        except sqlite3.OperationalError as error:
            raise self._unwritable(error) from None

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS)
        try:
            version = database.execute("pragma user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise sqlite3.DatabaseError(f"its version is {version}, not {_VERSION}")
            if version == 0:
                with database:
                    database.execute(_TABLE)
                    database.execute(f"pragma user_version = {_VERSION}")
        except sqlite3.DatabaseError:
            database.close()
            raise
        return database

    def _unwritable(self, error: sqlite3.Error) -> KernelError:
        return KernelError(
            "tuning-results",
            f"the results of tuners {self.path} can not be used: {error}",
            hint="set TILE_CACHE_DIR to a folder that can be written, or TILE_CACHE=0",
        )


@dataclass(frozen=True, slots=True)
class TuningResults:
    """All configurations of one call that were tried, in the order in which they ended."""

    rows: tuple[TrialRow, ...]

    @property
    def best(self) -> TrialRow | None:
        """The fastest right one; of equal ones the first by its configuration."""
        return min(self._right(), key=_speed, default=None)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that differ, in order."""
        names = dict.fromkeys(name for row in self.rows for name in row.values)
        values = {n: {json.dumps(row.values.get(n)) for row in self.rows} for n in names}
        return [n for n in names if len(values[n]) > 1] or list(names)

    def csv_text(self) -> str:
        """A line for each configuration, the fastest first: its parameters, state, milliseconds,
        how many seconds it took to find out, and the problem."""
        names = list(dict.fromkeys(name for row in self.rows for name in row.values))
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "state", "milliseconds", "seconds", "problem"])
        for row in sorted(self.rows, key=_speed):
            shown = [row.values.get(name, "") for name in names]
            problem = (row.problem or "").partition("\n")[0]
            writer.writerow([*shown, row.state, row.milliseconds, round(row.seconds, 3), problem])
        return file.getvalue()

    def to_csv(self, path: str | Path) -> None:
        """Write `csv_text` to a file."""
        Path(path).write_text(self.csv_text(), "utf-8")

    def to_svg(self, path: str | Path) -> None:
        """A picture: time against each parameter, a panel for each."""
        from tile_runtime.tuning.chart import chart

        points = [(row.values, row.milliseconds) for row in self._right()]
        Path(path).write_text(chart(self.title, self.parameters, points), "utf-8")

    @property
    def name(self) -> str:
        """The name of the study on the command line."""
        return self.rows[0].study

    @property
    def title(self) -> str:
        first = self.rows[0]
        return f"{first.factory}({first.arguments}) on {first.chip}, {first.objective}"

    def _right(self) -> list[TrialRow]:
        return [row for row in self.rows if row.state == RIGHT]


def _speed(row: TrialRow) -> tuple[bool, float, str]:
    return row.milliseconds is None, row.milliseconds or 0.0, row.config


def config_text(config: Config) -> str:
    """A configuration as JSON; what that has no word for counts by how Python prints it."""
    return json.dumps(config, default=repr)
