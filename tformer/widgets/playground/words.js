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
    "the loss falls to nearly 0, and what it writes is wrong",
    MASKS,
  ],
  padding: ["Padding mask", "a sequence alone is written worse than in a batch", MASKS],
  positions: ["Positions", "the letters are right, their order is not", POSITIONS],
  residual: [
    "Residual connections",
    "with three layers or more, hardly anything is learned",
    ENCODER,
  ],
  scale: ["Division by √d", "maps that are black and white too soon", ATTENTION],
  shift: ["Labels shifted", "the loss is 0 at once, and it repeats one sign", DECODER],
};

// Experiment -> title, what is asked, three guesses, which of them is right, the names of
// the two runs, what it shows, its chapter.
export const EXPERIMENTS = {
  positions: {
    title: "No positions",
    asks: "The model has to copy letters, and we take the positions away. What will it do?",
    guesses: [
      "Copy as before: it only has to look at each letter.",
      "Write wrong sequences: it can't tell which letter comes next.",
      "Copy, but only short sequences.",
    ],
    right: 1,
    runs: ["with positions", "without"],
    why: "Without positions attention sees a bag of letters. Nothing says which of them was first, so the model cannot know which to write next.",
    chapter: POSITIONS,
  },
  heads: {
    title: "One head or two",
    asks: "Each digit becomes its left neighbour minus its right one. The width is the same, but it is shared by two heads or used by one. What will one head do?",
    guesses: [
      "As well as two: it can look at both neighbours at once.",
      "Much worse: it mixes the neighbours and can't tell them apart.",
      "Better: it is twice as wide.",
    ],
    right: 1,
    runs: ["two heads", "one head"],
    why: "A head hands over one mixture. If half of it comes from the left and half from the right, left minus right and right minus left look the same. Two heads hand over two.",
    chapter: HEADS,
  },
  leak: {
    title: "The leak",
    asks: "We take the causal mask away from the decoder. How will it write?",
    guesses: [
      "As well as before, if we train a little longer.",
      "Better, because it sees more.",
      "Badly, although its loss is lower.",
    ],
    right: 2,
    runs: ["with the mask", "without"],
    why: "In training the next symbol now lies open, so copying it is all that the model learns. When it writes, there is nothing yet to copy.",
    chapter: MASKS,
  },
  padding: {
    title: "Padding that counts",
    asks: "Nobody hides the padding. The model learns in batches of unequal lengths, and is then given each sequence on its own. How will it copy?",
    guesses: [
      "As in a batch: padding is nothing.",
      "Much worse than in a batch.",
      "Better: there is less to look at.",
    ],
    right: 1,
    runs: ["padding hidden", "padding seen"],
    why: "The model has got used to weights that padding takes away from the letters. On its own a sequence has no padding, so all weights are different from those it learned with.",
    chapter: MASKS,
  },
  shift: {
    title: "Labels that are not shifted",
    asks: "The labels are what the decoder has just read, instead of what comes next. How will it write?",
    guesses: [
      "One symbol late, but right.",
      "It repeats what it has read: the sign for the beginning, over and over.",
      "As before: the mask hides the answer anyway.",
    ],
    right: 1,
    runs: ["shifted", "not shifted"],
    why: "No mask hides what the decoder reads at its own place. To say it again costs nothing, and the loss is 0 within a few steps.",
    chapter: DECODER,
  },
  residual: {
    title: "No residual connections",
    asks: "Three thin layers, without the connections around each sublayer. How will it learn?",
    guesses: [
      "Hardly at all, in the same time.",
      "As well: the layers do the work.",
      "Faster: there is less to add up.",
    ],
    right: 0,
    runs: ["with them", "without"],
    why: "Without them everything a word knows has to pass through every sublayer, and so has every gradient. With them the sublayers only add to what is there.",
    chapter: ENCODER,
  },
  layers: {
    title: "Two hops",
    asks: "Each digit names a place, and the digit there names another one, whose digit is the answer. Can one layer do it?",
    guesses: [
      "Yes, with enough training.",
      "No: it needs a second look, which depends on the first.",
      "Yes, because it has two heads.",
    ],
    right: 1,
    runs: ["two layers", "one layer"],
    why: "In one layer all queries are made before anything has been looked up. The second hop has to start from what the first one found, and that takes a second layer.",
    chapter: ENCODER,
  },
  warmup: {
    title: "No warm-up",
    asks: "A post-norm model with a high learning rate, with warm-up and without. What will the one without do?",
    guesses: [
      "Be ahead, because it starts at full speed.",
      "End at the same place.",
      "Get stuck.",
    ],
    right: 2,
    runs: ["with warm-up", "without"],
    why: "At the start the gradients point anywhere and Adam's averages hold almost nothing. Steps of full size then take the model to a place from which it does not come back.",
    chapter: TRAINING,
  },
  rate: {
    title: "Thirty times the learning rate",
    asks: "The learning rate is 0.1 instead of 0.003. What will happen?",
    guesses: [
      "It learns thirty times as fast.",
      "It learns faster, and less exactly.",
      "It learns nothing useful.",
    ],
    right: 2,
    runs: ["0.003", "0.1"],
    why: "A gradient says where the loss falls from here, and nothing about far away. Steps that are too long land on the other side of the valley, each time.",
    chapter: TRAINING,
  },
  scale: {
    title: "No division by √d",
    asks: "One head of width 32, and we don't divide the scores by √32. After 150 steps, how well will it copy?",
    guesses: [
      "Better: the scores are larger, so it decides sooner.",
      "As well: it can learn smaller numbers.",
      "Much worse: it has decided too soon.",
    ],
    right: 2,
    runs: ["divided", "not divided"],
    why: "Large scores make softmax put nearly all weight on one key before anything is learned, and through such a softmax hardly any gradient passes.",
    chapter: ATTENTION,
  },
  smoothing: {
    title: "A loss that does not fall to 0",
    asks: "With label smoothing of 0.1 the loss stays above 0.6, and without it falls below 0.3. Which model writes worse?",
    guesses: [
      "The smoothed one: its loss is higher.",
      "Neither of them, to speak of.",
      "The other one: it is too sure.",
    ],
    right: 1,
    runs: ["no smoothing", "smoothing 0.1"],
    why: "Smoothing asks for a share of the probability on every wrong symbol, so no model can bring that loss to 0. Losses with and without it can't be compared.",
    chapter: TRAINING,
  },
  lines: {
    title: "Forty lines",
    asks: "One model learns from 1,500 lines, the other from 40 of them, for as many steps. How will the second do on lines that it hasn't seen?",
    guesses: [
      "Almost as well: it saw each line more often.",
      "Badly: it knows its lines by heart.",
      "It can't learn even its own lines.",
    ],
    right: 1,
    runs: ["1,500 lines", "40 lines"],
    why: "Its training loss is lower than the other's. But with forty lines it is easier to remember than to understand, and what it remembers is of no use for a new one.",
    chapter: DATA,
  },
};
