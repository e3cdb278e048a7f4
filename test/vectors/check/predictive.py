"""The arithmetic of the strategy predictive, from the rules at the top of predictive.txt."""

import math

import arithmetic


def span(read, pace, slots, uncached, answer, typical, load, pending):
    prompt, output = (pending + uncached) * read, answer * pace
    if slots == 0:
        return prompt + output
    output = output * (1 + 0.64 * load / slots)
    over = 3 * max(0.0, load + 1 - 0.8 * slots) / slots
    return prompt + output + over * pace * typical


def mix(own, know, others, speed, usual):
    return own + know * others + (1 - know) * speed * usual


def eighths(x, k):
    if k == 8:
        return x
    y, root = 1.0, x
    for bit in (4, 2, 1):
        root = math.sqrt(root)
        if int(k) & bit:
            y = y * root
    return y


def fitness(slow, usual, ok, n):
    r = (ok + 5) / (n + 5)
    return min(max(math.sqrt(slow / usual), 0.5), 3.0) / max(0.02, r * r * r)


TABLES = {"span": span, "mix": mix, "eighths": eighths, "fitness": fitness}


def tables(lines):
    """Lines of: name, arguments, "=", the answer."""
    for number, line in enumerate(lines, 1):
        question, equals, says = line.partition(" = ")
        name, *arguments = question.split() or [""]
        if equals and name in TABLES:
            yield number, says, arithmetic.shortest(TABLES[name](*map(float, arguments)))
