// The live lab: a sentence of the reader's own, translated in the page piece by piece;
// other ways at every piece; and, behind tabs, what happens inside. Chapter: the lab.
import { ALL_K, RANGES, SLIDER_OF_K, USUAL } from "../engine/decode/settings.js";
import { addressOf, keep } from "../kit/address.js";
import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import {
  bind,
  button,
  figure,
  h,
  liveRegion,
  put,
  radios,
  slider,
  uid,
} from "../kit/kit.js";
import {
  askBar,
  engineOf,
  engineOfFiles,
  megabytes,
  PAGE,
  requests,
  unpack,
} from "../kit/model.js";
import { format } from "../kit/numbers.js";
import {
  numbersOf,
  ofHash,
  SEARCHES,
  searchOptions,
  toHash,
  usual,
  VIEWS,
} from "./address.js";
import { exchangeable, ownModel } from "./own_model.js";
import { cutAt, doubtful, foreign, refusal, tooLong } from "./remarks.js";
import { positionsOf, soFar, translationView } from "./translation.js";
import { INSIDE } from "./views.js";

const PAUSE = 400; // ms after a setting's last change, before it is tried
const STATE = ["text", ...Object.keys(usual())];
const NAMES = { beam: "Beam", greedy: "Greedy", sample: "Sampling" };
/** @type {Record<string, [string, (x: number) => string]>} */
const LABELS = {
  beam_size: ["Beam size", (x) => format(x, 0)],
  length_penalty: ["Length α", (x) => format(x, 1)],
  temperature: ["Temperature", (x) => format(x, 1)],
  top_k: ["Top k", (x) => (x < ALL_K ? format(x, 0) : "all")],
  top_p: ["Top p", (x) => (x < 1 ? format(x, 2) : "all")],
  seed: ["Seed", (x) => format(x, 0)],
};

// One line on how a translation was searched for.
export function described(state) {
  const { search, beam_size, length_penalty, temperature, top_k, top_p, seed } = state;
  if (search === "greedy") return "greedy search";
  if (search === "beam")
    return `beam search, ${beam_size} wide, α ${format(length_penalty, 1)}`;
  const parts = [`temperature ${format(temperature, 1)}`];
  if (top_k) parts.push(`top ${top_k}`);
  if (top_p < 1) parts.push(`top p ${format(top_p, 2)}`);
  return `sampling, ${parts.join(", ")}, seed ${seed}`;
}

function settings(state, onChange) {
  const search = radios(
    "search",
    "Search",
    SEARCHES.map((each) => NAMES[each]),
    0,
    (i) => onChange("search", SEARCHES[i]),
  );
  /** @type {[string, any][]} */
  const sliders = Object.entries(LABELS).map(([key, [label, text]]) => {
    const range = key === "top_k" ? SLIDER_OF_K : RANGES[key];
    return [
      key,
      slider(key, label, { ...range, text }, (x) =>
        onChange(key, key === "top_k" && x === ALL_K ? 0 : x),
      ),
    ];
  });
  const numbers = h(
    "div",
    { class: "tfl-numbers" },
    ...sliders.map(([, each]) => each.box),
  );
  const node = h("div", { class: "tfl-settings" }, search.set, numbers);
  const show = () => {
    search.pick(SEARCHES.indexOf(state.search));
    for (const [key, each] of sliders) {
      each.show(key === "top_k" ? state[key] || ALL_K : state[key]);
      put(each.box, { hidden: !numbersOf(state.search).includes(key) });
    }
  };
  return { node, show };
}

// What would mend a sentence that goes wrong: { how, text }.
function mending(name, { how, text }, onPick) {
  const pick = button(name, text, () => onPick(text));
  put(pick, { lang: "en" });
  return h("span", { class: "tfl-mend" }, `Mend it. ${how}: `, pick);
}

