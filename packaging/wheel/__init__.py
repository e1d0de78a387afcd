"""promp's functions for Python programs, those of promp.h. Without promp they do nothing (docs/api.md).

    promp run -- python3 x.py    or    python3 -m promp run x.py
"""
import ctypes
import os

__version__ = "{version}"
# How a thread can fail, how the program went on, how lost iterations are shared.
KILL, CRASH, HANG, MEMERR, DIE, ENDED, SDC = range(1, 8)
RECOMPUTED, RESUMED, ROLLED_BACK, RESTARTED, REFUSED = range(1, 6)
STATIC, DYNAMIC = 1, 2


class _Failure(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("thread", ctypes.c_uint32), ("region", ctypes.c_uint64),
                ("lost_iterations", ctypes.c_uint64), ("recovery", ctypes.c_uint32),
                ("recovered", ctypes.c_uint32), ("recovery_s", ctypes.c_double)]


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ["regions", "chunks", "failures", "workers"]]


def _found(name):
    """The runtime's function, if the process has the runtime: for all, or for a library that brought it."""
    here = ctypes.DEFAULT_MODE | os.RTLD_NOLOAD
    for library, mode in [(None, ctypes.DEFAULT_MODE), ("libpromp.so.0", here), ("libgomp.so.1", here)]:
        try:
            return getattr(ctypes.CDLL(library, mode), name)
        except (OSError, AttributeError):
            pass
    return None


def _call(name, arguments=(), types=(), result=None, without=None):
    """What the runtime's function returns, or `without`."""
    call = _found(name)
    if not call:
        return without
    call.argtypes, call.restype = types, result
    return call(*arguments)


def _fields(structure):
    """A structure as a dictionary."""
    return {name: getattr(structure, name) for name, _ in structure._fields_}


def version():
    """The runtime's version as a number; 0 without it."""
    return _call("promp_version", result=ctypes.c_int, without=0)


def present():
    """Is the runtime there?"""
    return version() != 0


def checkpoint():
    """A checkpoint may be taken here (promp_potential_ckpt)."""
    _call("promp_potential_ckpt")


def dead(buffer):
    """The memory of `buffer`, writable and in one piece, is written before it is read, behind the next
    checkpoint()."""
    if bytes_ := memoryview(buffer).nbytes:
        start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        _call("promp_dead", (start, bytes_), (ctypes.c_void_p, ctypes.c_size_t))


def replayable(yes):
    """May the next construct be executed again?"""
    _call("promp_replayable", (bool(yes),), (ctypes.c_int,))


def frags(m):
    """The next loop is to be cut into m fragments."""
    _call("promp_frags", (m,), (ctypes.c_int,))


def recompute(kind):
    """How lost iterations of the next loop are shared: STATIC or DYNAMIC."""
    _call("promp_recompute", (kind,), (ctypes.c_int,))


def sdc_checkpoint():
    """Kernels of devices from here to sdc_detect() are verified together."""
    _call("promp_sdc_checkpoint")


def sdc_detect():
    """Behind the kernels that are verified together."""
    _call("promp_sdc_detect")


def fail(thread, kind):
    """Makes a thread of the current team fail: 0, or -1 if there is no such thread, kind or runtime."""
    return _call("promp_fail", (thread, kind), (ctypes.c_int, ctypes.c_int), ctypes.c_int, -1)


def failures():
    """The failures so far, a dictionary each: the fields of struct promp_failure."""
    size = ctypes.sizeof(_Failure)
    types = (ctypes.POINTER(_Failure), ctypes.c_size_t, ctypes.c_size_t)

    def read(room):
        listed = (_Failure * max(room, 1))()
        return _call("promp_failures_sized", (listed, room, size), types, ctypes.c_size_t, 0), listed

    room, _ = read(0)
    known, listed = read(room)
    return [_fields(one) for one in listed[:min(room, known)]]


def stats():
    """Regions, chunks, failures and workers so far; None without promp."""
    numbers = _Statistics()
    arguments = ctypes.byref(numbers), ctypes.sizeof(numbers)
    types = ctypes.POINTER(_Statistics), ctypes.c_size_t
    known = _call("promp_stats_sized", arguments, types, ctypes.c_size_t)
    return _fields(numbers) if known else None
