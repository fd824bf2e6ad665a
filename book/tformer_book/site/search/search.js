// Shows what the search finds: in the theme's dialog while one types, and on its page.
// The entries are fetched when somebody first searches.

const LIMIT = { dialog: 8, page: 30 };
const REST = 150; // ms without a key
const base = new URL("../../", import.meta.url); // the site's root
let finder;

async function load() {
  const [{ Finder }, answer] = await Promise.all([
    import("./ranking.js"),
    fetch(new URL("sections.json", import.meta.url), { cache: "no-cache" }),
  ]);
  if (!answer.ok) throw new Error(`the search index: ${answer.status}`);
  return new Finder(await answer.json());
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** One thing found: where it lies, its title, a piece of its text. */
function item(entry, query, found) {
  const text = found
    .excerpt(entry, query)
    .map(([piece, isHit]) => (isHit ? element("mark", {}, piece) : piece));
  const place = entry.path.join(" › ") || "The page as a whole";
  return element(
    "a",
    {
      href: new URL(entry.url, base).href,
      className: `tf-found tf-found-${entry.kind}`,
    },
    element("span", { className: "tf-found-title" }, entry.title),
    element("span", { className: "tf-found-path" }, place),
    element("span", { className: "tf-found-text" }, ...text),
  );
}

/** What to say of a search that found nothing, or not all of what was asked. */
function remark(query, entries, found) {
  if (!entries.length)
    return `Nothing in the book fits “${query}”. Try fewer or other words.`;
  const unsaid = found.unsaid(query).map((word) => `“${word}”`);
  return unsaid.length ? `Not in this book: ${unsaid.join(", ")}.` : "";
}

/** A field and the list of what it finds; arrow keys walk through the list. */
function connect(field, list, status, limit) {
  let chosen = 0;
  let latest = 0;
  const options = () => [...list.querySelectorAll("a")];

  function choose(index) {
    const all = options();
    chosen = Math.max(0, Math.min(index, all.length - 1));
    all.forEach((link, i) => {
      link.setAttribute("aria-selected", String(i === chosen));
    });
    if (all.length) field.setAttribute("aria-activedescendant", all[chosen].id);
    else field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-expanded", String(all.length > 0));
  }

  async function show() {
    const query = field.value.trim();
    const mine = ++latest;
    try {
      finder ??= load();
      const found = await finder;
      if (mine !== latest) return; // somebody has typed on meanwhile
      const entries = query ? found.find(query, { limit, typing: true }) : [];
      list.replaceChildren(...entries.map((entry) => item(entry, query, found)));
      options().forEach((link, i) => {
        link.id = `${list.id}-${i}`;
        link.setAttribute("role", "option");
      });
      status.textContent = query ? remark(query, entries, found) : "";
    } catch (problem) {
      finder = undefined; // next time it may be there
      status.textContent = `The search could not start (${problem.message}).`;
    }
    choose(0);
  }

  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "false");
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Sections found");
  status.setAttribute("role", "status");
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
      options()[chosen]?.scrollIntoView({ block: "nearest" });
    }
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    options()[chosen]?.click();
  });
  return show;
}

function inDialog() {
  const dialog = document.getElementById("pst-search-dialog");
  if (!(dialog instanceof HTMLDialogElement)) return;
  const field = dialog.querySelector("input");
  const list = element("div", { id: "tf-search-list", className: "tf-found-list" });
  const status = element("p", { className: "tf-found-status" });
  dialog.append(status, list);
  connect(field, list, status, LIMIT.dialog);
  // A link to a place on this page leaves the page where it is: the dialog must go.
  list.addEventListener("click", () => dialog.close());
}

// The page's address asks for what is typed. Written when the reader rests: WebKit
// refuses, with an error, more than 100 addresses in ten seconds.
function keep(query) {
  const address = new URL(location.href);
  address.searchParams.set("q", query);
  history.replaceState(null, "", address);
}

function onPage() {
  const place = document.getElementById("search-results");
  const field = document.querySelector(".bd-search-container form.bd-search input");
  if (!place || !(field instanceof HTMLInputElement)) return;
  const list = element("div", { id: "tf-search-page", className: "tf-found-list" });
  const status = element("p", { className: "tf-found-status" });
  place.replaceChildren(status, list);
  const show = connect(field, list, status, LIMIT.page);
  field.value = new URLSearchParams(location.search).get("q") ?? field.value;
  if (field.value) show();
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => keep(field.value), REST);
  });
}

inDialog();
onPage();
