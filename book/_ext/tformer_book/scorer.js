// How Sphinx's search ranks what it finds: titles, then text, then names of the API.
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
