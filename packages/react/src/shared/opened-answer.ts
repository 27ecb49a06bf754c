import type { UIMessage } from '@isoloop/core/stream';
import type { AnswerBatches } from '@isoloop/core/host';

/** Answer of an endpoint that this tab can read. */
export interface OpenedAnswer {
  readonly batches: AnswerBatches;
  /** Ends the reading. */
  readonly signal: AbortSignal;
  /** Ends the connection. Also aborts with `signal`. */
  readonly connection: AbortController;
  /** Whether the endpoint can repeat the answer, so that the tab can leave it and read on later. */
  readonly canRejoin: boolean;
  /** Messages of a request. Absent: the history tells what stands before the answer. */
  readonly messages?: readonly UIMessage[] | undefined;
  /** Whether the request replaces later messages. */
  readonly replaces?: boolean | undefined;
  /** Called at the end of the answer, with whether the other tabs got all of it. */
  readonly onEnd?: ((isShared: boolean) => void) | undefined;
}
