import { endpointBudgets } from '../lib/budgets.mjs';
import { median, table } from '../lib/report.mjs';
import { contenders, startApp } from './contenders.mjs';
import { drive } from './load.mjs';
import { workload } from '../lib/workload.mjs';

const inner = workload(3, 1);
const warm = workload(8, 0);
const deltas = workload(2000, 20);
const titles = {
  [`${deltas}-burst`]: 'In network writes of 16 KB',
  [`${workload(deltas, 100)}-paced`]: 'One network write per delta, every 5 ms',
};

/**
 * Measures answers of 2,000 deltas, each in a new conversation. Only answers that come at a fixed
 * pace run at the same time.
 */
export async function measureAnswer({ bundles, world, reps = workload(15, 1) }) {
  const running = [];
  for (const [name, contender] of Object.entries(contenders)) {
    if (contender.app)
      running.push({
        name,
        format: contender.format,
        ...(await startApp(bundles, contender, world)),
      });
  }
  const sections = [];
  try {
    for (const [model, title] of Object.entries(titles)) {
      // A paced answer takes 10 seconds and is mostly idle, so five such answers run at once.
      const paced = model.endsWith('-paced');
      const plan = paced
        ? { model, count: workload(5, 1), concurrency: workload(5, 1), turns: 1 }
        : { model, count: inner, concurrency: 1, turns: 1 };
      for (const each of running) each.cpu = [];
      for (let round = paced ? 0 : -warm; round < (paced ? Math.min(3, reps) : reps); round++) {
        for (let i = 0; i < running.length; i++) {
          const each = running[(i + round + warm) % running.length];
          const { cpu } = await drive(each, plan);
          if (round >= 0) each.cpu.push(cpu);
        }
      }
      sections.push(`### ${title}\n\n${answerTable(running)}`);
    }
  } finally {
    for (const { stop } of running) stop();
  }
  return `${sections.join('\n\n')}\n\n${endpointBudgets.answer}`;
}

function answerTable(running) {
  const floor = median(running.find(({ name }) => name === 'floor').cpu);
  const rows = running.map(({ name, cpu }) => [
    name,
    median(cpu).toFixed(2),
    `${Math.min(...cpu).toFixed(2)} to ${Math.max(...cpu).toFixed(2)}`,
    (median(cpu) / floor).toFixed(2),
  ]);
  return table(['', 'CPU ms per answer, median', 'range', 'CPU over the floor'], rows);
}
