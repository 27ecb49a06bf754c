import { AgentError } from '../../error/agent-error.ts';

/** Which error refuses a field. */
export interface RefusalOptions {
  /**
   * Function that creates the error for a refused field. `field`: path such as
   * `content[0].source.url`. Default: `INVALID_MESSAGE`.
   */
  readonly errorOf?: (field: string, problem: string) => AgentError;
}

/** Throws the error for a refused field. `problem`: what its value must be. */
export function refuseField(
  { errorOf = invalidMessage }: RefusalOptions,
  field: string,
  problem: string,
): never {
  throw errorOf(field, problem);
}

function invalidMessage(field: string, problem: string): AgentError {
  return new AgentError('INVALID_MESSAGE', `The message's ${field} ${problem}.`, {
    details: { field },
  });
}
