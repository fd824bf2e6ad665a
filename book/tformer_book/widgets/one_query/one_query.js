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
import { remembered } from "../kit/remembered.js";
import { render as draw } from "../kit/vendor/lit.js";
import { controlsOf, settingsOf, show } from "./controls.js";
import { attend, snap, vectorsOf } from "./maths.js";
import { page, summary } from "./view.js";

const NAMES = [
  ...["tokens", "query", "key", "value", "selected", "visible"],
  ...["scaled", "temperature", "step", "example", "examples"],
];

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
    return { ...settings, queries, keys, values, selected, query: queries[selected] };
  }
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
  return stopping(live, bound);
}

export default { render };
