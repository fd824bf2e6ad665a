// The live lab: a sentence of the reader's own, translated in the page piece by piece;
// other ways at every piece; and, behind tabs, what happens inside. Chapter: the lab.
import { searchControls } from "../decoding/controls.js";
import { settingsOf, traitsOf } from "../engine/decode/settings.js";
import { addressOf, keep } from "../kit/address.js";
import { isInTheBook } from "../kit/chapters.js";
import { bind, figure, liveRegion, put, stopping } from "../kit/kit.js";
import { askBar, engineOf, engineOfFiles, megabytes } from "../kit/model.js";
import { tabs } from "../kit/tabs.js";
import { render as draw, html, nothing } from "../kit/vendor/lit.js";
import { ofHash, toHash, usual, VIEWS } from "./address.js";
import { examples, knownWrong } from "./examples.js";
import { insideOf } from "./inside.js";
import { described, soFar } from "./maths.js";
import { exchangeable, ownModel } from "./own_model.js";
import { refusal } from "./remarks.js";
import { shareBox } from "./share.js";
import { recorded, SILENT, translated } from "./shown.js";
import { translationView } from "./translation.js";

const PAUSE = 400; // ms after a setting's last change, before it is tried
const STATE = ["text", ...Object.keys(usual())];
const ASIDE = ["view", "knocked_out"]; // they change nothing in the translation
const SEARCHES = { beam: "Beam", greedy: "Greedy", sample: "Sampling" };
const LABELS = {
  beam_size: "Beam size",
  length_penalty: "Length α",
  temperature: "Temperature",
  top_k: "Top k",
  top_p: "Top p",
  seed: "Seed",
};

class Lab {
  #shown = null; // what the German, and what is inside, are of
  #begin = []; // the pieces with which the next translation has to begin
  #isAgain = false; // the same sentence: the piece that is open stays so
  #asked = 0; // how often: only the newest answer counts
  #isBusy = false;
  #isLoaded = false;
  #isOwn = false; // a model of the reader's own answers
  #timer = 0;

  constructor({ model, el }) {
    this.model = model;
    this.root = figure(el, "tfl", "Live lab: translate a sentence of your own");
    this.onPage = isInTheBook();
    const first = engineOf(model);
    this.engine = first && exchangeable(first);
    this.bound = bind(model, STATE, () => this.#update());
    this.state = this.bound.read();
    this.#makeParts();
    this.#open(true);
    if (this.onPage) addEventListener("hashchange", this.followed);
  }

  followed = () => this.#open(false);
  pick = (text) => {
    this.bar.show(text);
    this.#begin = [];
    this.root.querySelector("[data-examples]").open = false;
    this.bar.input.focus();
    if (this.engine) this.bar.ask();
  };

  #makeParts() {
    const { engine, model, state } = this;
    const set = (changes) => this.#set(changes);
    this.bar = askBar(engine, model, {
      label: "An English sentence",
      onAsk: (text, tools) => this.#translate(text, tools),
    });
    this.bar.input.addEventListener("input", () => {
      this.#begin = [];
      this.#draw();
    });
    this.form = searchControls(SEARCHES, (changes) => this.#try(changes), LABELS);
    this.view = translationView({
      onChoose: engine && ((pieces) => this.#again(pieces)),
      onFree: () => this.#again([]),
    });
    this.share = shareBox(() => set({}));
    this.spoken = liveRegion(); // the German, for those who do not see it
    this.inside = insideOf(engine, { state, linked: this.onPage, onState: set });
    const { panel } = this.view;
    const all = [{ key: VIEWS[0], title: "Alternatives", panel }, ...this.inside.tabs];
    this.views = tabs("Look closer", all, (view) => set({ view }));
    this.own = ownModel(
      (files) => engineOfFiles(model, files),
      (other) => this.#exchange(other),
    );
  }

  // Old German must not stand below new English as if it belonged to it. What would mend a
  // sentence stands below that only; what was judged of the model of the page is not for
  // another.
  #draw() {
    const { bar, form, view, share, spoken, views, own, model, pick } = this;
    const shown = this.#isBusy ? null : this.#shown;
    const isOld = shown && bar.input.value !== shown.text;
    if (shown) view.stale(isOld ? "The German of the previous sentence" : "");
    const groups = model.get("examples");
    const known = groups
      .flatMap(({ items }) => items)
      .find((each) => each.mend && !isOld && each.text === shown?.text);
    const isKnown = known && !this.#isOwn;
    put(share.node, { hidden: this.#isOwn || !this.onPage });
    draw(
      html`${bar.node}
        <div class="tfl-result">${view.node}${share.node}</div>
        <p class="tfl-known" data-known ?hidden=${!isKnown}>${isKnown ? knownWrong(known, pick) : nothing}</p>
        <div class="tfl-folds">
          <div ?hidden=${this.#isOwn}>${examples(groups, pick)}</div>
          <details data-settings>
            <summary>Search settings: ${described(this.state)}</summary>
            <div class="tfl-settings">${form.choice}<div class="tfl-numbers">${form.sliders}</div></div>
          </details>
        </div>
        ${spoken.node}${views.node}${this.engine ? own.node : nothing}`,
      this.root,
    );
  }

  // Change the state, here, in Python and in the address.
  #set(changes) {
    this.bound.commit(changes);
    if (!this.onPage) return;
    const text = this.bar.input.value;
    const prefix = text === this.state.text ? this.state.prefix : [];
    const address = addressOf(toHash({ ...this.state, text, prefix }));
    this.share.show(address);
    keep(address);
  }

  #update() {
    const { state } = this;
    Object.assign(state, this.bound.read());
    this.form.show(settingsOf(state));
    this.views.show(VIEWS.includes(state.view) ? state.view : VIEWS[0]);
    this.#draw();
    if (!this.#isBusy) this.inside.look(this.#shown);
  }

  // Another setting: the same sentence again, unless another one is being typed.
  #try(changes) {
    const { state } = this;
    this.#set(traitsOf({ ...settingsOf(state), ...changes }));
    clearTimeout(this.#timer);
    if (this.#shown?.live && this.bar.input.value === state.text)
      this.#timer = setTimeout(() => this.#again(state.prefix), PAUSE);
  }

  #again(pieces) {
    this.#isAgain = true;
    this.#begin = pieces;
    this.bar.show(this.state.text);
    this.bar.ask();
  }

  // Show what there is.
  #present() {
    this.view.show(this.#shown);
    this.#draw();
  }

  // A sentence that waits to be asked for: nothing is loaded before.
  #wait() {
    this.#shown = null;
    this.view.clear();
    this.#draw();
    if (!this.engine) return;
    const size = megabytes(this.model.get("model_bytes"));
    this.bar.tell(
      this.#isLoaded
        ? "Ready."
        : `Press Translate: it loads the model once (${size}), which then runs on your machine.`,
    );
  }

  // Let another model answer; null: the one of the page. What was begun with its pieces is
  // not for another, nor is a link that others would open.
  #exchange(other) {
    this.bar.stop();
    this.engine.use(other);
    this.#isOwn = this.#isLoaded = Boolean(other);
    this.#begin = [];
    this.inside.renew();
    this.#set({ prefix: [], knocked_out: [] });
    this.#wait();
    this.inside.look(null);
  }

