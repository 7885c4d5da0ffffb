"""Faults: what exceptions that nobody has declared mean to a model, and in which words they are told.

The exceptions of other libraries are known by the names of their classes, so that none of the libraries is loaded.
Whether their words are told is for the server to say: where it shows them, so do we, without secrets and without the
paths of the machine; where it does not, only what kind of failure it was is told. A failure that came as a result
without a code gets one from what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import PurePath
from typing import Any, Final

from aerogram.codes import TABLE, respell
from aerogram.limits.fields import read_retry_after
from aerogram.problems import BrokenOff, blames_answer, hidden_words, is_declared, log_failure
from aerogram.reply import Problem
from aerogram.sanitize import Redaction, sanitize_text

__all__ = ["Masked", "code_in", "explain_fault", "find_named", "problem_in", "shorten_paths"]

UNKNOWN: Final = "TOOL_ERROR"
HIDDEN: Final = "INTERNAL_ERROR"
"""What a failure of unknown cause is where its words are hidden."""
_HIDDEN_ADVICE: Final = "Change the call, or do without it; if it must be made, report the request id."


class Masked(Exception):
    """An exception of which a server further in tells nothing."""

    def __init__(self, held: Exception) -> None:
        super().__init__("masked")
        self.held = held


def explain_fault(error: Exception, arguments: Mapping[str, Any], *, shows: bool, request_id: str) -> Exception:
    """What an exception of a handler means, with a code and words for the caller.

    Of an unknown cause nobody can say that the same call may succeed later, whether the words are hidden or not.
    """
    if isinstance(error, Masked):
        error, shows = error.held, False
    if is_declared(error):
        return error
    cause = _innermost(error)
    code = None if _is_of_the_server(cause, arguments) else _code_of(cause)
    log_failure(error, request_id)
    found: Exception
    if shows:
        found = BrokenOff(_words_of(cause, arguments), code=code or UNKNOWN, retry_after=_wait_of(cause))
    elif code is not None:
        found = BrokenOff(TABLE[code].title, code=code, retry_after=_wait_of(cause))
    else:
        found = BrokenOff(hidden_words(request_id), code=HIDDEN, retry="no", remediation=_HIDDEN_ADVICE)
    found.__cause__ = error
    return found


def _innermost(error: BaseException) -> BaseException:
    """The exception itself; of a group that is the first one in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _is_of_the_server(error: BaseException, arguments: Mapping[str, Any]) -> bool:
    """Whether it is about a file that the caller has not named: one that the tool itself wants to have."""
    path = getattr(error, "filename", None)
    is_of_a_file = isinstance(error, OSError) and type(error).__module__ == "builtins"  # libraries name addresses so
    if not is_of_a_file or not isinstance(path, (str, PurePath)):
        return False
    return not any(_names_file(text, str(path)) for text in _values_in(arguments))


def _names_file(text: str, path: str) -> bool:
    """Whether a path has the last part of what was sent in it, or its file name has that as a word."""
    last = re.split(r"[\\/]", text.rstrip("\\/"))[-1]
    file = re.split(r"[\\/]", path)[-1]
    return last != "" and ((len(last) >= SHORTEST and last in path) or last in re.split(r"[\W_]+", file))


