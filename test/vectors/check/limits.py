"""Limits: buckets, windows, cooldowns and leases. The rules are in limit.txt."""

import arithmetic

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
FAR = 2**62
NAMES = ["requests", "tokens", "input", "output", "daily"]
SMALL = {"requests": 1, "tokens": 1000, "input": 1000, "output": 1000, "daily": 1}  # a lease that is a grant, by the second


def cost(n, window, limit):
    if n <= 0:
        return 0
    return min(-(-n * window // limit), FAR) if limit > 0 else FAR


def amounts(tokens_in, tokens_out):
    return {"requests": 1, "tokens": tokens_in + tokens_out, "input": tokens_in, "output": tokens_out, "daily": 1}


class Lease:
    def __init__(self, rate, safe, start, until, grant):
        self.rate, self.safe, self.start, self.until, self.grant = rate, safe, start, until, grant

    def gives(self, t, cut, hold):
        """What the process may take of it in a window."""
        if t < self.until:
            return self.rate
        if cut is None or cut > self.until:
            return self.safe
        age = t - cut - 600 * SECOND
        if hold or age <= 0:
            return self.rate
        if age >= 600 * SECOND:
            return self.safe
        return self.rate - age * max(self.rate - self.safe, 0) // (600 * SECOND)


class Dimension:
    def __init__(self, name, t):
        self.name, self.window = name, DAY if name == "daily" else MINUTE
        self.tat, self.floor, self.reserved = t, t, 0
        self.lease = None
        self.edge = None  # of its window; then start and used count
        self.start = self.used = 0

    def roll(self, t):
        while self.edge is not None and t >= self.edge:
            self.start, self.edge, self.used = self.edge, self.edge + self.window, 0

    def refund(self, by):
        if by > 0:
            self.tat = min(self.tat + by, FAR)
        else:
            self.tat = max(self.tat + by, min(self.tat, self.floor))

    def told(self):
        state = "%s:%d/%d/%d" % (self.name, self.tat, self.floor, self.reserved)
        return state if self.edge is None else state + "/%d/%d/%d" % (self.used, self.start, self.edge)


class Quota:
    def __init__(self):
        self.dimensions, self.cut = {}, None
        self.until, self.ramped, self.next, self.cooled, self.streak = 0, 0, 0, False, 0

    def declare(self, t, words):
        self.fixed, self.hold = "fixed" in words, "hold" in words
        limits = dict(word.split(":") for word in words if ":" in word)
        was, self.dimensions = self.dimensions, {}
        for name in NAMES:
            if name in limits:
                d = was.get(name) or Dimension(name, t)
                d.limit = int(limits[name])
                d.edge = d.edge if self.fixed else None
                self.dimensions[name] = d

    def rate(self, t, d):
        """The limit that holds, and how much of it, as time, a bucket holds."""
        if d.lease:
            return min(d.limit, d.lease.gives(t, self.cut, self.hold)), SECOND
        return d.limit, d.window // 20

    def granted(self, t, d):
        return d.lease if d.lease and d.lease.grant and t < d.lease.until else None

    def free_at(self, t, d, n, percent=100):
        """When n of a dimension may be taken, as things stand; of a part of what there is."""
        limit, burst = self.rate(t, d)
        if limit == 0:
            return None
        needs = cost(n, d.window, limit)
        if self.granted(t, d):
            return t if d.tat + needs <= d.lease.until else d.lease.until
        if d.edge is not None:
            d.roll(t)
            return t if d.used == 0 or d.used + n <= limit - limit * (100 - percent) // 100 else d.edge
        return max(t, min(d.tat, d.tat + needs - burst * percent // 100))

    def opens(self, t):
        """When a cooldown and its ramp let the next request in."""
        return max(t, self.next) if self.cooled and t < self.ramped else t

    def refuses(self, t, n):
        if self.opens(t) > t:
            return "cooling"
        for d in self.dimensions.values():
            at = self.free_at(t, d, n[d.name])
            if at is None or at > t:
                return "requests" if d.name in ("requests", "daily") else "tokens"
        return None

    def take(self, t, n):
        if self.cooled and t >= self.ramped:
            self.cooled = False
        elif self.cooled:
            start = max(t, self.until)
            self.next = start + (self.ramped - start) // 8
        for d in self.dimensions.values():
            d.reserved += n[d.name]
            if d.edge is not None:
                d.roll(t)
                d.used += n[d.name]
            needs = cost(n[d.name], d.window, self.rate(t, d)[0])
            start = min(d.lease.start, d.lease.until - needs) if self.granted(t, d) else t
            d.tat = min(max(d.tat, start) + needs, FAR)

    def settle(self, t, at, reserved, used):
        for d in self.dimensions.values():
            was, now = reserved[d.name], used[d.name]
            d.reserved = max(d.reserved - was, 0)
            if d.edge is not None and at >= d.start:
                d.used = max(d.used + now - was, 0)
            limit = self.rate(t, d)[0]
            d.refund(cost(now, d.window, limit) - cost(was, d.window, limit))

    def cool(self, t, draw, after):
        if self.until <= t:
            self.streak += 1
        self.cool_for(t, draw, after if after > 0 else min(SECOND * 2 ** min(self.streak - 1, 6), 60 * SECOND))

    def cool_for(self, t, draw, after):
        after = min(after, DAY)
        spread = max(SECOND, after // 10)
        until = t + after + arithmetic.index(draw, spread)
        if until > self.until:
            self.until, self.ramped, self.next, self.cooled = until, until + spread, until, True

    def headers(self, t, draw, at, told):
        for d in self.dimensions.values():
            remaining, reset = told.get(d.name + ".remaining"), told.get(d.name + ".reset")
            if reset is not None:
                reset = min(max(reset, 0), d.window)
                if self.fixed and reset > 0:
                    self.learn(t, d, t + reset)
            if remaining is None:
                continue
            self.hear(t, d, max(remaining, 0), t - at < 2 * SECOND and d.lease is None)
            if remaining <= 0 and reset is not None:
                d.tat, d.floor = max(d.tat, t + reset), max(d.floor, t + reset)
                if self.fixed:
                    self.cool_for(t, draw, reset)

    def learn(self, t, d, edge):
        d.roll(t)
        if d.edge is None or abs(edge - d.edge) > d.window // 2:
            d.used, d.start = d.reserved, edge - d.window
        d.edge = edge

    def hear(self, t, d, remaining, lowers):
        limit, burst = self.rate(t, d)
        if d.edge is not None:
            used = max(limit - remaining, 0)
            if lowers:
                d.used = min(d.used, used + d.reserved)
            d.used = max(d.used, used)
            return
        floor = t + burst - min(cost(remaining, d.window, limit), d.window)
        if lowers:
            d.tat, d.floor = min(d.tat, floor + cost(d.reserved, d.window, limit)), floor
        d.tat, d.floor = max(d.tat, floor), max(d.floor, floor)

    def leased(self, t, name, rate, safe, start, until):
        d = self.dimensions.get(name)
        if d is None or until <= t:
            return
        was = d.lease
        grant = rate * SECOND // d.window < SMALL[name]
        d.lease = Lease(rate, safe, max(start, t - d.window), until, grant)
        if was is None or start > was.until or rate > was.rate:
            empty = t if grant else t + SECOND
            d.lease.start = max(t, d.lease.start) if grant else d.lease.start
            d.tat, d.floor = max(d.tat, empty), max(d.floor, empty)

    def come_back(self, t):
        for d in self.dimensions.values():
            if self.cut is not None and d.lease and d.lease.until >= self.cut:
                d.lease.rate = d.lease.gives(t, self.cut, self.hold)
                d.lease.until = max(d.lease.until, t + 10 * SECOND)
        self.cut = None

    def remaining(self, t, d):
        limit, burst = self.rate(t, d)
        if self.granted(t, d):
            return max(d.lease.until - max(d.tat, d.lease.start), 0) * limit // d.window
        if d.edge is not None:
            d.roll(t)
            return max(limit - d.used, 0)
        return max(burst - max(d.tat - t, 0), 0) * limit // d.window

    def reset(self, t, d):
        if d.edge is not None:
            d.roll(t)
            return d.edge - t
        return max(d.tat - t, 0)

    def told(self):
        parts = [d.told() for d in self.dimensions.values()]
        if self.cooled:
            parts.append("cooled:%d/%d/%d" % (self.until, self.ramped, self.next))
        return " ".join(parts) or "nothing"


def asked(q, t, command, arguments):
    """The answer to a question that moves nothing."""
    if command == "until":
        sizes = list(map(int, arguments))
        n, percent = amounts(*sizes[:2]), sizes[2:]
        times = [q.opens(t)] + [q.free_at(t, d, n[d.name], *percent) for d in q.dimensions.values()]
        return "never" if None in times else str(max(times))
    d = q.dimensions.get(arguments[0])
    if d is None:
        return {"limit": "-1", "remaining": "never", "reset": "0"}[command]
    return str({"limit": lambda: q.rate(t, d)[0], "remaining": lambda: q.remaining(t, d), "reset": lambda: q.reset(t, d)}[command]())


def told(q, t, command, arguments):
    """What moves something."""
    if command == "quota":
        q.declare(t, arguments)
    elif command == "settle":
        at, *rest = map(int, arguments)
        q.settle(t, at, amounts(*rest[:2]), amounts(*rest[2:]))
    elif command == "unsent":
        at, *rest = map(int, arguments)
        q.settle(t, at, amounts(*rest), dict.fromkeys(NAMES, 0))
    elif command == "headers":
        draw, at, *rest = arguments
        q.headers(t, int(draw, 0), int(at), {name: int(value) for name, value in (r.split(":") for r in rest)})
    elif command == "cool":
        q.cool(t, int(arguments[0], 0), int(arguments[1]))
    elif command == "served":
        q.streak = 0
    elif command == "lease":
        q.leased(t, arguments[0], *map(int, arguments[1:]))
    elif command == "cut":
        q.cut = t if q.cut is None else q.cut
    elif command == "back":
        q.come_back(t)
    else:
        raise ValueError("no such command: " + command)


def answer(quotas, command, arguments):
    if command == "cost":
        return str(cost(*map(int, arguments)))
    t, names, *arguments = arguments
    t, several = int(t), [quotas.setdefault(name, Quota()) for name in names.split(",")]
    if command == "acquire":
        n = amounts(*map(int, arguments))
        refusals = [r for r in (q.refuses(t, n) for q in several) if r]
        if refusals:
            return refusals[0]
        for q in several:
            q.take(t, n)
        return "free"
    if command in ("until", "limit", "remaining", "reset"):
        return asked(several[0], t, command, arguments)
    told(several[0], t, command, arguments)
    return several[0].told()


def limits(lines):
    """Lines of: command, arguments, "=", the answer."""
    quotas = {}
    for number, line in enumerate(lines, 1):
        question, equals, says = line.partition(" = ")
        if equals and not line.startswith("#"):
            command, *arguments = question.split()
            yield number, says, answer(quotas, command, arguments)
