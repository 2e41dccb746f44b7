# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Kubernetes quantities (``resource.Quantity`` of k8s.io/apimachinery): read as upstream reads them, exact values,
three ways to print them, and the float that upstream sorts by.

The value is a whole number of nano units, because the upstream type rounds everything finer up (away from zero) to
nano. Binary forms are capped at 2^63-1 where upstream leaves its 64-bit path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering

DECIMAL_SI = "DecimalSI"
DECIMAL_EXPONENT = "DecimalExponent"
BINARY_SI = "BinarySI"

NANO = 10**9
MAX_INT64 = 2**63 - 1
# Upstream wraps exponents at 32 bits; numbers of that size only serve to exhaust memory, so they are refused. So are
# as many digits: Python prints no number of more than 4,300.
MAX_EXPONENT = MAX_DIGITS = 999

DECIMAL_SUFFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
SUFFIX_OF_EXPONENT = {exponent: suffix for suffix, exponent in DECIMAL_SUFFIXES.items()}

_NUMBER = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?(.*)", re.DOTALL)
_WITH_DIGITS = re.compile(r"[+-]?\.?[0-9]")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,18})")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An amount. Equality, order and hash follow the value alone, so ``1`` equals ``1000m``.

    ``nanos`` is the exact value in 10^-9; ``format`` is one of the three formats above; ``mantissa`` x 10^``scale`` is
    the value as ``approximate`` computes it; ``written`` is the text that is printed back, or empty for the canonical
    form.
    """

    nanos: int
    format: str
    mantissa: int
    scale: int
    written: str = ""

    @classmethod
    def of_nanos(cls, nanos: int, format: str = DECIMAL_SI) -> Quantity:
        """The amount of so many 10^-9, printed in the canonical form of ``format``, one of the three formats."""
        return cls(nanos, format, nanos, -9)

    @property
    def canonical(self) -> str:
        """The one text for this value in its format; BinarySI below 1024 in size or with a fraction is printed as
        DecimalSI."""
        if self.nanos == 0:
            return "0"
        if self.format == BINARY_SI and self.nanos % NANO == 0 and abs(self.nanos) >= 1024 * NANO:
            return _binary_text(self.nanos // NANO)
        return _decimal_text(self.nanos, exponent_form=self.format == DECIMAL_EXPONENT)

    @property
    def as_text(self) -> str:
        """The text to print: the input where it was kept, else the canonical form."""
        return self.written or self.canonical

    @property
    def value(self) -> str:
        """The exact value as text, a plain decimal without suffix or exponent, such as ``1536`` or ``0.1``."""
        whole, fraction = divmod(abs(self.nanos), NANO)
        text = f"{whole}.{fraction:09d}".rstrip("0").rstrip(".")
        return f"-{text}" if self.nanos < 0 else text

    @property
    def approximate(self) -> float:
        """The float that upstream sorts by (``AsApproximateFloat64``), infinite for one that is too large: other
        spellings of a quantity may differ in the last digit."""
        if not self.nanos:
            return 0.0
        try:
            return float(self.mantissa) * _power_of_ten(self.scale) if self.scale else float(self.mantissa)
        except OverflowError:
            return float("inf") if self.nanos > 0 else float("-inf")

    def __str__(self) -> str:
        return self.as_text

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the format of the left side; a left side of zero takes the other's format."""
        return Quantity.of_nanos(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference, in the format of the left side; a left side of zero takes the other's format."""
        return Quantity.of_nanos(self.nanos - other.nanos, self.format if self.nanos else other.format)


@lru_cache(maxsize=16384)
def parse_quantity(text: str) -> Quantity:
    """Reads one quantity as ``resource.ParseQuantity`` does; ValueError where that refuses it, and for more than 999
    digits or an exponent beyond 999."""
    found = _NUMBER.match(text)
    if not text or found is None:
        raise ValueError(f"{text!r:.60} is not a quantity")
    sign, whole, fraction, suffix = found.groups("")
    if len(whole) + len(fraction) > MAX_DIGITS:
        raise ValueError(f"{text!r:.60} is not a quantity: it has more than {MAX_DIGITS} digits")
    exponent = DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return _decimal(text, sign, whole or "0", fraction, exponent, DECIMAL_SI)
    exponent = BINARY_SUFFIXES.get(suffix)
    if exponent is not None:
        return _binary(text, sign, whole or "0", fraction, exponent)
    written = _EXPONENT.fullmatch(suffix)
    if written is None:
        raise ValueError(
            f"{text!r:.60} is not a quantity: a number with an optional suffix such as m, k, Mi or e3 is wanted"
        )
    exponent = int(written[1])
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"{text!r:.60} is not a quantity: the exponent is out of range")
    return _decimal(text, sign, whole or "0", fraction, exponent, DECIMAL_EXPONENT)


