// What a search shows first: guides and functions, then what explains them, and derivations and archives last.
// The words of docs/goals.toml are entries of the index, which count 100 before these weights.
const WEIGHTS = [
  [/^(tutorial$|how_to\/(?!index))/, 1],
  [/^reference\/(scale|validation|scikit_learn|report|classes|means)$/, 0.9],
  [/^reference\/api\//, 0.8],
  [/^(gallery|explanation)\//, 0.6],
  [/^reference\/(changes|contributing|.*benchmark|performance|class_test|mean_measures)/, 0.3],
  [/^reference\//, 0.6],
  [/^(theory|reproductions)\//, 0.2],
];
var Scorer = {
  score: ([docname, , , , score]) => score * (WEIGHTS.find(([pages]) => pages.test(docname)) ?? [0, 0.5])[1],
  objNameMatch: 20,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
