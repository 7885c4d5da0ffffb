"""Evaluation: the program that runs one query and ends. It knows nothing of the library, so that it starts at once.

python evaluation.py [FOLDER] < query-and-value.json > found.json

The first line is the query, which others could read on the command line, and the second one the value. The folder is
where the server has jmespath from, if this Python may look for it elsewhere.
"""

import io
import json
import sys

PROCESSOR_SECONDS = 2
MEMORY = 1024**3
LARGEST = 8 * 1024 * 1024
LEAST = len('{"line":1,"offset":0,"text":""}')
WRONG, TOO_LARGE = 3, 4


def limit() -> None:
    """Have the system end this process when it takes too much."""
    try:
        import resource
    except ImportError:  # Windows has none; the time that it may take is limited all the same
        return
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> int:
    """Ask the query of the value, both of standard input."""
    sys.set_int_max_str_digits(0)  # numbers come from an archive that has limits of its own
    query, value = map(json.loads, sys.stdin.buffer)
    search = search_text if isinstance(value, str) else search_data
    sys.path += sys.argv[1:]
    limit()
    try:
        body = json.dumps(search(value, query), ensure_ascii=False, separators=(",", ":"))
    except (MemoryError, RecursionError):
        return TOO_LARGE
    except Exception as error:  # noqa: BLE001 - a step of zero, a number without end: what the query asks cannot be
        sys.stderr.write(" ".join(str(error).split())[:400])
        return WRONG
    written = body.encode("utf-8", "replace")
    if len(written) > LARGEST:
        return TOO_LARGE
    sys.stdout.buffer.write(written)
    return 0


def search_data(value: object, expression: str) -> object:
    """What a JMESPath expression finds in data."""
    import jmespath

    try:
        query = jmespath.compile(expression)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return query.search(value)


def search_text(text: str, query: str) -> list[dict[str, object]]:
    """The lines that have all words of the query in any letter case, each with its number and where it begins."""
    words = query.casefold().split()
    found: list[dict[str, object]] = []
    offset, room = 0, LARGEST
    for number, line in enumerate(io.StringIO(text, newline=""), 1):
        folded = line.casefold()
        if all(word in folded for word in words):
            found.append({"line": number, "offset": offset, "text": line.rstrip("\r\n")})
            room -= len(line) + LEAST
            if room < 0:  # it is refused before it fills the memory
                raise MemoryError
        offset += len(line)
    return found


if __name__ == "__main__":
    sys.exit(main())
