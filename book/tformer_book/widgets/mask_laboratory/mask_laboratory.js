// Masks to try out: who may attend to whom, and what comes of it.
import { grid } from "../kit/grid.js";
import {
  bind,
  button,
  choice,
  figure,
  h,
  kept,
  liveRegion,
  oneOf,
  radios,
  say,
  showAll,
  stopping,
  textTable,
  toggle,
} from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { FILLS, PRECISIONS } from "./maths.js";
import { computed, mapOf, notesOf, STAGES, tellOfCell } from "./view.js";

const NAMES = [
  ...["sites", "site", "causal", "padding", "hide_queries"],
  ...["flips", "fill", "precision", "stage", "change"],
];

// The cells that a link names, or nothing where they do not fit the place.
function flipsIn(text, site) {
  const flips = text.split(",").filter(Boolean).map(Number);
  const most = site.queries.length * site.keys.length;
  const fits = (cell) => Number.isInteger(cell) && cell >= 0 && cell < most;
  return flips.every(fits) ? flips : null;
}

// What changes the state; `show` follows it.
function controlsOf(get, current, { commit, set }) {
  const reset = (site, more = {}) => {
    const { causal, padding } = site;
    commit({ causal, padding, hide_queries: false, flips: [], change: -1, ...more });
  };
  const names = get("sites").map(({ name }) => name);
  const sites = radios("site", "Where?", names, get("site"), (i) =>
    reset(get("sites")[i], { site: i }),
  );
  const rule = (name, text, trait) =>
    toggle(name, text, get(trait), (on) => commit({ [trait]: on, flips: [] }));
  const options = {
    causal: rule("causal", "no future", "causal"),
    padding: rule("padding", "no padding", "padding"),
    hideQueries: rule("queries", "no padded queries", "hide_queries"),
    fill: oneOf("fill", "Fill with", Object.keys(FILLS), set("fill")),
    precision: oneOf("precision", "in", Object.keys(PRECISIONS), set("precision")),
  };
  const { causal, padding, hideQueries: queries, fill, precision } = options;
  const stage = radios("stage", "Show", STAGES, 0, (i) => commit({ stage: i + 1 }));
  const cells = kept("flips", (text) => {
    const flips = flipsIn(text, current());
    if (flips) commit({ flips });
  });
  const right = button("reset", "The right mask", () => reset(current()));
  const mask = choice("Mask", causal.box, padding.box, queries.box, right);

  function show({ site, options: set }) {
    sites.pick(get("site"));
    stage.pick(get("stage") - 1);
    showAll(options, set);
    causal.input.disabled = !site.self;
    padding.input.disabled = site.real_keys.every(Boolean);
    queries.input.disabled = site.real_queries.every(Boolean);
    cells.show(set.flips.join(","));
  }
  return { sites, mask, fill, precision, stage, cells, show };
}

const tokenPicker = ({ site, options }, onPick) => html`
  <label class="tfml-change"><span>Change the token </span><span>
    <select data-control="change" @change=${(event) => onPick(Number(event.target.value))}>
      ${["none", ...site.keys.map((key, j) => `${j + 1}: ${key}`)].map(
        (name, i) =>
          html`<option value=${i} .selected=${i === options.change + 1}>${name}</option>`,
      )}
    </select></span></label>`;

const verdict = ({ found }, notes) => html`
  <div class="tfml-beside">
    <p class="tfml-judged" ?data-right=${!found.length}>${found.length ? "✗ A wrong mask" : "✓ The right mask"}</p>
    <ul class="tfml-verdict ${found.length ? "tfml-wrong" : ""}">${notes.map((text) => html`<li>${text}</li>`)}</ul>
  </div>`;

const template = (made, notes, { controls, map, onChange, below }) => html`
  ${controls.sites.set}${controls.mask}
  <div class="tfml-row">${controls.fill.set}${controls.precision.set}</div>
  <div class="tfml-row">${controls.stage.set}${tokenPicker(made, onChange)}</div>
  <p class="tfml-heading">${made.site.about}</p>
  <div class="tfml-both">
    <div class="tfml-map">
      <p class="tfml-hint tfk-how">Click a cell (or press Space) to allow or forbid it.</p>
      ${map.node}
    </div>
    ${verdict(made, notes)}
  </div>
  ${below}`;

function render({ model, el }) {
  const root = figure(el, "tfml", "Masks: who may attend to whom");
  const live = liveRegion();
  const get = (name) => model.get(name);
  const current = () => get("sites")[Math.min(get("site"), get("sites").length - 1)];
  const bound = bind(model, NAMES, () => update());
  const { commit } = bound;
  const controls = controlsOf(get, current, bound);
  const where = h("p", { class: "tfml-where" });
  let made;
  const map = grid("Queries by keys; Space allows or forbids a cell", {
    rowAxis: "query",
    columnAxis: "key",
    onMove: (i, j) => say(where, tellOfCell(made, i, j)),
    onPick: (i, j) => {
      const flips = new Set(get("flips"));
      const cell = i * current().keys.length + j;
      if (!flips.delete(cell)) flips.add(cell);
      commit({ flips: [...flips] });
    },
  });
  const behind = textTable("The same as a table: weights", "query");
  const tools = {
    controls,
    map,
    onChange: (i) => commit({ change: i - 1 }),
    below: [where, controls.cells.node, behind.node, live.node],
  };
  const rows = Math.max(...get("sites").map(({ queries }) => queries.length));
  root.style.setProperty("--rows", String(rows)); // the page below stays where it is

  function update(speak = true) {
    const site = current();
    const { hide_queries: hideQueries, ...options } = bound.read();
    const change = Math.min(options.change, site.keys.length - 1);
    made = computed(site, { ...options, hideQueries, change });
    const notes = notesOf(made);
    controls.show(made);
    draw(template(made, notes, tools), root);
    map.show(mapOf(made, get("stage")));
    map.table.dataset.outputs = JSON.stringify(made.outputs);
    map.table.dataset.moved = JSON.stringify(made.shift.map(String));
    say(where, tellOfCell(made, ...map.at()));
    const texts = made.weights.map((row) => row.map((weight) => format(weight, 3)));
    behind.show(
      site.keys,
      site.queries.map((name, i) => [name, ...texts[i]]),
    );
    if (speak) live.announce(notes.join(" "));
  }

  update(false);
  return stopping(live, bound);
}

export default { render };
