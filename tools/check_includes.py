#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layering of the source tree: check_includes.py [ROOT]

1. A folder of src/ includes itself and folders before it in ORDER; include/tenon includes itself.
2. What stands for a user of the ABI or of the kit sees only public headers: VIEWS.
3. Only PJRT_NAMED_IN names PJRT_ types; everything else is free of the ABI.
4. A quoted include names a file of the tree.

Prints a line per breach and exits 1, or prints nothing and exits 0.
"""

import re
import sys
from pathlib import Path

ORDER = ["include/tenon", "src/base", "src/type", "src/ir", "src/reader", "src/writer", "src/kernels", "src/ops", "src/passes",
         "src/codegen", "src/executable", "src/driver", "src/runtime", "src/ffi", "src/pjrt"]

# Folder -> the folders beside itself whose headers it may include. Each driver is a folder of its own.
VIEWS = {
    "drivers/*": ["include/tenon"],
    "host": ["include/tenon", "src/base"],
    "layers": ["include/tenon", "src/base"],
    "conformance": ["include/tenon", "src/base"],
    "examples": ["include/tenon"],
}
UNCHECKED = ["test", "bench"]  # tests may look inside everything

PJRT_NAMED_IN = ["src/pjrt", "host", "layers", "conformance", "examples", "test", "bench"]
PJRT_HEADERS = re.compile(r"include/tenon/(pjrt\w*\.(h|def)|host\.h)$")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
PJRT_NAME = re.compile(r"\bPJRT_\w+")
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])+'", re.S)


def code_only(text):
    """The text with comments and strings blanked, line by line the same."""
    return NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def folder_of(path):
    """The folder, in the sense of the rules, that a file of the tree belongs to; None for no such folder."""
    parts = path.parts
    if parts[0] in ("src", "include") and len(parts) > 2:
        return f"{parts[0]}/{parts[1]}"
    if parts[0] == "drivers" and len(parts) > 2:
        return f"drivers/{parts[1]}"
    return parts[0] if len(parts) > 1 else None


def may_include(user, used):
    if user == used or user in UNCHECKED:
        return True
    if user in ORDER:
        return used in ORDER[:ORDER.index(user)]
    view = VIEWS.get("drivers/*" if user.startswith("drivers/") else user)
    return view is not None and used in view


def resolve(root, path, name):
    """The file of the tree that an include names, or None."""
    for base in (root / path.parent, root / "include", root / "src", root):
        found = (base / name).resolve()
        if found.is_file() and found.is_relative_to(root):
            return found.relative_to(root)
    return None


def check_file(root, path):
    """The breaches in one file, as (line, message)."""
    folder = folder_of(path)
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    known = folder in ORDER or folder in UNCHECKED or folder in VIEWS or folder.startswith("drivers/")
    if not known:
        yield 1, f"folder {folder} has no place in the order: add it to tools/check_includes.py"
        return

    for m in INCLUDE.finditer(text):
        line, quoted, name = text.count("\n", 0, m.start()) + 1, m[1] == '"', m[2]
        used = resolve(root, path, name) if quoted or name.startswith("tenon/") else None
        if used is None:
            if quoted:
                yield line, f'"{name}" is no file of the tree'
        elif not may_include(folder, folder_of(used)):
            yield line, f"{folder} may not include {used} (from {folder_of(used)})"

    if folder not in PJRT_NAMED_IN and not PJRT_HEADERS.search(path.as_posix()):
        for number, code in enumerate(code_only(text).split("\n"), 1):
            if m := PJRT_NAME.search(code):
                yield number, f"{folder} names {m[0]}; only src/pjrt and users of the ABI may"


def sources(root):
    for top in ("include", "src", "drivers", "host", "layers", "conformance", "examples", "test", "bench"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".c", ".h", ".def", ".inc") and path.is_file() and folder_of(path.relative_to(root)):
                yield path.relative_to(root)


def check_tree(root):
    return [f"{path}:{line}: {message}" for path in sources(root) for line, message in check_file(root, path)]


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    breaches = check_tree(root)
    print("\n".join(breaches), end="\n" if breaches else "")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
