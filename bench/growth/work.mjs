// One long run and one long conversation, in any engine. The model is local, so that only the agent
// and its memory take time.
import { ReActAgent, tool } from '@isoloop/core';

/** Number of points per line of the plot. */
const points = 20;
const features = { tools: true, media: [] };
const usage = { inputTokens: 10, outputTokens: 10 };
const end = (reason) => ({ type: 'finish', reason, usage });
const call = (id) => ({ type: 'tool-input', index: 0, id, name: 'look', delta: '{"at":"here"}' });
const answer = { type: 'text', id: 't', delta: 'An answer of a few words.' };

/** Returns the milliseconds per step of one run. `clock` returns milliseconds. */
export async function measureSteps({ memory, count, clock }) {
  const line = lineOf(count, clock);
  let step = 0;
  const stream = async function* stream() {
    if (step > 0) line.add();
    step += 1;
    yield step > count ? [answer, end('stop')] : [call(`call-${step}`), end('tool-calls')];
  };
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object' },
    execute: () => 'What there is to see.',
  });
  const model = { provider: 'bench', modelId: 'bench', features, stream };
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look],
    memory,
    limits: { iterations: Infinity },
  });
  line.begin();
  for await (const _batch of agent.stream('Look around.').batches()) continue;
  return line.points;
}

/**
 * Returns the milliseconds per turn of one session. At each point, also measures how long `open`
 * takes, which reads the session with a new memory.
 */
export async function measureTurns({ memory, count, clock, open }) {
  const line = lineOf(count, clock);
  const openings = [];
  const stream = async function* stream() {
    yield [answer, end('stop')];
  };
  const model = { provider: 'bench', modelId: 'bench', features, stream };
  const agent = new ReActAgent({ name: 'a', model, memory });
  line.begin();
  for (let turn = 1; turn <= count; turn++) {
    for await (const _batch of agent.stream(`Question ${turn}`).batches()) continue;
    if (!line.add() || !open) continue;
    const times = [];
    for (let time = 0; time < 3; time++) {
      const before = clock();
      await open();
      times.push(clock() - before);
    }
    openings.push({ n: 2 * turn, ms: times.toSorted((one, other) => one - other)[1] });
    line.begin();
  }
  return { turns: line.points, openings };
}

/** Collects the points of one line. Each point is the mean of the items since the last point. */
function lineOf(count, clock) {
  const size = Math.ceil(count / points);
  const line = [];
  let items = 0;
  let since = 0;
  return {
    points: line,
    begin: () => (since = clock()),
    /** Counts one item. Returns whether it completes a point. */
    add() {
      items += 1;
      if (items % size) return false;
      line.push({ n: items, ms: (clock() - since) / size });
      since = clock();
      return true;
    },
  };
}
