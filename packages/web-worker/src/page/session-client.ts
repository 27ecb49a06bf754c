import { AgentError, type AgentEvent } from '@isoloop/core';
import { releaseProxy, transfer, wrap, type Remote } from 'comlink';
import { fromOutcome, type Outcome, type SessionApi } from '../wire/protocol.ts';
import { remoteRun, type RemoteRun } from './remote-run.ts';
import type { WorkerLink } from './worker-link.ts';

/** Methods of the API that begin a run. */
type RunKind = 'call' | 'stream' | 'watch' | 'chat';

/** Methods of the API that return a value. */
type AskedMethod = 'pending' | 'interrupt' | 'messages' | 'uiMessages' | 'clear';

type Ask = <T>(input: unknown) => Promise<Outcome<T>>;

type Begin = (request: object, port: MessagePort) => Promise<void>;

/** The API of a session in a worker, as its page uses it. */
export interface SessionClient {
  /** Calls a method of the API. */
  readonly ask: <T>(method: AskedMethod, input?: unknown) => Promise<T>;
  /** Requests a run, which sends its events over a port of its own. */
  readonly begin: <K extends RunKind, T = AgentEvent>(
    kind: K,
    request: Omit<Parameters<SessionApi[K]>[0], 'id' | 'aborted'>,
    signal?: AbortSignal,
  ) => RemoteRun<T>;
  /** Aborts a run, or all runs of the connection. */
  readonly abort: (id?: number, unread?: boolean) => void;
  readonly close: (reason?: string) => void;
}

export function sessionClient({ port, connection }: WorkerLink): SessionClient {
  const remote: Remote<SessionApi> = wrap<SessionApi>(port);
  let lastId = 0;
  const abort: SessionClient['abort'] = (id, unread) => {
    if (!connection.error) remote.abort(id, unread).catch(() => {});
  };
  return {
    ask: async (method, input) =>
      fromOutcome(await connection.guard(() => (remote[method] as Ask)(input))),
    begin(kind, request, signal) {
      const id = ++lastId;
      const open = (aborted: boolean, runPort: MessagePort): Promise<void> =>
        (remote[kind] as Begin)({ ...request, id, aborted }, transfer(runPort, [runPort]));
      return remoteRun({ id, connection, signal, open, abort: (unread) => abort(id, unread) });
    },
    abort,
    close(reason = 'The connection is closed.') {
      if (!connection.error) remote[releaseProxy]();
      connection.cut(new AgentError('WORKER_TERMINATED', reason));
    },
  };
}
