"""The prefill side, this process, with a real engine; and peers, processes of their own, each ended by its id."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from confbag.kernels.send_kvcache.pairing import unpack_layer_ids

HOST = "127.0.0.1"
POISON = 0xEE


class Peer:
    """One decode process."""

    def __init__(self, folder: Path, item_lens: Sequence[int], pages: int, layer_ids: Sequence[int] = ()) -> None:
        arguments = [",".join(map(str, item_lens)), str(pages), ",".join(map(str, layer_ids))]
        self._log = (folder / "peer.log").open("w")
        self._image = folder / "image"
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("peer.py")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        told = self.process.stdout.readline()
        assert told, (folder / "peer.log").read_text()
        said = json.loads(told)
        self.session: str = said["session"]
        self.ptrs: list[int] = said["ptrs"]
        self.layer_ids = unpack_layer_ids(bytes.fromhex(said["layer_ids"]))
        self.sizes = [item_len * pages for item_len in item_lens]

    def read(self) -> list[bytes]:
        """Its pools' bytes now."""
        self.process.stdin.write(f"read {self._image}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "read\n"
        image, pools = self._image.read_bytes(), []
        for size in self.sizes:
            pools.append(image[:size])
            image = image[size:]
        assert not image
        return pools

    def stop(self) -> None:
        """Freeze it: the kernel still takes what arrives, nobody answers."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)  # until its last thread has stopped

    def resume(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(30)

    def close(self) -> None:
        """Ended, whatever it was doing."""
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self._log.close()


@pytest.fixture
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Peer]]:
    """Starts decode processes; with the test they end, and so does what this process still sends to them."""
    started: list[Peer] = []

    def start(*arguments: Any) -> Peer:
        made = Peer(tmp_path_factory.mktemp("peer"), *arguments)
        started.append(made)
        return made

    yield start
    for each in started:
        each.close()
    for thread in threading.enumerate():
        if thread.name.startswith("send_kvcache to"):
            thread.join(90)
            assert not thread.is_alive(), thread.name


class Pools:
    """The prefill side's pools, random bytes, registered with an engine of its own."""

    def __init__(self, item_lens: Sequence[int], pages: int, kind: type | None = None) -> None:
        # Only here: what is collected must not need the engine.
        from mooncake.engine import TransferEngine

        from confbag.kernels.send_kvcache.engine import initialise, register

        self.bytes = [random.Random(entry).randbytes(item_len * pages) for entry, item_len in enumerate(item_lens)]
        self._held = [(ctypes.c_ubyte * len(pool)).from_buffer(bytearray(pool)) for pool in self.bytes]
        self.ptrs = [ctypes.addressof(pool) for pool in self._held]
        self.item_lens = list(item_lens)
        self.engine = TransferEngine() if kind is None else kind()
        self.session = initialise(self.engine, HOST, "tcp", "")
        register(self.engine, self.ptrs, [len(pool) for pool in self.bytes])

    def sender(self, **settings: Any) -> Any:
        """The Sender of these pools."""
        from confbag.kernels.send_kvcache.sender import Sender

        return Sender(self.engine, self.ptrs, [len(pool) for pool in self.bytes], self.item_lens, **settings)


@pytest.fixture
def pools() -> type[Pools]:
    """Makes the prefill side."""
    return Pools


@pytest.fixture
def copied() -> Callable[..., list[bytes]]:
    """What the peer must hold: poison, and page for page what was sent."""

    def work(
        peer: Peer,
        pools: Pools,
        partners: Sequence[tuple[int, int]],
        source: Sequence[int],
        destination: Sequence[int],
    ) -> list[bytes]:
        wanted = [bytearray([POISON]) * size for size in peer.sizes]
        for entry, partner in partners:
            size = pools.item_lens[entry]
            for one, other in zip(source, destination, strict=True):
                wanted[partner][other * size : (other + 1) * size] = pools.bytes[entry][one * size : (one + 1) * size]
        return [bytes(pool) for pool in wanted]

    return work
