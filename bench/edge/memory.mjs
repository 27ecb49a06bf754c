import { table } from '../lib/report.mjs';
import { residentBytes } from '../lib/resident-bytes.mjs';
import { converse } from './client.mjs';
import { contenders, startApp } from './contenders.mjs';
import { drive } from './load.mjs';
import { workload } from '../lib/workload.mjs';

const steps = workload(4, 1);
const stepTurns = workload(500, 4);
const plans = {
  '200 sessions, 50 at once, of 10 turns each': {
    names: ['floor', 'isoloop, KV', 'isoloop, Durable Object', 'isoloop, /v1'],
    concurrency: 50,
    turns: 10,
  },
  'One session': {
    names: ['isoloop, KV', 'isoloop, Durable Object'],
    concurrency: 1,
    turns: Infinity,
    posts: 2,
  },
};

/**
 * Measures 2,000 questions and answers in a fresh workerd: the memory before and after each 500
 * answers, and the CPU time per answer.
 */
export async function measureMemory({ bundles, world }) {
  const sections = [];
  for (const [title, { names, ...plan }] of Object.entries(plans)) {
    const rows = [];
    for (const name of names) {
      rows.push([name, ...(await grow(contenders[name], plan, { bundles, world }))]);
    }
    const head = [
      '',
      '0',
      ...Array.from({ length: steps }, (_, step) => `${(step + 1) * stepTurns}`),
    ];
    sections.push(
      `### ${title}: MB in memory · CPU ms per turn in the last 500 turns\n\n${table(head, rows)}`,
    );
  }
  return sections.join('\n\n');
}

async function grow(contender, { concurrency, turns, posts }, { bundles, world }) {
  const { port, pid, stop } = await startApp(bundles, contender, world);
  try {
    const cells = [`${residentMb(pid)}`];
    const target = { port, pid, format: contender.format };
    const plan = { model: '20-burst', count: stepTurns, concurrency, turns };
    const conversation = turns === Infinity ? converse({ ...target, posts }) : undefined;
    for (let step = 0; step < steps; step++) {
      const { cpu } = await drive(target, { ...plan, conversation });
      cells.push(`${residentMb(pid)} · ${cpu.toFixed(2)}`);
    }
    return cells;
  } finally {
    stop();
  }
}

function residentMb(pid) {
  return Math.round(residentBytes(pid) / 2 ** 20);
}
