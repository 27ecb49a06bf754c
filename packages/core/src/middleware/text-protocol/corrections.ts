import { AgentError } from '../../error/agent-error.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { ControlOf } from '../../event/hook.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { assistantMessage, userMessage } from '../../message/create-message.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonObject } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import { asOwn } from '../../message/own-message.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { Reflect, ReplyContext } from './parsed-reply.ts';

/**
 * Value of `metadata.correction`. `reply` marks an invalid reply. `message` marks the correction
 * that the model got.
 */
export type CorrectionPart = 'reply' | 'message';

interface Invalid {
  readonly text: string;
  readonly message: string;
  /**
   * Text of the reply without its tool call. Present if the reply calls a tool although the request
   * offered none.
   */
  readonly words?: string;
}

/** Returns a correction for an answer without text other than white space. */
export function refuseEmpty(reply: string): string | undefined {
  return reply.trim() ? undefined : 'Your reply is empty. Answer, or call a tool.';
}

/**
 * Returns a correction for an answer that is not accepted. An empty answer is never accepted;
 * `reflect` may return its own correction for an empty answer.
 */
export async function problemWith(
  answer: string,
  context: ReplyContext,
  reflect: Reflect | undefined,
): Promise<string | undefined> {
  const problem: unknown = (await reflect?.(answer, context)) ?? undefined;
  if (problem !== undefined && typeof problem !== 'string')
    throw new AgentError(
      'CONFIGURATION',
      `reflect must return a correction as text, or nothing; got a ${typeof problem}.`,
    );
  return problem || refuseEmpty(answer);
}

/**
 * Returns whether middleware closer to the model has already refused the reply. The correction of
 * that middleware stays.
 */
export function isRefused({ metadata }: { readonly metadata?: JsonObject | undefined }): boolean {
  return isInvalid(metadata?.['invalidReply']);
}

/**
 * Returns the JSON of a structured value, if the reply calls the tool for structured values. A
 * reply with such a value is an answer. A list or a text is in the field `response`. Returns
 * `undefined` for any other reply.
 */
export function valueIn(
  calls: readonly { readonly name: string; readonly input: unknown }[],
): string | undefined {
  const input = calls.findLast(({ name }) => name === outputToolName)?.input ?? undefined;
  return input === undefined ? undefined : JSON.stringify(input);
}

/**
 * Returns hooks that ask the model to correct an invalid reply. `last` collects the last message of
 * each summary request. The reply to a summary request ends the agent call, so the model cannot
 * correct that reply.
 */
export function corrections(last: WeakSet<Msg>): NonNullable<Middleware['on']> {
  return {
    // Runs after other hooks, because only the first hook's `gotoReasoning` takes effect.
    'post-reasoning': { handle: correct, priority: 10_000 },
    'pre-summary': {
      handle: ({ messages }) => void messages.slice(-1).map((asked) => last.add(asked)),
      priority: 10_000,
    },
  };
}

/**
 * Returns the text without the tool call of an invalid reply that calls a tool although its request
 * offered none. Returns `undefined` for any other reply.
 */
export function wordsBesideCall({ metadata }: Msg): string | undefined {
  const { invalidReply: invalid } = metadata ?? {};
  return isInvalid(invalid) ? invalid.words : undefined;
}

/** Returns the metadata of the reply without the field `invalidReply`. */
export function metadataOf({ metadata }: Msg): JsonObject {
  const { invalidReply: _invalid, ...rest } = metadata ?? {};
  return rest;
}

function correct(
  { message, at }: EventOf<'post-reasoning'>,
  control: ControlOf<'post-reasoning'>,
): void {
  const invalid = message.metadata?.['invalidReply'];
  if (!isInvalid(invalid)) return;
  const about = (part: CorrectionPart) => ({
    id: `${message.id}:${part}`,
    now: () => at,
    metadata: { ...(part === 'reply' && metadataOf(message)), correction: part },
  });
  const speaker = message.name !== undefined && { name: message.name };
  const said = { ...about('reply'), ...speaker };
  const reply = invalid.text.trim() ? [assistantMessage(invalid.text, said)] : [];
  control.gotoReasoning([...reply, asOwn(userMessage(invalid.message, about('message')))]);
}

function isInvalid(value: unknown): value is Invalid {
  return (
    isRecord(value) && typeof value['text'] === 'string' && typeof value['message'] === 'string'
  );
}
