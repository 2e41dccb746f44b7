// The pages behind their tabs, each made when it is first looked at; and the theme.
const PAGES = { fleet: fleetPage, placements: matrixPage, runs: runsPage, calendar: calendarPage, drift: driftPage, "what-if": whatIfPage };

function tabs(report) {
  const list = [...document.querySelectorAll('[role="tab"]')];
  const made = new Map();
  const drawn = (id) => {
    if (!made.has(id)) made.set(id, PAGES[id](report, byId(id).querySelector(".content")));
    made.get(id)();
  };
  const chosen = (tab, focus) => {
    for (const each of list) {
      const on = each === tab;
      each.setAttribute("aria-selected", String(on));
      each.tabIndex = on ? 0 : -1;
      byId(each.getAttribute("aria-controls")).hidden = !on;
    }
    if (focus) tab.focus();
    tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    drawn(tab.getAttribute("aria-controls"));
  };
  const named = () => list.find((each) => `#${each.getAttribute("aria-controls")}` === location.hash) || list[0];
  list.forEach((tab, at) => {
    tab.addEventListener("click", () => {
      chosen(tab);
      history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
    });
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = list[(to + list.length) % list.length];
      chosen(next, true);
      history.replaceState(null, "", `#${next.getAttribute("aria-controls")}`);
    });
  });
  addEventListener("hashchange", () => chosen(named()));
  addEventListener("beforeprint", () => Object.keys(PAGES).forEach(drawn));
  document.querySelector('[role="tablist"]').hidden = false;
  chosen(named());
}

function theme() {
  const root = document.documentElement, button = byId("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const worded = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  try {
    const kept = localStorage.getItem("fleet-report-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* a page opened from a file may have no storage */ }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("fleet-report-theme", root.dataset.theme); } catch { /* as above */ }
    worded();
    redrawCharts();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", worded);
  worded();
}

theme();
unpacked(byId("data").textContent).then((report) => {
  performance.mark("unpacked");
  tabs(report);
  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
}).catch((error) => {
  byId("main").prepend(element("p", { role: "alert" }, `The data of this report cannot be read: ${error.message}. report.json beside it has all of it.`));
  throw error;
});
