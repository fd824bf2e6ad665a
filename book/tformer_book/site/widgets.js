// Brings the figures to life on a page without a kernel.
// MyST-NB writes the state of every widget into the page; this script loads the modules
// of each figure, which lie beside it, gives them a small model object instead of a
// kernel and calls their render function, when the figure's place comes near the viewport
// (or the page is printed).
const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

// Where figures find the released model.
globalThis[Symbol.for("tformer.figures.page")] = (name, key) => {
  const address = new URL(`../../model/${name}`, import.meta.url);
  address.searchParams.set("v", key);
  return address.href;
};

class Model {
  constructor(state) {
    this.state = state;
    this.listeners = {};
  }
  get(key) {
    return this.state[key];
  }
  set(key, value) {
    if (typeof key === "object") {
      for (const [name, each] of Object.entries(key)) this.set(name, each);
    } else if (this.state[key] !== value) {
      this.state[key] = value;
      this.emit(`change:${key}`, value);
      this.emit("change");
    }
  }
  emit(event, ...rest) {
    for (const listener of this.listeners[event] ?? []) listener(...rest);
  }
  on(events, listener) {
    for (const event of events.split(" "))
      this.listeners[event] = [...(this.listeners[event] ?? []), listener];
  }
  off(events, listener) {
    const stays = (each) => listener && each !== listener;
    for (const event of events?.split(" ") ?? Object.keys(this.listeners))
      this.listeners[event] = (this.listeners[event] ?? []).filter(stays);
  }
  save_changes() {}
  send() {}
}

const states = {};
for (const script of document.querySelectorAll(STATE))
  Object.assign(states, JSON.parse(script.textContent).state);

// A figure's module, once its style sheet is there, too.
const loaded = new Map();
function load(figure) {
  if (!loaded.has(figure)) {
    const address = (suffix) =>
      new URL(`${figure}/${figure}.${suffix}`, import.meta.url).href;
    const both = Promise.all([import(address("js")), loadStyle(address("css"))]);
    const drawn = both.then(([module]) => module.default);
    loaded.set(figure, drawn);
  }
  return loaded.get(figure);
}
function loadStyle(href) {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href, onload: resolve });
    link.onerror = () => reject(new Error(`${href} was not loaded`));
    document.head.append(link);
  });
}

const models = new Map();
function modelOf(id) {
  if (!models.has(id)) models.set(id, new Model({ ...states[id].state }));
  return models.get(id);
}

let isForPaper = false;
async function show(script) {
  const id = JSON.parse(script.textContent).model_id;
  const found = states[id];
  const box = boxOf(script);
  const el = document.createElement("div");
  el.className = "tf-widget-view";
  try {
    if (found?.state.figure) {
      const widget = await load(found.state.figure);
      await widget.render({ model: modelOf(id), el });
    } else {
      el.textContent =
        "This control needs a running notebook: open the chapter in Colab.";
    }
  } catch (error) {
    el.textContent = "This figure could not be drawn in this browser.";
    console.error(error);
  }
  script.after(el);
  // A figure that printing has drawn has not heard of it.
  if (isForPaper) dispatchEvent(new Event("beforeprint"));
  box.dataset.ready = "true";
  box.removeAttribute("style"); // the room that was kept for it
  box.dispatchEvent(new Event("tf-drawn", { bubbles: true }));
}

const boxOf = (script) => script.closest(".tf-widget") ?? script.parentElement;
const waiting = new Map(
  [...document.querySelectorAll(VIEW)].map((script) => [boxOf(script), script]),
);
function draw(box) {
  near.unobserve(box);
  const script = waiting.get(box);
  waiting.delete(box);
  if (script) show(script);
}
const near = new IntersectionObserver(
  (entries) => entries.forEach((entry) => entry.isIntersecting && draw(entry.target)),
  { rootMargin: "800px" },
);
for (const box of waiting.keys()) near.observe(box);
// How a figure stands on paper, where its cell says so and the reader has not set it.
const forPaper = [...document.querySelectorAll(".tf-widget[data-paper]")].map((box) => {
  const id = JSON.parse(box.querySelector(VIEW).textContent).model_id;
  const paper = JSON.parse(box.getAttribute("data-paper"));
  const begun = Object.keys(paper).map((name) => [name, states[id].state[name]]);
  return { id, paper, begun, isOnPaper: false };
});
function toPaper(each) {
  const model = modelOf(each.id);
  if (!each.begun.every(([name, value]) => model.get(name) === value)) return;
  each.isOnPaper = true;
  model.set(each.paper);
}
function toScreen(each) {
  if (each.isOnPaper) modelOf(each.id).set(Object.fromEntries(each.begun));
  each.isOnPaper = false;
}
addEventListener("beforeprint", () => {
  isForPaper = true;
  forPaper.forEach(toPaper);
  [...waiting.keys()].forEach(draw);
});
addEventListener("afterprint", () => {
  isForPaper = false;
  forPaper.forEach(toScreen);
});
