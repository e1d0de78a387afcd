"""Code that is compiled while the program runs (numba), and a progress bar (tqdm) whose locks are semaphores of multiprocessing's."""

import os
import sys

os.environ["NUMBA_THREADING_LAYER"] = "omp"
import numba
import numpy as np
from tqdm import tqdm


@numba.njit(parallel=True)
def step(a, b):
    for i in numba.prange(1, a.shape[0] - 1):
        b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1]


a = np.random.default_rng(1).random(1_000_000)
b = a.copy()
for _ in tqdm(range(int(sys.argv[1])), disable=None):
    step(a, b)
    a, b = b, a
print(repr(float(a.sum())), repr(float(a[1000])), numba.threading_layer())
