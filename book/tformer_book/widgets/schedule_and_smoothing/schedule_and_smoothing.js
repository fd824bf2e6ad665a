// Two curves of a training run to drag: the learning rate, and the target of the loss.
import { bind, figure, liveRegion, stopping } from "../kit/kit.js";
import { schedulePart } from "./schedule.js";
import { smoothingPart } from "./smoothing.js";

const LABELS = {
  schedule: "The learning rate, to drag",
  smoothing: "Label smoothing, to drag",
};
const RATE = ["d_model", "warmup_steps", "scale", "total_steps", "step", "log_steps"];
const LOSS = ["epsilon", "vocab_size", "spread", "logits", "log_bars"];

function render({ model, el }) {
  const part = model.get("part");
  const label = LABELS[part] ?? "Learning rate and label smoothing, to drag";
  const root = figure(el, "tfss", label);
  const get = (name) => model.get(name);
  const live = liveRegion();
  const parts = [];
  const bound = bind(model, [...RATE, ...LOSS], () =>
    parts.forEach((each) => each.update()),
  );
  if (part !== "smoothing") parts.push(schedulePart(get, bound, live));
  if (part !== "schedule") parts.push(smoothingPart(get, bound, live));
  root.append(...parts.map((each) => each.node), live.node);
  parts.forEach((each) => each.update(false));
  return stopping(live, bound);
}

export default { render };