// Sentences to try: [{ title, items: [{ text, remark, mend? }] }]
function examples(groups, onPick) {
  const columns = groups.map(({ title, items }, g) => {
    const id = uid();
    const list = items.map(({ text, remark, mend }, i) => {
      const pick = button(`example-${g}-${i}`, text, () => onPick(text));
      put(pick, { lang: "en" });
      return h(
        "li",
        {},
        pick,
        ...(remark ? [h("span", { class: "tfl-remark" }, remark)] : []),
        ...(mend ? [mending(`mend-${g}-${i}`, mend, onPick)] : []),
      );
    });
    return h(
      "div",
      { class: "tfl-group" },
      h("p", { class: "tfl-title", id }, `They ${title.replace("that ", "")}`),
      h("ul", { "aria-labelledby": id }, ...list),
    );
  });
  return h(
    "details",
    { class: "tfl-examples", "data-examples": true },
    h(
      "summary",
      {},
      `Sentences to try: ${groups.map(({ title, items }) => `${items.length} ${title}`).join(", ")}`,
    ),
    h("div", { class: "tfl-groups" }, ...columns),
  );
}

// Tabs: arrows, Home and End walk along them; Enter, Space or a click opens one.
function tabs(label, items, onPick) {
  const list = h("div", { class: "tfl-tabs", role: "tablist", "aria-label": label });
  const parts = items.map(({ key, title, panel }) => {
    const tab = h(
      "button",
      { type: "button", role: "tab", id: uid(), "data-control": `tab-${key}` },
      title,
    );
    const box = h(
      "div",
      {
        role: "tabpanel",
        id: uid(),
        "aria-labelledby": tab.id,
        class: "tfl-tabpanel",
        "data-view": key,
      },
      panel,
    );
    put(tab, { "aria-controls": box.id });
    tab.addEventListener("click", () => onPick(key));
    list.append(tab);
    return { key, tab, box };
  });
  arrowKeys(list, ALONG, (by, { target }) => {
    const to = parts.findIndex(({ tab }) => tab === target) + by;
    const around = (to + parts.length) % parts.length; // NaN for Home and End
    parts[Number.isNaN(around) ? within(to, parts.length) : around].tab.focus();
  });
  const show = (key) => {
    for (const part of parts) {
      const on = part.key === key;
      put(part.tab, { "aria-selected": on ? "true" : "false", tabindex: on ? 0 : -1 });
      put(part.box, { hidden: !on });
    }
  };
  return { node: h("div", {}, list, ...parts.map(({ box }) => box)), show };
}

