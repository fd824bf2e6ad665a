// The product of two small matrices, one entry at a time: a row runs along a column.
// `multiply` is the whole of the maths and runs in Node, too; the tests hold it to torch.
import { AROUND, arrowKeys } from "../kit/arrows.js";
import { bind, button, figure, h, liveRegion, put, say, select } from "../kit/kit.js";
import { travel } from "../kit/motion.js";
import { format } from "../kit/numbers.js";
import { player } from "../kit/player.js";

export const LARGEST = 4; // rows or columns
const LIMIT = 99; // entries run from -LIMIT to LIMIT
const BEAT = 2600; // ms from entry to entry, in which a row slides and may be read

// A (M, K) times B (K, N). Where the inner lengths differ, `product` is null.
export function multiply(a, b) {
  const [m, k, k2, n] = [a.length, a[0].length, b.length, b[0].length];
  const terms = (i, j) => a[i].slice(0, k2).map((x, c) => [x, b[c][j], x * b[c][j]]);
  const product =
    k === k2
      ? a.map((_, i) =>
          b[0].map((_, j) => terms(i, j).reduce((sum, t) => sum + t[2], 0)),
        )
      : null;
  return { m, k, k2, n, product, terms };
}
export const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));

// The same matrix with other lengths: what is new is filled with small numbers.
export function resized(rows, height, width) {
  const fresh = (i, j) => [1, 0, 2][(i + 2 * j) % 3];
  return Array.from({ length: height }, (_, i) =>
    Array.from({ length: width }, (_, j) => rows[i]?.[j] ?? fresh(i, j)),
  );
}

const short = (x) => format(x, Number.isInteger(x) ? 0 : 2);
const factor = (x) => (x < 0 ? `(${short(x)})` : short(x));
const ordinal = (i) => ["first", "second", "third", "fourth"][i];

// What the line under the matrices says about entry (i, j).
export function explain(a, b, i, j) {
  const { k, k2, product, terms } = multiply(a, b);
  if (!product) {
    const [longer, what] =
      k > k2 ? ["row of A", "column of B"] : ["column of B", "row of A"];
    return (
      `No product. A row of A has length ${k}, a column of B has length ${k2}. ` +
      `The ${ordinal(Math.min(k, k2))} number of the ${longer} has no partner in the ${what}.`
    );
  }
  const all = terms(i, j);
  const written = all.map(([x, y]) => `${factor(x)} × ${factor(y)}`).join(" + ");
  const worked = all.length > 1 ? ` = ${all.map((t) => factor(t[2])).join(" + ")}` : "";
  return `Row ${i + 1} of A along column ${j + 1} of B: ${written}${worked} = ${short(product[i][j])}.`;
}

// The pairs of row i and column j; a number without a partner gets null.
export function pairs(a, b, i, j) {
  const longest = Math.max(a[0].length, b.length);
  return Array.from({ length: longest }, (_, c) => [
    a[i][c] ?? null,
    b[c]?.[j] ?? null,
  ]);
}

