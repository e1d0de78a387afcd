"""As table.c: the function of promp.h that the second argument names, as Python has it, and a loop behind it.
The first one is the library that has the loop."""
import ctypes
import sys

import promp

ACT = ctypes.CFUNCTYPE(None)
sum_of = ctypes.CDLL(sys.argv[1]).sum_of
sum_of.argtypes, sum_of.restype = [ACT], ctypes.c_long
block = bytearray(800)
failed = 7


def fails():
    global failed
    failed = promp.fail(1, promp.KILL)


def in_region():
    promp.replayable(True)
    total = sum_of(ACT(fails))
    return failed, total


def survived():
    promp.replayable(True)
    total = sum_of(ACT())
    one = promp.failures()
    return 100 + 10 * one[0]["kind"] + one[0]["recovered"] if len(one) == 1 else len(one), total


def counted():
    total = sum_of(ACT())
    known = promp.stats()
    return known["regions"] if known else 7, total


def said(call, *arguments):
    value = call(*arguments)
    return int(value or 0), sum_of(ACT())


CALLS = {
    "promp_version": lambda: said(promp.version),
    "promp_present": lambda: said(promp.present),
    "promp_potential_ckpt": lambda: said(promp.checkpoint),
    "promp_dead": lambda: said(promp.dead, block),
    "promp_replayable": lambda: said(promp.replayable, True),
    "promp_frags": lambda: said(promp.frags, 8),
    "promp_recompute": lambda: said(promp.recompute, promp.DYNAMIC),
    "promp_sdc_checkpoint": lambda: said(promp.sdc_checkpoint),
    "promp_sdc_detect": lambda: said(promp.sdc_detect),
    "promp_fail": in_region,
    # Python's have the sizes along.
    "promp_failures": survived,
    "promp_failures_sized": survived,
    "promp_stats": counted,
    "promp_stats_sized": counted,
}
print(*CALLS[sys.argv[2]]())
