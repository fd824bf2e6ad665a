// A card beside a link to a term, a work or a figure, while the pointer is on link or
// card, or the focus on the link, until Escape. A tap follows the link as ever; only that
// on a marked word shows its card first. The texts are fetched when somebody first points
// at such a link.

const KINDS = {
  terms: /\/glossary\.html#term-/,
  works: /\/bibliography\.html#/,
  figures: /#figure-/,
};
const LINKS = ".bd-article a[href*='#']:not(.headerlink, .tf-caption a)";
const PAUSE = 250; // ms, before it comes and before it goes
const GAP = 6; // pixels between link and card
const root = new URL("../../", import.meta.url).href;

const files = {}; // kind -> its cards
const card = Object.assign(document.createElement("div"), {
  id: "tf-card",
  role: "tooltip",
  hidden: true,
});
let wanted = null; // whose card should show
let timer;

const kindOf = ({ href }) => Object.keys(KINDS).find((kind) => KINDS[kind].test(href));

function linkAt(target) {
  const link = target.closest?.(LINKS);
  return link && kindOf(link) ? link : null;
}
const focused = () => linkAt(document.querySelector(":focus-visible") ?? document);

async function linesFor(link) {
  const kind = kindOf(link);
  files[kind] ??= fetch(new URL(`${kind}.json`, import.meta.url), { cache: "no-cache" })
    .then((answer) => answer.json())
    .catch(() => ({}));
  return (await files[kind])[link.href.slice(root.length)];
}

function pictureOf({ href }) {
  const { pathname, hash } = new URL(href);
  const [, page] = pathname.match(/([^/]*)\.html$/);
  const src = new URL(`_static/pictures/${page}/${hash.slice(1)}.webp`, root).href;
  const picture = Object.assign(document.createElement("img"), { src, alt: "" });
  picture.addEventListener("load", place);
  picture.addEventListener("error", () => picture.remove()); // none was taken
  return picture;
}

// Below the link, or above it: never upon it, and inside the window.
function place() {
  if (card.hidden) return;
  const lines = [...wanted.getClientRects()];
  const below = lines.at(-1).bottom + GAP;
  const above = lines[0].top - GAP - card.offsetHeight;
  const right = document.documentElement.clientWidth - card.offsetWidth - GAP;
  const isRoom = below + card.offsetHeight < innerHeight || above < 0;
  const left = Math.max(GAP, Math.min(lines[0].left, right));
  card.style.translate = `${left}px ${isRoom ? below : above}px`;
}

async function show(link) {
  const lines = await linesFor(link);
  if (!lines || wanted !== link) return;
  card.replaceChildren(
    ...lines.map((textContent, i) =>
      Object.assign(document.createElement(i ? "p" : "strong"), { textContent }),
    ),
  );
  if (kindOf(link) === "figures") card.append(pictureOf(link));
  document.body.append(card);
  card.hidden = false;
  link.setAttribute("aria-describedby", card.id);
  place();
}

function want(link, pause = PAUSE) {
  clearTimeout(timer);
  if (link === wanted) return;
  timer = setTimeout(() => {
    wanted?.removeAttribute("aria-describedby");
    wanted = link;
    card.hidden = true;
    if (link) show(link);
  }, pause);
}

addEventListener("pointerover", ({ target, pointerType }) => {
  const isOnCard = card.contains(/** @type {Node} */ (target));
  if (pointerType !== "touch") want(isOnCard ? wanted : (linkAt(target) ?? focused()));
});
addEventListener("click", (event) => {
  const { target, pointerType } = /** @type {any} */ (event);
  if (pointerType !== "touch" || card.contains(target)) return;
  const link = target.closest("a.tf-term");
  if (link && link !== wanted) event.preventDefault();
  want(link, 0);
});
addEventListener("focusin", () => want(focused(), 0));
addEventListener("focusout", () => want(null));
addEventListener("keydown", ({ key }) => {
  if (key === "Escape") card.hidden = true;
});
addEventListener("scroll", place, { capture: true, passive: true });
addEventListener("resize", place);
new ResizeObserver(place).observe(document.body); // what is above may grow
