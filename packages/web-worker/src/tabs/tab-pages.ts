import { toOutcome } from '../wire/protocol.ts';
import type { Asker, PageAnswer, PageVisibility } from '../wire/protocol.ts';
import type { TabMessage, TabPage, TabPost, TabTools } from '../wire/tab-protocol.ts';
import type { SessionPages } from '../session/page/session-pages.ts';

type Pages = Extract<TabMessage, { readonly type: 'pages' }>;
type Question = Extract<TabMessage, { readonly type: 'question' }>;

/** Another tab, whose pages the leader can ask. */
interface OtherTab {
  readonly lock: string | undefined;
  /** Ports to the session's pages, by part. */
  readonly ports: Map<string, MessagePort>;
  /** Functions that remove the pages, by page. */
  readonly pages: Map<string, () => void>;
  /** Ends the wait for the end of the tab. */
  readonly unwatch: AbortController;
}

export interface TabPagesOptions {
  readonly pages: SessionPages;
  readonly post: (message: TabPost) => void;
  /** Maximum time to wait until a tab says which pages it has, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Page tools across tabs. A follower tells the leader which pages it has, and answers the leader's
 * questions to these pages. In the leader, the pages of other tabs count as connected.
 */
export class TabPages {
  readonly #options: TabPagesOptions;
  readonly #tabs: Map<string, OtherTab> = new Map();
  /** Running questions of the leader to pages of this worker, by part and question. */
  readonly #asked: Map<string, AbortController> = new Map();
  /** Called after a tab has told its pages or has ended. */
  readonly #waiting: Set<() => void> = new Set();
  /** Id of the leader that this tab follows. */
  #leaderId: string | undefined;

  constructor(options: TabPagesOptions) {
    this.#options = options;
    options.pages.onChange = () => this.#tell();
  }

  /** Tells a leader about the pages of this worker, and from now on about each change. */
  follow(leaderId: string): void {
    this.#endQuestions();
    this.#leaderId = leaderId;
    this.#tell();
  }

  /** Tells the leader that the pages of this worker are gone, because they may be frozen. */
  leave(): void {
    this.#tell([]);
    this.#leaderId = undefined;
    this.#endQuestions();
  }

  /** Removes the pages of other tabs, because this worker is no longer the leader. */
  clear(): void {
    for (const id of this.#tabs.keys()) this.#remove(id);
  }

  /** Handles a message for the leader about the pages of another tab. */
  hearTab(message: TabMessage): void {
    if (message.type === 'pages') this.#update(message);
    if (message.type === 'answer')
      this.#tabs.get(message.from)?.ports.get(message.part)?.postMessage(message.answer);
  }

  /** Asks a page of this worker for the leader. */
  async hearLeader({ leaderId, part, question }: Question): Promise<void> {
    const { pages, post } = this.#options;
    const key = `${part}/${question.id}`;
    if (question.type === 'abort') return this.#asked.get(key)?.abort();
    const controller = new AbortController();
    this.#asked.set(key, controller);
    const { id } = question;
    const answer = (pageAnswer: PageAnswer): void =>
      post({ type: 'answer', leaderId, part, answer: pageAnswer });
    const outcome = await toOutcome(
      pages.linkOf(part)?.ask(question.question, {
        signal: controller.signal,
        onProgress: (progress) => answer({ id, progress }),
      }) ?? Promise.resolve(),
    );
    this.#asked.delete(key);
    // If the page has gone, `pages` tells the leader so.
    if (pages.linkOf(part)) answer({ id, outcome });
  }

  #tell(tabPages: readonly TabPage[] = this.#options.pages.offered): void {
    const { post, pages } = this.#options;
    if (this.#leaderId !== undefined)
      post({ type: 'pages', leaderId: this.#leaderId, lock: pages.lock, pages: tabPages });
  }

  #endQuestions(): void {
    for (const controller of this.#asked.values()) controller.abort();
  }

  #update({ from, leaderId, lock, pages }: Pages): void {
    const tab = this.#tabs.get(from) ?? this.#add(from, lock);
    const pageIds = new Set(pages.map(({ page }) => page));
    for (const [page, leave] of tab.pages) {
      if (pageIds.has(page)) continue;
      tab.pages.delete(page);
      leave();
    }
    for (const each of pages) {
      if (!tab.pages.has(each.page)) this.#enter(from, tab, leaderId, each);
      for (const { part, visible } of each.tools)
        tab.ports.get(part)?.postMessage({ visible } satisfies PageVisibility);
    }
    for (const wake of this.#waiting) wake();
  }

  #add(id: string, lock: string | undefined): OtherTab {
    const unwatch = new AbortController();
    const tab: OtherTab = { lock, ports: new Map(), pages: new Map(), unwatch };
    this.#tabs.set(id, tab);
    const options = { mode: 'shared', signal: unwatch.signal } as const;
    if (lock !== undefined)
      navigator.locks.request(lock, options, () => this.#remove(id)).catch(() => {});
    return tab;
  }

  #remove(id: string): void {
    const tab = this.#tabs.get(id);
    this.#tabs.delete(id);
    tab?.unwatch.abort();
    for (const leave of tab?.pages.values() ?? []) leave();
    for (const wake of this.#waiting) wake();
  }

  #enter(to: string, tab: OtherTab, leaderId: string, { page, tools }: TabPage): void {
    const { pages, post } = this.#options;
    const connect = ({ part }: TabTools): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', ({ data: question }) =>
        post({ type: 'question', leaderId, to, part, question }),
      );
      port1.start();
      tab.ports.set(part, port1);
      return port2;
    };
    const offers = tools.map(({ tools: offered }) => ({ kind: 'tools', tools: offered }) as const);
    const leave = pages.enter(offers, tools.map(connect), { page, tab: to });
    tab.pages.set(page, () => {
      leave();
      for (const { part } of tools) {
        tab.ports.get(part)?.close();
        tab.ports.delete(part);
      }
    });
  }

  /**
   * Waits until the tab of a page has told its pages. Does not wait if the tab has ended, or if it
   * has told its pages already.
   */
  async arrival({ page, lock }: Asker, signal: AbortSignal): Promise<void> {
    const { pages, timeoutMs } = this.#options;
    const isKnown = (): boolean =>
      pages.has(page) || [...this.#tabs.values()].some((tab) => tab.lock === lock);
    if (lock === undefined || lock === pages.lock || isKnown()) return;
    const done = new AbortController();
    await new Promise<void>((resolve) => {
      const wake = (): void => (isKnown() ? resolve() : undefined);
      this.#waiting.add(wake);
      const timer = setTimeout(resolve, timeoutMs);
      signal.addEventListener('abort', () => resolve(), { signal: done.signal });
      navigator.locks
        .request(lock, { mode: 'shared', signal: done.signal }, () => resolve())
        .catch(() => {});
      done.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
      });
    });
    done.abort();
  }
}
