import { misconfigured } from '../error/agent-error.ts';
import type { ToolContext } from './tool.ts';
import { string } from '../error/options/kinds.ts';
import { checkFields } from '../error/options/check-fields.ts';

/**
 * Token for a value that tools get from outside, such as a database or the user. Two tokens are
 * equal only if they are the same object.
 */
export interface ContextToken<T> {
  readonly name: string;
  /** Type marker that keeps tokens of different types apart; never set. */
  readonly '~types'?: (value: T) => T;
}

/** Token and its value, for the option `toolContext` of an agent or of an agent call. */
export type ContextEntry = readonly [token: object, value: unknown];

/**
 * Creates a token with which tools get a value from outside, such as a database. Source:
 * AgentScope, `ToolExecutionContext`, which finds a value by its class.
 */
export function contextToken<T>(name: string): ContextToken<T> {
  checkFields('contextToken()', { name }, { name: string });
  return { name };
}

/** Pairs a token with its value, for the option `toolContext`. */
export function provide<T>(token: ContextToken<T>, value: T): ContextEntry {
  checkFields('provide(): the token', token, { name: string });
  return [token, value];
}

/** Returns the value of a token. Throws `CONFIGURATION` if `values` has none. */
export function providedValue<T>(token: ContextToken<T>, values: ReadonlyMap<object, unknown>): T {
  if (!values.has(token)) throw misconfigured(nothingProvided(token.name));
  return values.get(token) as T;
}

function nothingProvided(name: string): string {
  const advice = 'Add provide(token, value) to `toolContext` of the agent or of the agent call.';
  return `Nothing is provided for "${name}". ${advice}`;
}

/** Ids of the runs above a child agent's run, the outermost first. Not provided to other agents. */
export const parentRuns: ContextToken<readonly string[]> = contextToken('parent runs');

/** Names of the agents above a child agent, the outermost first. Not provided to other agents. */
export const parentPath: ContextToken<readonly string[]> = contextToken('parent path');

/** Returns the ids of the runs above a child agent that this tool call runs. */
export function runsAboveChild({ runId, get }: Pick<ToolContext, 'runId' | 'get'>): string[] {
  try {
    return [...get(parentRuns), runId];
  } catch {
    return [runId];
  }
}
