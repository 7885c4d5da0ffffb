"""Evaluation: the program that runs one query and ends. It knows nothing of the library, so that it starts at once.

python evaluation.py EXPRESSION < value.json > found.json
"""

import sys

PROCESSOR_SECONDS = 2
MEMORY = 2 * 1024**3
LARGEST = 8 * 1024 * 1024
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
    """Evaluate the expression of the command line on the value of standard input."""
    import jmespath
    import orjson

    value = orjson.loads(sys.stdin.buffer.read())
    limit()
    try:
        found = jmespath.search(sys.argv[1], value)
        body = orjson.dumps(found)
    except (jmespath.exceptions.JMESPathError, TypeError) as error:
        sys.stderr.write(" ".join(str(error).split())[:400])
        return WRONG
    except (MemoryError, RecursionError):
        return TOO_LARGE
    if len(body) > LARGEST:
        return TOO_LARGE
    sys.stdout.buffer.write(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
