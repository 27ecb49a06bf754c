const width = 460;
const height = 260;
const edge = { left: 56, right: 24, top: 34, bottom: 40 };
const lineHeight = 16;
const colors = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e'];

/**
 * Returns line charts below each other as one SVG. A chart has a title, the names of its axes, and
 * `lines`: lists of points `{ n, ms }` by name.
 */
export function plot(charts) {
  let top = 0;
  const parts = charts.map((chart) => {
    const names = Object.keys(chart.lines);
    const part = `<g transform="translate(0 ${top})">${chartOf(chart, names)}</g>`;
    top += height + names.length * lineHeight + 14;
    return part;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${top}" fill="white"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function chartOf({ title, x, y, lines }, names) {
  const points = Object.values(lines).flat();
  const most = { n: roundUp(points.map(({ n }) => n)), ms: roundUp(points.map(({ ms }) => ms)) };
  const inner = { x: width - edge.left - edge.right, y: height - edge.top - edge.bottom };
  const px = (n) => (edge.left + (n / most.n) * inner.x).toFixed(1);
  const py = (ms) => (height - edge.bottom - (ms / most.ms) * inner.y).toFixed(1);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const grid = ticks.flatMap((share) => {
    const [n, ms] = [share * most.n, share * most.ms];
    return [
      `<path d="M${px(0)} ${py(ms)}H${px(most.n)}" stroke="#ddd"/>`,
      text(edge.left - 6, Number(py(ms)) + 4, label(ms), 'end'),
      text(px(n), height - edge.bottom + 15, label(n), 'middle'),
    ];
  });
  const drawn = names.flatMap((name, index) => {
    const color = colors[index % colors.length];
    const at = height + index * lineHeight;
    const path = lines[name].map(({ n, ms }) => `${px(n)},${py(ms)}`).join(' ');
    return [
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
      `<path d="M${edge.left} ${at - 4}h18" stroke="${color}" stroke-width="3"/>`,
      text(edge.left + 24, at, name),
    ];
  });
  return [
    text(edge.left, 16, `${title} (${y})`, 'start', 'bold'),
    ...grid,
    text(width - edge.right, height - 10, x, 'end'),
    ...drawn,
  ].join('\n');
}

function text(x, y, words, anchor = 'start', weight = 'normal') {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-weight="${weight}">${words}</text>`;
}

/** Returns the next number of the form 1, 2, 4 or 8 times a power of ten. */
function roundUp(values) {
  const most = Math.max(...values);
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 8, 10].find((step) => step * power >= most) * power;
}

const label = (value) => Number(value.toPrecision(2)).toLocaleString('en');
