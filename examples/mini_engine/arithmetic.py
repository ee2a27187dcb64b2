"""Arithmetic whose rounding no batch can change: a token's numbers never depend on which rows it shares a call with.

A matmul library picks its kernel, and with it the order of its additions, by the shape of the whole batch; a near tie
between two logits then falls another way, and speculation or a second request changes the text. Here every product and
every sum is an elementwise operation, which IEEE 754 rounds in one way only, and the sums follow one fixed tree. What
IEEE 754 does not fix (`exp`) is computed a row at a time, always in one shape. It costs speed, which a demonstration
has to spare.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Rows are independent, so a long prompt may be cut anywhere; this bounds the products that exist at one time.
ROWS_AT_ONCE = 64


def tree_sum(terms: Tensor) -> Tensor:
    """The sum over dimension 1 of terms [rows, count, width], halves added to halves. Overwrites `terms`."""
    while (count := terms.shape[1]) > 1:
        half = count // 2
        terms[:, :half].add_(terms[:, half : 2 * half])
        if count % 2:
            terms[:, 0].add_(terms[:, count - 1])
        terms = terms[:, :half]
    return terms[:, 0]


def linear(rows: Tensor, weight: Tensor) -> Tensor:
    """rows [n, inputs] times weight [inputs, outputs]."""
    blocks = [tree_sum(block.unsqueeze(2) * weight) for block in torch.split(rows, ROWS_AT_ONCE)]
    return torch.cat(blocks)


def rms_norm(rows: Tensor, gain: Tensor, epsilon: float = 1e-6) -> Tensor:
    """Each row over the root of its mean square. Roots and quotients are rounded correctly; `rsqrt` need not be."""
    mean_square = tree_sum((rows * rows).unsqueeze(2)) / rows.shape[1]
    return rows / torch.sqrt(mean_square + epsilon) * gain


def silu(rows: Tensor) -> Tensor:
    """x * sigmoid(x), one row a call: the vector loop's `exp` and its scalar tail's may differ in the last bit."""
    return torch.stack([torch.nn.functional.silu(row) for row in rows])


def rotate(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions: heads [n, heads, size], cosine and sine [n, size / 2]; a pair is one entry of each half."""
    cosine, sine = cosine.unsqueeze(1), sine.unsqueeze(1)
    first, second = heads.chunk(2, dim=2)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=2)
