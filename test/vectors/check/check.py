"""Computes the vectors a second time, from the rules of their formats alone, and compares.

    python3 check.py [folder of the vectors [part ...]]

It is written to be obviously right, not fast, shares no code with any library, and uses nothing
but Python's standard library. Every number must be the same text, so the same bits. It tells each
line that says something else, and fails when there is one, or when a part has nothing to compare.
"""

import pathlib
import sys

sys.dont_write_bytecode = True

import arithmetic  # noqa: E402
import hashes  # noqa: E402
import limits  # noqa: E402
import predictive  # noqa: E402
import stories  # noqa: E402

PARTS = {
    "decay": (arithmetic.decays, "decay.txt"),
    "draw": (arithmetic.draws, "draw.txt"),
    "hash": (hashes.hashes, "hash.txt"),
    "limit": (limits.limits, "limit.txt"),
    "predictive": (predictive.tables, "predictive.txt"),
    "stories": (stories.scores, "stories/*.txt"),
}


def agrees(folder, part):
    check, pattern = PARTS[part]
    compared = faults = 0
    for file in sorted(folder.glob(pattern)):
        for line, says, is_ in check(file.read_text(encoding="utf-8").splitlines()):
            compared += 1
            if says != is_:
                faults += 1
                print(f"{file.relative_to(folder)}:{line}: says {says}, is {is_}")
    print(f"{part}: {compared} compared, {faults} differ")
    return compared > 0 and faults == 0


def main(folder=pathlib.Path(__file__).parent.parent, *parts):
    return all([agrees(pathlib.Path(folder), part) for part in parts or PARTS])


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
