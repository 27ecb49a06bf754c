import { AgentError } from '../../error/agent-error.ts';
import type {
  ChatModel,
  ModelContext,
  ModelDelta,
  ModelRequest,
  ReplyStream,
} from '../chat-model.ts';

/** `stopped`: the reader stopped or the request was aborted, then with the reason of the signal. */
export type ReplyEnd =
  | { readonly type: 'ok' }
  | { readonly type: 'failed'; readonly error: unknown }
  | { readonly type: 'stopped'; readonly reason: unknown };

interface ReplyWatcher {
  /** Called for each model that is asked. With `fallback()`, there may be several. */
  asks?(model: Pick<ChatModel, 'provider' | 'modelId'>): void;
  add?(deltas: readonly ModelDelta[]): void;
  /** Called once, when the reply ends. */
  end?(end: ReplyEnd): void;
}

/** Returns the error of a reply that failed or took too long. */
export function replyFailure(end: ReplyEnd): AgentError | undefined {
  if (end.type === 'failed') return AgentError.from(end.error);
  const reason = end.type === 'stopped' ? end.reason : undefined;
  return AgentError.is(reason) && reason.code !== 'ABORTED' ? reason : undefined;
}

/** Streams a reply and reports it to a watcher. */
export async function* watchReply(
  model: Pick<ChatModel, 'stream'>,
  request: ModelRequest,
  context: ModelContext,
  watcher: ReplyWatcher,
): ReplyStream {
  const { signal } = context;
  let isOpen = true;
  const end = (replyEnd: ReplyEnd): void => {
    if (isOpen) watcher.end?.(replyEnd);
    isOpen = false;
  };
  const stop = (): void => end({ type: 'stopped', reason: signal.reason });
  const onModel: ModelContext['onModel'] = (next) => {
    watcher.asks?.(next);
    context.onModel?.(next);
  };
  // A model that ignores the signal may never end, so an abort ends the watch at once.
  signal.addEventListener('abort', stop);
  try {
    for await (const deltas of model.stream(request, { ...context, onModel })) {
      watcher.add?.(deltas);
      yield deltas;
    }
    end({ type: 'ok' });
  } catch (error) {
    if (!signal.aborted) end({ type: 'failed', error });
    throw error;
  } finally {
    stop();
    signal.removeEventListener('abort', stop);
  }
}
