// Parts of tables.
import { html } from "./vendor/lit.js";

// The head: a name over each column.
export const heads = (names) =>
  html`<thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`;

// A box in which a table scrolls where it is too wide; its name is for screen readers.
export const scrolling = (name, table) =>
  html`<div class="tfk-scroll" tabindex="0" role="region" aria-label=${name}>${table}</div>`;
