"""Makes one file of an installation, as the list describes it (packaging/files.txt)."""
import pathlib
import shutil
import subprocess
import tempfile

from . import listing, soname
from .problem import Problem


def tool(*command) -> bytes:
    """The output of a program that must succeed."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Problem(f"{command[0]} is needed to install (Debian: binutils), and is not there") from None
    if done.returncode:
        raise Problem(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def source(entry: listing.Entry) -> pathlib.Path:
    """The file that an entry is made from."""
    path = listing.ROOT / entry.source
    if not path.exists():
        raise Problem(f"{path} is not there: build first (make), then install")
    return path


def debug(entry, out):
    tool("objcopy", "--only-keep-debug", source(entry), out)


def stripped(entry, out):
    path = source(entry)
    if path.suffix == ".a":
        tool("strip", "-g", "-o", out, path)
        return
    tool("strip", "--strip-unneeded", "-o", out, path)
    # Where debuggers look beside the library, if that part is installed.
    name = pathlib.PurePath(entry.to).name + ".debug"
    with tempfile.TemporaryDirectory() as folder:
        apart = pathlib.Path(folder) / name
        tool("objcopy", "--only-keep-debug", path, apart)
        tool("objcopy", f"--add-gnu-debuglink={apart}", out)


def again(entry, out):
    stripped(entry, out)
    soname.rename(out, pathlib.PurePath(entry.to).name)


def copied(entry, out):
    shutil.copyfile(source(entry), out)


def text(known):
    """Makes texts in which `known` is put in."""
    return lambda entry, out: out.write_text(listing.put_in(source(entry).read_text(), known))


def program() -> pathlib.Path:
    """The command as it was built."""
    path = listing.BUILD / "promp"
    if not path.exists():
        raise Problem(f"{path} is not there: build first (make), then install")
    return path


def printed(entry, out):
    out.write_bytes(tool(program(), *entry.source.split()[1:]))


def pages(entry: listing.Entry, folder: pathlib.Path) -> list[listing.Entry]:
    """Fills the folder; one entry for each of its files."""
    tool(program(), *entry.source.split()[1:], folder)
    made = sorted(folder.iterdir())
    return [listing.Entry(entry.part, "file", f"{entry.to}/{p.name}", str(p)) for p in made]


def makers(known):
    """How each kind is made, and its mode."""
    return {"file": (copied, 0o644), "program": (stripped, 0o755), "library": (stripped, 0o644),
            "again": (again, 0o644), "debug": (debug, 0o644), "text": (text(known), 0o644),
            "made": (printed, 0o644), "asked": (copied, 0o644)}
