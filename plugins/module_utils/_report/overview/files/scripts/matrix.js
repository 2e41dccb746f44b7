// Placements by clusters: who has what, who gains or loses it, and why.
const MARKS = { h: "\u25cf", g: "+", l: "\u2212", n: "\u00b7", u: "?" };
const FIRST = { h: "has it", g: "gains it", l: "loses it", n: "does not get it", u: "is undecided" };

function matrixPage(report, host) {
  if (!report.placements.length) {
    host.append(element("p", {}, "No placement is recorded, and none was given."));
    return () => {};
  }
  const rows = report.clusters.map((cluster, at) => ({ cluster, at, text: [cluster.name, cluster.group, cluster.location, ...Object.entries(cluster.labels).map((each) => each.join("="))].join(" ").toLowerCase() }));
  const detail = element("div", { class: "detail", role: "region", "aria-live": "polite", "aria-label": "Why", tabindex: 0 }, element("p", { class: "muted" }, "Choose a cell to be told who has it and why, or the name of a placement to see its waves."));
  const name = { title: "Cluster", width: widest(report.clusters.map((each) => each.name), 110, narrow() ? 140 : 260), draw: (row) => row.cluster.name };
  const columns = report.placements.map((placement) => placementColumn(report, placement));
  const grid = new Grid({
    label: "Placements by clusters", kind: "matrix", rows, rowHeight: 30, headHeight: 134, fit: false,
    columns: [name, ...columns],
    opened: (row, column) => detail.replaceChildren(...(column.placement ? cellDetail(report, column.placement, row) : [clusterHeading(row.cluster), ...clusterFacts(row.cluster)])),
    headOpened: (column) => detail.replaceChildren(...placementDetail(report, column.placement)),
  });
  const count = told("");
  let clusters = "", placements = "", only = "";
  const filtered = () => {
    const wanted = columns.filter((each) => each.placement.name.toLowerCase().includes(placements));
    let found = rows.filter((row) => row.text.includes(clusters));
    if (only) found = found.filter((row) => wanted.some((each) => interesting(only, each.placement, row)));
    grid.show(found, [grid.columns[0], ...wanted]);
    count.textContent = `${counted(found.length, "cluster")}, ${counted(wanted.length, "placement")}`;
  };
  const kinds = [["", "all clusters"], ["gl", "that gain or lose one"], ["g", "that gain one"], ["l", "that lose one"], ["!", "where one is not as it should be"]];
  const [shown] = choice("Show", kinds, (value) => { only = value; filtered(); });
  host.append(
    element("div", { class: "tools" }, search("Search clusters", (value) => { clusters = value; filtered(); }), search("Search placements", (value) => { placements = value; filtered(); }), shown, count),
    element("ul", { class: "legend", "aria-label": "Marks" }, ...Object.entries(MARKS).map(([letter, mark]) => element("li", {}, element("span", { class: `swatch is-${letter}`, "aria-hidden": "true" }, mark), FIRST[letter])), element("li", {}, element("span", { class: "swatch odd", "aria-hidden": "true" }), "not as it should be, or drifted")),
    element("div", { class: "split" }, grid.host, detail),
  );
  count.textContent = `${counted(rows.length, "cluster")}, ${counted(columns.length, "placement")}`;
  return () => grid.draw();
}

function standingOf(placement, row) {
  return Object.hasOwn(placement.standing, row.cluster.name) ? placement.standing[row.cluster.name] : undefined;
}

function interesting(only, placement, row) {
  return only === "!" ? standingOf(placement, row) !== undefined : only.includes(placement.cells[row.at]);
}

function placementColumn(report, placement) {
  const has = [...placement.cells].filter((letter) => "hg".includes(letter)).length;
  return {
    placement, opens: true, title: placement.name, width: 34, about: `on ${counted(has, "cluster")}`,
    draw: (row) => element("span", { class: "mark", "aria-hidden": "true" }, MARKS[placement.cells[row.at]]),
    label: (row) => `${placement.name} on ${row.cluster.name}: ${report.letters[placement.cells[row.at]]}${standingOf(placement, row) ? `, ${standingOf(placement, row)[0]}` : ""}`,
    style: (row) => `is-${placement.cells[row.at]} ${standingOf(placement, row) ? "odd" : ""}`,
  };
}

function cellDetail(report, placement, row) {
  const letter = placement.cells[row.at], standing = standingOf(placement, row);
  const wave = placement.waves.findIndex((each) => each.includes(row.cluster.name));
  return [
    element("h3", {}, `${placement.name} on ${row.cluster.name}`),
    element("p", {}, element("span", { class: `swatch is-${letter}`, "aria-hidden": "true" }, MARKS[letter]), ` ${FIRST[letter]}`),
    element("p", {}, `${row.cluster.name} ${report.reasons[placement.why[row.at]]}`),
    standing ? element("p", {}, element("span", { class: "state warn" }, standing[0]), ` ${standing[1]}`) : null,
    wave < 0 ? null : element("p", {}, `Wave ${wave + 1} of ${placement.waves.length}.`),
    element("h3", {}, "The cluster"),
    ...clusterFacts(row.cluster),
  ].filter(Boolean);
}

function placementDetail(report, placement) {
  const count = (letter) => [...placement.cells].filter((each) => each === letter).length;
  const why = new Map();
  [...placement.cells].forEach((letter, at) => {
    if (letter === "n") why.set(report.reasons[placement.why[at]], (why.get(report.reasons[placement.why[at]]) || 0) + 1);
  });
  const reasons = [...why].sort((one, other) => other[1] - one[1]).slice(0, 12);
  return [
    element("h3", {}, placement.name),
    facts([
      ["Policy", placement.policy],
      ["Clusters", `${placement.count} of ${placement.wanted} wanted${placement.fulfilled ? "" : ", not fulfilled"}`],
      ["Gains", count("g") || ""], ["Loses", count("l") || ""], ["Objects", placement.objects], ["Digest", placement.digest ? element("code", {}, placement.digest.slice(0, 16)) : ""],
    ]),
    ...placement.stops.map((each) => element("p", {}, element("span", { class: "state bad" }, "stops"), ` ${each}`)),
    placement.waves.length ? element("h3", {}, counted(placement.waves.length, "wave")) : null,
    placement.waves.length ? element("ol", {}, ...placement.waves.slice(0, 40).map((each) => element("li", {}, `${counted(each.length, "cluster")}: ${listed(each, 12)}`))) : null,
    placement.waves.length > 40 ? element("p", {}, `and ${counted(placement.waves.length - 40, "wave")} more`) : null,
    reasons.length ? element("h3", {}, "Why clusters do not get it") : null,
    reasons.length ? element("ul", {}, ...reasons.map(([text, number]) => element("li", {}, `${number.toLocaleString("en")}\u00d7 ${text}`))) : null,
    ...placement.notes.map((each) => element("p", { class: "muted" }, each)),
  ].filter(Boolean);
}

const listed = (names, most) => names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
