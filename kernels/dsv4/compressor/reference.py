"""dsv4.compressor in plain PyTorch: the meaning that every other implementation is tested against."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import reference_checks_values
from confbag.kernels.dsv4.compressor.operands import CONTINUOUS, PAIRS, Operands, Sizes, check
from confbag.kernels.dsv4.compressor.rows import produced_rows
from confbag.kernels.dsv4.compressor.values import check_values


def compressor(
    x: Tensor,
    wkv: Tensor,
    wgate: Tensor,
    state_cache: Tensor,
    ape: Tensor,
    norm_weight: Tensor,
    rope_sin: Tensor,
    rope_cos: Tensor,
    state_block_table: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    seqused: Tensor | None = None,
    start_pos: Tensor | None = None,
    rope_head_dim: int = 64,
    cmp_ratio: int = 4,
    coff: int = 1,
    norm_eps: float = 1e-6,
    rotary_mode: int = 1,
    cache_mode: int = 1,
    state_cache_stride_dim0: int = 0,
) -> Tensor:
    """See the contract. Rows that nobody produces are zero. Never waits for a device, except to check values."""
    given = Operands(
        x,
        wkv,
        wgate,
        state_cache,
        ape,
        norm_weight,
        rope_sin,
        rope_cos,
        state_block_table,
        cu_seqlens,
        seqused,
        start_pos,
        rope_head_dim,
        cmp_ratio,
        coff,
        norm_eps,
        rotary_mode,
        cache_mode,
        state_cache_stride_dim0,
    )
    sizes = check(given)
    if reference_checks_values(x):
        check_values(sizes, given)
    if sizes.empty:
        return x.new_zeros(sizes.result)
    return _compressed(sizes, given)


@torch.no_grad()
def _compressed(sizes: Sizes, given: Operands) -> Tensor:
    x, cmp_ratio, coff = given.x, given.cmp_ratio, given.coff
    chunk = _Chunk.of(sizes, given)
    state = given.state_cache.view(-1, given.state_cache.shape[2])
    token = torch.arange(sizes.tokens, device=x.device)
    request = chunk.request_of(token)
    position = chunk.start[request] + token - chunk.first[request]

    new = _project(x.reshape(sizes.tokens, -1), torch.cat([given.wkv, given.wgate]))
    width = coff * sizes.head_dim
    new[:, width:] += given.ape[position % cmp_ratio]

    owner, group, produced = chunk.rows()
    kept, scores = [], []
    for role in range(coff):
        # With coff 2 the first D channels are a token's as the previous group, the last D its own group's.
        of = (group - (coff - 1 - role)) * cmp_ratio
        places = of[:, None] + torch.arange(cmp_ratio, device=x.device)
        kv, score = chunk.read(places, owner, produced, new, state, role * sizes.head_dim, width)
        kept.append(kv)
        scores.append(score)
    weights = torch.cat(scores, 1).softmax(1)
    compressed = (weights * torch.cat(kept, 1)).sum(1)
    compressed = (
        given.norm_weight * compressed / torch.sqrt(compressed.square().mean(-1, keepdim=True) + given.norm_eps)
    )
    if given.rope_head_dim:
        plain = sizes.head_dim - given.rope_head_dim
        sin, cos = (rope.reshape(-1, given.rope_head_dim) for rope in (given.rope_sin, given.rope_cos))
        rotated = _rotate(compressed[:, plain:], sin, cos, given.rotary_mode)
        compressed = torch.cat([compressed[:, :plain], rotated], 1)
    # Every read is done: a ring may give the rows of this chunk the places of those that were read.
    chunk.write(request, position, token, new, state)
    return torch.where(produced[:, None], compressed, 0).to(x.dtype).view(sizes.result)


@dataclass(frozen=True)
class _Chunk:
    """Where the tokens of one call are. first: each request's first token in x. start, used, end: its positions."""

    sizes: Sizes
    table: Tensor
    first: Tensor
    start: Tensor
    used: Tensor
    cmp_ratio: int
    coff: int
    cache_mode: int

    @classmethod
    def of(cls, sizes: Sizes, given: Operands) -> _Chunk:
        table = given.state_block_table
        assert table is not None
        if given.cu_seqlens is None:
            bounds = torch.arange(sizes.batch + 1, device=table.device) * (sizes.sequence or 0)
        else:
            bounds = given.cu_seqlens.long()
        first = bounds[:-1]
        used = bounds.diff() if given.seqused is None else given.seqused.long()
        start = torch.zeros_like(first) if given.start_pos is None else given.start_pos.long()
        return cls(sizes, table, first, start, used, given.cmp_ratio, given.coff, given.cache_mode)

    @property
    def end(self) -> Tensor:
        return self.start + self.used

    def request_of(self, token: Tensor) -> Tensor:
        """The request of each token: the last one that begins at or before it (an empty one begins where it ends)."""
        return torch.searchsorted(self.first, token, right=True) - 1

    def rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """For each row of the result its request, its group, and whether it is produced."""
        counts = produced_rows(self.start, self.used, self.cmp_ratio)
        row = torch.arange(self.sizes.rows, device=self.table.device)
        if self.sizes.sequence is None:
            ends = counts.cumsum(0)
            owner = torch.searchsorted(ends, row, right=True).clamp(max=self.sizes.batch - 1)
            ordinal = row - (ends - counts)[owner]
        else:
            per_request = self.sizes.rows // self.sizes.batch
            owner, ordinal = row // per_request, row % per_request
        return owner, (self.start // self.cmp_ratio)[owner] + ordinal, ordinal < counts[owner]

    def read(
        self, places: Tensor, owner: Tensor, produced: Tensor, new: Tensor, state: Tensor, at: int, width: int
    ) -> tuple[Tensor, Tensor]:
        """kv and score of the positions `places` of each row's request: of this chunk, of the state, or of nobody."""
        head_dim, requests = self.sizes.head_dim, owner[:, None].expand_as(places)
        offset = places - self.start[requests]
        real = produced[:, None] & (places >= 0)
        here = real & (offset >= 0)
        stored = real & (offset < 0)
        token = torch.where(here, self.first[requests] + offset, 0)
        row = torch.where(stored, self.row_of(requests, places, stored), 0)
        columns = [slice(start, start + head_dim) for start in (at, width + at)]
        kv, score = (torch.where(here[..., None], new[:, column][token], state[:, column][row]) for column in columns)
        return torch.where(real[..., None], kv, 0), torch.where(real[..., None], score, -torch.inf)

    def row_of(self, request: Tensor, position: Tensor, asked: Tensor) -> Tensor:
        """The state row of a position of a request, where it is asked for."""
        if self.cache_mode == CONTINUOUS:
            size = self.sizes.block_size
            column = torch.where(asked, position // size, 0)
            return self.table[request, column].long() * size + position % size
        column = torch.where(asked, self.coff * self.cmp_ratio + position - self.start[request], 0)
        return self.table[request, column].long()

    def write(self, request: Tensor, position: Tensor, token: Tensor, new: Tensor, state: Tensor) -> None:
        """Keep the rows of this chunk that the cache mode keeps, the later one where two have one place."""
        kept = token - self.first[request] < self.used[request]
        if self.cache_mode != CONTINUOUS:
            unfinished = (self.end // self.cmp_ratio - (self.coff - 1)) * self.cmp_ratio
            kept &= position >= unfinished[request]
        row = self.row_of(request, position, kept)
        if self.cache_mode == CONTINUOUS:
            kept &= row >= self.sizes.block_size
        row = torch.where(kept, row, 0)
        last = torch.full((state.shape[0],), -1, dtype=torch.int64, device=state.device)
        last.scatter_reduce_(0, row, torch.where(kept, token, -1), "amax")
        # Every token writes, so that no mask is read: what is not kept writes what row 0 holds in the end anyway, and
        # all that write to one row write the same.
        winner = last[row]
        state[row] = torch.where((winner >= 0)[:, None], new[winner.clamp(min=0)], state[row])


def _project(x: Tensor, weights: Tensor) -> Tensor:
    """Each token by the weights, in float32; a product for each, so that no token's depends on the batch."""
    wide = weights.float()
    return torch.stack([wide.mv(token.float()) for token in x])


def _rotate(y: Tensor, sin: Tensor, cos: Tensor, rotary_mode: int) -> Tensor:
    if rotary_mode == PAIRS:
        quarter_turn = torch.stack([-y[:, 1::2], y[:, 0::2]], -1).flatten(1)
    else:
        half = y.shape[1] // 2
        quarter_turn = torch.cat([-y[:, half:], y[:, :half]], 1)
    return y * cos + quarter_turn * sin
