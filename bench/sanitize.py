"""Redaction takes time in proportion to the text, hostile text included: twice the text, about twice the time."""

from pathlib import Path

from aerogram import Reply
from aerogram.sanitize import Redaction
from timing import best

SIZE = 250_000
HOSTILE = {
    "prose": "lorem ipsum dolor sit amet ",
    "beginnings of web tokens": "eyJ",
    "halves of web tokens": "eyJaaaaaaaaaaaaa.",
    "beginnings of private keys": "-----BEGIN ",
    "keys without an end": "-----BEGIN PRIVATE KEY-----",
    "beginnings of addresses": "://a:",
    "beginnings of headers": "bearer ",
    "beginnings of keys": "sk-",
    "marks of keys": "-",
    "names": "password",
    "assignments of nothing": "password=",
    "assignments in a row": "token:",
    "names before quotes": 'password="',
    "names before spaces": "--password ",
    "commas in values": "password=a,",
    "halves of commands": "curl -u a",
    "beginnings of signatures": "?sig=",
    "beginnings of JSON": '{"password":',
    "names in another spelling": "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1d",
    "invisible letters": "\u200b",
    "escaped quotes": 'key=\\"',
}


PAGES = sorted(Path(__file__).parents[1].glob("docs/*.md"))


def main():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    (taken,) = best(redacting(text, len(text)), rounds=5)
    print(f"{'our own pages as one text':28} {len(text) / taken / 1e6:6.1f} MB/s")
    for name, unit in HOSTILE.items():
        once, twice = best(redacting(unit, SIZE), redacting(unit, 2 * SIZE), rounds=5)
        print(f"{name:28} {SIZE / once / 1e6:6.1f} MB/s   twice the text: {twice / once:.1f} x the time")


def redacting(unit, size):
    redact = Redaction()
    reply = Reply.ok({"text": (unit * (size // len(unit) + 1))[:size]})
    return lambda: redact(reply)
