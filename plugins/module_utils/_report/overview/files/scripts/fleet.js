// The fleet: every cluster, and two charts of it.
function fleetPage(report, host) {
  const beside = new Map(report.clusters.map((each) => [each.name, { holds: 0 }]));
  for (const placement of report.placements) {
    report.clusters.forEach((cluster, at) => { if ("hg".includes(placement.cells[at])) beside.get(cluster.name).holds += 1; });
  }
  const now = Date.parse(report.factsAt);
  const rows = report.clusters.map((cluster) => ({
    ...cluster,
    ...beside.get(cluster.name),
    age: cluster.heartbeat ? now - Date.parse(cluster.heartbeat) : null,
    cpuFree: share(cluster.cpu),
    memoryFree: share(cluster.memory),
    text: [cluster.name, cluster.state, cluster.group, cluster.location, cluster.version, ...Object.keys(cluster.images), ...cluster.taints, ...Object.entries(cluster.labels).map((each) => each.join("="))].join(" ").toLowerCase(),
  }));
  const known = { kubelet: rows.some((row) => row.kubelets.oldest), certificate: rows.some((row) => row.certificate), image: rows.some((row) => Object.keys(row.images).length) };
  const detail = element("div", { class: "detail", role: "region", "aria-label": "The cluster chosen", tabindex: 0 }, element("p", { class: "muted" }, "Choose a cluster to see its labels, taints and resources."));
  const grid = new Grid({
    label: "Clusters",
    rows,
    columns: filled([
      { title: "Cluster", width: widest(rows.map((row) => row.name), 110, narrow() ? 150 : 260), grow: 1, value: (row) => row.name, draw: (row) => row.name },
      { title: "State", width: 112, value: (row) => row.state, draw: (row) => badge(row.state), label: (row) => row.state },
      { title: "Version", width: 92, grow: 1, value: (row) => version(row.version), draw: (row) => row.version || "?" },
      { title: "Nodes", width: 74, number: true, value: (row) => row.nodes, draw: (row) => row.nodes ?? "?" },
      { title: "Drift", about: "objects that drifted; ? where nobody looked", width: 66, number: true, value: (row) => row.drift.objects, draw: (row) => row.drift.objects ?? (row.drift.places ? "?" : "") },
      { title: "Kubelet", about: "the oldest, and how many minors it is behind its API server; the newest where that is ahead", width: widest(rows.map(kubeletWords), 84, 170, false), value: (row) => version(row.kubelets.ahead ? row.kubelets.newest : row.kubelets.oldest), draw: (row) => (row.kubelets.tooOld || row.kubelets.ahead ? toned("bad", kubeletWords(row)) : kubeletWords(row) || (known.kubelet ? "?" : "")), label: kubeletWords },
      { title: "Cert. ends", about: "in how many days the first certificate ends", width: 108, number: true, value: (row) => row.certificate?.days ?? null, draw: (row) => (!row.certificate ? (known.certificate ? "?" : "") : row.certificate.days < SOON ? toned(row.certificate.days < 0 ? "bad" : "warn", endWords(row)) : endWords(row)), label: endWords },
      { title: "Image", about: "of nodes, as far as pools tell it", width: widest(rows.map(imageWords), 70, 190, false), value: imageWords, draw: (row) => imageWords(row) || (known.image ? "?" : "") },
      { title: "Placements", width: 118, number: true, value: (row) => row.holds, draw: (row) => row.holds },
      { title: "CPU free", width: 90, number: true, value: (row) => row.cpuFree, draw: (row) => percent(row.cpuFree) || "?" },
      { title: "Mem. free", about: "share of memory that is free", width: 108, number: true, value: (row) => row.memoryFree, draw: (row) => percent(row.memoryFree) || "?" },
      { title: "Heartbeat", width: 134, number: true, value: (row) => row.age, draw: (row) => (row.age === null ? "never" : row.age < 60000 ? "just now" : `${lasting(row.age)} ago`) },
      { title: "Group", width: 84, grow: 1, value: (row) => row.group, draw: (row) => row.group },
      { title: "Location", width: 100, grow: 1, value: (row) => row.location, draw: (row) => row.location },
    ], rows),
    opened: (row) => detail.replaceChildren(clusterHeading(row), ...clusterFacts(row)),
  });
  const count = told(counted(rows.length, "cluster"));
  let words = "", state = "";
  const filtered = () => {
    const found = rows.filter((row) => (!state || row.state === state) && row.text.includes(words));
    grid.show(found);
    count.textContent = `${found.length.toLocaleString("en")} of ${counted(rows.length, "cluster")}`;
  };
  const states = [...new Set(rows.map((row) => row.state))].sort();
  const [chosen] = choice("State", [["", "all"], ...states.map((each) => [each, each])], (value) => { state = value; filtered(); });
  host.append(
    element("div", { class: "charts" }, versionChart(rows), headroomChart(rows)),
    upkeep(rows),
    element("div", { class: "tools" }, search("Search clusters, labels, versions, images", (value) => { words = value; filtered(); }), chosen, count),
    element("div", { class: "split" }, grid.host, detail),
  );
  return () => grid.draw();
}

