// The script of a page. The state of the filters is the page's fragment: #hw=h100&m.conc=4, where a
// key may be repeated; m.NAME: the member NAME of the aggregates, q: a part of a run's name, p: a
// point of a chart, sort: a column, with "-" before it from the largest down. Of members whose
// names are none of the page's own, "m." may be left out.
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "base/files/hash.h"
#include "chart/chart.h"
#include "chart/svg.h"
#include "views/page/page.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kPageScript = R"js(//<![CDATA[
(() => {
'use strict';
const table = document.getElementById('runs');
if (!table) return;
const body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
const keys = heads.map((head) => head.dataset.k);
const shared = JSON.parse(table.dataset.shared);
const runs = [...body.rows].map((row) => ({
  row, point: row.dataset.p, name: (row.cells[0].title + ' ' + row.cells[0].textContent).toLowerCase()}));
const cell = (run, column) => run.row.cells[column];
const value = (run, column) => cell(run, column).dataset.v ?? cell(run, column).textContent;
const form = document.getElementById('filters');
const count = document.getElementById('count');

// Curves that the page holds as compact numbers: see curve_path() for the same in C++.
const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const draw = (compact) => {
  let path = '', connected = false;
  [...compact].forEach((character, i) => {
    const level = characters.indexOf(character);
    if (level >= 0) path += (connected ? 'L' : 'M') + (i >> 1) + ' ' + (63 - level);
    connected = level >= 0;
  });
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const line = document.createElementNS(svg.namespaceURI, 'path');
  svg.setAttribute('class', 's');
  svg.setAttribute('viewBox', '0 0 39 63');
  svg.setAttribute('preserveAspectRatio', 'none');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
};
for (const place of body.querySelectorAll('td[data-c]')) {
  (place.firstElementChild ?? place).replaceChildren(draw(place.dataset.c));
}

// One menu for each column that has few values.
const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
heads.forEach((head, column) => {
  if (!head.dataset.f) return;
  const found = new Map();
  for (const run of runs) {
    const key = value(run, column);
    const text = head.dataset.k === 'valid' ? cell(run, column).textContent.split(/[:,]/)[0] : key;
    const known = found.get(key);
    known ? known.runs++ : found.set(key, {text, runs: 1});
  }
  if (found.size < 2 || found.size > 60) return;
  const choices = [...found].sort((a, b) => a[0].localeCompare(b[0], 'en', {numeric: true}));
  form.append(element('details', {name: 'filter'},
    element('summary', {textContent: head.textContent}),
    element('div', {}, ...choices.map(([key, {text, runs: n}]) => element('label', {},
      element('input', {type: 'checkbox', name: head.dataset.k, value: key}),
      ' ' + (text || '(none)') + ' ', element('small', {textContent: n}))))));
});
form.append(
  element('input', {type: 'search', name: 'q', placeholder: 'name of a run', ariaLabel: 'name of a run'}),
  element('button', {type: 'button', id: 'clear', textContent: 'Clear'}), count);
form.hidden = false;

const own = ['q', 'p', 'sort', ...keys];
const full = (key) => own.includes(key) ? key : 'm.' + key;
const state = () => {
  const wanted = new URLSearchParams();
  for (const [key, one] of new URLSearchParams(location.hash.slice(1))) {
    if (key === 'sort') wanted.append(key, one.replace(/[^-].*/, full));
    else wanted.append(key.startsWith('m.') ? key : full(key), one);
  }
  return wanted;
};
const visible = (run, wanted) => {
  for (const key of new Set(wanted.keys())) {
    const values = wanted.getAll(key);
    const column = keys.indexOf(key);
    if (key === 'q') {
      if (!run.name.includes(values[0].toLowerCase())) return false;
    } else if (key === 'p') {
      if (!values.includes(run.point)) return false;
    } else if (column >= 0) {
      if (!values.includes(value(run, column))) return false;
    } else if (Object.hasOwn(shared, key) && !values.includes(shared[key])) {
      return false;
    }
  }
  return true;
};

let sorted = '';
const sort = (wanted) => {
  const by = wanted.get('sort') ?? '';
  if (by === sorted) return;
  sorted = by;
  const column = keys.indexOf(by.replace(/^-/, ''));
  const order = runs.map((run, i) => ({run, i, text: column < 0 ? '' : value(run, column)}));
  for (const each of order) each.number = parseFloat(each.text);
  const sign = by.startsWith('-') ? -1 : 1;
  // What has no number comes last, whatever the direction.
  if (column >= 0) order.sort((a, b) => {
    const [m, n] = [isNaN(a.number), isNaN(b.number)];
    if (m !== n) return m - n;
    return (m ? sign * a.text.localeCompare(b.text) : sign * (a.number - b.number)) || a.i - b.i;
  });
  body.append(...order.map((each) => each.run.row));
  heads.forEach((head, i) => {
    head.ariaSort = i !== column ? null : sign < 0 ? 'descending' : 'ascending';
  });
};

const tagged = [...document.querySelectorAll('[data-tag]')].map((part) => [part, part.dataset.tag.split(' ')]);
const apply = () => {
  const wanted = state();
  sort(wanted);
  const points = new Set();
  let shown = 0;
  for (const run of runs) {
    const is = visible(run, wanted);
    run.row.hidden = !is;
    if (!is) continue;
    shown++;
    points.add(run.point);
  }
  for (const [part, tags] of tagged) part.classList.toggle('off', !tags.every((tag) => points.has(tag)));
  for (const input of form.elements) {
    if (input.type === 'checkbox') input.checked = wanted.getAll(input.name).includes(input.value);
    if (input.type === 'search' && input !== document.activeElement) input.value = wanted.get('q') ?? '';
  }
  for (const menu of form.querySelectorAll('details')) {
    menu.classList.toggle('on', wanted.has(menu.querySelector('input').name));
  }
  count.textContent = (shown < runs.length ? `${shown} of ` : '') + `${runs.length} run${runs.length === 1 ? '' : 's'}`;
};

const go = (wanted) => {
  history.replaceState(null, '', '#' + wanted);
  apply();
};
const toggle = (wanted, key, one) => {
  const values = wanted.getAll(key);
  wanted.delete(key);
  for (const each of values) if (each !== one) wanted.append(key, each);
  if (!values.includes(one)) wanted.append(key, one);
  return wanted;
};
form.addEventListener('input', (event) => {
  const {type, name, value: text} = event.target;
  const wanted = state();
  if (type === 'checkbox') toggle(wanted, name, text);
  else if (text) wanted.set(name, text);
  else wanted.delete(name);
  go(wanted);
});
form.addEventListener('submit', (event) => event.preventDefault());
document.getElementById('clear').addEventListener('click', () => {
  form.reset();
  go(new URLSearchParams());
});
heads.forEach((head, column) => {
  const text = [...head.childNodes];
  const button = element('button', {type: 'button'}, ...text);
  head.append(button);
  button.addEventListener('click', () => {
    const wanted = state();
    const key = keys[column];
    wanted.set('sort', wanted.get('sort') === key ? '-' + key : key);
    go(wanted);
  });
});
document.addEventListener('click', (event) => {
  for (const menu of form.querySelectorAll('details[open]')) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const dot = event.target.closest('g[data-tag]');
  if (dot) go(toggle(state(), 'p', dot.dataset.tag));
});
addEventListener('hashchange', apply);
apply();
})();
//]]>)js";

