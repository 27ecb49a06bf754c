import {
  addUsage,
  type ChatModel,
  type ModelContext,
  type ModelDelta,
  type ModelRequest,
  type Usage,
} from '../model/chat-model.ts';

/** A model request that failed. */
interface FailedRequest {
  readonly error: unknown;
  /** Number of failed requests so far, including this request. */
  readonly attempt: number;
  /** Whether the reader has received a part of the reply to any failed request. */
  readonly hasBegun: boolean;
}

interface Attempt {
  readonly model: ChatModel;
  readonly request: ModelRequest;
}

/**
 * Returns one reply from several tries. `next` returns the next attempt after a failure, or
 * `undefined` if the failure is final. If the reader has deltas of a failed reply, a `reset` delta
 * comes right before the first deltas of the next try. The token usage of failed tries is added to
 * the usage of the reply.
 */
export async function* tryEach(
  firstAttempt: Attempt,
  context: ModelContext,
  reason: string,
  next: (failed: FailedRequest) => Promise<Attempt | undefined>,
): AsyncGenerator<readonly ModelDelta[], void> {
  let current = firstAttempt;
  let earlierUsage: Usage | undefined;
  let hasYielded = false;
  let hasBegun = false;
  for (let attempt = 1; ; attempt += 1) {
    let usage: Usage | undefined;
    let isStale = hasYielded;
    try {
      for await (const deltas of current.model.stream(current.request, context)) {
        if (!deltas.length) continue;
        const last = deltas.at(-1)!;
        if (last.type === 'finish') ({ usage } = last);
        const total = last.type === 'finish' && earlierUsage && addUsage(earlierUsage, usage);
        const batch = total ? [...deltas.slice(0, -1), { ...last, usage: total }] : deltas;
        yield isStale ? [{ type: 'reset', reason }, ...batch] : batch;
        isStale = false;
        hasYielded = true;
        // A failed reply without content has a `finish` delta alone, for its usage.
        hasBegun ||= batch.length > 1 || last.type !== 'finish';
      }
      return;
    } catch (error) {
      if (context.signal.aborted) throw error;
      const following = await next({ error, attempt, hasBegun });
      if (!following) throw error;
      current = following;
      earlierUsage = addUsage(earlierUsage, usage);
    }
  }
}
