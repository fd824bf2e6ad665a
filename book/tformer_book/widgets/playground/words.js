// What the figure says about the parts that can be broken, and about each experiment.
// A chapter is [its page's name, its title].
const POSITIONS = ["04-positions", "Positions"];
const ATTENTION = ["05-attention", "Attention"];
const HEADS = ["06-multi-head", "Multi-head attention"];
const MASKS = ["07-masks", "Masks"];
const ENCODER = ["08-encoder", "The encoder"];
const DECODER = ["09-decoder", "The decoder"];
const DATA = ["11-data", "Data"];
const TRAINING = ["12-training", "Training"];

// Switch -> its name, what to look for when it is off, its chapter.
/** @type {Record<string, [string, string, string[]]>} */
export const SWITCHES = {
  causal: [
    "Causal mask",
    "The loss falls to nearly 0, but what it writes is wrong",
    MASKS,
  ],
  padding: [
    "Padding mask",
    "A short sequence by itself comes out wrong: type four letters, once it has learned eight",
    MASKS,
  ],
  positions: [
    "Positions",
    "It writes mostly the right letters, in the wrong order",
    POSITIONS,
  ],
  residual: [
    "Residual connections",
    "With two layers or more, it learns hardly anything",
    ENCODER,
  ],
  scale: [
    "Division by √d",
    "With one head of width 64, each row of a map soon has one dark cell, often the wrong one, and it learns less",
    ATTENTION,
  ],
  shift: [
    "Labels shifted",
    "The loss is soon close to 0, but it repeats one symbol",
    DECODER,
  ],
};

