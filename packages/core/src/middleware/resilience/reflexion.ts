import { checkOptions } from '../../error/check-fields.ts';
import { ReplyAssembler } from '../../model/reply-assembler.ts';
import type { Middleware } from '../../agent/middleware.ts';
import type { ContentBlock } from '../../message/content-block.ts';
import { textOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { abortable } from '../../model/abortable.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { withStream } from '../../model/wrap-model.ts';
import { corrections, isRefused, problemWith, valueIn } from '../text-protocol/corrections.ts';
import type { Reflect, ReplyContext } from '../text-protocol/parsed-reply.ts';
import { offersTools } from '../../model/chat-model.ts';

export interface ReflexionOptions {
  /**
   * Checks each answer. A returned text is sent to the model as a correction. Empty answers are
   * corrected in any case. Default: only empty answers are corrected.
   */
  readonly reflect?: Reflect;
}

interface Judging extends ReflexionOptions {
  /**
   * Last message of each request that must be answered without a check: its reply ends the agent
   * call.
   */
  readonly last: WeakSet<Msg>;
  readonly signal: AbortSignal;
}

/**
 * Checks the answers of a model with native tool calling, and asks the model to correct bad answers
 * (OxyGent: `func_reflexion`). Put this middleware in an agent's `use` list. With `textToolCalls`,
 * use the option `reflect` of `textToolCalls` instead.
 *
 * Readers get the text before it is checked; a `step-reset` takes refused text back. A refused
 * answer costs an iteration. The session log stores the refused answer and the correction as two
 * messages with `metadata.correction`. A structured value is checked as JSON; if it is refused,
 * no tool call beside it runs. Other replies with tool calls and summaries are not checked.
 * Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function reflexion(options: ReflexionOptions = {}): Middleware {
  checkOptions('CONFIGURATION', 'reflexion()', options, 'reflect:function|?');
  const { reflect } = options;
  const last = new WeakSet<Msg>();
  return {
    name: 'reflexion',
    wrapModel: (next) =>
      withStream(next, (request, context) => {
        const judging = { ...(reflect && { reflect }), last, signal: context.signal };
        return judged(request, next.stream(request, context), judging);
      }),
    on: corrections(last),
  };
}

async function* judged(
  request: ModelRequest,
  stream: AsyncIterable<readonly ModelDelta[]>,
  options: Judging,
): AsyncGenerator<readonly ModelDelta[]> {
  const reply = new ReplyAssembler({ messageId: '', toolUseId: (given) => given ?? '' });
  let finish: Extract<ModelDelta, { type: 'finish' }> = { type: 'finish', reason: 'stop' };
  for await (const batch of stream) {
    const out: ModelDelta[] = [];
    for (const delta of batch) {
      reply.add(delta);
      if (delta.type === 'finish') finish = delta;
      else out.push(delta);
    }
    if (out.length) yield out;
  }
  const content = reply.content({ partial: false });
  try {
    const answer = isRefused(finish) ? undefined : answerIn(content);
    const judging = answer && problemIn(answer, { content, request, options, finish });
    const message = await abortable(Promise.resolve(judging), options.signal);
    if (!answer || message === undefined) {
      yield [finish];
      return;
    }
    const invalidReply = { text: answer.text, message };
    const metadata = { ...finish.metadata, invalidReply };
    yield [
      ...(content.length ? [{ type: 'reset', reason: 'protocol' } as const] : []),
      { ...finish, metadata },
    ];
  } catch (error) {
    // The failed reply also costs tokens, so its usage is passed on.
    yield [finish];
    throw error;
  }
}

interface Answer {
  /** The words of the answer, or the JSON of a structured value. */
  readonly text: string;
  readonly isValue: boolean;
}

/** Returns the answer in a reply. A reply with other tool calls has none. */
function answerIn(content: readonly ContentBlock[]): Answer | undefined {
  const calls = content.filter((block) => block.type === 'tool_use');
  const value = valueIn(calls);
  if (value !== undefined) return { text: value, isValue: true };
  return calls.length ? undefined : { text: textOf(content), isValue: false };
}

interface About {
  readonly content: readonly ContentBlock[];
  readonly request: ModelRequest;
  readonly options: Judging;
  readonly finish: { readonly reason: string };
}

/** Returns the problem of an answer, or `undefined` if it is fine or must not be checked. */
async function problemIn(
  { text, isValue }: Answer,
  { content, request, options: { reflect, last, signal }, finish }: About,
): Promise<string | undefined> {
  const { messages, replyIs } = request;
  // The reply to a side request, such as a summary, is not an answer.
  if (replyIs === 'note' || messages.some((message) => last.has(message))) return undefined;
  // A reply with media is not empty, even without text.
  if (!text.trim() && content.some((block) => 'source' in block)) return undefined;
  const thinking = content.flatMap((block) => (block.type === 'thinking' ? block.thinking : []));
  const context: ReplyContext = {
    messages,
    tools: offersTools(request) ? request.tools : [],
    thinking: thinking.join(''),
    finishReason: finish.reason,
    replyIs: isValue ? 'value' : replyIs,
    parallel: true,
    signal,
  };
  return problemWith(text, context, reflect);
}
