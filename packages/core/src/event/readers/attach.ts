import { checkFields } from '../../error/options/check-fields.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { func, number, optional, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { checkId } from '../../error/options/check-id.ts';
import { AgentStream } from './agent-stream.ts';
import type { RunDriver } from './run-driver.ts';

/** An agent: its events are what readers get. */
interface Streaming {
  stream(...args: never): AgentStream;
}

/** Which run a new reader joins, and from which event. */
export interface AttachOptions {
  /** The run to read. Default: the run of the agent's last stream. */
  readonly runId?: string;
  /** `seq` of the last event that the reader has seen. Default: 0, before the first event. */
  readonly afterSeq?: number;
}

/**
 * Returns a new reader of an agent's last stream, from the event after `afterSeq` on. Also works
 * after the end of the run. Returns `null` if the last stream does not belong to run `runId`, or if
 * a single reader sets the pace of the run. A run accepts several readers only if it is detached,
 * or if its `result` was used before the first read. A stream becomes the last one when
 * its run starts.
 */
export function attach(agent: Streaming, options: AttachOptions = {}): AgentStream | null {
  checkFields('attach(): the agent', agent, { stream: func }, 'INVALID_INPUT');
  checkOptions('attach()', options, attachOptions, 'INVALID_INPUT');
  const { runId } = options;
  if (runId !== undefined) checkId(runId, 'runId of attach()');
  const driver = lastDrivers.get(agent);
  if (!driver?.log || (runId ?? driver.runId) !== driver.runId) return null;
  return new AgentStream(driver, options.afterSeq);
}

const attachOptions: OptionTable<AttachOptions> = {
  runId: optional(string),
  afterSeq: optional(number),
};

/** The driver of each agent's last stream. */
const lastDrivers: WeakMap<object, RunDriver> = new WeakMap();

/** Makes a stream of the agent the one that `attach` reads. */
export function keepDriver(agent: object, driver: RunDriver): void {
  lastDrivers.set(agent, driver);
}
