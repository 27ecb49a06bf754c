import { useEffect, useState } from 'react';
import { connect, type Connection, type ConnectionOptions } from './connection.ts';

export interface OpenConnection extends Connection {
  /** New for every connection: a conversation's state must not outlive its own. */
  readonly id: string;
}

type State = { readonly connection?: OpenConnection; readonly error?: unknown };

/** Opens a connection for these options, and closes the one before. */
export function useConnection(options: ConnectionOptions): State & { retry(): void } {
  const { home, sessionId, model } = options;
  const [state, setState] = useState<State>({});
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    let current = true;
    let open: Connection | undefined;
    setState({});
    connect({ home, sessionId, model }).then(
      (connection) => {
        if (!current) return connection.close();
        open = connection;
        setState({ connection: { ...connection, id: crypto.randomUUID() } });
      },
      (error: unknown) => {
        if (current) setState({ error });
      },
    );
    return () => {
      current = false;
      open?.close();
    };
  }, [home, sessionId, model, attempt]);

  return { ...state, retry: () => setAttempt(attempt + 1) };
}
