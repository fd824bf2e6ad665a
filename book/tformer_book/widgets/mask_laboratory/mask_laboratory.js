// Masks at work: scores, masked scores, weights, outputs, in float32 or float16.
// `half`, `makeMask`, `attend`, `changed` and `diagnose` are all of the maths; they run
// in Node, and the tests hold them to PyTorch and `tformer.attention`.
import { grid } from "../kit/grid.js";
import {
  bind,
  button,
  choice,
  figure,
  h,
  kept,
  liveRegion,
  put,
  radios,
  say,
  select,
  textTable,
  toggle,
} from "../kit/kit.js";
import { format } from "../kit/numbers.js";

// The nearest float16, ties to even, as PyTorch rounds; too large becomes infinite.
export function half(number) {
  const x = Math.fround(number);
  if (!Number.isFinite(x) || x === 0) return x;
  const size = Math.abs(x);
  let power = Math.floor(Math.log2(size));
  if (size >= 2 ** (power + 1)) power++;
  if (size < 2 ** power) power--;
  const step = 2 ** (Math.max(power, -14) - 10); // between neighbours; exact division
  const whole = Math.floor(size / step);
  const rest = size / step - whole;
  const near =
    (rest > 0.5 || (rest === 0.5 && whole % 2 === 1) ? whole + 1 : whole) * step;
  return Math.sign(x) * (near > 65504 ? Infinity : near);
}

export const PRECISIONS = { float32: Math.fround, float16: half };
export const FILLS = {
  "−∞": () => -Infinity,
  "−1e9": () => -1e9,
  "−1e4": () => -1e4,
  "dtype’s minimum": (precision) =>
    precision === "float16" ? -65504 : -3.4028234663852886e38,
};

// True = may attend. flips: cells (i * Tk + j) that the reader changed by hand.
export function makeMask(site, { causal, padding, hideQueries = false, flips = [] }) {
  const hand = new Set(flips);
  return site.queries.map((_, i) =>
    site.keys.map((__, j) => {
      const may =
        !(causal && j > i) &&
        !(padding && !site.real_keys[j]) &&
        !(hideQueries && !site.real_queries[i]);
      return hand.has(i * site.keys.length + j) ? !may : may;
    }),
  );
}

// softmax(masked scores) V, row by row, every stored number rounded to the precision.
export function attend({ scores, values, mask, fill = "−∞", precision = "float32" }) {
  const round = PRECISIONS[precision];
  const low = round(FILLS[fill](precision));
  const masked = scores.map((row, i) =>
    row.map((s, j) => (mask[i][j] ? round(s) : low)),
  );
  const weights = masked.map((row) => {
    const top = Math.max(...row);
    const powers = row.map((s) => Math.exp(s - top)); // −∞ − (−∞) is NaN, as in PyTorch
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((p) => round(p / total));
  });
  const outputs = weights.map((row) =>
    values[0].map((_, c) =>
      round(row.reduce((sum, w, j) => sum + w * round(values[j][c]), 0)),
    ),
  );
  return { masked, weights, outputs };
}

// The same site with another token at position j: its key, its value and, where queries
// come from the same tokens, its query are new.
export function changed(site, j) {
  if (j < 0) return site;
  const scores = site.scores.map((row, i) =>
    row.map((s, k) => (k === j || (site.self && i === j) ? 1.5 - s : s)),
  );
  return {
    ...site,
    scores,
    values: site.values.map((v, k) => (k === j ? v.map((x) => 1 - x) : v)),
  };
}

// How far each output row moves when token j changes: 0 exactly, where it cannot reach.
export function moved(site, options) {
  const before = attend({ ...site, ...options }).outputs;
  const other = changed(site, options.change);
  const after = attend({ ...other, ...options }).outputs;
  return before.map((row, i) =>
    Math.max(...row.map((x, c) => Math.abs(after[i][c] - x))),
  );
}

// What is wrong with a mask at this place, in words; empty if nothing is.
export function diagnose(site, { mask, fill, precision }) {
  const right = makeMask(site, site);
  const count = { future: 0, padding: 0, hidden: 0 };
  const empty = [];
  mask.forEach((row, i) => {
    if (!row.some(Boolean)) empty.push(i);
    row.forEach((may, j) => {
      if (may && !right[i][j])
        count[site.real_keys[j] && site.causal ? "future" : "padding"]++;
      if (!may && right[i][j]) count.hidden++;
    });
  });
  const cells = (n) => (n === 1 ? "1 cell" : `${n} cells`);
  const found = [];
  if (count.future)
    found.push(
      `The future leaks through ${cells(count.future)}: in training, the answer is on the table.`,
    );
  if (count.padding)
    found.push(
      `Padding is seen through ${cells(count.padding)}: the output depends on how long the batch is.`,
    );
  if (count.hidden) found.push(`${cells(count.hidden)} hide something real.`);
  if (empty.length) {
    const who = empty.map((i) => `“${site.queries[i]}”`).join(", ");
    found.push(
      `${who} may attend to nothing: ` +
        (PRECISIONS[precision](FILLS[fill](precision)) === -Infinity
          ? "∞ − ∞ makes the row NaN, loudly."
          : "all scores are equal, so the row is uniform, silently wrong, over hidden keys, too."),
    );
  }
  if (precision === "float16" && fill === "−1e9") {
    found.push(
      "float16 ends at 65504: PyTorch refuses to fill with −1e9, and an added −1e9 has become −∞.",
    );
  }
  return found;
}

