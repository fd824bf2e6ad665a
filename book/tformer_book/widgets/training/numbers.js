// Numbers in English words, up to 9999, and back.
const SMALL = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen " +
  "fourteen fifteen sixteen seventeen eighteen nineteen"
).split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

export const NUMBER_WORDS = [...SMALL, ...TENS, "hundred", "thousand", "and"];

// 4207 -> four thousand two hundred and seven
export function inWords(number) {
  if (number < 20) return [SMALL[number]];
  if (number < 100) {
    const units = number % 10;
    return [TENS[Math.floor(number / 10) - 2], ...(units ? [SMALL[units]] : [])];
  }
  const [size, name] = number < 1000 ? [100, "hundred"] : [1000, "thousand"];
  const rest = number % size;
  const joined = rest && rest < 100 ? ["and"] : [];
  const begun = [SMALL[Math.floor(number / size)], name];
  return rest ? [...begun, ...joined, ...inWords(rest)] : begun;
}

// The digits of a number in words; null if that is not how it is said.
export function inDigits(words) {
  let total = 0;
  let part = 0;
  for (const word of words) {
    if (SMALL.includes(word)) part += SMALL.indexOf(word);
    else if (TENS.includes(word)) part += 10 * (TENS.indexOf(word) + 2);
    else if (word !== "and") {
      total += part * (word === "hundred" ? 100 : 1000);
      part = 0;
    }
  }
  const number = total + part;
  const isSaid = number < 10_000 && inWords(number).join(" ") === words.join(" ");
  return isSaid ? [...String(number)] : null;
}