function render({ model, el }) {
  const root = figure(el, "tfmx", "The product of two matrices, one entry at a time");
  const get = (name) => model.get(name);
  const live = liveRegion();
  const { commit, stop } = bind(model, ["a", "b", "row", "column"], () => update());
  const start = { a: get("a"), b: get("b"), row: get("row"), column: get("column") };

  const names = ["Rows of A", "Columns of A", "Rows of B", "Columns of B"];
  const lengths = ["1", "2", "3", "4"];
  const sizes = names.map((name, which) => {
    const list = select(`size-${which}`, lengths, (i) => resize(which, i + 1));
    list.setAttribute("aria-label", name);
    return {
      list,
      box: h(
        "label",
        { class: "tfmx-size" },
        h("span", {}, name.split(" ")[0].toLowerCase()),
        list,
      ),
    };
  });
  const pair = (title, from) =>
    h(
      "fieldset",
      { class: "tfmx-pair" },
      h("legend", {}, title),
      sizes[from].box,
      sizes[from + 1].box,
    );

  const shapes = h("p", { class: "tfmx-shapes" });
  const boxes = {
    a: h("div", { class: "tfmx-box tfmx-a" }),
    b: h("div", { class: "tfmx-box tfmx-b" }),
    c: h("div", { class: "tfmx-box tfmx-c" }),
  };
  const falk = h("div", { class: "tfmx-falk" }, shapes, boxes.b, boxes.a, boxes.c);
  // The row, slid onto the column: the line below says the same in words.
  const run = h("div", { class: "tfmx-run", "aria-hidden": "true" });
  const stage = h("div", { class: "tfmx-stage" }, falk, run);
  const worked = h("p", { class: "tfmx-worked" });
  const moves = player({
    words: ["the first entry", "one entry back", "one entry on", "the last entry"],
    at: () => get("row") * get("b")[0].length + get("column"),
    last: () => get("a").length * get("b")[0].length - 1,
    to: (i) => {
      const n = get("b")[0].length;
      show({ row: Math.floor(i / n), column: i % n });
    },
    beat: BEAT,
  });
  const actions = h(
    "div",
    { class: "tfmx-actions" },
    ...moves.nodes,
    button("swap", "Swap A and B", () => show({ a: get("b"), b: get("a") })),
    button("transpose", "Transpose B", () => show({ b: transpose(get("b")) })),
    button("reset", "Start again", () => show(start)),
  );
  root.append(
    h("div", { class: "tfmx-sizes" }, pair("A", 0), pair("B", 2)),
    h("div", { class: "tfk-scroll" }, stage),
    worked,
    actions,
    live.node,
  );

  let seen = ""; // the entry whose row has slid
  let drawn = ""; // the shapes that the boxes were built for
  const cells = {};

  // Change some values, and keep the chosen entry inside the product.
  function show(changes) {
    const a = changes.a ?? get("a");
    const b = changes.b ?? get("b");
    commit({
      row: Math.min(changes.row ?? get("row"), a.length - 1),
      column: Math.min(changes.column ?? get("column"), b[0].length - 1),
      a,
      b,
    });
  }
  function resize(which, length) {
    const name = which < 2 ? "a" : "b";
    const rows = get(name);
    show({
      [name]: resized(
        rows,
        which % 2 ? rows.length : length,
        which % 2 ? length : rows[0].length,
      ),
    });
  }
  function arrow(move) {
    const { m, n } = multiply(get("a"), get("b"));
    const [i, j] = [(get("row") + move[0] + m) % m, (get("column") + move[1] + n) % n];
    moves.stop();
    show({ row: i, column: j });
    cells.c[i][j].focus();
  }

  function entry(name, i, j) {
    const input = h("input", {
      type: "number",
      step: "any",
      min: -LIMIT,
      max: LIMIT,
      "data-control": `${name}-${i}-${j}`,
      "aria-label": `${name.toUpperCase()}, row ${i + 1}, column ${j + 1}`,
    });
    input.addEventListener("input", () => {
      const x = input.valueAsNumber;
      if (!(Math.abs(x) <= LIMIT)) return; // empty or half typed: wait
      commit({
        [name]: get(name).map((row, r) =>
          row.map((old, c) => (r === i && c === j ? x : old)),
        ),
      });
    });
    input.addEventListener("blur", () => {
      input.value = get(name)[i][j];
    });
    return input;
  }
  function result(i, j) {
    const node = h("button", { type: "button", "data-control": `c-${i}-${j}` });
    node.addEventListener("click", () => {
      moves.stop();
      show({ row: i, column: j });
    });
    arrowKeys(node, AROUND, arrow);
    return node;
  }
  function fill(name, title, height, width, make) {
    const rows = Array.from({ length: height }, (_, i) =>
      Array.from({ length: width }, (_, j) => make(i, j)),
    );
    const caption = h("caption", {}, title);
    boxes[name].replaceChildren(
      h(
        "table",
        {},
        caption,
        h(
          "tbody",
          {},
          ...rows.map((row) => h("tr", {}, ...row.map((node) => h("td", {}, node)))),
        ),
      ),
    );
    cells[name] = rows;
  }

  // Row i beside column j, number by number; they come from where they stand.
  function slide(a, b, i, j, product) {
    const chip = (name, c, x) =>
      h(
        "span",
        {
          class: `tfmx-chip tfmx-chip-${x === null ? "none" : name}`,
          "data-id": x === null ? null : `${name}${c}`,
          "data-wave": c,
        },
        x === null ? "?" : short(x),
      );
    const lines = pairs(a, b, i, j).flatMap(([x, y], c) => [
      h("span", { class: "tfmx-sign" }, c ? "+" : ""),
      chip("a", c, x),
      h("span", { class: "tfmx-sign" }, "×"),
      chip("b", c, y),
      h("span", { class: "tfmx-sign" }, "="),
      h("span", { class: "tfmx-term" }, x === null || y === null ? "✗" : short(x * y)),
    ]);
    const sum = h(
      "span",
      { class: `tfmx-chip ${product ? "tfmx-chip-c" : "tfmx-chip-none"}` },
      product ? short(product[i][j]) : "?",
    );
    run.replaceChildren(
      ...lines,
      h("span", { class: "tfmx-total" }, `row ${i + 1} · column ${j + 1} =`),
      sum,
    );
    const at = [i, j].join();
    if (seen !== "" && seen !== at) {
      const { left, top } = run.getBoundingClientRect();
      const from = (name, c, node) => {
        const box = node.parentElement.getBoundingClientRect();
        return [`${name}${c}`, [box.left - left, box.top - top]];
      };
      travel(
        run,
        new Map([
          ...cells.a[i].map((node, c) => from("a", c, node)),
          ...cells.b.map((row, c) => from("b", c, row[j])),
        ]),
      );
    }
    seen = at;
  }

  function update() {
    const [a, b] = [get("a"), get("b")];
    const { m, k, k2, n, product, terms } = multiply(a, b);
    const [row, column] = [Math.min(get("row"), m - 1), Math.min(get("column"), n - 1)];
    const wanted = [m, k, k2, n].join();
    if (drawn !== wanted) {
      fill("a", `A (${m}, ${k})`, m, k, (i, j) => entry("a", i, j));
      fill("b", `B (${k2}, ${n})`, k2, n, (i, j) => entry("b", i, j));
      if (product) fill("c", `A @ B (${m}, ${n})`, m, n, result);
      else {
        boxes.c.replaceChildren(h("p", { class: "tfmx-none" }, "no product"));
        cells.c = [];
      }
      drawn = wanted;
    }
    sizes.forEach(({ list }, i) => {
      list.value = String([m, k, k2, n][i] - 1);
    });
    shapes.replaceChildren(
      `(${m}, `,
      h("b", {}, k),
      `) @ (`,
      h("b", {}, k2),
      `, ${n}) `,
      product ? `→ (${m}, ${n})` : h("span", { class: "tfmx-bad" }, `✗ ${k} ≠ ${k2}`),
    );
    for (const [name, rows] of [
      ["a", a],
      ["b", b],
    ]) {
      rows.forEach((values, i) =>
        values.forEach((x, j) => {
          const input = cells[name][i][j];
          if (input.valueAsNumber !== x && input !== document.activeElement)
            input.value = x;
          const on = name === "a" ? i === row : j === column;
          const alone = on && (name === "a" ? j >= k2 : i >= k);
          put(input.parentElement, {
            class: `${on ? "tfmx-on" : ""} ${alone ? "tfmx-alone" : ""}`,
          });
        }),
      );
    }
    product?.forEach((values, i) =>
      values.forEach((x, j) => {
        const node = cells.c[i][j];
        const on = i === row && j === column;
        say(node, short(x));
        node.dataset.exact = x;
        put(node, {
          "aria-pressed": String(on),
          tabindex: on ? 0 : -1,
          "aria-label": `${short(x)}: entry in row ${i + 1}, column ${j + 1}`,
        });
        put(node.parentElement, { class: on ? "tfmx-on" : "" });
      }),
    );
    say(worked, explain(a, b, row, column));
    worked.classList.toggle("tfmx-bad", !product);
    slide(a, b, row, column, product);
    moves.show();
    for (const node of moves.nodes) if (!product) node.disabled = true;
    moves.play.disabled = !product;
    if (!product) moves.stop();
    if (moves.playing()) return;
    live.announce(
      product
        ? `Entry ${row + 1}, ${column + 1} is ${short(terms(row, column).reduce((s, t) => s + t[2], 0))}.`
        : `No product: ${k} is not ${k2}.`,
    );
  }
  update();
  live.stop(); // nothing to announce before the reader has done something
  return () => {
    moves.stop();
    live.stop();
    stop();
  };
}

export default { render };
