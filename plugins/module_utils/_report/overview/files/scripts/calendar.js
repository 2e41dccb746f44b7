// When pools permit that their nodes are disrupted: a week by the hour, a year by the day, and why they are closed.
const HOUR = 3600e3, DAY = 86400e3;

function calendarPage(report, host) {
  if (!report.pools.length) {
    host.append(element("p", {}, "No NodePool was given. The option pools takes files and folders with their manifests."));
    return () => {};
  }
  let pool = report.pools[0], part = 0;
  const about = element("div"), below = element("div");
  const week = chart("The next seven days by the hour (UTC): nodes that may be disrupted", 290, null);
  const year = chart("The next year by the day: hours in which nodes may be disrupted", 200, null);
  const [reasons, reason] = choice("Reason", [], (value) => { part = Number(value); redrawn(); });
  const redrawn = () => {
    const changes = pool.reasons.length ? spans(pool, pool.reasons[part]) : [];
    about.replaceChildren(poolAbout(pool));
    below.replaceChildren(...poolBelow(report, pool, changes));
    week.figure.hidden = year.figure.hidden = !changes.length;
    const open = changes.filter((each) => each.limit !== 0);
    week.again(changes.length ? weekOf(pool, changes) : null, 290, `${pool.name}: ${counted(open.length, "opening")} until ${instant(pool.until)}. The tables below say the same.`);
    year.again(changes.length ? yearOf(pool, changes) : null, innerWidth < 700 ? 640 : 200, `${pool.name}: hours of each day that are open.`);
  };
  const chooses = () => {
    part = 0;
    reason.replaceChildren(...pool.reasons.map((each, at) => element("option", { value: at }, each.reasons.join(", "))));
    redrawn();
  };
  const [chosen] = choice("Pool", report.pools.map((each, at) => [String(at), `${each.name}: ${counted(each.nodes, "node")}${each.clusters.length ? `, ${counted(each.clusters.length, "cluster")}` : ""}`]), (value) => { pool = report.pools[Number(value)]; chooses(); });
  host.append(element("div", { class: "tools" }, chosen, reasons), about, element("div", { class: "stack" }, week.figure, year.figure), below);
  chooses();
  return () => {};
}

// The changes of a pool as spans: {start, end, limit (null for any number), budgets}.
function spans(pool, kind) {
  const start = Date.parse(pool.start), until = Date.parse(pool.until);
  return kind.changes.map(([minutes, limit, budgets], at) => ({
    start: start + minutes * 60e3,
    end: at + 1 < kind.changes.length ? start + kind.changes[at + 1][0] * 60e3 : until,
    limit: limit === null ? null : Math.max(0, limit),
    budgets: budgets || [],
  }));
}

function poolAbout(pool) {
  const where = pool.clusters.length ? `on ${listed(pool.clusters, 8)}` : "on no cluster that is known: the number of nodes is assumed";
  return element("div", {}, element("p", {}, element("strong", {}, pool.name), `, ${counted(pool.nodes, "node")} ${where}; from `, element("code", {}, pool.where)),
    ...pool.problems.map((each) => element("p", {}, element("span", { class: "state bad" }, "cannot be read"), ` ${each}`)),
    pool.budgets.length ? element("ol", { "aria-label": "Budgets" }, ...pool.budgets.map((each) => element("li", {}, each))) : null);
}

const allowedWords = (limit) => (limit === null ? "any number of nodes" : counted(limit, "node"));

function poolBelow(report, pool, changes) {
  const now = Date.parse(report.madeAt);
  const current = changes.find((each) => each.start <= now && now < each.end);
  const openings = changes.filter((each) => each.limit !== 0 && each.end > now);
  const found = [];
  if (current) {
    const why = current.limit === 0 ? ` Closed by ${current.budgets.map((at) => `budget ${at + 1} (${pool.budgets[at]})`).join(" and ")}.` : "";
    found.push(element("p", {}, element("span", { class: `state ${current.limit === 0 ? "bad" : "good"}` }, current.limit === 0 ? "closed now" : `open now: ${allowedWords(current.limit)}`), why));
  }
  if (changes.length && !openings.length) found.push(element("p", {}, element("span", { class: "state bad" }, "too tight"), ` It never opens before ${instant(pool.until)}.`));
  if (openings.length) {
    const rows = openings.slice(0, 10).map((each) => [written(each.start), written(each.end), lasting(each.end - each.start), allowedWords(each.limit)]);
    found.push(element("h3", {}, "Next openings"), plainTable(`the first ${rows.length} of ${openings.length.toLocaleString("en")}`, ["From", "To", "Long", "At once"], rows));
  }
  if (pool.freezes.length) {
    const rows = pool.freezes.slice(0, 20).map((each) => [instant(each.start), instant(each.end), each.what, listed(each.clusters, 8)]);
    found.push(element("h3", {}, "Freezes of the fleet"), element("p", {}, "Our own verbs disrupt no node then, whatever budgets say. Karpenter knows nothing of it."),
      plainTable(`${counted(pool.freezes.length, "freeze")} until ${instant(pool.until)}`, ["From", "To", "Freeze", "Clusters"], rows));
  }
  if (pool.findings.length) {
    found.push(element("h3", {}, "What is wrong with it"), element("ul", {}, ...pool.findings.map((each) => element("li", {}, element("span", { class: `state ${each.level === "error" ? "bad" : each.level === "warning" ? "warn" : "none"}` }, each.level), " ", element("code", {}, each.path), ` ${each.message}`))));
  }
  return found;
}

