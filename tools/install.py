#!/usr/bin/env python3
"""Installs what was built, or removes it: `make install`, `make uninstall`.

    tools/install.py install      PREFIX, DESTDIR, LIBDIR and PARTS of the environment say where and what
    tools/install.py uninstall    by the manifest that install has left, PREFIX/share/promp/manifest

PREFIX is /usr/local if not given. With DESTDIR all is put below that folder, for packages. LIBDIR is lib,
lib64 or lib/x86_64-linux-gnu of the prefix; PARTS are some of those in packaging/files.txt: all but debug if
not given.
Exit status 1 with a message if it cannot be done; then nothing has been changed.
"""
import os
import pathlib
import sys

from packing import listing, tree
from packing.problem import Problem

PARTS = ["lib", "bin", "drivers", "plugin", "headers", "modules", "docs"]


def parts(wanted: str) -> set[str]:
    """The parts to install."""
    if wanted:
        return set(wanted.replace(",", " ").split())
    # Without a compiler's plugin headers no plugin was built, and that has been said.
    return {p for p in PARTS if p != "plugin" or listing.gcc()}


def main() -> int:
    asked = {name: os.environ.get(name, "") for name in ["PREFIX", "DESTDIR", "LIBDIR", "PARTS"]}
    try:
        prefix = pathlib.Path(os.path.abspath(asked["PREFIX"] or "/usr/local"))
        where = tree.Tree(prefix, os.path.abspath(asked["DESTDIR"]) if asked["DESTDIR"] else "")
        match sys.argv[1:]:
            case ["install"]:
                lib = listing.folder(prefix, asked["LIBDIR"])
                files = tree.install(where, lib, parts(asked["PARTS"]))
                print(f"promp {listing.version()}: {len(files)} files below {where.root}")
            case ["uninstall"]:
                print(f"promp: {tree.uninstall(where)} files removed from {where.root}")
            case _:
                print(__doc__, file=sys.stderr)
                return 64
    except Problem as e:
        print(f"install: {e}", file=sys.stderr)
        return 1
    except OSError as e:
        print(f"install: {e.filename or where.root}: {e.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
