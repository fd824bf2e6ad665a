// One query's attention, re-computed in the page: compare, scale, mask, softmax, mix.
import {
  bind,
  button,
  figure,
  kept,
  liveRegion,
  radios,
  select,
  stopping,
} from "../kit/kit.js";
import { motion } from "../kit/motion.js";
import { remembered } from "../kit/remembered.js";
import { render as draw } from "../kit/vendor/lit.js";
import { controlsOf, settingsOf, show } from "./controls.js";
import { attend, snap, vectorsOf } from "./maths.js";
import { page, summary } from "./view.js";

const NAMES = [
  ...["tokens", "query", "key", "value", "selected", "visible"],
  ...["scaled", "temperature", "step", "example", "examples"],
];

const SHOW = 2600; // ms in which the query turns to another key and back, once

function render({ model, el }) {
  const get = (name) => model.get(name);
  const root = figure(el, "tfq", "Attention of one query, computed step by step");
  const live = liveRegion({ isShown: true });
  const bound = bind(model, NAMES, () => update());
  const { read, commit, set } = bound;
  let chosen = 0; // the key that the worked line and the key sliders show

  function state() {
    const { query: queries, key: keys, value: values, ...settings } = read();
    const selected = Math.min(settings.selected, settings.tokens.length - 1);
    const query = turned ?? queries[selected];
    return { ...settings, queries, keys, values, selected, query };
  }
  // What a hand could do, shown once; the figure's state stays as it is.
  let turned = null;
  const turn = motion((t) => {
    if (t === 1 && turned === null) return;
    const { queries, keys, selected } = state();
    const from = queries[selected];
    const to = keys[(chosen + 2) % keys.length];
    const share = Math.sin(Math.PI * t) ** 2;
    turned = t < 1 ? from.map((x, i) => x + share * (to[i] - x)) : null;
    update(false);
  });
  const choose = (j, speak = true) => {
    chosen = j;
    update(speak);
  };
  const on = {
    onQuery: (v) => commit({ query: get("query").with(state().selected, v.map(snap)) }),
    onKey(j, v) {
      chosen = j;
      commit({ key: get("key").with(j, v.map(snap)) });
    },
    onChoose: choose,
    onFollow: (j) => chosen !== j && choose(j, false),
    // Let the query see a key, or not; it must see one.
    onSee(j, input) {
      const visible = state().tokens.map((_, i) => get("visible")[i] !== false);
      visible[j] = input.checked;
      if (visible.some(Boolean)) return commit({ visible });
      input.checked = true;
      live.announce("A query must see at least one key, so this one stays.", true);
    },
  };
  const load = (example) => {
    chosen = 0;
    commit({ example, ...settingsOf(get("examples")[example]) });
  };
  function held(name, text) {
    const rows = vectorsOf(text, get("tokens").length);
    if (rows) commit({ [name]: rows });
  }

  const sentences = get("examples").map(({ name }) => name);
  const now = () => ({ query: state().query, key: get("key")[chosen], chosen });
  const parts = {
    ...controlsOf(state(), now, on, bound),
    reset: button("reset", "Start again", () => load(get("example"))),
    sentences: radios("example", "Sentence", sentences, 0, load),
    dragged: kept("keys", (text) => held("key", text)),
    asked: kept("queries", (text) => held("query", text)),
    live,
  };
  const wordsOf = remembered((words) => ({
    asks: radios("query", "Who asks?", words.split("\n"), 0, set("selected")),
    pick: select("key", words.split("\n"), choose),
  }));

  function update(speak = true) {
    const s = state();
    const size = s.tokens.length; // a kernel may send its arrays one by one: wait for all
    if ([s.queries, s.keys, s.values].some((rows) => rows.length !== size)) return;
    chosen = Math.min(chosen, size - 1);
    const result = attend(s);
    const words = wordsOf(s.tokens.join("\n"));
    words.asks.pick(s.selected);
    show(parts, s, chosen);
    draw(page(s, result, chosen, on, { ...parts, ...words }), root);
    words.pick.value = String(chosen);
    if (speak) live.announce(summary(s, result));
  }

  update(false);
  const unseen = whenSeen(root, () => turn.run(SHOW), turn.end);
  return stopping(live, bound, unseen, turn);
}

// Calls `show` when most of a node is in the window for the first time, and `leave` when a
// reader, or a link, begins to use it, before or after; returns what ends the wait.
function whenSeen(node, show, leave) {
  const watch = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watch.disconnect();
      show();
    },
    { threshold: 0.6 },
  );
  const begun = () => {
    watch.disconnect();
    leave();
  };
  for (const name of ["pointerdown", "focusin", "input"])
    node.addEventListener(name, begun, { once: true });
  watch.observe(node);
  return () => watch.disconnect();
}

export default { render };
