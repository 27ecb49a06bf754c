// The scenarios. The server turns a scenario into the bytes of its replies; a contender gets a
// prompt and one tool.

export const model = 'mock-model';
export const toolName = 'lookup';

/**
 * Returns the script of a scenario:
 *
 * - `turns`: number of replies with tool calls
 * - `calls`: number of tool calls per reply
 * - `fragments` and `argSize`: number of deltas and characters of a call's arguments
 * - `answer`: number of deltas of the answer
 * - `resultSize`: number of characters of a tool's result
 */
export function spec(name) {
  if (name === 's1' || name === 's1t')
    return { turns: 0, calls: 0, answer: 2000, resultSize: 0, trickle: name === 's1t' };
  if (name === 's2' || name === 's5')
    return { turns: 9, calls: 1, fragments: 3, argSize: 24, answer: 20, resultSize: 64 };
  if (name === 's3')
    return { turns: 1, calls: 8, fragments: 50, argSize: 400, answer: 20, resultSize: 64 };
  const turns = /^s4-(\d+)$/.exec(name)?.[1];
  if (turns)
    return {
      turns: Number(turns) - 1,
      calls: 1,
      fragments: 3,
      argSize: 24,
      answer: 20,
      resultSize: 4096,
    };
  throw new Error(`Unknown scenario ${name}.`);
}

/** Returns the deltas of an answer. */
export function words(count) {
  const stock = [
    ' the',
    ' agent',
    ' reads',
    ' a',
    ' small',
    ' token',
    ',',
    ' caf\u00e9',
    ' then',
    ' writes',
    '\n',
    ' "quoted"',
    ' on',
    '.',
  ];
  return Array.from({ length: count }, (_, i) => stock[(i * 7 + (i >> 3)) % stock.length]);
}

/** Returns the arguments of a call as JSON text. */
export function args({ argSize }, turn, call) {
  return JSON.stringify({
    query: `topic ${turn}.${call} ${'abcdefghij'.repeat(60)}`.slice(0, argSize),
    n: turn * 100 + call,
  });
}

export const callId = (turn, call) => `call_${String(turn).padStart(4, '0')}_${call}`;

/**
 * Returns the input of a contender. `tool(args)` runs the tool. With `fresh`, each run builds a new
 * agent. `want` has the counts that the contender must report after the run.
 */
export function clientScenario(name) {
  const { answer, turns, calls, resultSize } = spec(name);
  const result = 'x'.repeat(resultSize);
  return {
    name,
    model,
    system: 'You are a careful assistant. Use the lookup tool when you need a fact.',
    prompt: 'Please answer the question with the tools at hand.',
    maxTurns: turns + 5,
    fresh: name === 's5',
    tool({ query, n }) {
      if (typeof query !== 'string' || typeof n !== 'number') throw new Error('bad arguments');
      return result;
    },
    want: { chars: words(answer).join('').length, deltas: answer, tools: turns * calls },
  };
}

/** Runs a contender once. Throws if the contender missed a part of the scenario. */
export async function runOnce(run, sc, baseURL) {
  const seen = await run(sc, baseURL);
  for (const key of ['chars', 'deltas', 'tools']) {
    if (seen[key] !== sc.want[key])
      throw new Error(`${sc.name}: ${key} is ${seen[key]} instead of ${sc.want[key]}`);
  }
}

/** Runs a contender `inner` times, each time with `concurrency` runs at once. */
export async function runAll(run, sc, baseURL, { inner, concurrency }) {
  for (let i = 0; i < inner; i++)
    await Promise.all(Array.from({ length: concurrency }, () => runOnce(run, sc, baseURL)));
}
