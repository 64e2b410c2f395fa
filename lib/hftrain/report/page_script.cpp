#include "hftrain/report/page_assets.h"

namespace hftrain::report {

// Draws what stands in the element "data". Texts of a run are set as text, never as HTML.
const char* const kScript = R"js(
(() => {
'use strict';
const W = 480, H = 230, L = 58, R = 12, T = 8, B = 26;
const view = { axis: 'step', log: false, smooth: 0, hidden: new Set() };
let data = JSON.parse(document.getElementById('data').textContent);
const colour = run => `var(--c${run % 8})`;
const dashes = run => ['', '6 3', '2 3', '8 3 2 3'][Math.floor(run / 8) % 4];
const make = (tag, attributes = {}, text) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};
const html = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const short = value => {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return String(Number(value.toPrecision(4)));
};
const clock = seconds => {
  const s = Math.round(seconds), two = n => String(n).padStart(2, '0');
  return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
};
const ticks = (low, high, count) => {
  const rough = (high - low) / count, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * unit).find(n => n >= rough) || rough;
  const marks = [];
  for (let mark = Math.ceil(low / step) * step; mark <= high + step * 1e-9; mark += step) marks.push(Math.abs(mark) < step * 1e-9 ? 0 : mark);
  return marks;
};
const smoothed = points => {
  let sum = 0, weight = 0;
  return points.map(p => {
    sum = sum * view.smooth + p.y * (1 - view.smooth);
    weight = weight * view.smooth + (1 - view.smooth);
    return { ...p, y: sum / weight };
  });
};
const pointsOf = line => {
  const across = view.axis === 'step' ? line.x : line.t;
  return line.y.map((y, i) => ({ x: across[i], y, step: line.x[i] }))
    .filter(p => p.y !== null && p.x !== null && (!view.log || p.y > 0));
};
const range = numbers => {
  let low = Infinity, high = -Infinity;
  for (const n of numbers) { if (n < low) low = n; if (n > high) high = n; }
  if (low > high) return null;
  if (low === high) { const pad = Math.abs(low) * 0.05 || 1; low -= pad; high += pad; }
  return [low, high];
};
function draw(figure, chart) {
  const raised = view.log ? Math.log10 : y => y;
  const lines = chart.lines.filter(l => !view.hidden.has(l.run)).map(l => {
    const raw = pointsOf(l);
    return { run: l.run, raw, shown: view.smooth ? smoothed(raw) : raw };
  });
  const xs = range(lines.flatMap(l => l.raw.length ? [l.raw[0].x, l.raw[l.raw.length - 1].x] : []));
  const ys = range(lines.flatMap(l => l.raw.map(p => raised(p.y))));
  const svg = make('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': chart.title });
  figure.querySelector('svg')?.remove();
  figure.append(svg);
  figure.onpointermove = figure.onpointerleave = null;
  if (!xs || !ys) { svg.append(make('text', { x: W / 2, y: H / 2, 'text-anchor': 'middle' }, 'nothing to draw')); return; }
  const px = x => L + (x - xs[0]) / (xs[1] - xs[0]) * (W - L - R);
  const py = y => H - B - (raised(y) - ys[0]) / (ys[1] - ys[0]) * (H - T - B);
  const back = y => view.log ? 10 ** y : y;
  for (const mark of ticks(ys[0], ys[1], 5)) {
    const y = py(back(mark));
    svg.append(make('line', { class: 'grid', x1: L, x2: W - R, y1: y, y2: y }));
    svg.append(make('text', { x: L - 6, y: y + 4, 'text-anchor': 'end' }, short(back(mark))));
  }
  for (const mark of ticks(xs[0], xs[1], 5)) {
    svg.append(make('text', { x: px(mark), y: H - 8, 'text-anchor': 'middle' }, view.axis === 'step' ? short(mark) : clock(mark)));
  }
  const path = points => points.map((p, i) => `${i ? 'L' : 'M'}${px(p.x).toFixed(1)} ${py(p.y).toFixed(1)}`).join('');
  for (const line of lines) {
    const look = { stroke: colour(line.run), 'stroke-dasharray': dashes(line.run) };
    if (view.smooth) svg.append(make('path', { ...look, class: 'raw', d: path(line.raw) }));
    svg.append(make('path', { ...look, d: path(line.shown) }));
    if (line.raw.length === 1) svg.append(make('circle', { cx: px(line.raw[0].x), cy: py(line.raw[0].y), r: 3, fill: colour(line.run) }));
  }
  hover(figure, svg, lines, xs, px);
}
function hover(figure, svg, lines, xs, px) {
  const cursor = make('line', { class: 'cursor', y1: T, y2: H - B, visibility: 'hidden' });
  svg.append(cursor);
  figure.querySelector('.tip')?.remove();
  const tip = html('div', { className: 'tip', hidden: true });
  figure.append(tip);
  figure.onpointermove = event => {
    const box = svg.getBoundingClientRect();
    const x = xs[0] + ((event.clientX - box.left) / box.width * W - L) / (W - L - R) * (xs[1] - xs[0]);
    const near = lines.map(l => ({ run: l.run, p: nearest(l.raw, x) })).filter(n => n.p);
    if (!near.length) return;
    const at = px(near[0].p.x);
    cursor.setAttribute('x1', at); cursor.setAttribute('x2', at); cursor.setAttribute('visibility', 'visible');
    tip.replaceChildren(...near.map(n => {
      const dot = html('span', { className: 'dot' });
      dot.style.background = colour(n.run);
      return html('div', {}, dot, `${n.p.y} at step ${n.p.step}` + (data.runs.length > 1 ? ` · ${data.runs[n.run]}` : ''));
    }));
    tip.hidden = false;
    tip.style.left = at / W > 0.5 ? 'auto' : `${at / W * 100 + 3}%`;
    tip.style.right = at / W > 0.5 ? `${(1 - at / W) * 100 + 3}%` : 'auto';
  };
  figure.onpointerleave = () => { tip.hidden = true; cursor.setAttribute('visibility', 'hidden'); };
}
function nearest(points, x) {
  if (!points.length) return null;
  let low = 0, high = points.length - 1;
  while (low < high) { const middle = (low + high) >> 1; if (points[middle].x < x) low = middle + 1; else high = middle; }
  return low > 0 && x - points[low - 1].x < points[low].x - x ? points[low - 1] : points[low];
}
function drawAll() {
  const plots = document.getElementById('plots');
  plots.replaceChildren(...data.charts.map(chart => html('figure', {}, html('figcaption', { textContent: chart.title }))));
  data.charts.forEach((chart, i) => draw(plots.children[i], chart));
  if (!data.charts.length) plots.textContent = 'No metric has two records yet.';
}
// Built anew where the runs are others: they stand as the view is.
function controls() {
  const place = document.getElementById('controls');
  const axis = html('select', { onchange: e => { view.axis = e.target.value; drawAll(); } },
    html('option', { value: 'step', textContent: 'steps' }), html('option', { value: 'time', textContent: 'time' }));
  axis.value = view.axis;
  const log = html('input', { type: 'checkbox', checked: view.log, onchange: e => { view.log = e.target.checked; drawAll(); } });
  const smooth = html('input', { type: 'range', min: 0, max: 0.99, step: 0.01, value: view.smooth, oninput: e => { view.smooth = Number(e.target.value); drawAll(); } });
  place.replaceChildren(html('label', {}, 'over', axis), html('label', {}, log, 'logarithmic'), html('label', {}, 'smooth', smooth));
  if (data.runs.length < 2) return;
  data.runs.forEach((name, run) => {
    const box = html('input', { type: 'checkbox', checked: !view.hidden.has(run), onchange: e => { e.target.checked ? view.hidden.delete(run) : view.hidden.add(run); drawAll(); } });
    const dot = html('span', { className: 'dot' });
    dot.style.background = colour(run);
    place.append(html('label', {}, box, html('span', {}, dot, name)));
  });
}
// After the page was read again: a run is known by its name.
function regroup(before) {
  if (String(data.runs) === String(before)) return;
  const place = run => data.runs[run] === before[run] ? run : data.runs.indexOf(before[run]);
  view.hidden = new Set([...view.hidden].map(place).filter(run => run >= 0));
  controls();
}
let seen = null;
async function follow() {
  try {
    const now = await (await fetch('/state', { cache: 'no-store' })).text();
    if (seen !== null && now !== seen) {
      const page = new DOMParser().parseFromString(await (await fetch('/', { cache: 'no-store' })).text(), 'text/html');
      const open = new Set([...document.querySelectorAll('details[open] > summary')].map(s => s.textContent));
      for (const part of ['main', 'h1']) document.querySelector(part).replaceWith(page.querySelector(part));
      document.title = page.title;
      for (const s of document.querySelectorAll('details > summary')) s.parentElement.open = open.has(s.textContent);
      const before = data.runs;
      data = JSON.parse(document.getElementById('data').textContent);
      regroup(before);
      drawAll();
    }
    seen = now;
    document.title = document.title.replace(/^○ /, '');
  } catch { if (!document.title.startsWith('○ ')) document.title = '○ ' + document.title; }
  setTimeout(follow, 2000);
}
controls();
drawAll();
if (data.live) follow();
})();
)js";

}  // namespace hftrain::report
