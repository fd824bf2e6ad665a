"""The key/value cache: what a decoder need not recompute while it writes.

Source: Vaswani et al. 2017, section 3.1 (each position sees the past only, so the past
stays as it is). Chapter *The decoder*.
"""

from torch import Tensor

ROOM = 8  # spare positions that a growing tensor reserves when it is reallocated


class Growing:
    """A tensor that grows into memory reserved at its end, so that nothing moves.

    In memory a row's positions lie one after the other, each with all its heads, so
    what a row has so far is contiguous, and `select` copies it at once.
    """

    def __init__(self) -> None:
        self.length = 0
        self._room: Tensor | None = None  # (B, length + spare positions, H, Dh)

    def append(self, new: Tensor) -> Tensor:
        """Add new positions, (B, H, n, Dh); return all so far, (B, H, T, Dh)."""
        end = self.length + new.size(-2)
        if self._room is None:
            self._room = self._wider(new.transpose(1, 2), end)
        elif end > self._room.size(1):
            old = self._room[:, : self.length]
            self._room = self._wider(old, end)
            self._room[:, : self.length] = old
        self._room[:, self.length : end] = new.transpose(1, 2)
        self.length = end
        return self._room[:, :end].transpose(1, 2)

    def select(self, rows: Tensor) -> Tensor:
        """Keep (and reorder) rows; return all that is left, (rows, H, T, Dh)."""
        assert self._room is not None
        self._room = self._room.index_select(0, rows)
        return self._room[:, : self.length].transpose(1, 2)

    @staticmethod
    def _wider(like: Tensor, length: int) -> Tensor:
        return like.new_empty(len(like), length + ROOM, *like.shape[2:])


class LayerCache:
    """What one decoder layer need not recompute while a translation grows.

    It is overwritten as it grows, so no gradient may pass through it.

    Attributes:
        target: keys and values of the target so far, each (B, H, T, Dh).
        memory: keys and values of the source, each (B, H, S, Dh); made at first use.
            Neighbouring rows that translate the same source share one row of these.
        source_mask: bool, (B, 1, 1, S), for the rows of the memory; None if the whole
            source may be seen.
    """

    def __init__(self) -> None:
        self.target: tuple[Tensor, Tensor] | None = None
        self.memory: tuple[Tensor, Tensor] | None = None
        self.source_mask: Tensor | None = None
        self._keys, self._values = Growing(), Growing()

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new positions' keys and values; return those of all so far."""
        self.target = self._keys.append(key), self._values.append(value)
        return self.target

    def select(self, rows: Tensor, sources: Tensor | None) -> None:
        """Keep (and reorder) rows of the target, and rows of the memory.

        Args:
            rows: (rows,) int64, which old row each new one continues.
            sources: likewise for the memory; None if it stays as it is.
        """
        if self.target is not None:
            self.target = self._keys.select(rows), self._values.select(rows)
        if self.memory is not None and sources is not None:
            self.memory = (self.memory[0][sources], self.memory[1][sources])
            if self.source_mask is not None:
                self.source_mask = self.source_mask[sources]


class Cache:
    """The key/value cache of a whole decoder: one `LayerCache` per layer.

    Args:
        n_layers: number of decoder layers.

    Attributes:
        width: how many neighbouring rows share a row of the memory.
    """

    def __init__(self, n_layers: int) -> None:
        self.layers = [LayerCache() for _ in range(n_layers)]
        self.width = 1

    @property
    def length(self) -> int:
        """Target positions already in the cache."""
        target = self.layers[0].target
        return 0 if target is None else target[0].size(-2)

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep (and reorder) rows of the batch, as a beam does after each step.

        Args:
            rows: (rows,) int64, which old row each new one continues.
            same_sources: the rows keep their sources, so the memory stays as it is.
        """
        sources = None if same_sources else self._regroup(rows)
        for layer in self.layers:
            layer.select(rows, sources)

    def _regroup(self, rows: Tensor) -> Tensor:
        """Which rows of the memory to keep: one for each group of equal size, if any.

        This depends on values, and reading them would stall a GPU.
        """
        sources = rows // self.width
        self.width = 1
        if rows.device.type == "cpu":
            each, sizes = sources.unique_consecutive(return_counts=True)
            if len(sizes) and bool((sizes == sizes[0]).all()):
                self.width = int(sizes[0])
                return each
        return sources


def needed(mask: Tensor | None) -> Tensor | None:
    """The mask, or None if it hides nothing (checked on the CPU only)."""
    if mask is None or mask.device.type != "cpu":
        return mask
    return None if bool(mask.all()) else mask
