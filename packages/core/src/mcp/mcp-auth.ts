import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { AgentError, messageOf } from '../error/agent-error.ts';

/** Returns the provider with errors that say that they come from the authorization. */
export function guardedAuth(provider: OAuthClientProvider): OAuthClientProvider {
  return new Proxy(provider, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        try {
          return await Reflect.apply(value, target, given);
        } catch (cause) {
          throw new AgentError(
            'MCP_AUTH',
            `mcpTools(): auth.${String(name)}() failed: ${messageOf(cause)}`,
            { cause },
          );
        }
      };
    },
  });
}
