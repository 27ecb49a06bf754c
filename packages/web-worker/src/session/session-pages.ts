import type { ChatModel, ReActAgent, ToolSet } from '@isoloop/core';
import type { DecideForMessageOptions } from '@isoloop/core/adapter';
import type { HumanInTheLoopOptions, Verdict } from '@isoloop/core/middleware';
import type { ApprovalQuestion } from '../page/page-approvals.ts';
import { isPageGone, PageLink } from './page-link.ts';
import type { PageOffer } from '../wire/protocol.ts';
import { remoteHooks } from './remote-hook.ts';
import { remoteModel } from './remote-model.ts';
import { pageGoneReason, RemoteTools } from './remote-tools.ts';

/** Tools, approvals and model of the connected pages, for the agent of a session. */
export interface PageSide {
  /**
   * Tools of `pageTools()`. Pass them to the agent with `tools: page.tools`, or with
   * `joinTools(mine, page.tools)`.
   */
  readonly tools: ToolSet;
  /**
   * Function that asks `pageApprovals()` on the page. Use it in `humanInTheLoop({ decide:
   * page.decide })`. If no page decides, the tool call suspends.
   */
  readonly decide: Required<HumanInTheLoopOptions>['decide'];
  /** Model of `pageModel()`. Throws `CONFIGURATION` if no page offers a model. */
  readonly model: ChatModel;
}

interface Part {
  readonly offer: PageOffer;
  readonly link: PageLink;
  /** Functions that remove the part's hooks from the agent. */
  off: readonly (() => void)[];
}

/** Parts of all pages that are connected to one session. */
export class SessionPages {
  readonly #parts: Set<Part> = new Set();
  readonly #tools: RemoteTools = new RemoteTools(() => this.#of('tools'));
  readonly side: PageSide;
  #agent: ReActAgent | undefined;

  constructor() {
    const [tools, ofKind] = [this.#tools, () => this.#of('model')];
    this.side = {
      tools,
      decide: (call, context) => this.#decide(call, context),
      get model() {
        return remoteModel(ofKind);
      },
    };
  }

  /**
   * Sets the agent and adds the hooks of the connected pages to it. Pages that connect later add
   * their hooks to the same agent.
   */
  attach(agent: ReActAgent): void {
    this.#agent = agent;
    for (const part of this.#parts) this.#hook(part);
  }

  /** Adds the parts of a page. Returns a function that removes them. */
  enter(offers: readonly PageOffer[], ports: readonly MessagePort[]): () => void {
    const parts = offers.map((offer, index): Part => {
      const part: Part = {
        offer,
        link: new PageLink(ports[index]!, () => this.#leave(part)),
        off: [],
      };
      this.#parts.add(part);
      this.#hook(part);
      return part;
    });
    this.#tools.update();
    return () => {
      for (const { link } of parts) link.close();
    };
  }

  /**
   * Returns a check of whether the page of a tool call has disconnected. Use the check only while
   * no run is active.
   */
  goneCalls(tools: ToolSet): Required<DecideForMessageOptions>['isGone'] {
    return ({ name }, { pending, started = false }) => {
      if (pending?.reason === pageGoneReason) return true;
      // An unknown tool belongs to a page that was never connected to this worker.
      if (!tools.find(name)) return true;
      if (!this.#tools.find(name)) return false;
      return pending ? !this.#tools.isOffered(name) : started;
    };
  }

  #leave(part: Part): void {
    this.#parts.delete(part);
    for (const off of part.off) off();
    this.#tools.update();
  }

  #hook(part: Part): void {
    const { offer, link } = part;
    if (!this.#agent || offer.kind !== 'hooks') return;
    const agent = this.#agent;
    part.off = remoteHooks(offer, link).map((hook) => agent.addHook(hook));
  }

  #of<K extends PageOffer['kind']>(
    kind: K,
  ): readonly { readonly link: PageLink; readonly offer: Extract<PageOffer, { kind: K }> }[] {
    return [...this.#parts].filter(({ offer }) => offer.kind === kind) as never;
  }

  /** Asks the connected pages in order. The first page that answers decides. */
  async #decide(
    ...[call, { sessionId, messages, signal }]: Parameters<PageSide['decide']>
  ): Promise<Verdict | undefined> {
    const question: ApprovalQuestion = { call, context: { sessionId, messages } };
    for (const { link } of this.#of('approvals')) {
      try {
        return await link.ask(question, { signal });
      } catch (error) {
        if (!isPageGone(error)) throw error;
      }
    }
    return undefined;
  }
}
