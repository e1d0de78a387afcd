"""Shared memory as Python programs have it: an array in a file (numpy's memmap), anonymous memory (mmap),
values and arrays of multiprocessing's. Nobody else has any of it."""

import mmap
import multiprocessing
import os
import sys
import tempfile

os.environ["NUMBA_THREADING_LAYER"] = "omp"
import numba
import numpy as np


@numba.njit(parallel=True)
def step(a, s):
    for i in numba.prange(a.shape[0]):
        x = a[i]
        for _ in range(100):
            x = x * 0.999 + s * 0.001 + i * 1e-6
        a[i] = x


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "values")
    in_file = np.memmap(path, dtype="f8", mode="w+", shape=(20_000,))
    anonymous = np.frombuffer(mmap.mmap(-1, 8 * 20_000), dtype="f8")
    array = np.frombuffer(multiprocessing.RawArray("d", 20_000))
    count = multiprocessing.Value("i", 0)
    for s in range(int(sys.argv[1])):
        for i, a in enumerate((in_file, anonymous, array)):
            step(a, s + i)
        with count.get_lock():
            count.value += 1
    in_file.flush()
    sums = [repr(float(a.sum())) for a in (in_file, anonymous, array, np.fromfile(path))]
    print(count.value, *sums, numba.threading_layer())
