#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the polynomials of src/kernels/math_f32.h and math_f64.h and their largest relative errors.

Needs mpmath. Each polynomial meets what it stands for in the Chebyshev nodes of its interval, which is within a
factor of two or so of the best one.
"""

from mpmath import mp, mpf, cos, pi, matrix, lu_solve, exp, log, log1p, sin, atan, tanh, atanh, sqrt, expm1
mp.prec = 300

def fit(f, lo, hi, degree):
    """Coefficients, lowest first, of the polynomial that meets f in the Chebyshev nodes of [lo, hi]."""
    n = degree + 1
    x = [(lo + hi) / 2 + (hi - lo) / 2 * cos((2 * i + 1) * pi / (2 * n)) for i in range(n)]
    x = [v if abs(v) > mpf(10)**-15 else mpf(10)**-15 for v in x]
    a = matrix(n, n)
    for i in range(n):
        for j in range(n):
            a[i, j] = x[i] ** j
    return list(lu_solve(a, matrix([f(v) for v in x])))

def worst(poly, f, whole, lo, hi):
    w = mpf(0)
    for i in range(2001):
        v = lo + (hi - lo) * i / 2000
        if v == 0: continue
        w = max(w, abs(whole(v, sum(c * v ** k for k, c in enumerate(poly))) / f(v) - 1))
    return w

LN2 = log(mpf(2))
h = LN2 / 2 * (1 + mpf(2) ** -10)
lo, hi = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
q = (pi / 4) ** 2 * (1 + mpf(2) ** -8)
t = mpf('0.41421357') ** 2
# name, g fitted, interval, degree, the function it is a part of, how it is used, its interval
CASES = [
 ("EXP", lambda r: (exp(r) - 1 - r) / r**2, -h, h, 5, exp, lambda r, p: 1 + r + r*r*p),
 ("EXPM1", lambda r: (exp(r) - 1 - r) / r**2, -h, h, 6, expm1, lambda r, p: r + r*r*p),
 ("EXP_F64", lambda r: (exp(r) - 1 - r) / r**2, -h, h, 10, exp, lambda r, p: 1 + r + r*r*p),
 ("EXPM1_F64", lambda r: (exp(r) - 1 - r) / r**2, -h, h, 10, expm1, lambda r, p: r + r*r*p),
 ("EXP2", lambda r: (mpf(2)**r - 1) / r, -mpf(1)/2, mpf(1)/2, 6, lambda r: mpf(2)**r, lambda r, p: 1 + r*p),
 ("LOG", lambda f: (log1p(f) - f) / f**2, lo, hi, 11, log1p, lambda f, p: f + f*f*p),
 ("LOG2", lambda f: (log1p(f) - f) / f**2, lo, hi, 14, log1p, lambda f, p: f + f*f*p),
]
Z = [
 ("SIN", lambda z: (sin(sqrt(z)) - sqrt(z)) / sqrt(z)**3, q, 3, sin, lambda r, p: r + r**3*p),
 ("COS", lambda z: (cos(sqrt(z)) - 1 + z/2) / z**2, q, 3, cos, lambda r, p: 1 - r*r/2 + r**4*p),
 ("ATAN", lambda z: (atan(sqrt(z)) - sqrt(z)) / sqrt(z)**3, t, 6, atan, lambda r, p: r + r**3*p),
 ("SIN_F64", lambda z: (sin(sqrt(z)) - sqrt(z)) / sqrt(z)**3, q, 5, sin, lambda r, p: r + r**3*p),
 ("COS_F64", lambda z: (cos(sqrt(z)) - 1 + z/2) / z**2, q, 5, cos, lambda r, p: 1 - r*r/2 + r**4*p),
 ("TANH_F64", lambda z: (tanh(sqrt(z)) - sqrt(z)) / sqrt(z)**3, mpf('0.7')**2, 12, tanh, lambda r, p: r + r**3*p),
 # log(1 + f) in s = f / (2 + f)
 ("LOG_F64", lambda z: (2 * atanh(sqrt(z)) - 2 * sqrt(z)) / sqrt(z)**3, mpf('0.1716')**2, 6, lambda s: 2 * atanh(s),
  lambda s, p: 2 * s + s**3*p),
]
def show(name, poly, err):
    print(f"/* {name}: 2^{float(mp.log(err, 2)):.1f} */")
    print("    " + ", ".join(float(c).hex() for c in poly))
for name, g, a, b, n, f, whole in CASES:
    p = [mpf(float(c)) for c in fit(g, a, b, n)]
    show(name, p, worst(p, f, whole, a, b))
for name, g, b, n, f, whole in Z:
    p = [mpf(float(c)) for c in fit(g, mpf(0), b, n)]
    w = mpf(0)
    for i in range(1, 2001):
        r = sqrt(b) * i / 2000
        w = max(w, abs(whole(r, sum(c * (r*r) ** k for k, c in enumerate(p))) / f(r) - 1))
    show(name, p, w)
