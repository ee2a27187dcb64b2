"""The decode side of a transfer, a process of its own: pools of poison, registered; told on stdin what to do.

    python peer.py ITEM_LENS PAGES LAYER_IDS      lists of integers joined by commas; LAYER_IDS may be empty

It prints one line of JSON (session, addresses, layer ids as they travel) and answers `read PATH` by writing its pools'
bytes there. It ends with its standard input, and by itself after two minutes.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from pathlib import Path

from confbag.kernels.send_kvcache.engine import register
from confbag.kernels.send_kvcache.mooncake import open_engine
from confbag.kernels.send_kvcache.pairing import pack_layer_ids

POISON = 0xEE
LIFE = 120


def numbers(text: str) -> list[int]:
    """The integers of one argument."""
    return [int(part) for part in text.split(",") if part]


def main() -> None:
    """Open, register, say where, and answer until nobody asks any more."""
    signal.alarm(LIFE)
    item_lens, pages, layer_ids = numbers(sys.argv[1]), int(sys.argv[2]), numbers(sys.argv[3])
    pools = [
        (ctypes.c_ubyte * (item_len * pages)).from_buffer(bytearray([POISON]) * (item_len * pages))
        for item_len in item_lens
    ]
    pointers = [ctypes.addressof(pool) for pool in pools]
    engine, session = open_engine("127.0.0.1", "tcp")
    register(engine, pointers, [len(pool) for pool in pools])
    print(json.dumps({"session": session, "ptrs": pointers, "layer_ids": pack_layer_ids(layer_ids).hex()}), flush=True)
    for line in sys.stdin:
        word, _, path = line.strip().partition(" ")
        if word == "read":
            Path(path).write_bytes(b"".join(bytes(pool) for pool in pools))
            print("read", flush=True)


if __name__ == "__main__":
    main()
