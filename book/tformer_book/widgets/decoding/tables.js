// Two tables: the pieces that may come next, and the translations that are finished.
import { h, say } from "../kit/kit.js";
import { chance, format } from "../kit/numbers.js";
import { ending, meter, shown, written } from "../kit/pieces.js";
import { nextPieces } from "./search.js";

const FATES = { grown: "● kept", finished: "✓ finished", dropped: "✗ dropped" };
const ROWS = 10; // next pieces, one that was drawn from beyond them, and all the rest

// -> { heading, node, show({ from, step, taken, settings, isLine }) }: the pieces that may
// follow the node `from` in a step; taken: the id of a row that stands out, or null;
// isLine: the search follows one hypothesis only.
export function nextTable() {
  const heading = h("p", { class: "tfd-heading" });
  const head = h("tr");
  const body = h("tbody");
  const node = h("table", { class: "tfd-next" }, h("thead", {}, head), body);

  function show({ from, step, taken, settings, isLine }) {
    const { rows, rest } = nextPieces(step, from.hypothesis, settings);
    const isSampled = rows[0].drawn !== undefined;
    const columns = nextColumns(isSampled, isLine);
    /** @param {{ probability: number, drawn?: number, total?: number }} row */
    const numbers = ({ probability, drawn, total }) => [
      ...bar(probability),
      ...(isSampled ? bar(drawn) : []),
      ...(isLine ? [] : [h("td", {}, total === undefined ? "" : format(total))]),
    ];
    say(
      heading,
      `${from.pieces.length ? `After “${ending(written(from.pieces))}”` : "At the start"}, step ${from.column + 2}: the next piece`,
    );
    head.replaceChildren(
      ...columns.map((name) =>
        name ? h("th", { scope: "col" }, name) : h("td", { "aria-hidden": "true" }),
      ),
    );
    body.replaceChildren(
      ...rows.map((row) =>
        h(
          "tr",
          {
            class: `${row.fate && row.fate !== "dropped" ? "tfd-taken" : ""}${row.id === taken ? " tfd-row" : ""}`,
            "data-piece": row.piece,
          },
          h("th", { scope: "row" }, shown(row.piece)),
          ...numbers(row),
          h("td", { class: "tfd-fate" }, fateText(row, isSampled, isLine)),
        ),
      ),
      h("tr", {}, h("th", { scope: "row" }, "all others"), ...numbers(rest), h("td")),
      ...blank(ROWS - rows.length - 1, columns.length),
    );
  }
  return { heading, node, show };
}

const nextColumns = (isSampled, isLine) => [
  "piece",
  "p",
  "",
  ...(isSampled ? ["p to draw from", ""] : []),
  ...(isLine ? [] : ["log p in all"]),
  isSampled ? "drawn" : isLine ? "taken" : "what became of it",
];

const bar = (p) => [
  h("td", { "data-exact": p }, p === undefined ? "" : p === 0 ? "0" : chance(p)),
  meter("tfd-meter", p),
];

function fateText({ fate, rank }, isSampled, isLine) {
  if (fate === null) return "";
  if (isLine) return isSampled ? "● drawn" : "● taken";
  return `${FATES[fate]}${fate === "grown" ? ` (rank ${rank + 1})` : ""}`;
}

// Rows that keep the place of pieces, so that nothing below jumps.
const blank = (count, columns) =>
  Array.from({ length: Math.max(0, count) }, () =>
    h("tr", { "aria-hidden": "true" }, h("td", { colspan: columns }, " ")),
  );

// -> { heading, node, show(found, alpha) }: as `ranked` has found them; alpha null: there
// is one, and no score.
export function foundTable() {
  const heading = h("p", { class: "tfd-heading" });
  const head = h("tr");
  const body = h("tbody");
  const node = h(
    "div",
    {
      class: "tfd-found tfk-scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "Finished translations",
    },
    h("table", {}, h("thead", {}, head), body),
  );

  function show(found, alpha) {
    const isScored = alpha !== null;
    say(
      heading,
      isScored
        ? `Finished: score = log p / lp(n), lp(n) = ((5 + n) / 6)^α, α = ${format(alpha, 1)}`
        : "Finished",
    );
    const columns = [
      "translation",
      "log p",
      "n",
      ...(isScored ? ["lp(n)", "score"] : []),
    ];
    head.replaceChildren(...columns.map((name) => h("th", { scope: "col" }, name)));
    body.replaceChildren(...found.map((each, i) => foundRow(each, i, isScored)));
    if (!found.length) body.replaceChildren(noneYet(columns.length));
  }
  return { heading, node, show };
}

const foundRow = (each, i, isScored) =>
  h(
    "tr",
    {
      "data-ids": each.ids.join(" "),
      "data-score": each.score,
      "data-log-p": each.logProbability,
    },
    h(
      "th",
      { scope: "row", lang: "de" },
      `${i === 0 && isScored ? "★ " : ""}${each.text}`,
    ),
    h("td", {}, format(each.logProbability, 3)),
    h("td", {}, String(each.length)),
    ...(isScored
      ? [h("td", {}, format(each.penalty, 3)), h("td", {}, format(each.score, 3))]
      : []),
  );

const noneYet = (columns) =>
  h(
    "tr",
    {},
    h("th", { scope: "row" }, "none yet"),
    ...Array.from({ length: columns - 1 }, () => h("td")),
  );
