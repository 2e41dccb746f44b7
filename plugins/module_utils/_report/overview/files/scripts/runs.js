// Update runs, staged update runs and rotations over time: what happened, what is expected, which windows are open, which gates wait.
const SEEN_BARS = 34;
const BAR = 24;

function runsPage(report, host) {
  if (!report.runs.length) {
    host.append(element("p", {}, "No update run, staged update run or rotation is recorded."));
    return () => {};
  }
  let run = report.runs[0];
  const about = element("div");
  const gantt = chart("Stages or waves, members or nodes, gates and waits over time (UTC)", 300, null);
  const bars = () => run.bars.map((bar, at) => ({ ...bar, at, text: `${bar.what} ${bar.name} ${bar.state} ${bar.why} ${bar.waitsFor}`.toLowerCase() }));
  const columns = [
      { title: "What", width: widest(report.runs.flatMap((each) => each.bars.map((bar) => `${bar.what} ${bar.name}`)), 160, narrow() ? 200 : 300) + 42, grow: 1, value: (row) => row.at, draw: (row) => element("span", { style: `padding-left:${row.depth * 14}px` }, `${row.what} ${barName(row, narrow())}`) },
      { title: "State", width: 110, value: (row) => row.state, draw: (row) => badge(row.state), label: (row) => row.state },
      { title: "Start (UTC)", width: 168, value: (row) => row.start, draw: (row) => minute(row.start) },
      { title: "End (UTC)", width: 168, value: (row) => row.end, draw: (row) => minute(row.end) },
      { title: "Expected end (UTC)", width: 188, value: (row) => row.expectedEnd, draw: (row) => (row.end ? "" : minute(row.expectedEnd)) },
      { title: "Nine of ten by (UTC)", width: 194, value: (row) => row.latestEnd, draw: (row) => (row.end ? "" : minute(row.latestEnd)) },
      { title: "Why", width: 240, grow: 3, value: (row) => row.why, draw: (row) => row.why || row.waitsFor },
  ];
  const grid = new Grid({ label: "The same as a table", rows: bars(), columns: filled(columns, bars()) });
  let words = "", state = "";
  const count = told("");
  const filtered = () => {
    const found = bars().filter((row) => row.text.includes(words) && (!state || row.state === state));
    grid.show(found);
    gantt.again(ganttOf(report, run, found), ganttHeight(found), `${run.kind} ${run.name}: ${run.state}, ${run.progress}. The table below says the same.`);
    count.textContent = `${found.length.toLocaleString("en")} of ${counted(run.bars.length, "line")}`;
  };
  const redrawn = () => {
    about.replaceChildren(runAbout(report, run));
    grid.sorted = null;
    grid.columns = filled(columns, bars());
    filtered();
  };
  const [chosen] = choice("Run", report.runs.map((each, at) => [String(at), `${each.kind} ${each.name} (${each.state})`]), (value) => { run = report.runs[Number(value)]; redrawn(); });
  const [states] = choice("State", [["", "all"], ...[...new Set(report.runs.flatMap((each) => each.bars.map((bar) => bar.state)))].sort().map((each) => [each, each])], (value) => { state = value; filtered(); });
  host.append(
    element("div", { class: "tools" }, chosen, search("Search members, nodes, stages, gates", (value) => { words = value; filtered(); }), states, count),
    about,
    element("ul", { class: "legend", "aria-label": "Marks" },
      ...[["done", "good"], ["going on", "info"], ["waiting, skipped or stopped", "warn"], ["failed or given up", "bad"], ["not begun", "none"]].map(([text, name]) => element("li", {}, element("span", { class: `swatch state ${name}`, "aria-hidden": "true" }), text)),
      element("li", {}, element("span", { class: "swatch", style: "border:2px dashed var(--info)", "aria-hidden": "true" }), "expected (half of all courses), the line behind it nine of ten"),
      element("li", {}, element("span", { class: "swatch", style: "background:var(--panel)", "aria-hidden": "true" }), "maintenance window"),
      element("li", {}, element("span", { class: "swatch", "aria-hidden": "true" }, "\u25c6"), "gate or wait")),
    gantt.figure,
    element("h3", {}, "The same as a table"),
    grid.host,
  );
  about.append(runAbout(report, run));
  gantt.again(ganttOf(report, run, bars()), ganttHeight(bars()), `${run.kind} ${run.name}: ${run.state}, ${run.progress}. The table below says the same.`);
  count.textContent = counted(run.bars.length, "line");
  return () => grid.draw();
}

