"""Linear algebra in C through ctypes with the OpenMP build of OpenBLAS, on numpy's arrays: prints a digest of the results."""
import ctypes
import glob
import hashlib

import numpy as np

lib = ctypes.CDLL(glob.glob("/usr/lib/*-linux-gnu/openblas-openmp/libopenblas.so*")[0])
assert lib.openblas_get_parallel() == 2, "not the OpenMP build"
rng = np.random.RandomState(1)
n = 400
a, b, c = rng.rand(n, n), rng.rand(n, n), np.zeros((n, n))
p = lambda m: m.ctypes.data_as(ctypes.c_void_p)
one = ctypes.c_double(1.0)
for _ in range(5):
    lib.cblas_dgemm(101, 111, 111, n, n, n, one, p(a), n, p(b), n, one, p(c), n)
# LAPACK wants columns: the transposed system.
pivots, solution, lu = np.zeros(n, dtype=np.int32), b.copy(), a.copy()
size, info = ctypes.c_int(n), ctypes.c_int(-1)
lib.dgesv_(ctypes.byref(size), ctypes.byref(size), p(lu), ctypes.byref(size), p(pivots), p(solution), ctypes.byref(size), ctypes.byref(info))
assert info.value == 0
print(hashlib.sha256(c.tobytes() + solution.tobytes()).hexdigest(), bool(np.allclose(a.T @ solution.T, b.T)))
