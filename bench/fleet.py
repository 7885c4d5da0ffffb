"""One, two and four servers over one index, in a folder and in PostgreSQL, with Redis: requests a second and p99.

`BENCH_SECONDS=2 python bench fleet` makes each measurement shorter. Servers, databases and the client share this
machine, so the figures are those of a machine that does everything; the processor time of each part is measured too,
and says what one server would do with a core of its own.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import backends
import postgres
from server_process import SAMPLES
from server_tokens import QUESTIONS as ASKED

SECONDS = float(os.environ.get("BENCH_SECONDS", "5"))
QUESTIONS = [*ASKED]
SIZES = (1, 2, 4)
MODES = ("metadata", "full")
AT_ONCE = 8
"""Requests under way at any moment."""
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """One server process."""

    def __init__(self, folder, *arguments):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aerogram", "serve", "--port", "0", "--log-level", "warning", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**kept, "AEROGRAM_STATE": str(folder / "state")},
        )
        self.address = next(line.split()[2] for line in self.process.stdout if line.startswith("Ready at "))

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


def processor_time(pids):
    """Seconds that processes have computed, together with those that they have waited for."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


class Client:
    """Asks one server after the other over connections that stay open; it computes as little as it can."""

    def __init__(self, servers, mode, tag):
        self.places = [urlsplit(one.address) for one in servers]
        self.mode = mode
        self.tag = tag
        self.times = []
        self.count = 0

    def question(self):
        """Questions repeat seldom, so that no server answers from memory."""
        self.count += 1
        asked = QUESTIONS[self.count % len(QUESTIONS)]
        return urlencode({"q": f"{asked} {self.tag}{self.count}", "response_mode": self.mode, "envelope": "v2"})

    async def run(self, seconds):
        end = time.perf_counter() + seconds
        await asyncio.gather(*(self._ask(number, end) for number in range(AT_ONCE)))

    async def _ask(self, number, end):
        open_ = [await asyncio.open_connection(place.hostname, place.port) for place in self.places]
        turn = number
        while time.perf_counter() < end:
            reader, writer = open_[turn % len(open_)]
            turn += 1
            start = time.perf_counter()
            writer.write(f"GET /v1/search?{self.question()} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            self.times.append(time.perf_counter() - start)
        for _, writer in open_:
            writer.close()


def measured(name, servers, others, mode):
    """One row of figures."""
    tag = f"{name[0]}{len(servers)}{mode[0]}"
    asyncio.run(Client(servers, mode, f"w{tag}").run(min(1.0, SECONDS)))
    client = Client(servers, mode, tag)
    pids = [one.process.pid for one in servers]
    before, before_others, start = processor_time(pids), others(), time.perf_counter()
    asyncio.run(client.run(SECONDS))
    taken, done = time.perf_counter() - start, len(client.times)
    spent = (processor_time(pids) - before) * 1000 / done
    elsewhere = (others() - before_others) * 1000 / done
    p50, p99 = (statistics.quantiles(client.times, n=100)[place] * 1000 for place in (49, 98))
    figures = f"{done / taken:.0f} | {p50:.1f} ms | {p99:.1f} ms | {spent:.2f} ms | {elsewhere:.2f} ms"
    print(f"| {name} | {len(servers)} | {mode} | {figures} |", flush=True)
    return done / taken, spent


def family(process):
    """A process and those it has started."""
    import psutil

    return [process.pid, *(one.pid for one in psutil.Process(process.pid).children(recursive=True))]


def run(folder, name, arguments, others):
    rates = {}
    with ExitStack() as running:
        servers = []
        for size in SIZES:
            while len(servers) < size:
                servers.append(Server(folder, *arguments))
                running.callback(servers[-1].end)
            for mode in MODES:
                rates[size, mode] = measured(name, servers, others, mode)
    return [scaled(name, mode, [rates[size, mode] for size in SIZES]) for mode in MODES]


def scaled(name, mode, rates):
    """What more servers are good for, in words."""
    (one, spent), (two, _), (four, _) = rates
    return (
        f"{name}, {mode}: two servers do {two / one:.2f} times what one does, four {four / one:.2f} times; "
        f"a server with a core of its own could do {1000 / spent:.0f} requests/s"
    )


def main():
    print(f"{os.cpu_count()} cores for servers, store, Redis and client together; {AT_ONCE} requests at a time\n")
    print("| store | servers | mode | requests/s | p50 | p99 | processor of a server | of store and Redis |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place, ExitStack() as running:
        folder = Path(place)
        (folder / "redis").mkdir()
        redis = running.enter_context(backends.running_redis(folder / "redis"))
        shared = ("--redis", redis.url, "--limits", "100000000/day")
        ingest = "import sys; from aerogram_knowledge import Knowledge; Knowledge(sys.argv[1]).ingest(sys.argv[2])"
        index = str(folder / "index")
        subprocess.run([sys.executable, "-c", ingest, index, str(SAMPLES)], check=True)
        said = run(folder, "folder", ("--index", index, *shared), lambda: processor_time([redis.process.pid]))
        database = running.enter_context(postgres.running_postgres())
        url = database.new_database()
        subprocess.run([sys.executable, "-c", ingest, url, str(SAMPLES)], check=True)

        def everything_else():
            return processor_time([redis.process.pid, *family(database.process)])

        said += run(folder, "PostgreSQL", ("--store", url, *shared), everything_else)
    print("", *said, sep="\n")


if __name__ == "__main__":
    main()
