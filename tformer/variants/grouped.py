"""Grouped queries: several heads of queries share one head of keys and values.

Source: Shazeer 2019 (one group), Ainslie et al. 2023. Chapter *What came after*.
"""

from torch import Tensor, nn

from tformer.attention import MultiHeadAttention, attention


def grouped_attention(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """`tformer.attention.attention`, for fewer heads of keys than of queries.

    query is (B, H, Tq, Dh), key and value (B, G, Tk, Dh). Neighbours share: the first
    H / G heads of queries use the first head of keys, and so on.
    """
    return attention(query, *_shared(query, key, value), mask=mask)


def _shared(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values, each head repeated for its share of the heads of queries."""
    share = query.size(-3) // key.size(-3)
    return key.repeat_interleave(share, -3), value.repeat_interleave(share, -3)


class GroupedAttention(MultiHeadAttention):
    """Keys and values of ``n_groups`` heads. A part for either attention.

    While decoding, the cache holds these few heads: they are repeated after it.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_groups: int) -> None:
        super().__init__(d_model, n_heads)
        self.n_groups = n_groups
        width = d_model // n_heads * n_groups
        self.to_key = nn.Linear(d_model, width)
        self.to_value = nn.Linear(d_model, width)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `MultiHeadAttention.project`, with fewer heads of keys and values."""
        return self.project_query(x), *self.project_memory(x)

    def project_memory(
        self, key: Tensor, value: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `MultiHeadAttention.project_memory`: each (B, G, Tk, Dh)."""
        pair = self.to_key(key), self.to_value(key if value is None else value)
        keys, values = (x.unflatten(-1, (self.n_groups, -1)) for x in pair)
        return keys.transpose(-3, -2), values.transpose(-3, -2)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
    ) -> Tensor:
        """As `MultiHeadAttention.attend`, each head of keys used several times."""
        return super().attend(query, *_shared(query, key, value), mask=mask)
