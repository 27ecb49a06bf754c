import { AgentError } from '@isoloop/core';
import { objectMediaType } from '@isoloop/core/output';
import type { Context } from 'hono';
import type { ApiFormat } from '../settings/openai-part.ts';
import type { HandlerSettings } from '../settings/handler-options.ts';
import type { TurnFormat } from '../settings/turn-format.ts';
import { missingOption } from '../settings/missing-option.ts';
import { hasBegun, hasOutput } from './event-stream.ts';
import { objectEncoder } from './object-encoder.ts';
import { toPublicEvents } from './public-events.ts';
import { uiEncoder } from './ui-encoder.ts';

/**
 * Format in which a client asks for a turn, as plain JSON. `ui`: stream of the AI SDK. `events`:
 * the agent's own events. `object`: only the object of a structured answer. Others are of an API
 * for other clients.
 */
export type RequestedFormat = StreamFormat | ApiFormat;

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
 * Returns how a client that asked for this format gets a turn. Throws `CONFIGURATION` for a format
 * of OpenAI if the endpoint does not have its API.
 */
export function turnFormat(
  settings: Pick<HandlerSettings, 'openai'>,
  requested: RequestedFormat,
): TurnFormat {
  const errorFormat = 'isoloop';
  switch (requested.kind) {
    case 'ui':
      return {
        kind: 'ui',
        errorFormat,
        opens: hasBegun,
        eventIds: 'queued',
        encoder: (live, options) => uiEncoder(requested, live, options),
      };
    case 'events':
      return {
        kind: 'events',
        errorFormat,
        opens: hasBegun,
        // With an id, a client that lost its connection starts no second turn.
        eventIds: 'all',
        encoder:
          (_live, { memory }) =>
          (batch) =>
            toPublicEvents(batch, memory, requested.inspect),
      };
    case 'object':
      return {
        kind: 'object',
        errorFormat,
        opens: hasOutput,
        encoder: (live) => objectEncoder(live?.agent),
      };
    default:
      return openAiOf(settings).format(requested);
  }
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
