// A training in a thread of its own, so that the page stays quick.
import { serve } from "./service.js";

// Where this module is: the page opens a worker there. In a notebook, which has no host,
// the address is one that kit/link.js made.
export const ADDRESS = import.meta.url;

if (typeof document === "undefined" && typeof postMessage === "function")
  serve(globalThis);
