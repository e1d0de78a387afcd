"""What ctypes and threadpoolctl do with the OpenMP runtime that they find among the loaded files: they limit
its threads. Arguments: a library whose function `team` returns the size of a region's team, and the file to
open by ctypes."""
import ctypes
import sys

from threadpoolctl import threadpool_info, threadpool_limits

team = ctypes.CDLL(sys.argv[1]).team


def runtimes():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "openmp"}


def both():
    """The team's size, and what threadpoolctl says of all runtimes."""
    return team(), runtimes()


print("at first", *both())
with threadpool_limits(limits=1, user_api="openmp"):
    print("limited", *both())
    with threadpool_limits(limits=2):
        print("limited again", *both())
print("given back", *both())
by_file = ctypes.CDLL(sys.argv[2])
by_file.omp_set_num_threads(3)
print("set by ctypes", *both(), by_file.omp_get_max_threads())
for i in range(50):
    with threadpool_limits(limits=1 + i % 4):
        assert both() == (1 + i % 4, {1 + i % 4}), both()
print("done", *both())
