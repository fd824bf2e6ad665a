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
    made: null,
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
    each.made ??= each.make(engine, { run, state, onState });
    const { view, show, set } = each.made;
    const [page, title] = each.book;
    const book = linked
      ? html`<a href="${page}.html">${title}</a>`
      : html`<i>${title}</i>`;
    render(
      html`${node}<div class=${each.look}>${view.node}</div>
        <p class="tfl-book">What this shows is the subject of the chapter ${book}.</p>`,
      each.panel,
    );
    set?.(state);
    if (each.shows === shown) return;
    each.shows = shown;
    if (shown.live && each.asks) run((tools) => show(shown, tools));
    else show(shown);
  }

  // A view knows the layers and heads of its model.
  function renew() {
    for (const each of all) {
      each.made?.view.stop();
      Object.assign(each, { made: null, shows: null });
    }
  }
  function stop() {
    for (const each of all) each.asked.stop();
    renew();
  }
  return { tabs: /** @type {any[]} */ (all), look, renew, stop };
}

const nothingYet = html`<p class="tfl-hint">Translate a sentence first: this shows what happened inside.</p>`;
