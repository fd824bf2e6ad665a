// Tabs: arrows, Home and End walk along them; Enter, Space or a click opens one.
import { ALONG, onArrows, within } from "./arrows.js";
import { h, uid } from "./kit.js";
import { html, render } from "./vendor/lit.js";

// items: [{ key, title, panel (an element) }]. -> { node, show(key) }
export function tabs(label, items, onPick) {
  const id = uid();
  const node = h("div");
  const onWalk = onArrows(ALONG, (by, { target, currentTarget }) => {
    const all = [...currentTarget.querySelectorAll("[role=tab]")]; // a panel may have its own
    const to = all.indexOf(target) + by;
    const around = (to + all.length) % all.length; // NaN for Home and End
    all[Number.isNaN(around) ? within(to, all.length) : around].focus();
  });
  const tab = ({ key, title }, isOpen) => html`
    <button type="button" role="tab" id="${id}-${key}" aria-controls="${id}-${key}-panel"
      data-control="tab-${key}" aria-selected=${String(isOpen)} tabindex=${isOpen ? 0 : -1}
      @click=${() => onPick(key)}>${title}</button>`;
  const panel = ({ key, panel }, isOpen) => html`
    <div role="tabpanel" class="tfk-tabpanel" id="${id}-${key}-panel"
      aria-labelledby="${id}-${key}" data-view=${key} ?hidden=${!isOpen}>${panel}</div>`;
  const show = (open) =>
    render(
      html`
        <div class="tfk-tabs" role="tablist" aria-label=${label} @keydown=${onWalk}>${items.map((each) => tab(each, each.key === open))}</div>
        ${items.map((each) => panel(each, each.key === open))}`,
      node,
    );
  return { node, show };
}
