// The table of positions: what the teacher's side and the model's own read and say.
import { arrowKeys, DOWN } from "../kit/arrows.js";
import { h, put, say } from "../kit/kit.js";
import { chance } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";

const TAUGHT = ["reads", "should say", "p", "likeliest", "moved"];
const OWN = ["reads", "says", "p"];

// at() is the row we are in; onGo(i) goes to another.
// -> { node, build(length): empty rows, show(rows, now, split) }; rows as `align` makes
// them, split where the two first say different pieces, or -1.
export function positionsTable({ at, onGo }) {
  const body = h("tbody");
  const table = h("table", { class: "tft-rows" }, headings(), body);
  const node = h(
    "div",
    {
      class: "tft-scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "Teacher forcing and decoding, position by position",
    },
    table,
  );
  let anchors = []; // a button in each row
  arrowKeys(body, DOWN, (by) => {
    onGo(at() + by);
    anchors[at()].focus({ preventScroll: true });
  });

  function build(length) {
    anchors = Array.from({ length }, (_, i) => anchorOf(i));
    body.replaceChildren(
      ...anchors.map((anchor, i) => {
        const line = emptyLine(i, anchor);
        line.addEventListener("click", () => onGo(i));
        return line;
      }),
    );
  }

  function show(rows, now, split) {
    [...body.children].forEach((line, i) => {
      const own = rows[i].own && i <= now; // what the model has decoded so far
      fill([...line.children].slice(1), rows[i], own);
      line.className = classesOf(rows[i], own, { now: i === now, split: i === split });
      put(line, { "aria-current": i === now ? "step" : null });
      put(anchors[i], { tabindex: i === now ? 0 : -1 });
    });
    keepInSight(node, body.children[now], table.tHead.offsetHeight);
  }
  return { node, build, show };
}

function headings() {
  const side = (name, columns, text) =>
    h("th", { scope: "colgroup", colspan: columns.length, class: name }, text);
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("td"),
      side("tfk-key", TAUGHT, "Teacher forcing: one pass"),
      side("tfk-query", OWN, "Decoding: a pass for each step"),
    ),
    h(
      "tr",
      {},
      h("th", { scope: "col" }, "#"),
      ...[...TAUGHT, ...OWN].map((name) => h("th", { scope: "col" }, name)),
    ),
  );
}

const anchorOf = (i) =>
  h(
    "button",
    {
      type: "button",
      tabindex: -1,
      "data-row": i,
      "aria-label": `${i + 1}: position in the sentence`,
    },
    String(i + 1),
  );

const emptyLine = (i, anchor) =>
  h(
    "tr",
    { "data-position": i },
    h("th", { scope: "row" }, anchor),
    ...[...TAUGHT, ...OWN].map(() => h("td")),
  );

// Write a row into its cells. What the model says itself is "…" until it is decoded.
function fill(cells, row, decoded) {
  const { reads, label, p, best, agrees, moved, own } = row;
  const given = label !== undefined;
  const later = own ? "…" : "";
  const texts = [
    given ? shown(reads) : "",
    given ? shown(label) : "",
    given ? chance(p) : "",
    given ? (agrees ? "=" : `≠ ${shown(best)}`) : "",
    given ? shiftText(moved) : "",
    decoded ? shown(own.reads) : later,
    decoded ? `${own.piece === label ? "=" : "≠"} ${shown(own.piece)}` : later,
    decoded ? chance(own.p) : "",
  ];
  texts.forEach((words, j) => say(cells[j], words));
  cells[2].style.setProperty("--p", `${(100 * (p ?? 0)).toFixed(0)}%`);
  put(cells[2], { "data-exact": p });
  put(cells[4], { "data-exact": moved });
  put(cells[7], { "data-exact": own?.p });
}

function shiftText(moved) {
  if (moved === null) return "–";
  return moved === 0 ? "0" : chance(moved);
}

const classesOf = ({ label, agrees, same }, decoded, { now, split }) =>
  [
    now && "tft-now",
    !agrees && label !== undefined && "tft-differs",
    decoded && !same && "tft-apart",
    split && decoded && "tft-split",
  ]
    .filter(Boolean)
    .join(" ");

// Scroll as little as shows the line, below a head of this height.
function keepInSight(scroller, line, head) {
  const { scrollTop, clientHeight } = scroller;
  const [top, bottom] = [line.offsetTop, line.offsetTop + line.offsetHeight];
  if (top - head < scrollTop) scroller.scrollTop = top - head;
  else if (bottom > scrollTop + clientHeight)
    scroller.scrollTop = bottom - clientHeight;
}
