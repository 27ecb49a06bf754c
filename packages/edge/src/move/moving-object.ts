import { AgentError } from '@isoloop/core';
import {
  changeOwner,
  copyOfSession,
  endpointHere,
  sessionViewOf,
  type ChooseOwner,
  type SessionCopy,
} from '@isoloop/core/move';
import { checkNotMoved, type LogRecord, type Ownership } from '@isoloop/core/log';
import type { AgentSessionClass, HandlerSettings } from '../settings/handler-options.ts';
import { errorResponse } from '../http/error-response.ts';
import { DurableStore } from '../durable/durable-store.ts';
import { noContent } from '../session/command-handler.ts';
import {
  callSession,
  bringsCommand,
  type SessionCommand,
  type SessionRequest,
} from '../session/commands.ts';
import { durableSessions } from '../session/homes.ts';
import { DurableQueue } from '../durable/durable-queue.ts';
import { IdentityRecord } from '../durable/identity.ts';
import { changeOwnerWithKeptCalls } from './kept-calls.ts';
import { takeMoveStep, type MoveStep } from './moving-place.ts';

/** Command for a step of a move. */
export interface MoveCommand {
  readonly type: 'move';
  readonly step: MoveStep;
  /** Whether the user may change the arguments of tool calls. */
  readonly mayEdit: boolean;
}

type MoveRequest = SessionRequest<MoveCommand>;

/** Commands that write to the session. */
const changingCommands: ReadonlySet<SessionCommand['type']> = new Set([
  'turn',
  'withdraw',
  'rename',
  'delete',
]);

interface MovingOptions {
  readonly storage: DurableObjectStorage;
  readonly env: object;
  readonly settings: HandlerSettings;
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
  #ownership: Promise<Ownership | undefined> | undefined;
  /** Number of moves that are being taken in. Their guards may take long. */
  #moves = 0;
  /** Number of requests that change the session and are not in its queue yet. */
  #changes = 0;

  constructor(options: MovingOptions) {
    this.#options = options;
    this.#session = options.open();
  }

  async fetch(request: Request): Promise<Response> {
    const isMove = bringsCommand(request, 'move');
    const body = await request.text();
    const content = JSON.parse(body) as MoveRequest | SessionRequest;
    try {
      if (isMove) return await this.#answerMove(content as MoveRequest);
      const copy = new Request(request.url, { method: 'POST', body });
      return await this.#forward(copy, content as SessionRequest);
    } catch (error) {
      return errorResponse(error, { requestId: content.requestId, errorFormat: 'isoloop' });
    }
  }

