"""The page: where a person sees a reply shrink, and gets back what was left out of it.

    host.py        what a page is given by whoever mounts it: a contract, operations to call, who is who
    routes.py      its addresses: the document and its assets, and what the browser asks of the server
    work.py        what is computed for a caller, within bounds, and ended with the request
    sources.py     the replies that are shown: answers to calls, opened replies, failures
    shrink.py      a reply fitted into a budget, and the curve of what fits into which
    pieces.py      what was left out, piece by piece, and each of them back
    comparison.py  the same reply in every dialect and on both wires; members.py explains their members
    digests.py     a document with its evidence in place; checking.py judges whatever is pasted
    failures.py    every error code; provocation.py makes each one happen
    copies.py      a call as it is typed elsewhere
    live.py        the replies that a server is sending, for its owner

The page knows no index and no server: `aerogram serve` and `aerogram inspect` mount the same one.
"""