// Experiment -> title, what is asked, three guesses, which of them is right, the names of
// the two runs, what it shows, its chapter.
export const EXPERIMENTS = {
  positions: {
    title: "No positions",
    asks: "The model has to copy letters, but we take the positions away. What will it do?",
    guesses: [
      "Copy as before: it only has to look at each letter.",
      "Write wrong sequences: it can’t tell which letter comes next.",
      "Copy short sequences, but no others.",
    ],
    right: 1,
    runs: ["with positions", "without"],
    why: "Without positions, attention sees a bag of letters. Nothing says which of them came first, so the model can’t know which to write next.",
    chapter: POSITIONS,
  },
  heads: {
    title: "One head or two",
    asks: "Each digit becomes its left neighbour minus its right one. Two heads share the width, or one head has it all. How well will one head do?",
    guesses: [
      "As well as two: it can look at both neighbours at once.",
      "Much worse: it mixes the neighbours and can’t tell them apart.",
      "Better: it is twice as wide.",
    ],
    right: 1,
    runs: ["two heads", "one head"],
    why: "A head hands over one mixture. If half of it comes from the left and half from the right, left minus right looks just like right minus left. Two heads hand over two.",
    chapter: HEADS,
  },
  leak: {
    title: "The leak",
    asks: "The model learns to turn number words into digits, but we take the causal mask away from its decoder. How will it write?",
    guesses: [
      "As well as before, if we train a little longer.",
      "Better, because it sees more.",
      "Badly, although its loss is lower.",
    ],
    right: 2,
    runs: ["with the mask", "without"],
    why: "In training the model now sees the next symbol, so copying it is all that it learns. When it writes on its own, there is nothing to copy yet.",
    chapter: MASKS,
  },
  padding: {
    title: "Padding that counts",
    asks: "Nothing hides the padding. The model learns from batches of unequal lengths, and is then given each sequence by itself. How well will it copy?",
    guesses: [
      "As well as in a batch: padding is nothing.",
      "Much worse than in a batch.",
      "Better: there is less to look at.",
    ],
    right: 1,
    runs: ["padding hidden", "padding seen"],
    why: "The model has got used to padding that takes some of the weight from the letters. By itself a sequence has no padding, so all the weights differ from those it learned with.",
    chapter: MASKS,
  },
  shift: {
    title: "Labels that aren’t shifted",
    asks: "The labels are what the decoder has just read, instead of what comes next. How will it write?",
    guesses: [
      "Correctly, but one symbol late.",
      "The start symbol over and over: it repeats what it has read.",
      "As before: the mask hides the answer anyway.",
    ],
    right: 1,
    runs: ["shifted", "not shifted"],
    why: "No mask hides what the decoder reads at its own place. Repeating it is all that the loss asks for, so the loss is soon close to 0.",
    chapter: DECODER,
  },
  residual: {
    title: "No residual connections",
    asks: "Three narrow layers, without the connections around each sublayer. How well will the model learn?",
    guesses: [
      "Hardly at all, in the same time.",
      "Just as well: the layers do the work.",
      "Faster: there is less to add up.",
    ],
    right: 0,
    runs: ["with them", "without"],
    why: "Without them, everything known about a symbol has to pass through every sublayer, and so does every gradient. With them, each sublayer only adds to what is there.",
    chapter: ENCODER,
  },
  layers: {
    title: "Two hops",
    asks: "Each digit names a place, counted from 0. The digit there names another place, and the digit there is the answer. Can one layer find it?",
    guesses: [
      "Yes, with enough training.",
      "No: it needs a second look, which depends on the first.",
      "Yes, because it has two heads.",
    ],
    right: 1,
    runs: ["two layers", "one layer"],
    why: "In one layer, all queries are made before anything has been looked up. The second hop has to start from what the first one found, and that takes a second layer.",
    chapter: ENCODER,
  },
  warmup: {
    title: "No warm-up",
    asks: "We train a post-norm model at a high learning rate, with warm-up and without. What will happen without it?",
    guesses: [
      "The model gets ahead, because it starts at full speed.",
      "It ends in the same place.",
      "It gets stuck.",
    ],
    right: 2,
    runs: ["with warm-up", "without"],
    why: "At the start the gradients are erratic, and Adam, the optimizer, has averaged only a few of them. Full-size steps then take the model to a place from which it doesn’t come back.",
    chapter: TRAINING,
  },
  rate: {
    title: "Thirty times the learning rate",
    asks: "The learning rate is 0.1 instead of 0.003. What will happen?",
    guesses: [
      "It learns thirty times as fast.",
      "It learns faster, but less exactly.",
      "It learns nothing useful.",
    ],
    right: 2,
    runs: ["0.003", "0.1"],
    why: "A gradient tells which way the loss falls from here, and nothing about far away. Steps that are too long land on the other side of the valley every time.",
    chapter: TRAINING,
  },
  scale: {
    title: "No division by √d",
    asks: "One head of width 64, and we don’t divide its scores by √64. In the same time, how well will it learn to copy?",
    guesses: [
      "Better: the scores are larger, so it decides sooner.",
      "Just as well: it can learn smaller numbers.",
      "Much worse: it decides too soon.",
    ],
    right: 2,
    runs: ["divided", "not divided"],
    why: "Large scores make softmax put nearly all the weight on one key before anything has been learned, and hardly any gradient gets through such a softmax.",
    chapter: ATTENTION,
  },
  smoothing: {
    title: "A loss that doesn’t fall to 0",
    asks: "With label smoothing of 0.1 the loss stays above 0.6; without it, the loss falls below 0.3. Which model writes worse?",
    guesses: [
      "The smoothed one: its loss is higher.",
      "Neither: both write well.",
      "The other one: it is too sure of itself.",
    ],
    right: 1,
    runs: ["no smoothing", "smoothing 0.1"],
    why: "Smoothing asks for some probability on every wrong symbol, so no model can bring that loss to 0. Losses with and without smoothing can’t be compared.",
    chapter: TRAINING,
  },
  lines: {
    title: "Forty lines",
    asks: "One model gets 1,500 lines of numbers in words and in digits, the other only 40 of them, and both train equally long. How will the second do on lines that it hasn’t seen?",
    guesses: [
      "Almost as well: it saw each line more often.",
      "Badly: it has learned its lines by heart.",
      "It can’t even learn its own lines.",
    ],
    right: 1,
    runs: ["1,500 lines", "40 lines"],
    why: "Its training loss is lower than the other’s. But with so few lines it is easier to remember than to find the rule, and what it remembers is no help with a new line.",
    chapter: DATA,
  },
};
