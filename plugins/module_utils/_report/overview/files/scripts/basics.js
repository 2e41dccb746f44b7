// What all pages of the report use: elements, words, colours. Nothing here ever makes markup of a text.
const byId = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((each) => each !== null && each !== undefined).map((each) => (each instanceof Node ? each : String(each))));
  return made;
}

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// How wide the longest of these texts is, within bounds: a column has room for its names.
const RULER = document.createElement("canvas").getContext("2d");
function widest(texts, least, most, bold = true) {
  RULER.font = `${bold ? 600 : 400} ${getComputedStyle(document.documentElement).fontSize} ${getComputedStyle(document.body).fontFamily}`;
  const longest = [...new Set(texts)].sort((one, other) => other.length - one.length).slice(0, 20);
  return Math.min(most, Math.max(least, ...longest.map((text) => Math.ceil(RULER.measureText(text).width) + 20)));
}
const narrow = () => innerWidth < 600;

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
function bytes(amount) {
  if (amount === null) return "";
  let unit = 0;
  for (; amount >= 1024 && unit < UNITS.length - 1; unit += 1) amount /= 1024;
  return `${amount >= 100 || Number.isInteger(amount) ? Math.round(amount) : amount.toFixed(1)} ${UNITS[unit]}`;
}
const cores = (amount) => (amount === null ? "" : amount >= 100 ? String(Math.round(amount)) : String(Math.round(amount * 10) / 10));
const share = ([free, total]) => (free === null || !total ? null : free / total);
const percent = (part) => (part === null ? "" : `${Math.round(part * 100)} %`);

function lasting(milliseconds) {
  const minutes = Math.round(Math.abs(milliseconds) / 60000);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
  return `${Math.round(minutes / 1440)} days`;
}
const minute = (text) => (text ? text.slice(0, 16).replace("T", " ") : "");
const instant = (text) => (text ? `${minute(text)} UTC` : "");
const written = (time) => instant(new Date(time).toISOString());
const counted = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

const TONES = {
  ready: "good", Completed: "good", Running: "info", Pending: "warn", "not ready": "bad", "not reached": "bad", Failed: "bad",
  "never read": "warn", evacuated: "warn", leaving: "warn", Stopping: "warn", Stopped: "warn", Skipped: "warn",
  Succeeded: "good", Done: "good", Rotated: "good", Waiting: "warn", Stuck: "bad", GivenUp: "bad", Blocked: "bad", Surging: "info", Draining: "info", Returning: "info",
};
const tone = (state) => TONES[state] || "none";
const badge = (state) => element("span", { class: `state ${tone(state)}` }, state);

// A definition list of what is known; what is empty is left out.
function facts(rows) {
  const list = element("dl");
  for (const [name, value] of rows) {
    if (value === "" || value === null || value === undefined) continue;
    list.append(element("dt", {}, name), element("dd", {}, value));
  }
  return list;
}

function plainTable(label, header, rows) {
  const head = element("tr", {}, ...header.map((each) => element("th", { scope: "col" }, each)));
  const body = rows.map((row) => element("tr", {}, ...row.map((each) => element("td", {}, each))));
  const table = element("table", { class: "plain" }, element("caption", { class: "muted" }, label), element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "wide" }, table);
}

function field(label, control) {
  return element("label", {}, label, control);
}

function choice(label, options, changed) {
  const control = element("select", { onchange: () => changed(control.value) }, ...options.map(([value, words]) => element("option", { value }, words)));
  return [field(label, control), control];
}

function search(label, changed) {
  const control = element("input", { type: "search", oninput: () => changed(control.value.trim().toLowerCase()) });
  return field(label, control);
}

// What is told to people who do not see that a filter has changed a table.
function told(...texts) {
  return element("p", { class: "told", role: "status" }, ...texts);
}
