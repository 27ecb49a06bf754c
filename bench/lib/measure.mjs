import { workload } from './workload.mjs';

// `inner`: number of runs per repetition. `warm`: number of discarded repetitions at the start.
// `reps`: number of measured repetitions. `concurrency`: number of runs at once.
const plan = {
  s1: { inner: 3, warm: 6, reps: 11 },
  s1t: { inner: 2, warm: 3, reps: 7 },
  s2: { inner: 10, warm: 5, reps: 11 },
  s3: { inner: 10, warm: 5, reps: 11 },
  's4-10': { inner: 5, warm: 4, reps: 9 },
  's4-25': { inner: 2, warm: 4, reps: 9 },
  's4-50': { inner: 1, warm: 4, reps: 9 },
  's4-100': { inner: 1, warm: 2, reps: 7 },
  's4-200': { inner: 1, warm: 1, reps: 3 },
  s5: { inner: 1, warm: 3, reps: 9, concurrency: 200 },
};

/**
 * Runs one scenario with every contender. Each repetition runs all contenders once, and the order
 * rotates: A B C, then B C A, and so on.
 */
export async function measure({ runtime, names, scenario, reps }) {
  const steps = plan[scenario];
  if (!steps)
    throw new Error(`Unknown scenario ${scenario}. Known: ${Object.keys(plan).join(', ')}.`);
  const inner = workload(steps.inner, 1);
  const concurrency = workload(steps.concurrency ?? 1, 1);
  const count = inner * concurrency;
  const contenders = [];
  for (const name of names)
    contenders.push({ name, samples: [], ...(await runtime.start(name, scenario)) });
  const warm = workload(steps.warm * (runtime.warmFactor ?? 1), 0);
  const rounds = reps ?? workload(steps.reps, 1);
  for (let round = -warm; round < rounds; round++) {
    for (let i = 0; i < contenders.length; i++) {
      const contender = contenders[(i + round + warm) % contenders.length];
      const { cpu, wall } = await contender.rep({ inner, concurrency });
      if (round >= 0) contender.samples.push({ cpu: cpu / count, wall: wall / count });
    }
  }
  for (const contender of contenders) await contender.stop();
  return Object.fromEntries(contenders.map(({ name, samples }) => [name, samples]));
}
