"""Where picks and spreads go, when an explain just before them tells of all the endpoints."""

import re

import arithmetic

SILENT = {"record", "urgent", "events", "quotas", "endpoints", "health", "report"}


def spreads(questions, answers, strategies, score):
    """What is drawn from a tier in which all pass, or are drained, and of which the fleet knows nothing."""
    items, known = told(answers), {}
    for line in questions:
        command, *words = line.split()
        given = dict(word.split("=", 1) for word in words if "=" in word)
        request = [word for word in words[command == "pick" :] if not word.startswith(("n=", "seed="))]
        candidates = known.get(tuple(request))
        if command == "explain":
            found = next(items["explain"], None)
            known = {} if any(word.startswith(("session=", "prefix=")) for word in words) else {tuple(words): found}
        elif command == "spread":
            counted = counts(items["count"], int(given.get("n", 1000)))
            if candidates and "seed" in given:
                seeds = range(int(given["seed"]), int(given["seed"]) + int(given.get("n", 1000)))
                yield from compared(counted, [drawn(strategies[words[0]], candidates, seed, score) for seed in seeds])
            if "hold" in words:
                known = {}
        elif command in ("pick", "next"):
            offset, way, name = next(items["sent"], (0, "", ""))
            if candidates and "seed" in given and way == "to":
                is_ = drawn(strategies[words[1]], candidates, int(given["seed"]), score)
                yield from [(offset, name, is_)] if is_ else []
            known = {}
        elif command not in SILENT and not line.startswith("#"):
            known = {}


def told(answers):
    """What explains, spreads and picks answered, each in its order."""
    explains, numbers, sent, before = [], [], [], ""
    for offset, line in enumerate(answers):
        words = line.split()
        if line.startswith("tier "):
            if not before.startswith("tier "):
                explains.append(([], []))
            explains[-1][0].append(float(words[4]))
        elif line.startswith("  ") and before.startswith(("tier ", "  ")) and explains:
            explains[-1][1].append(line)
        elif re.fullmatch(r"\S+ \d+", line):
            numbers.append((offset, words[0], int(words[1])))
        elif words[1:2] in (["to"], ["waits"], ["fails:"]):
            sent.append((offset, words[1], words[2]))
        before = line
    return {"explain": iter([candidates(*found) for found in explains]), "count": numbers, "sent": iter(sent)}


def candidates(eligible, lines):
    """(name, what is printed) of those that are drawn, or None where that is not all there is to it. Those that
    are not eligible are in no table when they are more than a quarter."""
    found = []
    for _, name, reason, *words in map(str.split, lines):
        if reason == "pass" and "row" not in words:
            found.append((name, dict(zip(words[::2], words[1::2]))))
        elif reason != "drained" or eligible[0] >= 0.75:
            return None
    return found if len(eligible) == 1 else None


def counts(numbers, n):
    """The next lines that sum up to n, as far as they are one below the other in order of names."""
    found = []
    while numbers and n > 0:
        at, name, _ = numbers[0]
        if found and (at != found[-1][0] + 1 or name <= found[-1][1]):
            break
        found.append(numbers.pop(0))
        n -= found[-1][2]
    return found


def compared(counted, names):
    if None in names:
        return
    for offset, name, n in counted:
        yield offset, str(n), str(names.count(name))


def drawn(strategy, candidates, seed, score):
    """The name that a seed draws, or None: there is another rule. Draw 0 is the call's hash."""
    k = iter(range(1, 200))
    draw = lambda: arithmetic.draw(seed, next(k))  # noqa: E731
    printed = dict(candidates)
    if strategy == "cost_tiered":
        return None
    if strategy in ("weighted", "latency_weighted", "quota_aware"):
        return one(candidates, draw)
    scores = {name: score(strategy, each) for name, each in printed.items()}
    if None in scores.values():
        return None
    first, second = one(candidates, draw), one(candidates, draw)
    if first == second or scores[first] < scores[second]:
        return first
    if scores[second] < scores[first]:
        return second
    return first if draw() < 2**31 else second


def one(candidates, draw):
    """A draw by share, or by share × factor; with a top, taken as often as factor ÷ top."""
    shares = [float(c["share"]) * (1 if "top" in c else float(c.get("factor", 1))) for _, c in candidates]
    table = alias(tuple(shares))
    while True:
        at, flip = draw(), draw()
        own, coin, other = table[arithmetic.index(at, len(table))]
        name, printed = candidates[own if flip < coin else other]
        part = float(printed["factor"]) / float(printed["top"]) if "top" in printed else 1
        if part >= 1 or draw() < part * 2**32:
            return name


TABLES = {}


def alias(shares):
    if shares not in TABLES:
        TABLES[shares] = arithmetic.alias(list(shares))
    return TABLES[shares]
