import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { addUsage, type Usage } from '../../model/usage.ts';

/** A request that failed. */
export interface FailedRequest {
  readonly error: unknown;
  /** How many have failed, this one counted. */
  readonly attempt: number;
  readonly model: ChatModel;
  /** Whether the reader has got deltas of any of them. */
  readonly begun: boolean;
}

export interface Attempt {
  readonly model: ChatModel;
  readonly request: ModelRequest;
}

export interface TryOptions {
  readonly first: Attempt;
  readonly context: ModelContext;
  /** Why a reply begins anew, for the reader. */
  readonly reason: string;
  /** What comes after a failure; nothing: the failure stands. */
  next(failed: FailedRequest): Promise<Attempt | undefined>;
}

/**
 * One reply out of several tries. When a reader has deltas of one that failed, those of the next
 * begin with `reset`, not before it has something to say. Token counts of a try that failed are
 * added to the next one's.
 */
export async function* tryInTurn({
  first,
  context,
  reason,
  next,
}: TryOptions): AsyncGenerator<readonly ModelDelta[], void> {
  let current = first;
  let spent: Usage | undefined;
  let begun = false;
  for (let attempt = 1; ; attempt += 1) {
    let usage: Usage | undefined;
    let stale = begun;
    try {
      for await (const deltas of current.model.stream(current.request, context)) {
        if (!deltas.length) continue;
        const last = deltas.at(-1)!;
        if (last.type === 'finish') usage = last.usage;
        const told =
          last.type === 'finish' && spent
            ? [...deltas.slice(0, -1), { ...last, usage: sum(spent, usage) }]
            : deltas;
        yield stale ? [{ type: 'reset', reason }, ...told] : told;
        stale = false;
        begun = true;
      }
      return;
    } catch (error) {
      if (context.signal.aborted) throw error;
      const following = await next({ error, attempt, model: current.model, begun });
      if (!following) throw error;
      current = following;
      spent = spent && usage ? addUsage(spent, usage) : (usage ?? spent);
    }
  }
}

function sum(spent: Usage, usage: Usage | undefined): Usage {
  return usage ? addUsage(spent, usage) : spent;
}
