#!/usr/bin/env python3
"""Fits the polynomials of the math library and prints coefficients.hpp.

Usage: fit_coefficients.py > coefficients.hpp   (needs mpmath; gmpy2 makes it faster; minutes)

Every fit is a weighted minimax problem: find P of the given degree that minimises
max |W(v) * (F(v) - P(v))| over [lo, hi]. W turns the error of P into the relative error of the
function that P is a part of, so the number printed to stderr is that relative error, as a power of two.
Leading coefficients are rounded to the working precision one at a time and the rest is fitted again,
because their rounding would otherwise cost more than the fit itself.
"""
import struct
import sys
from dataclasses import dataclass
from typing import Callable

from mpmath import mp, mpf, lu_solve, matrix

mp.dps = 60
GRID = 800


@dataclass
class Fit:
    name: str
    target: Callable
    weight: Callable
    low: mpf
    high: mpf
    terms: dict  # "float" -> number of coefficients, "double" -> number of coefficients
    comment: str
    split_first: bool = False  # what rounding the first coefficient loses is a constant of its own


def round_to(value, kind):
    """Nearest float or double, as an mpf."""
    if kind == "double":
        return mpf(float(value))
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def chebyshev_grid(low, high, count):
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / count) for i in range(count)]


def minimax(points, values, weights, first_power, terms):
    """Coefficients of v^first_power.. that minimise the weighted error on the points (Remez exchange)."""
    count = terms + 1
    last = len(points) - 1
    reference = [round(last * i / (count - 1)) for i in range(count)]  # the points are a Chebyshev grid already
    for _ in range(40):
        a, b = matrix(count, count), matrix(count, 1)
        for row, i in enumerate(reference):
            power = points[i] ** first_power
            for column in range(terms):
                a[row, column] = power
                power *= points[i]
            a[row, terms] = (1 if row % 2 == 0 else -1) / weights[i]
            b[row] = values[i]
        solution = lu_solve(a, b)
        coefficients = [solution[i] for i in range(terms)]
        errors = weighted_errors(points, values, weights, first_power, coefficients)
        new_reference = alternation(errors, count)
        if new_reference is None or new_reference == reference:
            break
        reference = new_reference
    return coefficients, max(abs(e) for e in errors)


def weighted_errors(points, values, weights, first_power, coefficients):
    errors = []
    for v, f, w in zip(points, values, weights):
        p = mpf(0)
        for c in reversed(coefficients):
            p = p * v + c
        errors.append((f - p * v ** first_power) * w)
    return errors


def alternation(errors, count):
    """Indices of the extremes of runs of equal sign, cut down to count from the ends."""
    runs = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs if len(runs) == count else None


def fit(spec, kind):
    terms = spec.terms[kind]
    points = [v for v in chebyshev_grid(spec.low, spec.high, GRID) if abs(v) > mpf(10) ** -9]
    values = [spec.target(v) for v in points]
    weights = [abs(spec.weight(v)) for v in points]
    fixed = []
    # Without its lowest powers the basis is a Haar system, which the exchange needs, only on one side of zero.
    steps = 0 if spec.low < 0 else terms - 1 if kind == "float" else 4
    for step in range(steps + 1):
        rest = list(values)
        for k, c in enumerate(fixed):
            rest = [r - c * v ** k for r, v in zip(rest, points)]
        coefficients, _ = minimax(points, rest, weights, step, terms - step)
        if step < steps:
            fixed.append(round_to(coefficients[0], kind))
    result = fixed + [round_to(c, kind) for c in coefficients]
    lost = coefficients[0] - result[0] if spec.split_first else None
    worst = max(abs(e) for e in weighted_errors(points, values, weights, 0, result))
    print(f"{spec.name:12} {kind:7} {terms:2} terms  2^{float(mp.log(worst, 2)):.2f}", file=sys.stderr)
    return result, lost


