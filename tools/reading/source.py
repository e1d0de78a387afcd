"""Rust and C++ source, as far as the checks need it: code without comments, blocks, functions, records."""
import re
from collections.abc import Iterator
from typing import NamedTuple

QUIET = re.compile(
    r"""//[^\n]*|/\*.*?\*/              # comments
    |\bb?r(?P<hashes>\#*)".*?"(?P=hashes)  # raw strings
    |"(?:\\.|[^"\\])*"                   # strings
    |'(?:\\[^'\n]*|[^\\'\n])'            # characters, but not lifetimes
    """,
    re.S | re.X,
)
TESTS = re.compile(r"#\[cfg\((?:all\()?test[^\n]*\n\s*(?:pub )?mod \w+ \{")
CLOSES = {")": "(", "]": "[", "}": "{"}
STATEMENTS = {"if", "for", "while", "switch", "catch", "else", "return", "namespace", "enum"}


class Block(NamedTuple):
    """Something with a name and a body in braces: a function, a record."""

    name: str
    lines: int
    body: str


def _blank(found: re.Match) -> str:
    text = found.group(0)
    inner = re.sub(r"[^\n]", " ", text[1:-1])
    return text[0] + inner + text[-1] if text[0] == '"' else re.sub(r"[^\n]", " ", text)


def words(text: str) -> list[str]:
    """The words that a piece of code consists of."""
    return re.findall(r"\w+", text)


def code(text: str) -> str:
    """The text with comments and the contents of strings blanked; lines and columns stay."""
    return QUIET.sub(_blank, text)


def product(text: str) -> str:
    """The code of a Rust file as far as it counts: without its unit tests, the last item of a file."""
    return TESTS.split(code(text))[0]


def comments(text: str) -> Iterator[str]:
    """The comments of a source."""
    for found in QUIET.finditer(text):
        if found.group(0).startswith(("//", "/*")):
            yield found.group(0)


def pairs(text: str) -> dict[int, int]:
    """Where each bracket of the code is closed: position -> position."""
    opened, closed = [], {}
    for found in re.finditer(r"[][(){}]", text):
        if found.group(0) not in CLOSES:
            opened.append(found)
        elif opened and opened[-1].group(0) == CLOSES[found.group(0)]:
            closed[opened.pop().start()] = found.start()
    return closed


def _block(text: str, name: str, start: int, brace: int, closed: dict[int, int]) -> Block:
    end = closed[brace]
    return Block(name, text.count("\n", start, end) + 1, text[brace + 1 : end])


def _rust_blocks(text: str, word: str) -> Iterator[Block]:
    """The items of one kind (`fn`, `struct`) that have a body in braces."""
    closed = pairs(text)
    for found in re.finditer(rf"\b{word}\s+(\w+)", text):
        at = found.end()
        while bracket := re.compile(r"[\[({;]").search(text, at):
            if bracket.group(0) in "([" and bracket.start() in closed:
                at = closed[bracket.start()]
                continue
            if bracket.group(0) == "{" and bracket.start() in closed:
                yield _block(text, found.group(1), found.start(), bracket.start(), closed)
            break


def rust_functions(text: str) -> Iterator[Block]:
    """The functions of Rust code that have a body."""
    return _rust_blocks(text, "fn")


def rust_fields(text: str) -> Iterator[tuple[str, int]]:
    """The structs of Rust code with the number of their fields."""
    for struct in _rust_blocks(text, "struct"):
        flat, shorter = struct.body, None
        while shorter != flat:
            shorter, flat = flat, re.sub(r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}|<[^<>]*>", "", flat)
        yield struct.name, len(re.findall(r"\b\w+\s*:(?!:)", flat))


def public_items(text: str) -> int:
    """How many items of Rust code are plainly `pub`."""
    kinds = "fn|struct|enum|trait|mod|static|const|type|use|union"
    before = r'(?:unsafe |const |async |extern "[^"]*" )*'
    return len(re.findall(rf"^[ \t]*pub {before}(?:{kinds})\b", text, flags=re.M))


def cpp_blocks(text: str) -> Iterator[tuple[str, Block]]:
    """The functions and classes of C++ code: (`function` or `class`, block)."""
    closed = pairs(text)
    for brace in sorted(p for p in closed if text[p] == "{"):
        start = max(text.rfind(c, 0, brace) for c in ";{}") + 1
        head = re.sub(r"^\s*#.*$|\b(?:public|private|protected):", "", text[start:brace], flags=re.M)
        record = re.match(r"\s*(?:template\s*<[^{]*>\s*)?(?:class|struct)\s+(\w+)[^()]*$", head)
        called = re.match(r"\s*[^()=\[\]]*?(~?\w+)\s*\(", head)
        first = start + len(text[start:brace]) - len(text[start:brace].lstrip())
        if record:
            yield "class", _block(text, record.group(1), first, brace, closed)
        elif called and head.count("(") == head.count(")") and not STATEMENTS & set(words(head)):
            yield "function", _block(text, called.group(1), first, brace, closed)
