"""Writes golden.json beside this file: python3 golden.py  (numpy and scipy needed).

The interval is found by brute force: a Walsh average is inside it when scipy's
exact signed-rank test of the differences shifted to its two sides does not
reject. That is independent of how the Go code finds it.
"""
import json, os
import numpy as np, scipy
from scipy import stats

rng = np.random.default_rng(20260921)
out = {"numpy": np.__version__, "scipy": scipy.__version__, "signed_rank": [], "quantile": [], "quantile_interval": []}


def p_value(d, theta):
    return stats.wilcoxon(d - theta, method="exact").pvalue


for n, alpha in [(5, .05), (6, .05), (7, .05), (9, .05), (9, .05 / 7), (10, .05), (14, .05), (20, .01), (30, .05), (30, .05 / 4)]:
    d = np.round(rng.standard_t(3, n) * .02 + .03, 6)
    walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
    gaps = np.concatenate([[walsh[0] - 1], (walsh[1:] + walsh[:-1]) / 2, [walsh[-1] + 1]])
    keep = [i for i, g in enumerate(gaps) if p_value(d, g) > alpha]
    # gap i lies between walsh[i-1] and walsh[i]
    low = walsh[keep[0] - 1] if keep[0] > 0 else None
    high = walsh[keep[-1]] if keep[-1] < len(walsh) else None
    out["signed_rank"].append({"d": d.tolist(), "alpha": alpha, "estimate": float(np.median(walsh)),
                               "low": low if low is None else float(low), "high": high if high is None else float(high)})
for n in (1, 2, 5, 100):
    x = np.round(rng.exponential(1, n), 6)
    for q in (0, .25, .5, .99, 1):
        out["quantile"].append({"x": x.tolist(), "q": q, "value": float(np.quantile(x, q))})
for n, q, alpha in [(5, .5, .05), (6, .5, .05), (30, .5, .05), (300, .99, .05), (400, .99, .05), (1000, .99, .05), (1000, .5, .01)]:
    b = stats.binom(n, q)
    l = max((k for k in range(0, n + 1) if b.cdf(k - 1) <= alpha / 2), default=0)
    u = min((k for k in range(1, n + 2) if b.sf(k - 1) <= alpha / 2), default=n + 1)
    out["quantile_interval"].append({"n": n, "q": q, "alpha": alpha, "low_rank": l, "high_rank": u, "ok": 1 <= l and u <= n})
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
