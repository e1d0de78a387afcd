"""An installation: files below a prefix, and the manifest by which it is removed."""
import os
import pathlib
import tempfile

from . import listing, make
from .problem import Problem

MANIFEST = "share/promp/manifest"


class Tree:
    """What is below a prefix, or below DESTDIR and that prefix."""

    def __init__(self, prefix: pathlib.Path, destdir: str):
        self.prefix = prefix
        self.root = pathlib.Path(destdir + str(prefix)) if destdir else prefix
        self.manifest = self.root / MANIFEST

    def noted(self) -> tuple[list[str], list[str]]:
        """Files and folders of what is installed."""
        if not self.manifest.exists():
            return [], []
        rows = [line.split(" ", 1) for line in self.manifest.read_text().splitlines() if " " in line]
        return [p for kind, p in rows if kind == "f"], [p for kind, p in rows if kind == "d"]

    def note(self, files, folders) -> None:
        """Writes the manifest, at once or not at all."""
        rows = [f"d {p}" for p in sorted(folders)] + [f"f {p}" for p in sorted(files)]
        self.place(MANIFEST, lambda out: out.write_text("\n".join(rows) + "\n"), 0o644)

    def place(self, to: str, write, mode: int) -> None:
        """Puts a file in its place; who uses the one that was there keeps it."""
        path = self.root / to
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.unlink(missing_ok=True)
        try:
            write(new)
            if not new.is_symlink():
                new.chmod(mode)
            new.replace(path)
        except IsADirectoryError:
            new.unlink(missing_ok=True)
            raise Problem(f"{path} is a folder, and promp has a file there; move it away") from None

    def missing_folders(self, files) -> set[str]:
        """Folders that an installation of these files makes: above the prefix none are promp's."""
        needed = {str(p) for f in files for p in pathlib.PurePath(f).parents}
        return {f for f in needed if not (self.root / f).exists()}


def may_write(path: pathlib.Path) -> None:
    """A message unless files can be made in the folder, or in the first above it that is there."""
    there = next(p for p in [path, *path.parents] if os.path.lexists(p))
    if not there.is_dir():
        raise Problem(f"{there} is not a folder: choose another PREFIX or DESTDIR")
    if not os.access(there, os.W_OK | os.X_OK):
        raise Problem(f"nothing can be written to {there}: no right, or it is read-only. Choose another "
                      "place (make install PREFIX=$HOME/.local), or be root")


def install(tree: Tree, lib: str, parts: set[str], manifest: bool = True) -> list[str]:
    """Installs; what is there of another version and no longer belongs to it is removed. The files."""
    with tempfile.TemporaryDirectory() as scratch:
        todo = []
        for entry in listing.entries(lib, parts):
            if entry.kind == "pages":
                todo += make.pages(entry, pathlib.Path(scratch))
            elif entry.kind != "asked" or (listing.ROOT / entry.source).exists():
                todo.append(entry)
        files = {entry.to for entry in todo} | ({MANIFEST} if manifest else set())
        for folder in {(tree.root / f).parent for f in files}:
            may_write(folder)
        before, made = tree.noted()
        folders = set(made) | tree.missing_folders(files)
        if manifest:
            tree.note(files | set(before), folders)
        makers = make.makers(listing.names(lib))
        for entry in todo:
            if entry.kind == "link":
                tree.place(entry.to, lambda out: out.symlink_to(entry.source), 0)
            else:
                maker, mode = makers[entry.kind]
                tree.place(entry.to, lambda out: maker(entry, out), mode)
        for old in set(before) - files:
            remove(tree, old)
        if manifest:
            tree.note(files, folders)
    return sorted(files)


def remove(tree: Tree, file: str) -> None:
    """Removes a file, if it is still there."""
    (tree.root / file).unlink(missing_ok=True)


def made_there(tree: Tree, files: list[str]) -> list[str]:
    """Plugins for other compilers, which were made from what is installed (packaging/installed.mk)."""
    parents = [tree.root / f for f in files if f.endswith("/promp/plugin/installed.mk")]
    made = [p for mk in parents for p in mk.parent.parent.glob("gcc-*/promp_plugin.*")]
    return [str(p.relative_to(tree.root)) for p in made]


def uninstall(tree: Tree) -> int:
    """Removes what was installed, and the folders that were made for it; the number of files."""
    files, folders = tree.noted()
    if not files:
        raise Problem(f"{tree.manifest} is not there: `make install` has installed nothing below "
                      f"{tree.root}, or it is a package's (remove that)")
    for folder in {(tree.root / f).parent for f in files}:
        if folder.exists():
            may_write(folder)
    plugins = made_there(tree, files)
    for file in files + plugins:
        if file != MANIFEST:
            remove(tree, file)
    folders += {str(pathlib.PurePath(p).parent) for p in plugins}
    # The last: whoever is interrupted can do it again.
    remove(tree, MANIFEST)
    for folder in sorted(folders, key=len, reverse=True):
        try:
            (tree.root / folder).rmdir()
        except OSError:
            pass  # somebody else has something in it
    return len(files)
