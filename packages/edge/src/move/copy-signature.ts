import type { Msg } from '@isoloop/core';
import { digest } from '@isoloop/core/host';
import type { SessionView } from '@isoloop/core/log';
import { EchoSigner } from '../kv/log/session-echo.ts';

/** Says that a signed text is about a copy, and not the echo of a session. */
const copyId = 'isoloop-copy';

/** Maximum number of open tool calls whose state is signed, so that a signature stays short. */
const maxSignedCalls = 50;

/** What is signed of a copy. */
type Signable = Pick<SessionView, 'messages' | 'calls'>;

/** The parts of a copy that this endpoint has signed. */
export interface SignedParts {
  /** Number of the first messages that are signed. */
  readonly messageCount: number;
  /** Ids of the open tool calls that still wait for what they waited for at the endpoint. */
  readonly callIds: ReadonlySet<string>;
}

const noParts: SignedParts = { messageCount: 0, callIds: new Set() };

/**
 * Signs copies that leave the endpoint, to trust them when they come back. One signature covers all
 * messages, so one changed message makes it invalid. Each open tool call has a digest of its own,
 * because another place may decide about one of them.
 */
export class CopySigner {
  readonly #signer: EchoSigner | undefined;

  /** `secrets`: the first one signs, each one is accepted. Without secrets, nothing is signed. */
  constructor(secrets: readonly string[], user: string, sessionId: string) {
    if (secrets.length) this.#signer = new EchoSigner(secrets, `${user}/${sessionId}`);
  }

  async sign({ messages, calls }: Signable): Promise<string | undefined> {
    if (!this.#signer || !messages.length) return undefined;
    const digests = await Promise.all([...calls].slice(0, maxSignedCalls).map(digestOfCall));
    const base = [messages.length, await digestOf(messages), ...digests].join(' ');
    return this.#signer.sign({ issuedAt: Date.now(), turnId: copyId, base });
  }

  /** Returns the parts of a copy that this endpoint has signed. */
  async check(copy: Signable, signature: string | undefined): Promise<SignedParts> {
    if (!this.#signer || signature === undefined) return noParts;
    const payload = await this.#signer.verify(signature).catch(() => undefined);
    if (payload?.turnId !== copyId || !payload.base) return noParts;
    const [count, messagesDigest, ...digests] = payload.base.split(' ');
    const messageCount = Number(count);
    if ((await digestOf(copy.messages.slice(0, messageCount))) !== messagesDigest) return noParts;
    const callIds = new Set<string>();
    for (const call of copy.calls)
      if (digests.includes(await digestOfCall(call))) callIds.add(call[0]);
    return { messageCount, callIds };
  }
}

function digestOf(messages: readonly Msg[]): Promise<string> {
  return digest(JSON.stringify(messages));
}

async function digestOfCall(call: readonly [id: string, state: object]): Promise<string> {
  return (await digest(JSON.stringify(call))).slice(0, 32);
}
