import { AgentError } from '../error/agent-error.ts';

/** Type of the options of a preset that has none. */
export type NoOptions = Readonly<Record<string, never>>;

/** Throws `CONFIGURATION` for an option of a preset that has none. */
export function refuseOptions(where: string, options: NoOptions): void {
  const [name] = Object.keys(Object(options));
  if (name === undefined) return;
  const advice = 'Set it on the agent, or put middleware of the same name after the preset.';
  throw new AgentError('CONFIGURATION', `${where} has no option \`${name}\`. ${advice}`);
}