const SOON = 30;
const CERTIFICATES = { server: "that of the API server", client: "that of the client" };
const toned = (mark, words) => element("span", { class: `state ${mark}` }, words);
const kubeletWords = ({ kubelets }) => (kubelets.ahead ? `${kubelets.newest} +${kubelets.ahead}` : `${kubelets.oldest}${kubelets.behind ? ` \u2212${kubelets.behind}` : ""}`);
const endWords = (row) => (!row.certificate ? "" : row.certificate.days < 0 ? "ended" : counted(row.certificate.days, "day"));
const imageWords = (row) => (Object.keys(row.images).length > 1 ? counted(Object.keys(row.images).length, "image") : Object.keys(row.images)[0] || "");
const imageList = (images) => listed(Object.entries(images).sort((one, other) => other[1] - one[1]).map(([name, nodes]) => `${name} (${counted(nodes, "node")})`), 5);
const uncountedWords = (rows) => `${counted(rows.reduce((sum, row) => sum + row.imagesUncounted, 0), "node")} on ${counted(rows.length, "cluster")}: pools there hold several images or tell none, see gitops.fleet.nodes`;

// What grows old, in words: certificates, kubelets, images.
function upkeep(rows) {
  const ends = rows.filter((row) => row.certificate && row.certificate.days < SOON).sort((one, other) => one.certificate.days - other.certificate.days);
  const ahead = rows.filter((row) => row.kubelets.ahead);
  const old = rows.filter((row) => row.kubelets.tooOld), behind = rows.filter((row) => row.kubelets.behind && !row.kubelets.tooOld);
  const minors = [...new Set(behind.map((row) => row.kubelets.behind))].sort((one, other) => other - one);
  const images = {}, uncounted = rows.filter((row) => row.imagesUncounted);
  for (const row of rows) for (const [name, nodes] of Object.entries(row.images)) images[name] = (images[name] || 0) + nodes;
  const told = [
    ends.length ? `Certificates that have ended, or end within ${SOON} days: ${listed(ends.map((row) => `${row.name} (${row.certificate.days < 0 ? "ended" : `in ${counted(row.certificate.days, "day")}`})`), 8)}` : "",
    ahead.length ? `Kubelets newer than their API server, which Kubernetes does not support: ${listed(ahead.map((row) => row.name), 8)}` : "",
    old.length ? `Kubelets too old for their API server: ${listed(old.map((row) => row.name), 8)}` : "",
    behind.length ? `Kubelets behind their API server: ${minors.map((each) => `${counted(behind.filter((row) => row.kubelets.behind === each).length, "cluster")} by ${counted(each, "minor")}`).join(", ")}` : "",
    Object.keys(images).length ? `Images of nodes: ${imageList(images)}` : "",
    uncounted.length ? `Nodes that no image counts: ${uncountedWords(uncounted)}` : "",
  ].filter(Boolean);
  return told.length ? element("ul", { class: "notes", "aria-label": "What grows old" }, ...told.map((each) => element("li", {}, each))) : "";
}

const clusterHeading = (row) => element("h3", {}, row.name, " ", badge(row.state));

