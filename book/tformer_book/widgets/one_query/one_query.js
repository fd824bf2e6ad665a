// One query's attention, re-computed in the page: compare, scale, mask, softmax, mix.
// `maths.js` has the whole of the maths. The default export is an anywidget front end.
import {
  bind,
  button,
  check,
  figure,
  h,
  kept,
  liveRegion,
  radios,
  say,
  select,
  slider,
} from "../kit/kit.js";
import { format, percent } from "../kit/numbers.js";
import { attend } from "./maths.js";
import { keyPlane, LIMIT, STEP, valuePlane } from "./planes.js";
import { pair, weightBars, weightTable, work } from "./table.js";

const STEPS = ["Compare", "Scale", "Mask", "Softmax", "Mix"];
const TRAITS = [
  "tokens",
  "query",
  "key",
  "value",
  "selected",
  "visible",
  "scaled",
  "temperature",
  "step",
  "example",
];

const snap = (x) => {
  const inside = Math.min(LIMIT, Math.max(-LIMIT, x));
  return Math.round(Math.round(inside / STEP) * STEP * 100) / 100;
};

function render({ model, el }) {
  const get = (name) => model.get(name);
  const root = figure(el, "tfq", "Attention of one query, computed step by step");
  const live = liveRegion({ isShown: true });

  let parts; // what `update` shows; rebuilt when the words change
  let chosen = 0; // the key that the worked line and the key sliders show

  const state = () => {
    const selected = Math.min(get("selected"), get("tokens").length - 1);
    return {
      tokens: get("tokens"),
      queries: get("query"),
      keys: get("key"),
      values: get("value"),
      selected,
      visible: get("visible"),
      scaled: get("scaled"),
      temperature: get("temperature"),
      query: get("query")[selected],
      step: get("step"),
    };
  };
  const replaced = (rows, index, row) =>
    rows.map((old, i) => (i === index ? row : old));
  const setQuery = (v) => {
    const s = state();
    commit({ query: replaced(s.queries, s.selected, v.map(snap)) });
  };
  const setKey = (v) => commit({ key: replaced(get("key"), chosen, v.map(snap)) });
  const choose = (j, speak = true) => {
    chosen = j;
    update(speak);
  };

  function build() {
    const s = state();
    chosen = Math.min(chosen, s.tokens.length - 1);
    const questions = questionsOf(s.tokens, get("examples"), {
      onLoad: load,
      onAsk: (selected) => commit({ selected }),
    });
    const keys = keyPlane(s.tokens, {
      onQuery: setQuery,
      onKey: (j, v) => {
        chosen = j;
        setKey(v);
      },
      onChoose: choose,
    });
    const values = valuePlane(s.tokens);
    const bars = weightBars(s.tokens);
    const [dragged, asked] = [
      kept("keys", (text) => held("key", text)),
      kept("queries", (text) => held("query", text)),
    ];
    const controls = controlsOf(s, { setQuery, setKey, choose, commit, state: now });
    const step = radios(
      "step",
      "Show up to",
      STEPS.map((name, i) => `${i + 1} ${name}`),
      s.step - 1,
      (i) => commit({ step: i + 1 }),
    );
    const reset = button("reset", "Start again", () => load(get("example")));
    const worked = h("p", { class: "tfq-worked" });
    const table = weightTable(s.tokens, {
      onSee: see,
      onChoose: (j) => chosen !== j && choose(j, false),
    });
    root.replaceChildren(
      questions.node,
      h("div", { class: "tfq-planes" }, keys.node, bars.node, values.node),
      controls.node,
      h("div", { class: "tfq-steps" }, step.set, reset),
      worked,
      table.node,
      live.node,
      dragged.node,
      asked.node,
    );
    parts = {
      questions,
      keys,
      bars,
      values,
      controls,
      step,
      worked,
      table,
      dragged,
      asked,
    };
    root.dataset.words = s.tokens.join(" ");
    update(false);
  }

  // The query and the chosen key, as they are now.
  const now = () => ({ query: state().query, key: get("key")[chosen] });

  // Vectors from a link: as many as there are words, or nothing changes.
  function held(name, text) {
    const rows = text.split(";").map((row) => row.split(",").map(Number));
    const fits = rows.length === state().tokens.length;
    if (fits && rows.every((row) => row.length === 2 && row.every(Number.isFinite)))
      commit({ [name]: rows.map((row) => row.map(snap)) });
  }

  // Let the query see a key, or not; it must see one.
  function see(j, input) {
    const visible = state().tokens.map((_, i) => get("visible")[i] !== false);
    visible[j] = input.checked;
    if (!visible.some(Boolean)) {
      input.checked = true;
      live.announce("A query must see at least one key, so this one stays.", true);
      return;
    }
    commit({ visible });
  }

  function load(index) {
    const examples = get("examples");
    const source = examples[index];
    chosen = 0;
    commit({
      example: index,
      tokens: source.tokens,
      query: source.query,
      key: source.key,
      value: source.value,
      selected: source.selected,
      visible: source.tokens.map(() => true),
      scaled: true,
      temperature: 1,
      step: STEPS.length,
    });
  }

  function update(speak = true) {
    const s = state();
    const size = s.tokens.length; // a kernel may send its arrays one by one: wait for all
    if ([s.queries, s.keys, s.values].some((rows) => rows.length !== size)) return;
    if (root.dataset.words !== s.tokens.join(" ")) return build();
    const result = attend(s);
    parts.questions.show(s.selected, get("example"));
    parts.step.pick(s.step - 1);
    parts.keys.show(s, result, chosen);
    parts.values.show(s, result);
    parts.bars.show(s, result);
    parts.dragged.show(s.keys.map(String).join(";"));
    parts.asked.show(s.queries.map(String).join(";"));
    parts.controls.show(s, chosen);
    parts.table.show(s, result, chosen);
    say(parts.worked, work(s, result, chosen));
    if (speak) live.announce(summary(s, result));
  }

  const { commit, stop } = bind(model, TRAITS, update);
  build();
  return () => {
    live.stop();
    stop();
  };
}

