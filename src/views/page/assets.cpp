// The script of a page. The state of the filters is the page's fragment: #hw=h100&m.conc=4, where a
// key may be repeated; m.NAME: the member NAME of the aggregates, q: a part of a run's name, p: a
// point of the chart, sort: a column, with "-" before it from the largest down, x and y: what the
// axes of the chart show, xlog and ylog: 1 if they are logarithmic, 0 if they are linear. Of
// members whose names are not the page's own, "m." may be left out.
#include <algorithm>
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
const [table, form, count, chart, axes, panel] =
  ['runs', 'filters', 'count', 'energy-chart', 'axes', 'point'].map((id) => document.getElementById(id));
if (!table) return;
const every = (query, root = chart) => [...root.querySelectorAll(query)];
const body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
const keys = heads.map((head) => head.dataset.k);
const shared = JSON.parse(table.dataset.shared);
const runs = [...body.rows].map((row) => ({
  row, point: row.dataset.p, name: (row.cells[0].title + ' ' + row.cells[0].textContent).toLowerCase()}));
const cell = (run, column) => run.row.cells[column];
const value = (run, column) => cell(run, column).dataset.v ?? cell(run, column).textContent;

// Curves that the page holds as compact numbers: see curve_path() for the same in C++.
const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const draw = (compact) => {
  let path = '', pen = 'M';
  [...compact].forEach((character, i) => {
    const level = characters.indexOf(character);
    if (level >= 0) path += pen + (i >> 1) + ' ' + (63 - level);
    pen = level < 0 ? 'M' : 'L';
  });
  return `<svg class="s" viewBox="0 0 39 63" preserveAspectRatio="none" role="img" aria-label="power over time"><path d="${path}"/></svg>`;
};
for (const place of every('td[data-c]', body)) {
  (place.firstElementChild ?? place).innerHTML = draw(place.dataset.c);
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
    if (!found.has(key)) found.set(key, {text, runs: 0});
    found.get(key).runs++;
  }
  if (found.size < 2 || found.size > 60) return;
  const choices = [...found].sort((a, b) => a[0].localeCompare(b[0], 'en', {numeric: true}));
  form.elements.q.before(element('details', {name: 'filter'},
    element('summary', {textContent: head.textContent}),
    element('div', {}, ...choices.map(([key, {text, runs: n}]) => element('label', {},
      element('input', {type: 'checkbox', name: head.dataset.k, value: key}),
      ' ' + (text || '(none)') + ' ', element('small', {textContent: n}))))));
});
form.hidden = false;

const own = ['q', 'p', 'sort', 'x', 'y', 'xlog', 'ylog', ...keys];
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
  const order = runs.map((run) => ({row: run.row, text: column < 0 ? '' : value(run, column)}));
  for (const each of order) each.number = parseFloat(each.text);
  const sign = by[0] === '-' ? -1 : 1;
  // What has no number comes last, whatever the direction.
  if (column >= 0) order.sort((a, b) => {
    const [m, n] = [isNaN(a.number), isNaN(b.number)];
    if (m !== n) return m - n;
    return sign * (m ? a.text.localeCompare(b.text) : a.number - b.number);
  });
  body.append(...order.map((each) => each.row));
  heads.forEach((head, i) => {
    head.ariaSort = i !== column ? null : sign < 0 ? 'descending' : 'ascending';
  });
};

const tagged = every('[data-tag]', document).map((part) => [part, part.dataset.tag.split(' ')]);

