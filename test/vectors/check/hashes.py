"""Keys, Maglev tables and strides: the rules are in hash.txt."""

import math

import arithmetic
from arithmetic import MASK


def rotated(x, by):
    return (x << by | x >> (32 - by)) & MASK


def murmur3(octets):
    """murmur3-32 of seed 0 over whole words."""
    h = 0
    for at in range(0, len(octets), 4):
        k = int.from_bytes(octets[at : at + 4], "little")
        k = rotated(k * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        h = (rotated(h ^ k, 13) * 5 + 0xE6546B64) & MASK
    h ^= len(octets)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def words(*numbers):
    return b"".join(n.to_bytes(4, "little") for n in numbers)


def key(*names):
    octets = b""
    for name in names:
        octets += words(len(name)) + name
        octets += bytes(-len(name) % 4)
    return murmur3(octets)


def rehash(of, k):
    return murmur3(words(of, k))


def prime(n):
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def columns(homes):
    power = 1
    while power < homes:
        power *= 2
    size = 64 * power + 1
    while not prime(size):
        size += 1
    return size


def maglev(homes):
    """The table of homes, each a name and a share: which home each column has."""
    total = sum(share for _, share in homes)
    if total == 0:
        return []
    size = columns(len(homes))
    unit = -(-total // len(homes))
    table = [None] * size
    left = size
    at, step, credit = [], [], []
    for name, _ in homes:
        h = key(name)
        at.append(arithmetic.index(rehash(h, 0), size))
        step.append(1 + arithmetic.index(rehash(h, 1), size - 1))
        credit.append(unit // 2)
    while True:
        for i, (_, share) in enumerate(homes):
            credit[i] += share
            while share > 0 and credit[i] >= unit:
                while table[at[i]] is not None:
                    at[i] = (at[i] + step[i]) % size
                table[at[i]] = i
                credit[i] -= unit
                left -= 1
                if left == 0:
                    return table


def stride(n):
    """The nearest to 0.618·n without a common divisor; compared in thousandths."""
    return min((k for k in range(1, n + 1) if math.gcd(k, n) == 1), key=lambda k: (abs(1000 * k - 618 * n), k))


def named(word):
    letter, star, times = word.partition("*")
    if word == '""':
        return b""
    return (letter * int(times) if star else word).encode()


def answer(command, arguments):
    if command == "key":
        return str(key(*map(named, arguments)))
    if command == "affinity":
        tenant, workload, on = map(named, arguments)
        return str(key(tenant, workload, on[:4096]))
    if command == "rehash":
        return str(rehash(*map(int, arguments)))
    if command == "columns":
        return str(columns(int(arguments[0])))
    if command == "stride":
        return str(stride(int(arguments[0])))
    if command == "many":
        n, *shares = map(int, arguments)
        table = maglev([(b"e%d" % i, shares[i % len(shares)]) for i in range(n)])
        return "%d %d" % (len(table), murmur3(words(*table)))
    if command == "maglev":
        table = maglev([(named(name), int(share)) for name, share in (a.split(":") for a in arguments)])
        return " ".join([str(len(table))] + ["".join(map(str, table))] * (table != []))
    raise ValueError("no such command: " + command)


def hashes(lines):
    """Lines of: command, arguments, "=", the answer."""
    for number, line in enumerate(lines, 1):
        question, equals, says = line.partition(" = ")
        if equals and not line.startswith("#"):
            command, *arguments = question.split()
            yield number, says.strip(), answer(command, arguments)
