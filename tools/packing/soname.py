"""Another SONAME for a library: the name by which the loader knows it, no longer than the one that it has."""
import struct

from .problem import Problem

DT_NULL, DT_STRTAB, DT_STRSZ, DT_SONAME = 0, 5, 10, 14
DT_VERDEF, DT_VERDEFNUM = 0x6FFFFFFC, 0x6FFFFFFD
PT_LOAD, PT_DYNAMIC = 1, 2
# A version's entry that has the library's own name.
BASE = 1


def of(name: str) -> int:
    """The number by which the loader compares names of versions."""
    h = 0
    for byte in name.encode():
        h = (h << 4) + byte
        h = (h ^ (h >> 24 & 0xF0)) & 0x0FFFFFFF
    return h


class Elf:
    """A 64-bit little-endian ELF file in memory."""

    def __init__(self, path):
        self.bytes = bytearray(path.read_bytes())
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise Problem(f"{path} is not a library for x86-64")
        at, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        rows = [struct.unpack_from("<IIQQQQQQ", self.bytes, at + i * size) for i in range(count)]
        self.loaded = [(address, offset, length) for kind, _, offset, address, _, length, _, _ in rows
                       if kind == PT_LOAD]
        start, length = next((r[2], r[5]) for r in rows if r[0] == PT_DYNAMIC)
        pairs = struct.iter_unpack("<qQ", self.bytes[start:start + length // 16 * 16])
        self.dynamic = dict(pair for pair in pairs if pair[0] != DT_NULL)

    def offset(self, address: int) -> int:
        """Where in the file an address is."""
        return next(address - a + o for a, o, length in self.loaded if a <= address < a + length)

    def rename(self, new: str) -> None:
        """Overwrites the SONAME, also where the versions begin with it."""
        at = self.offset(self.dynamic[DT_STRTAB]) + self.dynamic[DT_SONAME]
        end = self.bytes.index(0, at)
        room = end - at
        if len(new) > room:
            raise Problem(f"the SONAME {new} is longer than {self.bytes[at:end].decode()}")
        self.bytes[at:end] = new.encode().ljust(room, b"\0")
        entry = self.offset(self.dynamic[DT_VERDEF])
        for _ in range(self.dynamic[DT_VERDEFNUM]):
            _, flags, _, _, _, _, following = struct.unpack_from("<HHHHIII", self.bytes, entry)
            if flags & BASE:
                struct.pack_into("<I", self.bytes, entry + 8, of(new))
            entry += following


def rename(path, new: str) -> None:
    """Gives the library at `path` another SONAME."""
    elf = Elf(path)
    elf.rename(new)
    path.write_bytes(elf.bytes)
