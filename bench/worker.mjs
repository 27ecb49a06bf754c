// `npm run bench -- worker [--scenarios reads,at-once,single,bare]`, and the options
// `[--contenders none,isoloop-events] [--reps N] [--write]`
//
// Compares ways to send an agent's events from a worker to the page, in headless Chromium.
// Repetitions are interleaved. Reports three times:
// - the wall time in the page
// - the busy time of the page's main thread (CDP `TaskDuration`)
// - the CPU time of that thread and of the worker's thread, from /proc (Linux only)
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright';
import { chromiumArgs, chromiumPath } from '../scripts/chromium.ts';
import { workerBudgets } from './lib/budgets.mjs';
import { bundle } from './lib/bundle.mjs';
import { median } from './lib/report.mjs';
import { writeSections } from './lib/results-file.mjs';
import { startServer } from './lib/start-server.mjs';
import { workload } from './lib/workload.mjs';

const deltas = 2000;
const warm = workload(8, 0);
/** Ways whose runs take hundreds of milliseconds. A repetition of such a way has one run. */
const slow = new Set(['comlink-awaited', 'stream-event']);
const runsOf = (way) => (slow.has(way) ? 1 : workload(5, 1));

/** The way `none` sends no events, so it measures the worker's own time. */
const others = [
  'none',
  'message-batch',
  'message-event',
  'stream-batch',
  'stream-event',
  'comlink',
  'comlink-awaited',
];
const all = ['isoloop-events', 'isoloop-batches', ...others];
const agentTable = (title, kind) => ({
  title: `an agent’s events, ${title}`,
  job: { source: 'agent', kind },
  ways: all,
});
const tables = {
  reads: agentTable('25 reads of 80 deltas a macrotask apart', 'reads'),
  'at-once': agentTable('2,000 deltas in one read', 'at once'),
  single: agentTable('2,000 reads of one delta, all ready', 'single'),
  bare: {
    title: 'bare deltas without an agent, 25 reads of 80 a macrotask apart',
    job: { source: 'bare', kind: 'reads' },
    ways: others,
  },
};

export async function benchWorker({
  scenarios = Object.keys(tables),
  contenders = all,
  reps = workload(21, 1),
  write,
}) {
  check('scenario', scenarios, Object.keys(tables));
  check('contender', contenders, all);
  const folder = `${import.meta.dirname}/results/bundles`;
  mkdirSync(folder, { recursive: true });
  const conditions = ['browser', 'module', 'import'];
  for (const name of ['page', 'worker']) {
    await bundle(`import ${JSON.stringify(`${import.meta.dirname}/worker/${name}.mjs`)};`, {
      file: `${folder}/${name}.js`,
      conditions,
    });
  }
  const html =
    '<!doctype html><meta charset="utf-8"><title>bench</title><script type="module" src="page.js"></script>';
  writeFileSync(`${folder}/worker.html`, html);
  const server = await startServer(folder);
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [
      ...chromiumArgs,
      '--disable-background-timer-throttling',
      '--disable-renderer-backgrounding',
    ],
  });
  try {
    const url = `${server.origin}/static/worker.html`;
    for (const scenario of scenarios) {
      const { title, job, ways } = tables[scenario];
      const rows = await measure({
        browser,
        url,
        job,
        ways: ways.filter((way) => contenders.includes(way)),
        reps,
      });
      console.log(`\nchromium ${browser.version()}  worker to page, ${title}`);
      console.table(Object.fromEntries(rows.map(({ way, ...cells }) => [way, cells])));
      console.log(budgetOf(scenario).trim());
      // Writes after each table, so that an interrupted benchmark keeps its results.
      if (write)
        writeSections([
          {
            heading: `worker to page, chromium ${browser.version()}: ${title}`,
            body: markdown(rows) + budgetOf(scenario),
          },
        ]);
    }
  } finally {
    await browser.close();
    server.close();
  }
}

function budgetOf(scenario) {
  const budget = workerBudgets[scenario];
  return budget ? `\n\nBudget of the ways \`isoloop-…\`: ${budget} ms over \`none\`.` : '';
}

function check(what, given, known) {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`Unknown ${what} "${unknown}". Known: ${known.join(', ')}.`);
}

