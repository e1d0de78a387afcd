"""Texts in Markdown: their sentences, and the names of files in them and in comments."""
import re
from collections.abc import Iterator


def sentences(text: str) -> list[int]:
    """How many words each sentence has; code, tables, headings and sentences below three words left out."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    prose = [line for line in text.split("\n") if not line.startswith(("|", "    ", "#", "<!--"))]
    text = re.sub(r"`[^`]*`", "X", "\n".join(prose))
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:-|\d+\.) )", text):
        for sentence in re.split(r'(?<=[.!?])\s+(?=[A-Z"(*X])', " ".join(paragraph.split())):
            found.append(sum(1 for word in sentence.split() if re.search(r"\w", word)))
    return [n for n in found if n >= 3]


def files_named(text: str) -> Iterator[str]:
    """The names of source files with their folders, like `ckpt/lib.rs`, that stand in a text."""
    kinds = "rs|cc|hpp|cpp|c|h|f90|py|sh|md|toml"
    yield from re.findall(rf"(?<![\w./$<>*~-])(\w[\w-]*/(?:[\w-]+/)*[\w-]+\.(?:{kinds}))\b(?![\w*])", text)