// The most that all scripts of a page may take.
static_assert(kPageScript.size() < 10 * 1024);

int hex_value(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

std::string base64_of_hex(const std::string& hex) {
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0;
  int count = 0;
  for (const char digit : hex) {
    bits = (bits << 4 | static_cast<unsigned>(hex_value(digit))) & 0xFFFF;
    count += 4;
    if (count < 6) continue;
    count -= 6;
    text += kBase64[bits >> count & 63];
  }
  if (count > 0) text += kBase64[bits << (6 - count) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

constexpr std::string_view kPageRules = R"css(
*{box-sizing:border-box}
html{color-scheme:light dark}
body{--ground:#fff;--ink:#1f2328;--muted:#57606a;--rule:#d8dee4;--tint:#f6f8fa;--bad:#b3261e;--link:#0b5cad;--shade:#2f6fb51a;
 margin:0 auto;padding:1rem 1.25rem 3rem;max-width:90rem;background:var(--ground);color:var(--ink);
 font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.2rem;margin:2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
h1,h2,h3,p,dd,summary{overflow-wrap:anywhere}
a{color:var(--link)}
.muted,small{color:var(--muted)}
p{margin:.4rem 0;max-width:60rem}
.tiles{display:flex;flex-wrap:wrap;gap:.6rem;margin:.8rem 0;padding:0;list-style:none}
.tiles li{background:var(--tint);border:1px solid var(--rule);border-radius:6px;padding:.5rem .9rem;min-width:7rem}
.tiles b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}
.tiles .bad b{color:var(--bad)}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.86rem;margin:.4rem 0}
th,td{padding:.2rem .55rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule);unicode-bidi:isolate;overflow-wrap:break-word}
th{vertical-align:bottom;font-weight:600}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.n{white-space:normal}
th button{all:unset;cursor:pointer}
th button:hover,th button:focus-visible{text-decoration:underline}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
.runs{width:100%}
.runs td:first-child,td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:15rem;max-width:30rem}
[class^=k]{white-space:nowrap}
.runs tbody tr:hover{background:var(--tint)}
td.bad{color:var(--bad);min-width:11rem}
svg.s{display:block;width:120px;height:26px;background:linear-gradient(90deg,#0000 8.33%,var(--shade) 8.33% 91.67%,#0000 91.67%)}
td.u svg.s{opacity:.5;background:none}
svg.s path{fill:none;stroke:var(--ink);stroke-width:1px;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}
figure{margin:1rem 0}
figure svg.chart{display:block;max-width:100%;height:auto}
figure>.charts>.scroll>svg.chart{min-width:620px}
figure.many>.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(21rem,100%),1fr));gap:.6rem}
figure.many>.charts>.scroll>svg.chart{min-width:0}
.off{display:none}
g[data-tag]{cursor:pointer}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.8rem 0 0;padding:.4rem 0;position:sticky;top:0;z-index:3;background:var(--ground)}
form[hidden]{display:none}
form details{position:relative}
form summary,form input[type=search],form button{font:inherit;color:inherit;background:var(--tint);border:1px solid var(--rule);border-radius:6px;padding:.25rem .6rem;cursor:pointer}
form details.on summary{border-color:var(--link);color:var(--link);font-weight:600}
form details>div{position:absolute;z-index:2;background:var(--ground);border:1px solid var(--rule);border-radius:6px;padding:.4rem .7rem;max-height:20rem;overflow:auto;min-width:11rem;max-width:80vw;box-shadow:0 4px 14px #0003}
form label{display:block;white-space:nowrap;padding:.1rem 0}
summary{cursor:pointer}
@media (max-width:40rem){body{padding:.6rem .7rem 2rem;font-size:14px}.tiles li{min-width:5.5rem;padding:.35rem .6rem}.tiles b{font-size:1.1rem}th,td{padding:.2rem .35rem}.runs td:first-child,td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:9rem;max-width:12rem}}
@media screen and (prefers-color-scheme:dark){body{--ground:#16181d;--ink:#e6e8eb;--muted:#a0a8b2;--rule:#2c3138;--tint:#1e2127;--bad:#ff8a80;--link:#79b8ff;--shade:#79b8ff24}}
@media print{@page{size:A4 landscape;margin:12mm}html{color-scheme:light}body{padding:0;max-width:none;font-size:10pt}
 form,form[hidden],details:not([open]),.screen,figure>p{display:none}.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.1rem .3rem}
.runs td:first-child,td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:0;max-width:18rem}td.bad{min-width:0}
 thead{display:table-header-group}tr,figure .scroll,.tiles li{break-inside:avoid}h2,h3{break-after:avoid}
 figure.many>.charts{grid-template-columns:repeat(3,1fr)}figure>.charts>.scroll>svg.chart{min-width:0;max-height:125mm;margin:0 auto}
 a{color:inherit;text-decoration:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace

std::string_view page_script() { return kPageScript; }

std::string page_script_hash() { return "sha256-" + base64_of_hex(sha256_of(kPageScript)); }

std::string page_style() {
  std::string rules(kPageRules);
  // The swatch of a hardware before its name in tables.
  rules +=
      "[class^=k]::before{content:\"\";display:inline-block;width:.65em;height:.65em;"
      "border-radius:50%;margin-right:.4em;background:var(--k)}\n";
  std::string dark;
  for (std::size_t i = 0; i < kColours; ++i) {
    rules += fmt::format(".k{}{{--k:{}}}", i, colour_of(i).light);
    dark += fmt::format(".k{}{{--k:{}}}", i, colour_of(i).dark);
  }
  rules += fmt::format("\n@media screen and (prefers-color-scheme:dark){{{}}}\n", dark);
  return rules + svg_style();
}

}  // namespace aggregate_power
