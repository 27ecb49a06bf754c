import type { EventBatch } from '../hook/agent-event.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { parseJson } from '../message/parse-json.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Schema, Validation } from '../schema/schema.ts';
import { askAtLimit } from './limit.ts';
import type { Move } from './move.ts';
import type { OutputRun } from './output-mode.ts';
import type { Reply } from './read-reply.ts';
import type { Run } from './run.ts';
import { OutputTries, type Found, type OutputSpec } from './structured-answer.ts';

/** The value as the JSON text of the answer. The schema is told with the system prompt of each request and never stored. */
export function promptOutput(run: Run, { schema, attempts, responseSchema }: OutputSpec): OutputRun {
  const tries = new OutputTries(run, attempts);
  const told = instruction(schema.jsonSchema);
  let system: { readonly before: Msg | undefined; readonly message: Msg } | undefined;

  const tell = (request: ModelRequest): ModelRequest => {
    const [first, ...rest] = request.messages;
    const before = first?.role === 'system' ? first : undefined;
    // The same object each time: its wire form is cached on it.
    if (!system || system.before !== before) system = { before, message: withInstruction(run, before, told) };
    const isOffered = (responseSchema ?? !request.tools.length) && schema.jsonSchema['type'] === 'object';
    const messages = [system.message, ...(before ? rest : request.messages)];
    return { ...request, messages, ...(isOffered && { responseSchema: schema.jsonSchema }) };
  };

  return {
    request: tell,
    beside: run.message('system', told),
    async *judge(reply): AsyncGenerator<EventBatch, Move> {
      const checked = await readText(schema, textOf(reply));
      if (!checked.ok) {
        await tries.fail(textOf(reply), checked.issues);
        const issues = checked.issues.map((issue) => `- ${issue}`).join('\n');
        return yield* tries.again(reply, `Your answer does not fit the schema:\n${issues}\nAnswer again, with the corrected JSON alone.`);
      }
      const message = yield* tries.answer(checked.value, reply, 'reasoning-chunk');
      return { to: 'finish', reason: 'stop', message, output: checked.value.value };
    },
    async *settled(): AsyncGenerator<EventBatch, undefined> {},
    async *onLimit(): AsyncGenerator<EventBatch, Reply> {
      const question = 'Your steps are used up. Give your answer now, as JSON alone.';
      const reply = yield* askAtLimit(run, question, tell);
      if (reply.type === 'cut') return reply;
      const content = reply.message.content.filter(({ type }) => type !== 'tool_use');
      const checked = await readText(schema, textOf(content));
      if (!checked.ok) throw await tries.failure(textOf(content), checked.issues);
      const message = yield* tries.answer(checked.value, { ...reply.message, content }, 'summary-chunk');
      return { type: 'whole', message: yield* run.revise('post-summary', message), output: checked.value.value };
    },
  };
}

function instruction(jsonSchema: JsonObject): string {
  return `Give your final answer as JSON alone, with no other text. It has to fit this JSON Schema:\n${JSON.stringify(jsonSchema)}`;
}

/** Models that take but one system message get but one. */
function withInstruction(run: Run, system: Msg | undefined, text: string): Msg {
  return system ? { ...system, content: [...system.content, { type: 'text', text }] } : run.message('system', text);
}

async function readText(schema: Schema<unknown>, text: string): Promise<Validation<Found>> {
  let given = findJson(text);
  // A text asked for is a text, quoted or not.
  if (given === undefined && schema.jsonSchema['type'] === 'string' && text.trim()) given = text.trim();
  if (given === undefined) return { ok: false, issues: ['it is not valid JSON'] };
  const result = await schema.validate(given);
  return result.ok ? { ok: true, value: { value: result.value, given } } : result;
}

/** The whole text, what a code fence holds, or what stands between the first and the last bracket: the first that is JSON. */
function findJson(text: string): JsonValue | undefined {
  const fenced = [...text.matchAll(/```\w*\s*([^]*?)```/g)].map(([, inside]) => inside!);
  const bracketed = /[[{][^]*[\]}]/.exec(text)?.[0];
  for (const candidate of [text, ...fenced, bracketed]) {
    const json = candidate === undefined ? undefined : parseJson(candidate);
    if (json !== undefined) return json;
  }
  return undefined;
}
