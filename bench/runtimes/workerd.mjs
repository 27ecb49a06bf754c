import { mkdirSync } from 'node:fs';
import { bundle } from '../lib/bundle.mjs';
import { cpuTimeOf } from '../lib/cpu-time.mjs';
import { startWorkerd, workerConditions, workerdVersion } from '../lib/workerd.mjs';

const benchFolder = `${import.meta.dirname}/..`;

/** Runs the contenders in the workerd that wrangler ships, with one process per contender. */
export async function openRuntime({ origin, bundles }) {
  return {
    version: workerdVersion,
    async start(name, scenario) {
      const folder = `${bundles}/workerd-${name}`;
      mkdirSync(folder, { recursive: true });
      await bundle(workerSource(name), {
        file: `${folder}/worker.js`,
        conditions: workerConditions,
      });
      const { port, pid, stop } = await startWorkerd({
        folder,
        worker: `bindings = [(name = "ORIGIN", text = "${origin}")]`,
      });
      const run = async ({ inner, concurrency }) => {
        const response = await fetch(
          `http://127.0.0.1:${port}/?scenario=${scenario}&inner=${inner}&concurrency=${concurrency}`,
        );
        if (!response.ok) throw new Error(`${name}, ${scenario}: ${await response.text()}`);
      };
      return {
        async rep(plan) {
          const [cpu, begin] = [cpuTimeOf(pid), performance.now()];
          await run(plan);
          return { cpu: cpuTimeOf(pid) - cpu, wall: performance.now() - begin };
        },
        stop,
      };
    },
    close: async () => undefined,
  };
}

function workerSource(name) {
  return `
import { run } from ${JSON.stringify(`${benchFolder}/contenders/${name}.mjs`)};
import { clientScenario, runAll } from ${JSON.stringify(`${benchFolder}/lib/scenarios.mjs`)};
const known = {};
export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const scenario = searchParams.get('scenario');
    if (!scenario) return new Response('ready');
    try {
      const sc = (known[scenario] ??= clientScenario(scenario));
      const plan = {
        inner: Number(searchParams.get('inner')),
        concurrency: Number(searchParams.get('concurrency')),
      };
      await runAll(run, sc, env.ORIGIN + '/' + scenario + '/v1', plan);
      return new Response('done');
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 });
    }
  },
};`;
}
