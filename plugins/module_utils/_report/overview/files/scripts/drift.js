// What is not as it was placed, by field; and another fleet beside this one.
function driftPage(report, host) {
  const known = report.driftKnown;
  const how = known.looked < known.places ? " What has changed since is found by ansible-playbook gitops.fleet.drift; its result_file is what the option drift of a report takes." : "";
  host.append(element("p", { class: "as-of" }, `In short: ${known.words}.${how}`));
  if (!report.drift.length) return () => {};
  const rows = report.drift.map((row) => ({ ...row, text: Object.values(row).join(" ").toLowerCase() }));
  const detail = element("div", { class: "detail", role: "region", "aria-live": "polite", "aria-label": "The field chosen", tabindex: 0 }, element("p", { class: "muted" }, "Choose a line to see both values whole."));
  const grid = new Grid({
    label: "Drift",
    rows,
    columns: [
      { title: "Cluster", width: widest(rows.map((row) => row.cluster), 110, narrow() ? 150 : 240), value: (row) => row.cluster, draw: (row) => row.cluster },
      { title: "Placement", width: 110, value: (row) => row.placement, draw: (row) => row.placement },
      { title: "Object", width: 200, grow: 2, value: (row) => row.object, draw: (row) => row.object },
      { title: "Field", width: 190, grow: 2, value: (row) => row.path, draw: (row) => row.path || "(missing)" },
      { title: "Is", width: 110, grow: 1, value: (row) => row.live, draw: (row) => row.live },
      { title: "Was placed", width: 118, grow: 1, value: (row) => row.placed, draw: (row) => row.placed },
      { title: "Seen (UTC)", width: 150, value: (row) => row.seen, draw: (row) => minute(row.seen) || "?" },
    ],
    opened: (row) => detail.replaceChildren(
      element("h3", {}, `${row.object} on ${row.cluster}`),
      facts([["Placement", row.placement], ["Field", element("code", {}, row.path || "(missing)")], ["Is", element("code", {}, row.live)], ["Was placed", element("code", {}, row.placed)], ["First seen", instant(row.since)], ["Seen last", instant(row.seen)], ["Seen by", row.looked ? "a look for drift" : "an apply"], ["Kind", row.differs ? "it stood there before and is in the way" : "somebody changed it after it was placed"]]),
    ),
  });
  const count = told(counted(rows.length, "field"));
  host.append(
    element("div", { class: "tools" }, search("Search drift", (words) => {
      const found = rows.filter((row) => row.text.includes(words));
      grid.show(found);
      count.textContent = `${found.length.toLocaleString("en")} of ${counted(rows.length, "field")}`;
    }), count),
    element("div", { class: "split" }, grid.host, detail),
  );
  return () => grid.draw();
}

function whatIfPage(report, host) {
  if (report.whatIf === null) {
    host.append(element("p", {}, "No other fleet was supposed. The option what_if takes clusters that are gone, new or other."));
    return () => {};
  }
  const moved = report.whatIf.filter((each) => each.gained.length || each.lost.length);
  const held = new Map(report.placements.map((each) => [each.name, [...each.cells].filter((letter) => "hg".includes(letter)).length]));
  const rows = moved.map((each) => [each.placement, held.get(each.placement) ?? each.kept.length + each.lost.length, each.kept.length + each.gained.length, listed(each.gained, 12) || "none", listed(each.lost, 12) || "none", each.fulfilledAfter ? "yes" : "no"]);
  host.append(
    element("p", {}, `${counted(moved.length, "placement")} of ${report.whatIf.length.toLocaleString("en")} would move.`),
    moved.length ? plainTable("Side by side", ["Placement", "Clusters now", "Clusters then", "Gained", "Lost", "As many as wanted"], rows) : "",
    ...moved.slice(0, 100).map((each) => element("details", {}, element("summary", {}, each.sentence), element("ul", {}, ...each.rows.slice(0, 200).map((row) => element("li", {}, `${row.sentence} Now: ${row.before}`))))),
  );
  return () => {};
}
