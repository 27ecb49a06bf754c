import { writeFileSync } from 'node:fs';
import { chromium } from 'playwright';
import { chromiumArgs, chromiumPath } from '../../scripts/chromium.ts';
import { bundle } from '../lib/bundle.mjs';
import { cpuTimeOf } from '../lib/cpu-time.mjs';

/**
 * Runs the contenders in headless Chromium, each in a module worker of the same page. Measures the
 * CPU time of the page's process, which includes the workers.
 */
export async function openRuntime({ origin, bundles }) {
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [...chromiumArgs, '--disable-background-timer-throttling'],
  });
  const page = await browser.newPage();
  writeFileSync(
    `${bundles}/index.html`,
    '<!doctype html><meta charset="utf-8"><title>bench</title>',
  );
  await page.goto(`${origin}/static/index.html`);
  const session = await browser.newBrowserCDPSession();
  const rendererTime = async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo
      .filter(({ type }) => type === 'renderer')
      .reduce((sum, { id }) => sum + cpuTimeOf(id), 0);
  };
  return {
    version: browser.version(),
    async start(name, scenario) {
      await bundle(workerSource(name), {
        file: `${bundles}/chromium-${name}.js`,
        conditions: ['browser', 'module', 'import'],
      });
      const worker = await page.evaluateHandle(startWorker, `/static/chromium-${name}.js`);
      return {
        async rep(plan) {
          const cpu = await rendererTime();
          const { wall, error } = await worker.evaluate(ask, { scenario, plan });
          if (error) throw new Error(`${name}, ${scenario}: ${error}`);
          return { cpu: (await rendererTime()) - cpu, wall };
        },
        stop: () => worker.evaluate((one) => one.terminate()),
      };
    },
    close: () => browser.close(),
  };
}

/** Starts a worker. This function runs in the page. */
function startWorker(url) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(url, { type: 'module' });
    worker.addEventListener('message', () => resolve(worker), { once: true });
    worker.addEventListener(
      'error',
      (event) => reject(new Error(event.message ?? 'the worker does not start')),
      { once: true },
    );
  });
}

/** Sends a job to a worker. This function runs in the page. */
function ask(worker, job) {
  return new Promise((resolve) => {
    worker.addEventListener('message', ({ data }) => resolve(data), { once: true });
    worker.postMessage(job);
  });
}

function workerSource(name) {
  const benchFolder = `${import.meta.dirname}/..`;
  return `
import { run } from ${JSON.stringify(`${benchFolder}/contenders/${name}.mjs`)};
import { clientScenario, runAll } from ${JSON.stringify(`${benchFolder}/lib/scenarios.mjs`)};
const known = {};
self.onmessage = async ({ data: { scenario, plan } }) => {
  try {
    const sc = (known[scenario] ??= clientScenario(scenario));
    const begin = performance.now();
    await runAll(run, sc, location.origin + '/' + scenario + '/v1', plan);
    self.postMessage({ wall: performance.now() - begin });
  } catch (error) {
    self.postMessage({ error: String(error?.stack ?? error) });
  }
};
self.postMessage('ready');`;
}
