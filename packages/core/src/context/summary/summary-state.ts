import { AgentError } from '../../error/agent-error.ts';
import { isRecord } from '../../message/is-record.ts';
import type { Msg } from '../../message/msg.ts';
import { parseJson } from '../../message/parse-json.ts';
import type { SummaryStore } from '../../memory/summary-store.ts';
import { enclose } from './summary-request.ts';

/**
 * A summary of the first `count` messages of a history, from the one with the id `first` to the one
 * with the id `last`.
 */
export interface Summary {
  readonly first: string;
  readonly last: string;
  readonly count: number;
  readonly text: string;
  /** As the model sees it; made of the fields above, so that it is the same in another process. */
  readonly message: Msg;
}

export interface SessionSummary {
  summary?: Summary | undefined;
  /** The prompt of the call in which no summary could be had: it is not held up again. */
  failedFor?: string | undefined;
}

/**
 * More sessions than this at once is no agent's own policy, but one for a server: what was used
 * longest ago is read anew.
 */
const maxSessions = 1000;

/** The summaries of sessions, in memory and, where there is one, in a store. */
export class SummaryState {
  readonly #sessions: Map<string, SessionSummary> = new Map();
  readonly #store: SummaryStore | undefined;
  readonly #heading: string;

  /** `heading`: what summaries that are read from the store are shown with. */
  constructor(store: SummaryStore | undefined, heading: string) {
    this.#store = store;
    this.#heading = heading;
  }

  /** Rejects as the store does; then, and where what is stored is no summary, nothing is known. */
  async of(sessionId: string): Promise<SessionSummary> {
    let session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, (session ??= {}));
    if (this.#sessions.size > maxSessions)
      this.#sessions.delete(this.#sessions.keys().next().value!);
    if (!('summary' in session)) {
      session.summary = undefined;
      const stored = await this.#store?.get(keyOf(sessionId));
      if (stored !== undefined && stored !== null)
        session.summary = parseSummary(stored, this.#heading);
    }
    return session;
  }

  async set(sessionId: string, summary: Summary): Promise<void> {
    this.#sessions.set(sessionId, { summary });
    const { message: _message, ...stored } = summary;
    await this.#store?.set(keyOf(sessionId), JSON.stringify({ v: 1, ...stored }));
  }

  async delete(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId);
    await this.#store?.delete([keyOf(sessionId)]);
  }
}

export function makeSummary(messages: readonly Msg[], text: string, heading: string): Summary {
  const last = messages.at(-1)!;
  return withMessage(
    { first: messages[0]!.id, last: last.id, count: messages.length, text },
    heading,
  );
}

/** Whether a history that begins at `start` still begins with what the summary is of. */
export function covers(
  { first, last, count }: Summary,
  messages: readonly Msg[],
  start: number,
): boolean {
  return messages[start]?.id === first && messages[start + count - 1]?.id === last;
}

function withMessage(summary: Omit<Summary, 'message'>, heading: string): Summary {
  const { last, text } = summary;
  const message: Msg = {
    id: `summary-${last}`,
    role: 'user',
    name: 'summary',
    content: [
      {
        type: 'text',
        text: `${heading}\n${enclose('conversation_summary', text)}`,
      },
    ],
    // A multi-agent formatter is not to take it for something that was said.
    metadata: { bypassHistory: true },
    createdAt: new Date(0).toISOString(),
  };
  return { ...summary, message };
}

function parseSummary(stored: string, heading: string): Summary {
  const value = parseJson(stored);
  if (isRecord(value)) {
    const { v, first, last, count, text } = value;
    if (
      v === 1 &&
      typeof first === 'string' &&
      typeof last === 'string' &&
      typeof text === 'string' &&
      Number.isInteger(count)
    ) {
      return withMessage({ first, last, text, count: count as number }, heading);
    }
  }
  throw new AgentError('STORAGE_FAILED', 'The stored summary is damaged.');
}

/** Of a store shared with the session log, whose keys begin with `s:`. */
function keyOf(sessionId: string): string {
  return `summary:${encodeURIComponent(sessionId)}`;
}
