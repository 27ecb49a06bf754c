import {
  toOutcome,
  type Asker,
  type PageCallUpdate,
  type PageVisibility,
} from '../wire/protocol.ts';
import type { TabMessage, TabPage, TabPost, TabTools } from '../wire/tab-protocol.ts';
import type { SessionPages } from '../session/page/session-pages.ts';

type PagesMessage = Extract<TabMessage, { readonly type: 'pages' }>;
type PageCallMessage = Extract<TabMessage, { readonly type: 'page-call' }>;

/** Another tab, whose pages the leader can ask. */
interface OtherTab {
  readonly lock: string | undefined;
  /** Ports to the session's pages, by part. */
  readonly ports: Map<string, MessagePort>;
  /** Functions that remove the pages, by page. */
  readonly removers: Map<string, () => void>;
  /** Ends the wait for the end of the tab. */
  readonly watchController: AbortController;
}

interface TabPagesOptions {
  readonly pages: SessionPages;
  readonly post: (message: TabPost) => void;
  /** Maximum time to wait until a tab says which pages it has, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Page tools across tabs. A follower tells the leader which pages it has, and carries out the
 * leader's calls of these pages. In the leader, the pages of other tabs count as connected.
 */
export class TabPages {
  readonly #options: TabPagesOptions;
  readonly #tabs: Map<string, OtherTab> = new Map();
  /** Controllers of the leader's calls of pages of this worker, by part and call. */
  readonly #callControllers: Map<string, AbortController> = new Map();
  /** Called after a tab has told its pages or has ended. */
  readonly #changeListeners: Set<() => void> = new Set();
  /** Id of the leader that this tab follows. */
  #leaderId: string | undefined;

  constructor(options: TabPagesOptions) {
    this.#options = options;
    options.pages.onChange = () => this.#sendPages();
  }

  /** Tells a leader about the pages of this worker, and from now on about each change. */
  follow(leaderId: string): void {
    this.#abortCalls();
    this.#leaderId = leaderId;
    this.#sendPages();
  }

  /** Tells the leader that the pages of this worker are gone, because they may be frozen. */
  leave(): void {
    this.#sendPages([]);
    this.#leaderId = undefined;
    this.#abortCalls();
  }

  /** Removes the pages of other tabs, because this worker is no longer the leader. */
  clear(): void {
    for (const id of this.#tabs.keys()) this.#removeTab(id);
  }

  /** Handles a message for the leader about the pages of another tab. */
  receiveFromTab(message: TabMessage): void {
    if (message.type === 'pages') this.#updateTab(message);
    if (message.type === 'page-update')
      this.#tabs.get(message.senderId)?.ports.get(message.partId)?.postMessage(message.update);
  }

  /** Calls a page of this worker for the leader. */
  async receiveCall({ leaderId, partId, call }: PageCallMessage): Promise<void> {
    const { pages, post } = this.#options;
    const key = `${partId}/${call.id}`;
    if (call.type === 'abort') return this.#callControllers.get(key)?.abort();
    const controller = new AbortController();
    this.#callControllers.set(key, controller);
    const { id } = call;
    const postUpdate = (update: PageCallUpdate): void =>
      post({ type: 'page-update', leaderId, partId, update });
    const outcome = await toOutcome(
      pages.linkOf(partId)?.call(call.body, {
        signal: controller.signal,
        onProgress: (progress) => postUpdate({ id, progress }),
      }) ?? Promise.resolve(),
    );
    this.#callControllers.delete(key);
    // If the page has gone, `pages` tells the leader so.
    if (pages.linkOf(partId)) postUpdate({ id, outcome });
  }

  #sendPages(tabPages: readonly TabPage[] = this.#options.pages.tabPages): void {
    const { post, pages } = this.#options;
    if (this.#leaderId !== undefined)
      post({ type: 'pages', leaderId: this.#leaderId, lock: pages.lock, pages: tabPages });
  }

  #abortCalls(): void {
    for (const controller of this.#callControllers.values()) controller.abort();
  }

  #updateTab({ senderId, leaderId, lock, pages }: PagesMessage): void {
    const tab = this.#tabs.get(senderId) ?? this.#addTab(senderId, lock);
    const pageIds = new Set(pages.map(({ pageId }) => pageId));
    for (const [pageId, remove] of tab.removers) {
      if (pageIds.has(pageId)) continue;
      tab.removers.delete(pageId);
      remove();
    }
    for (const each of pages) {
      if (!tab.removers.has(each.pageId)) this.#addPage(senderId, tab, leaderId, each);
      for (const { partId, visible } of each.tools)
        tab.ports.get(partId)?.postMessage({ visible } satisfies PageVisibility);
    }
    for (const wake of this.#changeListeners) wake();
  }

  #addTab(id: string, lock: string | undefined): OtherTab {
    const watchController = new AbortController();
    const tab: OtherTab = { lock, ports: new Map(), removers: new Map(), watchController };
    this.#tabs.set(id, tab);
    const options = { mode: 'shared', signal: watchController.signal } as const;
    if (lock !== undefined)
      navigator.locks.request(lock, options, () => this.#removeTab(id)).catch(() => {});
    return tab;
  }

  #removeTab(id: string): void {
    const tab = this.#tabs.get(id);
    this.#tabs.delete(id);
    tab?.watchController.abort();
    for (const remove of tab?.removers.values() ?? []) remove();
    for (const wake of this.#changeListeners) wake();
  }

  #addPage(tabId: string, tab: OtherTab, leaderId: string, { pageId, tools }: TabPage): void {
    const { pages, post } = this.#options;
    const connect = ({ partId }: TabTools): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', ({ data: call }) =>
        post({ type: 'page-call', leaderId, receiverId: tabId, partId, call }),
      );
      port1.start();
      tab.ports.set(partId, port1);
      return port2;
    };
    const offers = tools.map(
      ({ tools: toolOffers }) => ({ kind: 'tools', tools: toolOffers }) as const,
    );
    const remove = pages.add(offers, tools.map(connect), { pageId, tabId });
    tab.removers.set(pageId, () => {
      remove();
      for (const { partId } of tools) {
        tab.ports.get(partId)?.close();
        tab.ports.delete(partId);
      }
    });
  }

  /**
   * Waits until the tab of a page has told its pages. Does not wait if the tab has ended, or if it
   * has told its pages already.
   */
  async whenPagesKnown({ pageId, lock }: Asker, signal: AbortSignal): Promise<void> {
    const { pages, timeoutMs } = this.#options;
    const isKnown = (): boolean =>
      pages.has(pageId) || [...this.#tabs.values()].some((tab) => tab.lock === lock);
    if (lock === undefined || lock === pages.lock || signal.aborted || isKnown()) return;
    const waitController = new AbortController();
    await new Promise<void>((resolve) => {
      const wake = (): void => (isKnown() ? resolve() : undefined);
      this.#changeListeners.add(wake);
      const timer = setTimeout(resolve, timeoutMs);
      signal.addEventListener('abort', () => resolve(), { signal: waitController.signal });
      navigator.locks
        .request(lock, { mode: 'shared', signal: waitController.signal }, () => resolve())
        .catch(() => {});
      waitController.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        this.#changeListeners.delete(wake);
      });
    });
    waitController.abort();
  }
}