def _values_in(value: Any) -> Iterator[str]:
    """Every text and number in a value, as a text."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _values_in(one)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        yield str(value)


# Codes by the names of classes

_STATUS: Final = "by its status"
_ORIGIN: Final = "by what the driver said"
_WORDS: Final = "by its words"
_NAMES: Final[Mapping[str, str]] = {
    "UNAVAILABLE": """
        builtins.TimeoutError builtins.ConnectionError socket.gaierror socket.herror ssl.SSLError
        subprocess.TimeoutExpired urllib.URLError http.HTTPException
        httpx.TransportError httpx2.TransportError httpx.RequestError httpx2.RequestError
        requests.ConnectionError requests.Timeout requests.ChunkedEncodingError requests.ContentDecodingError
        urllib3.HTTPError aiohttp.ClientConnectionError aiohttp.ServerTimeoutError aiohttp.ClientPayloadError
        sqlalchemy.TimeoutError sqlalchemy.DisconnectionError
        asyncpg.PostgresConnectionError asyncpg.TooManyConnectionsError asyncpg.CannotConnectNowError
        asyncpg.QueryCanceledError asyncpg.InterfaceError asyncpg.InsufficientResourcesError
        asyncpg.DeadlockDetectedError asyncpg.SerializationError
        redis.ConnectionError redis.TimeoutError redis.BusyLoadingError redis.TryAgainError redis.ClusterDownError
        botocore.HTTPClientError botocore.EndpointConnectionError botocore.ConnectionError
        botocore.ReadTimeoutError botocore.ConnectTimeoutError
    """,
    "NOT_FOUND": """
        builtins.FileNotFoundError builtins.ProcessLookupError sqlalchemy.NoResultFound sqlalchemy.NoSuchTableError
        asyncpg.NoDataFoundError botocore.ProfileNotFound botocore.UnknownServiceError
    """,
    "FORBIDDEN": """
        builtins.PermissionError asyncpg.InsufficientPrivilegeError redis.NoPermissionError redis.ReadOnlyError
    """,
    "UNAUTHORIZED": """
        asyncpg.InvalidAuthorizationSpecificationError redis.AuthenticationError redis.AuthorizationError
        botocore.NoCredentialsError botocore.PartialCredentialsError botocore.TokenRetrievalError
        botocore.UnauthorizedSSOTokenError
    """,
    "ALREADY_EXISTS": "builtins.FileExistsError",
    "CONFLICT": """
        sqlite3.IntegrityError sqlalchemy.IntegrityError asyncpg.IntegrityConstraintViolationError
        sqlalchemy.StaleDataError redis.WatchError redis.LockError
    """,
    "INVALID_FORMAT": "json.JSONDecodeError requests.JSONDecodeError aiohttp.ContentTypeError builtins.UnicodeError",
    "VALIDATION_ERROR": """
        builtins.IsADirectoryError builtins.NotADirectoryError pydantic_core.ValidationError pydantic.ValidationError
        httpx.InvalidURL httpx2.InvalidURL requests.InvalidURL requests.MissingSchema requests.InvalidSchema
        aiohttp.InvalidURL sqlite3.ProgrammingError sqlite3.DataError
        sqlalchemy.DataError sqlalchemy.ProgrammingError sqlalchemy.ArgumentError sqlalchemy.MultipleResultsFound
        asyncpg.SyntaxOrAccessError asyncpg.DataError redis.DataError redis.ResponseError
        botocore.ParamValidationError botocore.ValidationError
    """,
    _STATUS: """
        httpx.HTTPStatusError httpx2.HTTPStatusError requests.HTTPError aiohttp.ClientResponseError urllib.HTTPError
    """,
    _ORIGIN: "sqlalchemy.DBAPIError",
    _WORDS: "botocore.ClientError sqlite3.OperationalError sqlalchemy.OperationalError redis.OutOfMemoryError",
}
_CODES: Final = {name: code for code, names in _NAMES.items() for name in names.split()}
"""What a class stands for, by the package that it is from and its name."""


def _code_of(error: BaseException) -> str | None:
    """The code of an exception of another library: that of its class, or of the nearest class above that has one."""
    for one in (error, error.__cause__):  # a framework may have put words of its own around it
        found = None if one is None else next(_codes_above(type(one)), None)
        if one is None or found is None or blames_answer(one):
            continue
        if found == _STATUS:
            status = _status_of(one)
            return None if status is None else TABLE.of_status(status)
        origin = getattr(one, "orig", None)
        if isinstance(origin, BaseException):  # what a driver said, which SQLAlchemy wraps
            return _code_of(origin) or (found if found in TABLE else None)
        return code_in(_code_words(one)) if found in (_WORDS, _ORIGIN) else found
    return None


def _codes_above(cls: type) -> Iterator[str]:
    for one in cls.__mro__:
        code = _CODES.get(f"{one.__module__.partition('.')[0]}.{one.__name__}")
        if code is not None:
            yield code


def _code_words(error: BaseException) -> str:
    """What an exception says of its kind: the name that a service has for it, or its words."""
    said = getattr(error, "response", None)
    name = said.get("Error", {}).get("Code") if isinstance(said, Mapping) else None
    return respell(name).replace("_", " ") if isinstance(name, str) and not name.isdecimal() else str(name or error)


def _status_of(error: BaseException) -> int | None:
    """The HTTP status that an exception is about, wherever its library keeps it."""
    response = getattr(error, "response", None)
    held = ((response, "status_code"), (error, "status"), (error, "code"))
    found = (getattr(where, name, None) for where, name in held)
    return next((one for one in found if isinstance(one, int) and 400 <= one <= 599), None)  # noqa: PLR2004 - HTTP's


def _wait_of(error: BaseException) -> float | None:
    """How long the service behind a tool says to wait."""
    for where in (getattr(error, "response", None), error):
        headers: Any = getattr(where, "headers", None)
        said = headers.get("retry-after") or headers.get("Retry-After") if hasattr(headers, "get") else None
        if isinstance(said, str):
            return read_retry_after(said)
    return None


# Codes by words

LOOKED_AT: Final = 600
"""How many characters of a failure are searched for what it means; what follows are details."""
_PHRASES: Final[Mapping[str, str]] = {
    "RATE_LIMIT_EXCEEDED": r"""
        rate.?limit | too\ many\ requests | \b429\b | throttl | \bslow\ down\b | quota\ exceeded
    """,
    "UNAUTHORIZED": r"""
        \bunauthori[sz]ed\b | \b401\b | not\ authenticated | authentication\ (?:failed|required|error)
        | not\ logged\ in | expired\ token
        | (?:invalid|missing|expired|no)\ (?:api.?key|(?:access.?)?token|credentials?)\b
    """,
    "FORBIDDEN": r"""
        \bforbidden\b | \b403\b | permission\ denied | access\ denied | not\ permitted | \bEACCES\b | \bEPERM\b
        | outside\ (?:of\ )?(?:the\ )?allowed | not\ allowed\ to | read.?only
    """,
    "ALREADY_EXISTS": r"already\ exists | \bEEXIST\b | duplicate\ key | unique\ constraint",
    "NOT_FOUND": r"""
        not\ found | no\ such | n[o']t\ exist | \b404\b | \bENOENT\b | (?:could\ not|cannot|can't|unable\ to)\ find
        | not\ resolve\ to | unknown\ (?:revision|table|column|tool|resource)
    """,
    "UNAVAILABLE": r"""
        timed.?out | time.?out\b | \bunavailable\b | \b50[234]\b | unreachable | temporarily | is\ locked
        | connection\ (?:refused|reset|error|aborted|closed|failed) | name\ resolution
        | \bECONN\w+ | \bETIMEDOUT\b | \bENOTFOUND\b | \bEAI_AGAIN\b
    """,
    "CONFLICT": r"\b409\b | \bconflict",
    "MISSING_REQUIRED": r"""
        (?:field|parameter|argument|property|value|input)s?\ (?:is\ |are\ )?(?:required|missing)
        | missing\ (?:\d+\ )?(?:a\ )?required | required\ (?:field|parameter|argument|property)
    """,
    "VALIDATION_ERROR": r"""
        \binvalid\b | validation | \bmust\ (?:be|have|not)\b | syntax\ error | malformed | not\ (?:a\ )?valid\b
        | unsupported | \bexpected\b.{1,80}\b(?:got|received|but)\b | \b400\b | \b422\b
    """,
}
_READING: Final = re.IGNORECASE | re.VERBOSE


def code_in(text: str) -> str:
    """The code for a failure that says in words what it is; `TOOL_ERROR` where it does not."""
    told = text[:LOOKED_AT]
    # compiled when something fails, and then known: most programs that load this never ask
    return next((code for code, phrases in _PHRASES.items() if re.search(phrases, told, _READING)), UNKNOWN)


_ADVICE: Final = {"VALIDATION_ERROR": "Change {}.", "NOT_FOUND": "Check {}."}
"""What to do where nothing is known but words that name the value of an argument; where they do not, nothing is said.

