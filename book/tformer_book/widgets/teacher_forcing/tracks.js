// The two tracks of text: one line as long as the model writes what the teacher gives,
// two from where they part.
import { ALONG, arrowKeys } from "../kit/arrows.js";
import { h, put, say } from "../kit/kit.js";
import { chance } from "../kit/numbers.js";
import { shown, spoken } from "../kit/pieces.js";

// Which pieces stand on the trunk, and which on either branch: { position, piece, wrote, p },
// where `wrote` is the model's own choice there if that is another piece. `split` is where
// the two first differ, or -1.
export function laid(rows, split) {
  const end = split < 0 ? rows.length : split;
  const given = rows.flatMap(({ label, best, agrees, p }, position) =>
    label === undefined
      ? []
      : [{ position, piece: label, p, wrote: agrees ? null : best }],
  );
  const own = rows.flatMap(({ own: each }, position) =>
    each ? [{ position, piece: each.piece, p: each.p, wrote: null }] : [],
  );
  return {
    trunk: given.slice(0, end),
    teacher: given.slice(end),
    own: own.slice(end),
  };
}

// at() is the position we are in; onGo(i) goes to another.
// -> { node, build(rows, split), show(now) }
export function tracks({ at, onGo }) {
  const lines = Object.fromEntries(
    ["trunk", "teacher", "own"].map((name) => [
      name,
      h("div", { class: "tft-line", "data-line": name }),
    ]),
  );
  const captions = Object.fromEntries(
    ["trunk", "teacher", "own"].map((name) => [
      name,
      h("p", { class: "tft-caption" }, CAPTIONS[name]),
    ]),
  );
  const branch = (name, role) =>
    h("div", { class: `tft-branch ${role}` }, captions[name], lines[name]);
  const fork = forkOf();
  const node = h(
    "div",
    {
      class: "tft-tracks",
      role: "group",
      "aria-label":
        "Two tracks of German: what the teacher gives, and what the model writes by itself",
    },
    h("div", { class: "tft-trunk" }, captions.trunk, lines.trunk),
    fork,
    h(
      "div",
      { class: "tft-branches" },
      branch("teacher", "tfk-key"),
      branch("own", "tfk-query"),
    ),
  );
  /** @type {{ line: string, position: number, tile: any }[]} */
  let tiles = [];
  arrowKeys(node, ALONG, (by) => {
    const line = tiles.find(({ tile }) => tile === document.activeElement)?.line;
    onGo(at() + by);
    const here = tiles.filter(({ position }) => position === at());
    const next = here.find((each) => each.line === line) ?? here[0];
    next?.tile.focus({ preventScroll: true });
  });

  function build(rows, split) {
    const parts = laid(rows, split);
    tiles = [];
    for (const [line, entries] of Object.entries(parts)) {
      const made = entries.map((entry, i) => {
        const tile = tileOf(line, entry, split >= 0 && i === 0 && line !== "trunk");
        tile.addEventListener("click", () => onGo(entry.position));
        tiles.push({ line, position: entry.position, tile });
        return tile;
      });
      lines[line].replaceChildren(...made);
    }
    put(node, { "data-parted": split < 0 ? null : "true" });
    say(captions.trunk, split < 0 ? CAPTIONS.same : CAPTIONS.trunk);
    put(captions.trunk, { hidden: split === 0 });
  }

  // The teacher's text is there at once; the model's comes piece by piece.
  function show(now) {
    let isFirst = true; // one tile only is in the way of the Tab key
    for (const { line, position, tile } of tiles) {
      const isNow = position === now;
      const isLater = line === "own" && position > now;
      put(tile, {
        "aria-current": isNow ? "step" : null,
        "data-later": isLater ? "true" : null,
        "aria-label": isLater
          ? `Position ${position + 1}: not written yet`
          : tile.dataset.words,
        tabindex: isNow && isFirst ? 0 : -1,
      });
      if (isNow) isFirst = false;
    }
  }
  return { node, build, show };
}

const CAPTIONS = {
  trunk: "Both alike",
  same: "Both alike, from the first piece to the last",
  teacher:
    "Given by the teacher, all in one pass (✗ what the model would have written)",
  own: "Written by the model, a pass for each piece",
};

function forkOf() {
  const svg = h(
    "svg",
    { viewBox: "0 0 40 100", preserveAspectRatio: "none" },
    h("path", { class: "tfk-key", d: "M0 50 C 26 50, 14 22, 40 22" }),
    h("path", { class: "tfk-query", d: "M0 50 C 26 50, 14 78, 40 78" }),
  );
  const words = h("span", {}, "≠", h("span", { class: "tft-here" }, " here they part"));
  return h("div", { class: "tft-fork", "aria-hidden": "true" }, svg, words);
}

// A piece; below it what the model would have written in its place, or how sure it was.
function tileOf(line, { position, piece, wrote, p }, parts) {
  const name = line === "own" ? "the model writes it" : "the teacher gives it";
  const below = wrote ? `✗ ${shown(wrote)}` : chance(p);
  const other = wrote ? `, but the model would write ${spoken(wrote)}` : "";
  return h(
    "button",
    {
      type: "button",
      class: `tft-tile${parts ? " tft-parts" : ""}`,
      tabindex: -1,
      "data-tile": position,
      "data-piece": piece,
      "data-words": `${shown(piece)} ${below}: position ${position + 1}, ${name}, p ${chance(p)}${other}${parts ? ". Here they part" : ""}`,
    },
    h("span", { class: "tft-piece" }, shown(piece)),
    " ",
    h("span", { class: "tft-wrote" }, below),
  );
}
