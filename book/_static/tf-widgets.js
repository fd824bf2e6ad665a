// Brings anywidget figures to life on a page without a kernel.
// MyST-NB writes the state of every widget into the page; this script gives each
// module a small model object instead of a kernel and calls its render function.
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

const modules = new Map();
function load(source) {
  if (!modules.has(source)) {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    modules.set(
      source,
      import(address)
        .then((module) => module.default)
        .then((widget) => (typeof widget === "function" ? widget() : widget))
        .finally(() => URL.revokeObjectURL(address)),
    );
  }
  return modules.get(source);
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
async function show(script) {
  const id = JSON.parse(script.textContent).model_id;
  const found = states[id];
  const box = script.closest(".tf-widget") ?? script.parentElement;
  const el = document.createElement("div");
  el.className = "tf-widget-view";
  if (!found || found.model_module !== "anywidget") {
    el.textContent = "This control needs a running notebook: open the chapter in Colab.";
    script.after(el);
    return;
  }
  style(found.state._css);
  try {
    const widget = await load(found.state._esm);
    if (!models.has(id)) {
      const model = new Model({ ...found.state });
      models.set(id, Promise.resolve(widget.initialize?.({ model })).then(() => model));
    }
    const model = await models.get(id);
    await widget.render({ model, el });
    script.after(el);
  } catch (error) {
    el.textContent = "This figure could not be drawn in this browser.";
    script.after(el);
    console.error(error);
  }
  box.dataset.ready = "true";
  box.style.removeProperty("--tf-height");
}

await Promise.all([...document.querySelectorAll(VIEW)].map(show));
