import { checkFields } from '../error/check-fields.ts';
import { AgentStream } from './agent-stream.ts';
import { lastDriver } from './last-driver.ts';
import type { ReActAgent } from './react-agent.ts';

export interface AttachOptions {
  /** The run to read. Default: the run of the agent's last stream. */
  readonly runId?: string;
  /** Number of the last event the reader has seen. Default: none. */
  readonly afterSeq?: number;
}

/**
 * Adds a reader to an agent's last stream, from the event after `afterSeq` on. This works after the
 * run has ended, too. Returns `null` if the last stream is not of run `runId`, or if its reader
 * sets its pace. A run takes several readers only if it is detached, or if its `result` was used
 * before the first read. A stream that is queued behind another call becomes the last stream when
 * its run starts.
 */
export function attach(agent: ReActAgent, options: AttachOptions = {}): AgentStream | null {
  checkFields('INVALID_INPUT', 'attach(): the agent', agent, 'stream:function');
  checkFields('INVALID_INPUT', 'attach()', options, 'runId:string|? afterSeq:number|?');
  const driver = lastDriver(agent);
  if (!driver || driver.paced || (options.runId ?? driver.runId) !== driver.runId) return null;
  return new AgentStream(driver, options.afterSeq);
}
