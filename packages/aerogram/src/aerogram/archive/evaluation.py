"""Evaluation: the program that runs one query and ends. It knows nothing of the library, so that it starts at once.

python evaluation.py EXPRESSION < value.json > found.json
"""

import json
import sys

PROCESSOR_SECONDS = 2
MEMORY = 1024**3
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

    sys.set_int_max_str_digits(0)  # numbers come from an archive that has limits of its own
    value = json.loads(sys.stdin.buffer.read())
    limit()
    try:
        query = jmespath.compile(sys.argv[1])
    except RecursionError:
        sys.stderr.write("it is nested too deep")
        return WRONG
    except jmespath.exceptions.JMESPathError as error:
        sys.stderr.write(" ".join(str(error).split())[:400])
        return WRONG
    try:
        body = json.dumps(query.search(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    except (MemoryError, RecursionError):
        return TOO_LARGE
    except Exception as error:  # noqa: BLE001 - a step of zero, a number without end: what the expression asks cannot be
        sys.stderr.write(" ".join(str(error).split())[:400])
        return WRONG
    if len(body) > LARGEST:
        return TOO_LARGE
    sys.stdout.buffer.write(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