export default {
  render({ model, el }) {
    const root = figure(el, "tfl", "Live lab: translate a sentence of your own");
    const first = engineOf(model);
    const engine = first && exchangeable(first);
    const onPage = Boolean(globalThis[PAGE]);
    const state = Object.fromEntries(STATE.map((key) => [key, model.get(key)]));
    const example = model.get("example");
    const recordedOf = { ...usual(), text: example.text };
    const known = model.get("examples").flatMap(({ items }) => items);
    const live = liveRegion({ isShown: true });
    const spoken = liveRegion(); // the German, for those who do not see it
    let begin = []; // the pieces that the next translation has to begin with
    let isAgain = false; // the same sentence: the piece that is open stays so
    let shown = null; // what the translation view shows
    let asked = 0; // how often: only the newest answer counts
    let busy = false;
    let loaded = false;
    let timer = 0;

    const view = translationView({
      onChoose: engine && ((pieces) => again(pieces)),
      onFree: () => again([]),
    });
    const mend = h("p", { class: "tfl-known", hidden: true, "data-known": true });
    const bar = askBar(engine, model, {
      label: "An English sentence",
      onAsk: translate,
    });
    const form = settings(state, (key, value) => {
      set({ [key]: value });
      clearTimeout(timer);
      const isUnasked = bar.input.value !== state.text; // a sentence is being typed
      if (shown?.live && !isUnasked)
        timer = setTimeout(() => again(state.prefix), PAUSE);
    });
    const copy = button("copy", "Copy link", copyLink);
    const link = h("input", {
      type: "text",
      readonly: true,
      hidden: true,
      class: "tfl-link",
      "aria-label": "The link to this sentence with its settings",
      "data-control": "link",
    });
    const share = h(
      "div",
      { class: "tfl-share", hidden: !onPage },
      copy,
      link,
      live.node,
    );
    const tried = examples(model.get("examples"), pick);
    function pick(text) {
      bar.show(text);
      begin = [];
      tried.open = false;
      bar.input.focus();
      if (engine) bar.ask();
    }
    const own = ownModel((files) => engineOfFiles(model, files), exchange);
    /** @type {Map<string, any>} */
    const inside = new Map(
      INSIDE.map((each) => [
        each.key,
        { ...each, panel: h("div"), asked: requests(""), view: null, shows: null },
      ]),
    );
    const views = tabs(
      "Look closer",
      [
        { key: "alternatives", title: "Alternatives", panel: view.panel },
        ...inside.values(),
      ],
      (key) => set({ view: key }),
    );

    root.append(
      bar.node,
      tried,
      form.node,
      view.node,
      mend,
      share,
      spoken.node,
      views.node,
      ...(engine ? [own.node] : []),
    );
    bar.input.addEventListener("input", () => {
      begin = [];
      compare();
    });

    // Old German must not stand below new English as if it belonged to it.
    function compare() {
      if (!shown || busy) return;
      const isOld = bar.input.value !== shown.text;
      view.stale(isOld ? "The German of the previous sentence" : "");
      put(mend, { hidden: isOld || !mend.childNodes.length });
    }

    // Show what there is; say of a sentence that is known to go wrong what would mend it.
    function present() {
      view.show(shown);
      const found = known.find((each) => each.text === shown.text && each.mend);
      const isHere = found && !tried.hidden;
      mend.replaceChildren(
        ...(isHere
          ? [`Known to go wrong: ${found.remark}. `, mending("mend", found.mend, pick)]
          : []),
      );
      compare();
    }

    // Change the state, here, in Python and in the address.
    const { commit, stop } = bind(model, STATE, () => {
      for (const key of STATE) state[key] = model.get(key);
      draw();
    });
    function set(changes) {
      commit(changes);
      if (!onPage) return;
      link.value = address();
      keep(link.value);
    }
    // What the released model's translations are held against; there is nothing for others.
    const doubt = () => (tried.hidden ? {} : model.get("doubt"));
    const address = () => {
      const text = bar.input.value;
      const prefix = text === state.text ? state.prefix : [];
      return addressOf(toHash({ ...state, text, prefix }));
    };

    function draw() {
      form.show();
      views.show(VIEWS.includes(state.view) ? state.view : VIEWS[0]);
      lookInside();
    }

    // Let the view of the open tab show what the lab shows.
    function lookInside() {
      const each = inside.get(state.view);
      if (!each || busy) return;
      if (!shown)
        return each.panel.replaceChildren(
          h(
            "p",
            { class: "tfl-hint" },
            "Translate a sentence first: this shows what happened inside.",
          ),
        );
      const { run } = each.asked;
      each.view ??= each.make(engine, { run, state, onState: set });
      if (!each.panel.contains(each.view.node))
        each.panel.replaceChildren(each.asked.node, each.view.node, readOn(each.book));
      each.view.set?.(state);
      if (each.shows === shown) return;
      each.shows = shown;
      const show = (tools) => each.view.show(shown, tools);
      if (shown.live && each.asks) each.asked.run(show);
      else show();
    }

    const readOn = ([title, page]) =>
      h(
        "p",
        { class: "tfl-book" },
        "What this shows is the subject of the chapter ",
        onPage ? h("a", { href: page }, title) : h("i", {}, title),
        ".",
      );

    // A sentence that waits to be asked for: nothing is loaded before.
    function wait() {
      shown = null;
      view.clear();
      put(mend, { hidden: true });
      if (engine)
        bar.tell(
          loaded
            ? "Ready."
            : `Press Translate: it loads the model once (${megabytes(model.get("model_bytes"))}), which then runs on your machine.`,
        );
    }

    // Let another model answer; null: the one of the page. What was judged of that one,
    // or begun with its pieces, is not for another, nor a link that others would open.
    function exchange(other) {
      bar.stop();
      engine.use(other);
      loaded = Boolean(other);
      begin = [];
      put(tried, { hidden: Boolean(other) });
      put(share, { hidden: Boolean(other) || !onPage });
      for (const each of inside.values()) {
        each.view?.stop(); // it knows the layers and heads of the model before
        Object.assign(each, { view: null, shows: null });
      }
      set({ prefix: [], knocked_out: [] });
      wait();
      lookInside();
    }

    const again = (pieces) => {
      isAgain = true;
      begin = pieces;
      bar.show(state.text);
      bar.ask();
    };

    // Load the model, and make sure that it can read the text.
    async function ready(text, tools) {
      const { config } = await engine.load(tools);
      loaded = true;
      const { length } = await engine.pieces(text, tools);
      if (!length)
        throw new Error("There is nothing in this text that the model can read.");
      if (length >= config.max_len)
        throw new Error(tooLong(length, config.max_len - 1));
      return Math.min(USUAL.maxLen, config.max_len - 1);
    }

    async function translate(text, tools) {
      const refused = refusal(text);
      if (refused) throw new Error(refused);
      const number = ++asked;
      busy = true;
      const prefix = begin;
      begin = [];
      if (!isAgain) view.close();
      isAgain = false;
      clearTimeout(timer);
      view.stale("Translating …");
      put(mend, { hidden: true });
      const steps = [];
      try {
        const longest = await ready(text, tools);
        const started = performance.now();
        const onStep = (step) => {
          if (number !== asked) return;
          steps.push(step);
          view.grow(soFar(step));
        };
        const { hypotheses } = await engine.translate(text, {
          ...searchOptions(state),
          prefix,
          ...tools,
          onStep,
        });
        const seconds = (performance.now() - started) / 1000;
        if (number !== asked) return;
        const best = hypotheses[0];
        const positions = positionsOf(steps, best);
        const n = positions.length;
        const note = `${best.text ? "" : "The model ends at once: no German. "}${n} pieces in ${format(seconds, 2)} s, ${format(n / seconds, 0)} a second; log p = ${format(best.logProbability, 2)}; ${described(state)}.`;
        const { logProbability } = best;
        const isFree = !prefix.length && state.search !== "sample";
        const remarks = [
          foreign(text),
          cutAt(best.pieces.length, longest),
          isFree ? doubtful({ logProbability, pieces: n }, doubt()) : "",
        ].filter(Boolean);
        shown = {
          live: true,
          text,
          german: best.text,
          pieces: best.pieces,
          steps,
          positions,
          prefix,
          note,
          remarks,
        };
        busy = false;
        present();
        set({ text, prefix });
        spoken.announce(
          best.text ? `German: ${best.text}` : "The model ends at once: no German.",
          true,
        );
      } catch (error) {
        if (number === asked) {
          busy = false;
          if (shown) present();
          else view.clear();
        }
        throw error;
      }
    }

    async function copyLink() {
      set({});
      try {
        await navigator.clipboard.writeText(link.value);
        live.announce(
          "The link is copied: it shows this sentence with these settings.",
          true,
        );
      } catch {
        put(link, { hidden: false }); // no leave to copy: the reader does it
        link.select();
        live.announce("Copy the link from the field.", true);
      }
    }

    // Show what the address says. Later on it may name a place of the page instead.
    function open(first) {
      const found = onPage && ofHash(location.hash);
      if (!found && !first) return;
      if (found) {
        begin = found.prefix;
        bar.show(found.text);
        commit(found);
      }
      const aside = ["view", "knocked_out"]; // they change nothing in the translation
      const isRecorded = STATE.every(
        (key) => aside.includes(key) || String(state[key]) === String(recordedOf[key]),
      );
      if (isRecorded) {
        const { steps, text, attention, ...rest } = example;
        const [best] = steps.at(-1).finished;
        shown = {
          live: false,
          text,
          german: best.text,
          steps,
          pieces: best.pieces,
          recorded: { attention: unpack(attention), ...rest },
          positions: positionsOf(steps, best),
          note: `Recorded when this page was made: ${described(recordedOf)}.`,
        };
        present();
      } else {
        wait();
        if (engine) bar.ask(); // who follows a link wants to see what it leads to
      }
      draw();
    }
    const followed = () => open(false);
    open(true);
    if (onPage) addEventListener("hashchange", followed);

    return () => {
      stop();
      bar.stop();
      own.stop();
      for (const { asked, view } of inside.values()) {
        asked.stop();
        view?.stop();
      }
      live.stop();
      spoken.stop();
      clearTimeout(timer);
      removeEventListener("hashchange", followed);
    };
  },
};
