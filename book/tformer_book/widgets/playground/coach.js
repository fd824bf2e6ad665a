// The first three steps, one at a time: each marks the part of the figure that it is about.
import { html, nothing } from "../kit/vendor/lit.js";

// done(state, chosen): whether the reader did it, given the session's state and the name
// of the map that they chose.
/** @type {{ title: string, text: string, done: (state: any, chosen: string) => boolean }[]} */
const STEPS = [
  {
    title: "Press Play.",
    text: "The model sees random letters and has to write them backwards. At first it writes nonsense. Keep an eye on the line that begins with “writes” while the loss falls.",
    done: ({ run }) => run.step > 0,
  },
  {
    title: "Look inside.",
    text: "When nearly all sequences come out right, press Pause and choose a map whose name begins with “cross 0”. Each row is what the model has just written. Which letter does it look at before it writes the next, and why does the dark line (bright by night) run from corner to corner?",
    done: (_, chosen) => chosen.startsWith("cross 0"),
  },
  {
    title: "Break it.",
    text: "Switch Positions off, and the model starts learning again from scratch (if it is paused, press Play). The dotted curve is the previous run. Before you look: which letters can it still get right if it can’t tell their order?",
    done: ({ run, settings }) => !settings.positions && run.step > 0,
  },
];

// -> { at(): the number of the step that is open, or 0; view(state, chosen) }
export function coachOf(draw) {
  let at = 1;
  let node = null;
  function go(to) {
    at = to;
    draw();
    node?.scrollIntoView({ block: "nearest" }); // on a phone it goes where its step is
  }
  const button = (name, text, to, isOff = false) => {
    const onClick = ({ currentTarget }) => {
      node = currentTarget.closest("section");
      go(to);
    };
    return html`<button type="button" class="tfk-do" data-control=${name} ?disabled=${isOff} @click=${onClick}>${text}</button>`;
  };

  function view(state, chosen) {
    if (!at)
      return html`<section class="tfpg-coach" aria-label="First steps">${button("coach", "Show the three steps", 1)}</section>`;
    const { title, text, done } = STEPS[at - 1];
    return html`<section class="tfpg-coach" aria-label="First steps">
      <p aria-live="polite"><strong>${at} of ${STEPS.length}. ${title}</strong> ${text}${done(state, chosen) ? html` <span class="tfpg-done">✓ done</span>` : nothing}</p>
      <div class="tfpg-buttons">
        ${button("coach-back", "Back", at - 1, at === 1)}
        ${button("coach-next", "Next", at + 1, at === STEPS.length)}
        ${button("coach-close", "Close", 0)}
      </div>
    </section>`;
  }
  return { at: () => at, view };
}