  async #translate(text, tools) {
    const refused = refusal(text);
    if (refused) throw new Error(refused);
    const number = ++this.#asked;
    const isNewest = () => number === this.#asked;
    const onStep = (step) => this.view.grow(soFar(step));
    const doubt = this.#isOwn ? {} : this.model.get("doubt");
    const prefix = this.#begin;
    this.#isBusy = true;
    this.#begin = [];
    if (!this.#isAgain) this.view.close();
    this.#isAgain = false;
    clearTimeout(this.#timer);
    this.view.stale("Translating …");
    this.#draw();
    try {
      await this.engine.load(tools);
      this.#isLoaded = true;
      const options = { state: this.state, prefix, doubt, isNewest, onStep };
      const found = await translated(this.engine, text, options, tools);
      if (!found) return;
      this.#shown = found;
      this.#isBusy = false;
      this.#present();
      this.#set({ text, prefix });
      this.spoken.announce(found.german ? `German: ${found.german}` : SILENT, true);
    } catch (error) {
      if (isNewest()) {
        this.#isBusy = false;
        if (this.#shown) this.#present();
        else this.view.clear();
      }
      throw error;
    }
  }

  // Show what the address says. Later on it may name a place of the page instead.
  #open(isFirst) {
    const found = this.onPage && ofHash(location.hash);
    if (!found && !isFirst) return;
    if (found) {
      this.#begin = found.prefix;
      this.bar.show(found.text);
      this.bound.commit(found);
    }
    const example = this.model.get("example");
    const settings = { ...usual(), text: example.text };
    const isRecorded = STATE.every(
      (key) => ASIDE.includes(key) || String(this.state[key]) === String(settings[key]),
    );
    if (isRecorded) {
      this.#shown = recorded(example, settings);
      this.#present();
    } else {
      this.#wait();
      if (this.engine) this.bar.ask(); // who follows a link wants to see what it leads to
    }
    this.#update();
  }

  stop() {
    const { bound, bar, own, inside, share, spoken } = this;
    stopping(bound, bar, own, inside, share, spoken)();
    clearTimeout(this.#timer);
    removeEventListener("hashchange", this.followed);
  }
}

export default {
  render(given) {
    const lab = new Lab(given);
    return () => lab.stop();
  },
};
