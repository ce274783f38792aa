"""Makes vectors.txt: what scipy (1.17.1, BSD-3-Clause) and statsmodels (0.15.0, BSD-3-Clause) say of random values, independently of this
crate.

    pip install scipy==1.17.1 statsmodels==0.15.0 && python vectors.py > vectors.txt

A line is the name of a function, its arguments and its results; lists are joined by commas, and `|` stands before the results.
"""

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

random = np.random.default_rng(20240)


def show(name, arguments, results):
    def text(value):
        values = np.atleast_1d(value)
        return ",".join(repr(float(single)) for single in values)

    print(name, *map(text, arguments), "|", *map(text, results))


for n, alpha in [(2, 0.05), (2, 0.0025), (3, 0.005), (6, 0.045), (6, 0.0225), (10, 0.03), (10, 0.006), (31, 0.05), (400, 0.001)]:
    show("t_factor", [n, alpha], [stats.t.ppf(1 - alpha / 2, n - 1)])

for n, shift in [(2, 0), (3, 1), (6, 0.2), (6, 3), (10, 0), (10, 30), (48, 0.4), (120, 0)]:
    values = np.round(random.normal(size=n) + shift, 4)
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    show("mean_interval", [values, 0.05], [low, high])
    show("mean_p", [values], [stats.ttest_1samp(values, 0).pvalue])

for n, shift in [(1, 0), (6, 3), (9, 1), (20, 0), (48, 0.3), (48, 2), (120, 0.1), (301, 0.05)]:
    values = np.round(random.standard_cauchy(size=n) + shift, 4)
    show("sign_p", [values], [stats.binomtest(int((values > 0).sum()), n).pvalue])
tied = np.array([0.0, 0.0, 1.0, 2.0, -1.0, 3.0, 0.0])
show("sign_p", [tied], [stats.binomtest(3, 4).pvalue])

for n, alpha in [(6, 0.05), (8, 0.01), (11, 0.001), (24, 0.005), (48, 0.045), (48, 0.0225), (120, 0.03), (120, 0.015), (301, 0.05)]:
    values = np.round(random.standard_cauchy(size=n), 4)
    # The two-sided interval of a quantile test is made of two one-sided ones.
    low = stats.quantile_test(values, q=0, p=0.5, alternative="greater").confidence_interval(1 - alpha / 2).low
    high = stats.quantile_test(values, q=0, p=0.5, alternative="less").confidence_interval(1 - alpha / 2).high
    show("sign_interval", [values, alpha], [low, high])

for found, of, alpha in [(0, 100, 0.05), (1, 100, 0.05), (95, 100, 0.05), (100, 100, 0.05), (3, 7, 0.01), (0, 1, 0.05), (50, 1000, 0.001)]:
    interval = stats.binomtest(found, of).proportion_ci(1 - alpha, "exact")
    show("binomial_interval", [found, of, alpha], [interval.low, interval.high])

for n in [1, 2, 5, 20]:
    p = np.round(random.uniform(size=n) ** 3, 6)
    if n == 5:
        p[3] = p[1]
    show("holm", [p], [multipletests(p, method="holm")[1]])
    show("benjamini_hochberg", [p], [stats.false_discovery_control(p)])

for n, scatter in [(3, 0.1), (5, 0.01), (12, 1.0), (40, 0.0)]:
    x = np.round(np.log(np.arange(1, n + 1, dtype=float)), 4)
    y = 1.3 * x - 0.7 + scatter * random.normal(size=n)
    line = stats.linregress(x, y)
    reach = stats.t.ppf(0.975, n - 2) * line.stderr
    show("fit", [x, y, 0.95], [line.slope, line.intercept, line.slope - reach, line.slope + reach])

for n, q, alpha in [(72, 0.95, 0.05), (368, 0.99, 0.05), (500, 0.9, 0.01)]:
    values = np.round(random.lognormal(size=n), 4)
    low = stats.quantile_test(values, q=0, p=q, alternative="greater").confidence_interval(1 - alpha / 2).low
    high = stats.quantile_test(values, q=0, p=q, alternative="less").confidence_interval(1 - alpha / 2).high
    show("tail", [values, q, 1 - alpha], [np.quantile(values, q), low, high])
