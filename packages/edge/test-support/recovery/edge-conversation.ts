import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { ReActAgent, tool, type JsonObject, type Memory } from '@isoloop/core';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import type { EdgeStore } from '../../../../test/recovery/edge-cells.ts';
import { HeldProcess } from '../../../../test/recovery/held-process.ts';
import { replyTo, textIn } from '../../../../test/recovery/recovery-talk.ts';
import { DurableQueue } from '../../src/durable/durable-queue.ts';
import { echoHeader } from '../../src/http/header-names.ts';
import { boundTo, factories } from '../agent-session.ts';
import { testEndpoint, type TestEndpoint } from '../endpoint.ts';
import { killObjects } from '../kill-objects.ts';
import { given, read } from '../session-client.ts';
import type { ClientRequest, UserAction } from './recovery-actions.ts';

/** Time until a test counts as hanging, in milliseconds, as for `expect.poll`. */
const patience = { timeout: 120_000, interval: 5 };

/** A conversation at an endpoint, its client, and the process that runs its agents. */
export class EdgeConversation {
  readonly id: string = crypto.randomUUID();
  readonly user: string = `ann-${crypto.randomUUID()}`;
  readonly #store: EdgeStore;
  readonly #action: UserAction;
  #process: HeldProcess;
  #endpoint: TestEndpoint;
  #isActing = false;
  /** Token of the state that the page has read, which it sends with its next request. */
  #echo: string | undefined;
  /** Inputs with which the tools ran in the isolates whose work counts. */
  readonly #ran: JsonObject[] = [];

  constructor(store: EdgeStore, action: UserAction, holdAt?: number) {
    this.#store = store;
    this.#action = action;
    this.#process = new HeldProcess(holdAt === undefined ? {} : { holdAt });
    this.#endpoint = this.#open();
    factories.set(this.id, ({ memory, sessionId }) => this.#agent(memory, sessionId));
  }

  get process(): HeldProcess {
    return this.#process;
  }

  get ran(): readonly JsonObject[] {
    return this.#ran;
  }

  /** Begins the action: from now on the points count. */
  act(): void {
    this.#isActing = true;
    this.#process.watch();
  }

  send({ path, body }: ClientRequest, signal?: AbortSignal): Promise<Response> {
    return this.#fetch(path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(this.#echo !== undefined && { [echoHeader]: this.#echo }),
      },
      body: JSON.stringify({ [path === '/api/run' ? 'sessionId' : 'id']: this.id, ...body }),
      ...(signal && { signal }),
    });
  }

  /** Reads the conversation, as a page does that is loaded. */
  async history(): Promise<readonly UIMessage[]> {
    const response = await this.#fetch(`/api/chat/${this.id}/messages`);
    if (!response.ok) throw new Error(await response.text());
    const { messages, echo } = (await response.json()) as {
      readonly messages: readonly UIMessage[];
      readonly echo?: string;
    };
    this.#echo = echo;
    return messages;
  }

  /** Opens the stream of the running turn, as a page does. `text`: resolves with its whole text. */
  async reconnect(): Promise<{ readonly text: Promise<string> } | undefined> {
    const transport = new DefaultChatTransport<UIMessage>({
      api: 'https://edge.test/api/chat',
      fetch: ((input: RequestInfo | URL, init?: RequestInit) =>
        this.#fetch(String(input), init)) as typeof fetch,
    });
    const stream = await transport.reconnectToStream({ chatId: this.id });
    return stream ? { text: read(stream).then(textIn) } : undefined;
  }

  /** Resolves when no turn runs. No client asks the session for it. */
  async rest(): Promise<void> {
    if (this.#store === 'KV') return void (await this.#endpoint.settled());
    const hasEnded = (): Promise<boolean> =>
      runInDurableObject(this.#stub, (_, { storage }) => new DurableQueue(storage).size === 0);
    await vi.waitUntil(hasEnded, patience);
  }

  /** Ends the isolate. The next one continues from what is stored. */
  async kill(): Promise<void> {
    const dead = this.#process;
    const { witness } = dead;
    dead.die();
    this.#process = new HeldProcess(this.#store === 'KV' ? {} : { witness });
    this.#endpoint = this.#open();
    if (this.#store === 'KV') {
      // The dead process lives in the isolate of the test, which ends its runs.
      onTestFinished(() => dead.end());
      return;
    }
    // An eviction would wait for the requests.
    await killObjects();
  }

  /** Forgets what the tools did in a turn that is lost as a whole. */
  forgetRuns(): void {
    this.#ran.length = 0;
  }

  /** Lets the alarm of the session ring, as it does if no client comes back. */
  async ring(): Promise<void> {
    if (this.#store === 'KV') return;
    const hasAlarm = await runDurableObjectAlarm(this.#stub);
    if (!hasAlarm) throw new Error('The session has no alarm, so nobody continues its turn.');
  }

  get #stub(): DurableObjectStub {
    const objects = given.TEST_SESSIONS;
    return objects.get(objects.idFromName(`${this.user}/${this.id}`));
  }

  #open(): TestEndpoint {
    const bindings =
      this.#store === 'KV'
        ? { CHAT_KV: mortalKv(given.CHAT_KV, this.#process), SESSION_SECRET: 'x'.repeat(32) }
        : boundTo(given, given.TEST_SESSIONS);
    return testEndpoint(
      [],
      {},
      {
        agent: ({ memory, sessionId }) => this.#agent(memory, sessionId),
        approvals: 'at-least-once',
      },
      bindings,
    );
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${this.user}`);
    return this.#endpoint.fetch(path, { ...init, headers });
  }

  #agent(memory: Memory, sessionId: string): ReActAgent {
    const process = this.#process;
    const input = z.object({ sum: z.number() });
    const execute = (asked: { readonly sum: number }): string => {
      this.#ran.push(asked);
      return `did ${asked.sum}`;
    };
    const step = process.tool({ name: 'step', description: 'Works', input, execute });
    const pay = process.tool({
      name: 'pay',
      description: 'Pays',
      input,
      needsApproval: true,
      execute,
    });
    const color = tool({ name: 'color', description: 'Asks the page', input: z.object({}) });
    return new ReActAgent({
      name: 'assistant',
      memory,
      sessionId,
      model: process.model((request) => replyTo(request, this.#action.tool, this.#isActing)),
      tools: [step, pay, color].filter(({ name }) => name === this.#action.tool),
      use: [{ name: 'points', on: { '*': ({ type }) => process.point(type) } }],
    });
  }
}

/** Returns the namespace with points of the process before and after each write. */
function mortalKv(kv: KVNamespace, process: HeldProcess): KVNamespace {
  const put = async (...call: Parameters<KVNamespace['put']>): Promise<void> => {
    await process.point('put, not written');
    await kv.put(...call);
    await process.point('put, written');
  };
  return {
    get: kv.get.bind(kv),
    list: kv.list.bind(kv),
    delete: kv.delete.bind(kv),
    put,
  } as unknown as KVNamespace;
}
