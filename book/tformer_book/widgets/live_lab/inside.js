// The views behind the tabs: each is made, and asks the model, once its tab is open.
import { h } from "../kit/kit.js";
import { requests } from "../kit/model.js";
import { html, render } from "../kit/vendor/lit.js";
import { INSIDE } from "./views.js";

// state: that of the lab, of which onState hears changes; linked: whether the chapters
// are beside this page.
// -> { tabs: [{ key, title, panel }], look(shown): show that in the open tab, renew(): for
//      another model, stop() }
export function insideOf(engine, { state, linked, onState }) {
  /** @type {Record<string, any>[]} */
  const all = INSIDE.map((each) => ({
    ...each,
    panel: h("div"),
    asked: requests(""),
    view: null,
    shows: null,
  }));

  function look(shown) {
    const each = all.find(({ key }) => key === state.view);
    if (!each) return;
    if (!shown) {
      render(nothingYet, each.panel);
      return;
    }
    const { run, node } = each.asked;
    each.view ??= each.make(engine, { run, state, onState });
    const [title, page] = each.book;
    const book = linked ? html`<a href=${page}>${title}</a>` : html`<i>${title}</i>`;
    render(
      html`${node}${each.view.node}<p class="tfl-book">What this shows is the subject of the chapter ${book}.</p>`,
      each.panel,
    );
    each.view.set?.(state);
    if (each.shows === shown) return;
    each.shows = shown;
    const show = (tools) => each.view.show(shown, tools);
    if (shown.live && each.asks) run(show);
    else show();
  }

  // A view knows the layers and heads of its model.
  function renew() {
    for (const each of all) {
      each.view?.stop();
      Object.assign(each, { view: null, shows: null });
    }
  }
  function stop() {
    for (const each of all) each.asked.stop();
    renew();
  }
  return { tabs: /** @type {any[]} */ (all), look, renew, stop };
}

const nothingYet = html`<p class="tfl-hint">Translate a sentence first: this shows what happened inside.</p>`;
