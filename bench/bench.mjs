// Runs the same work with every contender (a library or hand-written code). Prints the CPU time and
// its ratio to the CPU time of `floor`, the least code that does the work:
// `npm run bench [-- --runtimes node,workerd,chromium] [--scenarios s1,s2]`, and the options
// `[--contenders floor,isoloop] [--reps N] [--write]`
//
// Other benchmarks:
// - `npm run bench -- agents`: a new agent and its first call (agents.mjs)
// - `npm run bench -- all`: all benchmarks of RESULTS.md (all.mjs)
// - `npm run bench -- tokens`: the token estimators (tokens.mjs)
// - `npm run bench -- context`: the time to fit a request into the window (context.mjs)
// - `npm run bench -- log`: the store operations of an append to a session's log (log.mjs)
// - `npm run bench -- worker`: the transport of events from a worker to the page (worker.mjs)
// - `npm run bench -- edge [--parts load,answer,memory,idle,cold] [--reps N] [--write]`: the chat
//   endpoint in workerd (edge.mjs)
// - `npm run bench -- growth [--reps N] [--write]`: the cost of step n, of turn n and of opening a
//   session (growth.mjs)
// - `npm run bench -- profile`: where the time of a run goes in Node (profile.mjs)
// - `npm run bench -- pages [--write]`: a chat page with AI SDK and with ours (pages.mjs)
// - `npm run bench -- objects [--write]`: an object that fills in on a page (objects.mjs)
// - `npm run bench -- guards`: the CPU time of the guards for 1 MB and 10 MB of text (guards.mjs)
import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { parseArgs } from 'node:util';
import { benchAgents } from './agents.mjs';
import { benchAll } from './all.mjs';
import { benchContext } from './context.mjs';
import { benchEdge } from './edge.mjs';
import { benchGrowth } from './growth.mjs';
import { benchGuards } from './guards.mjs';
import { benchLog } from './log.mjs';
import { measure } from './lib/measure.mjs';
import { ratioSections, resultSections, scenarioTable } from './lib/report.mjs';
import { writeSections } from './lib/results-file.mjs';
import { startServer } from './lib/start-server.mjs';
import { benchObjects } from './objects.mjs';
import { benchPages } from './pages.mjs';
import { benchProfile } from './profile.mjs';
import { benchTokens } from './tokens.mjs';
import { benchWorker } from './worker.mjs';

const others = {
  agents: benchAgents,
  all: benchAll,
  context: benchContext,
  edge: benchEdge,
  growth: benchGrowth,
  guards: benchGuards,
  log: benchLog,
  objects: benchObjects,
  pages: benchPages,
  profile: benchProfile,
  tokens: benchTokens,
  worker: benchWorker,
};
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runtimes: { type: 'string', default: 'node' },
    scenarios: { type: 'string' },
    contenders: { type: 'string' },
    reps: { type: 'string' },
    parts: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const [other] = positionals;
const reps = options.reps && Number(options.reps);
if (other !== undefined) {
  if (!(other in others))
    throw new Error(`Unknown benchmark "${other}". Known: ${Object.keys(others).join(', ')}.`);
  const { scenarios, contenders, parts, write } = options;
  await others[other]({
    reps,
    scenarios: scenarios?.split(','),
    contenders: contenders?.split(','),
    parts,
    write,
  });
  process.exit();
}
const folder = import.meta.dirname;
const {
  scenarios = 's1,s2,s3,s4-100,s5',
  contenders = 'floor,floor-gen,model,kernel,isoloop,isoloop-batches,openai-raw,ai-sdk',
} = options;
const names = contenders.split(',');
if (!names.includes('floor'))
  throw new Error('--contenders must include "floor": all ratios are relative to it.');

const results = {
  node: process.version,
  cpu: os.cpus()[0].model,
  cpus: os.cpus().length,
  date: new Date().toISOString().slice(0, 10),
  runtimes: {},
};
const bundles = `${folder}/results/bundles`;
mkdirSync(bundles, { recursive: true });
const server = await startServer(bundles);
try {
  for (const name of options.runtimes.split(',')) {
    const { openRuntime } = await import(`./runtimes/${name}.mjs`);
    const runtime = await openRuntime({ names, origin: server.origin, bundles });
    results.runtimes[name] = { version: runtime.version, scenarios: {} };
    try {
      for (const scenario of scenarios.split(',')) {
        const measured = await measure({ runtime, names, scenario, reps });
        results.runtimes[name].scenarios[scenario] = measured;
        console.log(`\n${name}  ${scenario}\n${scenarioTable(scenario, measured, name)}`);
      }
    } finally {
      await runtime.close();
    }
  }
} finally {
  server.close();
}
writeFileSync(`${folder}/results/last.json`, JSON.stringify(results, null, 1));
if (options.write)
  writeSections([...ratioSections(results.runtimes), ...resultSections(results.runtimes)]);
