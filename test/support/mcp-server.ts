/// <reference path="../mcp-server/provided-context.d.ts" />
import { inject, onTestFinished } from 'vitest';
import { mcpTools, type McpTools, type McpToolsOptions } from '@isoloop/mcp';

export type McpServerKind = 'mcp' | 'resumable' | 'stateless' | 'current' | 'guarded';

export interface McpTestServer {
  readonly url: string;
  /** Runs a command of the server. `test/mcp-server/README.md` lists the commands. */
  ask(path: string): Promise<Record<string, unknown>>;
  /** Returns how often something happened at the server. */
  count(what: string): Promise<unknown>;
  /** Connects. The connection is closed at the end of the test. */
  open(options?: Partial<McpToolsOptions>): Promise<McpTools>;
}

/** Starts a server for one test and returns functions to control it. */
export function newServer(kind: McpServerKind = 'mcp'): McpTestServer {
  const base = `${inject('mcpUrl')}/servers/${crypto.randomUUID()}`;
  const url = `${base}/${kind}`;
  const ask = async (path: string): Promise<Record<string, unknown>> =>
    (await fetch(`${base}/${path}`)).json();
  return {
    url,
    ask,
    count: async (what) => (await ask(`count/${what}`))['count'],
    async open(options = {}) {
      const tools = await mcpTools({ url, name: 'test', onError: () => {}, ...options });
      onTestFinished(() => tools.close());
      return tools;
    },
  };
}