def read_quantity(value: object) -> Quantity:
    """A quantity as it stands in a manifest: a text, spaces around it ignored, or a number. ValueError for anything
    else, true and NaN too, and as of ``parse_quantity``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return parse_quantity(str(value))
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is not a quantity: a text or a number is wanted")
    return parse_quantity(value.strip(" "))


def approximate(text: str) -> float:
    """The float that property sorters work with; it may depend on the spelling (``0.3`` is not ``300m``), and be
    infinite. ValueError as of ``parse_quantity``."""
    return parse_quantity(text).approximate


def _decimal(text: str, sign: str, whole: str, fraction: str, exponent: int, format: str) -> Quantity:
    """The quantity of ``sign whole.fraction`` x 10^``exponent``, rounded to nano away from zero; ``text`` is kept for
    printing where upstream keeps it."""
    digits = whole + fraction
    mantissa = int(digits)
    scale = exponent - len(fraction)
    if len(digits) <= 18 and scale >= -9:
        if sign == "-":
            mantissa = -mantissa
        # Upstream keeps the input where a quick look finds it canonical enough.
        kept = scale % 3 == 0 and digits[0] != "0" and digits[-3:] != "000"
        return Quantity(mantissa * 10 ** (scale + 9), format, mantissa, scale, text if kept else "")
    _check_digits(text)
    return Quantity.of_nanos(_signed(sign, _rounded_up(mantissa, scale + 9)), format)


def _binary(text: str, sign: str, whole: str, fraction: str, exponent: int) -> Quantity:
    """The quantity of ``sign whole.fraction`` x 2^``exponent``, rounded to nano away from zero, its size capped at
    2^63-1; between 0 and 1 it prints as DecimalSI. ``text`` is kept for printing where upstream keeps it."""
    # The limit is upstream's estimate of how many decimal digits fit beside 2^exponent in 64 bits.
    if not fraction and len(whole) <= 14 - exponent * 3 // 10:
        number = int(whole)
        amount = number << exponent
        if amount <= MAX_INT64:
            if sign == "-":
                amount = -amount
            return Quantity(amount * NANO, BINARY_SI, amount, 0, text if number & 7 else "")
    _check_digits(text)
    nanos = _rounded_up(int(whole + fraction) << exponent, 9 - len(fraction))
    if nanos > MAX_INT64 * NANO:
        capped = -MAX_INT64 if sign == "-" else MAX_INT64
        return Quantity(capped * NANO, BINARY_SI, capped, 0)
    return Quantity.of_nanos(_signed(sign, nanos), DECIMAL_SI if 0 < nanos < NANO else BINARY_SI)


def _check_digits(text: str) -> None:
    """ValueError for a suffix alone, such as ``Pi``, outside of upstream's 64-bit path; within it, ``Ki`` is 0."""
    if not _WITH_DIGITS.match(text):
        raise ValueError(f"{text!r:.60} is not a quantity: it has no digits")


def _signed(sign: str, amount: int) -> int:
    """The amount, negative if ``sign`` is ``-``."""
    return -amount if sign == "-" else amount


def _rounded_up(amount: int, shift: int) -> int:
    """``amount`` x 10^``shift``, rounded up to a whole number; ``amount`` is not negative."""
    if shift >= 0:
        return amount * int(10**shift)
    return -(-amount // int(10**-shift))


def _binary_text(amount: int) -> str:
    """A whole number with the largest suffix of ``Ki`` to ``Ei`` that leaves it whole, or with none."""
    steps = 0
    while steps < len(BINARY_SUFFIXES) and amount % 1024 == 0:
        amount //= 1024
        steps += 1
    return f"{amount}{('', *BINARY_SUFFIXES)[steps]}"


def _decimal_text(nanos: int, *, exponent_form: bool) -> str:
    """So many 10^-9, which are not 0, as a whole number with the largest suffix up to E, or the exponent, a multiple of
    three, that leaves it whole."""
    exponent = -9
    # Upstream prints no suffix above E, and so another value; ours stays at E.
    while nanos % 1000 == 0 and (exponent_form or exponent < 18):
        nanos //= 1000
        exponent += 3
    if not exponent_form:
        return f"{nanos}{SUFFIX_OF_EXPONENT[exponent]}"
    return f"{nanos}e{exponent}" if exponent else str(nanos)


def _power_of_ten(exponent: int) -> float:
    """10^exponent with the rounding of Go's ``math.Pow10``: two table entries multiplied, or divided."""
    steps, rest = divmod(abs(exponent), 32)
    if exponent < 0:
        return float(f"1e-{32 * steps}") / float(f"1e{rest}")
    return float(f"1e{32 * steps}") * float(f"1e{rest}")
