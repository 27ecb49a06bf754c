import type { ChatModel, ReActAgent, ToolSet } from '@isoloop/core';
import type { HumanInTheLoopOptions, Verdict } from '@isoloop/core/middleware';
import type { ApprovalQuestion } from '../page/page-approvals.ts';
import { isPageGone, PageLink } from './page-link.ts';
import type { PageOffer } from '../wire/protocol.ts';
import { remoteHooks } from './remote-hook.ts';
import { remoteModel } from './remote-model.ts';
import { RemoteTools } from './remote-tools.ts';

/** What the connected pages do for a session's agent. */
export interface PageSide {
  /** The tools of `pageTools()`: `tools: page.tools`, or `joinTools(mine, page.tools)`. */
  readonly tools: ToolSet;
  /**
   * Asks `pageApprovals()`: `humanInTheLoop({ decide: page.decide })`. Without a page that decides
   * the call suspends.
   */
  readonly decide: Required<HumanInTheLoopOptions>['decide'];
  /** That of `pageModel()`. Throws `CONFIGURATION` where no page has one. */
  readonly model: ChatModel;
}

interface Part {
  readonly offer: PageOffer;
  readonly link: PageLink;
  /** Takes its hooks off the agent that has them now. */
  off: readonly (() => void)[];
}

/** The parts of the pages that are connected to one session. */
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

  /** The agent that gets the pages' hooks from now on. */
  attach(agent: ReActAgent): void {
    this.#agent = agent;
    for (const part of this.#parts) this.#hook(part);
  }

  /** A page's parts; gives back what takes them away. */
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

  /** The first page that is there and answers. */
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
