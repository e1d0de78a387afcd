"""Gradient boosting with XGBoost ("xgboost") or LightGBM ("lightgbm"), each with its own OpenMP loops: prints the predictions' digest."""
import hashlib
import sys

import numpy as np

rng = np.random.RandomState(5)
x = rng.rand(5000, 20).astype(np.float32)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0.7).astype(int)
if sys.argv[1] == "xgboost":
    import xgboost

    data = xgboost.DMatrix(x, label=y)
    params = {"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "seed": 1, "nthread": 4}
    p = xgboost.train(params, data, 20).predict(data)
else:
    import lightgbm

    params = {"objective": "binary", "num_leaves": 31, "seed": 1, "deterministic": True, "force_row_wise": True,
              "num_threads": 4, "verbose": -1}
    p = lightgbm.train(params, lightgbm.Dataset(x, y), 20).predict(x)
print(hashlib.sha256(np.asarray(p).tobytes()).hexdigest(), round(float(((p > 0.5) == y).mean()), 4))
