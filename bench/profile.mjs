// `npm run bench -- profile [--scenarios s1,s2] [--contenders floor,isoloop] [--write]` shows where
// the time of one run goes in Node: CPU time by part, function calls, allocated bytes, promises and
// timers. All contenders run in this process, so compare the times with those of other benchmarks
// only roughly. The counts do not depend on the machine or its load.
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { clientScenario, runOnce } from './lib/scenarios.mjs';
import { table } from './lib/report.mjs';
import { writeSections } from './lib/results-file.mjs';
import { startServer } from './lib/start-server.mjs';
import { workload } from './lib/workload.mjs';

const warmUp = workload(100, 1);
const runs = workload(100, 1);
/** Functions of our own code that the table names. */
const named = 6;
/** Runs whose function calls are counted. Coverage makes them slow. */
const countedRuns = workload(10, 1);
/** Parts of our own code, by the path of a file. The first that fits counts. */
const ownParts = [
  ['stream: events to the reader', /event\/readers/],
  ['events and hooks', /outbox|hook/],
  ['wrappers and their waits', /wrappers|waits|per-run|use-list|\/middleware\//],
  ['checks of options and values', /check|schema|required-parts|is-message/],
  [
    'reading the reply',
    /read-reply|reply-assembler|bounded-model|reply-length|timer-yield|abortable/,
  ],
  ['tool calls', /round|close-calls|open-calls|\/tool\/|json-form/],
  ['messages and memory', /conversation|session|\/message\/|\/memory\//],
  ['loop and run', /\/agent\//],
  ['model', /\/model\//],
  ['other', /./],
];

export async function benchProfile({
  scenarios = ['s1', 's2', 's3'],
  contenders = ['floor', 'isoloop'],
  write = false,
} = {}) {
  const server = await startServer();
  const session = new Session();
  session.connect();
  try {
    for (const scenario of scenarios) {
      const profiles = [];
      for (const name of contenders) {
        const { run } = await import(`./contenders/${name}.mjs`);
        const sc = clientScenario(scenario);
        const once = () => runOnce(run, sc, `${server.origin}/${scenario}/v1`);
        await times(warmUp, once);
        profiles.push({
          name,
          ...(await cpuOf(session, once)),
          bytes: await bytesOf(session, once),
          ...(await countsOf(once)),
          ...(await callsOf(session, once)),
        });
      }
      const body = textOf(profiles);
      const heading = `node ${process.versions.node}: profile of one run of ${scenario}`;
      console.log(`\n## ${heading}\n\n${body}`);
      if (write) writeSections([{ heading, body }]);
    }
  } finally {
    session.disconnect();
    server.close();
  }
}

async function times(count, work) {
  for (let i = 0; i < count; i++) await work();
}

/** Returns the microseconds of one run, by part and by function. */
async function cpuOf(session, once) {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 100 });
  await session.post('Profiler.start');
  await times(runs, once);
  const { profile } = await session.post('Profiler.stop');
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const parts = {};
  const functions = {};
  profile.samples.forEach((id, index) => {
    const frame = nodes.get(id);
    const part = partOf(frame);
    if (part === undefined) return;
    const time = profile.timeDeltas[index] / runs;
    parts[part] = (parts[part] ?? 0) + time;
    if (part !== 'own code') return;
    const place = `${frame.functionName || 'anonymous'} (${frame.url.split('/').at(-1)})`;
    functions[place] = (functions[place] ?? 0) + time;
  });
  return { parts, functions };
}

/** Returns the part that a function belongs to, or `undefined` if it does not belong to the run. */
function partOf({ functionName, url }) {
  if (functionName === '(idle)' || url === 'node:inspector') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === 'runMicrotasks') return 'promises';
  if (/writev|writeUtf8String|writeLatin1String|readStart/.test(functionName)) return 'sockets';
  if (/undici|webstreams/.test(url)) return 'fetch and streams';
  if (url.startsWith('file:')) return 'own code';
  return 'other code of Node';
}

async function bytesOf(session, once) {
  await session.post('HeapProfiler.enable');
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 1024,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await times(runs, once);
  const { profile } = await session.post('HeapProfiler.stopSampling');
  const sizeOf = ({ selfSize, children }) =>
    children.reduce((sum, child) => sum + sizeOf(child), selfSize);
  return sizeOf(profile.head) / runs;
}

async function countsOf(once) {
  const counts = { PROMISE: 0, Timeout: 0 };
  const hook = createHook({
    init(_id, type) {
      if (type in counts) counts[type] += 1;
    },
  }).enable();
  await once();
  hook.disable();
  return { promises: counts.PROMISE, timers: counts.Timeout };
}

/** Returns the function calls of one run: Node's, and those of our own code by part. */
async function callsOf(session, once) {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await times(countedRuns, once);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  let nodeCalls = 0;
  const ownCalls = Object.fromEntries(ownParts.map(([part]) => [part, 0]));
  for (const { url, functions } of result) {
    const calls = functions.reduce((sum, { ranges }) => sum + ranges[0].count, 0) / countedRuns;
    if (url.startsWith('node:')) nodeCalls += calls;
    else if (url.includes('/dist/'))
      ownCalls[ownParts.find(([, files]) => files.test(url))[0]] += calls;
  }
  return { nodeCalls, ownCalls };
}

function textOf(profiles) {
  const parts = [...new Set(profiles.flatMap((each) => Object.keys(each.parts)))];
  const row = (title, valueOf) => [title, ...profiles.map((each) => valueOf(each).toFixed(0))];
  const rows = [
    ...parts.map((part) => row(`${part}, µs`, (each) => each.parts[part] ?? 0)),
    row('allocated, kB', ({ bytes }) => bytes / 1024),
    row('promises', ({ promises }) => promises),
    row('timers', ({ timers }) => timers),
    row("function calls, Node's", ({ nodeCalls }) => nodeCalls),
    ...ownParts.map(([part]) => row(`function calls, ${part}`, ({ ownCalls }) => ownCalls[part])),
  ];
  const head = ['', ...profiles.map(({ name }) => `\`${name}\``)];
  const lines = profiles.map(({ name, functions }) => {
    const top = Object.entries(functions)
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, named)
      .map(([place, time]) => `\`${place}\` ${time.toFixed(0)}`);
    return `- own code of \`${name}\`, in µs: ${top.join(', ')}`;
  });
  return `${table(head, rows)}\n\n${lines.join('\n')}`;
}
