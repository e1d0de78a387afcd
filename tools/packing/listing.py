"""What packaging/files.txt says, for one prefix."""
import dataclasses
import pathlib
import tomllib

from .problem import Problem

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "packaging/files.txt"
BUILD = ROOT / "target/release"
KINDS = {"file", "program", "library", "again", "debug", "link", "text", "made", "pages", "asked"}
# Where the commands look for the library, from the prefix (cli/src/prefix.rs).
FOLDERS = ["lib", "lib64", "lib/x86_64-linux-gnu"]


@dataclasses.dataclass
class Entry:
    """One file, or link, of an installation."""
    part: str
    kind: str
    to: str
    source: str


def version() -> str:
    """promp's."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def gcc() -> str:
    """The version of GCC that the plugin is for; none without one."""
    note = BUILD / "promp_plugin.gcc"
    return note.read_text().strip() if note.exists() else ""


def folder(prefix: pathlib.Path, wanted: str) -> str:
    """The libraries' folder below the prefix, from LIBDIR."""
    if not wanted:
        return FOLDERS[0]
    path = pathlib.PurePath(wanted)
    if path.is_absolute() and path.is_relative_to(prefix):
        path = path.relative_to(prefix)
    if str(path) not in FOLDERS:
        choice = ", ".join(f"{prefix}/{f}" for f in FOLDERS)
        raise Problem(f"LIBDIR={wanted}: the commands look for the library in {choice}; choose one of these")
    return str(path)


def names(lib: str) -> dict[str, str]:
    """What stands for what in the list and in texts."""
    up = "/".join([".."] * len(pathlib.PurePath(lib).parts))
    return {"version": version(), "gcc": gcc(), "lib": lib, "build": str(BUILD), "up": up}


def put_in(text: str, known: dict[str, str]) -> str:
    """The text with these names replaced."""
    for name, value in known.items():
        text = text.replace("{" + name + "}", value)
    return text


def entries(lib: str, parts: set[str]) -> list[Entry]:
    """The list for these parts."""
    known, found, all_parts = names(lib), [], set()
    for line in LIST.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        part, kind, to, source = line.split(None, 3)
        assert kind in KINDS, line
        all_parts.add(part)
        if part in parts:
            found += expanded(Entry(part, kind, put_in(to, known), put_in(source, known)))
    if unknown := parts - all_parts:
        raise Problem(f"PARTS: there is no {', '.join(sorted(unknown))}; there are "
                      f"{', '.join(sorted(all_parts))}")
    return found


def expanded(entry: Entry) -> list[Entry]:
    """One entry for each file that a pattern stands for."""
    if "*" not in entry.source:
        return [entry]
    files = sorted(p for p in ROOT.glob(entry.source) if p.is_file())
    top = ROOT / entry.source.partition("*")[0].rpartition("/")[0]
    return [dataclasses.replace(entry, to=f"{entry.to}/{p.relative_to(top)}", source=str(p)) for p in files]
