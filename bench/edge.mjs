// npm run bench -- edge [--parts load,answer,memory,idle,cold] [--reps N] [--write]
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { measureAnswer } from './edge/answer.mjs';
import { measureCold } from './edge/cold.mjs';
import { bundleApps, contenders } from './edge/contenders.mjs';
import { measureIdle } from './edge/idle.mjs';
import { measureLoad } from './edge/load.mjs';
import { measureMemory } from './edge/memory.mjs';
import { writeSections } from './lib/results-file.mjs';
import { workerdVersion } from './lib/workerd.mjs';

const all = {
  load: { title: 'endpoint, 50 sessions at once', measure: measureLoad },
  answer: { title: 'endpoint, one answer of 2,000 deltas', measure: measureAnswer },
  memory: { title: 'endpoint, 2,000 turns', measure: measureMemory },
  idle: { title: 'endpoint, idle sessions', measure: measureIdle },
  cold: { title: 'endpoint, cold start', measure: measureCold },
};

/** Measures the endpoint in workerd over loopback. Prints the tables of RESULTS.md. */
export async function benchEdge({ parts = Object.keys(all).join(','), reps, write = false }) {
  const asked = parts.split(',');
  const unknown = asked.find((part) => !(part in all));
  if (unknown !== undefined)
    throw new Error(`Unknown part "${unknown}". Known: ${Object.keys(all).join(', ')}.`);
  await withWorld(async ({ bundles, world }) => {
    await bundleApps(bundles, [
      ...Object.values(contenders).flatMap(({ app }) => app ?? []),
      'empty',
      'loop',
      'object',
    ]);
    for (const part of asked) {
      const { title, measure } = all[part];
      const text = await measure({ bundles, world, reps });
      console.log(`\n## ${title}\n\n${text}`);
      if (write) writeSections([{ heading: `workerd ${workerdVersion}: ${title}`, body: text }]);
    }
  });
}

/**
 * Runs a job beside the process of the model and the KV store. `world`: the port of that process.
 */
export async function withWorld(job) {
  const bundles = `${import.meta.dirname}/results/bundles`;
  mkdirSync(bundles, { recursive: true });
  const child = spawn(process.execPath, [`${import.meta.dirname}/edge/world.mjs`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const world = await new Promise((resolve) =>
      child.stdout.once('data', (data) => resolve(Number(/\d+/.exec(data)[0]))),
    );
    return await job({ bundles, world });
  } finally {
    child.kill();
  }
}
