// Brings anywidget figures to life on a page without a kernel.
// MyST-NB writes the state of every widget into the page; this script gives each
// module a small model object instead of a kernel and calls its render function, when
// the figure's place comes near the viewport (or the page is printed).
const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

// Where figures find the released model and the engine that runs it.
globalThis[Symbol.for("tformer.page")] = (name, key) => {
  const address = new URL(`model/${name}`, import.meta.url);
  address.search = new URLSearchParams({ v: key });
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
    for (const listener of [...(this.listeners[event] ?? [])]) listener(...rest);
  }
  on(events, listener) {
    for (const event of events.split(" ")) (this.listeners[event] ??= []).push(listener);
  }
  off(events, listener) {
    if (!events) this.listeners = {};
    else
      for (const event of events.split(" "))
        this.listeners[event] = listener
          ? (this.listeners[event] ?? []).filter((each) => each !== listener)
          : [];
  }
  save_changes() {}
  send() {}
}

const states = {};
for (const script of document.querySelectorAll(STATE))
  Object.assign(states, JSON.parse(script.textContent).state);

// A module is the address of a file beside this one; or its text, where no build took
// it out of the page.
const modules = new Map();
function load(module) {
  if (!modules.has(module)) modules.set(module, module.includes("\n") ? loadText(module) : loadFile(module));
  return modules.get(module);
}
const made = ({ default: widget }) => (typeof widget === "function" ? widget() : widget);
const loadFile = (name) => import(new URL(name, import.meta.url)).then(made);
function loadText(source) {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return import(address).then(made).finally(() => URL.revokeObjectURL(address));
}

const styled = new Set();
function style(css) {
  if (!css || styled.has(css)) return;
  styled.add(css);
  const element = document.createElement("style");
  element.textContent = css;
  document.head.append(element);
}

const models = new Map();
function modelOf(id, widget) {
  if (!models.has(id)) {
    const model = new Model({ ...states[id].state });
    models.set(id, Promise.resolve(widget.initialize?.({ model })).then(() => model));
  }
  return models.get(id);
}

async function show(script) {
  const id = JSON.parse(script.textContent).model_id;
  const found = states[id];
  const box = boxOf(script);
  const el = document.createElement("div");
  el.className = "tf-widget-view";
  try {
    if (found?.model_module === "anywidget") {
      style(found.state._css);
      const widget = await load(found.state._esm);
      await widget.render({ model: await modelOf(id, widget), el });
    } else {
      el.textContent = "This control needs a running notebook: open the chapter in Colab.";
    }
  } catch (error) {
    el.textContent = "This figure could not be drawn in this browser.";
    console.error(error);
  }
  script.after(el);
  box.dataset.ready = "true";
  box.style.removeProperty("--tf-height");
}

const boxOf = (script) => script.closest(".tf-widget") ?? script.parentElement;
const waiting = new Map([...document.querySelectorAll(VIEW)].map((script) => [boxOf(script), script]));
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
addEventListener("beforeprint", () => [...waiting.keys()].forEach(draw));
