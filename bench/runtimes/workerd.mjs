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
      const run = async (inner) => {
        const response = await fetch(
          `http://127.0.0.1:${port}/?scenario=${scenario}&inner=${inner}`,
        );
        if (!response.ok) throw new Error(`${name}, ${scenario}: ${await response.text()}`);
      };
      return {
        async rep(inner) {
          const [cpu, begin] = [cpuTimeOf(pid), performance.now()];
          await run(inner);
          return { cpu: (cpuTimeOf(pid) - cpu) / inner, wall: (performance.now() - begin) / inner };
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
import { clientScenario, runOnce } from ${JSON.stringify(`${benchFolder}/lib/scenarios.mjs`)};
const known = {};
export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const scenario = searchParams.get('scenario');
    if (!scenario) return new Response('ready');
    try {
      const sc = (known[scenario] ??= clientScenario(scenario));
      for (let i = 0; i < Number(searchParams.get('inner')); i++) await runOnce(run, sc, env.ORIGIN + '/' + scenario + '/v1');
      return new Response('done');
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 });
    }
  },
};`;
}