def log_tail(first):
    """F with log2((1+s)/(1-s)) / s = sum of 2/((2k+1) ln 2) u^k; the terms from k = first on, over u^first."""
    return lambda u: mp.nsum(lambda k: 2 / ((2 * k + 1) * mp.ln2) * u ** (k - first), [first, first + 60])


def specs():
    half_ln2 = mp.ln2 / 2 * mpf("1.0002")
    quarter_pi = mp.pi / 4 * mpf("1.0005")
    third = mpf("0.33340")
    sqrt_limit = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.0002")
    log2_of = lambda u: mp.log((1 + mp.sqrt(u)) / (1 - mp.sqrt(u)), 2) / mp.sqrt(u)
    root = mp.sqrt
    erfcx = lambda a: mp.erfc(a) * mp.exp(a * a)

    def arg(k):  # inverse of t = (a - k) / (a + k)
        return lambda t: k * (1 + t) / (1 - t)

    def mapped(a, k):
        return (mpf(a) - k) / (mpf(a) + k)

    yield Fit("kExp", lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -half_ln2, half_ln2,
              {"float": 5, "double": 10}, "exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2")
    yield Fit("kExpm1", lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r), -half_ln2, half_ln2,
              {"float": 6, "double": 11}, "expm1(r) = r + r^2 P(r), |r| <= ln(2)/2")
    yield Fit("kExp2", lambda r: (mpf(2) ** r - 1) / r, lambda r: r / mpf(2) ** r, mpf("-0.5002"), mpf("0.5002"),
              {"float": 7, "double": 12}, "2^r = 1 + r (P(r) + kExp2Low), |r| <= 1/2", split_first=True)
    yield Fit("kLogF", lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / mp.log1p(f), -third, third,
              {"float": 10}, "log(1+f) = f - f^2/2 + f^3 P(f), |f| <= 1/3")
    yield Fit("kLogS", lambda u: (mp.ln2 * log2_of(u) - 2) / u, lambda u: u / 2, mpf(0), sqrt_limit**2,
              {"double": 7}, "log((1+s)/(1-s)) = 2s + s u P(u), u = s^2")
    yield Fit("kLog2Tail", log_tail(2), lambda u: u**2 * mp.ln2 / 2, mpf(0), sqrt_limit**2,
              {"float": 3}, "log2((1+s)/(1-s)) = s (c0 + c1 u + u^2 P(u)), u = s^2")
    yield Fit("kLog2Tail", log_tail(3), lambda u: u**3 * mp.ln2 / 2, mpf(0), sqrt_limit**2,
              {"double": 7}, "log2((1+s)/(1-s)) = s (c0 + c1 u + c2 u^2 + u^3 P(u)), u = s^2")
    yield Fit("kTanh", lambda u: (mp.tanh(root(u)) / root(u) - 1) / u, lambda u: u * root(u) / mp.tanh(root(u)),
              mpf(0), mpf(1), {"float": 7, "double": 16}, "tanh(x) = x + x u P(u), u = x^2 <= 1")
    yield Fit("kSinh", lambda u: (mp.sinh(root(u)) / root(u) - 1) / u, lambda u: u * root(u) / mp.sinh(root(u)),
              mpf(0), mpf(1), {"float": 4, "double": 8}, "sinh(x) = x + x u P(u), u = x^2 <= 1")
    yield Fit("kSin", lambda u: (mp.sin(root(u)) / root(u) - 1) / u, lambda u: u * root(u) / mp.sin(root(u)),
              mpf(0), quarter_pi**2, {"float": 3, "double": 6}, "sin(x) = x + x u P(u), u = x^2, |x| <= pi/4")
    yield Fit("kCos", lambda u: (mp.cos(root(u)) - 1 + u / 2) / u**2, lambda u: u**2 / mp.cos(root(u)),
              mpf(0), quarter_pi**2, {"float": 3, "double": 6}, "cos(x) = 1 - u/2 + u^2 P(u), u = x^2, |x| <= pi/4")
    yield Fit("kTan", lambda u: (mp.tan(root(u)) / root(u) - 1) / u, lambda u: u * root(u) / mp.tan(root(u)),
              mpf(0), quarter_pi**2, {"float": 7, "double": 15}, "tan(x) = x + x u P(u), u = x^2, |x| <= pi/4")
    yield Fit("kErf", lambda u: mp.erf(root(u)) / root(u) - 1, lambda u: root(u) / mp.erf(root(u)),
              mpf(0), mpf(1), {"float": 7, "double": 13}, "erf(x) = x + x P(u), u = x^2 <= 1")
    yield Fit("kLogErfc", lambda a: mp.log(mp.erfc(a)), lambda a: mp.erfc(a) / mp.erf(a), mpf(1), mpf(4),
              {"float": 7}, "log(erfc(a)) = P(a), 1 <= a <= 4")
    yield Fit("kErfcx", lambda t: (1 + 2 * arg(2)(t)) * erfcx(arg(2)(t)), lambda t: 1 / ((1 + 2 * arg(2)(t)) * erfcx(arg(2)(t))),
              mapped("0.49", 2), mapped("10.2", 2), {"float": 12}, "erfc(a) exp(a^2) (1 + 2a) = P(t) + kErfcxLow, t = (a-2)/(a+2)", split_first=True)
    yield Fit("kErfcx", lambda t: (1 + 2 * arg(4)(t)) * erfcx(arg(4)(t)), lambda t: 1 / ((1 + 2 * arg(4)(t)) * erfcx(arg(4)(t))),
              mapped("0.49", 4), mapped("27.5", 4), {"double": 24}, "erfc(a) exp(a^2) (1 + 2a) = P(t) + kErfcxLow, t = (a-4)/(a+4)", split_first=True)
    yield Fit("kAsin", lambda u: (mp.asin(root(u)) / root(u) - 1) / u, lambda u: u * root(u) / mp.asin(root(u)),
              mpf(0), mpf("0.2502"), {"float": 5, "double": 13}, "asin(x) = x + x u P(u), u = x^2 <= 1/4")
    yield Fit("kAtan", lambda u: (mp.atan(root(u)) / root(u) - 1) / u, lambda u: u * root(u) / mp.atan(root(u)),
              mpf(0), mpf(1), {"float": 9, "double": 21}, "atan(x) = x + x u P(u), u = x^2 <= 1")


