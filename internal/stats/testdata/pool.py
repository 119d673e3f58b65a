"""Writes pool.json: effects pooled by statsmodels 0.15.0, for TestPoolGolden.

    python3 -m venv venv && venv/bin/pip install statsmodels==0.15.0
    venv/bin/python pool.py > pool.json
"""
import json

import numpy as np
from statsmodels.stats.meta_analysis import combine_effects

rng = np.random.default_rng(17)
cases = []
for k in (3, 5, 6, 8, 10, 12, 20, 30):
    for tau in (0.0, 0.02, 0.05):
        variance = rng.uniform(0.005, 0.03, k) ** 2
        effect = -0.03 + rng.normal(0, tau, k) + rng.normal(0, np.sqrt(variance))
        r = combine_effects(effect, variance, method_re="iterated", use_t=True, atol=1e-15, maxiter=10000)
        if r.tau2 == 0 and r.q > k - 1:
            continue  # its iteration went below 0 and stayed there: no root, while there is one
        low, high = r.conf_int(alpha=0.05)[3]  # random effects, Hartung and Knapp
        cases.append({"effects": list(effect), "variances": list(variance), "tau2": r.tau2, "mean": r.mean_effect_re,
                      "low": low, "high": high, "q": r.q, "i2": r.i2})
print(json.dumps(cases, indent=1))
