"""Writes golden.json beside this file: python3 golden.py  (numpy and scipy needed).

p-values of the three tests that the peers use, as scipy computes them.
"""
import json, os
import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(3)
cases = []
for n, shift, ties in [(5, 0, 0), (5, 2.5, 0), (10, .5, 0), (10, 0, 0), (25, .6, 0), (12, 1, 1), (40, .3, 0), (60, 0, 0)]:
    digits = 0 if ties else 6
    a = np.round(rng.normal(10, 1, n), digits)
    b = np.round(rng.normal(10 + shift, 1.5, n), digits)
    method = "exact" if n <= 25 and not ties else "asymptotic"
    cases.append({
        "a": a.tolist(), "b": b.tolist(),
        "benchstat": stats.mannwhitneyu(a, b, method=method).pvalue,
        "hyperfine": stats.ttest_ind(a, b, equal_var=False).pvalue,
        "pyperf": stats.ttest_ind(a, b).pvalue,
    })
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w") as f:
    json.dump({"scipy": scipy.__version__, "cases": cases}, f)
    f.write("\n")