Whether something is to be made or only looked up, and whether the same call will fail again, words do not tell.
"""
SHORTEST: Final = 3
"""What is shorter stands in many words."""
MOST_BLANKS: Final = 2
"""What has more of them is a statement, which whoever wrote it knows without being told the argument's name."""


def problem_in(text: str, arguments: Mapping[str, Any] | None = None) -> Problem:
    """The problem that a failure tells of in words alone."""
    problem = Problem.of(code_in(text), text or None)
    if problem.code not in _ADVICE:
        return problem
    named = find_named(text, arguments or {})
    return replace(problem, remediation=_ADVICE[problem.code].format(named) if named else None)


def find_named(text: str, arguments: Mapping[str, Any]) -> str | None:
    """The argument, or the member in one, whose value a failure names: the longest of several; None where none is."""
    told = text[:LOOKED_AT]
    found = [(len(one), name) for name, one in _members_in(arguments) if _is_name(one) and one in told]
    return max(found)[1] if found else None


def _is_name(value: str) -> bool:
    return len(value) >= SHORTEST and value.count(" ") <= MOST_BLANKS


# Words

_redaction: Final = cache(Redaction)
_QUOTED_PATH: Final = re.compile(r"""(?P<quote>['"])(?:[A-Za-z]:[\\/]|/)[^'"\n]*[\\/](?P<name>[^'"\\/\n]*)(?P=quote)""")
_PART: Final = r"""[^\s/\\'":*?<>|,;()]+"""
_PLAIN_PATH: Final = re.compile(rf"(?<![\w:/\\.<~…])(?:[A-Za-z]:[\\/]|/)(?:{_PART}[\\/])+(?P<name>(?:{_PART})?)")


def _words_of(error: BaseException, arguments: Mapping[str, Any]) -> str:
    """What an exception says, without secrets and without the paths of the machine."""
    try:
        said = str(error).strip()
    except Exception:  # noqa: BLE001 - an exception whose own methods raise
        said = ""
    name = type(error).__name__
    if not said or isinstance(error, KeyError):  # of which the words are the key
        said = f"{name}: {said}" if said else name
    return shorten_paths(sanitize_text(said, _redaction()), arguments)


def shorten_paths(text: str, arguments: Mapping[str, Any]) -> str:
    """A text with absolute paths by their last part; a path that the caller has sent is no news to it."""
    known = "\n".join(text for _, text in _members_in(arguments))

    def shorten(found: re.Match[str]) -> str:
        quote = found.groupdict().get("quote") or ""
        path = found[0].strip(quote) if quote else found[0]
        return found[0] if path.rstrip(".") in known else f"{quote}…/{found['name']}{quote}"

    return _PLAIN_PATH.sub(shorten, _QUOTED_PATH.sub(shorten, text))


def _members_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a value, with the name of the member that it is of."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for own, one in value.items():
            yield from _members_in(one, str(own))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _members_in(one, name)