// Which sentence, if there are several, and which of its words asks.
function questionsOf(tokens, examples, { onLoad, onAsk }) {
  const sentence =
    examples.length > 1
      ? radios(
          "example",
          "Sentence",
          examples.map((each) => each.name),
          0,
          onLoad,
        )
      : null;
  const words = radios("query", "Who asks?", tokens, 0, onAsk);
  const node = h(
    "div",
    { class: "tfq-top" },
    ...(sentence ? [sentence.set] : []),
    words.set,
  );
  function show(selected, example) {
    words.pick(selected);
    sentence?.pick(example);
  }
  return { node, show };
}

// The sliders of the query and of the chosen key, and how sharp the softmax is.
// state() -> { query, key }: where the two are.
function controlsOf(s, { setQuery, setKey, choose, commit, state }) {
  const axis = (kind, name, onInput) =>
    slider(
      `${kind}-${name}`,
      name === "x" ? "across" : "up",
      { min: -LIMIT, max: LIMIT, step: STEP, kind: `tfk-${kind}` },
      onInput,
    );
  const queryX = axis("query", "x", (x) => setQuery([x, state().query[1]]));
  const queryY = axis("query", "y", (y) => setQuery([state().query[0], y]));
  const keyX = axis("key", "x", (x) => setKey([x, state().key[1]]));
  const keyY = axis("key", "y", (y) => setKey([state().key[0], y]));
  const queryLegend = h("legend", { class: "tfk-query" });
  const pick = select("key", s.tokens, (j) => choose(j));
  const keyLegend = h(
    "legend",
    { class: "tfk-key" },
    h("label", { for: pick.id }, "Key of "),
    pick,
  );
  const temperature = slider(
    "temperature",
    "temperature",
    { min: 0.1, max: 4, step: 0.1, digits: 1 },
    (x) => commit({ temperature: x }),
  );
  const scaled = check(
    "scaled",
    `divide by √d = ${format(Math.sqrt(s.query.length))}`,
    s.scaled,
    (on) => commit({ scaled: on }),
  );
  const node = h(
    "div",
    { class: "tfq-controls" },
    h("fieldset", {}, queryLegend, queryX.box, queryY.box),
    h("fieldset", {}, keyLegend, keyX.box, keyY.box),
    h("fieldset", {}, h("legend", {}, "Sharpness"), temperature.box, scaled.box),
  );

  function show(s, chosen) {
    const asker = s.tokens[s.selected];
    say(queryLegend, `Query of “${asker}”`);
    const sliders = [
      [queryX, s.query[0], `query of ${asker}`],
      [queryY, s.query[1], `query of ${asker}`],
      [keyX, s.keys[chosen][0], `key of ${s.tokens[chosen]}`],
      [keyY, s.keys[chosen][1], `key of ${s.tokens[chosen]}`],
    ];
    for (const [control, value, owner] of sliders) {
      control.show(value);
      control.input.setAttribute("aria-label", `${owner}, ${control.text.textContent}`);
    }
    pick.value = String(chosen);
    temperature.show(s.temperature);
    scaled.input.checked = s.scaled;
  }
  return { node, show };
}

function summary(s, result) {
  const best = s.tokens
    .map((token, j) => [result.weights[j], token])
    .sort((a, b) => b[0] - a[0])
    .slice(0, 2)
    .map(([w, token]) => `${token} ${percent(w, 0)}`)
    .join(", ");
  return `${s.tokens[s.selected]} attends to ${best}. Output ${pair(result.output)}.`;
}

export default { render };
