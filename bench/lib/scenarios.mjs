// What every scenario is, for both sides: the mock server renders it as SSE bytes,
// the client gets a small object with the prompt and the one tool.
// Names: s1 (2,000 text deltas), s2 (9 tool turns + answer), s3 (8 parallel calls),
// s4-N (N iterations, 4 KB tool results).

export const MODEL = 'mock-model';
export const TOOL = { name: 'lookup', description: 'Looks a thing up and returns what is known about it.' };
export const SYSTEM = 'You are a careful assistant. Use the lookup tool when you need a fact.';

export function spec(name) {
  if (name === 's1' || name === 's1t') return { name, turns: 0, calls: 0, answer: 2000, resultSize: 0, trickle: name === 's1t' };
  if (name === 's2') return { name, turns: 9, calls: 1, fragments: 3, argSize: 24, answer: 20, resultSize: 64 };
  if (name === 's3') return { name, turns: 1, calls: 8, fragments: 50, argSize: 400, answer: 20, resultSize: 64 };
  const m = /^s4-(\d+)$/.exec(name);
  if (m) return { name, turns: Number(m[1]) - 1, calls: 1, fragments: 3, argSize: 24, answer: 20, resultSize: 4096 };
  throw new Error(`unknown scenario ${name}`);
}

export function words(n) {
  const w = [' the', ' agent', ' reads', ' a', ' small', ' token', ',', ' caf\u00e9', ' then', ' writes', '\n', ' "quoted"', ' on', '.'];
  return Array.from({ length: n }, (_, i) => w[(i * 7 + (i >> 3)) % w.length]);
}

export function args(sp, turn, i) {
  const q = `topic ${turn}.${i} `;
  return JSON.stringify({ query: (q + 'abcdefghij'.repeat(60)).slice(0, sp.argSize), n: turn * 100 + i });
}

export const callId = (turn, i) => `call_${String(turn).padStart(4, '0')}_${i}`;

/** What the client must have seen at the end of one run. */
export function expected(name) {
  const sp = spec(name);
  return { chars: words(sp.answer).join('').length, deltas: sp.answer, tools: sp.turns * sp.calls };
}

/** The object handed to a contender's run(). `tool(args)` is the tool's whole body. */
export function clientScenario(name) {
  const sp = spec(name);
  const result = 'x'.repeat(sp.resultSize);
  const sc = {
    name,
    model: MODEL,
    system: SYSTEM,
    prompt: 'Please answer the question with the tools at hand.',
    maxTurns: sp.turns + 5,
    script: sp, // only for the `drain` contender, which parses nothing
    toolCalls: 0,
    tool(a) {
      if (typeof a?.query !== 'string' || typeof a?.n !== 'number') throw new Error('bad tool args ' + JSON.stringify(a));
      sc.toolCalls++;
      return result;
    },
  };
  return sc;
}

/** One run of a contender; throws when it did not see what the scenario holds. */
export async function runOnce(run, sc, baseURL) {
  const want = expected(sc.name);
  const seen = await run(sc, baseURL);
  if (seen.chars !== want.chars || seen.deltas !== want.deltas || seen.tools !== want.tools) {
    throw new Error(`wrong result: ${JSON.stringify(seen)}, expected ${JSON.stringify(want)}`);
  }
}
