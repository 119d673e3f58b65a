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

# What follows has a generator of its own, so that adding to it changes nothing above.
rng = np.random.default_rng(20260922)


def by_bisection(d, alpha, method):
    """The same interval for many differences: the p-value falls away from the centre."""
    n = len(d)
    walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
    p = lambda i: stats.wilcoxon(d - (walsh[i - 1] + walsh[i]) / 2, method=method, correction=True).pvalue
    def first(lo, hi, test):  # smallest i in lo..hi with test(i), which is monotone
        while lo < hi:
            mid = (lo + hi) // 2
            lo, hi = (lo, mid) if test(mid) else (mid + 1, hi)
        return lo
    m = len(walsh)
    low = first(1, m // 2, lambda i: p(i) > alpha)
    high = first(m // 2, m, lambda i: p(i) <= alpha)
    return {"d": d.tolist(), "alpha": alpha, "estimate": float(np.median(walsh)),
            "low": float(walsh[low - 1]), "high": float(walsh[high - 1])}


for n, alpha in [(11, .05 / 7 / 4), (14, .05 / 7 / 4), (20, .05 / 7 / 4), (30, .05 / 7 / 4), (40, .05 / 3), (120, .05 / 7 / 4)]:
    out["signed_rank"].append(by_bisection(np.round(rng.standard_t(3, n) * .02 + .03, 9), alpha, "exact"))
for n, alpha in [(201, .05), (300, .05 / 7 / 4)]:
    out["signed_rank"].append(by_bisection(np.round(rng.standard_t(3, n) * .02 + .03, 9), alpha, "approx"))
out["paired_t"] = []
for n, alpha in [(2, .05), (3, .05 / 7 / 4), (5, .05), (6, .01), (10, .05 / 7), (30, .05 / 7 / 4), (200, .05)]:
    d = np.round(rng.standard_t(3, n) * .02 + .03, 6)
    ci = stats.ttest_1samp(d, 0).confidence_interval(1 - alpha)
    out["paired_t"].append({"d": d.tolist(), "alpha": alpha, "estimate": float(np.mean(d)), "low": float(ci.low), "high": float(ci.high),
                            "spread": float(1.4826 * stats.median_abs_deviation(d))})
out["blocks_needed"] = []
for sd, delta, alpha, power in [(.02, .03, .05, .8), (.02, .03, .05, .95), (.05, .02, .05 / 28, .8), (.001, .03, .05, .8), (3, .01, .01, .9)]:
    z = stats.norm.isf(alpha / 2) + stats.norm.ppf(power)
    low = next(n for n in range(1, 99) if 2.0 ** -n <= alpha / 2)
    out["blocks_needed"].append({"sd": sd, "delta": delta, "alpha": alpha, "power": power,
                                 "n": int(max(low, np.ceil(z ** 2 * np.pi / 3 * (sd / delta) ** 2)))})
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