const STAGES = ["1 Scores", "2 Masked scores", "3 Weights"];
const short = (x) =>
  x < -1000 && x !== -Infinity
    ? `−${Math.abs(x).toExponential(0).replace("e+", "e")}`
    : format(x);
const NAMES = [
  "sites",
  "site",
  "causal",
  "padding",
  "hide_queries",
  "flips",
  "fill",
  "precision",
  "stage",
  "change",
];

function render({ model, el }) {
  const root = figure(el, "tfml", "Masks: who may attend to whom");
  const live = liveRegion();
  const get = (name) => model.get(name);
  const current = () => get("sites")[Math.min(get("site"), get("sites").length - 1)];
  const options = () => ({
    causal: get("causal"),
    padding: get("padding"),
    hideQueries: get("hide_queries"),
    flips: get("flips"),
    fill: get("fill"),
    precision: get("precision"),
    change: Math.min(get("change"), current().keys.length - 1),
  });
  const { commit, stop } = bind(model, NAMES, () => update());
  const reset = (extra = {}) => {
    const site = extra.site === undefined ? current() : get("sites")[extra.site];
    commit({
      causal: site.causal,
      padding: site.padding,
      hide_queries: false,
      flips: [],
      change: -1,
      ...extra,
    });
  };

  const sites = radios(
    "site",
    "Where?",
    get("sites").map((s) => s.name),
    get("site"),
    (site) => reset({ site }),
  );
  const causal = toggle("causal", "no future", get("causal"), (on) =>
    commit({ causal: on, flips: [] }),
  );
  const padding = toggle("padding", "no padding", get("padding"), (on) =>
    commit({ padding: on, flips: [] }),
  );
  const queries = toggle("queries", "no padded queries", get("hide_queries"), (on) =>
    commit({ hide_queries: on, flips: [] }),
  );
  const fill = radios("fill", "Fill with", Object.keys(FILLS), 0, (i) =>
    commit({ fill: Object.keys(FILLS)[i] }),
  );
  const precision = radios("precision", "in", Object.keys(PRECISIONS), 0, (i) =>
    commit({ precision: Object.keys(PRECISIONS)[i] }),
  );
  const stage = radios("stage", "Show", STAGES, get("stage") - 1, (i) =>
    commit({ stage: i + 1 }),
  );
  const heading = h("p", { class: "tfml-heading" });
  let picker = h("span");
  const changeBox = h("span");
  const map = grid("Queries by keys; Space allows or forbids a cell", {
    rowAxis: "query",
    columnAxis: "key",
    onMove: () => say(where, cellText(...map.at())),
    onPick: (i, j) => {
      const cell = i * current().keys.length + j;
      const flips = get("flips");
      commit({
        flips: flips.includes(cell)
          ? flips.filter((x) => x !== cell)
          : [...flips, cell],
      });
    },
  });
  const where = h("p", { class: "tfml-where" });
  const judged = h("p", { class: "tfml-judged" });
  const verdict = h("ul", { class: "tfml-verdict" });
  const cells = kept("flips", (text) => {
    const site = current();
    const most = site.queries.length * site.keys.length;
    const flips = text.split(",").filter(Boolean).map(Number);
    if (flips.every((cell) => Number.isInteger(cell) && cell >= 0 && cell < most))
      commit({ flips });
  });
  const behind = textTable("The same as a table: weights", "query");
  const rows = Math.max(...get("sites").map((s) => s.queries.length));
  root.style.setProperty("--rows", rows); // the page below stays where it is
  root.append(
    sites.set,
    choice(
      "Mask",
      causal.box,
      padding.box,
      queries.box,
      button("reset", "The right mask", () => reset()),
    ),
    h("div", { class: "tfml-row" }, fill.set, precision.set),
    h(
      "div",
      { class: "tfml-row" },
      stage.set,
      h(
        "label",
        { class: "tfml-change" },
        h("span", {}, "Change the token "),
        changeBox,
      ),
    ),
    heading,
    h(
      "div",
      { class: "tfml-both" },
      h(
        "div",
        { class: "tfml-map" },
        h(
          "p",
          { class: "tfml-hint" },
          "Click a cell (or press Space) to allow or forbid it.",
        ),
        map.node,
      ),
      h("div", { class: "tfml-beside" }, judged, verdict),
    ),
    where,
    cells.node,
    behind.node,
    live.node,
  );

  let seen = { weights: [], masked: [], mask: [] };
  function cellText(i, j) {
    const site = current();
    const state = seen.mask[i][j] ? "may see" : "may not see";
    return (
      `“${site.queries[i]}” ${state} “${site.keys[j]}”: score ${format(site.scores[i][j])}, ` +
      `masked ${short(seen.masked[i][j])}, weight ${format(seen.weights[i][j], 3)}.`
    );
  }

  function update(speak = true) {
    const given = current();
    const o = options();
    const site = changed(given, o.change);
    const mask = makeMask(given, o);
    const { masked, weights, outputs } = attend({ ...site, ...o, mask });
    const shift = moved(given, { ...o, mask });
    seen = { mask, masked, weights };

    sites.pick(get("site"));
    fill.pick(Object.keys(FILLS).indexOf(o.fill));
    precision.pick(Object.keys(PRECISIONS).indexOf(o.precision));
    stage.pick(get("stage") - 1);
    for (const [control, on] of [
      [causal, o.causal],
      [padding, o.padding],
      [queries, o.hideQueries],
    ])
      control.input.checked = on;
    const noPads = given.real_keys.every(Boolean);
    padding.input.disabled = noPads;
    queries.input.disabled = given.real_queries.every(Boolean);
    causal.input.disabled = !given.self;
    if (changeBox.dataset.names !== given.keys.join(" ")) {
      changeBox.dataset.names = given.keys.join(" ");
      picker = select(
        "change",
        ["none", ...given.keys.map((key, j) => `${j + 1}: ${key}`)],
        (i) => commit({ change: i - 1 }),
      );
      changeBox.replaceChildren(picker);
    }
    picker.value = String(o.change + 1);
    say(heading, given.about);

    const table = [site.scores, masked, weights][get("stage") - 1];
    const finite = table.flat().filter((x) => Number.isFinite(x) && x > -1000);
    const [low, high] =
      get("stage") === 3 ? [0, 1] : [Math.min(...finite), Math.max(...finite)];
    map.show({
      rows: given.queries,
      columns: given.keys,
      extra: ["moved by"],
      cell: (i, j) => {
        const x = table[i][j];
        return {
          text:
            get("stage") === 3
              ? Number.isNaN(x)
                ? "NaN"
                : x === 0
                  ? "0"
                  : format(x)
              : short(x),
          label:
            `query ${given.queries[i]}, key ${given.keys[j]}, ${mask[i][j] ? "allowed" : "forbidden"}, ` +
            `${["score", "masked score", "weight"][get("stage") - 1]} ${get("stage") === 3 ? format(x, 3) : short(x)}`,
          share:
            Number.isNaN(x) || x < -1000
              ? 0
              : high > low
                ? (x - low) / (high - low)
                : 0,
          off: !mask[i][j] && get("stage") > 1 && !(x > 0 && get("stage") === 3),
          mark: [
            !mask[i][j] && "tfml-forbidden",
            Number.isNaN(x) && "tfml-nan",
            j === o.change && "tfml-changed",
          ]
            .filter(Boolean)
            .join(" "),
          exact: weights[i][j],
        };
      },
      beside: (i) => [
        o.change < 0
          ? "–"
          : Number.isNaN(shift[i])
            ? "NaN"
            : shift[i] === 0
              ? "0"
              : shift[i].toFixed(3),
      ],
    });
    map.table.dataset.outputs = JSON.stringify(outputs);
    map.table.dataset.moved = JSON.stringify(shift.map(String));

    const found = diagnose(given, { mask, fill: o.fill, precision: o.precision });
    const notes = found.length
      ? found
      : [
          "This is the right mask for this place: every real key that may be known is seen, and nothing else.",
        ];
    if (o.change >= 0) {
      const rows = shift
        .map((x, i) => (x === 0 ? null : given.queries[i]))
        .filter((x) => x !== null);
      notes.push(
        `Another token instead of “${given.keys[o.change]}” moves ${rows.length} of ${shift.length} output rows` +
          (rows.length ? `: ${rows.join(", ")}.` : ". Nothing depends on it."),
      );
    }
    cells.show(o.flips.join(","));
    verdict.classList.toggle("tfml-wrong", found.length > 0);
    put(judged, { "data-right": found.length === 0 });
    say(judged, found.length ? "✗ A wrong mask" : "✓ The right mask");
    if (verdict.dataset.text !== notes.join("\n")) {
      verdict.dataset.text = notes.join("\n");
      verdict.replaceChildren(...notes.map((text) => h("li", {}, text)));
    }
    say(where, cellText(...map.at()));
    behind.show(
      given.keys,
      given.queries.map((name, i) => [name, ...weights[i].map((w) => format(w, 3))]),
    );
    if (speak) live.announce(notes.join(" "));
  }

  update(false);
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
