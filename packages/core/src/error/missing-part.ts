import { AgentError } from './agent-error.ts';

/**
 * Returns the error for something that needs a middleware which the agent does not have. `what`: what
 * needs it, as the start of a sentence. The message ends with the lines to add.
 */
export function missingPart(part: string, what: string): AgentError {
  const message =
    `${what} needs the middleware "${part}". Use ReActAgent, or add it: ` +
    `import { ${part} } from '@isoloop/core/middleware'; use: [${part}()].`;
  return new AgentError('CONFIGURATION', message, { details: { part } });
}
