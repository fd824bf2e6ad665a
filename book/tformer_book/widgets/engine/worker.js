// The engine in a thread of its own, so that the page stays quick.
import { serve } from "./service.js";

serve(globalThis);
