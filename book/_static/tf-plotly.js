// Draws the page's Plotly figures when they come near the viewport, in the colours of
// the theme, with the bundle that lies beside this file. (A block, and no module: pages
// that are opened from the disk have charts, too.)
{
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  /** @type {any} */
  const page = window; // Plotly's bundle puts its name there
  /** @type {any[]} */
  const boxes = [...document.querySelectorAll(".tf-plotly-box")];
  let library;

  const plotly = () => {
    library ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("vendor/plotly/plotly-cartesian.min.js", here).href;
      script.onload = () => resolve(page.Plotly);
      script.onerror = () => reject(new Error(`cannot load ${script.src}`));
      document.head.append(script);
    });
    return library;
  };

  // What a colour of tokens.css is now, as a chart understands it.
  const probe = document.createElement("i");
  const now = (colour) => {
    probe.style.color = colour;
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };

  const OURS = /(?:var|color-mix)\([^"]*\)/g; // as plotly.py writes them

  // The colours of the data, by their place in each trace ("line.color"), as the page has
  // them.
  const coloured = (part, place = "") =>
    Object.entries(part).flatMap(([name, value]) => {
      if (typeof value === "string" && value.match(OURS))
        return [[`${place}${name}`, value]];
      const isPart = value && typeof value === "object" && !Array.isArray(value);
      return isPart ? coloured(value, `${place}${name}.`) : [];
    });
  const repaint = (Plotly, graph, colours) =>
    Promise.all(
      colours.map((each, i) => {
        const update = Object.fromEntries(
          each.map(([key, value]) => [key, now(value)]),
        );
        return each.length ? Plotly.restyle(graph, update, [i]) : null;
      }),
    );

  // What of a layout follows the theme: text, lines and backgrounds.
  const themed = (layout) => {
    const [text, line, surface] = ["ink", "edge", "surface"].map((name) =>
      now(`var(--tf-${name})`),
    );
    const none = "transparent";
    const update = {
      paper_bgcolor: none,
      plot_bgcolor: none,
      "font.color": text,
      "font.family": getComputedStyle(document.body).fontFamily,
      "legend.bgcolor": none,
      "hoverlabel.bgcolor": surface,
      "hoverlabel.font.color": text,
      "modebar.bgcolor": none,
      "modebar.color": text,
      "modebar.activecolor": text,
    };
    for (const axis of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)))
      for (const part of ["gridcolor", "zerolinecolor", "linecolor"])
        update[`${axis}.${part}`] = line;
    return update;
  };

  const matches = (query) => matchMedia(query).matches;

  const draw = async (box) => {
    const Plotly = await plotly();
    const { textContent } = box.querySelector("script");
    const figure = JSON.parse(textContent.replace(OURS, now));
    const layout = { ...figure.layout, autosize: true };
    layout.xaxis ??= {};
    layout.yaxis ??= {};
    layout.margin ??= { t: layout.title?.text ? 56 : 24, r: 24, b: 56, l: 64 };
    delete layout.width;
    if (matches("(prefers-reduced-motion: reduce)"))
      layout.transition = { duration: 0 };
    // By finger, a chart answers taps; what swipes over it scrolls the page.
    const byFinger = matches("(hover: none)");
    if (byFinger) layout.dragmode = false;
    /** @type {any} */ // Plotly adds to it
    const graph = document.createElement("div");
    graph.style.height = "100%";
    box.append(graph);
    await Plotly.newPlot(graph, figure.data, layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: byFinger ? false : "hover",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      scrollZoom: false,
    });
    if (figure.frames) await Plotly.addFrames(graph, figure.frames);
    await Plotly.relayout(graph, themed(graph.layout));
    box.colours = JSON.parse(textContent).data.map((trace) => coloured(trace));
    box.graph = graph;
    box.dataset.ready = "true";
  };

  const waiting = new Set(boxes);
  const start = (box) => {
    near.unobserve(box);
    if (!waiting.delete(box)) return;
    draw(box).catch((error) => {
      box.append("This chart could not be drawn in this browser.");
      console.error(error);
    });
  };
  const near = new IntersectionObserver(
    (entries) =>
      entries.forEach((entry) => entry.isIntersecting && start(entry.target)),
    { rootMargin: "600px" },
  );
  for (const box of boxes) near.observe(box);
  // With the bundle there, all are drawn before anything is printed.
  const { connection } = /** @type {any} */ (navigator);
  if (boxes.length && matches("(hover: hover)") && !connection?.saveData)
    addEventListener("load", () => setTimeout(() => plotly().catch(() => {}), 5000));
  addEventListener("beforeprint", () => waiting.forEach(start));

  // Paper has less room than a screen that scrolls.
  const LOWER = 0.68;
  const resize = (sizeOf) => () => {
    for (const box of boxes)
      if (box.graph) page.Plotly.relayout(box.graph, sizeOf(box));
  };
  const lower = ({ style }) => ({ height: LOWER * Number.parseFloat(style.height) });
  const asTheBox = () => ({ width: null, height: null, autosize: true });
  addEventListener("beforeprint", resize(lower));
  addEventListener("afterprint", resize(asTheBox));

  new MutationObserver(() => {
    for (const { graph, colours } of boxes)
      if (graph) {
        page.Plotly.relayout(graph, themed(graph.layout));
        repaint(page.Plotly, graph, colours);
      }
  }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
