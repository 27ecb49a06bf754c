import { AgentError } from '@isoloop/core';
import { changeOwner, checkHere, copyOfSession, endpointHere, viewOf } from '@isoloop/core/adapter';
import type { ChooseOwner, LogRecord, SessionCopy, SessionOwner } from '@isoloop/core/adapter';
import type { AgentSessionClass } from '../../handler-options.ts';
import { errorResponse, logError } from '../../http/error-response.ts';
import { DurableStore } from '../../store/durable-store.ts';
import { noContent } from '../session-answer.ts';
import { callSession, sessionObject, type SessionRequest } from '../session-command.ts';
import { TurnQueue } from '../queue/turn-queue.ts';
import { SessionRecord } from '../session-record.ts';
import { takeStep, type MoveSettings, type MoveStep } from './moving-place.ts';

/** Request of the Worker to the Durable Object of a session, for a step of a move. */
export interface MoveRequest extends Omit<SessionRequest, 'command'> {
  readonly step: MoveStep;
  /** Whether the user may change the arguments of tool calls. */
  readonly mayEdit: boolean;
}

/** Address of these requests. Other requests have another one. */
export const moveAddress = 'https://session/move';

interface MovingOptions {
  readonly storage: DurableObjectStorage;
  readonly env: object;
  readonly settings: MoveSettings;
  /** Opens the session, which then reads its log again. */
  readonly open: () => InstanceType<AgentSessionClass>;
}

/**
 * A session that can move to other places and come back. While it is elsewhere, only a move or its
 * deletion reaches it, and it is not in the list of conversations.
 */
class MovingSession {
  readonly #options: MovingOptions;
  #session: InstanceType<AgentSessionClass>;
  /** Who may write the session, once it was read. */
  #owner: Promise<SessionOwner | undefined> | undefined;

  constructor(options: MovingOptions) {
    this.#options = options;
    this.#session = options.open();
  }

  async fetch(request: Request): Promise<Response> {
    const isMove = request.url === moveAddress;
    const asked = await request.clone().json<MoveRequest | SessionRequest>();
    try {
      if (isMove) return await this.#move(asked as MoveRequest);
      const { command } = asked as SessionRequest;
      if (command.type === 'delete') this.#owner = Promise.resolve(undefined);
      else checkHere({ owner: await this.#read(asked.sessionId) });
    } catch (error) {
      const { requestId } = asked;
      logError(error, requestId);
      return errorResponse(error, { requestId, face: 'isoloop' });
    }
    return this.#session.fetch!(request);
  }

  async alarm(): Promise<void> {
    await this.#session.alarm();
    await this.#tellList();
  }

  #read(sessionId: string): Promise<SessionOwner | undefined> {
    // An object without a session has no tables, and gets none.
    if (!new SessionRecord(this.#options.storage).identity) return Promise.resolve(undefined);
    this.#owner ??= ownerIn(this.#store, sessionId).catch((error: unknown) => {
      this.#owner = undefined;
      throw error;
    });
    return this.#owner;
  }

  get #store(): DurableStore {
    return new DurableStore(this.#options.storage);
  }

  async #move({ user, sessionId, step, mayEdit }: MoveRequest): Promise<Response> {
    const { storage, env, settings } = this.#options;
    const record = new SessionRecord(storage);
    if (step.type === 'read' && !record.identity) return noContent();
    const isBusy = new TurnQueue(storage).size > 0;
    if (isBusy && step.type !== 'read')
      throw new AgentError('AGENT_BUSY', 'The session is running.', { retryable: true });
    const setup = { env, user, sessionId, mayEdit };
    const change = (choose: ChooseOwner): Promise<void> =>
      changeOwner(this.#store, sessionId, choose);
    const copy = await takeStep(step, { settings, setup, change });
    if (copy) {
      const isRunning = isBusy || copy.isRunning;
      return Response.json({ ...copy, isRunning, records: withTitle(copy, record.title) });
    }
    if (step.type === 'read') return isBusy ? Response.json(emptyCopy(sessionId)) : noContent();
    record.begin({ user, sessionId, createdAt: Date.now() });
    // The title of the copy replaces the one that a person gave here before.
    if (step.type === 'put') storage.kv.delete('title');
    this.#owner = undefined;
    // The session in memory has read the log before the move.
    this.#session = this.#options.open();
    // Puts the session into the list, if it belongs here.
    await this.alarm();
    return noContent();
  }

  /** Takes a session that belongs elsewhere out of the list. */
  async #tellList(): Promise<void> {
    const { identity } = new SessionRecord(this.#options.storage);
    if (!identity) return;
    const { user, sessionId } = identity;
    const owner = await this.#read(sessionId);
    const list = owner?.owner.includes(':') && sessionObject(this.#options.env, user, '');
    const command = { type: 'take-from-list', sessionId } as const;
    if (list) await callSession(list, { user, sessionId: '', requestId: 'list', command });
  }
}

/** Returns the class of sessions that can move to other places and come back. */
export function movingSession(
  Session: AgentSessionClass,
  settings: MoveSettings,
): AgentSessionClass {
  return class {
    readonly #session: MovingSession;

    constructor(ctx: DurableObjectState, env: object) {
      const open = (): InstanceType<AgentSessionClass> => new Session(ctx, env);
      this.#session = new MovingSession({ storage: ctx.storage, env, settings, open });
    }

    fetch(request: Request): Promise<Response> {
      return this.#session.fetch(request);
    }

    alarm(): Promise<void> {
      return this.#session.alarm();
    }
  };
}

async function ownerIn(store: DurableStore, key: string): Promise<SessionOwner | undefined> {
  let found: SessionOwner | undefined;
  await changeOwner(store, key, ({ owner }) => {
    found = owner;
    return undefined;
  });
  return found;
}

/** Returns the records with the title that a person gave the session here. */
function withTitle({ records }: SessionCopy, title: string | undefined): readonly LogRecord[] {
  return title === undefined ? records : [...records, { kind: 'state', state: { title } }];
}

/** Returns the copy of a session whose first turn is running, before the log has anything. */
function emptyCopy(sessionId: string): SessionCopy {
  const nothing = { view: viewOf([]), records: [], owner: undefined, tip: undefined };
  return { ...copyOfSession(sessionId, endpointHere, nothing), isRunning: true };
}