def print_split(name, value, kind):
    high = round_to(value, kind)
    low = round_to(value - high, kind)
    suffix = "f" if kind == "float" else ""
    print(f"  static constexpr {kind} {name}High = {float(high).hex()}{suffix};")
    print(f"  static constexpr {kind} {name}Low = {float(low).hex()}{suffix};")


def main():
    print("// Written by fit_coefficients.py. Minimax coefficients, lowest power first.")
    print("// clang-format off\n#pragma once\n\nnamespace fusewright::math_source {\n")
    print("template <class T>\nstruct Coefficients;\n")
    for kind in ("float", "double"):
        suffix = "f" if kind == "float" else ""
        print(f"template <>\nstruct Coefficients<{kind}> {{")
        for spec in specs():
            if kind not in spec.terms:
                continue
            print(f"  // {spec.comment}")
            coefficients, lost = fit(spec, kind)
            values = ", ".join(float(c).hex() + suffix for c in coefficients)
            print(f"  static constexpr {kind} {spec.name}[] = {{{values}}};")
            if lost is not None:
                print(f"  static constexpr {kind} {spec.name}Low = {float(round_to(lost, kind)).hex()}{suffix};")
        for k in range(3 if kind == "double" else 2):
            print(f"  // 2 / ({2 * k + 1} ln 2)")
            print_split(f"kLog2C{k}", 2 / ((2 * k + 1) * mp.ln2), kind)
        print("};\n")
    print("}  // namespace fusewright::math_source")


if __name__ == "__main__":
    main()
