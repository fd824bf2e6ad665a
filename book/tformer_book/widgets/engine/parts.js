// The parts that a page has, by the names of tformer/parts.py, where there are more; the
// first of each kind is the paper's.
import { MultiHeadAttention } from "./attention.js";
import { FeedForward } from "./feedforward.js";
import { LayerNorm } from "./norm.js";
import { LearnedPositions, SinusoidalPositions } from "./positions.js";
import { NoPositions, RotaryAttention } from "./rotary.js";

export const PARTS = {
  positions: {
    sinusoidal: SinusoidalPositions,
    learned: LearnedPositions,
    rotary: NoPositions,
    none: NoPositions,
  },
  norm_kind: { layer: LayerNorm },
  attention: { "multi-head": MultiHeadAttention },
  feed_forward: { plain: FeedForward },
};
const INSIDE = { rotary: RotaryAttention }; // positions that act in self-attention

export const makePositions = ({ positions, d_model, max_len }) =>
  new PARTS.positions[positions](d_model, max_len);

export const makeSelfAttention = ({ positions, attention, d_model, n_heads }) =>
  new (INSIDE[positions] ?? PARTS.attention[attention])(d_model, n_heads);
