// `npm run bench -- context` measures the time to fit the next request of a conversation into the
// window, for several lengths of the conversation. Each request adds one tool call and its result
// to the previous request. For comparison, the last column counts the tokens of all messages in
// every request.
import {
  answersOnly,
  clearToolResults,
  fitContext,
  successfulTurns,
} from '../packages/core/dist/context/index.js';
import { assistantMessage, toolMessage, userMessage } from '../packages/core/dist/index.js';
import { arc, countMessage } from '../packages/core/dist/tokens/index.js';
import { workload } from './lib/workload.mjs';

const lengths = workload([100, 1_000, 5_000, 20_000], [100]);
const steps = workload(200, 2);
const window = 32_000;

const contenders = {
  fitContext: () => inTurn(fitContext({ window })),
  'clear, fit': () => inTurn(clearToolResults(), fitContext({ window })),
  'successful, answers, fit': () =>
    inTurn(successfulTurns(), answersOnly(), fitContext({ window })),
  'counting anew':
    () =>
    ({ messages }) => {
      const profile = { ...arc };
      return messages.reduce((sum, message) => sum + countMessage(message, profile), 0);
    },
};

export async function benchContext() {
  const names = Object.keys(contenders);
  console.log(
    `Node ${process.version}. Microseconds to fit one request, median of ${steps} requests. In brackets: the first request, which counts all messages.\n`,
  );
  console.log(`${'messages'.padStart(9)}${names.map((name) => name.padStart(28)).join('')}`);
  for (const length of lengths) {
    const cells = [];
    for (const name of names) cells.push(await timesOf(contenders[name](), length));
    console.log(
      `${String(length).padStart(9)}${cells.map(({ first, median }) => `${median.toFixed(1)} (${first.toFixed(0)})`.padStart(28)).join('')}`,
    );
  }
}

async function timesOf(policy, length) {
  const log = Array.from({ length }, (_, n) =>
    (n % 2 ? assistantMessage : userMessage)(
      'A sentence of ten words, as they are in chats. '.repeat(4),
      { id: `m${n}` },
    ),
  );
  log.push(userMessage('Go on.', { id: 'question' }));
  const times = [];
  for (let n = 0; n <= steps; n++) {
    const request = { messages: [...log], tools: [], questionId: 'question' };
    const start = performance.now();
    await policy(request);
    times.push((performance.now() - start) * 1000);
    log.push(
      assistantMessage([
        { type: 'tool_use', id: `c${n}`, name: 'search', input: { query: `what is ${n}` } },
      ]),
    );
    log.push(
      toolMessage({
        type: 'tool_result',
        toolUseId: `c${n}`,
        name: 'search',
        output: 'found '.repeat(100),
        state: 'success',
      }),
    );
  }
  const [first, ...rest] = times;
  return { first, median: rest.sort((a, b) => a - b)[steps / 2] };
}

function inTurn(...policies) {
  return async (request) => {
    let current = request;
    for (const policy of policies) {
      const { messages, head = current.head } = await policy.fit(current);
      current = { ...current, messages, head };
    }
    return current;
  };
}
