import { endpointBudgets } from '../lib/budgets.mjs';
import { cpuTimeOf } from '../lib/cpu-time.mjs';
import { median, quantile, table } from '../lib/report.mjs';
import { converse } from './client.mjs';
import { contenders, startApp } from './contenders.mjs';
import { workload } from '../lib/workload.mjs';

const load = workload({ concurrency: 50, turns: 10 }, { concurrency: 2, turns: 2 });
const requests = workload(300, 4);
const titles = {
  '100-burst': '100 deltas, all sent at once after the first: the limit of one isolate',
  '100-paced': '100 deltas, one every 5 ms: 50 open streams at any time',
};

/**
 * Measures 50 concurrent users, each in conversations of 10 questions. Each round sends 300
 * requests to each contender. The order of the contenders changes with each round.
 */
export async function measureLoad({ bundles, world, reps = workload(3, 1) }) {
  const running = [];
  for (const [name, contender] of Object.entries(contenders)) {
    const { port, pid, stop } = contender.app
      ? await startApp(bundles, contender, world)
      : { port: world, stop: () => undefined };
    running.push({ name, format: contender.format, share: contender.share ?? 1, port, pid, stop });
  }
  const sections = [];
  try {
    for (const [model, title] of Object.entries(titles)) {
      for (const each of running) each.samples = [];
      for (let round = -workload(1, 0); round < reps; round++) {
        for (let i = 0; i < running.length; i++) {
          const each = running[(i + round + 1) % running.length];
          const sample = await drive(each, { ...load, model, count: requests * each.share });
          if (round >= 0) each.samples.push(sample);
        }
      }
      sections.push(`### ${title}\n\n${loadTable(running)}`);
    }
  } finally {
    for (const { stop } of running) stop();
  }
  return `${sections.join('\n\n')}\n\n${endpointBudgets.load}`;
}

/**
 * Sends `count` requests from `concurrency` users. A user starts a new conversation after `turns`
 * questions, or continues `conversation` if it is given. Returns the times and the CPU milliseconds
 * per request.
 */
export async function drive(
  { port, pid, format },
  { model, count, concurrency, turns, conversation },
) {
  const times = [];
  let left = count;
  const [cpu, begin] = [pid && cpuTimeOf(pid), performance.now()];
  const user = async (_, number) => {
    while (left > 0) {
      const ask = conversation ?? converse({ port, format, user: `user-${number}` });
      for (let turn = 0; turn < turns && left > 0; turn++) {
        left -= 1;
        times.push(await ask(model));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, user));
  const seconds = (performance.now() - begin) / 1000;
  return { times, perSecond: count / seconds, cpu: pid && (cpuTimeOf(pid) - cpu) / count };
}

function loadTable(running) {
  const cpuOf = ({ samples }) => median(samples.map(({ cpu }) => cpu));
  const floor = cpuOf(running.find(({ name }) => name === 'floor'));
  const rows = running.map((each) => {
    const added = each.samples.flatMap(({ times }) => times.map((time) => time.added));
    const first = each.samples.flatMap(({ times }) => times.map((time) => time.firstByte));
    const cpu = each.pid && cpuOf(each);
    return [
      each.name,
      median(each.samples.map(({ perSecond }) => perSecond)).toFixed(0),
      quantile(first, 0.5).toFixed(1),
      quantile(added, 0.5).toFixed(1),
      quantile(added, 0.95).toFixed(1),
      cpu ? cpu.toFixed(2) : '',
      cpu ? (cpu / floor).toFixed(2) : '',
    ];
  });
  const head = [
    '',
    'requests per second',
    'first byte ms, p50',
    'first text ms, less the model’s time, p50',
    'p95',
    'CPU ms per request',
    'CPU over the floor',
  ];
  return table(head, rows);
}
