"""Decays, draws, indices and alias tables. Each check yields (line, what it says, what it is)."""

import decimal

MASK = 2**32 - 1


def power_table():
    """T[i] = 2^(-i/256), computed to 60 digits and rounded to binary64 once."""
    with decimal.localcontext() as context:
        context.prec = 60
        return [float(decimal.Decimal(2) ** (decimal.Decimal(-i) / 256)) for i in range(256)]


TABLE = power_table()


def decay(age, half):
    if age <= 0:
        return 1.0
    if half <= 0:
        return 0.0
    q = 256 * age // half
    if q >= 10240:
        return 0.0
    return TABLE[q % 256] * 2.0 ** -(q // 256)


def decays(lines):
    """A table of T, then cases: age, half, decay; numbers to 17 digits."""
    part = ""
    for number, line in enumerate(lines, 1):
        if line == "table" or line.startswith("cases"):
            part = line.split(":")[0]
        elif part and line:
            *arguments, says = line.split()
            value = TABLE[int(arguments[0])] if part == "table" else decay(*map(int, arguments))
            yield number, says, "%.17g" % value


def lowbias32(x):
    x ^= x >> 16
    x = x * 0x7FEB352D & MASK
    x ^= x >> 15
    x = x * 0x846CA68B & MASK
    return x ^ x >> 16


def draw(seed, k):
    return lowbias32((seed + k * 0x9E3779B9) & MASK)


def index(u, n):
    return u * n // 2**32


def alias(shares):
    """Vose's table: (own index, coin, other index) of every column."""
    indices = [i for i, share in enumerate(shares) if share > 0]
    total = 0.0
    for i in indices:
        total += shares[i]
    part = {i: shares[i] * float(len(indices)) / total for i in indices}
    columns = {i: (i, MASK, i) for i in indices}  # what is left over keeps its own
    small = [i for i in indices if part[i] < 1]
    large = [i for i in indices if part[i] >= 1]
    while small and large:
        s, big = small.pop(), large.pop()
        columns[s] = (s, min(int(part[s] * 2.0**32), MASK), big)
        part[big] = (part[big] + part[s]) - 1
        (small if part[big] < 1 else large).append(big)
    return [columns[i] for i in indices]


def answer(name, *arguments):
    if name == "draw":
        return str(draw(*map(int, arguments)))
    if name == "index":
        return str(index(*map(int, arguments)))
    if name == "alias":
        return " ".join("%d:%d:%d" % column for column in alias([float(a) for a in arguments]))
    raise ValueError("no such table: " + name)


def draws(lines):
    """Lines of: name, arguments, "=", the answer."""
    for number, line in enumerate(lines, 1):
        question, equals, says = line.partition("=")
        if equals and not line.startswith("#"):
            yield number, says.strip(), answer(*question.split())


def shortest(x):
    """The shortest decimal that reads back as x, which is not below 0, as Go writes it: with an
    exponent from 7 digits before the point on, and below 0.0001."""
    mantissa, _, exponent = repr(x).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if not -4 <= point - 1 < 6:
        return "%s%se%+03d" % (digits[0], "." * (len(digits) > 1) + digits[1:], point - 1)
    if point <= 0:
        return "0." + "0" * -point + digits
    return (digits[:point].ljust(point, "0") + "." + digits[point:]).rstrip(".")
