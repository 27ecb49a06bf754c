// `npm run bench -- growth [--reps 10000] [--write]` measures how the cost of a step, of a turn and
// of opening a session grows with their number. With `--write`, draws bench/growth.svg.
import { fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright';
import { chromiumArgs, chromiumPath } from '../scripts/chromium.ts';
import { measureEdge } from './growth/edge.mjs';
import { bundle } from './lib/bundle.mjs';
import { plot } from './lib/plot.mjs';
import { table } from './lib/report.mjs';
import { writeSections } from './lib/results-file.mjs';
import { startServer } from './lib/start-server.mjs';
import { workload } from './lib/workload.mjs';

const browser = 'Chromium, IndexedDB (wall time)';

/** `reps`: number of steps and of turns. */
export async function benchGrowth({ reps: count = workload(10_000, 40), write }) {
  const node = await measureNode(count);
  const page = await measurePage(count);
  const edge = await measureEdge(count);
  const charts = [
    {
      title: 'Step n of a run',
      x: 'step',
      y: 'CPU ms',
      lines: { ...node.steps, [browser]: page.steps },
    },
    {
      title: 'Turn n of a session',
      x: 'turn',
      y: 'CPU ms',
      lines: { ...node.turns, [browser]: page.turns, ...edge },
    },
    {
      title: 'Opening a session',
      x: 'messages',
      y: 'ms',
      lines: { ...node.openings, [browser]: page.openings },
    },
  ];
  const tables = charts.map(({ title, x, lines }) => {
    const [first] = Object.values(lines);
    const columns = [0, 4, 9, 19].filter((index) => index < first.length);
    const rows = Object.entries(lines).map(([name, points]) => [
      name,
      ...columns.map((index) => points[index].ms.toFixed(2)),
    ]);
    const head = [x, ...columns.map((index) => first[index].n.toLocaleString('en'))];
    return `### ${title}: milliseconds\n\n${table(head, rows)}`;
  });
  const body = tables.join('\n\n');
  console.log(body);
  if (!write) return;
  writeFileSync(`${import.meta.dirname}/growth.svg`, plot(charts));
  const image = '![Cost of a step, of a turn and of opening a session, by number](growth.svg)';
  writeSections([{ heading: 'growth', body: `${image}\n\n${body}` }]);
}

function measureNode(count) {
  return new Promise((resolve, reject) => {
    const child = fork(`${import.meta.dirname}/growth/node.mjs`, [String(count)]);
    child.once('message', resolve);
    child.once('exit', (code) => code && reject(new Error(`growth/node.mjs ended with ${code}`)));
  });
}

async function measurePage(count) {
  const folder = `${import.meta.dirname}/results/bundles`;
  mkdirSync(folder, { recursive: true });
  await bundle(`import ${JSON.stringify(`${import.meta.dirname}/growth/page.mjs`)};`, {
    file: `${folder}/growth.js`,
    conditions: ['browser', 'module', 'import'],
  });
  writeFileSync(
    `${folder}/growth.html`,
    '<!doctype html><title>growth</title><script type="module" src="growth.js"></script>',
  );
  const server = await startServer(folder);
  const opened = await chromium.launch({ executablePath: chromiumPath(), args: chromiumArgs });
  try {
    const page = await opened.newPage();
    page.setDefaultTimeout(0);
    await page.goto(`${server.origin}/static/growth.html`);
    await page.waitForFunction(() => globalThis.growth);
    return await page.evaluate((number) => growth(number), count);
  } finally {
    await opened.close();
    server.close();
  }
}
