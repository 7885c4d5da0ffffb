"""Timing: the best of several rounds, and several contenders interleaved so that noise hits all of them alike."""

import time


def best(*contenders, rounds=15, budget=0.02):
    """The best time of one call of each contender, in seconds; their rounds are interleaved."""
    counts = [_enough(one, budget) for one in contenders]
    fastest = [float("inf")] * len(contenders)
    for _ in range(rounds):
        for index, (contender, count) in enumerate(zip(contenders, counts, strict=True)):
            fastest[index] = min(fastest[index], _once(contender, count))
    return fastest


def _once(contender, count):
    start = time.perf_counter()
    for _ in range(count):
        contender()
    return (time.perf_counter() - start) / count


def _enough(contender, budget):
    """How many calls fill the time budget of a round."""
    taken = _once(contender, 1)
    return max(1, min(20_000, int(budget / max(taken, 1e-7))))