const fails = (bar) => bar.expectedState === "Failed";

function runAbout(report, run) {
  const whole = run.bars[0], failing = run.bars.filter((bar) => bar.what === "member" && fails(bar)).map((bar) => bar.name);
  return element("div", {}, element("p", {}, `${run.kind} `, element("strong", {}, run.name), " ", badge(run.state), run.outcome ? ` ${run.outcome}` : "", run.target ? `; target ${run.target}` : "", run.progress ? `; ${run.progress}` : ""),
    run.message ? element("p", {}, run.message) : null,
    run.forecast && whole.expectedEnd && !whole.end ? element("p", {}, `Expected to ${fails(whole) ? "fail" : "end"} ${instant(whole.expectedEnd)}, in nine of ten courses by ${instant(whole.latestEnd) || "no known instant"}.${failing.length ? ` Failed by then: ${listed(failing, 5)}.` : ""}${whole.waitsFor ? ` Waits longest: ${whole.waitsFor}` : ""}`) : null,
    run.forecast && !whole.expectedEnd && !whole.end ? element("p", {}, `It does not end by itself.${whole.waitsFor ? ` It waits: ${whole.waitsFor}` : ""}`) : null);
}

const ganttHeight = (rows) => Math.max(150, Math.min(SEEN_BARS, rows.length) * BAR + 90);

function ganttOf(report, run, rows) {
  return (width) => {
    const small = width < 600;
    const at = (text) => (text ? Date.parse(text) : null);
    const now = at(report.madeAt);
    const instants = rows.flatMap((row) => [row.start, row.end, row.due, row.expectedStart, row.expectedEnd, row.latestEnd].map(at)).filter((each) => each !== null);
    const least = instants.reduce((one, other) => Math.min(one, other), now), most = instants.reduce((one, other) => Math.max(one, other), now);
    const spread = Math.max(3600e3, most - least);
    const first = least - spread / 40, last = most + spread / 40;
    const names = rows.map((row) => `${"\u2003".repeat(small ? 0 : Math.max(0, row.depth - 1))}${row.what === "gate" || row.what === "wait" ? "\u25c6 " : ""}${row.what === "member" || row.what === "node" ? "" : `${row.what} `}${barName(row, small)}`);
    const label = small ? 112 : 210;
    const zoomed = rows.length > SEEN_BARS;
    return {
      tooltip: tooltip((of) => barWords(rows[of.dataIndex])),
      grid: { left: label, right: zoomed ? 40 : 14, top: 22, bottom: small ? 64 : 46 },
      xAxis: { type: "time", min: first, max: last, ...axisLine(), splitLine: { show: true, lineStyle: { color: colour("line") } }, splitNumber: small ? 3 : 8, axisLabel: { color: colour("muted"), hideOverlap: true, rotate: small ? 40 : 0, formatter: (value) => shortInstant(value, last - first) } },
      yAxis: { type: "category", inverse: true, data: names, axisTick: { show: false }, axisLine: { show: false }, axisLabel: { color: colour("fg"), width: label - 16, overflow: "truncate", fontSize: 12, align: "left", margin: label - 8, interval: 0 } },
      dataZoom: zoomed ? [{ type: "slider", yAxisIndex: 0, right: 6, width: 18, startValue: 0, endValue: SEEN_BARS - 1, minValueSpan: SEEN_BARS - 1, maxValueSpan: SEEN_BARS - 1, showDetail: false, brushSelect: false, filterMode: "weakFilter", fillerColor: colour("line"), borderColor: colour("line"), backgroundColor: colour("panel"), showDataShadow: false }] : [],
      series: [{
        type: "custom", encode: { x: [1], y: 0 }, clip: true,
        data: rows.map((_row, number) => [number, now]),
        renderItem: (params, api) => drawnBar(rows[params.dataIndex], params, api, { at, now, first, last }),
        markLine: { silent: true, symbol: "none", data: [{ xAxis: now }], lineStyle: { color: colour("bad"), type: "solid" }, label: { formatter: "now", position: "start", distance: 3, color: colour("bad") } },
      }],
    };
  };
}

