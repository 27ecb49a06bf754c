import type { Msg } from '@isoloop/core';
import { EchoSigner, digest } from '@isoloop/core/adapter';

/** Says that a signed text is about a copy, and not the echo of a session. */
const chain = 'isoloop-copy';

/** Signs the messages of copies that leave the endpoint, to trust them when they come back. */
export class CopySigner {
  readonly #signer: EchoSigner | undefined;

  /** `secrets`: the first one signs, each one is accepted. Without secrets, nothing is signed. */
  constructor(secrets: readonly string[], user: string, sessionId: string) {
    if (secrets.length) this.#signer = new EchoSigner(secrets, `${user}/${sessionId}`);
  }

  async sign(messages: readonly Msg[]): Promise<string | undefined> {
    if (!this.#signer || !messages.length) return undefined;
    const base = { ref: await digestOf(messages), hash: String(messages.length), chain };
    return this.#signer.sign({ at: Date.now(), base });
  }

  /** Returns the number of the first messages that this endpoint has signed. */
  async count(messages: readonly Msg[], signature: string | undefined): Promise<number> {
    if (!this.#signer || signature === undefined) return 0;
    const base = await this.#signer.verify(signature).then(
      (signed) => signed.base,
      () => undefined,
    );
    if (base?.chain !== chain) return 0;
    const count = Number(base.hash);
    return (await digestOf(messages.slice(0, count))) === base.ref ? count : 0;
  }
}

function digestOf(messages: readonly Msg[]): Promise<string> {
  return digest(JSON.stringify(messages));
}
