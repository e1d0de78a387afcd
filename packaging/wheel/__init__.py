"""promp's functions for Python programs. Without promp they do nothing.

    promp run -- python3 x.py    or    python3 -m promp run x.py
"""
import ctypes

__version__ = "{version}"


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ["regions", "chunks", "failures", "workers"]]


def _found(name):
    """The runtime's function, if the process has the runtime."""
    return getattr(ctypes.CDLL(None), name, None)


def version():
    """The runtime's version as a number; 0 without it."""
    call = _found("promp_version")
    return call() if call else 0


def checkpoint():
    """A checkpoint may be taken here."""
    if call := _found("promp_potential_ckpt"):
        call()


def replayable(yes):
    """May the next construct be executed again?"""
    if call := _found("promp_replayable"):
        call(ctypes.c_int(bool(yes)))


def stats():
    """Regions, chunks, failures and workers so far; None without promp."""
    call = _found("promp_stats")
    if not call:
        return None
    numbers = _Statistics()
    call(ctypes.byref(numbers))
    return {name: getattr(numbers, name) for name, _ in _Statistics._fields_}
