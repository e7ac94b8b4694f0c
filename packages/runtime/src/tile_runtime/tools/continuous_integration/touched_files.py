"""List the files that differ from a revision of git, and extract the files of that revision."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from tile_ir import KernelError
from tile_ir.quick_dataclasses import dataclass

# What git writes before the two paths of a file that has another name.
_RENAMED = "R"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A work tree and the commit it is compared with; without one there is nothing to compare.

    `touched` are paths below `root` of files that differ from that commit, new ones included.
    `former` has the former name of each file that was renamed.
    """

    root: Path
    base: str | None
    touched: frozenset[str]
    former: dict[str, str]

    def base_name(self, file: str) -> str:
        """The name of a file in the base."""
        return self.former.get(file, file)


def checkout_against(revision: str, folder: Path) -> Checkout:
    """Compare the work tree around a folder with the commit where its branch left a revision.

    Raises KernelError outside a work tree and for a revision that git does not know.
    """
    root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
    commit = _git(root, "rev-parse", "--verify", f"{revision}^{{commit}}").strip()
    try:
        base = _git(root, "merge-base", commit, "HEAD").strip()
    except KernelError:
        base = commit  # a shallow clone does not have the common ancestor
    changed = _git(root, "diff", "--name-status", "--find-renames", "-z", base, "--")
    touched, former = _parsed(changed.split("\0"))
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return Checkout(root, base, frozenset((*touched, *filter(None, new))), former)


def tracked_files(root: Path) -> list[str]:
    """All files below a root that git tracks or would add."""
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    return sorted(set(filter(None, listed.split("\0"))))


def base_files(checkout: Checkout) -> frozenset[str]:
    """All files of the base."""
    if checkout.base is None:
        return frozenset()
    listed = _git(checkout.root, "ls-tree", "-r", "--name-only", "-z", checkout.base)
    return frozenset(filter(None, listed.split("\0")))


def extract_base(checkout: Checkout, folder: Path) -> None:
    """Write the files of the base, which has some, into a folder."""
    assert checkout.base is not None, "there is a base"
    packed = _git_bytes(checkout.root, "archive", "--format=tar", checkout.base)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)


def _parsed(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The paths of `git diff --name-status -z`, and the former name of each renamed file."""
    touched: list[str] = []
    former: dict[str, str] = {}
    left = iter(filter(None, words))
    for status in left:
        path = next(left)
        if status.startswith(_RENAMED):
            path, old = next(left), path
            former[path] = old
        touched.append(path)
    return touched, former


def _git(folder: Path, *arguments: str) -> str:
    return _git_bytes(folder, *arguments).decode(errors="surrogateescape")


def _git_bytes(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise KernelError("git", "git is not installed", hint="install git") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise KernelError(
            "git",
            f"git {arguments[0]} failed: {said}",
            hint="run `tile-ascend ci` in a git work tree, with --base=<revision> that it has; "
            "a shallow clone needs `git fetch --unshallow`",
        )
    return done.stdout
