// A function that works its result out anew only when it is given something else than the
// last time: for what is costly and follows from a part of a figure's state.
export function remembered(work) {
  let last = null;
  let result;
  return (...given) => {
    if (!last || given.some((each, i) => each !== last[i])) {
      result = work(...given);
      last = given;
    }
    return result;
  };
}
