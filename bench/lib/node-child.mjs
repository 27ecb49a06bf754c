// Runs one contender and one scenario in this process. Measures the CPU time of the whole process,
// including garbage collection and the JIT compiler.
import { clientScenario, runAll } from './scenarios.mjs';

const [file, scenario, baseURL] = process.argv.slice(2);
const { run } = await import(file);
const sc = clientScenario(scenario);

process.on('message', async ({ collect, ...plan }) => {
  try {
    if (collect) globalThis.gc();
    const begin = performance.now();
    const cpu = process.cpuUsage();
    await runAll(run, sc, baseURL, plan);
    const { user, system } = process.cpuUsage(cpu);
    process.send({
      cpu: (user + system) / 1000,
      wall: performance.now() - begin,
    });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
process.send({ ready: true });
