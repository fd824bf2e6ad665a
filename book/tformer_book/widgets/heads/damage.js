// A map of damage: what a translation loses where one head is knocked out. Most single
// knock-outs leave the words as they were: so the map counts log-probability.
import { grid } from "../kit/grid.js";
import { h, textTable } from "../kit/kit.js";
import { same, upTo } from "../kit/lists.js";
import { requests } from "../kit/model.js";
import { brief, format } from "../kit/numbers.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { falls, largestFall, lessProbable } from "./maths.js";
import { allAt, isOut, nameOf, SITES, TITLES } from "./weights.js";

// engine may be null: then only what is known is shown. onPick(site, layer, head) hears
// which head is to be knocked out alone.
// -> { node, show({ attention, text, state, without }): without: the German without the
//      heads that are out; know(result): what a sweep of this translation found, or null;
//      stop() }
export function damageMap(engine, { onPick }) {
  let now = null; // what is shown
  let swept = null;
  let pointed = null; // site, layer, head
  let mouse = "";
  const node = h("div");
  const asked = requests("", () => now && draw());
  const maps = SITES.map((site) => siteMap(site, { onMove: point, onPick }));
  const table = textTable("The map of damage as a table", "head");
  const parts = { maps, said: asked.node, table: table.node };

  function point(...head) {
    pointed = head;
    draw();
  }
  function onPointer({ target, clientX, clientY }) {
    const here = `${clientX} ${clientY}`;
    if (here === mouse) return; // the page moved, as below a longer translation
    mouse = here;
    const cell = target.closest("[data-cell]");
    if (!cell) return;
    const { damage: site } = cell.closest("[data-damage]").dataset;
    const head = [site, ...cell.dataset.cell.split("-").map(Number)];
    if (!same(head, pointed)) point(...head);
  }

  const isOf = ({ text, attention }) =>
    now.text === text && now.attention.translation === attention.translation;

  async function sweep(tools) {
    const mine = now;
    const { text, attention } = mine;
    const { translation } = attention;
    const before = swept;
    const heads = [];
    const whole = await engine.score(text, translation, tools);
    const about = { whole: whole.logProbability, pieces: whole.positions.length };
    const onStep = (each) => {
      if (!isOf(mine)) return; // too late
      heads.push(each);
      swept = { ...about, heads: [...heads] };
      asked.tell(`${each.done} of ${each.of} heads …`);
      draw();
    };
    try {
      const result = await engine.damage(text, translation, { ...tools, onStep });
      if (isOf(mine)) swept = result;
    } catch (error) {
      if (isOf(mine)) swept = before;
      throw error;
    }
  }
  const onSweep = () => (asked.busy() ? asked.stop() : asked.run(sweep));

  function draw() {
    const found = swept ? falls(swept) : {};
    for (const map of maps) map.show(now, found);
    table.show(...tableOf(now, found));
    const about = { ...now, found, swept, pointed, engine, isBusy: asked.busy() };
    render(panelOf(about, parts, { onPointer, onSweep }), node);
  }

  return {
    node,
    show(given) {
      if (now && !isOf(given)) {
        asked.stop();
        pointed = null;
      }
      now = given;
      draw();
    },
    know(given) {
      swept = given;
    },
    stop: asked.stop,
  };
}

function panelOf(now, { maps, said, table }, { onPointer, onSweep }) {
  const all = SITES.flatMap((site) => allAt(now.attention, site));
  return html`
    <div class="tfh-damage" role="group" data-busy=${now.isBusy ? "true" : nothing}
      aria-label="A map of damage: what each head is worth to this translation">
      <div class="tfh-row">
        <button type="button" class="tfk-do" data-control="sweep" ?disabled=${!now.engine} @click=${onSweep}>${now.isBusy ? "Stop" : `Sweep all ${all.length} heads`}</button>
      </div>
      <p class="tfh-hint">Each head is knocked out alone, and the model scores the translation that it gives with all heads. The number says how far log p of that translation falls, in nats for each piece: the stronger the colour, the worse; below 0, it became more probable. Without one head most translations stay the same, word for word; so the map counts probability, not words.</p>
      <div class="tfh-maps" @pointermove=${onPointer}>${maps.map((each) => each.node)}</div>
      <p class="tfh-where" data-damage-said>${told(now)}</p>
      ${said}${table}
    </div>`;
}

const change = (fall) =>
  `log p ${fall < 0 ? "rises" : "falls"} by ${format(Math.abs(fall), 3)} nats`;

// What is known of the head that the reader points at.
function told({ swept, found, pointed, without, state }) {
  if (!swept) return "Not swept yet for this sentence.";
  if (!pointed)
    return "Point at a head to read more; a click knocks it out alone and translates without it.";
  const [site, layer, head] = pointed;
  const fall = found[site]?.[layer]?.[head];
  const who = `${TITLES[site]}, ${nameOf(layer, head)}`;
  const nats = fall * swept.pieces;
  const effect =
    fall === undefined
      ? "not swept yet."
      : `${change(fall)} a piece, ${format(Math.abs(nats))} in all. The translation is ${lessProbable(0, -nats)}.`;
  const isAlone = without && same(state.knocked_out, [pointed]);
  return `${who}: ${effect}${isAlone ? ` Without it: “${without}”` : ""}`;
}

// The map of one site: layers down, heads across.
function siteMap(site, { onMove, onPick }) {
  const map = grid(`${TITLES[site]}: damage by layer and head`, {
    rowAxis: "layer",
    columnAxis: "head",
    onMove: (layer, head) => onMove(site, layer, head),
    onPick: (layer, head) => onPick(site, layer, head),
  });
  const caption = h("p", { class: "tfh-caption" }, TITLES[site]);
  const node = h("div", { "data-damage": site }, caption, map.node);
  function show({ attention, state }, found) {
    const [nLayers, nHeads] = attention[site].shape;
    const largest = largestFall(found);
    map.show({
      rows: upTo(nLayers).map(String),
      columns: upTo(nHeads).map(String),
      cell(layer, head) {
        const fall = found[site]?.[layer]?.[head];
        const isGone = isOut(state, [site, layer, head]);
        const said = fall === undefined ? "not swept yet" : `${change(fall)} a piece`;
        return {
          text: fall === undefined ? "" : brief(fall),
          label: `${nameOf(layer, head)}, ${said}${isGone ? "; it is out" : ""}`,
          share: fall === undefined ? 0 : Math.max(0, fall) / largest,
          mark: isGone ? "tfh-is-out" : "",
          exact: fall,
        };
      },
    });
  }
  return { node, site, show };
}

// Columns and rows of the same as a table.
function tableOf({ attention }, found) {
  const cell = (fall) => (fall === undefined ? "–" : format(fall, 3));
  const rowsOf = (site) => {
    const [nLayers, nHeads] = attention[site].shape;
    return upTo(nLayers).map((layer) => [
      `${TITLES[site]}, layer ${layer}`,
      ...upTo(nHeads).map((head) => cell(found[site]?.[layer]?.[head])),
    ]);
  };
  const heads = upTo(attention.cross.shape[1]).map((head) => `head ${head}`);
  return [heads, SITES.flatMap(rowsOf)];
}
