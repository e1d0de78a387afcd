"""A k-means fit with scikit-learn, which carries its own copy of libgomp; with "fork", also in a child after the parent."""
import multiprocessing
import sys

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier


def fit():
    rng = np.random.RandomState(3)
    x = rng.rand(4000, 8)
    k = KMeans(n_clusters=7, n_init=2, random_state=0).fit(x)
    y = (x[:, 0] + x[:, 1] > 1).astype(int)
    h = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(x, y)
    return round(float(k.inertia_), 4), int(np.bincount(k.labels_).max()), round(float(h.score(x, y)), 4)


def child(queue):
    queue.put(fit())


if __name__ == "__main__":
    mine = fit()
    print(mine)
    if "fork" in sys.argv:
        ctx = multiprocessing.get_context("fork")
        queue = ctx.Queue()
        p = ctx.Process(target=child, args=(queue,))
        p.start()
        theirs = queue.get(timeout=40)
        p.join(20)
        print("child agrees", theirs == mine)
