import { listSessions, SessionMemory } from '@isoloop/core';
import { DurableStore, type AgentSessionClass } from '@isoloop/edge';

/** Counts a finished tool call, by its id. */
export interface ToolCounter {
  readonly countRun?: (toolUseId: string) => Promise<void>;
}

interface Sessions {
  readonly CHAT_SESSION: DurableObjectNamespace;
}

/** Without `authorize`, the handler takes all requests for those of this user. */
const user = 'local';

const localHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);
const path = /^\/api\/demo\/([^/]+)\/(kill|log)$/;

/**
 * Answers the requests with which the page looks into the edge. Returns `undefined` for other
 * requests. Only this machine may send them.
 *
 * - `POST /api/demo/:id/kill` ends the Durable Object of a conversation in the middle of its work.
 *   Only the page itself may send it.
 * - `GET /api/demo/:id/log` returns the records of its log, the number of its writes, and how often
 *   each of its tool calls has finished.
 */
export async function answerHook(request: Request, env: Sessions): Promise<Response | undefined> {
  const url = new URL(request.url);
  const [, id, act] = path.exec(url.pathname) ?? [];
  if (id === undefined || !localHosts.has(url.hostname)) return undefined;
  const isOwnPage = request.method === 'POST' && request.headers.get('origin') === url.origin;
  if (act === 'kill' && !isOwnPage)
    return new Response('Only the page itself may kill a session.', { status: 403 });
  const session = env.CHAT_SESSION.get(env.CHAT_SESSION.idFromName(`${user}/${id}`));
  // A killed object gives no answer.
  const answer = await session.fetch(`https://hook/${act}/${id}`).catch(() => undefined);
  return answer ?? new Response(null, { status: 204 });
}

/** Returns a class of sessions that count their tools' runs, and into which the page can look. */
export function countedSession<Env extends object>(
  Session: AgentSessionClass<Env>,
): AgentSessionClass<Env> {
  return class extends Session {
    readonly #ctx: DurableObjectState;

    constructor(ctx: DurableObjectState, env: Env) {
      const countRun = async (toolUseId: string): Promise<void> => {
        openTable(ctx).exec(
          'INSERT INTO demo_runs VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET runs = runs + 1',
          toolUseId,
        );
      };
      super(ctx, { ...env, countRun });
      this.#ctx = ctx;
    }

    override async fetch(request: Request): Promise<Response> {
      const { hostname, pathname } = new URL(request.url);
      if (hostname !== 'hook') return super.fetch!(request);
      const [, act, sessionId = ''] = pathname.split('/');
      if (act === 'kill') this.#ctx.abort('The page has killed this object.');
      return (await logOf(this.#ctx, sessionId)) ?? new Response(null, { status: 204 });
    }
  };
}

/** Returns the log of a session, or `undefined` if the object has none or it has moved away. */
async function logOf(ctx: DurableObjectState, sessionId: string): Promise<Response | undefined> {
  const { sql } = ctx.storage;
  const tables = sql.exec('SELECT name FROM sqlite_master WHERE name = ?', 'isoloop_values');
  if (tables.toArray().length === 0) return undefined;
  try {
    const store = new DurableStore(ctx.storage);
    const records = await new SessionMemory(store, sessionId).records();
    const [info] = await listSessions(store);
    const rows = openTable(ctx).exec<Row>('SELECT id, runs FROM demo_runs').toArray();
    const runs = Object.fromEntries(rows.map((row) => [row.id, row.runs]));
    return Response.json({ records, writes: info?.version, runs });
  } catch {
    return undefined;
  }
}

interface Row {
  readonly [column: string]: SqlStorageValue;
  readonly id: string;
  readonly runs: number;
}

/**
 * The table goes with the session when that is deleted, so each use creates it if it is missing.
 */
function openTable({ storage }: DurableObjectState): SqlStorage {
  storage.sql.exec('CREATE TABLE IF NOT EXISTS demo_runs (id TEXT PRIMARY KEY, runs INTEGER)');
  return storage.sql;
}
