import { isSameJson } from '../../message/json/parse-json.ts';
import type { CallToolResult, ElicitResult, Progress } from '@modelcontextprotocol/client';
import { abortable } from '../../model/abortable.ts';
import type { McpQuestion, McpReply } from './mcp-question.ts';

interface OpenQuestion {
  readonly question: McpQuestion;
  readonly resolve: (answer: ElicitResult) => void;
}

export type SendCall = (options: {
  readonly signal: AbortSignal;
  readonly onprogress: (progress: Progress) => void;
}) => Promise<CallToolResult>;

/**
 * A tool call at a server of a revision before 2026-07-28. Such a server keeps the tool call open
 * until its questions are answered.
 */
export class OpenCall {
  readonly #controller = new AbortController();
  readonly #result: Promise<McpReply>;
  readonly #open: OpenQuestion[] = [];
  #onProgress: (progress: Progress) => void = () => {};
  #wake: () => void = () => {};

  constructor(send: SendCall) {
    const { signal } = this.#controller;
    const sent = send({ signal, onprogress: (progress) => this.#onProgress(progress) });
    this.#result = sent.then((result) => ({ result }));
    // The result may arrive while a person thinks, and nobody waits for it then.
    this.#result.catch(() => {});
  }

  /** Resolves with the answer. The server withdraws its question through the signal. */
  ask(question: McpQuestion, signal: AbortSignal): Promise<ElicitResult> {
    return new Promise((resolve) => {
      const asked = { question, resolve };
      this.#open.push(asked);
      signal.addEventListener('abort', () => {
        const place = this.#open.indexOf(asked);
        if (place >= 0) this.#open.splice(place, 1);
        resolve({ action: 'cancel' });
      });
      this.#wake();
    });
  }

  /**
   * Resolves with the next question, or with the result if the server has no open question. An abort
   * cancels the tool call at the server.
   */
  async next(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<McpReply> {
    const onAbort = (): void => this.#controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    this.#onProgress = onProgress;
    try {
      return await abortable(this.#next(), signal);
    } finally {
      this.#onProgress = () => {};
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Answers the question, unless the server has withdrawn it. */
  answer(question: McpQuestion | undefined, answer: ElicitResult | undefined): void {
    const [open] = this.#open;
    if (!open || !answer || !isSameJson(open.question, question)) return;
    this.#open.shift();
    open.resolve(answer);
  }

  async #next(): Promise<McpReply> {
    const asked = new Promise<undefined>((resolve) => {
      this.#wake = () => resolve(undefined);
    });
    const [open] = this.#open;
    if (open) return { questions: { answer: open.question }, next: 'held' };
    const ended = await Promise.race([this.#result, asked]);
    return ended ?? this.#next();
  }
}
