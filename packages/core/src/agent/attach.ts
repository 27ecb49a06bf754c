import { checkFields } from '../error/check-fields.ts';
import { AgentStream } from './agent-stream.ts';
import { lastDriver } from './last-driver.ts';
import type { ReActAgent } from './react-agent.ts';

export interface AttachOptions {
  /** The run to read. Default: that of the agent's last stream. */
  readonly runId?: string;
  /** What the reader has seen already. Default: nothing. */
  readonly afterSeq?: number;
}

/**
 * Another reader of an agent's last stream, from the event after `afterSeq` on, also when the run
 * has ended; `null` where the last stream is not `runId`, or has a reader that paces it (only a
 * detached run, or one whose `result` was asked for first, takes several). A stream that waits for
 * its turn is not the last yet.
 */
export function attach(agent: ReActAgent, options: AttachOptions = {}): AgentStream | null {
  checkFields('INVALID_INPUT', 'attach(): the agent', agent, 'stream:function');
  checkFields('INVALID_INPUT', 'attach()', options, 'runId:string|? afterSeq:number|?');
  const driver = lastDriver(agent);
  if (!driver || driver.paced || (options.runId ?? driver.runId) !== driver.runId) return null;
  return new AgentStream(driver, options.afterSeq);
}
