import type { RemoteAgent } from '@isoloop/web-worker';
import type { UIMessage } from 'ai';
import { vi } from 'vitest';
import type { RecoveryAction } from '../../../../test/recovery/recovery-cell.ts';
import type { RecoveryLink, RecoveryPage } from './recovery-page.ts';
import type { RecoveryAnswer, RecoveryQuestion, RecoveryReport } from './recovery-worker.ts';

export interface ConversationOptions {
  readonly action: RecoveryAction;
  /** Tool that the model calls first. */
  readonly tool: string;
}

const script = '/packages/web-worker/test-support/recovery/recovery-page.ts';

/** Time until a test counts as hanging, in milliseconds, as for `expect.poll`. */
const patience = { timeout: 120_000, interval: 5 };

/** A conversation in IndexedDB, with the workers that its tabs have started. */
export class TabConversation {
  readonly id: string = crypto.randomUUID();
  readonly options: ConversationOptions;
  readonly tabs: RecoveryTab[] = [];
  /** Number of times that the page's tool ran. */
  toolRuns = 0;
  readonly #channel = new BroadcastChannel(this.id);
  /** Last reports of the workers, by worker. */
  readonly #reports: Map<string, RecoveryReport> = new Map();

  constructor(options: ConversationOptions) {
    this.options = options;
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Partial<RecoveryAnswer>>) => {
      if (data.report) this.#reports.set(data.from!, data.report);
    });
  }

  /** Reports of all workers, with those that have ended. */
  get reports(): readonly RecoveryReport[] {
    return [...this.#reports.values()];
  }

  /** Resolves when the worker has started. */
  async started(worker: string): Promise<void> {
    await vi.waitUntil(() => this.#reports.has(worker), patience);
  }

  /** Closes all tabs. */
  end(): void {
    for (const tab of this.tabs) tab.close();
    this.#channel.close();
  }

  /** Asks a worker, and resolves with its report. */
  ask(to: string, type: RecoveryQuestion['type'], point?: string): Promise<RecoveryReport> {
    const question = crypto.randomUUID();
    const asked: RecoveryQuestion = { to, question, type, ...(point !== undefined && { point }) };
    return new Promise((resolve) => {
      const listen = ({ data }: MessageEvent<Partial<RecoveryAnswer>>): void => {
        if (data.question !== question || !data.report) return;
        this.#channel.removeEventListener('message', listen);
        resolve(data.report);
      };
      this.#channel.addEventListener('message', listen);
      this.#channel.postMessage(asked);
    });
  }
}

/** A page in an iframe, with its worker. Reloading or removing the iframe ends the worker. */
export class RecoveryTab {
  readonly #conversation: TabConversation;
  readonly #frame = document.createElement('iframe');
  #link!: RecoveryLink;
  #worker!: string;
  #ended = ending();

  private constructor(conversation: TabConversation) {
    this.#conversation = conversation;
    this.#frame.src = `/script-page?${script}`;
    document.body.append(this.#frame);
    conversation.tabs.push(this);
  }

  /** Opens a tab. `holdAt`: index of the point of the action at which its worker waits. */
  static async open(
    conversation: TabConversation,
    order: { readonly isActing: boolean; readonly holdAt?: number | undefined },
  ): Promise<RecoveryTab> {
    const tab = new RecoveryTab(conversation);
    await tab.#connect(order);
    return tab;
  }

  get agent(): RemoteAgent {
    return this.#link.agent;
  }

  /** Reads the conversation, as a page does that is loaded. */
  async history(): Promise<readonly UIMessage[]> {
    return (await this.agent.uiMessages()) as readonly UIMessage[];
  }

  /** Asks the tab's worker. Rejects if the worker has ended. */
  ask(type: RecoveryQuestion['type']): Promise<RecoveryReport> {
    return Promise.race([this.#conversation.ask(this.#worker, type), this.#ended.promise]);
  }

  async reload(): Promise<void> {
    this.#ended.end();
    const { contentWindow } = this.#frame;
    const loaded = new Promise((resolve) => {
      this.#frame.addEventListener('load', resolve, { once: true });
    });
    contentWindow!.location.reload();
    await loaded;
    await this.#connect({ isActing: true });
  }

  close(): void {
    this.#ended.end();
    this.#frame.remove();
  }

  /** Ends the worker without a notice, as a crash does. */
  killWorker(): void {
    this.#ended.end();
    this.#link.worker.terminate();
  }

  /** Starts another worker in the page. */
  async restartWorker(): Promise<void> {
    await this.#connect({ isActing: true });
  }

  async #connect(order: {
    readonly isActing: boolean;
    readonly holdAt?: number | undefined;
  }): Promise<void> {
    const conversation = this.#conversation;
    const { id, options } = conversation;
    const page = await vi.waitUntil(() => this.#page, patience);
    const worker = crypto.randomUUID();
    this.#worker = worker;
    this.#ended = ending();
    this.#link = page.link({
      sessionId: id,
      order: { ...options, ...order, id: worker, channel: id, database: id },
      async onTool() {
        await conversation.ask(worker, 'point', 'the page starts the tool');
        conversation.toolRuns += 1;
        await conversation.ask(worker, 'point', 'the page has run the tool');
      },
    });
    await conversation.started(worker);
  }

  get #page(): RecoveryPage | undefined {
    return (this.#frame.contentWindow as unknown as { recovery?: RecoveryPage } | null)?.recovery;
  }
}

/** Returns a promise that rejects when the worker ends. */
function ending(): { readonly promise: Promise<never>; readonly end: () => void } {
  let end!: () => void;
  const promise = new Promise<never>((_resolve, reject) => {
    end = () => reject(new Error('The worker has ended.'));
  });
  promise.catch(() => {});
  return { promise, end };
}
