import { AgentError, type EventBatch } from '@isoloop/core';
import { objectMediaType } from '@isoloop/core/output';
import type { Context } from 'hono';
import type { ApiFormat } from '../settings/openai-routes.ts';
import type { HandlerSettings } from '../settings/handler-options.ts';
import { missingOption } from '../settings/missing-option.ts';
import { hasBegun, hasOutput } from './event-stream.ts';

/**
 * Format in which a client gets a turn. `ui`: stream of the AI SDK. `events`: the agent's own
 * events. `object`: only the object of a structured answer. `completion` and `response`: OpenAI's
 * formats, streamed or whole.
 */
export type TurnFormat = StreamFormat | ApiFormat;

/** Format in which a client that reconnects gets a turn. */
export type StreamFormat =
  | {
      readonly kind: 'ui';
      /** Whether the client gets the events, too. */
      readonly events: boolean | undefined;
      /** Whether the tool parts have types, as those of `typedTransport()`. */
      readonly typed?: boolean;
    }
  | { readonly kind: 'object' }
  | {
      readonly kind: 'events';
      /** Whether the client may see the prompts. */
      readonly inspect?: boolean;
    };

/** Returns the format that a client of the chat routes accepts. */
export function acceptedFormat(
  c: Context,
  { events, typed }: { readonly events: boolean | undefined; readonly typed: boolean },
): StreamFormat {
  const isObject = c.req.header('accept')?.includes(objectMediaType);
  return isObject ? { kind: 'object' } : { kind: 'ui', events, typed };
}

/**
 * Returns whether the response can start with this batch of events. Before the start, the
 * response's status can still report a refusal.
 */
export function opens(format: TurnFormat, batch: EventBatch): boolean {
  return isOpenAiFormat(format) || format.kind === 'object' ? hasOutput(batch) : hasBegun(batch);
}

/** Returns whether the client gets the answer in a format of OpenAI. */
export function isOpenAiFormat(format: { readonly kind: string }): format is ApiFormat {
  return format.kind === 'completion' || format.kind === 'response';
}

/** Returns the advice for an endpoint without OpenAI's API. */
export function missingOpenAi(): string {
  return missingOption("OpenAI's API needs", {
    option: 'openai',
    call: 'openAiRoutes()',
    from: '@isoloop/openai-api',
  });
}

/** Returns OpenAI's API. Throws `CONFIGURATION` if the endpoint does not have it. */
export function openAiOf({
  openai,
}: Pick<HandlerSettings, 'openai'>): NonNullable<HandlerSettings['openai']> {
  if (!openai) throw new AgentError('CONFIGURATION', missingOpenAi());
  return openai;
}
