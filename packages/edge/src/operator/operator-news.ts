import { newMessages } from '@isoloop/core/host';
import { changesWaitMs } from '@isoloop/core/endpoint';
import { metadataOf } from '@isoloop/core/message';
import type { AgentSessionClass } from '../settings/handler-options.ts';
import { bringsCommand, type SessionRequest } from '../session/commands.ts';

/** Command that waits for a message of an operator. */
export interface ChangesCommand {
  readonly type: 'changes';
  /** Position that the client has seen. The request ends at once if there is a later one. */
  readonly seenPosition: string;
}

/** Returns the class of sessions that tell waiting pages about messages of operators. */
export function withOperatorNews(Session: AgentSessionClass): AgentSessionClass {
  return class {
    readonly #session: InstanceType<AgentSessionClass>;
    readonly #listeners: Set<() => void> = new Set();
    /** Another isolate may have missed messages, so its positions are others. */
    readonly #isolate = crypto.randomUUID().slice(0, 8);
    #messageCount = 0;

    constructor(ctx: DurableObjectState, env: object) {
      this.#session = new Session(ctx, env);
    }

    async fetch(request: Request): Promise<Response> {
      const body = await request.text();
      if (bringsCommand(request, 'changes')) {
        const { command } = JSON.parse(body) as SessionRequest<ChangesCommand>;
        return this.#answerChanges(command);
      }
      const copy = new Request(request.url, { method: 'POST', body });
      const response = await this.#session.fetch!(copy);
      if (hasOperatorMessage(body)) {
        this.#messageCount += 1;
        for (const tell of this.#listeners) tell();
      }
      return response;
    }

    async alarm(): Promise<void> {
      await this.#session.alarm();
    }

    get #position(): string {
      return `${this.#isolate}:${this.#messageCount}`;
    }

    /** Answers with the present position, or with 204 if it stays the same. */
    async #answerChanges({ seenPosition }: ChangesCommand): Promise<Response> {
      if (seenPosition === this.#position) await this.#nextMessage();
      if (seenPosition === this.#position) return new Response(null, { status: 204 });
      return Response.json({ position: this.#position });
    }

    #nextMessage(): Promise<void> {
      return new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          this.#listeners.delete(end);
          resolve();
        };
        const timer = setTimeout(end, changesWaitMs);
        this.#listeners.add(end);
      });
    }
  };
}

/** Returns whether a request brings a message of an operator. */
function hasOperatorMessage(body: string): boolean {
  // Most requests bring none, and need not be parsed here.
  if (!body.includes('"operator"')) return false;
  const { command } = JSON.parse(body) as Partial<SessionRequest>;
  if (command?.type !== 'turn') return false;
  return newMessages(command.turn.request).some((message) => metadataOf(message).operator);
}
