// A map of damage: what a translation loses where one head is knocked out. Most single
// knock-outs leave the words as they were: so the map counts log-probability.
import { grid } from "../kit/grid.js";
import { button, h, put, say, textTable } from "../kit/kit.js";
import { requests } from "../kit/model.js";
import { format } from "../kit/numbers.js";
import { lessProbable } from "./knockout.js";
import { nameOf, SITES, same, TITLES, upTo } from "./maps.js";

const FAINTEST = 0.01; // nats a piece: smaller falls do not stretch the scale

// What a sweep found, { whole, pieces, heads }, as nats that log p falls for each piece:
// by site, layer and head; undefined where it has not been yet.
export function falls({ whole, pieces, heads }) {
  const found = {};
  for (const { site, layer, head, logProbability } of heads) {
    found[site] ??= [];
    found[site][layer] ??= [];
    found[site][layer][head] = (whole - logProbability) / pieces;
  }
  return found;
}

// The largest fall, by which the others are coloured.
export const largestFall = (found) =>
  Math.max(FAINTEST, ...Object.values(found).flat(2));

// A fall as a cell of the map has room for it: no zero before the point.
export const brief = (fall) => format(fall).replace(/^(\D*)0(?=\.)/, "$1");

// engine may be null: then only what is known is shown. onPick(site, layer, head) hears
// which head is to be knocked out alone.
// -> { node,
//      show({ text, translation, shapes: { site: [layers, heads] }, knocked_out, without }):
//        the sentence, its translation, the heads that are out, and the German without them,
//      know(result): what a sweep of this translation found, or null,
//      stop() }
export function damageMap(engine, { onPick }) {
  let now = null; // what is shown
  let swept = null;
  let pointed = null; // site, layer, head

  const sweep = button("sweep", "", () => (asked.busy() ? asked.stop() : run()));
  const asked = requests("", (busy) => {
    put(node, { "data-busy": busy && "true" });
    if (now) draw();
  });
  const maps = SITES.map((site) => siteMap(site, { onMove: point, onPick }));
  const all = h("div", { class: "tfh-maps" }, ...maps.map((each) => each.node));
  let mouse = "";
  all.addEventListener("pointermove", ({ target, clientX, clientY }) => {
    const here = `${clientX} ${clientY}`;
    if (here === mouse) return; // the page moved, as below a longer translation
    mouse = here;
    const cell = target.closest("[data-cell]");
    if (!cell) return;
    const { damage: site } = cell.closest("[data-damage]").dataset;
    const head = [site, ...cell.dataset.cell.split("-").map(Number)];
    if (!same(head, pointed)) point(...head);
  });
  const said = h("p", { class: "tfh-where", "data-damage-said": true });
  const table = textTable("The map of damage as a table", "head");
  const node = h(
    "div",
    {
      class: "tfh-damage",
      role: "group",
      "aria-label": "A map of damage: what each head is worth to this translation",
    },
    h(
      "div",
      { class: "tfh-row" },
      h("p", { class: "tfh-title" }, "A map of damage"),
      sweep,
    ),
    h(
      "p",
      { class: "tfh-hint" },
      "Each head is knocked out alone, and the model scores the translation that it gives with all heads. The number says how far log p of that translation falls, in nats for each piece: the stronger the colour, the worse; below 0, it became more probable. Without one head most translations stay the same, word for word; so the map counts probability, not words.",
    ),
    all,
    said,
    asked.node,
    table.node,
  );

  function point(...head) {
    pointed = head;
    draw();
  }

  const isOf = ({ text, translation }) =>
    now.text === text && now.translation === translation;

  async function run() {
    const mine = now;
    const { text, translation } = mine;
    const before = swept;
    await asked.run(async (tools) => {
      const heads = [];
      const { logProbability: whole, positions } = await engine.score(
        text,
        translation,
        tools,
      );
      try {
        const result = await engine.damage(text, translation, {
          ...tools,
          onStep(each) {
            if (!isOf(mine)) return; // too late
            heads.push(each);
            swept = { whole, pieces: positions.length, heads: [...heads] };
            asked.tell(`${each.done} of ${each.of} heads …`);
            draw();
          },
        });
        if (isOf(mine)) swept = result;
      } catch (error) {
        if (isOf(mine)) swept = before;
        throw error;
      }
    });
  }

  function draw() {
    const { shapes, knocked_out, without } = now;
    const found = swept ? falls(swept) : {};
    const largest = largestFall(found);
    const count = SITES.reduce(
      (sum, site) => sum + shapes[site][0] * shapes[site][1],
      0,
    );
    say(sweep, asked.busy() ? "Stop" : `Sweep all ${count} heads`);
    put(sweep, { disabled: !engine });
    for (const map of maps)
      map.show(shapes[map.site], found[map.site] ?? [], largest, knocked_out);
    const isAlone = pointed && without && same(knocked_out, [pointed]);
    say(
      said,
      !swept
        ? "Not swept yet for this sentence."
        : pointed
          ? `${told(found, pointed)}${isAlone ? ` Without it: “${without}”` : ""}`
          : "Point at a head to read more; a click knocks it out alone and translates without it.",
    );
    table.show(...tableOf(shapes, found));
  }

  function told(found, [site, layer, head]) {
    const fall = found[site]?.[layer]?.[head];
    const who = `${TITLES[site]}, ${nameOf(layer, head)}`;
    if (fall === undefined) return `${who}: not swept yet.`;
    const nats = fall * swept.pieces;
    return `${who}: ${change(fall)} a piece, ${format(Math.abs(nats))} in all. The translation is ${lessProbable(0, -nats)}.`;
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

const change = (fall) =>
  `log p ${fall < 0 ? "rises" : "falls"} by ${format(Math.abs(fall), 3)} nats`;

// The map of one site: layers down, heads across.
function siteMap(site, { onMove, onPick }) {
  const map = grid(`${TITLES[site]}: damage by layer and head`, {
    rowAxis: "layer",
    columnAxis: "head",
    onMove: (layer, head) => onMove(site, layer, head),
    onPick: (layer, head) => onPick(site, layer, head),
  });
  const node = h(
    "div",
    { "data-damage": site },
    h("p", { class: "tfh-caption" }, TITLES[site]),
    map.node,
  );
  function show([nLayers, nHeads], found, largest, knocked_out) {
    map.show({
      rows: upTo(nLayers).map(String),
      columns: upTo(nHeads).map(String),
      cell(layer, head) {
        const fall = found[layer]?.[head];
        const isOut = knocked_out.some((each) => same(each, [site, layer, head]));
        const name = nameOf(layer, head);
        return {
          text: fall === undefined ? "" : brief(fall),
          label: `${name}${fall === undefined ? ", not swept yet" : `, ${change(fall)} a piece`}${isOut ? "; it is out" : ""}`,
          share: fall === undefined ? 0 : Math.max(0, fall) / largest,
          mark: isOut ? "tfh-is-out" : "",
          exact: fall,
        };
      },
    });
  }
  return { node, site, show };
}

// Columns and rows of the same as a table.
function tableOf(shapes, found) {
  const rows = SITES.flatMap((site) =>
    upTo(shapes[site][0]).map((layer) => [
      `${TITLES[site]}, layer ${layer}`,
      ...upTo(shapes[site][1]).map((head) => {
        const fall = found[site]?.[layer]?.[head];
        return fall === undefined ? "–" : format(fall, 3);
      }),
    ]),
  );
  return [upTo(shapes.cross[1]).map((head) => `head ${head}`), rows];
}
