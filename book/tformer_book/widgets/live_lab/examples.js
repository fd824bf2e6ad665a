// Sentences to try, and what would mend those that go wrong.
import { html, nothing } from "../kit/vendor/lit.js";

// groups: [{ title, items: [{ text, remark, mend?: { how, text } }] }]
export const examples = (groups, onPick) => html`
  <details class="tfl-examples" data-examples>
    <summary>Sentences to try: ${groups.map(({ title, items }) => `${items.length} ${title}`).join(", ")}</summary>
    <div class="tfl-groups">${groups.map(({ title, items }, g) => {
      const label = `They ${title.replace("that ", "")}`;
      return html`
        <div class="tfl-group">
          <p class="tfl-title">${label}</p>
          <ul aria-label=${label}>${items.map((each, i) => example(each, `${g}-${i}`, onPick))}</ul>
        </div>`;
    })}</div>
  </details>`;

const example = ({ text, remark, mend }, number, onPick) => html`
  <li>
    <button type="button" lang="en" data-control="example-${number}" @click=${() => onPick(text)}>${text}</button>
    ${remark ? html`<span class="tfl-remark">${remark}</span>` : nothing}
    ${mend ? mending(`mend-${number}`, mend, onPick) : nothing}
  </li>`;

const mending = (name, { how, text }, onPick) => html`
  <span class="tfl-mend">Mend it. ${how}: <button type="button" lang="en"
    data-control=${name} @click=${() => onPick(text)}>${text}</button></span>`;

// What is said of a sentence that is known to go wrong, one of the items.
export const knownWrong = ({ remark, mend }, onPick) =>
  html`Known to go wrong: ${remark}. ${mending("mend", mend, onPick)}`;
