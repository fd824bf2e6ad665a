// When to ask a card again: SM-2 (Woźniak, 1990), without a page and without a clock.
// Days are whole numbers. The ease (Woźniak's E-Factor) is kept in hundredths, so that
// no rounding error can ever add a day.

/**
 * How well a card is known.
 * @typedef {object} Progress
 * @property {number} passed right answers in a row, one a day at most
 * @property {number} ease hundredths: what an interval is multiplied by
 * @property {number} interval days from the last answer to the next question
 * @property {number} asked the day of the last answer
 * @property {number} due the day of the next question
 * @property {boolean} again whether it comes once more on the day of the last answer
 */

/** What the four buttons mean on the scale from 0 to 5. */
export const QUALITY = [2, 3, 4, 5];
const SOON = 5; // cards between a question and its repetition on the same day

/**
 * The progress after an answer of a quality from 0 to 5.
 *
 * A repetition on the same day changes only whether there will be another one.
 * @param {Progress | undefined} before nothing for a new card
 * @param {number} quality
 * @param {number} day
 * @returns {Progress}
 */
export function answered(before, quality, day) {
  const again = quality < 4;
  if (before?.asked === day) return { ...before, again };
  const missing = 5 - quality;
  const isPassed = quality >= 3;
  const passed = isPassed ? (before?.passed ?? 0) + 1 : 0;
  const change = isPassed ? 10 - missing * (8 + 2 * missing) : 0;
  const ease = Math.max(130, (before?.ease ?? 250) + change);
  const interval =
    passed > 2 ? Math.ceil((before.interval * ease) / 100) : passed === 2 ? 6 : 1;
  return { passed, ease, interval, asked: day, due: day + interval, again };
}

/**
 * Whether a card is to be asked on this day.
 * @param {Progress | undefined} progress
 * @param {number} day
 */
export function isDue(progress, day) {
  return !progress || progress.due <= day || (progress.again && progress.asked === day);
}

/**
 * The cards to ask on this day: those seen before, the longest due first, then new ones.
 * @param {string[]} ids in the order of the book
 * @param {Record<string, Progress>} known
 * @param {number} day
 */
export function queue(ids, known, day) {
  const due = ids.filter((id) => isDue(known[id], day));
  const old = due.filter((id) => known[id]);
  old.sort((a, b) => known[a].due - known[b].due);
  return [...old, ...due.filter((id) => !known[id])];
}

/**
 * The rest of a queue after its first card was answered.
 * @param {string[]} ids
 * @param {boolean} again
 */
export function rest([first, ...others], again) {
  return again ? [...others.slice(0, SOON), first, ...others.slice(SOON)] : others;
}