function clusterFacts(row) {
  return [
    row.why ? element("p", {}, row.why) : null,
    facts([
      ["Version", row.version], ["Kubelets", row.kubelets.oldest === row.kubelets.newest ? kubeletWords(row) : `${row.kubelets.oldest} to ${row.kubelets.newest}${row.kubelets.ahead ? ", newer than the API server" : ""}`], ["Nodes", row.nodes],
      ["Images", [imageList(row.images), row.imagesUncounted ? `${counted(row.imagesUncounted, "node")} not counted` : ""].filter(Boolean).join("; ")], ["Certificate", row.certificate ? `${CERTIFICATES[row.certificate.which]} ${row.certificate.days < 0 ? "ended" : "ends"} ${instant(row.certificate.ends)}` : ""], ["Group", row.group], ["Location", row.location],
      ["CPU", row.cpu[1] === null ? "" : `${cores(row.cpu[0]) || "?"} of ${cores(row.cpu[1])} cores free`],
      ["Memory", row.memory[1] === null ? "" : `${bytes(row.memory[0]) || "?"} of ${bytes(row.memory[1])} free`],
      ["Heartbeat", instant(row.heartbeat)], ["Drift", row.drift.words], ["Operation", row.operation], ["Taints", row.taints.join(", ")],
      ["Labels", Object.entries(row.labels).map((each) => each.join("=")).join(", ")],
    ]),
  ].filter(Boolean);
}

// Versions in their order and not in that of the alphabet.
const version = (text) => (text ? text.replace(/\d+/g, (number) => number.padStart(6, "0")) : null);

function versionChart(rows) {
  const versions = [...new Set(rows.map((row) => row.version || "unknown"))].sort((one, other) => (version(one) < version(other) ? -1 : 1));
  const well = versions.map((each) => rows.filter((row) => (row.version || "unknown") === each && row.state === "ready").length);
  const unwell = versions.map((each) => rows.filter((row) => (row.version || "unknown") === each && row.state !== "ready").length);
  const summary = versions.map((each, at) => `${each}: ${well[at] + unwell[at]}`).join(", ");
  return chart("Clusters by version", 210, () => ({
    tooltip: tooltip((of) => [of.name, `${of.seriesName}: ${of.value}`]),
    legend: { right: 12, top: 0, itemWidth: 12, itemHeight: 12, textStyle: { color: colour("muted") } },
    grid: { left: 8, right: 12, top: 34, bottom: 8, containLabel: true },
    xAxis: { type: "category", data: versions, ...axisLine() },
    yAxis: { type: "value", minInterval: 1, ...axisLine() },
    series: [
      { type: "bar", stack: "all", name: "ready", data: well, itemStyle: { color: colour("info") }, barMaxWidth: 60 },
      { type: "bar", stack: "all", name: "not ready", data: unwell, itemStyle: { color: colour("bad"), decal: { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -0.8, color: colour("bg") } }, barMaxWidth: 60 },
    ],
  }), `Clusters by version: ${summary}`).figure;
}

function headroomChart(rows) {
  const bins = Array.from({ length: 10 }, (_each, at) => `${at * 10}-${at * 10 + 10}`);
  const tally = (name) => {
    const found = Array(10).fill(0);
    for (const row of rows) if (row[name] !== null) found[Math.max(0, Math.min(9, Math.floor(row[name] * 10)))] += 1;
    return found;
  };
  const cpu = tally("cpuFree"), memory = tally("memoryFree");
  const few = (found) => found[0];
  return chart("Headroom: clusters by share that is free, in %", 210, () => ({
    tooltip: tooltip((of) => [`${of.name} % of ${of.seriesName} free`, counted(of.value, "cluster")]),
    legend: { right: 12, top: 0, itemWidth: 12, itemHeight: 12, textStyle: { color: colour("muted") } },
    grid: { left: 8, right: 12, top: 34, bottom: 8, containLabel: true },
    xAxis: { type: "category", data: bins, ...axisLine() },
    yAxis: { type: "value", minInterval: 1, ...axisLine() },
    series: [
      { type: "bar", name: "CPU", data: cpu, itemStyle: { color: colour("info") } },
      { type: "bar", name: "memory", data: memory, itemStyle: { color: colour("warn"), decal: { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: 0.8, color: colour("bg") } } },
    ],
  }), `Headroom: fewer than 10 % of CPU free on ${counted(few(cpu), "cluster")}, of memory on ${few(memory)}`).figure;
}
