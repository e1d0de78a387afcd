"""Which file of a Rust crate names which, and the circles in that."""
import re
from collections.abc import Iterator
from typing import NamedTuple


class Use(NamedTuple):
    """One leaf of a `use`: its path, the name it gives, and whether that name is shown to others."""

    path: str
    name: str
    public: bool


def _parts(group: str) -> Iterator[str]:
    """What stands between the commas of a group's outermost braces."""
    depth, part = 0, ""
    for c in group:
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            yield part
            part = ""
        else:
            part += c
    yield part


def _leaves(tree: str) -> Iterator[tuple[str, str]]:
    """The (path, name) of each leaf of the tree of a `use`."""
    if group := re.match(r"\s*((?:\w+::)*)\{(.*)\}\s*$", tree, re.S):
        for part in filter(str.strip, _parts(group.group(2))):
            yield from ((group.group(1) + path, name) for path, name in _leaves(part))
    else:
        path, _, alias = re.sub(r"\s+as\s+", " ", tree.strip()).partition(" ")
        path = path.removesuffix("::self").removesuffix("::*")
        yield path, alias or path.split("::")[-1]


USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")


def uses(code: str) -> list[Use]:
    """All that the `use` items of the code bring in."""
    found = USE.finditer(code)
    return [Use(path, name, bool(u.group(1))) for u in found for path, name in _leaves(u.group(2))]


def named(code: str) -> Iterator[str]:
    """Every path that the code names, as far as it can be told without types."""
    brought = uses(code)
    yield from (use.path for use in brought)
    known = {use.name: use.path for use in brought}
    for path in re.findall(r"\b[a-z_]\w*(?:::\w+)+", USE.sub("", code)):
        first, _, rest = path.partition("::")
        yield f"{known[first]}::{rest}" if first in known else path


class Crate:
    """The modules of one crate: file -> code, paths from its source folder."""

    def __init__(self, files: dict[str, str]):
        self.files = {self._module(f): f for f in files}
        self.code = files
        self.shown = {
            f: {use.name: use.path for use in uses(text) if use.public} for f, text in files.items()
        }

    @staticmethod
    def _module(file: str) -> tuple[str, ...]:
        parts = file.removesuffix(".rs").split("/")
        return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)

    def _file(self, module: tuple[str, ...], path: str, depth: int = 0) -> str | None:
        """The file where `path`, as named in `module`, is; followed through names that files show on."""
        segments = path.split("::")
        if segments[0] == "crate":
            at, segments = (), segments[1:]
        elif segments[0] in ("self", "super"):
            at = module
            while segments and segments[0] in ("self", "super"):
                at = at[: len(at) - (segments[0] == "super")]
                segments = segments[1:]
        elif module + (segments[0],) in self.files:
            at = module
        else:
            return None
        while segments and at + (segments[0],) in self.files:
            at, segments = at + (segments[0],), segments[1:]
        here = self.files.get(at)
        if here and segments and depth < 5 and (on := self.shown[here].get(segments[0])):
            return self._file(at, on, depth + 1) or here
        return here

    def arrows(self) -> dict[str, set[str]]:
        """file -> the files that it names; the crate's root, which puts all together, is left out."""
        found = {}
        for module, file in self.files.items():
            if module:
                ends = {self._file(module, path) for path in named(self.code[file])}
                found[file] = {e for e in ends if e and e != file and self._module(e)}
        return found


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Files that know each other, directly or through others, from the largest circle (Tarjan's way)."""
    number, low, stack, found = {}, {}, [], []
    for root in arrows:
        todo = [] if root in number else [(root, None)]
        while todo:
            node, ends = todo.pop()
            if ends is None:
                number[node] = low[node] = len(number)
                stack.append(node)
                ends = iter(sorted(arrows.get(node, ())))
            for end in ends:
                if end not in number:
                    todo += [(node, ends), (end, None)]
                    break
                if end in low:
                    low[node] = min(low[node], low[end])
            else:
                if low[node] == number[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    for member in stack[at:]:
                        del low[member]
                    del stack[at:]
                if todo and todo[-1][0] in low and node in low:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[node])
    return sorted((c for c in found if len(c) > 1), key=len, reverse=True)
