// Runs one contender and one scenario in this process. Measures the CPU time of the whole process,
// including garbage collection and the JIT compiler.
import { clientScenario, runOnce } from './scenarios.mjs';

const [file, scenario, baseURL] = process.argv.slice(2);
const { run } = await import(file);
const sc = clientScenario(scenario);

process.on('message', async ({ inner, collect }) => {
  try {
    if (collect) globalThis.gc();
    const begin = performance.now();
    const cpu = process.cpuUsage();
    for (let i = 0; i < inner; i++) await runOnce(run, sc, baseURL);
    const { user, system } = process.cpuUsage(cpu);
    process.send({
      cpu: (user + system) / 1000 / inner,
      wall: (performance.now() - begin) / inner,
    });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
process.send({ ready: true });
