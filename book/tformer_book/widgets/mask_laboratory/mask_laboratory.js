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
  textTable,
  toggle,
} from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { FILLS, PRECISIONS } from "./maths.js";
import { computed, mapOf, notesOf, STAGES, tellOfCell } from "./view.js";

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

// The cells that a link names, or nothing where they do not fit the place.
function flipsIn(text, site) {
  const flips = text.split(",").filter(Boolean).map(Number);
  const most = site.queries.length * site.keys.length;
  const fits = (cell) => Number.isInteger(cell) && cell >= 0 && cell < most;
  return flips.every(fits) ? flips : null;
}

// What changes the state; `show` follows it.
function controlsOf(get, current, commit) {
  const reset = (site, more = {}) => {
    const { causal, padding } = site;
    commit({ causal, padding, hide_queries: false, flips: [], change: -1, ...more });
  };
  const sites = radios(
    "site",
    "Where?",
    get("sites").map(({ name }) => name),
    get("site"),
    (i) => reset(get("sites")[i], { site: i }),
  );
  const rule = (name, text, trait) =>
    toggle(name, text, get(trait), (on) => commit({ [trait]: on, flips: [] }));
  const causal = rule("causal", "no future", "causal");
  const padding = rule("padding", "no padding", "padding");
  const queries = rule("queries", "no padded queries", "hide_queries");
  const set = (trait) => (value) => commit({ [trait]: value });
  const fill = oneOf("fill", "Fill with", Object.keys(FILLS), set("fill"));
  const precision = oneOf("precision", "in", Object.keys(PRECISIONS), set("precision"));
  const stage = radios("stage", "Show", STAGES, 0, (i) => commit({ stage: i + 1 }));
  const cells = kept("flips", (text) => {
    const flips = flipsIn(text, current());
    if (flips) commit({ flips });
  });
  const right = button("reset", "The right mask", () => reset(current()));
  const mask = choice("Mask", causal.box, padding.box, queries.box, right);

  function show({ site, options }) {
    sites.pick(get("site"));
    fill.show(options.fill);
    precision.show(options.precision);
    stage.pick(get("stage") - 1);
    causal.input.checked = options.causal;
    padding.input.checked = options.padding;
    queries.input.checked = options.hideQueries;
    causal.input.disabled = !site.self;
    padding.input.disabled = site.real_keys.every(Boolean);
    queries.input.disabled = site.real_queries.every(Boolean);
    cells.show(options.flips.join(","));
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
      <p class="tfml-hint">Click a cell (or press Space) to allow or forbid it.</p>
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
  const { commit, stop } = bind(model, NAMES, () => update());
  const controls = controlsOf(get, current, commit);
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
    made = computed(site, {
      causal: get("causal"),
      padding: get("padding"),
      hideQueries: get("hide_queries"),
      flips: get("flips"),
      fill: get("fill"),
      precision: get("precision"),
      change: Math.min(get("change"), site.keys.length - 1),
    });
    const notes = notesOf(made);
    controls.show(made);
    draw(template(made, notes, tools), root);
    map.show(mapOf(made, get("stage")));
    map.table.dataset.outputs = JSON.stringify(made.outputs);
    map.table.dataset.moved = JSON.stringify(made.shift.map(String));
    say(where, tellOfCell(made, ...map.at()));
    behind.show(
      site.keys,
      site.queries.map((name, i) => [
        name,
        ...made.weights[i].map((weight) => format(weight, 3)),
      ]),
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
