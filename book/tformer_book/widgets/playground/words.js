// What the figure says about the parts that can be broken, and about each experiment.
import { CHAPTERS } from "../kit/chapters.js";

const cells = (line) => line.split(" | ");

// Switch | its name | what to look for when it is off | its chapter.
const OFF = `
causal | Causal mask | The loss falls to nearly 0, but what it writes is wrong | masks
padding | Padding mask | A short sequence by itself comes out wrong: type four letters, once it has learned eight | masks
positions | Positions | It writes mostly the right letters, in the wrong order | positions
residual | Residual connections | With two layers or more, it learns hardly anything | encoder
scale | Division by √d | With one head of width 64, each row of a map soon has one dark cell, often the wrong one, and it learns less | attention
shift | Labels shifted | The loss is soon close to 0, but it repeats one symbol | decoder
`;
/** @type {Record<string, [string, string, string[]]>} */
export const SWITCHES = Object.fromEntries(
  OFF.trim()
    .split("\n")
    .map((line) => {
      const [key, name, watch, chapter] = cells(line);
      return [key, [name, watch, CHAPTERS[chapter]]];
    }),
);

// Experiment | its title | its two runs | its chapter; then what is asked; three guesses, of
// which + is right; and what it shows.
const TOLD = `
positions | No positions | with positions / without | positions
The model has to copy letters, but we take the positions away. What will it do?
- Copy as before: it only has to look at each letter.
+ Write wrong sequences: it can’t tell which letter comes next.
- Copy short sequences, but no others.
Without positions, attention sees a bag of letters. Nothing says which of them came first, so the model can’t know which to write next.

heads | One head or two | two heads / one head | heads
Each digit becomes its left neighbour minus its right one. Two heads share the width, or one head has it all. How well will one head do?
- As well as two: it can look at both neighbours at once.
+ Much worse: it mixes the neighbours and can’t tell them apart.
- Better: it is twice as wide.
A head hands over one mixture. If half of it comes from the left and half from the right, left minus right looks just like right minus left. Two heads hand over two.

leak | The leak | with the mask / without | masks
The model learns to turn number words into digits, but we take the causal mask away from its decoder. How will it write?
- As well as before, if we train a little longer.
- Better, because it sees more.
+ Badly, although its loss is lower.
In training the model now sees the next symbol, so copying it is all that it learns. When it writes on its own, there is nothing to copy yet.

padding | Padding that counts | padding hidden / padding seen | masks
Nothing hides the padding. The model learns from batches of unequal lengths, and is then given each sequence by itself. How well will it copy?
- As well as in a batch: padding is nothing.
+ Much worse than in a batch.
- Better: there is less to look at.
The model has got used to padding that takes some of the weight from the letters. By itself a sequence has no padding, so all the weights differ from those it learned with.

shift | Labels that aren’t shifted | shifted / not shifted | decoder
The labels are what the decoder has just read, instead of what comes next. How will it write?
- Correctly, but one symbol late.
+ The start symbol over and over: it repeats what it has read.
- As before: the mask hides the answer anyway.
No mask hides what the decoder reads at its own place. Repeating it is all that the loss asks for, so the loss is soon close to 0.

residual | No residual connections | with them / without | encoder
Three narrow layers, without the connections around each sublayer. How well will the model learn?
+ Hardly at all, in the same time.
- Just as well: the layers do the work.
- Faster: there is less to add up.
Without them, everything known about a symbol has to pass through every sublayer, and so does every gradient. With them, each sublayer only adds to what is there.

layers | Two hops | two layers / one layer | encoder
Each digit names a place, counted from 0. The digit there names another place, and the digit there is the answer. Can one layer find it?
- Yes, with enough training.
+ No: it needs a second look, which depends on the first.
- Yes, because it has two heads.
In one layer, all queries are made before anything has been looked up. The second hop has to start from what the first one found, and that takes a second layer.

warmup | No warm-up | with warm-up / without | training
We train a post-norm model at a high learning rate, with warm-up and without. What will happen without it?
- The model gets ahead, because it starts at full speed.
- It ends in the same place.
+ It gets stuck.
At the start the gradients are erratic, and Adam, the optimizer, has averaged only a few of them. Full-size steps then take the model to a place from which it doesn’t come back.

rate | Thirty times the learning rate | 0.003 / 0.1 | training
The learning rate is 0.1 instead of 0.003. What will happen?
- It learns thirty times as fast.
- It learns faster, but less exactly.
+ It learns nothing useful.
A gradient tells which way the loss falls from here, and nothing about far away. Steps that are too long land on the other side of the valley every time.

scale | No division by √d | divided / not divided | attention
One head of width 64, and we don’t divide its scores by √64. In the same time, how well will it learn to copy?
- Better: the scores are larger, so it decides sooner.
- Just as well: it can learn smaller numbers.
+ Much worse: it decides too soon.
Large scores make softmax put nearly all the weight on one key before anything has been learned, and hardly any gradient gets through such a softmax.

smoothing | A loss that doesn’t fall to 0 | no smoothing / smoothing 0.1 | training
With label smoothing of 0.1 the loss stays above 0.6; without it, the loss falls below 0.3. Which model writes worse?
- The smoothed one: its loss is higher.
+ Neither: both write well.
- The other one: it is too sure of itself.
Smoothing asks for some probability on every wrong symbol, so no model can bring that loss to 0. Losses with and without smoothing can’t be compared.

lines | Forty lines | 1,500 lines / 40 lines | data
One model gets 1,500 lines of numbers in words and in digits, the other only 40 of them, and both train equally long. How will the second do on lines that it hasn’t seen?
- Almost as well: it saw each line more often.
+ Badly: it has learned its lines by heart.
- It can’t even learn its own lines.
Its training loss is lower than the other’s. But with so few lines it is easier to remember than to find the rule, and what it remembers is no help with a new line.
`;
function experiment(block) {
  const [head, asks, ...guesses] = block.split("\n");
  const why = guesses.pop();
  const [key, title, runs, chapter] = cells(head);
  const words = {
    title,
    asks,
    guesses: guesses.map((each) => each.slice(2)),
    right: guesses.findIndex((each) => each.startsWith("+")),
    runs: runs.split(" / "),
    why,
    chapter: CHAPTERS[chapter],
  };
  return [key, words];
}
export const EXPERIMENTS = Object.fromEntries(
  TOLD.trim().split("\n\n").map(experiment),
);