// Names of nodes begin alike: where room is short the part behind the member tells more.
const barName = (row, short) => (short && row.what === "node" ? row.name.replace(/^.*\//, "\u2026/") : row.name);

function shortInstant(value, spread) {
  const text = new Date(value).toISOString();
  if (spread > 4 * 86400e3) return text.slice(5, 10);
  return spread > 36 * 3600e3 ? `${text.slice(5, 10)} ${text.slice(11, 16)}` : text.slice(11, 16);
}

function barWords(row) {
  return [
    `${row.what} ${row.name}: ${row.state}`,
    row.start ? `from ${instant(row.start)}` : "", row.end ? `to ${instant(row.end)}` : "", row.due && !row.end ? `due ${instant(row.due)}` : "",
    !row.end && row.expectedStart ? `expected from ${instant(row.expectedStart)} to ${instant(row.expectedEnd) || "?"}` : "",
    !row.end && row.latestEnd ? `nine of ten by ${instant(row.latestEnd)}` : "", row.why, row.waitsFor ? `${fails(row) ? "fails" : "waits"}: ${row.waitsFor}` : "",
  ];
}

// One line: windows behind, what happened, what is expected.
function drawnBar(row, params, api, { at, now, first, last }) {
  const x = (time) => api.coord([Math.max(first, Math.min(last, time)), row.y === undefined ? api.value(0) : row.y])[0];
  const middle = api.coord([first, api.value(0)])[1];
  const height = Math.min(BAR, api.size([0, 1])[1]);
  const tall = row.what === "member" || row.what === "node" ? 0.62 : row.what === "group" ? 0.34 : 0.5;
  const box = (from, to, style, part = tall) => {
    const left = x(from), right = x(to);
    return { type: "rect", shape: { x: left, y: middle - (height * part) / 2, width: Math.max(3, right - left), height: height * part, r: 2 }, style };
  };
  const children = [];
  for (const [from, to] of row.windows || []) children.push(box(at(from), at(to), { fill: colour("panel"), stroke: colour("line") }, 0.96));
  const fill = colour({ good: "good", info: "info", warn: "warn", bad: "bad", none: "quiet" }[tone(row.state)]);
  const start = at(row.start), end = at(row.end) || (start ? now : null);
  if (row.what === "gate" || row.what === "wait") {
    const place = at(row.end) || at(row.due) || start;
    if (start && place) children.push(box(start, Math.max(start, at(row.end) || now), { fill, opacity: 0.35 }, 0.3));
    if (place) children.push({ type: "polygon", shape: { points: [[0, -7], [7, 0], [0, 7], [-7, 0]].map(([dx, dy]) => [x(place) + dx, middle + dy]) }, style: { fill } });
  } else {
    if (start && end) children.push(box(start, end, { fill }));
    const from = Math.max(at(row.expectedStart) || now, end || 0), expected = at(row.expectedEnd), latest = at(row.latestEnd);
    if (!row.end && row.expectedStart && expected && expected > from) {
      children.push(box(from, expected, { fill: "transparent", stroke: colour("info"), lineDash: [4, 3], lineWidth: 1.5 }));
      if (latest && latest > expected) children.push({ type: "line", shape: { x1: x(expected), y1: middle, x2: x(latest), y2: middle }, style: { stroke: colour("info"), lineWidth: 2 } });
    }
  }
  // Something to point at on every line.
  children.push({ type: "rect", shape: { x: params.coordSys.x, y: middle - height / 2, width: params.coordSys.width, height }, style: { fill: "transparent" } });
  return { type: "group", children };
}
