// `npm run bench -- agents` measures what a new agent costs: its construction, and its first call.
// The model's reply is local, so that no network hides the cost. The floor makes the same request.
import { turn } from './contenders/floor.mjs';
import { ReActAgent, tool } from '../packages/core/dist/index.js';
import { openai } from '../packages/core/dist/model/openai/index.js';
import { median } from './lib/report.mjs';
import { workload } from './lib/workload.mjs';

const agents = workload(200, 2);

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const answer = `${chunk({ role: 'assistant', content: 'Hel' })}${chunk({ content: 'lo' })}${chunk({}, 'stop')}data: [DONE]\n\n`;
const fetchAnswer = async () => new Response(answer);

export async function benchAgents({ reps = workload(31, 1) } = {}) {
  console.log(
    `Node ${process.version}. Microseconds of CPU for each of ${agents} agents, median of ${reps}.\n`,
  );
  const samples = { construction: [], 'first call': [], floor: [] };
  for (let rep = -workload(5, 0); rep < reps; rep++) {
    const model = openai({ baseURL: 'http://x/v1', apiKey: 'x', model: 'm', fetch: fetchAnswer });
    const made = [];
    const times = {
      construction: await cpuOf(() => made.push(newAgent({ model }))),
      'first call': await cpuOf(() => made.pop().call('Hello')),
      floor: await cpuOf(floorCall),
    };
    if (rep >= 0) for (const [name, time] of Object.entries(times)) samples[name].push(time);
  }
  for (const [name, times] of Object.entries(samples))
    console.log(`${name.padEnd(14)}${median(times).toFixed(1).padStart(8)}`);
}

function newAgent(options) {
  const lookup = tool({
    name: 'lookup',
    description: 'Looks a thing up.',
    input: { type: 'object', properties: {} },
    execute: () => 'found',
  });
  return new ReActAgent({ name: 'a', systemPrompt: 'Be brief.', tools: [lookup], ...options });
}

async function floorCall() {
  const { fetch } = globalThis;
  globalThis.fetch = fetchAnswer;
  const reply = turn('http://x', '{}', () => {});
  globalThis.fetch = fetch;
  await reply;
}

/** Returns the mean CPU time of `work`, in microseconds. */
async function cpuOf(work, count = agents) {
  const start = process.cpuUsage();
  for (let i = 0; i < count; i++) await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / count;
}
