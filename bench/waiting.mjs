// `node --expose-gc bench/waiting.mjs` measures what a waiting run keeps in memory: 200 agents wait
// for the sixth reply of a scripted model. It prints the bytes per run, and the functions that made
// most of them. A function of Node counts for the function of ours that called it.
import { Session } from 'node:inspector/promises';
import { ReActAgent, tool } from '@isoloop/core';
import { Agent } from '@isoloop/core/agent';
import { workload } from './lib/workload.mjs';

const agents = workload(200, 2);
const turns = 10;
const waitsAt = 5;
/** Functions in each list. */
const listed = 25;

const lookup = tool({
  name: 'lookup',
  description: 'Looks something up.',
  input: { type: 'object', properties: { query: { type: 'string' } } },
  execute: () => 'A short result.',
});

let openReplies = [];

const model = {
  provider: 'scripted',
  modelId: 'scripted',
  features: { tools: true },
  async *stream({ messages }) {
    const turn = messages.filter(({ role }) => role === 'tool').length;
    if (turn === waitsAt) await new Promise((resolve) => openReplies.push(resolve));
    const call = { type: 'tool-input', index: 0, id: `call-${turn}`, name: 'lookup' };
    const isLast = turn === turns - 1;
    yield [
      isLast ? { type: 'text', id: 'text', delta: 'Done.' } : { ...call, delta: '{"query":"x"}' },
    ];
    yield [{ type: 'finish', reason: 'stop' }];
  },
};

async function runOnce(AgentClass) {
  const limits = { iterations: turns };
  const agent = new AgentClass({
    name: 'a',
    systemPrompt: 'Be brief.',
    model,
    tools: [lookup],
    limits,
  });
  for await (const event of agent.stream('Hello')) if (event.type === 'error') throw event.error;
}

/** Runs all agents. Calls `inspect` while they wait. */
async function runAll(AgentClass, inspect = () => {}) {
  openReplies = [];
  const runs = Promise.all(Array.from({ length: agents }, () => runOnce(AgentClass)));
  while (openReplies.length < agents) await new Promise((resolve) => setTimeout(resolve, 5));
  await inspect();
  for (const resolve of openReplies) resolve();
  await runs;
}

function usedBytes() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** Adds the bytes of a node of the profile, and of all below it, to those of our functions. */
function addSites(sites, { callFrame, selfSize, children }, caller = 'other code') {
  const { url, functionName, lineNumber } = callFrame;
  const place = `${functionName || 'anonymous'} (${url.split('/').at(-1)}:${lineNumber + 1})`;
  const site = url.includes('/dist/') ? place : caller;
  sites.set(site, (sites.get(site) ?? 0) + selfSize);
  for (const child of children) addSites(sites, child, site);
}

const session = new Session();
session.connect();
await session.post('HeapProfiler.enable');
for (const AgentClass of [Agent, ReActAgent]) {
  for (let i = 0; i < 3; i++) await runAll(AgentClass);
  const before = usedBytes();
  let during = 0;
  await runAll(AgentClass, () => (during = usedBytes()));
  console.log(
    `\n${AgentClass.name}: ${Math.round((during - before) / agents)} bytes per waiting run\n`,
  );
  await session.post('HeapProfiler.startSampling', { samplingInterval: 64 });
  await runAll(AgentClass, async () => {
    globalThis.gc();
    const { profile } = await session.post('HeapProfiler.getSamplingProfile');
    const sites = new Map();
    addSites(sites, profile.head);
    const top = [...sites].toSorted(([, one], [, other]) => other - one).slice(0, listed);
    for (const [site, bytes] of top)
      console.log(String(Math.round(bytes / agents)).padStart(6), site);
  });
  await session.post('HeapProfiler.stopSampling');
}
session.disconnect();