// The chart of energy. Its first axes are drawn already; the CSV below it has the numbers of all.
const figure = chart?.closest('figure');
const [titles, ...points] = chart ?
  decodeURIComponent(figure.querySelector('a[download]').href.replace(/^[^,]*,/, '')).trim().split('\r\n').map((line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((found) => found[1] ?? found[2])) : [[]];
const counts = titles.lastIndexOf('n');
// All numbers are above 0, and the others are times.
const number = (text) => +text || Date.parse(text) / 1000;
// The mean of each point, and the ends of its interval.
const values = (key) => {
  const column = titles.findLastIndex((title) => title.split(' ')[0] === key);
  const bars = titles[column + 1] === '95 % from';
  return points.map((cells) => [0, 1, 2].map((i) => number(i && !bars ? '' : cells[column + i])));
};
// As axis_for() in C++.
const scale = (all, log, date, from, to) => {
  let low = Math.min(...all), high = Math.max(...all), step;
  const is = low > 0 && low < high && !date && (log ? log > 0 : high > 30 * low);
  const ticks = [];
  if (is) {
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) + 1; e++) ticks.push(...[1, 2, 5].map((m) => +(m + 'e' + e)));
    while (ticks[1] <= low) ticks.shift();
    while (ticks.at(-2) >= high) ticks.pop();
    [low, high] = [ticks[0], ticks.at(-1)];
  } else {
    const margin = (high - low) / 20;
    if (low === high) [low, high] = date ? [low - 3600, high + 3600] : [0, 1.5 * high];
    else if (!date) [low, high] = low >= 0 && low < high / 2 ? [0, high] : [low - margin, high + margin];
    const least = Math.max(high - low, high / 1e11) / 6, ten = 10 ** Math.floor(Math.log10(least));
    step = (date ? [3600, 86400, 604800, 2592000] : [ten, 2 * ten, 5 * ten, 10 * ten]).find((one) => one >= least) ?? least;
    [low, high] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
    for (let one = low; one <= high + step / 9; one += step) ticks.push(one);
  }
  const f = is ? Math.log : Number;
  const at = (one) => +(from + (f(one) - f(low)) / (f(high) - f(low)) * (to - from)).toFixed(1);
  return {at, ticks: ticks.map((one) =>
    [at(one), date ? new Date(1000 * one).toISOString().slice(...(step < 86400 ? [5, 16] : [0, 10])) : +one.toPrecision(12)])};
};
const choose = (wanted) => every('select', axes).map((menu) => {
  const options = [...menu.options];
  return options.find((one) => one.value === wanted.get(menu.name)) ?? options.find((one) => one.defaultSelected);
});
let drawn = chart && choose(new URLSearchParams());
const redraw = (wanted) => {
  const chosen = choose(wanted);
  for (const one of chosen) one.selected = true;
  if (chosen.every((one, i) => one === drawn[i])) return;
  drawn = chosen;
  const [y, ylog, x, xlog] = chosen;
  const [xs, ys] = [x, y].map((one) => values(one.value));
  const known = (i) => !isNaN(xs[i][0] + ys[i][0]);
  const all = (which) => which.filter((_, i) => known(i)).flat().filter((one) => !isNaN(one));
  const date = x.value === 'start';
  const [left, top, width, height] = [...chart.querySelector('clipPath rect').attributes].map((one) => +one.value);
  const h = scale(all(xs), xlog.value, date, left, left + width);
  const v = scale(all(ys), ylog.value, false, top + height, top);
  for (const old of every('.grid, .muted.number')) old.remove();
  const tick = (path, x, y, anchor, text) =>
    chart.querySelector('g').insertAdjacentHTML('beforebegin', `<path class="grid hair" d="${path}"/><text class="muted number" x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`);
  for (const [at, text] of h.ticks) tick(`M${at} ${top}v${height}`, at, top + height + 16, 'middle', text);
  for (const [at, text] of v.ticks) tick(`M${left} ${at}h${width}`, left - 7, at + 4, 'end', text);
  const plain = x.text.replace(/ \(.*/, '');
  for (const title of every(':scope > title, .title')) title.textContent = `Mean ${y.text} against ${plain}`;
  [y, x].forEach((one, i) => { every('text[text-anchor=middle]:not([class])')[i].textContent = one.text; });
  figure.querySelector('.caption').textContent = `${y.value}: ${y.title}. ${x.value}: ${x.title}.`;
  points.forEach((cells, i) => {
    const dot = chart.querySelector(`g[data-tag="${i}"]`);
    dot.classList.toggle('none', !known(i));
    if (!known(i)) return;
    const circle = dot.querySelector('circle');
    const [cx, cy] = [h.at(xs[i][0]), v.at(ys[i][0])];
    const words = dot.querySelector('text');
    for (const [key, to] of [['x', cx], ['y', cy]]) {
      words?.setAttribute(key, +words.getAttribute(key) + to - circle.getAttribute('c' + key));
      circle.setAttribute('c' + key, to);
    }
    for (const old of every('path', dot)) old.remove();
    if (ys[i][1]) {
      const [low, high] = [v.at(ys[i][1]), v.at(ys[i][2])];
      circle.insertAdjacentHTML('beforebegin', `<path class="hair ${circle.classList[0].replace('a', 'c')}" d="M${cx} ${low}V${high}m-3 0h6M${cx - 3} ${low}h6"/>`);
    }
    const [mean, low, high] = ys[i];
    dot.querySelector('title').textContent = cells.slice(0, counts).join(' ') +
      `: ${y.text} ${mean}${low ? ` (${low} to ${high})` : ''}, ${plain} ${date ? cells.at(-1) : xs[i][0]}, n = ${cells[counts]}`;
  });
  for (const line of every('path[data-tag]')) {
    line.setAttribute('d', line.dataset.tag.split(' ').filter(known).map((i, n) => (n ? 'L' : 'M') + h.at(xs[i][0]) + ' ' + v.at(ys[i][0])).join(''));
  }
};
// The runs of chosen points, with their power over time.
const unfold = (chosen) => {
  for (const dot of every('g[data-tag]')) dot.classList.toggle('on', chosen.includes(dot.dataset.tag));
  panel.hidden = !chosen.length;
  panel.replaceChildren(...runs.filter((run) => chosen.includes(run.point)).slice(0, 24).map(({row}) => {
    const curve = row.querySelector('svg.s');
    const facts = heads.filter((head) => head.className).map((head) => head.textContent + ' ' + row.cells[head.cellIndex].textContent);
    return element('div', {}, element('b', {textContent: row.cells[0].textContent}), curve?.cloneNode(true) ?? '',
      element('small', {textContent: [curve ? heads.at(-1).textContent + ', window shaded' : 'no power curve', ...facts].join('; ')}));
  }));
};
if (chart) axes.hidden = false;

const apply = () => {
  const wanted = state();
  sort(wanted);
  const chosen = wanted.getAll('p');
  if (chart) {
    redraw(wanted);
    unfold(chosen);
  }
  const left = new Set();
  let shown = 0;
  for (const run of runs) {
    const is = visible(run, wanted);
    const here = is && (!chosen.length || chosen.includes(run.point));
    run.row.hidden = !here;
    shown += here;
    if (is) left.add(run.point);
  }
  for (const [part, tags] of tagged) part.classList.toggle('off', !tags.every((tag) => left.has(tag)));
  for (const input of form.elements) {
    if (input.type === 'checkbox') input.checked = wanted.getAll(input.name).includes(input.value);
    if (input.type === 'search' && input !== document.activeElement) input.value = wanted.get('q') ?? '';
  }
  for (const menu of every('details', form)) {
    menu.classList.toggle('on', wanted.has(menu.querySelector('input').name));
  }
  count.textContent = (shown < runs.length ? `${shown} of ` : '') + `${runs.length} run${runs.length === 1 ? '' : 's'}`;
};

// After a choice of points: their panel comes into view.
const follow = () => panel?.scrollIntoView({block: 'nearest'});
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
axes?.addEventListener('change', ({target}) => {
  const wanted = state();
  wanted.set(target.name, target.value);
  if (!target.value) wanted.delete(target.name);
  go(wanted);
});
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
  for (const menu of every('details[open]', form)) menu.open = menu.contains(event.target);
  const dot = event.target.closest('g[data-tag]');
  if (dot) follow(go(toggle(state(), 'p', dot.dataset.tag)));
});
addEventListener('hashchange', () => follow(apply()));
apply();
})();
//]]>)js";

