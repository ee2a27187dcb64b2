"""One forward pass's lengths and tables on the device, with the mirrors from which host ops compute without waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from confbag.kernels.dsv4.forward_metadata.lengths import (
    Batch,
    Mode,
    Source,
    block,
    block_starts,
    growth,
    kv_lengths,
    on_host,
    query_starts,
)
from confbag.kernels.dsv4.forward_metadata.mirrors import compare, mirrors_checked
from confbag.kernels.dsv4.forward_metadata.tables import Kind, Scheduler

Placement: TypeAlias = Literal["host", "device"]

TABLE = 1024


@dataclass(slots=True)
class ForwardMetadata:
    """What the attention of one forward pass reads besides its tensors, all of it int32.

    cu_seqlens_q [batch_size + 1] and seqused_kv [batch_size] are on the device; cu_seqlens_q_cpu and seq_lens_cpu_int
    mirror them on the CPU. Both sides come from CPU sources: nothing is read back from the device. seq_lens_cpu_int is
    kept wherever tables are computed, so that a host op can be switched to at any time. Idle: no query starts, lengths
    of no request, no tables. placement: where tables are computed, exec.metadata_placement. tables: by kind of layer.
    bucket: the batch that a captured graph was made for; its tensors keep their addresses, and `refresh` writes into
    them.

    Mirror and device hold the same, with one exception: a padded row of a replayed target_verify is 0 in the mirror,
    where it costs nothing, and 1 on the device, whose metadata kernel handles no length of 0 and whose captured
    kernels must have had work.
    """

    mode: Mode
    batch_size: int
    placement: Placement
    cu_seqlens_q: Tensor | None
    cu_seqlens_q_cpu: Tensor | None
    seqused_kv: Tensor
    seq_lens_cpu_int: Tensor
    tables: dict[str, Tensor] = field(default_factory=dict)
    bucket: Batch | None = None

    @classmethod
    def build(
        cls, batch: Batch, device: torch.device | str, placement: Placement = "host", scheduler: Scheduler | None = None
    ) -> ForwardMetadata:
        """The metadata of one eager pass. scheduler: makes its tables; None leaves them out.

        Raises TypeError and ValueError for a batch that contradicts itself, a source on a device, and lengths or sums
        past int32, before anything is copied.
        """
        where = torch.device(device)
        _check_placement(placement)
        lengths = kv_lengths(batch)
        starts = query_starts(batch, lengths.shape[0])
        made = cls(
            mode=batch.mode,
            batch_size=lengths.shape[0],
            placement=placement,
            cu_seqlens_q=None if starts is None else _copied(starts, where),
            cu_seqlens_q_cpu=starts,
            seqused_kv=_copied(lengths, where),
            seq_lens_cpu_int=lengths,
        )
        return made._finish(scheduler)

    @classmethod
    def capture(
        cls,
        bucket: Batch,
        batch_size: int,
        device: torch.device | str,
        placement: Placement = "host",
        kinds: tuple[Kind, ...] = (),
    ) -> ForwardMetadata:
        """The buffers of one bucket of a captured graph: query starts for good, KV lengths 1, every core off.

        bucket: the mode, tokens and `expanded` of every pass that will be replayed; its lengths are not read.
        batch_size: requests that the graph is captured for.
        device: where the buffers are.
        placement: where tables are computed, host or device.
        kinds: of layers that have a table each.
        """
        where = torch.device(device)
        _check_placement(placement)
        if bucket.mode in (Mode.PREFILL, Mode.IDLE):
            raise ValueError(
                f"mode: expected decode, target_verify or draft_extend, found {bucket.mode.value}; build it eagerly"
            )
        if type(batch_size) is not int:
            raise TypeError(f"batch_size: expected an int, found {batch_size!r}")
        if batch_size < 0:
            raise ValueError(f"batch_size: expected at least 0, found {batch_size}")
        starts = block_starts(batch_size, block(bucket))
        ones = torch.ones(batch_size, dtype=torch.int32)
        return cls(
            mode=bucket.mode,
            batch_size=batch_size,
            placement=placement,
            cu_seqlens_q=_copied(starts, where),
            cu_seqlens_q_cpu=starts,
            seqused_kv=_copied(ones, where),
            seq_lens_cpu_int=ones,
            tables={kind.name: torch.zeros(TABLE, dtype=torch.int32, device=where) for kind in kinds},
            bucket=bucket,
        )

    def refresh(self, seq_lens: Source, live_lens: Source | None = None, scheduler: Scheduler | None = None) -> None:
        """Write the lengths, then the tables, of one replay into the captured buffers. Query starts never change.

        seq_lens: of at most batch_size requests, rows past them being padding, as the bucket's Batch says: with or
        without the drafted tokens. live_lens: of a target_verify whose seq_lens are expanded, the tokens before the
        draft, 0 (or left out at the end) in padded rows; without it they are seq_lens less the drafted tokens. An idle
        replay passes no request. Nothing is written when it raises.
        """
        if self.bucket is None:
            raise ValueError("refresh: expected metadata of a captured graph, found an eager pass's; build a new one")
        missing = [kind.name for kind in (scheduler.kinds if scheduler else ()) if kind.name not in self.tables]
        if missing:
            known = ", ".join(self.tables) or "none"
            raise ValueError(f"scheduler: expected kinds that were captured, {known}, found {missing[0]}")
        mirror = self._replayed(self.bucket, seq_lens, live_lens)
        # A new mirror each time: a copy of the last one may still be on its way to the device.
        self.seq_lens_cpu_int = mirror
        _copy(self.seqused_kv, mirror.clamp(min=1))
        self._finish(scheduler)

    @property
    def operands(self) -> tuple[Tensor | None, Tensor]:
        """The query starts and KV lengths that dsv4.sparse_metadata takes: the mirrors, or the device's own."""
        if self.placement == "host":
            return self.cu_seqlens_q_cpu, self.seq_lens_cpu_int
        return self.cu_seqlens_q, self.seqused_kv

    def check_mirrors(self) -> None:
        """Raise MirrorError, with the first index, where device and mirror differ and may not. Waits for the device."""
        if self.cu_seqlens_q is not None and self.cu_seqlens_q_cpu is not None:
            compare("cu_seqlens_q", self.cu_seqlens_q, "cu_seqlens_q_cpu", self.cu_seqlens_q_cpu)
        padding = self.bucket is not None and self.mode is Mode.TARGET_VERIFY
        compare("seqused_kv", self.seqused_kv, "seq_lens_cpu_int", self.seq_lens_cpu_int, padding=padding)

    def _replayed(self, bucket: Batch, seq_lens: Source, live_lens: Source | None) -> Tensor:
        """The mirror of one replay, padded rows too."""
        if bucket.mode is not Mode.TARGET_VERIFY:
            if live_lens is not None:
                raise ValueError(f"live_lens: expected None in a replay of {bucket.mode.value}, found lengths")
            more = growth(bucket)
            return self._padded("seq_lens", seq_lens, more, padding=more).clamp(min=1)
        if not bucket.expanded:
            if live_lens is not None:
                raise ValueError("live_lens: expected None where seq_lens are live ones themselves, found lengths")
            draft = block(bucket)
            final = self._padded("seq_lens", seq_lens, draft)
            return torch.where(final > draft, final, 0)
        final = self._padded("seq_lens", seq_lens)
        live = (final - block(bucket)) if live_lens is None else self._padded("live_lens", live_lens)
        return torch.where(live > 0, final, live.clamp(min=0))

    def _padded(self, name: str, source: Source, growth: int = 0, padding: int = 0) -> Tensor:
        found = on_host(name, source, growth)
        missing = self.batch_size - found.shape[0]
        if missing < 0:
            raise ValueError(
                f"{name}: expected at most {self.batch_size} requests, what was captured, found {found.shape[0]}"
            )
        return torch.cat([found, found.new_full((missing,), padding)]) if missing else found

    def _finish(self, scheduler: Scheduler | None) -> ForwardMetadata:
        starts, lengths = self.operands
        if scheduler is not None and starts is not None:
            for kind in scheduler.kinds:
                table = scheduler.table(kind, starts, lengths)
                if self.bucket is None:
                    self.tables[kind.name] = _copied(table, self.seqused_kv.device)
                else:
                    _copy(self.tables[kind.name], table)
        if mirrors_checked():
            self.check_mirrors()
        return self


def _copied(source: Tensor, device: torch.device) -> Tensor:
    """The source as a tensor of the device; a copy to it is enqueued and not waited for."""
    if source.device.type == "cpu" and device.type != "cpu":
        return source.pin_memory().to(device, non_blocking=True)
    return source.clone() if device.type == "cpu" else source


def _copy(target: Tensor, source: Tensor) -> None:
    """Into a buffer on the device, without waiting for it: only from pinned memory can the device copy by itself."""
    if source.device.type == "cpu" and target.device.type != "cpu":
        source = source.pin_memory()
    target.copy_(source, non_blocking=True)


def _check_placement(placement: str) -> None:
    if placement not in ("host", "device"):
        raise ValueError(f"placement: expected host or device, found {placement!r}")
