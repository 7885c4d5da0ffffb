"""A nursery: it has loaded everything that the program needs, and forks a process for each run that is wanted.

Such a process runs the program's own command line, or another that Python is given, with a folder, an environment and
streams of its own, and ends as any other does. It only starts in a fraction of the time. `programs.py` asks for them,
over the socket that this is started with, and may name fewer modules to load.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
import warnings
from typing import Any

MODULES = (
    "aerogram.archive.files",
    "aerogram.archive.redis",
    "aerogram.archive.s3",
    "aerogram.cli.program",
    "aerogram.dialects.knowledge_v1",
    "aerogram.dialects.problem",
    "aerogram.dialects.response_v2",
    "aerogram.dialects.standard_v2",
    "aerogram.digest",
    "aerogram.gateway.front",
    "aerogram.gateway.relay",
    "aerogram.gateway.settings",
    "aerogram.gateway.tools",
    "aerogram.limits.counters",
    "aerogram.serving.connection",
    "aerogram_knowledge.embedders",
    "aerogram_knowledge.maintenance.watch",
    "aerogram_knowledge.server.routes",
    "aerogram_knowledge.server.serve",
    "aerogram_knowledge.server.tools",
    "aerogram_knowledge.store.postgres.store",
    "aerogram_page.inspection",
    "anyio._backends._asyncio",
    "asyncpg",
    "cachetools",
    "fastapi",
    "fastapi.telemetry._runtime",
    "fastmcp.server.context",
    "fastmcp.server.middleware.dereference",
    "fastmcp.server.sessions",
    "griffe",
    "h11",
    "key_value.aio.stores.filetree",
    "key_value.aio.stores.memory",
    "key_value.aio.stores.redis",
    "numpy.ma",
    "obstore",
    "opentelemetry.sdk.metrics",
    "pydantic.v1",
    "redis.asyncio",
    "simsimd",
    "splintr",
    "Stemmer",
    "tantivy",
    "throttled",
    "tokenizers",
    "typer._adapters",
    "typer._click.decorators",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.h11_impl",
)
"""What the verbs load when they run; none of it starts a thread, which would not be there after a fork."""


def warm_up() -> None:
    """Read what verbs read from disk before they begin: the vocabulary, the model, and which verbs there are."""
    from aerogram.cli.program import verbs
    from aerogram.contract import Contract

    verbs()
    Contract(budget=1_000).prepare()
    if "aerogram_knowledge.embedders" in sys.modules:
        from aerogram_knowledge.embedders import default_embedder

        default_embedder()


def fork_on_request(requests: socket.socket) -> dict[str, Any]:
    """Fork a process for each request. In such a process this returns what it is to be; the nursery stays here."""
    pipes: dict[int, int] = {}

    def tell_who_ended(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pipe = pipes.pop(ended[0])
                with contextlib.suppress(BrokenPipeError):  # nobody waits for it
                    os.write(pipe, str(os.waitstatus_to_exitcode(ended[1])).encode())
                os.close(pipe)

    signal.signal(signal.SIGCHLD, tell_who_ended)
    requests.send(b"ready")
    while True:
        message, handles, _, _ = socket.recv_fds(requests, 2**20, 4)
        if not message:
            os._exit(0)  # whoever wanted processes has ended
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # until its pipe is noted
        child = os.fork()
        if not child:
            _take_streams(handles[:3])
            for other in (handles[3], requests.detach(), *pipes.values()):
                os.close(other)
            for kind in (signal.SIGCHLD, signal.SIGHUP):  # `nohup` may be before all of us
                signal.signal(kind, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            return json.loads(message)
        pipes[child] = handles[3]
        for stream in handles[:3]:
            os.close(stream)
        requests.send(str(child).encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _take_streams(streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def run(words: list[str]) -> None:
    """Do what Python does with such a command line: a script, `-m` and a module or `-c` and a text, and its arguments.

    Before them may stand `-W` and what becomes of warnings.
    """
    if words[0] == "-W":
        warnings.simplefilter(words[1])  # type: ignore[arg-type]  # one of the words that Python knows
        words = words[2:]
    if words[:2] == ["-m", "aerogram"]:
        from aerogram.__main__ import main

        sys.argv = words[1:]
        main()
        return
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path.insert(0, "")
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(words[0]))  # noqa: PTH120 - as Python does it
        runpy.run_path(words[0], run_name="__main__")


def run_to_the_end(words: list[str]) -> None:
    """Run a program, and all that waits for its end; only what it has loaded is not taken down piece by piece."""
    code: object = 0
    try:
        run(words)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - Python says what ended it, and so does this
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    for name in sys.argv[2:] or MODULES:
        importlib.import_module(name)
    warm_up()
    gc.freeze()  # what is loaded stays, and its memory is shared
    wanted = fork_on_request(socket.socket(fileno=int(sys.argv[1])))
    if wanted["session"]:
        os.setsid()
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    run_to_the_end(wanted["words"])
