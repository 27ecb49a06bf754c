import { useEffect, useMemo, useState } from 'react';
import { connect, type Connection, type ConnectionOptions } from './connection.ts';

export interface OpenConnection extends Connection {
  /**
   * Unique id of the connection. A conversation's state must not outlive its connection, so the id
   * is a React key.
   */
  readonly id: string;
}

type State = { readonly connection?: OpenConnection; readonly error?: unknown };

interface Wanted extends ConnectionOptions {
  readonly attempt: number;
}

/**
 * Opens a connection for these options and closes the previous connection. When the options change,
 * the previous connection is no longer returned, because messages sent to it would be lost.
 */
export function useConnection(options: ConnectionOptions): State & { retry(): void } {
  const { home, sessionId, model } = options;
  const [state, setState] = useState<State & { readonly wanted?: Wanted }>({});
  const [attempt, setAttempt] = useState(0);
  const wanted = useMemo<Wanted>(
    () => ({ home, sessionId, model, attempt }),
    [home, sessionId, model, attempt],
  );

  useEffect(() => {
    let current = true;
    let open: Connection | undefined;
    connect(wanted).then(
      (connection) => {
        if (!current) return connection.close();
        open = connection;
        setState({ wanted, connection: { ...connection, id: crypto.randomUUID() } });
      },
      (error: unknown) => {
        if (current) setState({ wanted, error });
      },
    );
    return () => {
      current = false;
      open?.close();
    };
  }, [wanted]);

  const shown = state.wanted === wanted ? state : {};
  return { ...shown, retry: () => setAttempt(attempt + 1) };
}
