"""From the command to the first answer: the first start reads the sample documents, the next ones find the index."""

import time
import urllib.request

from server_process import place_for_index, serving

ROUNDS = 3
FIRST, NEXT = 10.0, 2.0
QUESTION = "/v1/search?q=How+long+is+a+token+valid&envelope=v2"


def seconds_to_answer(index):
    start = time.perf_counter()
    with serving(index) as server, urllib.request.urlopen(server.address + QUESTION) as answer:
        assert b'"chunk_id"' in answer.read()
        return time.perf_counter() - start


def main():
    first, following = [], []
    for _ in range(ROUNDS):
        with place_for_index() as index:
            first.append(seconds_to_answer(index))
            following += [seconds_to_answer(index) for _ in range(2)]
    for name, taken, limit in (("first start", first, FIRST), ("next start", following, NEXT)):
        print(f"{name:<12} to first answer: {min(taken):.1f} s at best, {max(taken):.1f} s at worst (limit {limit:g})")


if __name__ == "__main__":
    main()
