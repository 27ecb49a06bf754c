import { cpuTimeOf } from '../lib/cpu-time.mjs';
import { endpointBudgets } from '../lib/budgets.mjs';
import { median, table } from '../lib/report.mjs';
import { startApp } from './contenders.mjs';
import { workload } from '../lib/workload.mjs';

const apps = {
  empty: 'a Worker that only answers',
  floor: '',
  loop: 'only `ReActAgent`, `openai` and `tool`',
  isoloop: 'the endpoint',
  'ai-sdk': '',
};

/** Measures workerd from its start to its first answer, each time in a fresh process. */
export async function measureCold({ bundles, world, reps = workload(15, 1) }) {
  const samples = Object.fromEntries(Object.keys(apps).map((app) => [app, []]));
  for (let round = -workload(1, 0); round < reps; round++) {
    for (const app of Object.keys(apps)) {
      const { pid, stop } = await startApp(
        bundles,
        { app, binds: app === 'isoloop' ? ['kv'] : [] },
        world,
      );
      if (round >= 0) samples[app].push(cpuTimeOf(pid));
      stop();
    }
  }
  const empty = median(samples.empty);
  const rows = Object.entries(apps).map(([app, what]) => [
    what ? `${app}: ${what}` : app,
    median(samples[app]).toFixed(1),
    `${Math.min(...samples[app]).toFixed(1)} to ${Math.max(...samples[app]).toFixed(1)}`,
    (median(samples[app]) - empty).toFixed(1),
  ]);
  const head = ['', 'CPU ms until the first answer, median', 'range', 'over the empty Worker'];
  return `${table(head, rows)}\n\n${endpointBudgets.cold}`;
}
