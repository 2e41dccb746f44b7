# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make files`: writes docs/files.md, what each file below plugins but for the modules' documentation is for, by the
first sentence of its docstring, or of that of the verb in it, or by the short description of a skin, and what other
files can call there."""

from __future__ import annotations

import ast
import re
import sys
import typing as t
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "files.md"
PLUGINS = ROOT / "plugins"
SKINS = ("filter", "test", "lookup", "inventory", "callback")
ENTRANCES = ("action", "doc_fragments", *SKINS)
FOLDERS = ("module_utils", "plugin_utils", *ENTRANCES)
HEAD = """# Which file does what

Every file of the rooms in a sentence, with the functions and classes that other files can use, to be searched for the
words of a task; [architecture.md](architecture.md) shows how they work together. The page is made of the files
themselves, by `make files`; a test holds that it is up to date.

Where is a subject? From a checkout:

```sh
grep -i "server-side apply" docs/files.md
```
"""
_SHORT = re.compile(r"^short_description: (.+)$", re.MULTILINE)
# Where a sentence ends: behind a word of two letters or more, so that "e.g." goes on.
_END = re.compile(r"(?<=[\w)`]{2})\.(?=\s+[A-Z`])|\.$")


def purpose(source: str) -> str:
    """The first sentence of a module's docstring, the short description in it, or the first sentence of its last
    class, on one line. ValueError if it has none of them."""
    module = ast.parse(source)
    classes = [each for each in module.body if isinstance(each, ast.ClassDef)]
    short = _SHORT.search(source)
    told = ast.get_docstring(module) or (short and short[1])
    told = told or (ast.get_docstring(classes[-1]) if classes else None)
    if not told:
        raise ValueError("it says nothing of what it is for")
    paragraph = " ".join(told.partition("\n\n")[0].split())
    return _END.split(paragraph)[0].replace("|", "\\|").replace("``", "`")


def offered(source: str) -> str:
    """The public functions and classes of a module in its order, those of a class behind it in brackets."""
    told = []
    for each in _public(ast.parse(source)):
        inside = ", ".join(f"`{method.name}`" for method in _public(each) if isinstance(each, ast.ClassDef))
        told.append(f"`{each.name}`" + (f" ({inside})" if inside else ""))
    return ", ".join(told)


def _public(inside: ast.AST) -> list[ast.FunctionDef | ast.ClassDef]:
    found = [each for each in ast.iter_child_nodes(inside) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    return [each for each in found if not each.name.startswith("_")]


def files() -> t.Iterator[Path]:
    """Those that stand on the page, folder by folder."""
    found = [file for folder in FOLDERS for file in (PLUGINS / folder).rglob("*.py") if file.name != "__init__.py"]
    return iter(sorted(found, key=lambda file: (file.parent.parts, file.name)))


def page() -> str:
    """The whole page. What is called by Ansible alone (verbs, skins) has no column for what it offers."""
    parts = [HEAD]
    for folder, inside in groupby(files(), key=lambda file: file.parent):
        name = folder.relative_to(PLUGINS).as_posix().removeprefix("module_utils/")
        called = name not in ENTRANCES
        parts.append(f"\n## `{name}`\n\n| file | what it is for |{' in it |' if called else ''}\n| --- | --- |")
        parts.append(" --- |\n" if called else "\n")
        for file in inside:
            source = file.read_text(encoding="utf-8")
            parts.append(f"| `{file.name}` | {purpose(source)} |{f' {offered(source)} |' if called else ''}\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
