import {
  textOf,
  toolResultsOf,
  type ChatModel,
  type JsonObject,
  type ModelDelta,
  type ModelRequest,
} from '@isoloop/core';

interface Reply {
  readonly thinking?: string;
  readonly text?: string;
  readonly call?: { readonly name: string; readonly input: JsonObject };
  /**
   * Number of words that come at once. The other words come after `release()` was called for the
   * session.
   */
  readonly holdAfter?: number;
  readonly fails?: boolean;
}

const released = new Set<string>();

/** Lets the paused answers of a session continue. */
export function release(sessionId: string): void {
  released.add(sessionId);
}

/**
 * Creates a model that knows a few questions. It always gives the same answer to the same question.
 */
export function ruledModel(sessionId: string): ChatModel {
  return {
    provider: 'ruled',
    modelId: 'ruled',
    features: { tools: true, media: [] },
    async *stream(request, { signal }) {
      const { thinking, text, call, holdAfter = Infinity, fails } = reply(request);
      for (const delta of wordsOf(thinking)) yield [{ type: 'thinking', id: 'thinking', delta }];
      for (const [index, delta] of wordsOf(text).entries()) {
        // Polls, because a Worker must not await a promise of another request.
        while (index >= holdAfter && !released.has(sessionId)) await pause(50, signal);
        yield [{ type: 'text', id: 'text', delta }];
      }
      if (fails) throw new TypeError('sk-secret-0123456789 is what the server would not say');
      yield [
        ...(call ? callOf(call.name, call.input) : []),
        { type: 'finish', reason: call ? 'tool_calls' : 'stop' },
      ];
    },
  };
}

function wordsOf(text = ''): readonly string[] {
  return text.match(/\S+\s*/g) ?? [];
}

function callOf(name: string, input: JsonObject): readonly ModelDelta[] {
  const [first = '', rest = ''] = JSON.stringify(input).match(/^.{3}|.+/g) ?? ['{}'];
  return [
    { type: 'tool-input', index: 0, id: `call_${crypto.randomUUID()}`, name, delta: first },
    { type: 'tool-input', index: 0, delta: rest },
  ];
}

function reply({ messages }: ModelRequest): Reply {
  const users = messages.filter(({ role }) => role === 'user');
  const question = textOf(users.at(-1)!);
  const results = messages
    .slice(messages.findLastIndex(({ role }) => role === 'user'))
    .flatMap(toolResultsOf);
  const result = results.at(-1);
  const answers = messages.filter(({ role }) => role === 'assistant').length;
  if (result) return { text: `It is ${typeof result.output === 'string' ? result.output : ''}.` };
  if (question.includes('weather'))
    return {
      thinking: 'I have to look.',
      text: 'I look. ',
      call: { name: 'weather', input: { place: 'Seoul' } },
    };
  if (question.includes('remove')) return { call: { name: 'remove', input: { place: 'Seoul' } } };
  if (question.includes('where')) return { call: { name: 'location', input: {} } };
  if (question.includes('fail')) return { text: 'Half an ', fails: true };
  // The pause is within a text of the object.
  if (question.includes('note'))
    return { text: '{ "note": "one two three four", "done": true }', holdAfter: 4 };
  if (question.includes('count'))
    return {
      text: Array.from({ length: 40 }, (_, index) => `${index + 1} `).join(''),
      holdAfter: 3,
    };
  return { text: `“${question}”, message ${users.length}, after ${answers}.` };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