// The limit of each hour: the most that is permitted in it, and whether it changes within.
function weekOf(pool, changes) {
  return (width) => {
    const small = width < 600;
    const begin = Math.floor(Date.parse(pool.start) / DAY) * DAY;
    const days = Array.from({ length: 8 }, (_each, at) => new Date(begin + at * DAY).toISOString().slice(5, 10));
    const cells = [], words = new Map();
    let next = 0;
    for (let hour = 0; hour < 8 * 24; hour += 1) {
      const from = begin + hour * HOUR, to = from + HOUR;
      if (to <= Date.parse(pool.start)) continue;
      while (next < changes.length - 1 && changes[next].end <= from) next += 1;
      const here = [];
      for (let at = next; at < changes.length && changes[at].start < to; at += 1) here.push(changes[at]);
      const most = here.some((each) => each.limit === null) ? pool.nodes : Math.max(0, ...here.map((each) => each.limit));
      cells.push([hour % 24, Math.floor(hour / 24), most]);
      words.set(`${hour % 24},${Math.floor(hour / 24)}`, here);
    }
    return {
      tooltip: tooltip((of) => [`${days[of.value[1]]} ${String(of.value[0]).padStart(2, "0")}:00 UTC`, ...words.get(`${of.value[0]},${of.value[1]}`).map((each) => (each.limit === 0 ? `closed by ${each.budgets.map((at) => pool.budgets[at]).join("; ")}` : allowedWords(each.limit)))]),
      grid: { left: 52, right: 14, top: 10, bottom: 58 },
      xAxis: { type: "category", data: Array.from({ length: 24 }, (_each, at) => String(at).padStart(2, "0")), ...axisLine(), axisLabel: { color: colour("muted"), interval: small ? 5 : 1 }, splitArea: { show: false } },
      yAxis: { type: "category", data: days, inverse: true, ...axisLine() },
      visualMap: { ...shades(Math.max(1, ...cells.map((each) => each[2]))), text: ["more", "closed"], left: 46, bottom: 4 },
      series: [{ type: "heatmap", data: cells, itemStyle: { borderColor: colour("bg"), borderWidth: 1 }, label: { show: !small, color: colour("fg"), fontSize: 11, formatter: (of) => (of.value[2] ? String(of.value[2]) : "") } }],
    };
  };
}

function yearOf(pool, changes) {
  return (width) => {
    const small = width < 700;
    const hours = new Map();
    for (const each of changes.filter((one) => one.limit !== 0)) {
      for (let day = Math.floor(each.start / DAY) * DAY; day < each.end; day += DAY) {
        const inside = (Math.min(each.end, day + DAY) - Math.max(each.start, day)) / HOUR;
        hours.set(day, (hours.get(day) || 0) + inside);
      }
    }
    const begin = Math.floor(Date.parse(pool.start) / DAY) * DAY, data = [];
    for (let day = begin; day < Math.min(Date.parse(pool.until), begin + 365 * DAY); day += DAY) data.push([new Date(day).toISOString().slice(0, 10), Math.round((hours.get(day) || 0) * 10) / 10]);
    return {
      tooltip: tooltip((of) => [of.value[0], `${of.value[1]} h open`]),
      visualMap: { ...shades(24), text: ["24 h", "closed"], left: small ? 4 : 46, bottom: 4 },
      calendar: {
        range: [data[0][0], data[data.length - 1][0]], orient: small ? "vertical" : "horizontal", cellSize: ["auto", small ? 9 : 15],
        left: 48, right: 12, top: small ? 26 : 24, bottom: small ? 54 : undefined,
        itemStyle: { color: colour("bg"), borderColor: colour("bg") }, splitLine: { lineStyle: { color: colour("quiet") } },
        dayLabel: { color: colour("muted"), firstDay: 1 }, monthLabel: { color: colour("muted") }, yearLabel: { show: false },
      },
      series: [{ type: "heatmap", coordinateSystem: "calendar", data }],
    };
  };
}

// From closed to open in one tone, so that it reads without seeing colours.
const shades = (max) => ({ min: 0, max, calculable: false, orient: "horizontal", itemHeight: 90, itemWidth: 12, textStyle: { color: colour("muted") }, inRange: { color: [colour("bad-bg"), colour("good-bg"), colour("good-mid")] } });
