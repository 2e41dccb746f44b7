# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which room of plugins/ may import which, read from the source without running it.

A room is a folder of plugins/module_utils; all other plugins together are ``skins``.
"""

from __future__ import annotations

import ast
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

OWN = ("ansible_collections", "gitops", "fleet")
ARROWS: dict[str, set[str]] = {
    "skins": {"_fleet", "_report"},
    "_fleet": {"_store", "_local", "_kube", "_core"},
    "_report": {"_core"},
    "_store": {"_kube", "_core"},
    "_local": {"_kube", "_core"},
    "_kube": {"_core"},
    "_core": set(),
}
# The family of errors is what every room speaks, skins too.
FOR_ALL = ("_core", "errors")
# Folders of _core, lowest first: each imports what stands below it, or beside it in its row as long as no circle comes
# of it. Single files (errors, foreign) are for all.
FLOORS = (
    ("values",),
    ("schema",),
    ("objects",),
    ("windows", "cluster"),
    ("resources", "scheduling"),
    ("disruption", "updates", "rollout"),
    ("plan", "forecast", "lint", "overview"),
)
FLOOR = {name: number for number, row in enumerate(FLOORS) for name in row}
# A folder with more files is two folders.
MOST_FILES = 18
LARGER = {"_local"}
# What a decision may import besides the harmless part of the standard library.
CORE_LIBRARIES = {"jsonpatch"}
# Clock, chance, environment, processes, threads, network and files reach a decision as arguments or not at all.
IMPURE = {
    "asyncio", "ctypes", "http", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "signal", "socket",
    "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib.request",
}  # fmt: skip
# No decision, but the command behind `make crds`: it writes what the dataclasses say.
COMMANDS = {("_core", "objects", "crds.py")}
CLOCKS = {"now", "utcnow", "today"}
MAX_LINES = 400


@dataclass(frozen=True)
class Import:
    """``target`` is the absolute dotted name as a tuple; ``guarded`` where a lacking library does no harm on import."""

    file: Path
    line: int
    target: tuple[str, ...]
    guarded: bool

    @property
    def room(self) -> str | None:
        """Our room that is imported; None for other code."""
        if self.target[: len(OWN)] != OWN:
            return None
        inside = self.target[len(OWN) :]
        if inside[:2] == ("plugins", "module_utils"):
            return inside[2] if len(inside) > 2 else "module_utils"
        return "skins"

    @property
    def library(self) -> str | None:
        """The third-party library that is imported; None for our own code and the standard library."""
        first = self.target[0]
        return None if first == OWN[0] or first in sys.stdlib_module_names else first


def violations(root: Path) -> list[str]:
    """Every broken rule below ``root`` (a checkout), as ``file:line: what``, sorted."""
    files = sorted((root / "plugins").rglob("*.py"))
    found = [one for file in files for one in imports(file, root)]
    texts = [text for one in found for text in wrong_import(one, root)]
    texts += [text for file in files for text in wrong_file(file, root)]
    texts += scattered(found, root) + shadows(root) + floors(found, root) + crowded(root) + circles(found, root)
    return sorted(texts)


def room_of(file: Path, root: Path) -> str:
    parts = file.relative_to(root).parts
    return parts[2] if parts[:2] == ("plugins", "module_utils") and len(parts) > 3 else "skins"


def imports(file: Path, root: Path) -> t.Iterator[Import]:
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    package = (*OWN, *file.relative_to(root).parts[:-1])
    yield from _walk(tree, file, package, guarded=False)


def _walk(node: ast.AST, file: Path, package: tuple[str, ...], guarded: bool) -> t.Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = guarded or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _is_guard(child)
        if isinstance(child, ast.Import):
            for name in child.names:
                yield Import(file, child.lineno, tuple(name.name.split(".")), inside)
        elif isinstance(child, ast.ImportFrom):
            start = package[: len(package) - child.level + 1] if child.level else ()
            base = (*start, *(child.module.split(".") if child.module else ()))
            for name in child.names:
                yield Import(file, child.lineno, (*base, name.name), inside)
        else:
            yield from _walk(child, file, package, inside)


def _is_guard(node: ast.AST) -> bool:
    """``try: import x / except ImportError`` or ``if TYPE_CHECKING``."""
    if isinstance(node, ast.Try):
        return any(handler.type is not None and "ImportError" in ast.unparse(handler.type) for handler in node.handlers)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def wrong_import(one: Import, root: Path) -> t.Iterator[str]:
    here, place = room_of(one.file, root), f"{one.file.relative_to(root)}:{one.line}"
    name = ".".join(one.target)
    if one.room is not None:
        for_all = one.target[len(OWN) + 2 :][:2] == FOR_ALL
        if one.room != here and not for_all and one.room not in ARROWS.get(here, set()):
            yield f"{place}: {here} imports {one.room} ({name})"
        return
    if here == "skins":
        return
    if one.target[0] == "ansible":
        yield f"{place}: {here} imports ansible ({name})"
    elif one.library and not one.guarded and one.library not in CORE_LIBRARIES:
        yield f"{place}: {here} imports {one.library} without a guard"
    if here == "_core":
        if one.library and one.library not in CORE_LIBRARIES:
            yield f"{place}: _core imports the library {one.library}"
        impure = one.target[0] in IMPURE or ".".join(one.target[:2]) in IMPURE
        if impure and one.file.relative_to(root).parts[2:] not in COMMANDS:
            yield f"{place}: _core imports {name}, which is not for decisions"


def wrong_file(file: Path, root: Path) -> t.Iterator[str]:
    text = file.read_text(encoding="utf-8")
    place, lines = file.relative_to(root), len(text.splitlines())
    if lines > MAX_LINES:
        yield f"{place}: {lines} lines, more than {MAX_LINES}"
    if file.stem in ("utils", "util", "helpers", "common"):
        yield f"{place}: a name that says nothing"
    if room_of(file, root) == "_core":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
                yield f"{place}:{node.lineno}: _core reads the clock ({ast.unparse(node.func)})"


def scattered(found: list[Import], root: Path) -> list[str]:
    """Each library stands in one file of a room, so that its absence is answered in one place."""
    where: dict[tuple[str, str], set[str]] = {}
    for one in found:
        room = room_of(one.file, root)
        if one.library and room != "skins":
            where.setdefault((room, one.library), set()).add(str(one.file.relative_to(root)))
    return [
        f"{', '.join(sorted(files))}: {room} imports {library} in {len(files)} files"
        for (room, library), files in where.items()
        if len(files) > 1
    ]


def shadows(root: Path) -> list[str]:
    """An ``__init__.py`` here would hide the package of the same name."""
    return [
        f"{file.relative_to(root)}: makes {folder}/ a package"
        for folder in ("pulumi", "tests")
        for file in (root / folder).rglob("__init__.py")
    ]


def floors(found: list[Import], root: Path) -> list[str]:
    """The order inside _core."""
    texts = []
    for one in found:
        here = one.file.relative_to(root).parts[2:]
        there = one.target[len(OWN) + 2 :]
        if here[0] != "_core" or there[:1] != ("_core",) or len(here) < 3 or there[1] not in FLOOR:
            continue
        if here[1] not in FLOOR:
            texts.append(f"{'/'.join(here)}: {here[1]} has no floor")
        elif FLOOR[there[1]] > FLOOR[here[1]]:
            texts.append(f"{'/'.join(here)}:{one.line}: {here[1]} imports {there[1]}, which stands above it")
    return texts


def crowded(root: Path) -> list[str]:
    folders = [each for each in (root / "plugins" / "module_utils").rglob("*") if each.is_dir()]
    files = {each: [file for file in each.glob("*.py") if file.name != "__init__.py"] for each in folders}
    return [
        f"{each.relative_to(root)}: {len(inside)} files, more than {MOST_FILES}"
        for each, inside in files.items()
        if len(inside) > MOST_FILES and each.name not in LARGER
    ]


def circles(found: list[Import], root: Path) -> list[str]:
    """Modules that need each other, be it for types alone: neither can be read, or moved, without the other."""
    needs: dict[str, set[str]] = {}
    for one in found:
        here = ".".join((*OWN, *one.file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        needs.setdefault(here, set())
        if one.room is not None:
            needs[here] |= {".".join(one.target), ".".join(one.target[:-1])}
    graph = {
        name: sorted(each for each in targets if each in needs and each != name) for name, targets in needs.items()
    }
    done: set[str] = set()
    texts = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            short = [each.rpartition("module_utils.")[2] for each in (*path[path.index(name) :], name)]
            texts.append(f"circle: {' -> '.join(short)}")
        elif name not in done:
            for each in graph[name]:
                visit(each, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return texts