// The script as pages have it: without comments and indentation.
std::string plain_script() {
  std::string script;
  for (std::string_view rest = kPageScript; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const bool is_comment = line.starts_with("// ");
    if (!line.empty() && !is_comment) script.append(line).append("\n");
  }
  return script;
}

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
 margin:0 auto;padding:1rem 1.25rem 3rem;max-width:120rem;background:var(--ground);color:var(--ink);
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
.answer{font-size:1.1rem;max-width:75rem}
.scroll{overflow-x:auto;max-width:100%}
.scroll th:first-child,.scroll td:first-child{position:sticky;left:0;z-index:1;background:var(--ground)}
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
td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:9rem;max-width:30rem}
[class^=k]{white-space:nowrap}
.runs tbody tr:hover,.runs tbody tr:hover td{background:var(--tint)}
td.bad{color:var(--bad);min-width:11rem}
svg.s{display:block;width:120px;height:26px;background:linear-gradient(90deg,#0000 8.33%,var(--shade) 8.33% 91.67%,#0000 91.67%)}
td.u svg.s{opacity:.5;background:none}
svg.s path{fill:none;stroke:var(--ink);stroke-width:1px;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}
figure{margin:1rem 0}
figure svg.chart{display:block;max-width:100%;height:auto}
.caption{color:var(--muted);font-size:.78rem;margin:.15rem .75rem;max-width:58rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.3rem .75rem;padding:0;list-style:none;font-size:.86rem}
.axes{display:flex;flex-wrap:wrap;gap:.3rem .9rem;margin:.3rem .75rem;font-size:.9rem;max-width:none}
.axes select{font:inherit;max-width:100%}
[hidden],.none{display:none!important}
#point{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));gap:.8rem;margin:.6rem .75rem;scroll-margin-top:4rem}
#point b,#point small{display:block;overflow-wrap:anywhere}
#point svg.s{width:100%;height:7rem;border-bottom:1px solid var(--muted)}
.on circle{stroke:var(--ink);stroke-width:2px}
figure.many>.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(21rem,100%),1fr));gap:.6rem}
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
@media (max-width:40rem){body{padding:.6rem .7rem 2rem;font-size:14px}.tiles li{min-width:5.5rem;padding:.35rem .6rem}.tiles b{font-size:1.1rem}th,td{padding:.2rem .35rem}.runs td:first-child{min-width:7.5rem;max-width:8rem}
figure:not(.many) .chart{overflow:visible;margin-bottom:1rem}figure:not(.many) .chart text{font-size:24px}figure:not(.many) .chart .title,.chart .halo,figure:not(.many) .chart text[transform]{display:none}
figure:not(.many) .chart circle{r:9px}figure:not(.many) .chart .number[text-anchor=middle]{transform:translateY(10px)}figure:not(.many) .chart text:not([class]){transform:translateY(28px)}}
@media screen and (prefers-color-scheme:dark){body{--ground:#16181d;--ink:#e6e8eb;--muted:#a0a8b2;--rule:#2c3138;--tint:#1e2127;--bad:#ff8a80;--link:#79b8ff;--shade:#79b8ff24}}
@media print{@page{size:A4 landscape;margin:12mm}html{color-scheme:light}body{padding:0;max-width:none;font-size:10pt}
 form,form[hidden],details:not([open]),.screen,.axes,figure>p{display:none}.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.1rem .3rem}
.runs td:first-child{min-width:7rem;max-width:18rem}td.bad{min-width:0}td.n,td[class^=k]{white-space:normal}.runs th.n{max-width:5rem}
 thead{display:table-header-group;break-inside:avoid}tr,svg.chart,.tiles li{break-inside:avoid}h2,h3,section>p,.legend,svg.chart{break-after:avoid}h2{margin-top:1rem}
 tbody tr:nth-child(-n+3){break-after:avoid}tbody tr:nth-last-child(-n+3){break-before:avoid}.scroll td:first-child{position:static}
 figure.many>.charts{grid-template-columns:repeat(3,1fr)}figure svg.chart{max-height:85mm;margin:0 auto}
 a{color:inherit;text-decoration:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace

const std::string& page_script() {
  static const std::string script = plain_script();
  return script;
}

std::string page_script_hash() { return "sha256-" + base64_of_hex(sha256_of(page_script())); }

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
