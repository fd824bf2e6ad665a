// How Sphinx's search ranks what it finds: titles, then text, then names of the API.
// biome-ignore lint/correctness/noUnusedVariables: Sphinx finds it by this name
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 3,
  objPrio: { 0: 0, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 25,
  partialTitle: 15,
  term: 5,
  partialTerm: 2,
};