/** Measures all ways of a table in one page. */
async function measure({ browser, url, job, ways, reps }) {
  const messages = await countMessages({ browser, url, job, ways });
  const page = await open(browser, url);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const cost = await costMeter(browser, session);
  const samples = Object.fromEntries(ways.map((way) => [way, []]));
  for (let round = -warm; round < reps; round++) {
    for (let i = 0; i < ways.length; i++) {
      const way = ways[(i + round + warm) % ways.length];
      const times = runsOf(way);
      const before = await cost();
      const wall = await page.evaluate((args) => bench.run(...args), [way, job, times]);
      const after = await cost();
      await page.evaluate(() => bench.forget());
      const of = (key) => (after[key] - before[key]) / times;
      if (round >= 0)
        samples[way].push({ wall, busy: of('busy'), page: of('page'), worker: of('worker') });
    }
  }
  const rows = [];
  for (const way of ways) {
    const bytes = await retained({ page, session, way, job });
    rows.push(
      rowOf({ way, samples: samples[way], messages: messages[way], bytes, none: samples.none }),
    );
  }
  await page.context().close();
  return rows;
}

async function open(browser, url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(error));
  await page.goto(url);
  await page.waitForFunction(() => globalThis.bench);
  return page;
}

/** Counts the messages in a separate page, because counting takes time. */
async function countMessages({ browser, url, job, ways }) {
  const page = await open(browser, `${url}?count`);
  const counts = {};
  for (const way of ways)
    counts[way] = await page.evaluate((args) => bench.count(...args), [way, job]);
  await page.context().close();
  return counts;
}

/**
 * Returns a function that reads three times in milliseconds. They are the task time of the page's
 * main thread, the CPU time of that thread, and the CPU time of the worker's thread.
 */
async function costMeter(browser, session) {
  const root = await browser.newBrowserCDPSession();
  const { processInfo } = await root.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const total = {
      busy: metrics.find(({ name }) => name === 'TaskDuration').value * 1000,
      page: 0,
      worker: 0,
    };
    for (const pid of renderers) {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const file = (name) => readFileSync(`/proc/${pid}/task/${thread}/${name}`, 'utf8');
        try {
          const ms = Number(file('schedstat').split(' ')[0]) / 1e6;
          if (Number(thread) === pid) total.page += ms;
          else if (file('comm').startsWith('DedicatedWorker')) total.worker += ms;
        } catch {
          // The thread has ended.
        }
      }
    }
    return total;
  };
}

/**
 * Returns the growth of the page's heap per run, in bytes. Uses the median, because code that the
 * engine compiles meanwhile enlarges the heap in single passes.
 */
async function retained({ page, session, way, job }) {
  const times = runsOf(way) * 4;
  const sizes = [];
  for (let pass = 0; pass < 5; pass++) {
    await page.evaluate((args) => bench.run(...args), [way, job, times]);
    await page.evaluate(() => bench.forget());
    await session.send('HeapProfiler.collectGarbage');
    sizes.push((await session.send('Runtime.getHeapUsage')).usedSize);
  }
  return median(sizes.slice(1).map((size, index) => size - sizes[index])) / times;
}

function rowOf({ way, samples, messages: { received, sent }, bytes, none }) {
  const of = (key) => median(samples.map((sample) => sample[key]));
  const overNone = (cost) =>
    none ? (median(samples.map(cost)) - median(none.map(cost))).toFixed(2) : '';
  const walls = samples.map(({ wall }) => wall);
  const isStream = way.startsWith('stream');
  return {
    way,
    'wall ms': of('wall').toFixed(2),
    range: `${Math.min(...walls).toFixed(2)} to ${Math.max(...walls).toFixed(2)}`,
    'over none': overNone((sample) => sample.wall),
    'deltas/s': Math.round((deltas / of('wall')) * 1000).toLocaleString('en'),
    'page busy ms': of('busy').toFixed(2),
    'page CPU ms': of('page').toFixed(2),
    'worker CPU ms': of('worker').toFixed(2),
    'CPU over none': overNone(({ page, worker }) => page + worker),
    messages: isStream ? '' : `${received} / ${sent}`,
    'kept bytes': bytes.toFixed(0),
  };
}

function markdown(rows) {
  const names = Object.keys(rows[0]);
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [
    line(names),
    line(names.map((name, index) => (index ? '--:' : ':--'))),
    ...rows.map((row) => line(Object.values(row))),
  ].join('\n');
}
