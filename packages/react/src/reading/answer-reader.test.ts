import { createUiMessageEncoder, type UiChunk, type UIMessage } from '@isoloop/core/stream';
import { ReActAgent, tool, type ChatModel } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { openaiResponses } from '@isoloop/core/responses';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import {
  readUIMessageStream,
  uiMessageChunkSchema,
  type UIMessage as AiMessage,
  type UIMessageChunk as AiChunk,
} from 'ai';
import { expect, expectTypeOf, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { chunkTypes, randomAnswer } from '../../../web-worker/test-support/random-answer.ts';
import { nextMacrotask } from '../../../web-worker/src/wire/macrotask.ts';
import { AnswerReader } from './answer-reader.ts';

const recorded = import.meta.glob<string>('../../../../test/fixtures/*-streams/*.{txt,sse}', {
  query: '?raw',
  import: 'default',
  eager: true,
});

test('our messages are those of AI SDK, and the chunks of agents can be read', () => {
  expectTypeOf<UIMessage>().toExtend<AiMessage>();
  expectTypeOf<AiMessage>().toExtend<UIMessage>();
  expectTypeOf<UiChunk>().toExtend<AiChunk>();
});

/** Reads the chunks with AI SDK. Returns the message after each chunk, and the error. */
async function readWithAiSdk(chunks: readonly AiChunk[]) {
  const { validate } = await uiMessageChunkSchema();
  const after: (AiMessage | undefined)[] = [];
  let last: AiMessage | undefined;
  let index = 0;
  const stream = new ReadableStream<AiChunk>(
    {
      async pull(controller) {
        // The reader has shown the last chunk when all its tasks have run.
        await nextMacrotask();
        if (index > 0) after.push(last);
        const chunk = chunks[index];
        index += 1;
        if (!chunk) return controller.close();
        expect(await validate!(chunk)).toMatchObject({ success: true });
        controller.enqueue(structuredClone(chunk));
      },
    },
    { highWaterMark: 0 },
  );
  let error: unknown;
  const message: AiMessage = { id: '', role: 'assistant', parts: [] };
  try {
    for await (const next of readUIMessageStream({ message, stream, terminateOnError: true }))
      last = next;
  } catch (thrown) {
    error = thrown;
  }
  return { after, error };
}

/** Leaves out a step that has no part yet, because AI SDK shows it with its first part. */
function shown(given: UIMessage | undefined): unknown {
  if (!given) return undefined;
  const { parts, ...message } = given;
  const end = parts.findLastIndex(({ type }) => type !== 'step-start') + 1;
  return JSON.parse(JSON.stringify({ ...message, parts: parts.slice(0, end) }));
}

/** Reads the chunks with both readers. Returns their messages after each chunk. */
async function readWithBoth(chunks: readonly AiChunk[]) {
  const { after, error } = await readWithAiSdk(chunks);
  const reader = new AnswerReader({ id: '', role: 'assistant', parts: [] });
  const messages: (UIMessage | undefined)[] = [];
  let failure: unknown;
  for (const [index, chunk] of chunks.entries()) {
    const before = reader.message;
    const copy = structuredClone(before);
    try {
      reader.take(chunk as UiChunk);
    } catch (thrown) {
      failure = thrown;
      break;
    }
    messages.push(after[index] && reader.message);
    expect(before).toEqual(copy);
    for (const [place, part] of before.parts.entries()) {
      const same = reader.message.parts[place];
      if (JSON.stringify(part) === JSON.stringify(same)) expect(same).toBe(part);
    }
  }
  return {
    ours: { failed: failure !== undefined, messages: messages.map(shown) },
    theirs: { failed: error !== undefined, messages: after.slice(0, messages.length).map(shown) },
  };
}

const find = tool({
  name: 'find',
  description: 'Finds',
  input: { type: 'object' },
  execute: (_input, { emit }) => {
    emit('looking');
    emit({ type: 'data-map', id: 'm', data: { zoom: 3 } });
    return { found: [1, 'two'] };
  },
});

/** Returns the chunks of an answer: those with dynamic tools, and those with typed ones. */
async function answersOf(model: ChatModel): Promise<readonly (readonly UiChunk[])[]> {
  const agent = new ReActAgent({ name: 'a', model, tools: [find] });
  const answers = [false, true].map((typed) => ({
    encoder: createUiMessageEncoder({ events: true, typed }),
    chunks: [] as UiChunk[],
  }));
  for await (const batch of agent.stream('go', { throwOnError: false }).batches())
    for (const { encoder, chunks } of answers) chunks.push(...encoder.encode(batch));
  return answers.map(({ chunks }) => chunks);
}

/** Gives the recorded stream as the answer to each request. */
function recordedModel(path: string, text: string): ChatModel {
  const body = path.endsWith('.sse')
    ? text
    : `${text.replace(/^(?=.)/gm, 'data: ').replaceAll('\n', '\n\n')}\n\ndata: [DONE]\n\n`;
  const fetch = async (): Promise<Response> =>
    new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const options = { baseURL: 'https://host/v1', apiKey: 'k', model: 'm', fetch };
  return path.includes('responses-streams') ? openaiResponses(options) : openai(options);
}

test('there are recorded streams', () => {
  expect(Object.keys(recorded).length).toBeGreaterThan(25);
});

test.for(Object.entries(recorded).map(([path, text]) => [path.replace(/^.*\//, ''), path, text]))(
  'after every chunk of the recorded stream %s, the reader has the message of AI SDK',
  async ([, path, text]) => {
    for (const given of await answersOf(recordedModel(path!, text!))) {
      expect(given.length).toBeGreaterThan(2);
      const { ours, theirs } = await readWithBoth(given as AiChunk[]);
      expect(ours).toEqual(theirs);
    }
  },
);

const scripts: readonly (readonly ScriptedReply[])[] = [
  [{ thinking: 'well', text: 'I look.', toolCalls: [{ name: 'find', input: { a: 1 } }] }, 'Done.'],
  [{ toolCalls: [{ name: 'find', input: '{"a"' }, { name: 'nope' }] }, { error: new Error('No.') }],
];

test.for(scripts)(
  'after every chunk of an answer with tools, the reader has the message of AI SDK (script %#)',
  async (replies) => {
    for (const given of await answersOf(new ScriptedModel(replies))) {
      const { ours, theirs } = await readWithBoth(given as AiChunk[]);
      expect(ours).toEqual(theirs);
    }
  },
);

const count = extent({ quick: 60, full: 1000 });

test(`after every chunk of ${count} random answers, the reader has the message of AI SDK`, async () => {
  for (let seed = 1; seed <= count; seed += 1) {
    const { ours, theirs } = await readWithBoth(randomAnswer(seed));
    expect([seed, ours]).toEqual([seed, theirs]);
  }
});

test('the random answers have chunks of all types', () => {
  const answers = Array.from({ length: count }, (_, index) => randomAnswer(index + 1)).flat();
  const types = new Set(answers.map(({ type }) => type.replace('data-y', 'data-x')));
  expect([...types].toSorted()).toEqual(chunkTypes.toSorted());
});

test.for<AiChunk>([
  { type: 'text-delta', id: 'x', delta: 'a' },
  { type: 'reasoning-end', id: 'x' },
  { type: 'tool-input-delta', toolCallId: 'x', inputTextDelta: 'a' },
  { type: 'tool-output-available', toolCallId: 'x', output: 1 },
  { type: 'tool-output-denied', toolCallId: 'x' },
  { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'x' },
  { type: 'tool-approval-response', approvalId: 'a', approved: true },
])('$type about something that has not begun is an error, as in AI SDK', async (chunk) => {
  const { ours, theirs } = await readWithBoth([{ type: 'start', messageId: 'm' }, chunk]);
  expect(ours).toEqual(theirs);
  expect(ours.failed).toBe(true);
});
