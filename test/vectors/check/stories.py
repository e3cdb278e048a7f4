"""Scores of the stories, put together again from what explain and record print of candidates."""

import re

import arithmetic
import spreads


def p2c(c):
    return (c["load"] + 1) * c["time"] + c["price"]


def least_tokens(c):
    return c["tokens"] / c["rate"]


def least_loaded(c):
    return (c["load"] + 1) / c["share"]


def weighted_least_latency(c):
    return (c["load"] + 1) * max(1.0, c["time"] / 100_000) / c["share"]


def predictive(c):
    return c["time"] * c["temper"] * c["health"] + c["price"]


SCORES = {"p2c": p2c, "cost_tiered": p2c, "predictive": predictive, "least_loaded": least_loaded, "least_tokens": least_tokens, "weighted_least_latency": weighted_least_latency}


def scored(strategy, printed):
    """(what is said, what it is) of a candidate's score, if there is one."""
    if strategy in SCORES and "score" in printed:
        return printed["score"], arithmetic.shortest(score(strategy, printed))
    return None


def score(strategy, printed):
    """A candidate's score, or None: the strategy has none."""
    return SCORES[strategy](numbers(printed)) if strategy in SCORES else None


def numbers(printed):
    return {name: float(value) for name, value in printed.items() if re.fullmatch(r"[0-9.e+-]+", value)}


def scores(lines):
    """Every score of every explain and record, the choice of every record, and how draws spread."""
    strategies = {}
    for number, block in blocks(lines):
        questions, answers = parted(block)
        asked = follow(questions, "ok" in answers, strategies)
        first = number + len(block) - len(answers)
        for offset, strategy, printed in explained(answers, asked):
            found = scored(strategy, printed)
            if found:
                yield first + offset, *found
        for offset, says, is_ in recorded(answers):
            yield first + offset, says, is_
        for offset, says, is_ in spreads.spreads(questions, answers, strategies, score):
            yield first + offset, says, is_


def blocks(lines):
    """Blocks of lines with an empty line between them: (number of the first, lines)."""
    start = 0
    for end in [i for i, line in enumerate(lines) if not line] + [len(lines)]:
        if end > start:
            yield start + 1, lines[start:end]
        start = end + 1


def parted(block):
    if "----" not in block:
        return block, []
    at = block.index("----")
    return block[:at], block[at + 1 :]


def follow(questions, applied, strategies):
    """The strategy that each explain of a block is about. A workload counts once it is applied."""
    asked, declared = [], {}
    for line in questions:
        command, *words = line.split()
        if command == "workload":
            given = dict(word.split("=", 1) for word in words if "=" in word)
            declared[words[0]] = given.get("strategy", "p2c")
        elif command == "apply" and applied:
            strategies.update(declared)
        elif command == "explain":
            asked.append(strategies.get(words[0]))
    return asked


def explained(answers, asked):
    """The candidates that pass: (offset, strategy, what is printed of it), one group an explain."""
    group, before = -1, ""
    for offset, line in enumerate(answers):
        head = line.startswith(("tier ", "panic"))
        if head and not before.startswith(("tier ", "panic")) or line.startswith("fails: ") and before[:1] != " ":
            group += 1
        words = line.split()
        if line.startswith("  ") and words[2:3] == ["pass"]:
            yield offset, asked[group], dict(zip(words[3::2], words[4::2]))
        before = line


def recorded(answers):
    """What the records say: each candidate's score, and which one was chosen."""
    for offset, line in enumerate(answers):
        head = re.match(r"\w+ by (\w+)/\d+ seed (\d+) attempt \d+ revision \d+: (\S+)", line)
        if not head:
            continue
        strategy, seed, chosen = head.groups()
        found, names = [], []
        for at in (offset + 1, offset + 2):
            name, *words = answers[at].split() if at < len(answers) else [""]
            found.append(scored(strategy, dict(zip(words[::2], words[1::2]))))
            names.append(name)
        if None in found:
            continue  # it was not found by scores
        for at, (says, is_) in enumerate(found, offset + 1):
            yield at, says, is_
        (_, first), (_, second) = found
        bias = re.match(r"  bias (\S+)", answers[offset + 3]) if len(answers) > offset + 3 else None
        if bias:
            yield offset, chosen, names[float(bias[1]) * float(second) < float(first)]
        elif first == second:
            tie = int(answers[offset + 3].split()[1])
            yield offset + 3, str(tie), str(drawn(int(seed), tie))
            yield offset, chosen, names[tie >= 2**31]
        else:
            yield offset, chosen, names[float(second) < float(first)]


def drawn(seed, tie):
    """The tie, if it is among the first draws of the seed."""
    return next((u for u in (arithmetic.draw(seed, k) for k in range(64)) if u == tie), "no draw of its seed")
