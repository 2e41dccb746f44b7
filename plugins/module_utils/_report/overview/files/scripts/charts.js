// Charts of the library in the colours of the page: drawn when they come into sight, again when the theme changes.
const CHARTS = [];

function chart(caption, height, option, summary) {
  const place = element("div", { class: "chart", role: "img", "aria-label": summary || caption });
  place.style.height = `${height}px`;
  const figure = element("figure", {}, element("figcaption", {}, caption), place);
  const one = { place, option, drawn: null };
  CHARTS.push(one);
  new ResizeObserver(() => drawChart(one)).observe(place);
  return { figure, again: (option_, height_, summary_) => {
    one.option = option_;
    if (height_) place.style.height = `${height_}px`;
    if (summary_) place.setAttribute("aria-label", summary_);
    drawChart(one, true);
  } };
}

function drawChart(one, anew) {
  if (!one.place.clientWidth || !one.option) return;
  if (one.drawn && !anew) {
    one.drawn.resize();
    return;
  }
  if (one.drawn) one.drawn.dispose();
  one.drawn = echarts.init(one.place, null, { renderer: "svg" });
  one.drawn.setOption({ animation: false, textStyle: { fontFamily: "inherit", color: colour("fg") }, tooltip: tooltip(), ...one.option(one.place.clientWidth) });
}

function redrawCharts() {
  for (const each of CHARTS) drawChart(each, true);
}
addEventListener("beforeprint", redrawCharts);
addEventListener("afterprint", redrawCharts);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);

// The words of a tooltip are an element with text: no name of a cluster is ever markup.
function tooltip(words) {
  return {
    confine: true,
    backgroundColor: colour("panel"),
    borderColor: colour("line"),
    textStyle: { color: colour("fg"), fontSize: 13 },
    formatter: (of) => {
      const lines = words ? words(of) : [`${of.name}: ${of.value}`];
      return element("div", { class: "tip" }, ...lines.filter(Boolean).map((line) => element("div", {}, line)));
    },
  };
}

const axisLine = () => ({ axisLine: { lineStyle: { color: colour("quiet") } }, axisLabel: { color: colour("muted"), hideOverlap: true }, splitLine: { lineStyle: { color: colour("line") } } });
