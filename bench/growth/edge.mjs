import { bundleApps, contenders, startApp } from '../edge/contenders.mjs';
import { converse } from '../edge/client.mjs';
import { drive } from '../edge/load.mjs';
import { withWorld } from '../edge.mjs';

const points = 20;
const names = {
  'workerd, KV': 'isoloop, KV',
  'workerd, Durable Object': 'isoloop, Durable Object',
};

/** Returns the CPU milliseconds of workerd per turn of one session, by the number of turns. */
export function measureEdge(count) {
  return withWorld(async ({ bundles, world }) => {
    await bundleApps(bundles, ['isoloop']);
    // The lines run at the same time, because only CPU time counts.
    const lines = Object.entries(names).map(async ([line, name]) => [
      line,
      await measureLine(contenders[name], { bundles, world, count }),
    ]);
    return Object.fromEntries(await Promise.all(lines));
  });
}

async function measureLine(contender, { bundles, world, count }) {
  const { port, pid, stop } = await startApp(bundles, contender, world);
  try {
    const target = { port, pid, format: contender.format };
    const conversation = converse({ ...target, posts: 2 });
    const size = Math.ceil(count / points);
    const plan = { model: '20-instant', count: size, concurrency: 1, turns: Infinity };
    const line = [];
    for (let point = 1; point <= points; point++) {
      const { cpu } = await drive(target, { ...plan, conversation });
      line.push({ n: point * size, ms: cpu });
    }
    return line;
  } finally {
    stop();
  }
}