  /** Does nothing during a move, which ends with an alarm of its own. */
  async alarm(): Promise<void> {
    if (this.#moves) return;
    await this.#countChange(async () => {
      await this.#session.alarm();
      await this.#updateList();
    });
  }

  /** Passes a request on to the session, if the session is here. */
  #forward(request: Request, { sessionId, command: { type } }: SessionRequest): Promise<Response> {
    const pass = async (): Promise<Response> => {
      if (type === 'delete') this.#ownership = Promise.resolve(undefined);
      else checkNotMoved({ ownership: await this.#readOwnership(sessionId) });
      return this.#session.fetch!(request);
    };
    if (!changingCommands.has(type)) return pass();
    if (this.#moves) throw busyError('The conversation is being moved; try again.');
    return this.#countChange(pass);
  }

  async #countChange<T>(change: () => Promise<T>): Promise<T> {
    this.#changes += 1;
    try {
      return await change();
    } finally {
      this.#changes -= 1;
    }
  }

  #readOwnership(sessionId: string): Promise<Ownership | undefined> {
    // An object without a session has no tables, and gets none.
    if (!new IdentityRecord(this.#options.storage).identity) return Promise.resolve(undefined);
    this.#ownership ??= ownershipIn(this.#store, sessionId).catch((error: unknown) => {
      this.#ownership = undefined;
      throw error;
    });
    return this.#ownership;
  }

  get #store(): DurableStore {
    return new DurableStore(this.#options.storage);
  }

  async #answerMove(request: MoveRequest): Promise<Response> {
    const isBusy = this.#changes > 0 || new DurableQueue(this.#options.storage).size > 0;
    if (request.command.step.type === 'read') return this.#answerRead(request, isBusy);
    // Begins before the first `await`, so that no turn can begin until the move has ended.
    if (isBusy) throw busyError('The session is running, or messages wait in it.');
    this.#moves += 1;
    try {
      await this.#takeIn(request);
    } finally {
      this.#moves -= 1;
      // Puts the session into the list, if it belongs here.
      await this.alarm();
    }
    return noContent();
  }

  async #answerRead(request: MoveRequest, isBusy: boolean): Promise<Response> {
    const { sessionId } = request;
    const record = new IdentityRecord(this.#options.storage);
    if (!record.identity) return noContent();
    const copy = await this.#takeStep(request);
    if (!copy) return isBusy ? Response.json(emptyCopy(sessionId)) : noContent();
    const isRunning = isBusy || copy.isRunning;
    return Response.json({ ...copy, isRunning, records: withTitle(copy, record.title) });
  }

  async #takeIn(request: MoveRequest): Promise<void> {
    const { storage } = this.#options;
    const { user, sessionId, command } = request;
    await this.#takeStep(request);
    new IdentityRecord(storage).begin({ user, sessionId, createdAt: Date.now() });
    // The title of the copy replaces the one that a person gave here before.
    if (command.step.type === 'put') storage.kv.delete('title');
    this.#ownership = undefined;
    // The session in memory has read the log before the move.
    this.#session = this.#options.open();
  }

  #takeStep({ user, sessionId, command }: MoveRequest): Promise<SessionCopy | undefined> {
    const { env, settings } = this.#options;
    const { step, mayEdit } = command;
    const setup = { env, user, sessionId, mayEdit };
    const change = (choose: ChooseOwner): Promise<void> =>
      changeOwnerWithKeptCalls(this.#options.storage, sessionId, choose);
    return takeMoveStep(step, { settings, setup, change });
  }

  /** Takes a session that belongs elsewhere out of the list. */
  async #updateList(): Promise<void> {
    const { identity } = new IdentityRecord(this.#options.storage);
    if (!identity) return;
    const { user, sessionId } = identity;
    const ownership = await this.#readOwnership(sessionId);
    if (!ownership?.owner.includes(':')) return;
    const objects = durableSessions(this.#options.env);
    const command = { type: 'take-from-list', sessionId } as const;
    if (objects) await callSession(objects, { user, sessionId: '', requestId: 'list', command });
  }
}

function busyError(message: string): AgentError {
  return new AgentError('AGENT_BUSY', message, { retryable: true });
}

/** Returns the class of sessions that can move to other places and come back. */
export function movingObject(
  Session: AgentSessionClass,
  settings: HandlerSettings,
): AgentSessionClass {
  return class extends MovingSession {
    constructor(ctx: DurableObjectState, env: object) {
      super({ storage: ctx.storage, env, settings, open: () => new Session(ctx, env) });
    }
  };
}

async function ownershipIn(store: DurableStore, key: string): Promise<Ownership | undefined> {
  let ownership: Ownership | undefined;
  await changeOwner(store, key, (session) => {
    ownership = session.ownership;
    return undefined;
  });
  return ownership;
}

/** Returns the records with the title that a person gave the session here. */
function withTitle({ records }: SessionCopy, title: string | undefined): readonly LogRecord[] {
  return title === undefined ? records : [...records, { kind: 'state', state: { title } }];
}

/** Returns the copy of a session whose first turn is running, before the log has anything. */
function emptyCopy(sessionId: string): SessionCopy {
  const emptySession = {
    view: sessionViewOf([]),
    records: [],
    ownership: undefined,
    tip: undefined,
  };
  return { ...copyOfSession(sessionId, endpointHere, emptySession), isRunning: true };
}
