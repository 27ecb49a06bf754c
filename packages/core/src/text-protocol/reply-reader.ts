import type { ModelDelta } from '../model/chat-model.ts';
import { joinDeltas } from '../model/reply/deltas.ts';
import { finishMeaning } from '../model/finish-reason.ts';
import { closingTag, ThinkTags } from '../model/reply/think-tags.ts';
import { CallScanner } from './call-scanner.ts';
import type { ParsedReply, ReplyContext, TextCall } from './parsed-reply.ts';

/** Fields of a reply's context that `parseToolCalls` and `parseOxygent` read. */
export type ParseContext = Partial<Pick<ReplyContext, 'finishReason' | 'replyFor' | 'parallel'>>;

/** The beginning of a tool call whose keys have no double quotes. */
const bareCall = /^(?:```(?:json)?\s*)?\[?\s*\{\s*['‘“`]?(?:tool_name|arguments|think)['’”`]?\s*:/m;

/**
 * Separates a reply's thinking from its text, and prose in the text from possible tool calls. Reads
 * the reply piece by piece. A `<think>` or `</think>` tag may be split over two pieces. A tag in a
 * string of a tool call is text. Thinking without an end tag continues to the end of the reply. If
 * an end tag has no start tag, all text before it is thinking, as in DeepSeek's templates.
 */
export class ReplyReader {
  readonly #mayCallTools: boolean;
  readonly #dropsTextBefore: boolean;
  #scanner: CallScanner | undefined;
  #calls: readonly TextCall[] = [];
  #problem: string | undefined;
  #out: ModelDelta[] = [];
  readonly #tags: ThinkTags = new ThinkTags({
    accepts: () => !this.#scanner?.isInString,
    add: (text) => this.#add(text),
    open: () => this.#open(),
    close: () => this.#close(),
  });
  #isThinking = false;
  #thoughtCount = 0;
  /** All text so far, without thinking. */
  text = '';
  /** The part of the text that was returned, which is not a tool call. */
  proseText = '';
  thinking = '';

  /**
   * `mayCallTools`: whether the reply may contain tool calls. `dropsTextBefore`: whether all text
   * before an end tag is thinking.
   */
  constructor(mayCallTools: boolean, dropsTextBefore = false) {
    this.#mayCallTools = mayCallTools;
    this.#dropsTextBefore = dropsTextBefore;
    if (mayCallTools) this.#scanner = new CallScanner();
  }

  /**
   * Reads more of the reply. Returns its prose and its thinking as deltas. `reset`: all text so far
   * was thinking, which follows.
   */
  push(chunk: string): readonly ModelDelta[] {
    this.#tags.push(chunk);
    return this.#takeDeltas();
  }

  /** Ends the reply, and returns its last deltas. */
  end(): readonly ModelDelta[] {
    this.#tags.end();
    let scan = this.#scanner?.end();
    // A thought may contain an incomplete tool call. The end tag of the thought then looks like a
    // part of the tool call's string.
    const thoughtIndex = scan?.problem === undefined ? -1 : this.text.lastIndexOf(closingTag);
    if (thoughtIndex >= 0) {
      const answer = this.text.slice(thoughtIndex + closingTag.length);
      this.text = this.text.slice(0, thoughtIndex);
      this.#close();
      this.#add(answer);
      scan = this.#scanner?.end();
    }
    this.#say(scan?.rest ?? '');
    this.#calls = scan?.calls ?? [];
    const isBare = this.#scanner && !this.#calls.length && bareCall.test(this.text);
    this.#problem =
      scan?.problem ?? (isBare ? 'All keys and strings of JSON need double quotes.' : undefined);
    return this.#takeDeltas();
  }

  /** Returns the meaning of the reply, after its end. */
  parsedReply(context?: ParseContext): ParsedReply {
    if (this.#problem !== undefined) {
      const isAtLengthLimit = finishMeaning(context?.finishReason) === 'length';
      const why = isAtLengthLimit ? ' Your reply reached its length limit: be shorter.' : '';
      const question = 'Reply again, with the corrected call or with your answer.';
      return { type: 'invalid', message: `${this.#problem}${why} No tool was called. ${question}` };
    }
    if (!this.#calls.length) return { type: 'answer', text: this.text };
    return { type: 'calls', calls: this.#calls, ...(this.proseText && { text: this.proseText }) };
  }

  #takeDeltas(): readonly ModelDelta[] {
    const deltas = joinDeltas(this.#out);
    this.#out = [];
    return deltas;
  }

  #add(chunk: string): void {
    if (this.#isThinking) return this.#think(chunk);
    // Drops white space between a thought and the answer.
    const text = this.text || !this.#thoughtCount ? chunk : chunk.trimStart();
    this.text += text;
    this.#say(this.#scanner ? this.#scanner.push(text) : text);
  }

  #say(prose: string): void {
    if (!prose) return;
    this.proseText += prose;
    this.#out.push({ type: 'text', id: 'text', delta: prose });
  }

  #think(thinking: string): void {
    if (!thinking) return;
    this.thinking += thinking;
    this.#out.push({ type: 'thinking', id: `think:${this.#thoughtCount}`, delta: thinking });
  }

  #open(): void {
    if (this.#isThinking) return;
    this.#isThinking = true;
    this.#thoughtCount += 1;
  }

  #close(): void {
    if (!this.#isThinking || (this.#dropsTextBefore && this.text)) {
      const thought = this.text;
      this.text = this.proseText = '';
      this.#thoughtCount += 1;
      if (this.#mayCallTools) this.#scanner = new CallScanner();
      this.#out.push({ type: 'reset', reason: 'protocol' });
      this.#think(thought);
    }
    this.#isThinking = false;
  }
}

/**
 * Finds the tool calls in the text of a reply. This is the default parser. A tool call is a JSON
 * object with `tool_name` and `arguments`. `arguments` is an object, or a string that contains the
 * JSON of an object. A list of such objects makes several tool calls, which run in parallel. A tool
 * call may have a code fence or words around it. JSON without `tool_name` is an answer. If a tool
 * call is incomplete, malformed or without `arguments`, the reply is invalid and none of its tool
 * calls runs. Words after a tool call are dropped. Everything after a tool result that the model
 * invented is dropped too. `<think>` parts are ignored.
 */
export function parseToolCalls(reply: string, context?: ParseContext): ParsedReply {
  const reader = new ReplyReader(true);
  reader.push(reply);
  reader.end();
  return reader.parsedReply(context);
}
